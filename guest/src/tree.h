/* Process trees, read from /proc. */
#ifndef CARREL_TREE_H
#define CARREL_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct process {
	pid_t pid, parent, group;
	char state;	 /* as in /proc/PID/stat */
	bool member; /* of the family that was asked for */
};

/* Whose processes are meant: those below `root`, which itself is none of them, and those in the group `mark`, which nobody
 * in a sandbox can join or leave; 0: no such group. */
struct family {
	pid_t root;
	gid_t mark;
};

/* A picture of a family's processes; zombies are left out. While they run, some may
 * fork or end behind our back: whoever must catch all looks again until nothing new appears. */
struct tree {
	struct process *processes;
	size_t count, capacity;
};

/* False when /proc cannot be read or memory is short; the tree is then empty. */
bool tree_read(struct tree *tree, struct family family);
void tree_free(struct tree *tree);

/* Sends a signal to the whole family, or only to those of one process group when `group` is not 0. */
void tree_signal(struct family family, int signal, pid_t group);

/* One attempt at killing a family: first all are stopped, so that none can fork while we look, then killed.
 * Those that could not be stopped in time are killed too; call again until nobody is left. */
void tree_kill(struct family family);

#endif
