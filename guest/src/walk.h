/* Walks a tree of directories by descriptor: never by path, never through a link, in memory and descriptors that do not
 * depend on how deep or wide it is. */
#ifndef CARREL_WALK_H
#define CARREL_WALK_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum walk_step {
	WALK_ENTRY, /* something in a directory; walk_enter goes into it */
	WALK_LEAVE, /* a directory that was entered is finished (not told for the first one) */
	WALK_END,
	WALK_LOST, /* memory is short or a directory was moved away under us: errno says which; nothing follows */
};

struct walk_level;

struct walk {
	int parent;	    /* the directory that holds the entry */
	const char *name;   /* of the entry, the end of path */
	unsigned char type; /* DT_DIR, DT_REG, DT_LNK, …; never DT_UNKNOWN unless it vanished */
	char *path;	    /* from the first directory to the entry */
	size_t path_length;
	size_t path_capacity;
	struct walk_level *levels;
	size_t depth; /* of the directory being read; the first is 0 */
	size_t capacity;
	uint8_t *spare;	   /* a batch that no level uses now */
	size_t first_open; /* levels above this one had to close their descriptor */
};

/* Starts in a directory and owns its descriptor from now on, also when it fails (-1). */
int walk_start(struct walk *walk, int directory);
enum walk_step walk_next(struct walk *walk);
/* Goes into the entry just told, or again into the directory just left. -1 with errno: ENOTDIR or ELOOP when it is none. */
int walk_enter(struct walk *walk);
/* Ends the directory being read as if it had no more entries. */
enum walk_step walk_leave(struct walk *walk);
/* The directory being read: its descriptor, which stays the walk's, and its identity. */
int walk_descriptor(const struct walk *walk);
dev_t walk_device(const struct walk *walk);
ino_t walk_inode(const struct walk *walk);
void walk_free(struct walk *walk);

#endif
