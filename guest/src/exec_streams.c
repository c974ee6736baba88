/* The bytes of an exec: from the program's streams to the connection and the ring, and from the host to the program. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "exec.h"
#include "pty.h"
#include "server.h"

/* A pipe that was found full once is worth more memory of the kernel's. */
#define PIPE_SIZE (256 << 10)
#define PIPE_DEFAULT (64 << 10)
#define TERMINAL_BYTES (256u << 10)

static bool
readable(int fd)
{
	struct pollfd wait = {.fd = fd, .events = POLLIN};
	return poll(&wait, 1, 0) == 1;
}

/* How many bytes of a stream are there to be read now. A terminal cannot tell: it counts only what has come through its line
 * discipline. It is read until it is empty, or this much has come. */
static size_t
bytes_inside(const struct exec *exec, int fd)
{
	int count = 0;
	if (fd < 0)
		return 0;
	if (exec->pty && fd == exec->streams[STREAM_OUT].source.fd)
		return readable(fd) ? TERMINAL_BYTES : 0;
	return ioctl(fd, FIONREAD, &count) == 0 && count > 0 ? (size_t)count : 0;
}

static void
stream_close(struct stream *stream)
{
	source_close(&stream->source);
	stream->due = 0;
}

bool
exec_replaying(const struct exec *exec)
{
	return exec->connection != NULL && exec->replay < exec->ring.end;
}

static bool
held_ready(const struct exec *exec)
{
	return exec->held != NULL && exec->streams[STREAM_OUT].due == 0 && exec->streams[STREAM_ERR].due == 0;
}

/* Sends what is behind the live streams: a replay from the ring, then control bytes that waited for the streams. */
void
exec_pump(struct exec *exec)
{
	struct connection *connection = exec->connection;
	if (connection == NULL)
		return;
	while (exec_replaying(exec) && !connection_busy(connection) && !connection->dead) {
		bool error;
		const uint8_t *data;
		size_t length = ring_run(&exec->ring, exec->replay, SCRATCH_SIZE, &error, &data);
		if (length == 0)
			break;
		exec->replay += length;
		connection_raw(connection, error ? FRAME_STDERR : FRAME_STDOUT, data, length);
	}
	if (held_ready(exec) && !exec_replaying(exec) && !connection->dead) {
		connection_raw(connection, FRAME_CONTROL_OUT, exec->held, exec->held_length);
		free(exec->held);
		exec->held = NULL;
	}
}

void
stream_output(struct exec *exec, struct stream *stream, const uint8_t *data, size_t length)
{
	ring_append(&exec->ring, stream->frame == FRAME_STDERR, data, length);
	stream->due -= length < stream->due ? length : stream->due;
	if (exec->pty && stream->due > 0 && !readable(stream->source.fd))
		stream->due = 0;
	/* After EXITED the streams are only emptied, so that what lives on does not block. */
	if (exec->connection != NULL && !exec->finished) {
		exec->replay = exec->ring.end;
		connection_raw(exec->connection, stream->frame, data, length);
	}
}

void
stream_ready(struct source *source, uint32_t events)
{
	struct stream *stream = container_of(source, struct stream, source);
	struct exec *exec = stream->exec;
	(void)events;
	ssize_t n = read(source->fd, scratch, SCRATCH_SIZE);
	if (n > 0) {
		if (n == PIPE_DEFAULT && !exec->pty)
			fcntl(source->fd, F_SETPIPE_SZ, PIPE_SIZE);
		stream_output(exec, stream, scratch, (size_t)n);
	} else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
		/* The end of a pipe; of a terminal it is EIO, once every inner end is closed. */
		stream_close(stream);
	}
	exec_update(exec);
}

/* Control bytes must come after all that was written to the streams before them. They are read first, and then everything
 * the two pipes hold at that moment goes ahead of them; the other order would leave a gap between the looks. After EXITED they
 * are only thrown away, so that what lives on neither blocks nor wakes us for nothing. */
void
control_ready(struct source *source, uint32_t events)
{
	struct stream *stream = container_of(source, struct stream, source);
	struct exec *exec = stream->exec;
	(void)events;
	if (exec->held != NULL && !exec->finished)
		return;
	ssize_t n = read(source->fd, scratch, INPUT_CHUNK);
	if (n > 0 && !exec->finished) {
		stream->due -= (size_t)n < stream->due ? (size_t)n : stream->due;
		exec->held = malloc((size_t)n);
		if (exec->held == NULL) {
			connection_drop(exec->connection);
			return;
		}
		memcpy(exec->held, scratch, (size_t)n);
		exec->held_length = (size_t)n;
		exec->streams[STREAM_OUT].due = bytes_inside(exec, exec->streams[STREAM_OUT].source.fd);
		exec->streams[STREAM_ERR].due = bytes_inside(exec, exec->streams[STREAM_ERR].source.fd);
	} else if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
		stream_close(stream);
	}
	exec_update(exec);
}

void
exec_cut_off(struct exec *exec)
{
	exec->cut_off = true;
	for (int i = 0; i < STREAMS; i++)
		exec->streams[i].due = bytes_inside(exec, exec->streams[i].source.fd);
}

bool
exec_drained(const struct exec *exec)
{
	/* Without a listener nobody reads control bytes. */
	bool heard = exec->connection != NULL;
	if ((heard && exec->held != NULL) || exec_replaying(exec))
		return false;
	for (int i = 0; i < STREAMS; i++) {
		if (i == STREAM_CONTROL && !heard)
			continue;
		if (exec->streams[i].source.fd >= 0 && !(exec->cut_off && exec->streams[i].due == 0))
			return false;
	}
	return true;
}

void
sink_close(struct sink *sink)
{
	source_close(&sink->source);
	free(sink->waiting);
	sink->waiting = NULL;
	sink->start = sink->length = 0;
}

static void
sink_finish(struct sink *sink)
{
	if (sink->source.fd < 0 || !sink->ending || sink->length > 0)
		return;
	if (!sink->exec->pty || sink != &sink->exec->input) {
		sink_close(sink);
		return;
	}
	/* In the middle of a line the first one only hands over the line, and the second one ends the input. */
	uint8_t end = pty_end_of_file(sink->source.fd), twice[2] = {end, end};
	bool middle = sink->last != 0 && sink->last != '\n' && sink->last != '\r';
	if (write(sink->source.fd, twice, middle ? 2 : 1) < 0 && errno == EAGAIN)
		return;
	sink->ending = false;
}

/* Writes what waits. */
static void
sink_flush(struct sink *sink)
{
	while (sink->length > 0) {
		ssize_t n = write(sink->source.fd, sink->waiting + sink->start, sink->length);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n < 0) {
			/* The program closed its end: whatever else comes is dropped. */
			sink_close(sink);
			return;
		}
		sink->last = sink->waiting[sink->start + (size_t)n - 1];
		sink->start += (size_t)n;
		sink->length -= (size_t)n;
	}
	free(sink->waiting);
	sink->waiting = NULL;
	sink->start = 0;
	sink_finish(sink);
}

void
sink_ready(struct source *source, uint32_t events)
{
	struct sink *sink = container_of(source, struct sink, source);
	if (events & EPOLLOUT)
		sink_flush(sink);
	else if (events & (EPOLLERR | EPOLLHUP))
		sink_close(sink);
	exec_update(sink->exec);
}

void
sink_write(struct exec *exec, struct sink *sink, const uint8_t *data, size_t length)
{
	if (sink->source.fd < 0 || sink->ending)
		return;
	size_t done = 0;
	while (sink->length == 0 && done < length) {
		ssize_t n = write(sink->source.fd, data + done, length - done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			break;
		if (n < 0) {
			sink_close(sink);
			return;
		}
		done += (size_t)n;
		sink->last = data[done - 1];
	}
	if (done == length)
		return;
	/* The connection is paused while anything waits, so at most one chunk does. */
	uint8_t *waiting = malloc(sink->length + length - done);
	if (waiting == NULL) {
		connection_drop(exec->connection);
		return;
	}
	if (sink->length > 0)
		memcpy(waiting, sink->waiting + sink->start, sink->length);
	memcpy(waiting + sink->length, data + done, length - done);
	free(sink->waiting);
	sink->waiting = waiting;
	sink->start = 0;
	sink->length += length - done;
	exec_update(exec);
}

void
sink_end(struct exec *exec, struct sink *sink)
{
	if (sink->source.fd < 0)
		return;
	sink->ending = true;
	sink_finish(sink);
	exec_update(exec);
}
