/* WRITE: into a temporary file beside the target, which takes its place only when everything has arrived. */
#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* A host may be in the middle of sending when it is told that something went wrong. This much more is read and dropped, so
 * that it can finish; after that its write fails, and the answer waits for it. */
#define DRAIN_LIMIT (64u << 20)

struct write_request {
	char *path;
	bool has_mode;
	mode_t mode;
	bool append;
	bool parents;
	bool if_absent;
	int64_t size; /* expected, or -1 */
	bool ended;   /* nothing more will come */
};

/* A file that nobody sees yet. Where the file system can, it has no name at all until the end, so that even a killed process
 * leaves nothing behind. */
struct draft {
	int fd;
	char name[32]; /* empty while nameless */
};

static bool
parse(struct operation *op, struct write_request *request)
{
	int64_t mode;
	struct bytes raw;
	request->path = ask_path(op, 10, "path");
	if (request->path == NULL || !ask_int(op, 11, "mode", 0644, 0, 07777, &mode) ||
	    !ask_flag(op, 12, "append", false, &request->append) || !ask_flag(op, 13, "parents", true, &request->parents) ||
	    !ask_int(op, 14, "size", -1, -1, INT64_MAX, &request->size) ||
	    !ask_flag(op, 15, "if_absent", false, &request->if_absent))
		return false;
	if (request->append && attributes_asked(op)) {
		fail(op, "bad_request", 0, "attributes are given to whole files, not to what is appended");
		return false;
	}
	request->has_mode = field_find(op->request, 11, &raw);
	request->mode = (mode_t)mode;
	return true;
}

/* Receives until DATA_END. Returns 0, or an errno; EPIPE when the host went away, EPROTO when it sent something else. */
static int
receive(struct operation *op, struct write_request *request, int fd, int64_t *received)
{
	uint8_t *buffer = NULL;
	size_t capacity = 0;
	int error = 0;
	while (!request->ended && error == 0) {
		uint8_t type;
		struct bytes payload;
		int got = frame_receive(op->connection, &buffer, &capacity, &type, &payload);
		if (got != 1) {
			error = EPIPE;
			request->ended = true;
		} else if (type == FRAME_DATA_END) {
			request->ended = true;
		} else if (type != FRAME_DATA_IN) {
			error = EPROTO;
			request->ended = true;
		} else {
			*received += (int64_t)payload.length;
			if (request->size >= 0 && *received > request->size)
				error = ERANGE;
			else if (!write_all(fd, payload.data, payload.length))
				error = errno;
		}
	}
	free(buffer);
	if (error == 0 && request->size >= 0 && *received != request->size)
		error = ERANGE;
	return error;
}

static void
drain(struct operation *op, const struct write_request *request)
{
	if (request->ended)
		return;
	shutdown(op->connection, SHUT_WR); /* the answer is complete, whatever still comes */
	uint8_t *buffer = NULL;
	size_t capacity = 0;
	size_t dropped = 0;
	uint8_t type = FRAME_DATA_IN;
	struct bytes payload;
	while (type == FRAME_DATA_IN && dropped < DRAIN_LIMIT &&
	       frame_receive(op->connection, &buffer, &capacity, &type, &payload) == 1)
		dropped += payload.length;
	free(buffer);
}

static void
refuse(struct operation *op, const struct write_request *request, int error, int64_t received)
{
	if (error == EPIPE)
		return;
	if (error == EPROTO)
		fail(op, "bad_request", 0, "only DATA and DATA_END may follow WRITE");
	else if (error == ERANGE)
		fail(op, "bad_request", 0, "%.4096s was announced with %lld bytes, but %lld came", request->path,
		    (long long)request->size, (long long)received);
	else
		fail_errno(op, error, "write", request->path);
	drain(op, request);
}

static int
draft_open(int parent, struct draft *draft)
{
	char self[48];
	draft->name[0] = 0;
	draft->fd = openat(parent, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	if (draft->fd >= 0) {
		/* It can be given a name only through /proc. */
		snprintf(self, sizeof self, "/proc/self/fd/%d", draft->fd);
		if (access(self, F_OK) == 0)
			return 0;
		close(draft->fd);
	}
	sibling_name(draft->name);
	draft->fd = openat(parent, draft->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (draft->fd < 0)
		draft->name[0] = 0;
	return draft->fd < 0 ? -1 : 0;
}

static void
draft_drop(int parent, struct draft *draft)
{
	if (draft->name[0] != 0)
		unlinkat(parent, draft->name, 0);
	close_fd(&draft->fd);
}

static int
draft_link(const struct draft *draft, int parent, const char *name)
{
	char self[48];
	snprintf(self, sizeof self, "/proc/self/fd/%d", draft->fd);
	return linkat(AT_FDCWD, self, parent, name, AT_SYMLINK_FOLLOW);
}

/* Gives the draft its place. Afterwards it has no name of its own to remove. */
static int
draft_publish(struct draft *draft, const struct place *place, bool replace)
{
	if (draft->name[0] == 0) {
		if (draft_link(draft, place->parent, place->name) == 0)
			return 0;
		if (errno != EEXIST || !replace)
			return -1;
		sibling_name(draft->name);
		if (draft_link(draft, place->parent, draft->name) < 0) {
			draft->name[0] = 0;
			return -1;
		}
	}
	int result = replace ? renameat(place->parent, draft->name, place->parent, place->name)
			     : rename_new(place->parent, draft->name, place->parent, place->name);
	if (result == 0)
		draft->name[0] = 0;
	return result;
}

static void
done(struct operation *op, const struct write_request *request, int fd)
{
	struct stat status;
	if (fstat(fd, &status) < 0) {
		fail_errno(op, errno, "look at", request->path);
		return;
	}
	put_entry(op, request->path, &status, NULL);
	put_ok(op);
}

static void
append(struct operation *op, struct write_request *request, const struct place *place, bool there)
{
	int create = there ? 0 : O_CREAT | (request->if_absent ? O_EXCL : 0);
	int fd CLEANUP(close_fd) = openat(place->parent, place->name,
	    O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | create, request->mode);
	struct stat status;
	int64_t received = 0;
	int error = 0;
	if (fd < 0 || fstat(fd, &status) < 0)
		error = errno;
	else if (!S_ISREG(status.st_mode))
		error = ENXIO;
	else if (there && request->has_mode && fchmod(fd, request->mode) < 0)
		error = errno;
	if (error == 0)
		error = receive(op, request, fd, &received);
	if (error == 0 && fsync(fd) < 0)
		error = errno;
	if (error != 0)
		refuse(op, request, error, received);
	else
		done(op, request, fd);
}

static void
replace(struct operation *op, struct write_request *request, const struct place *place, mode_t mode)
{
	struct draft draft;
	int64_t received = 0;
	int error = draft_open(place->parent, &draft) < 0 ? errno : 0;
	if (error == 0)
		error = receive(op, request, draft.fd, &received);
	if (error == 0)
		error = attributes_set(op, draft.fd);
	if (error == 0 && fchmod(draft.fd, mode) < 0)
		error = errno;
	/* On the disk before it has its name, and the name before anybody is told: on a volume the host's disk may be full
	 * although ours is not, and only a sync finds that out. In memory it costs nothing. */
	if (error == 0 && fdatasync(draft.fd) < 0)
		error = errno;
	if (error == 0 && draft_publish(&draft, place, !request->if_absent) < 0)
		error = errno;
	if (error == 0 && fsync(draft.fd) < 0)
		error = errno;
	/* Before the refusal: who is told that there is no space may use what the draft took. */
	if (error != 0)
		draft_drop(place->parent, &draft);
	if (error != 0)
		refuse(op, request, error, received);
	else
		done(op, request, draft.fd);
	draft_drop(place->parent, &draft);
}

/* What stands in the way of writing there, or 0. */
static int
obstacle(const struct write_request *request, const struct place *place, const struct stat *status, bool there)
{
	if (!there)
		return strcmp(place->name, ".") == 0 ? EISDIR : 0;
	if (S_ISDIR(status->st_mode))
		return EISDIR;
	if (request->if_absent)
		return EEXIST;
	if (S_ISLNK(status->st_mode))
		return EBUSY; /* put there since the path was resolved */
	if (!S_ISREG(status->st_mode))
		return ENXIO;
	/* A rename would replace a file that is protected against writing: the directory's permission is enough for it. */
	return faccessat(place->parent, place->name, W_OK, 0) < 0 ? errno : 0;
}

void
serve_write(struct operation *op)
{
	struct write_request request = {0};
	if (!parse(op, &request)) {
		free_text(&request.path);
		drain(op, &request);
		return;
	}
	struct place place CLEANUP(place_free) = {.parent = -1};
	struct stat status;
	bool there = false;
	int error = place_find(op, request.path, PLACE_FOLLOW | (request.parents ? PLACE_PARENTS : 0), &place) < 0 ? errno : 0;
	if (error == 0) {
		there = place_stat(&place, &status) == 0;
		error = there || errno == ENOENT ? obstacle(&request, &place, &status, there) : errno;
	}
	if (error != 0)
		refuse(op, &request, error, 0);
	else if (request.append)
		append(op, &request, &place, there);
	else
		replace(op, &request, &place, there && !request.has_mode ? status.st_mode & 0777 : request.mode);
	free_text(&request.path);
}
