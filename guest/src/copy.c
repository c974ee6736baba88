/* Copies files, links and whole trees. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "subtree.h"
#include "walk.h"

#define CHUNK (256u << 10)
#define STEPS_PER_LOOK 256

struct identity {
	dev_t device;
	ino_t inode;
};

/* A tree being copied: the walk is in the source, `to` is the directory of the target that corresponds to it. */
struct copying {
	struct operation *op;
	struct walk walk;
	int to;
	struct identity *line; /* of the target: each directory from its top to `to` */
	size_t depth;
	size_t capacity;
	bool merge;
	struct subtree_failure *failure;
};

/* Copies the parts that hold data, so that a sparse file stays one and costs what it holds. */
static int
copy_data(int from, int to, off_t size, uint8_t *buffer)
{
	off_t at = 0;
	while (at < size) {
		off_t data = lseek(from, at, SEEK_DATA);
		if (data < 0 && errno == ENXIO)
			break;
		off_t hole = data < 0 ? size : lseek(from, data, SEEK_HOLE);
		at = data < 0 ? at : data;
		if (hole < 0 || hole > size)
			hole = size;
		while (at < hole) {
			size_t most = hole - at < (off_t)CHUNK ? (size_t)(hole - at) : CHUNK;
			ssize_t got = pread(from, buffer, most, at);
			if (got < 0 && errno == EINTR)
				continue;
			if (got < 0)
				return -1;
			if (got == 0)
				return 0; /* became shorter: what is there was copied */
			if (lseek(to, at, SEEK_SET) < 0 || !write_all(to, buffer, (size_t)got))
				return -1;
			at += got;
		}
	}
	return ftruncate(to, size);
}

static int
keep_looks(int fd, const struct stat *status)
{
	/* A set-id bit means something only together with its owner, who may not be us. */
	mode_t mode = status->st_mode & (status->st_uid == geteuid() ? 07777 : 0777);
	struct timespec times[2] = {status->st_atim, status->st_mtim};
	if (fchmod(fd, mode) < 0)
		return -1;
	return futimens(fd, times);
}

static int
copy_regular(const struct place *from, int to, const char *name)
{
	struct stat status;
	int in CLEANUP(close_fd) = openat(from->parent, from->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (in < 0 || fstat(in, &status) < 0)
		return -1;
	if (!S_ISREG(status.st_mode)) {
		errno = ENXIO;
		return -1;
	}
	int out CLEANUP(close_fd) = openat(to, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (out < 0)
		return -1;
	uint8_t *buffer = malloc(CHUNK);
	int result = buffer == NULL ? -1 : copy_data(in, out, status.st_size, buffer);
	free(buffer);
	if (result == 0)
		result = keep_looks(out, &status);
	if (result < 0) {
		int error = errno;
		unlinkat(to, name, 0);
		errno = error;
	}
	return result;
}

static int
copy_link(const struct place *from, int to, const char *name)
{
	char target[4097];
	struct stat status;
	ssize_t size = readlinkat(from->parent, from->name, target, sizeof target - 1);
	if (size < 0 || fstatat(from->parent, from->name, &status, AT_SYMLINK_NOFOLLOW) < 0)
		return -1;
	target[size] = 0;
	if (symlinkat(target, to, name) < 0)
		return -1;
	return utimensat(to, name, (struct timespec[2]){status.st_atim, status.st_mtim}, AT_SYMLINK_NOFOLLOW);
}

/* Copies what is not a directory, in place of an older one when merging. */
static int
copy_leaf(const struct place *from, mode_t kind, int to, const char *name, bool merge)
{
	for (int tries = 0;; tries++) {
		int result = -1;
		errno = ENXIO;
		if (S_ISREG(kind))
			result = copy_regular(from, to, name);
		else if (S_ISLNK(kind))
			result = copy_link(from, to, name);
		if (result == 0 || errno != EEXIST || !merge || tries > 0)
			return result;
		if (unlinkat(to, name, 0) < 0 && errno != ENOENT)
			return -1;
	}
}

static int
enter_target(struct copying *copying, const char *name)
{
	struct stat status;
	if (mkdirat(copying->to, name, 0700) < 0 && (errno != EEXIST || !copying->merge))
		return -1;
	int fd = openat(copying->to, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &status) < 0) {
		close_fd(&fd);
		return -1;
	}
	if (copying->depth == copying->capacity) {
		size_t capacity = 2 * copying->capacity + 16;
		struct identity *grown = realloc(copying->line, capacity * sizeof *grown);
		if (grown == NULL) {
			close(fd);
			return -1;
		}
		copying->line = grown;
		copying->capacity = capacity;
	}
	copying->line[copying->depth++] = (struct identity){status.st_dev, status.st_ino};
	close(copying->to);
	copying->to = fd;
	return 0;
}

static int
leave_target(struct copying *copying)
{
	struct stat status;
	copying->depth--;
	int fd = openat(copying->to, "..", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -1;
	const struct identity *parent = &copying->line[copying->depth - 1];
	if (fstat(fd, &status) < 0 || status.st_dev != parent->device || status.st_ino != parent->inode) {
		close(fd);
		errno = EBUSY;
		return -1;
	}
	close(copying->to);
	copying->to = fd;
	return 0;
}

/* Notes a failure. True when the copy can go on without this entry. */
static bool
skip(struct subtree_failure *failure, const char *path)
{
	int error = errno;
	if (error == ENOENT)
		return true; /* vanished while we walked */
	if (failure->skipped++ == 0) {
		failure->error = error;
		failure->path = path == NULL ? NULL : strdup(path);
	}
	return error != ENOSPC && error != EDQUOT && error != ENOMEM && error != EMFILE && error != EROFS;
}

static int
copy_entry(struct copying *copying)
{
	struct walk *walk = &copying->walk;
	struct place from = {walk->parent, (char *)walk->name};
	if (walk->type != DT_DIR)
		return copy_leaf(&from, DTTOIF(walk->type), copying->to, walk->name, copying->merge);
	if (walk_enter(walk) < 0)
		return -1;
	if (walk_device(walk) == copying->line[0].device && walk_inode(walk) == copying->line[0].inode)
		errno = EINVAL; /* somebody moved the target into the source */
	else if (enter_target(copying, walk->name) == 0)
		return 0;
	int error = errno;
	walk_leave(walk);
	errno = error;
	return -1;
}

static int
finish_directory(struct copying *copying)
{
	struct stat status;
	struct walk *walk = &copying->walk;
	if (fstatat(walk->parent, walk->name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(status.st_mode) &&
	    keep_looks(copying->to, &status) < 0)
		skip(copying->failure, walk->path);
	return leave_target(copying);
}

static int
copy_walk(struct copying *copying)
{
	for (int64_t steps = 1;; steps++) {
		switch (walk_next(&copying->walk)) {
		case WALK_ENTRY:
			if (copy_entry(copying) < 0 && !skip(copying->failure, copying->walk.path))
				return -1;
			break;
		case WALK_LEAVE:
			if (finish_directory(copying) < 0) {
				skip(copying->failure, copying->walk.path);
				return -1;
			}
			break;
		case WALK_END:
			return 0;
		case WALK_LOST:
		default:
			skip(copying->failure, copying->walk.path);
			return -1;
		}
		if (steps % STEPS_PER_LOOK == 0 && host_gone(copying->op))
			return -1;
	}
}

static int
copy_directory(struct operation *op, const struct place *from, int to, const char *name, bool merge, struct subtree_failure *failure)
{
	struct copying copying = {.op = op, .merge = merge, .failure = failure};
	struct stat status;
	int source = openat(from->parent, from->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	copying.to = dup(to);
	if (source < 0 || copying.to < 0 || fstat(source, &status) < 0 || enter_target(&copying, name) < 0) {
		failure->error = errno;
		failure->skipped = 1;
		close_fd(&source);
		close_fd(&copying.to);
		free(copying.line);
		return -1;
	}
	int result = walk_start(&copying.walk, source);
	if (result == 0)
		result = copy_walk(&copying);
	if (result == 0 && keep_looks(copying.to, &status) < 0)
		skip(failure, NULL);
	walk_free(&copying.walk);
	close(copying.to);
	free(copying.line);
	return result;
}

int
subtree_copy(struct operation *op, const struct place *from, int to, const char *name, bool merge, struct subtree_failure *failure)
{
	struct stat status;
	int result = place_stat(from, &status);
	if (result == 0 && S_ISDIR(status.st_mode))
		return copy_directory(op, from, to, name, merge, failure);
	if (result == 0)
		result = copy_leaf(from, status.st_mode, to, name, merge);
	if (result < 0) {
		failure->error = errno;
		failure->skipped = 1;
	}
	return result;
}
