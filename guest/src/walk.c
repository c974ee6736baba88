#include "walk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Directories deeper in the tree than this keep the descriptor of their ancestors closed; the way back is "..", checked. */
#define MOST_OPEN 64
#define BATCH (32u << 10)
#define OPEN_DIRECTORY (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

/* As the kernel writes it: libc's names for it differ. */
struct kernel_entry {
	uint64_t inode;
	int64_t next; /* position after this entry */
	unsigned short size;
	unsigned char type;
	char name[];
};

struct walk_level {
	int fd;
	dev_t device;
	ino_t inode;
	uint8_t *batch;
	size_t at;
	size_t filled;
	int64_t position; /* after the last entry told */
	size_t path_length;
};

static int
push(struct walk *walk, int fd, size_t depth)
{
	struct stat status;
	if (depth == walk->capacity) {
		size_t capacity = 2 * walk->capacity + 16;
		struct walk_level *grown = realloc(walk->levels, capacity * sizeof *grown);
		if (grown == NULL)
			return -1;
		memset(grown + walk->capacity, 0, (capacity - walk->capacity) * sizeof *grown);
		walk->levels = grown;
		walk->capacity = capacity;
	}
	struct walk_level *level = &walk->levels[depth];
	if (level->batch == NULL) {
		level->batch = walk->spare != NULL ? walk->spare : malloc(BATCH);
		walk->spare = NULL;
	}
	if (level->batch == NULL)
		return -1;
	if (fstat(fd, &status) < 0)
		return -1;
	level->fd = fd;
	level->device = status.st_dev;
	level->inode = status.st_ino;
	level->at = level->filled = 0;
	level->position = 0;
	level->path_length = walk->path_length;
	walk->depth = depth;
	return 0;
}

int
walk_start(struct walk *walk, int directory)
{
	*walk = (struct walk){.path = strdup(""), .path_capacity = 1};
	if (walk->path != NULL && push(walk, directory, 0) == 0)
		return 0;
	int error = errno;
	close(directory);
	errno = error;
	return -1;
}

void
walk_free(struct walk *walk)
{
	for (size_t i = 0; i < walk->capacity; i++) {
		if (i <= walk->depth && i >= walk->first_open && walk->levels[i].fd >= 0)
			close(walk->levels[i].fd);
		free(walk->levels[i].batch);
	}
	free(walk->levels);
	free(walk->spare);
	free(walk->path);
	*walk = (struct walk){0};
}

static int
set_name(struct walk *walk, const struct walk_level *level, const char *name)
{
	size_t start = level->path_length;
	size_t length = strlen(name);
	if (start + length + 2 > walk->path_capacity) {
		size_t capacity = 2 * walk->path_capacity + length + 256;
		char *grown = realloc(walk->path, capacity);
		if (grown == NULL)
			return -1;
		walk->path = grown;
		walk->path_capacity = capacity;
	}
	if (start > 0)
		walk->path[start++] = '/';
	memcpy(walk->path + start, name, length + 1);
	walk->name = walk->path + start;
	walk->path_length = start + length;
	return 0;
}

static unsigned char
type_at(int parent, const char *name)
{
	struct stat status;
	if (fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
		return DT_UNKNOWN;
	return (unsigned char)IFTODT(status.st_mode);
}

/* The parent's descriptor was closed to stay within bounds: opens it again from below, and makes sure that it is the same. */
static int
reopen_parent(struct walk *walk)
{
	struct walk_level *parent = &walk->levels[walk->depth - 1];
	struct stat status;
	int fd = openat(walk->levels[walk->depth].fd, "..", OPEN_DIRECTORY);
	if (fd < 0)
		return -1;
	if (fstat(fd, &status) < 0 || status.st_dev != parent->device || status.st_ino != parent->inode ||
	    lseek(fd, parent->position, SEEK_SET) < 0) {
		close(fd);
		errno = EBUSY;
		return -1;
	}
	/* The level below has told all it had: its batch is free for this one. */
	parent->batch = walk->levels[walk->depth].batch;
	walk->levels[walk->depth].batch = NULL;
	parent->fd = fd;
	parent->at = parent->filled = 0;
	walk->first_open = walk->depth - 1;
	return 0;
}

enum walk_step
walk_leave(struct walk *walk)
{
	struct walk_level *level = &walk->levels[walk->depth];
	if (walk->depth == 0)
		return WALK_END;
	if (walk->depth == walk->first_open && reopen_parent(walk) < 0)
		return WALK_LOST;
	close(level->fd);
	level->fd = -1;
	walk->depth--;
	size_t start = walk->levels[walk->depth].path_length;
	walk->path_length = level->path_length;
	walk->path[walk->path_length] = 0;
	walk->name = walk->path + start + (start > 0);
	walk->parent = walk->levels[walk->depth].fd;
	walk->type = DT_DIR;
	return WALK_LEAVE;
}

enum walk_step
walk_next(struct walk *walk)
{
	struct walk_level *level = &walk->levels[walk->depth];
	for (;;) {
		if (level->at == level->filled) {
			long got = syscall(SYS_getdents64, level->fd, level->batch, BATCH);
			/* A directory removed while it was read has no more entries. */
			if (got <= 0)
				return walk_leave(walk);
			level->at = 0;
			level->filled = (size_t)got;
		}
		struct kernel_entry *entry = (struct kernel_entry *)(void *)(level->batch + level->at);
		level->at += entry->size;
		level->position = entry->next;
		if (strcmp(entry->name, ".") == 0 || strcmp(entry->name, "..") == 0)
			continue;
		if (set_name(walk, level, entry->name) < 0)
			return WALK_LOST;
		walk->parent = level->fd;
		walk->type = entry->type != DT_UNKNOWN ? entry->type : type_at(level->fd, entry->name);
		return WALK_ENTRY;
	}
}

int
walk_enter(struct walk *walk)
{
	int fd = openat(walk->parent, walk->name, OPEN_DIRECTORY);
	if (fd < 0)
		return -1;
	if (push(walk, fd, walk->depth + 1) < 0) {
		int error = errno;
		close(fd);
		errno = error;
		return -1;
	}
	if (walk->depth - walk->first_open >= MOST_OPEN) {
		struct walk_level *oldest = &walk->levels[walk->first_open++];
		close(oldest->fd);
		oldest->fd = -1;
		free(walk->spare);
		walk->spare = oldest->batch;
		oldest->batch = NULL;
	}
	return 0;
}

int
walk_descriptor(const struct walk *walk)
{
	return walk->levels[walk->depth].fd;
}

dev_t
walk_device(const struct walk *walk)
{
	return walk->levels[walk->depth].device;
}

ino_t
walk_inode(const struct walk *walk)
{
	return walk->levels[walk->depth].inode;
}
