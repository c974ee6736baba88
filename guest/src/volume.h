/* Volumes: files that outlive the sandbox which has them as its /workspace. Each is one sparse ext4 image, <folder>/<id>.img.
 *
 *   volume_image.c   image files: made from a template, locked, copied
 *   volume_copy.c    copying, removing and listing them
 *   volume_mount.c   from an image to a sandbox's /workspace: loop device, detached mount, the way into the sandbox
 *   volume_divide.c  volumes that hold a root's changes too
 *
 * An image is mounted once at a time, and nobody of ours has to remember that: it is locked (flock) through the very open
 * file that its loop device holds from then on. So the kernel keeps the lock as long as the device can touch the image and
 * not a moment longer, whatever of ours dies meanwhile, and a second mount finds the lock taken. */
#ifndef CARREL_VOLUME_H
#define CARREL_VOLUME_H

#include "spawn.h"

#define VOLUME_BLOCK 4096
#define VOLUME_LEAST (16ll << 20) /* bytes: below that an ext4 is mostly its own journal */

/* `vo` and 14 letters and digits: anything else never becomes part of a path. */
bool volume_id_valid(const char *id);

/* The folder of the volumes, made if need be. -1 with the failure. */
int volume_folder(const char *path, struct failure *failure);

/* An image of its own name, made when there is none: open and locked. Waits a few seconds for a loop device that is about
 * to let it go. -1 with the failure. */
int volume_open(int folder, const char *id, int64_t size, struct failure *failure);

/* A fresh image without a name: gone when it is closed. */
int volume_make(int folder, int64_t size, struct failure *failure);

/* True while some loop device or copy has the image; an absent one is free. */
bool volume_in_use(const char *folder, const char *id);

/* Removes the image, if there is one. What is mounted goes on with it until it ends. */
bool volume_remove(const char *folder, const char *id, struct failure *failure);

bool volume_absent(const char *folder, const char *id);

/* Calls `each` for every volume, or for the one that is named, with its size and the bytes that it takes on disk. */
bool volume_list(const char *folder, const char *only, void (*each)(void *to, const char *id, int64_t size, int64_t on_disk),
	void *to, struct failure *failure);

struct volume_copy {
	char folder[HOST_PATH_MAX];
	char from[VOLUME_ID_MAX], to[VOLUME_ID_MAX];
	pid_t pid; /* of a process in whose view it is mounted; the sandbox that has it stands still. 0: none has */
	uint64_t start; /* of that process */
	const char *place; /* where, below that process's root; NULL: workspace */
};

/* Makes `to` equal to `from`, which nobody writes to meanwhile. Takes its time; leaves no `to` behind when it fails. */
bool volume_copy(const struct volume_copy *order, struct failure *failure);

/* A loop device for an image and its file system, mounted nowhere yet. Closing it undoes all. -1 with the failure. */
int volume_attach(int image, struct failure *failure);

/* What a mounter is to do. */
struct volume_order {
	char folder[HOST_PATH_MAX];
	char id[VOLUME_ID_MAX]; /* "": one without a name, for a probe; then a failure is told to the child, as a reason */
	int64_t size;		/* of a new one */
	char lower[HOST_PATH_MAX]; /* the folder below a writable root; "": the volume is all /workspace */
};

/* What a volume is divided into that holds the changes of a root beside /workspace. */
#define VOLUME_WORKSPACE "workspace"
#define VOLUME_UPPER "upper"
#define VOLUME_WORK "work"

/* Divides an attached volume that is new, and knows one that was: by a mark that nothing in a sandbox can set. False with the
 * failure when what it holds is not of the asked kind. */
bool volume_divide(int mount, bool divided, const char *id, struct failure *failure);

/* Forks the process that attaches a volume while the child becomes a sandbox. The child asks it over *socket, the other
 * end of which nobody but the mounter has. A failure goes to `report`, like the child's. Its pid, or -1 with the failure. */
pid_t volume_start_mounter(const struct volume_order *order, int *socket, int report, struct failure *failure);

/* A mounter ahead of need, for a new volume of one size; all zero: none. */
struct volume_spare {
	pid_t pid; /* with a closed socket: on its way out, to be reaped */
	int socket;
	int64_t size;
	int64_t since; /* when it was started, by its owner's clock */
};

/* Starts one unless there is one; whether it did. A failure is no failure: then there is none. `sweep`: it first removes what
 * others left whose process was killed. */
bool volume_start_spare(struct volume_spare *kept, const char *folder, int64_t size, bool sweep);

/* As volume_start_mounter, by the one that is there: its pid, or 0 when there is none that fits. */
pid_t volume_claim_spare(struct volume_spare *kept, const struct volume_order *order, int *socket, int report);

void volume_drop_spare(struct volume_spare *kept);

/* The child's half: names its user namespace, which must have its maps; then takes the mount and puts it on ./workspace.
 * Without a mount (a probe where there can be none) plan->measures says why, and *mounted is false. */
bool volume_ask(const struct plan *plan, struct failure *failure);
bool volume_take(struct plan *plan, bool *mounted, struct failure *failure);
/* The same for a divided one: puts it on ./volume, and the image with owners as inside on ./lower. */
bool volume_take_divided(struct plan *plan, struct failure *failure);

#endif
