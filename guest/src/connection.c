#include "connection.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "exec.h"
#include "server.h"

/* A request that began to arrive must be complete after this long. */
#define REQUEST_US 10000000
/* How long a host may take to hang up after it was told everything. */
#define LINGER_US 2000000
/* All unfinished requests together may hold this much memory. */
#define REQUESTS_BYTES (8u << 20)
/* SIGNAL and RESIZE are small. */
#define STRUCTURED_MAX 4096

static struct connection *connections;
static size_t connection_count;
static size_t timed;
static size_t body_bytes;

static void
free_body(struct connection *connection)
{
	if (connection->body != NULL)
		body_bytes -= connection->body_size;
	free(connection->body);
	connection->body = NULL;
	connection->body_length = connection->body_size = 0;
}

static void
set_due(struct connection *connection, int64_t due)
{
	timed += (due != 0) - (connection->due != 0);
	connection->due = due;
}

static void
update(struct connection *connection)
{
	if (connection->dead)
		return;
	uint32_t events = 0;
	if (connection->lingering || (!connection->closing && !connection->paused))
		events |= EPOLLIN;
	if (connection_busy(connection))
		events |= EPOLLOUT;
	if (events == 0)
		events = EPOLLRDHUP;
	if (!source_watch(&connection->source, events))
		connection_drop(connection);
}

bool
connection_busy(const struct connection *connection)
{
	return connection->sent < connection->out.length;
}

void
connection_drop(struct connection *connection)
{
	if (connection->dead)
		return;
	connection->dead = true;
	guest.garbage = true;
	if (connection->closing)
		/* Unread bytes would turn the end that the host sees into a reset. */
		while (recv(connection->source.fd, scratch, SCRATCH_SIZE, MSG_DONTWAIT) == SCRATCH_SIZE)
			continue;
	source_close(&connection->source);
	if (guest.stop_connection == connection)
		guest.stop_connection = NULL;
	if (connection->exec != NULL)
		exec_detached(connection->exec);
	connection->exec = NULL;
}

/* The socket takes nothing more. */
static void
send_failed(struct connection *connection)
{
	if (connection->exec == NULL || !exec_keeps(connection->exec)) {
		connection_drop(connection);
		return;
	}
	connection->deaf = true;
	writer_free(&connection->out);
	connection->sent = 0;
	update(connection);
}

/* Closing a TCP socket with unread bytes resets it, and then the host may lose what it has not read yet. */
static void
linger(struct connection *connection)
{
	connection->lingering = true;
	shutdown(connection->source.fd, SHUT_WR);
	set_due(connection, now_us() + LINGER_US);
}

void
connection_flush(struct connection *connection)
{
	struct writer *out = &connection->out;
	if (connection->dead)
		return;
	if (out->failed) {
		connection_drop(connection);
		return;
	}
	if (connection->deaf)
		writer_free(out);
	while (connection_busy(connection)) {
		ssize_t n = send(connection->source.fd, out->data + connection->sent, out->length - connection->sent,
				 MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			break;
		if (n < 0) {
			send_failed(connection);
			return;
		}
		connection->sent += (size_t)n;
	}
	if (!connection_busy(connection)) {
		writer_free(out);
		connection->sent = 0;
		if (connection->closing && (!connection->streaming || connection->deaf)) {
			connection_drop(connection);
			return;
		}
		if (connection->closing && !connection->lingering)
			linger(connection);
	}
	update(connection);
}

void
connection_raw(struct connection *connection, uint8_t type, const void *data, size_t length)
{
	uint8_t head[FRAME_HEADER] = {(uint8_t)length, (uint8_t)(length >> 8), (uint8_t)(length >> 16), 0, type};
	size_t sent = 0;
	if (connection->dead || connection->deaf)
		return;
	if (!connection_busy(connection)) {
		struct iovec parts[2] = {{head, sizeof head}, {(void *)(uintptr_t)data, length}};
		struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
		ssize_t n = sendmsg(connection->source.fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno != EAGAIN && errno != EINTR) {
			send_failed(connection);
			return;
		}
		sent = n < 0 ? 0 : (size_t)n;
		if (sent == sizeof head + length)
			return;
	}
	if (sent < sizeof head)
		writer_bytes(&connection->out, head + sent, sizeof head - sent);
	size_t skip = sent < sizeof head ? 0 : sent - sizeof head;
	writer_bytes(&connection->out, (const uint8_t *)data + skip, length - skip);
	if (connection->out.failed)
		connection_drop(connection);
	else
		update(connection);
}

void
connection_error(struct connection *connection, const char *code, const char *message, int error)
{
	frame_begin(&connection->out, FRAME_ERROR);
	put_string(&connection->out, 10, code);
	put_string(&connection->out, 11, message);
	if (error != 0)
		put_int(&connection->out, 12, error);
	frame_end(&connection->out);
	connection_finish(connection);
}

void
connection_finish(struct connection *connection)
{
	connection->closing = true;
	connection_flush(connection);
}

void
connection_pause(struct connection *connection, bool paused)
{
	if (connection->paused == paused)
		return;
	connection->paused = paused;
	update(connection);
}

/* As recv, and keeps the descriptors that came along. Only a request has any, and only ADOPT makes use of them. */
static ssize_t
receive_passed(struct connection *connection, void *data, size_t length)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(PASSED_MAX * sizeof(int))];
	} extra;
	struct iovec part = {data, length};
	/* Not all of the space: where alignment left room for one more, the kernel would fill it. */
	struct msghdr message = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = &extra, .msg_controllen = CMSG_LEN(PASSED_MAX * sizeof(int))};
	ssize_t n = recvmsg(connection->source.fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	struct cmsghdr *header = n > 0 ? CMSG_FIRSTHDR(&message) : NULL;
	if (header == NULL || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
		return n;
	int fds[PASSED_MAX], count = (int)((header->cmsg_len - CMSG_LEN(0)) / sizeof(int));
	memcpy(fds, CMSG_DATA(header), (size_t)count * sizeof(int));
	for (int i = 0; i < count; i++) {
		if (connection->passed_count < PASSED_MAX)
			connection->passed[connection->passed_count++] = fds[i];
		else
			close(fds[i]);
	}
	return n;
}

/* Reads up to `length` bytes. Returns how many, 0 when none are there now; ends the connection at its end. */
static size_t
receive(struct connection *connection, void *data, size_t length)
{
	ssize_t n = connection->requested ? recv(connection->source.fd, data, length, MSG_DONTWAIT) : receive_passed(connection, data, length);
	if (n > 0)
		return (size_t)n;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	connection_drop(connection);
	return 0;
}

/* A whole frame with fields has arrived. */
static void
frame_complete(struct connection *connection)
{
	uint8_t type = connection->head[4];
	struct bytes payload = {connection->body, connection->body_length};
	bool first = !connection->requested;
	connection->requested = true;
	set_due(connection, 0);
	connection->head_length = 0;
	if (!fields_valid(payload))
		connection_error(connection, "bad_request", "the fields of the frame do not fit its length", 0);
	else if (first)
		request_serve(connection, type, payload);
	else if (connection->exec != NULL)
		exec_frame(connection->exec, type, payload);
	free_body(connection);
}

static void
frame_header(struct connection *connection)
{
	uint8_t type;
	struct bytes none;
	uint8_t *head = connection->head;
	uint32_t length = (uint32_t)head[0] | (uint32_t)head[1] << 8 | (uint32_t)head[2] << 16 | (uint32_t)head[3] << 24;
	if (frame_decode(head, FRAME_HEADER, &type, &none) < 0) {
		connection_error(connection, "bad_request", "a frame is longer than 1048576 bytes", 0);
		return;
	}
	if (connection->requested && (head[4] == FRAME_DATA || head[4] == FRAME_CONTROL)) {
		connection->raw_left = length;
		if (length == 0)
			connection->head_length = 0;
		return;
	}
	bool too_long = connection->requested && length > STRUCTURED_MAX;
	if (too_long || length > REQUESTS_BYTES - body_bytes || (connection->body = malloc(length + 1)) == NULL) {
		connection_error(connection, too_long ? "bad_request" : "busy",
				 too_long ? "the frame is too long for its type" : "too many large requests at once", 0);
		return;
	}
	connection->body_size = length;
	body_bytes += length;
	if (length == 0)
		frame_complete(connection);
}

/* Makes one step: the header, a part of a raw payload, or a part of the fields. False when nothing more is there. */
static bool
read_step(struct connection *connection)
{
	size_t n;
	if (connection->head_length < FRAME_HEADER) {
		n = receive(connection, connection->head + connection->head_length, FRAME_HEADER - connection->head_length);
		connection->head_length += n;
		if (n > 0 && !connection->requested && connection->due == 0)
			set_due(connection, now_us() + REQUEST_US);
		if (n > 0 && connection->head_length == FRAME_HEADER)
			frame_header(connection);
		return n > 0;
	}
	if (connection->raw_left > 0) {
		size_t want = connection->raw_left < INPUT_CHUNK ? connection->raw_left : INPUT_CHUNK;
		n = receive(connection, scratch, want);
		connection->raw_left -= (uint32_t)n;
		uint8_t type = connection->head[4];
		if (connection->raw_left == 0)
			connection->head_length = 0;
		if (n > 0 && connection->exec != NULL)
			exec_input(connection->exec, type, scratch, n);
		return n > 0;
	}
	n = receive(connection, connection->body + connection->body_length, connection->body_size - connection->body_length);
	connection->body_length += n;
	if (n > 0 && connection->body_length == connection->body_size)
		frame_complete(connection);
	return n > 0;
}

static void
connection_ready(struct source *source, uint32_t events)
{
	struct connection *connection = container_of(source, struct connection, source);
	if (events & EPOLLOUT) {
		connection_flush(connection);
		if (!connection->dead && connection->exec != NULL)
			exec_update(connection->exec);
	}
	if (connection->dead)
		return;
	if (connection->lingering) {
		if (events & EPOLLIN)
			receive(connection, scratch, SCRATCH_SIZE);
		else
			connection_drop(connection);
	} else if (events & EPOLLIN && !connection->closing) {
		/* A few frames at a time, so that one busy connection does not starve the others. */
		for (int step = 0; step < 16; step++)
			if (connection->dead || connection->closing || connection->paused || !read_step(connection))
				break;
	} else if (events & (EPOLLHUP | EPOLLERR | EPOLLRDHUP)) {
		if (connection->paused && connection->exec != NULL && exec_keeps(connection->exec))
			/* What it sent before it went still belongs to the program: read on when that is possible. */
			source_watch(&connection->source, 0);
		else
			connection_drop(connection);
	}
}

void
connection_open(int fd)
{
	struct connection *connection = calloc(1, sizeof *connection);
	if (connection == NULL) {
		close(fd);
		return;
	}
	source_set(&connection->source, fd, connection_ready);
	connection->next = connections;
	connections = connection;
	connection_count++;
	update(connection);
}

bool
connections_timed(void)
{
	return timed > 0;
}

size_t
connections_open(void)
{
	return connection_count;
}

int64_t
connections_sweep(int64_t now)
{
	int64_t next = 0;
	for (struct connection **link = &connections; *link != NULL;) {
		struct connection *connection = *link;
		int64_t due = connection->due;
		if (due != 0 && due <= now)
			connection_drop(connection);
		else if (!connection->dead)
			next = sooner(next, due);
		if (!connection->dead) {
			link = &connection->next;
			continue;
		}
		*link = connection->next;
		connection_count--;
		set_due(connection, 0);
		free_body(connection);
		writer_free(&connection->out);
		while (connection->passed_count > 0)
			close(connection->passed[--connection->passed_count]);
		free(connection);
	}
	return next;
}
