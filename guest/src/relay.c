#include "relay.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "command.h"
#include "loop.h"
#include "server.h"

#define PAIRS_MAX 256
#define IDLE_US 10000000

/* One of the two sockets of a connection, and what came from it that the other did not take yet. */
struct end {
	struct source source;
	struct pair *pair;
	struct end *other;
	uint8_t *waiting;
	size_t start, length;
	bool ended; /* nothing more will come from here */
	bool told;  /* and the other side knows */
};

struct pair {
	struct pair *next;
	struct end inner, outer;
	bool dead;
};

static struct source listener;
static struct sockaddr_un proxy = {.sun_family = AF_UNIX};
static pid_t relay;
static struct pair *pairs;
static size_t pair_count;

static void
drop(struct pair *pair)
{
	pair->dead = true;
	source_close(&pair->inner.source);
	source_close(&pair->outer.source);
}

/* Writes what waits to the other end, and passes the end on after it. False when the pair is broken. */
static bool
push(struct end *from)
{
	while (from->length > 0) {
		ssize_t n = send(from->other->source.fd, from->waiting + from->start, from->length, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno == EAGAIN)
			return true;
		if (n < 0 && errno != EINTR)
			return false;
		from->start += n < 0 ? 0 : (size_t)n;
		from->length -= n < 0 ? 0 : (size_t)n;
	}
	free(from->waiting);
	from->waiting = NULL;
	if (from->ended && !from->told) {
		from->told = true;
		shutdown(from->other->source.fd, SHUT_WR);
	}
	return true;
}

static bool
pull(struct end *from)
{
	ssize_t n = recv(from->source.fd, scratch, INPUT_CHUNK, MSG_DONTWAIT);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	from->ended = n == 0;
	ssize_t sent = n == 0 ? 0 : send(from->other->source.fd, scratch, (size_t)n, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (sent < 0 && errno != EAGAIN && errno != EINTR)
		return false;
	size_t done = sent < 0 ? 0 : (size_t)sent, left = (size_t)n - done;
	if (left > 0) {
		from->waiting = malloc(left);
		if (from->waiting == NULL)
			return false;
		memcpy(from->waiting, scratch + done, left);
		from->start = 0;
		from->length = left;
	}
	return push(from);
}

static bool
watch_end(struct end *end)
{
	bool readable = !end->ended && end->length == 0;
	return source_watch(&end->source, (readable ? EPOLLIN : 0) | (end->other->length > 0 ? EPOLLOUT : 0));
}

static void
end_ready(struct source *source, uint32_t events)
{
	struct end *end = container_of(source, struct end, source);
	struct pair *pair = end->pair;
	bool good = !(events & EPOLLERR);
	if (good && events & EPOLLOUT)
		good = push(end->other);
	if (good && events & (EPOLLIN | EPOLLHUP) && !end->ended && end->length == 0)
		good = pull(end);
	bool over = pair->inner.told && pair->outer.told;
	if (!good || over || !watch_end(&pair->inner) || !watch_end(&pair->outer))
		drop(pair);
}

static void
open_pair(int inner)
{
	int outer = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct pair *pair = calloc(1, sizeof *pair);
	if (outer < 0 || pair == NULL || connect(outer, (struct sockaddr *)&proxy, sizeof proxy) < 0) {
		/* A closed connection is all the answer that code in the sandbox gets: the host knows why. */
		if (outer >= 0)
			close(outer);
		close(inner);
		free(pair);
		return;
	}
	source_set(&pair->inner.source, inner, end_ready);
	source_set(&pair->outer.source, outer, end_ready);
	pair->inner.pair = pair->outer.pair = pair;
	pair->inner.other = &pair->outer;
	pair->outer.other = &pair->inner;
	pair->next = pairs;
	pairs = pair;
	pair_count++;
	if (!watch_end(&pair->inner) || !watch_end(&pair->outer))
		drop(pair);
}

static void
accept_one(struct source *source, uint32_t events)
{
	(void)events;
	int fd = accept4(source->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd >= 0)
		open_pair(fd);
}

static void
sweep_pairs(void)
{
	for (struct pair **link = &pairs; *link != NULL;) {
		struct pair *pair = *link;
		if (!pair->dead) {
			link = &pair->next;
			continue;
		}
		*link = pair->next;
		free(pair->inner.waiting);
		free(pair->outer.waiting);
		free(pair);
		pair_count--;
	}
}

/* The relay's process. It needs no more rights than to connect, so it keeps none. */
static _Noreturn void
relay_run(int fd)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[2] = {{0}};
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	syscall(SYS_capset, &header, none);
	close_except(0, &fd, 1);
	if (!loop_open())
		_exit(1);
	source_set(&listener, fd, accept_one);
	for (int64_t idle_since = now_us();;) {
		/* Past the bound new ones wait in the listener's queue. */
		if (!source_watch(&listener, pair_count < PAIRS_MAX ? EPOLLIN : 0))
			_exit(1);
		loop_round(pair_count == 0 ? idle_since + IDLE_US : 0);
		sweep_pairs();
		if (pair_count > 0)
			idle_since = now_us();
		else if (now_us() - idle_since >= IDLE_US)
			_exit(0);
	}
}

static void
listener_ready(struct source *source, uint32_t events)
{
	(void)events;
	pid_t pid = fork();
	if (pid == 0)
		relay_run(source->fd);
	if (pid > 0) {
		relay = pid;
		source_watch(source, 0);
		return;
	}
	/* No process to be had: hanging up is better than being woken for the same connection again and again. */
	int fd = accept4(source->fd, NULL, NULL, SOCK_CLOEXEC);
	if (fd >= 0)
		close(fd);
}

static bool
tell_port(int fd, const char *port_file)
{
	struct sockaddr_in address;
	socklen_t length = sizeof address;
	char text[16];
	if (getsockname(fd, (struct sockaddr *)&address, &length) != 0)
		return false;
	int size = snprintf(text, sizeof text, "%d\n", ntohs(address.sin_port));
	int file = open(port_file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	bool good = file >= 0 && write(file, text, (size_t)size) == size;
	if (file >= 0)
		close(file);
	return good;
}

bool
relay_open(const char *egress, const char *port_file)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port_file != NULL ? 0 : RELAY_PORT)};
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (strlen(egress) >= sizeof proxy.sun_path) {
		errno = ENAMETOOLONG;
		return false;
	}
	memcpy(proxy.sun_path, egress, strlen(egress) + 1);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	source_set(&listener, fd, listener_ready);
	return fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int)) == 0 &&
	       bind(fd, (struct sockaddr *)&address, sizeof address) == 0 && listen(fd, 128) == 0 &&
	       (port_file == NULL || tell_port(fd, port_file)) && source_watch(&listener, EPOLLIN);
}

bool
relay_is(pid_t pid)
{
	return relay != 0 && relay == pid;
}

void
relay_reaped(pid_t pid)
{
	if (!relay_is(pid))
		return;
	relay = 0;
	source_watch(&listener, EPOLLIN);
}
