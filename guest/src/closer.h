/* Some descriptors are slow to close when they are the last: the kernel waits for readers of an inotify's marks, ten
 * milliseconds and more, and a file system is written out and let go. Of a sandbox that is removed nobody needs to wait for
 * either. So the server takes hold of them before the sandbox ends, and when it has ended, processes that nobody waits for
 * close them. */
#ifndef CARREL_CLOSER_H
#define CARREL_CLOSER_H

#include <stdbool.h>
#include <sys/types.h>

#define CLOSERS 4

/* What is kept of a sandbox until its end; -1: not. */
struct kept {
	int events; /* its guest's inotify */
	int volume; /* the file system of a volume that is removed with it */
};

/* The processes; all zero: none yet. They end with the server. */
struct closers {
	pid_t pids[CLOSERS];
	int socket;
};

/* To be called before a guest is killed. Where something cannot be had its guest closes it, and all takes a little longer. */
void keep_events(struct kept *kept, int pidfd);

/* The same for the volume of the box that this process is the first of; `image` is the file that must be behind it. False
 * when it could not be had. */
bool keep_volume(struct kept *kept, pid_t pid, const char *image);

/* To be called when the sandbox has ended. */
void give_away(struct closers *closers, struct kept *kept);

/* One more descriptor that may be the last of something; -1 afterwards. */
void give_away_one(struct closers *closers, int *fd);

#endif
