/* What is kept on disk of each sandbox: enough for a later server to find it, to know it for sure, and to remove it. */
#ifndef CARREL_STATE_H
#define CARREL_STATE_H

#include "spawn.h"

struct state {
	int slot;
	uid_t owner;
	bool template;
	char image[HOST_PATH_MAX];
	struct limits limits;
	struct hierarchies groups;
	pid_t pid; /* 0: no child was started yet */
	uint64_t start;
	bool ready;
	bool this_boot;
	bool paused;
	char volume[VOLUME_ID_MAX]; /* "": none */
	struct measures measures;
};

/* Makes <run>/<id>/state, before anything else of the sandbox exists. */
bool state_begin(const char *folder, const struct state *state);

/* Adds the child, before it may run on. One short write: a reader sees it whole or not at all. */
bool state_add_child(const char *folder, pid_t pid, uint64_t start);

/* Adds what was applied: from here on the sandbox is somebody's. */
bool state_add_ready(const char *folder, const struct limits *limits, const struct measures *measures);

/* Puts what changed since in the place of the old file, whole: it can change often, so it is not appended. */
bool state_replace(const char *folder, const struct state *state);

bool state_read(const char *folder, struct state *state);

/* When the process started, in clock ticks since boot; 0 when there is none. Together with the pid it names a process. */
uint64_t process_start(pid_t pid);

/* Removes <run>/<id>; false when something in it would not go. */
bool state_remove(const char *folder);

#endif
