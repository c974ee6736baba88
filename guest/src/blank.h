/* A blank: a child that has become as much of a sandbox as does not depend on whose it is, and waits to be told. Whoever makes
 * one sandbox may soon make another like it, and four fifths of what the child has to do are the same for both.
 *
 * There is one at most, of the image that was used last. It has a slot of ids and a folder that says so, but no control group,
 * no name and no way out. It goes when nobody asks in two seconds, or with its server: the end of its socket tells it. */
#ifndef CARREL_BLANK_H
#define CARREL_BLANK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "spawn.h"

struct spawn;
struct box;

/* All zero but the descriptors: none. */
struct blank {
	pid_t pid;
	int pidfd;
	int socket; /* -1: it is on its way out */
	int slot;
	uid_t owner;
	char image[HOST_PATH_MAX];
	struct timespec changed; /* when the image's folder was, as it knows it */
	int64_t until; /* by now_ms: without a process, that it is made then, else that it goes */
};

/* Before anything else; what an earlier server left is removed. */
void blank_open(struct spawn *spawn);
/* Makes one for sandboxes of this image and owner, unless there is one: soon. */
void blank_want(struct spawn *spawn, const char *image, uid_t owner);
/* One that is to be made soon is made now: whoever had the last sandbox needs it no longer, and may want the next. */
void blank_hurry(struct spawn *spawn);
/* Makes the blank the child of a box, if it fits: from then on it lives and ends as any other. */
bool blank_take(struct spawn *spawn, struct box *box, struct plan *plan);
/* Tells it whose it is. */
bool blank_ask(const struct plan *plan, pid_t pid, struct failure *failure);
/* Lets it end. */
void blank_drop(struct spawn *spawn);
/* Returns when it has ended. */
void blank_close(struct spawn *spawn);
/* As boxes_tick. */
int blank_tick(struct spawn *spawn);

#endif
