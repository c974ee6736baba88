/* Reads the fields of a request and writes its answer. */
#include "files.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WORTH_A_WRITE (64u << 10)

void
close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void
free_text(char **text)
{
	free(*text);
	*text = NULL;
}

void
free_writer(struct writer *writer)
{
	writer_free(writer);
}

void
free_unreadable(struct unreadable *unreadable)
{
	free_text(&unreadable->first);
}

bool
answer_flush(struct operation *op)
{
	if (op->out.failed)
		op->gone = true;
	if (!op->gone && op->out.length > 0 && !write_all(op->connection, op->out.data, op->out.length))
		op->gone = true;
	op->out.length = 0;
	return !op->gone;
}

bool
answer_pass(struct operation *op)
{
	return op->out.length < WORTH_A_WRITE ? !op->gone : answer_flush(op);
}

bool
host_gone(struct operation *op)
{
	struct pollfd end = {.fd = op->connection, .events = POLLRDHUP};
	if (poll(&end, 1, 0) > 0 && (end.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0)
		op->gone = true;
	return op->gone;
}

static const char *
code_of(int error)
{
	switch (error) {
	case ENOENT:
		return "not_found";
	case EEXIST:
		return "exists";
	case EISDIR:
	case ENXIO:
	case ENODEV:
		return "not_a_file";
	case ENOTDIR:
		return "not_a_directory";
	case ENOTEMPTY:
		return "not_empty";
	case EACCES:
	case EPERM:
	case EROFS:
		return "permission";
	case EXDEV:
		return "denied";
	case ENOSPC:
	case EDQUOT:
		return "no_space";
	case EFBIG:
		return "too_large";
	case EBUSY:
	case ETXTBSY:
	case EAGAIN:
		return "busy";
	case EINVAL:
	case ENAMETOOLONG:
	case ELOOP:
		return "bad_request";
	default:
		return "io";
	}
}

void
fail(struct operation *op, const char *code, int error, const char *format, ...)
{
	char message[4096 + 512];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(message, sizeof message, format, arguments);
	va_end(arguments);
	frame_begin(&op->out, FRAME_ERROR);
	put_string(&op->out, 10, code);
	put_string(&op->out, 11, message);
	if (error != 0)
		put_int(&op->out, 12, error);
	frame_end(&op->out);
	answer_flush(op);
}

void
fail_errno(struct operation *op, int error, const char *doing, const char *path)
{
	const char *reason = error == EXDEV ? "it leads out of the root of this request" : strerror(error);
	fail(op, code_of(error), error, "cannot %s %.4096s: %s", doing, path, reason);
}

bool
ask_int(struct operation *op, uint8_t tag, const char *name, int64_t fallback, int64_t min, int64_t max, int64_t *value)
{
	if (!field_int(op->request, tag, fallback, value)) {
		fail(op, "bad_request", 0, "%s must be an integer of 8 bytes", name);
		return false;
	}
	if (*value < min || *value > max) {
		fail(op, "bad_request", 0, "%s is %" PRId64 ", allowed are %" PRId64 " to %" PRId64, name, *value, min, max);
		return false;
	}
	return true;
}

bool
ask_flag(struct operation *op, uint8_t tag, const char *name, bool fallback, bool *value)
{
	int64_t number;
	if (!ask_int(op, tag, name, fallback, 0, 1, &number))
		return false;
	*value = number == 1;
	return true;
}

char *
ask_text(struct operation *op, uint8_t tag, const char *name)
{
	char *text = field_string(op->request, tag);
	if (text == NULL)
		fail(op, "bad_request", 0, "%s is missing or holds a NUL byte", name);
	return text;
}

char *
ask_path(struct operation *op, uint8_t tag, const char *name)
{
	char *path = ask_text(op, tag, name);
	if (path == NULL)
		return NULL;
	size_t length = strlen(path);
	if (length > 0 && length <= PATH_LIMIT)
		return path;
	fail(op, "bad_request", 0, "%s must have 1 to %u bytes", name, PATH_LIMIT);
	free(path);
	return NULL;
}

static char
type_letter(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFDIR:
		return 'd';
	case S_IFLNK:
		return 'l';
	case S_IFIFO:
		return 'p';
	case S_IFSOCK:
		return 's';
	case S_IFBLK:
		return 'b';
	case S_IFCHR:
		return 'c';
	default:
		return 'f';
	}
}

const char *
link_target(const struct stat *status, int parent, const char *name, char buffer[TARGET_SIZE])
{
	if (!S_ISLNK(status->st_mode))
		return NULL;
	ssize_t size = readlinkat(parent, name, buffer, TARGET_SIZE - 1);
	if (size < 0)
		return NULL;
	buffer[size] = 0;
	return buffer;
}

bool
put_entry(struct operation *op, const char *path, const struct stat *status, const char *target)
{
	return put_entry_at(op, path, status, target, -1, NULL);
}

bool
put_entry_at(struct operation *op, const char *path, const struct stat *status, const char *target, int parent, const char *name)
{
	struct writer *out = &op->out;
	size_t length = strlen(path);
	if (length > PATH_LIMIT * 2)
		return false;
	frame_begin(out, FRAME_ENTRY);
	put_bytes(out, 50, path, length);
	put_bytes(out, 51, (char[]){type_letter(status->st_mode)}, 1);
	put_int(out, 52, status->st_size);
	put_int(out, 53, status->st_mode & 07777);
	put_int(out, 54, status->st_uid);
	put_int(out, 55, status->st_gid);
	put_int(out, 56, (int64_t)status->st_mtim.tv_sec * 1000000000 + status->st_mtim.tv_nsec);
	if (target != NULL)
		put_string(out, 57, target);
	put_int(out, 58, (int64_t)status->st_ino);
	if (op->attributes && name != NULL && S_ISREG(status->st_mode))
		put_attributes(out, parent, name);
	frame_end(out);
	return true;
}

void
put_ok(struct operation *op)
{
	frame_begin(&op->out, FRAME_OK);
	frame_end(&op->out);
	answer_flush(op);
}

void
note_unreadable(struct unreadable *unreadable, const char *path)
{
	if (unreadable->count++ == 0)
		unreadable->first = strdup(path);
}

void
put_unreadable(struct writer *out, const struct unreadable *unreadable)
{
	if (unreadable->count == 0)
		return;
	put_int(out, 24, unreadable->count);
	if (unreadable->first != NULL && strlen(unreadable->first) <= PATH_LIMIT * 2)
		put_string(out, 25, unreadable->first);
}

char *
join_path(const char *base, const char *name)
{
	size_t length = strlen(base);
	size_t more = strlen(name);
	bool slash = length > 0 && base[length - 1] != '/';
	char *path = malloc(length + more + 2);
	if (path == NULL)
		return NULL;
	memcpy(path, base, length);
	if (slash)
		path[length++] = '/';
	memcpy(path + length, name, more + 1);
	return path;
}
