/* GLOB: what matches a pattern, newest first, in memory for no more than the limit. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "files.h"
#include "ignore.h"
#include "pattern.h"
#include "walk.h"

#define MOST_ENTRIES 100000
#define STEPS_PER_LOOK 1024

struct found {
	char *path;
	char *target;
	struct stat status;
};

/* A heap with the oldest of those kept on top, so that it is the one to go when there are too many. */
struct newest {
	struct found *items;
	size_t count;
	size_t capacity;
	size_t most;
	bool dropped;
};

struct globbing {
	struct operation *op;
	struct pattern pattern;
	struct walk walk;
	struct pattern_state *states; /* one for each directory from the first to the one being read */
	size_t capacity;
	struct newest newest;
	struct ignore ignore;
	struct unreadable unreadable;
};

/* Negative when a comes first in the answer: the newer, then the smaller path. */
static int
order(const void *left, const void *right)
{
	const struct found *a = left, *b = right;
	const struct timespec *x = &a->status.st_mtim, *y = &b->status.st_mtim;
	if (x->tv_sec != y->tv_sec)
		return x->tv_sec > y->tv_sec ? -1 : 1;
	if (x->tv_nsec != y->tv_nsec)
		return x->tv_nsec > y->tv_nsec ? -1 : 1;
	return strcmp(a->path, b->path);
}

static void
swap(struct found *a, struct found *b)
{
	struct found kept = *a;
	*a = *b;
	*b = kept;
}

static void
sift_down(struct newest *newest)
{
	for (size_t at = 0;;) {
		size_t last = at;
		for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < newest->count; child++)
			if (order(&newest->items[child], &newest->items[last]) > 0)
				last = child;
		if (last == at)
			return;
		swap(&newest->items[at], &newest->items[last]);
		at = last;
	}
}

static void
found_free(struct found *found)
{
	free_text(&found->path);
	free_text(&found->target);
}

/* Keeps the item or frees it. */
static int
newest_add(struct newest *newest, struct found item)
{
	if (newest->count == newest->most) {
		newest->dropped = true;
		if (order(&item, &newest->items[0]) < 0)
			swap(&item, &newest->items[0]);
		found_free(&item);
		sift_down(newest);
		return 0;
	}
	if (newest->count == newest->capacity) {
		size_t capacity = 2 * newest->capacity + 64;
		struct found *grown = realloc(newest->items, capacity * sizeof *grown);
		if (grown == NULL) {
			found_free(&item);
			return -1;
		}
		newest->items = grown;
		newest->capacity = capacity;
	}
	size_t at = newest->count++;
	newest->items[at] = item;
	for (; at > 0 && order(&newest->items[at], &newest->items[(at - 1) / 2]) > 0; at = (at - 1) / 2)
		swap(&newest->items[at], &newest->items[(at - 1) / 2]);
	return 0;
}

static int
keep(struct globbing *globbing)
{
	struct walk *walk = &globbing->walk;
	struct found found = {0};
	char target[TARGET_SIZE];
	if (fstatat(walk->parent, walk->name, &found.status, AT_SYMLINK_NOFOLLOW) < 0) {
		if (errno != ENOENT)
			note_unreadable(&globbing->unreadable, walk->path);
		return 0;
	}
	const char *points = link_target(&found.status, walk->parent, walk->name, target);
	found.path = strdup(walk->path);
	found.target = points == NULL ? NULL : strdup(points);
	if (found.path == NULL) {
		free(found.target);
		return -1;
	}
	return newest_add(&globbing->newest, found);
}

static int
enter(struct globbing *globbing, const struct pattern_state *state)
{
	struct walk *walk = &globbing->walk;
	if (walk_enter(walk) < 0) {
		if (errno != ENOENT && errno != ENOTDIR && errno != ELOOP)
			note_unreadable(&globbing->unreadable, walk->path);
		return 0;
	}
	if (walk->depth >= globbing->capacity) {
		size_t capacity = 2 * globbing->capacity + 16;
		struct pattern_state *grown = realloc(globbing->states, capacity * sizeof *grown);
		if (grown == NULL)
			return -1;
		globbing->states = grown;
		globbing->capacity = capacity;
	}
	globbing->states[walk->depth] = *state;
	ignore_enter(&globbing->ignore, walk);
	return 0;
}

static int
look_around(struct globbing *globbing)
{
	struct walk *walk = &globbing->walk;
	for (int64_t steps = 1;; steps++) {
		struct pattern_state state;
		enum walk_step step = walk_next(walk);
		if (step == WALK_END)
			return 0;
		if (step == WALK_LOST)
			return -1;
		if (steps % STEPS_PER_LOOK == 0 && host_gone(globbing->op))
			return 0;
		if (step == WALK_LEAVE)
			continue;
		unsigned known = pattern_step(&globbing->pattern, &globbing->states[walk->depth], walk->name, &state);
		if (known == 0 || ignore_hides(&globbing->ignore, walk))
			continue;
		if (globbing->op->gone)
			return 0;
		if ((known & PATTERN_MATCH) != 0 && keep(globbing) < 0)
			return -1;
		if ((known & PATTERN_MAY_CONTINUE) != 0 && walk->type == DT_DIR && enter(globbing, &state) < 0)
			return -1;
	}
}

static void
answer(struct globbing *globbing, const char *root)
{
	struct operation *op = globbing->op;
	struct newest *newest = &globbing->newest;
	if (newest->count > 0)
		qsort(newest->items, newest->count, sizeof *newest->items, order);
	for (size_t i = 0; i < newest->count && !op->gone; i++) {
		struct found *found = &newest->items[i];
		char *path CLEANUP(free_text) = join_path(root, found->path);
		if (path == NULL || !put_entry(op, path, &found->status, found->target))
			note_unreadable(&globbing->unreadable, root);
		answer_pass(op);
	}
	frame_begin(&op->out, FRAME_OK);
	put_int(&op->out, 20, newest->dropped);
	put_unreadable(&op->out, &globbing->unreadable);
	frame_end(&op->out);
	answer_flush(op);
}

static void
glob(struct globbing *globbing, const char *path)
{
	struct place place CLEANUP(place_free) = {.parent = -1};
	int fd = place_open(globbing->op, path, O_RDONLY | O_DIRECTORY, &place);
	globbing->states = malloc(sizeof *globbing->states);
	globbing->capacity = 1;
	if (fd < 0 || globbing->states == NULL || walk_start(&globbing->walk, fd) < 0) {
		fail_errno(globbing->op, errno, "look through", path);
		return;
	}
	pattern_start(&globbing->pattern, &globbing->states[0]);
	ignore_enter(&globbing->ignore, &globbing->walk);
	if (look_around(globbing) < 0)
		fail_errno(globbing->op, errno, "look through", path);
	else
		answer(globbing, path);
	walk_free(&globbing->walk);
}

void
serve_glob(struct operation *op)
{
	struct globbing globbing = {.op = op};
	int64_t limit;
	bool hidden, gitignore;
	char *path CLEANUP(free_text) = ask_path(op, 10, "path");
	char *text CLEANUP(free_text) = path == NULL ? NULL : ask_text(op, 11, "pattern");
	if (text == NULL || !ask_int(op, 12, "limit", 1000, 1, MOST_ENTRIES, &limit) || !ask_flag(op, 13, "hidden", false, &hidden) ||
	    !ask_flag(op, 14, "gitignore", false, &gitignore))
		return;
	globbing.newest.most = (size_t)limit;
	if (gitignore)
		ignore_start(&globbing.ignore, op, path, &globbing.unreadable);
	const char *wrong = pattern_compile(&globbing.pattern, text, hidden);
	if (wrong != NULL)
		fail(op, "bad_request", 0, "%s", wrong);
	else
		glob(&globbing, path);
	for (size_t i = 0; i < globbing.newest.count; i++)
		found_free(&globbing.newest.items[i]);
	free(globbing.newest.items);
	free(globbing.states);
	ignore_free(&globbing.ignore);
	free_unreadable(&globbing.unreadable);
	pattern_free(&globbing.pattern);
}
