/* The files that are known to be under the workspace: a tree of names, found by (parent, name) and by inotify watch. */
#ifndef CARREL_NODES_H
#define CARREL_NODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is remembered is bounded: a hundred bytes or so each. */
#define NODES_MAX 131072
#define NODES_DEPTH 64

struct node {
	struct node *parent, *child, *sibling;
	struct node **link; /* what points to it among its siblings: thousands may go at once */
	struct node *by_name, *by_watch; /* the next in the same bucket */
	struct node *next_gone;
	int watch;		/* of a directory; -1: none */
	uint64_t journalled;	/* one more than the position of its newest entry in the journal */
	uint32_t reported;	/* the report that already named it */
	uint32_t seen;		/* the scan that last met it */
	uint8_t depth;
	bool directory;
	bool present;		/* false: gone, but named in the journal */
	bool listed_gone;
	char name[];
};

struct node *nodes_root(void);

/* The child of this name, gone or present; NULL when there is none. */
struct node *node_find(struct node *parent, const char *name);

/* Adds one, not yet present. NULL when there are too many, it is too deep, or memory is short. */
struct node *node_add(struct node *parent, const char *name);

void node_set_watch(struct node *node, int watch);
struct node *node_by_watch(int watch);

/* Notes that it is gone. It stays until nodes_purge, because the journal may name it. */
void node_gone(struct node *node);
void nodes_purge(void);

/* Writes its path relative to the root. False when it does not fit. */
bool node_path(const struct node *node, char *path, size_t size);

/* Opens the directory without following a link anywhere. */
int node_open(const struct node *node, int root);

#endif
