/* One file operation, in a process of its own that runs as the sandbox's user and ends with it: blocking code, and the kernel
 * checks every permission. This file has the dispatch and what only looks: STAT, READ, MKDIR. */
#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHUNK (256u << 10)
/* Files of /proc and /sys do not say how long they are: up to this much of one is read before it is announced. */
#define PSEUDO_LIMIT FRAME_MAX

void
serve_stat(struct operation *op)
{
	bool follow;
	char *path CLEANUP(free_text) = ask_path(op, 10, "path");
	if (path == NULL || !ask_flag(op, 11, "follow", true, &follow))
		return;
	struct place place CLEANUP(place_free) = {.parent = -1};
	struct stat status;
	if (place_find(op, path, follow ? PLACE_FOLLOW : 0, &place) < 0 || place_stat(&place, &status) < 0) {
		fail_errno(op, errno, "look at", path);
		return;
	}
	char target[TARGET_SIZE];
	put_entry_at(op, path, &status, link_target(&status, place.parent, place.name, target), place.parent, place.name);
	put_ok(op);
}

/* Opens a regular file for reading and nothing else. */
static int
open_regular(struct operation *op, const char *path, struct stat *status)
{
	struct place place CLEANUP(place_free) = {.parent = -1};
	/* Looked at before it is opened, because opening a device can already do something. */
	if (place_find(op, path, PLACE_FOLLOW, &place) < 0 || place_stat(&place, status) < 0) {
		fail_errno(op, errno, "read", path);
		return -1;
	}
	place_free(&place);
	int fd = -1;
	if (S_ISREG(status->st_mode) || S_ISLNK(status->st_mode)) {
		fd = place_open(op, path, O_RDONLY, &place);
		if (fd < 0 || fstat(fd, status) < 0) {
			fail_errno(op, errno, "read", path);
			close_fd(&fd);
			return -1;
		}
	}
	if (!S_ISREG(status->st_mode)) {
		close_fd(&fd);
		fail(op, "not_a_file", S_ISDIR(status->st_mode) ? EISDIR : 0, "cannot read %.4096s: it is %s", path,
		    S_ISDIR(status->st_mode) ? "a directory" : "a device, pipe or socket");
	}
	return fd;
}

/* Sends a frame whose payload already lies after room for its head. */
static bool
send_data(struct operation *op, uint8_t *frame, size_t length)
{
	for (int i = 0; i < 4; i++)
		frame[i] = (uint8_t)(length >> (8 * i));
	frame[4] = FRAME_DATA;
	op->gone = op->gone || !write_all(op->connection, frame, FRAME_HEADER + length);
	return !op->gone;
}

/* Sends exactly the announced range, or what is left of it and then ERROR when the file became shorter. */
static void
stream_range(struct operation *op, int fd, const char *path, int64_t offset, int64_t length)
{
	uint8_t *frame = malloc(FRAME_HEADER + CHUNK);
	if (frame == NULL) {
		fail_errno(op, ENOMEM, "read", path);
		return;
	}
	while (length > 0) {
		ssize_t got = pread(fd, frame + FRAME_HEADER, length < CHUNK ? (size_t)length : CHUNK, offset);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			if (got < 0)
				fail_errno(op, errno, "read", path);
			else
				fail(op, "io", 0, "%.4096s became shorter while it was read, at byte %lld", path, (long long)offset);
			break;
		}
		if (!send_data(op, frame, (size_t)got))
			break;
		offset += got;
		length -= got;
	}
	free(frame);
	if (length == 0)
		put_ok(op);
}

/* A file that claims to be empty: on a pseudo file system it may hold something all the same. */
static void
read_unsized(struct operation *op, int fd, const char *path, struct stat *status, int64_t offset, int64_t length)
{
	uint8_t *content = malloc(PSEUDO_LIMIT);
	size_t size = 0;
	ssize_t got = content == NULL ? -1 : 1;
	if (content == NULL)
		errno = ENOMEM;
	while (got > 0 && size < PSEUDO_LIMIT) {
		got = pread(fd, content + size, PSEUDO_LIMIT - size, (off_t)size);
		if (got < 0 && errno == EINTR)
			got = 1;
		else if (got > 0)
			size += (size_t)got;
	}
	if (got != 0) {
		if (got < 0)
			fail_errno(op, errno, "read", path);
		else
			fail(op, "too_large", 0, "%.4096s does not say how long it is and has more than %u bytes", path, PSEUDO_LIMIT);
		free(content);
		return;
	}
	status->st_size = (off_t)size;
	put_entry(op, path, status, NULL);
	int64_t from = offset < (int64_t)size ? offset : (int64_t)size;
	int64_t count = length < (int64_t)size - from ? length : (int64_t)size - from;
	frame_begin(&op->out, FRAME_DATA);
	writer_bytes(&op->out, content + from, (size_t)count);
	frame_end(&op->out);
	free(content);
	put_ok(op);
}

void
serve_read(struct operation *op)
{
	int64_t offset, length;
	char *path CLEANUP(free_text) = ask_path(op, 10, "path");
	if (path == NULL || !ask_int(op, 11, "offset", 0, 0, INT64_MAX, &offset) ||
	    !ask_int(op, 12, "length", INT64_MAX, 0, INT64_MAX, &length))
		return;
	struct stat status;
	int fd CLEANUP(close_fd) = open_regular(op, path, &status);
	if (fd < 0)
		return;
	if (status.st_size == 0 && status.st_blocks == 0) {
		read_unsized(op, fd, path, &status, offset, length);
		return;
	}
	posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	int64_t left = offset < status.st_size ? status.st_size - offset : 0;
	put_entry(op, path, &status, NULL);
	if (answer_flush(op))
		stream_range(op, fd, path, offset, length < left ? length : left);
}

void
serve_mkdir(struct operation *op)
{
	bool parents;
	int64_t mode;
	char *path CLEANUP(free_text) = ask_path(op, 10, "path");
	if (path == NULL || !ask_flag(op, 11, "parents", true, &parents) || !ask_int(op, 12, "mode", 0755, 0, 07777, &mode))
		return;
	struct place place CLEANUP(place_free) = {.parent = -1};
	struct stat status;
	if (place_find(op, path, PLACE_FOLLOW | (parents ? PLACE_PARENTS : 0), &place) < 0) {
		fail_errno(op, errno, "make directory", path);
		return;
	}
	int error = mkdirat(place.parent, place.name, (mode_t)mode) < 0 ? errno : 0;
	bool there = place_stat(&place, &status) == 0;
	if (error == EEXIST && parents && there && S_ISDIR(status.st_mode))
		error = 0;
	if (error != 0 || !there) {
		fail_errno(op, error != 0 ? error : ENOENT, "make directory", path);
		return;
	}
	put_entry(op, path, &status, NULL);
	put_ok(op);
}

static bool
take_root(struct operation *op)
{
	struct bytes raw;
	if (!field_find(op->request, 3, &raw))
		return true;
	op->root = ask_path(op, 3, "root");
	if (op->root == NULL)
		return false;
	if (op->root[0] == '/')
		return true;
	fail(op, "bad_request", 0, "root must be an absolute path");
	return false;
}

static void
dispatch(struct operation *op, uint8_t type)
{
	switch (type) {
	case REQUEST_STAT:
		serve_stat(op);
		break;
	case REQUEST_READ:
		serve_read(op);
		break;
	case REQUEST_WRITE:
		serve_write(op);
		break;
	case REQUEST_LIST_DIR:
		serve_list(op);
		break;
	case REQUEST_MKDIR:
		serve_mkdir(op);
		break;
	case REQUEST_MOVE:
		serve_move(op);
		break;
	case REQUEST_COPY:
		serve_copy(op);
		break;
	case REQUEST_REMOVE:
		serve_remove(op);
		break;
	case REQUEST_GLOB:
		serve_glob(op);
		break;
	case REQUEST_GREP:
		serve_grep(op);
		break;
	case REQUEST_WATCH:
		serve_watch(op);
		break;
	case REQUEST_TUNNEL:
		serve_tunnel(op);
		break;
	default:
		fail(op, "unsupported", 0, "request type 0x%02x is not known", type);
		break;
	}
}

void
files_serve(int connection, uint8_t type, struct bytes payload, const struct guest_options *options)
{
	struct operation op = {.connection = connection, .request = payload, .workspace = options->workspace};
	if (op.workspace == NULL)
		op.workspace = "/workspace";
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* a write past RLIMIT_FSIZE is then an error that can be told */
	umask(0);
	if (take_root(&op) && ask_flag(&op, 4, "attributes", false, &op.attributes))
		dispatch(&op, type);
	answer_flush(&op);
	free_text(&op.root);
	writer_free(&op.out);
}
