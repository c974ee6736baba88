/* WATCH and TUNNEL. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"

enum { CREATED, MODIFIED, DELETED, MOVED_AWAY, MOVED_HERE, OVERFLOWED };

static struct worker
watch(const char *path, bool recursive)
{
	begin(REQUEST_WATCH);
	put_string(&request, 10, path);
	put_int(&request, 11, recursive);
	struct worker worker = start();
	struct bytes payload;
	CHECK(next(&worker, &payload) == FRAME_OK);
	return worker;
}

/* Reads events until the one expected; false when none comes for five seconds. `between` counts those before it. */
static bool
wait_for(struct worker *worker, int64_t kind, const char *path, int *between)
{
	for (int seen = 0;; seen++) {
		struct pollfd end = {.fd = worker->fd, .events = POLLIN};
		struct bytes payload, where;
		int64_t got;
		if (poll(&end, 1, 5000) <= 0 || next(worker, &payload) != FRAME_EVENT) {
			printf("no event %d for %s\n", (int)kind, path);
			return false;
		}
		if (field_int(payload, 64, -1, &got) && got == kind && field_find(payload, 50, &where) &&
		    where.length == strlen(path) && memcmp(where.data, path, where.length) == 0) {
			if (between != NULL)
				*between = seen;
			return true;
		}
	}
}

static void
watch_tells_what_happens(void)
{
	int between;
	CHECK(mkdir(in("w"), 0755) == 0 && mkdir(in("w/old"), 0755) == 0);
	struct worker worker = watch(in("w"), true);
	put_text(in("w/a"), "1");
	CHECK(wait_for(&worker, CREATED, in("w/a"), &between) && between == 0);
	CHECK(wait_for(&worker, MODIFIED, in("w/a"), NULL));
	put_text(in("w/old/b"), "2");
	CHECK(wait_for(&worker, CREATED, in("w/old/b"), NULL));
	CHECK(rename(in("w/old/b"), in("w/c")) == 0);
	CHECK(wait_for(&worker, MOVED_AWAY, in("w/old/b"), NULL) && wait_for(&worker, MOVED_HERE, in("w/c"), NULL));
	CHECK(unlink(in("w/c")) == 0);
	CHECK(wait_for(&worker, DELETED, in("w/c"), NULL));
	/* A directory that is full before anybody could watch it. */
	CHECK(mkdir(in("made"), 0755) == 0 && mkdir(in("made/x"), 0755) == 0);
	put_text(in("made/x/y"), "3");
	CHECK(rename(in("made"), in("w/made")) == 0);
	CHECK(wait_for(&worker, MOVED_HERE, in("w/made"), NULL) && wait_for(&worker, CREATED, in("w/made/x/y"), NULL));
	put_text(in("w/made/x/z"), "4");
	CHECK(wait_for(&worker, CREATED, in("w/made/x/z"), NULL));
	/* A directory that changes its name takes its watches along. */
	CHECK(rename(in("w/made"), in("w/named")) == 0);
	CHECK(wait_for(&worker, MOVED_HERE, in("w/named"), NULL));
	put_text(in("w/named/x/q"), "5");
	CHECK(wait_for(&worker, CREATED, in("w/named/x/q"), NULL));
	CHECK(worker_end(&worker) == 0);
}

static void
watch_follows_fresh_trees(void)
{
	struct worker worker = watch(in("w"), true);
	char path[256];
	for (int i = 0; i < 50; i++) {
		snprintf(path, sizeof path, "w/t%d", i);
		mkdir(in(path), 0755);
		strcat(path, "/u");
		mkdir(in(path), 0755);
		strcat(path, "/leaf");
		put_text(in(path), "x");
	}
	for (int i = 0; i < 50; i++) {
		snprintf(path, sizeof path, "w/t%d/u/leaf", i);
		CHECK(wait_for(&worker, CREATED, in(path), NULL));
	}
	CHECK(worker_end(&worker) == 0);
}

static void
watch_does_not_follow_links(void)
{
	CHECK(mkdir(in("elsewhere"), 0755) == 0);
	CHECK(symlink(in("elsewhere"), in("w/link")) == 0);
	struct worker worker = watch(in("w"), true);
	put_text(in("elsewhere/secret"), "x");
	CHECK(symlink(in("elsewhere"), in("w/link2")) == 0);
	put_text(in("elsewhere/secret2"), "x");
	put_text(in("w/last"), "x");
	int between;
	CHECK(wait_for(&worker, CREATED, in("w/last"), &between) && between == 1);
	CHECK(worker_end(&worker) == 0);
}

static void
watch_coalesces_and_hides_drafts(void)
{
	struct worker worker = watch(in("w"), false);
	int fd = open(in("w/last"), O_WRONLY | O_CLOEXEC);
	for (int i = 0; i < 1000; i++)
		CHECK(write(fd, "x", 1) == 1);
	close(fd);
	struct reply reply = ask_write(in("w/last"), "whole", 5);
	CHECK(reply.last == FRAME_OK);
	reply_free(&reply);
	int between;
	CHECK(wait_for(&worker, MOVED_HERE, in("w/last"), &between) && between < 500);
	put_text(in("w/old/not-told"), "x");
	put_text(in("w/told"), "x");
	CHECK(wait_for(&worker, CREATED, in("w/told"), &between) && between == 0);
	CHECK(worker_end(&worker) == 0);
}

static void
watch_says_when_it_lost_something(void)
{
	/* Nobody reads while far more happens than the kernel and the socket keep. */
	struct worker worker = watch(in("w"), true);
	char one[256], other[256];
	snprintf(one, sizeof one, "%s", in("w/flood-a"));
	snprintf(other, sizeof other, "%s", in("w/flood-b"));
	put_text(one, "x");
	for (int i = 0; i < 30000; i++) {
		rename(one, other);
		rename(other, one);
	}
	CHECK(wait_for(&worker, OVERFLOWED, in("w"), NULL));
	put_text(in("w/after"), "x");
	CHECK(wait_for(&worker, CREATED, in("w/after"), NULL));
	CHECK(worker_end(&worker) == 0);
	begin(REQUEST_WATCH);
	put_string(&request, 10, in("w/after"));
	struct reply reply = run();
	CHECK(failed_with(&reply, "not_a_directory"));
	reply_free(&reply);
}

static int
listen_on(int family, uint16_t *port)
{
	struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	struct sockaddr_in four = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t size = family == AF_INET ? sizeof four : sizeof six;
	struct sockaddr *address = family == AF_INET ? (struct sockaddr *)&four : (struct sockaddr *)&six;
	if (family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &(int){1}, sizeof(int));
	if (bind(fd, address, size) < 0 || listen(fd, 4) < 0 || getsockname(fd, address, &size) < 0) {
		close(fd);
		return -1;
	}
	*port = ntohs(family == AF_INET ? four.sin_port : six.sin6_port);
	return fd;
}

static struct worker
tunnel(uint16_t port)
{
	begin(REQUEST_TUNNEL);
	put_int(&request, 10, port);
	struct worker worker = start();
	struct bytes payload;
	CHECK(next(&worker, &payload) == FRAME_OK);
	return worker;
}

/* A server that echoes until the end, then says good-bye and closes. */
static pid_t
echo(int listener)
{
	fflush(stdout);
	pid_t pid = fork();
	if (pid != 0)
		return pid;
	char buffer[65536];
	int fd = accept(listener, NULL, NULL);
	for (ssize_t got; (got = read(fd, buffer, sizeof buffer)) > 0;)
		if (!write_all(fd, buffer, (size_t)got))
			break;
	write_all(fd, "bye", 3);
	_exit(0);
}

static void
tunnel_carries_both_ways(int family)
{
	uint16_t port;
	int listener = listen_on(family, &port);
	if (!CHECK(listener >= 0))
		return;
	pid_t server = echo(listener);
	struct worker worker = tunnel(port);
	size_t size = 5u << 20, got = 0;
	fflush(stdout);
	pid_t writer = fork();
	if (writer == 0) {
		uint8_t *data = malloc(size);
		for (size_t i = 0; i < size; i++)
			data[i] = (uint8_t)(i % 251);
		bool sent = write_all(worker.fd, data, size);
		shutdown(worker.fd, SHUT_WR); /* half-close: the answer still comes */
		_exit(sent ? 0 : 1);
	}
	uint8_t buffer[65536];
	bool same = true;
	char tail[4] = {0};
	for (ssize_t n; (n = read(worker.fd, buffer, sizeof buffer)) > 0;)
		for (ssize_t i = 0; i < n; i++, got++) {
			if (got < size)
				same &= buffer[i] == got % 251;
			else if (got < size + 3)
				tail[got - size] = (char)buffer[i];
		}
	CHECK(got == size + 3 && same && strcmp(tail, "bye") == 0);
	int status;
	CHECK(waitpid(writer, &status, 0) == writer && status == 0);
	CHECK(waitpid(server, &status, 0) == server && status == 0);
	CHECK(worker_end(&worker) == 0);
	close(listener);
}

static void
tunnel_ends_with_its_host(void)
{
	uint16_t port;
	int listener = listen_on(AF_INET, &port);
	struct worker worker = tunnel(port);
	int server = accept(listener, NULL, NULL);
	CHECK(write_all(worker.fd, "hello", 5));
	shutdown(worker.fd, SHUT_WR);
	char buffer[16];
	CHECK(read_all(server, buffer, 5) == 1 && read(server, buffer, 1) == 0);
	/* The server stays silent and open. Waiting must cost nothing, and the host's going must end it. */
	struct rusage before, after;
	getrusage(RUSAGE_CHILDREN, &before);
	struct pollfd nothing = {.fd = worker.fd, .events = POLLIN};
	CHECK(poll(&nothing, 1, 300) == 0);
	CHECK(worker_end(&worker) == 0);
	getrusage(RUSAGE_CHILDREN, &after);
	CHECK(after.ru_utime.tv_usec + after.ru_stime.tv_usec - before.ru_utime.tv_usec - before.ru_stime.tv_usec +
		  1000000 * (after.ru_utime.tv_sec + after.ru_stime.tv_sec - before.ru_utime.tv_sec - before.ru_stime.tv_sec) <
	      250000);
	close(server);
	close(listener);
	begin(REQUEST_TUNNEL);
	put_int(&request, 10, port);
	struct reply reply = run();
	CHECK(failed_with(&reply, "refused"));
	reply_free(&reply);
	begin(REQUEST_TUNNEL);
	put_int(&request, 10, 70000);
	reply = run();
	CHECK(failed_with(&reply, "bad_request"));
	reply_free(&reply);
}

int
main(void)
{
	folder_make();
	watch_tells_what_happens();
	watch_follows_fresh_trees();
	watch_does_not_follow_links();
	watch_coalesces_and_hides_drafts();
	watch_says_when_it_lost_something();
	tunnel_carries_both_ways(AF_INET);
	tunnel_carries_both_ways(AF_INET6);
	tunnel_ends_with_its_host();
	folder_remove();
	return finish();
}
