/* For the volume_*.c files: pieces of work on image files. */
#ifndef CARREL_VOLUME_IMAGE_H
#define CARREL_VOLUME_IMAGE_H

#include "volume.h"

#define VOLUME_NAME_MAX (VOLUME_ID_MAX + sizeof ".img")

void volume_name(const char *id, char name[VOLUME_NAME_MAX]);

/* flock with patience: LOCK_SH or LOCK_EX. False after some seconds. */
bool volume_lock(int image, int operation);

/* True when so many bytes can be used and the host's file system still has its reserve. */
bool volume_room(int folder, int64_t needed, struct failure *failure);

/* A file without a name; then its name, which must be free. */
int volume_nameless(int folder, struct failure *failure);
bool volume_name_it(int file, int folder, const char *name);

/* volume_open by the file's name. */
int volume_open_as(int folder, const char *name, int64_t size, struct failure *failure);

/* Makes `to`, which is empty, equal to `from`: by sharing its blocks, where the file system can, or by copying all but its
 * holes. */
bool volume_share_bytes(int from, int to);
bool volume_copy_bytes(int from, int to, struct failure *failure);

#endif
