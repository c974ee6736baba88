/* TUNNEL: bytes between the host and a port of the sandbox's own loopback, either way until that way is closed. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "files.h"

#define CHUNK (128u << 10)
#define CONNECT_MS 5000

/* One direction. */
struct way {
	int from;
	int to;
	uint8_t *data;
	size_t start;
	size_t end;
	bool ended; /* `from` has no more */
	bool done;  /* and `to` was told so */
};

static bool
finish_connect(struct operation *op, int fd)
{
	struct pollfd ends[2] = {{.fd = fd, .events = POLLOUT}, {.fd = op->connection, .events = 0}};
	int ready = poll(ends, 2, CONNECT_MS);
	if (ready <= 0 || ends[0].revents == 0) {
		errno = ready < 0 ? errno : ETIMEDOUT;
		return false;
	}
	int error = 0;
	socklen_t size = sizeof error;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0)
		return false;
	errno = error;
	return error == 0;
}

static int
dial(struct operation *op, const struct sockaddr *address, socklen_t size)
{
	int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -1;
	if (connect(fd, address, size) == 0 || (errno == EINPROGRESS && finish_connect(op, fd))) {
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
		return fd;
	}
	int error = errno;
	close(fd);
	errno = error;
	return -1;
}

static int
dial_loopback(struct operation *op, uint16_t port)
{
	struct sockaddr_in four = {
	    .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	int fd = dial(op, (struct sockaddr *)&four, sizeof four);
	if (fd >= 0)
		return fd;
	int error = errno;
	fd = dial(op, (struct sockaddr *)&six, sizeof six);
	errno = fd < 0 ? error : errno;
	return fd;
}

static void
stop(struct way *way)
{
	if (!way->done)
		shutdown(way->to, SHUT_WR);
	way->done = way->ended = true;
	way->start = way->end = 0;
}

static bool
wants_bytes(const struct way *way)
{
	return !way->ended && way->start == way->end;
}

/* Moves what can be moved now. A way that breaks stops; the other may still have something to deliver. */
static void
advance(struct way *way, bool readable)
{
	if (way->done)
		return;
	if (readable && wants_bytes(way)) {
		ssize_t got = read(way->from, way->data, CHUNK);
		if (got < 0 && errno != EAGAIN && errno != EINTR) {
			stop(way);
			return;
		}
		way->ended = got == 0;
		way->start = 0;
		way->end = got > 0 ? (size_t)got : 0;
	}
	if (way->start < way->end) {
		ssize_t put = write(way->to, way->data + way->start, way->end - way->start);
		if (put < 0 && errno != EAGAIN && errno != EINTR)
			stop(way);
		else
			way->start += put > 0 ? (size_t)put : 0;
	}
	if (way->ended && way->start == way->end)
		stop(way);
}

static void
pump(struct way *up, struct way *down)
{
	/* A socket that hung up says so for ever: it is heard once, then no longer asked. Nobody reads there any more, and what
	 * it sent before can be read without waiting. */
	bool host_hung = false, port_hung = false;
	while (!up->done || !down->done) {
		struct pollfd host = {.fd = host_hung ? -1 : up->from}, port = {.fd = port_hung ? -1 : down->from};
		host.events = (short)((wants_bytes(up) ? POLLIN : 0) | (down->start < down->end ? POLLOUT : 0));
		port.events = (short)((wants_bytes(down) ? POLLIN : 0) | (up->start < up->end ? POLLOUT : 0));
		struct pollfd ends[2] = {host, port};
		bool at_once = (host_hung && wants_bytes(up)) || (port_hung && wants_bytes(down));
		if (poll(ends, 2, at_once ? 0 : -1) < 0 && errno != EINTR)
			return;
		if (ends[0].revents & (POLLHUP | POLLERR)) {
			host_hung = true;
			stop(down);
		}
		if (ends[1].revents & (POLLHUP | POLLERR)) {
			port_hung = true;
			stop(up);
		}
		advance(up, host_hung || (ends[0].revents & POLLIN) != 0);
		advance(down, port_hung || (ends[1].revents & POLLIN) != 0);
	}
}

static bool
nonblocking(int fd)
{
	int flags = fcntl(fd, F_GETFL);
	return flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0;
}

void
serve_tunnel(struct operation *op)
{
	int64_t number;
	if (!ask_int(op, 10, "port", 0, 1, 65535, &number))
		return;
	int port CLEANUP(close_fd) = dial_loopback(op, (uint16_t)number);
	if (port < 0) {
		fail(op, "refused", errno, "nothing answers on port %d of the sandbox: %s", (int)number, strerror(errno));
		return;
	}
	struct way up = {.from = op->connection, .to = port, .data = malloc(CHUNK)};
	struct way down = {.from = port, .to = op->connection, .data = malloc(CHUNK)};
	if (up.data == NULL || down.data == NULL) {
		fail_errno(op, ENOMEM, "open a tunnel to", "the port");
	} else {
		put_ok(op);
		if (!op->gone && nonblocking(op->connection))
			pump(&up, &down);
	}
	free(up.data);
	free(down.data);
}
