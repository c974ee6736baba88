/* Resolves a path by hand, one directory descriptor at a time.
 *
 * The kernel is never given more than one name, and never a link to follow: a link is read and its text walked in turn. So a
 * directory that is swapped for a link meanwhile cannot lead anywhere the rules below would not have gone, there is no limit
 * on the length of a path, and the links of /proc that stand for this process's own descriptors are only text.
 *
 * With a root, an absolute link is good when its text starts with the root's own path; anything else that would leave the
 * root, ".." too, is EXDEV. */
#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MOST_LINKS 40
#define MOST_UPS 1000
#define MOST_RACES 64
#define DIRECTORY (O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE 1
#endif
#ifndef RENAME_EXCHANGE
#define RENAME_EXCHANGE 2
#endif

struct walk_up {
	const struct operation *op;
	int root;
	int current;
	char *done; /* names walked so far, each followed by a slash; none was a link */
	size_t done_length;
	size_t done_capacity;
	char *ahead; /* what is left to walk */
	char *next;  /* within ahead */
	int links;
	int ups;
};

void
place_free(struct place *place)
{
	close_fd(&place->parent);
	free_text(&place->name);
}

static int
move_to(struct walk_up *walk, int directory)
{
	if (directory < 0)
		return -1;
	if (walk->current != walk->root)
		close(walk->current);
	walk->current = directory;
	return 0;
}

static int
remember(struct walk_up *walk, const char *name)
{
	size_t length = strlen(name);
	if (walk->done_length + length + 2 > walk->done_capacity) {
		size_t capacity = 2 * walk->done_capacity + length + 256;
		char *grown = realloc(walk->done, capacity);
		if (grown == NULL)
			return -1;
		walk->done = grown;
		walk->done_capacity = capacity;
	}
	memcpy(walk->done + walk->done_length, name, length);
	walk->done_length += length;
	walk->done[walk->done_length++] = '/';
	return 0;
}

/* Starts again from the root with one name less. Asking the kernel for ".." would be quicker, but a directory that was moved
 * out of the root in the meantime has another parent. */
static int
go_up(struct walk_up *walk)
{
	if (walk->done_length == 0) {
		errno = EXDEV;
		return walk->op->root == NULL ? 0 : -1;
	}
	if (++walk->ups > MOST_UPS) {
		errno = ELOOP;
		return -1;
	}
	walk->done_length--;
	while (walk->done_length > 0 && walk->done[walk->done_length - 1] != '/')
		walk->done_length--;
	if (walk->current != walk->root)
		close(walk->current);
	walk->current = walk->root;
	for (size_t from = 0; from < walk->done_length;) {
		char *slash = memchr(walk->done + from, '/', walk->done_length - from);
		*slash = 0;
		int directory = openat(walk->current, walk->done + from, DIRECTORY);
		*slash = '/';
		if (move_to(walk, directory) < 0)
			return -1;
		from = (size_t)(slash - walk->done) + 1;
	}
	return 0;
}

/* Where a path continues after the root's own, or NULL when it does not start with it. */
static const char *
beneath(const char *root, const char *path)
{
	size_t length = strlen(root);
	while (length > 0 && root[length - 1] == '/')
		length--;
	if (strncmp(root, path, length) != 0 || (path[length] != '/' && path[length] != 0))
		return NULL;
	return path + length;
}

/* Puts text (a request's path or a link's) in front of what is left. */
static int
enter(struct walk_up *walk, const char *text)
{
	if (text[0] == '/') {
		const char *inside = walk->op->root == NULL ? text : beneath(walk->op->root, text);
		if (inside == NULL) {
			errno = EXDEV;
			return -1;
		}
		text = inside;
		if (walk->current != walk->root)
			close(walk->current);
		walk->current = walk->root;
		walk->done_length = 0;
	}
	char *ahead = join_path(text, walk->next);
	if (ahead == NULL)
		return -1;
	free(walk->ahead);
	walk->ahead = walk->next = ahead;
	return 0;
}

/* 1 when the name was a link and its text is now ahead, 0 when it is something else or nothing, -1 on an error. */
static int
through_link(struct walk_up *walk, const char *name)
{
	char target[4097];
	ssize_t size = readlinkat(walk->current, name, target, sizeof target - 1);
	if (size < 0)
		return errno == EINVAL || errno == ENOENT ? 0 : -1;
	if (size == 0 || ++walk->links > MOST_LINKS) {
		errno = size == 0 ? ENOENT : ELOOP;
		return -1;
	}
	target[size] = 0;
	return enter(walk, target) < 0 ? -1 : 1;
}

static int
go_down(struct walk_up *walk, const char *name, bool make)
{
	int directory = openat(walk->current, name, DIRECTORY);
	if (directory < 0 && errno == ENOENT && make) {
		if (mkdirat(walk->current, name, 0755) < 0 && errno != EEXIST)
			return -1;
		directory = openat(walk->current, name, DIRECTORY);
	}
	if (directory >= 0) {
		if (remember(walk, name) == 0)
			return move_to(walk, directory);
		close(directory);
		return -1;
	}
	if (errno != ENOTDIR && errno != ELOOP)
		return -1;
	int link = through_link(walk, name);
	if (link == 0)
		errno = ENOTDIR;
	return link == 1 ? 0 : -1;
}

/* Takes the next name off the path ahead; an empty one at its end. */
static char *
take_name(struct walk_up *walk)
{
	char *name = walk->next + strspn(walk->next, "/");
	char *end = name + strcspn(name, "/");
	walk->next = end + strspn(end, "/");
	*end = 0;
	return name;
}

static int
walk_path(struct walk_up *walk, unsigned flags, char **last)
{
	for (;;) {
		/* A copy: following a link replaces the text the name lies in. */
		char *name CLEANUP(free_text) = strdup(take_name(walk));
		if (name == NULL)
			return -1;
		int result = 0;
		if (strcmp(name, "..") == 0) {
			result = go_up(walk);
		} else if (name[0] != 0 && strcmp(name, ".") != 0) {
			if (*walk->next != 0) {
				result = go_down(walk, name, (flags & PLACE_PARENTS) != 0);
			} else {
				int link = flags & PLACE_FOLLOW ? through_link(walk, name) : 0;
				if (link == 0) {
					*last = name;
					name = NULL;
					return 0;
				}
				result = link < 0 ? -1 : 0;
			}
		}
		if (result < 0)
			return -1;
		if (*walk->next == 0) {
			*last = strdup(".");
			return *last == NULL ? -1 : 0;
		}
	}
}

/* Without isolation the workspace is some folder of the host's, but everybody calls it /workspace: what follows that
 * name, or NULL when the path is not below it. */
static const char *
below_workspace(const struct operation *op, const char *path)
{
	static const char name[] = "/workspace";
	const size_t length = sizeof name - 1;
	if (op->root != NULL || strcmp(op->workspace, name) == 0 || strncmp(path, name, length) != 0)
		return NULL;
	if (path[length] == 0)
		return ".";
	return path[length] == '/' ? path + length + strspn(path + length, "/") : NULL;
}

int
place_find(const struct operation *op, const char *path, unsigned flags, struct place *place)
{
	const char *below = below_workspace(op, path);
	if (below != NULL)
		path = *below == 0 ? "." : below;
	*place = (struct place){.parent = -1};
	struct walk_up walk = {.op = op};
	walk.root = walk.current = open(op->root == NULL ? "/" : op->root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (walk.root < 0)
		return -1;
	walk.ahead = walk.next = strdup("");
	int result = walk.ahead == NULL ? -1 : enter(&walk, path);
	if (result == 0 && path[0] != '/' && op->root == NULL)
		result = enter(&walk, op->workspace);
	if (result == 0)
		result = walk_path(&walk, flags, &place->name);
	int error = errno;
	if (result == 0)
		place->parent = walk.current;
	else if (walk.current != walk.root)
		close(walk.current);
	if (place->parent != walk.root)
		close(walk.root);
	free(walk.done);
	free(walk.ahead);
	errno = error;
	return result;
}

int
place_stat(const struct place *place, struct stat *status)
{
	return fstatat(place->parent, place->name, status, AT_SYMLINK_NOFOLLOW);
}

int
place_open(const struct operation *op, const char *path, int flags, struct place *place)
{
	for (int race = 0; race < MOST_RACES; race++) {
		if (place_find(op, path, PLACE_FOLLOW, place) < 0)
			return -1;
		int fd = openat(place->parent, place->name, flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
		/* A directory asked for and a link found is ENOTDIR. */
		struct stat status;
		bool raced = fd < 0 && (errno == ELOOP || errno == ENOTDIR);
		if (!raced)
			return fd;
		int error = errno;
		bool link = place_stat(place, &status) == 0 && S_ISLNK(status.st_mode);
		place_free(place);
		if (!link && error == ENOTDIR) {
			errno = ENOTDIR;
			return -1;
		}
	}
	errno = EBUSY;
	return -1;
}

void
sibling_name(char name[32])
{
	uint64_t random[1];
	if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
		abort();
	snprintf(name, 32, ".carrel-%016llx", (unsigned long long)random[0]);
}

int
rename_new(int from, const char *from_name, int to, const char *to_name)
{
	if (syscall(SYS_renameat2, from, from_name, to, to_name, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -1;
	struct stat status;
	if (fstatat(from, from_name, &status, AT_SYMLINK_NOFOLLOW) < 0)
		return -1;
	if (S_ISDIR(status.st_mode)) {
		if (fstatat(to, to_name, &status, AT_SYMLINK_NOFOLLOW) == 0) {
			errno = EEXIST;
			return -1;
		}
		/* Where the kernel has no better call, something put there just now is replaced only if it is an empty directory. */
		return errno == ENOENT ? renameat(from, from_name, to, to_name) : -1;
	}
	if (linkat(from, from_name, to, to_name, 0) < 0)
		return -1;
	return unlinkat(from, from_name, 0);
}

int
rename_exchange(int from, const char *from_name, int to, const char *to_name)
{
	if (syscall(SYS_renameat2, from, from_name, to, to_name, RENAME_EXCHANGE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -1;
	/* Where the kernel cannot (gVisor), there is nothing at the name for an instant, and on failure what was there. */
	char aside[32];
	sibling_name(aside);
	if (renameat(to, to_name, to, aside) < 0)
		return -1;
	if (renameat(from, from_name, to, to_name) < 0) {
		int error = errno;
		renameat(to, aside, to, to_name);
		errno = error;
		return -1;
	}
	return renameat(to, aside, from, from_name);
}
