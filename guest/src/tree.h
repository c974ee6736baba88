/* Process trees, read from /proc. */
#ifndef CARREL_TREE_H
#define CARREL_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct process {
	pid_t pid, parent, group;
	char state;	 /* as in /proc/PID/stat */
	bool descendant; /* of the root that was asked for */
};

/* A picture of the processes below `root`, which itself is not part of it; zombies are left out. While they run, some may
 * fork or end behind our back: whoever must catch all looks again until nothing new appears. */
struct tree {
	struct process *processes;
	size_t count, capacity;
};

/* False when /proc cannot be read or memory is short; the tree is then empty. */
bool tree_read(struct tree *tree, pid_t root);
void tree_free(struct tree *tree);

/* Sends a signal to every descendant, or only to those of one process group when `group` is not 0. */
void tree_signal(pid_t root, int signal, pid_t group);

/* One attempt at killing everything below `root`: first all are stopped, so that none can fork while we look, then killed.
 * Those that could not be stopped in time are killed too; call again until no child is left. */
void tree_kill(pid_t root);

#endif
