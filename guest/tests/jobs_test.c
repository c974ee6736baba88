/* Jobs of the spawn server on a fake control group: those that the kernel keeps end in time. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness.h"
#include "jobs.h"

#define PATIENCE_MS 20000

static struct spawn server;

static void
open_server(void)
{
	server = (struct spawn){.run = folder, .lib = folder, .volumes = "", .epoll = epoll_create1(EPOLL_CLOEXEC), .used = 1};
	server.boxes = calloc(1, sizeof *server.boxes);
	server.details = calloc(1, sizeof *server.details);
	server.jobs = calloc(JOBS_MAX, sizeof *server.jobs);
}

static void
close_server(void)
{
	close(server.epoll);
	free(server.boxes);
	free(server.details);
	free(server.jobs);
}

/* A pipe that nobody reads stands for memory that is used as fast as it is taken back. */
static void
a_limit_that_takes_too_long_is_refused_and_undone(void)
{
	struct box_details *details = &server.details[0];
	struct limits wanted = {.memory = 128 << 20, .cpu = 1000, .pids = 64};
	struct failure failure;
	details->limits = (struct limits){.memory = 256 << 20, .cpu = 1000, .pids = 64};
	details->groups = (struct hierarchies){.count = 1, .at = {{.controllers = (1u << CG_COUNT) - 1}}};
	snprintf(details->groups.at[0].path, CGROUP_PATH_MAX, "%s", folder);
	put_text(in(SOCKET_BUFFERS_LIMIT), "268435456");
	CHECK(mkfifo(in("memory.limit_in_bytes"), 0600) == 0);
	CHECK(jobs_limit(&server, -1, 0, &wanted, &failure) && jobs_busy(&server));

	struct pollfd ended = {.fd = server.jobs[0].pidfd, .events = POLLIN};
	CHECK(poll(&ended, 1, PATIENCE_MS) == 1);
	CHECK(read(server.jobs[0].words, &failure, sizeof failure) == (ssize_t)sizeof failure);
	CHECK(failure.kind == KIND_CONFLICT && strstr(failure.message, "the 128 MiB that") != NULL);
	jobs_on_end(&server, 0);
	CHECK(!jobs_busy(&server) && details->limits.memory == 256 << 20);
	CHECK(has_text(in(SOCKET_BUFFERS_LIMIT), "268435456"));
}

int
main(void)
{
	folder_make();
	open_server();
	a_limit_that_takes_too_long_is_refused_and_undone();
	close_server();
	folder_remove();
	return finish();
}
