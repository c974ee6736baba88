/* Starts of zygotes that break off: what they took is free again. */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"
#include "launch.h"
#include "owners.h"
#include "zygote.h"

static struct spawn server;

static void
open_server(void)
{
	server = (struct spawn){.run = folder, .lib = folder, .epoll = epoll_create1(EPOLL_CLOEXEC)};
	server.boxes = calloc(1, sizeof *server.boxes);
	server.details = calloc(1, sizeof *server.details);
	server.owners = calloc(OWNERS_MAX, sizeof *server.owners);
	server.nursery = calloc(1, sizeof *server.nursery);
	server.ids = (struct id_pool){.map = MAP_RANGE, .uid_base = 0x50000000, .ids = 1};
	server.owners[0].used = true;
	server.owners[0].slot = 1;
	server.boxes[0].pidfd = -1;
	zygotes_open(server.nursery);
}

static void
close_server(void)
{
	close(server.epoll);
	free(server.boxes);
	free(server.details);
	free(server.owners);
	free(server.nursery);
}

/* Tries to start one, and gives up what came of it as the server does. */
static void
fail_to_start(void)
{
	struct zygote *zygote = &server.nursery->zygotes[0];
	*zygote = (struct zygote){.state = ZYGOTE_MOVING_IN, .preload = "plain", .control = -1, .life = -1};
	CHECK(!zygote_start(&server, zygote));
	zygote->box = -1;
	zygote_end(&server, zygote, true);
	CHECK(server.nursery->holders[0].pid == 0);
	CHECK(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
}

static void
without_descriptors(void)
{
	struct rlimit usual, few;
	int lowest = dup(0);
	close(lowest);
	getrlimit(RLIMIT_NOFILE, &usual);
	few = usual;
	few.rlim_cur = (rlim_t)lowest + 4; /* for its two pairs, and not for the one who holds it */
	CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0);
	fail_to_start();
	CHECK(setrlimit(RLIMIT_NOFILE, &usual) == 0);
	int after = dup(0);
	CHECK(after == lowest);
	close(after);
}

static void
without_watch(void)
{
	int lowest = dup(0);
	close(lowest);
	int epoll = server.epoll;
	server.epoll = -1;
	fail_to_start();
	server.epoll = epoll;
	int after = dup(0);
	CHECK(after == lowest);
	close(after);
}

int
main(void)
{
	launch_remember_arguments();
	folder_make();
	open_server();
	without_descriptors();
	without_watch();
	close_server();
	folder_remove();
	return finish();
}
