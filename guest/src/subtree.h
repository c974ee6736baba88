/* Copies and removes whole trees, by descriptor. */
#ifndef CARREL_SUBTREE_H
#define CARREL_SUBTREE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "files.h"

/* What went wrong in a tree, and where. */
struct subtree_failure {
	int error;	 /* errno of the first failure, 0 when there was none */
	char *path;	 /* from the top of the tree; owned; NULL for the top itself */
	int64_t skipped; /* entries that were left out because of failures of their own */
};

void subtree_failure_free(struct subtree_failure *failure);

/* Removes whatever has this name, with everything in it. Returns 0, or -1 with the failure; `removed` counts in both cases. */
int subtree_remove(struct operation *op, int parent, const char *name, int64_t *removed, struct subtree_failure *failure);

/* Removes a tree that we made and nobody asked for, as far as possible: also from directories that are closed to us already. */
void subtree_discard(int parent, const char *name);

/* Copies a file, link or directory. With `merge` a directory may exist and files in it are replaced. An entry that cannot be
 * copied is skipped and counted, and the rest goes on; -1 when it made no sense to go on. */
int subtree_copy(struct operation *op, const struct place *from, int to, const char *name, bool merge, struct subtree_failure *failure);

#endif
