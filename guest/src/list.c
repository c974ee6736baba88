/* LIST_DIR: sorted by name, each directory before what is in it. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "files.h"
#include "walk.h"

#define MOST_DEPTH 64
#define MOST_ENTRIES 1000000
#define STEPS_PER_LOOK 1024

/* The first names of a directory in order, as many as may still be sent: a heap with the last of them on top. */
struct names {
	char **names;
	size_t count;
	size_t capacity;
	size_t next;
	bool dropped;
};

struct listing {
	struct operation *op;
	int64_t left;
	bool truncated;
	struct unreadable unreadable;
};

static void
names_free(struct names *names)
{
	for (size_t i = 0; i < names->count; i++)
		free(names->names[i]);
	free(names->names);
	*names = (struct names){0};
}

static void
swap(char **a, char **b)
{
	char *kept = *a;
	*a = *b;
	*b = kept;
}

static void
sift_down(struct names *names)
{
	for (size_t at = 0;;) {
		size_t largest = at;
		for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < names->count; child++)
			if (strcmp(names->names[child], names->names[largest]) > 0)
				largest = child;
		if (largest == at)
			return;
		swap(&names->names[at], &names->names[largest]);
		at = largest;
	}
}

static int
names_add(struct names *names, const char *name, size_t most)
{
	if (names->count >= most) {
		names->dropped = true;
		if (names->count == 0 || strcmp(name, names->names[0]) > 0)
			return 0;
		char *copy = strdup(name);
		if (copy == NULL)
			return -1;
		free(names->names[0]);
		names->names[0] = copy;
		sift_down(names);
		return 0;
	}
	if (names->count == names->capacity) {
		size_t capacity = 2 * names->capacity + 32;
		char **grown = realloc(names->names, capacity * sizeof *grown);
		if (grown == NULL)
			return -1;
		names->names = grown;
		names->capacity = capacity;
	}
	size_t at = names->count;
	if ((names->names[at] = strdup(name)) == NULL)
		return -1;
	names->count++;
	for (; at > 0 && strcmp(names->names[at], names->names[(at - 1) / 2]) > 0; at = (at - 1) / 2)
		swap(&names->names[at], &names->names[(at - 1) / 2]);
	return 0;
}

static int
by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int
names_read(struct listing *listing, int fd, struct names *names)
{
	struct walk walk;
	int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (own < 0 || walk_start(&walk, own) < 0)
		return -1;
	int result = 0;
	enum walk_step step;
	for (int64_t steps = 1; result == 0 && (step = walk_next(&walk)) != WALK_END; steps++) {
		result = step == WALK_ENTRY ? names_add(names, walk.name, (size_t)listing->left) : -1;
		if (steps % STEPS_PER_LOOK == 0 && host_gone(listing->op))
			result = -1;
	}
	walk_free(&walk);
	if (names->count > 0)
		qsort(names->names, names->count, sizeof *names->names, by_name);
	listing->truncated |= names->dropped;
	return result;
}

/* Lists a directory and, through recursion no deeper than MOST_DEPTH, what is in it. */
static void
list(struct listing *listing, int fd, const char *path, int64_t depth)
{
	struct names names = {0};
	char target[TARGET_SIZE];
	if (names_read(listing, fd, &names) < 0)
		note_unreadable(&listing->unreadable, path);
	for (size_t i = 0; i < names.count && !listing->op->gone; i++) {
		struct stat status;
		if (fstatat(fd, names.names[i], &status, AT_SYMLINK_NOFOLLOW) < 0) {
			/* A directory that may be read but not searched shows names and nothing else. */
			if (errno != ENOENT)
				note_unreadable(&listing->unreadable, path);
			continue;
		}
		if (listing->left == 0) {
			listing->truncated = true;
			break;
		}
		char *entry CLEANUP(free_text) = join_path(path, names.names[i]);
		const char *points = link_target(&status, fd, names.names[i], target);
		if (entry == NULL || !put_entry_at(listing->op, entry, &status, points, fd, names.names[i])) {
			note_unreadable(&listing->unreadable, path);
			continue;
		}
		listing->left--;
		answer_pass(listing->op);
		if (!S_ISDIR(status.st_mode) || depth == 1)
			continue;
		int child CLEANUP(close_fd) =
		    openat(fd, names.names[i], O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
		if (child >= 0)
			list(listing, child, entry, depth - 1);
		else if (errno != ENOENT)
			note_unreadable(&listing->unreadable, entry);
	}
	names_free(&names);
}

void
serve_list(struct operation *op)
{
	struct listing listing = {.op = op};
	int64_t depth;
	char *path CLEANUP(free_text) = ask_path(op, 10, "path");
	if (path == NULL || !ask_int(op, 11, "depth", 1, 1, MOST_DEPTH, &depth) ||
	    !ask_int(op, 12, "limit", 10000, 1, MOST_ENTRIES, &listing.left))
		return;
	struct place place CLEANUP(place_free) = {.parent = -1};
	int fd CLEANUP(close_fd) = place_open(op, path, O_RDONLY | O_DIRECTORY, &place);
	if (fd < 0) {
		fail_errno(op, errno, "list", path);
		return;
	}
	list(&listing, fd, path, depth);
	frame_begin(&op->out, FRAME_OK);
	put_int(&op->out, 20, listing.truncated);
	put_unreadable(&op->out, &listing.unreadable);
	frame_end(&op->out);
	free_unreadable(&listing.unreadable);
	answer_flush(op);
}
