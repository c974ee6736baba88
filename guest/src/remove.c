/* REMOVE, and the removal of trees for those who need it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "subtree.h"
#include "walk.h"

/* How often a directory may fill again while we empty it. */
#define MOST_REFILLS 1000
/* How often an entry may turn from a directory into something else and back while it is removed. */
#define MOST_TURNS 64
#define STEPS_PER_LOOK 1024

void
subtree_failure_free(struct subtree_failure *failure)
{
	free_text(&failure->path);
}

/* Removes or enters one entry. What it was a moment ago does not count: each call fails harmlessly on the wrong kind, and then
 * the other is tried. */
static int
take(struct walk *walk, int64_t *removed)
{
	bool directory = walk->type == DT_DIR;
	for (int turn = 0; turn < MOST_TURNS; turn++, directory = !directory) {
		int result = directory ? walk_enter(walk) : unlinkat(walk->parent, walk->name, 0);
		*removed += result == 0 && !directory;
		if (result == 0 || errno == ENOENT)
			return 0;
		if (directory ? errno == ENOTDIR || errno == ELOOP : errno == EISDIR)
			continue;
		/* A directory that may not be read may still be empty. */
		int error = errno;
		result = directory ? unlinkat(walk->parent, walk->name, AT_REMOVEDIR) : -1;
		*removed += result == 0;
		errno = error;
		return result;
	}
	errno = EBUSY;
	return -1;
}

/* Removes a directory that was emptied, or goes into it again when it has filled meanwhile. */
static int
finish(struct walk *walk, int64_t *removed, int *refills)
{
	int result = unlinkat(walk->parent, walk->name, AT_REMOVEDIR);
	*removed += result == 0;
	if (result < 0 && (errno == ENOTEMPTY || errno == EEXIST) && ++*refills <= MOST_REFILLS)
		result = walk_enter(walk);
	/* Something else has the name now: the directory above is not empty then, and will be looked through again. */
	return result < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP) ? 0 : result;
}

static int
empty_directory(struct operation *op, struct walk *walk, int64_t *removed)
{
	int refills = 0;
	for (int64_t steps = 1;; steps++) {
		int result = 0;
		switch (walk_next(walk)) {
		case WALK_ENTRY:
			result = take(walk, removed);
			break;
		case WALK_LEAVE:
			result = finish(walk, removed, &refills);
			break;
		case WALK_END:
			return 0;
		case WALK_LOST:
		default:
			return -1;
		}
		if (result < 0)
			return -1;
		if (steps % STEPS_PER_LOOK == 0 && host_gone(op)) {
			errno = ECANCELED;
			return -1;
		}
	}
}

int
subtree_remove(struct operation *op, int parent, const char *name, int64_t *removed, struct subtree_failure *failure)
{
	if (unlinkat(parent, name, 0) == 0) {
		++*removed;
		return 0;
	}
	if (errno != EISDIR && errno != EPERM) {
		failure->error = errno;
		return -1;
	}
	int result = -1;
	for (int refills = 0; result < 0 && refills <= MOST_REFILLS; refills++) {
		struct walk walk;
		int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd >= 0 && walk_start(&walk, fd) == 0) {
			if (empty_directory(op, &walk, removed) < 0) {
				failure->error = errno;
				failure->path = walk.path == NULL || walk.path[0] == 0 ? NULL : strdup(walk.path);
				walk_free(&walk);
				return -1;
			}
			walk_free(&walk);
		} else if (errno != EACCES) {
			break;
		}
		result = unlinkat(parent, name, AT_REMOVEDIR);
		if (result < 0 && errno != ENOTEMPTY)
			break;
	}
	if (result < 0) {
		failure->error = errno;
		return -1;
	}
	++*removed;
	return 0;
}

/* Gives us every right on the directories of a tree: a copy has the modes of its original. */
static void
open_up(int parent, const char *name)
{
	struct walk walk;
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return;
	fchmod(fd, 0700);
	if (walk_start(&walk, fd) < 0)
		return;
	for (enum walk_step step; (step = walk_next(&walk)) == WALK_ENTRY || step == WALK_LEAVE;)
		if (step == WALK_ENTRY && walk.type == DT_DIR && walk_enter(&walk) == 0)
			fchmod(walk_descriptor(&walk), 0700);
	walk_free(&walk);
}

void
subtree_discard(int parent, const char *name)
{
	struct subtree_failure ignored CLEANUP(subtree_failure_free) = {0};
	int64_t removed = 0;
	open_up(parent, name);
	subtree_remove(&(struct operation){.connection = -1}, parent, name, &removed, &ignored);
}

static void
report(struct operation *op, const char *path, const struct subtree_failure *failure, int64_t removed)
{
	char *where CLEANUP(free_text) = failure->path == NULL ? strdup(path) : join_path(path, failure->path);
	if (removed == 0 || where == NULL) {
		fail_errno(op, failure->error, "remove", where == NULL ? path : where);
		return;
	}
	char *all CLEANUP(free_text) = NULL;
	size_t size = strlen(where) + 64;
	if ((all = malloc(size)) == NULL)
		return;
	snprintf(all, size, "%s (%lld removed before it)", where, (long long)removed);
	fail_errno(op, failure->error, "remove", all);
}

void
serve_remove(struct operation *op)
{
	bool recursive, missing_ok;
	char *path CLEANUP(free_text) = ask_path(op, 10, "path");
	if (path == NULL || !ask_flag(op, 11, "recursive", false, &recursive) ||
	    !ask_flag(op, 12, "missing_ok", false, &missing_ok))
		return;
	struct place place CLEANUP(place_free) = {.parent = -1};
	struct stat status;
	struct subtree_failure failure CLEANUP(subtree_failure_free) = {0};
	int64_t removed = 0;
	int result = place_find(op, path, 0, &place) < 0 ? -1 : place_stat(&place, &status);
	if (result == 0 && strcmp(place.name, ".") == 0) {
		fail(op, "bad_request", EINVAL, "cannot remove %.4096s: name it by its own name, and the root of a request stays", path);
		return;
	}
	failure.error = result < 0 ? errno : 0;
	if (result == 0 && recursive) {
		result = subtree_remove(op, place.parent, place.name, &removed, &failure);
	} else if (result == 0) {
		result = unlinkat(place.parent, place.name, S_ISDIR(status.st_mode) ? AT_REMOVEDIR : 0);
		removed = result == 0;
		failure.error = errno;
	}
	if (result < 0 && !(failure.error == ENOENT && missing_ok)) {
		report(op, path, &failure, removed);
		return;
	}
	frame_begin(&op->out, FRAME_OK);
	put_int(&op->out, 21, removed);
	frame_end(&op->out);
	answer_flush(op);
}
