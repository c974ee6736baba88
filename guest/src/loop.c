#include "loop.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

static int epoll_set = -1;

bool
loop_open(void)
{
	epoll_set = epoll_create1(EPOLL_CLOEXEC);
	return epoll_set >= 0;
}

void
loop_round(int64_t deadline)
{
	struct epoll_event events[32];
	int wait = -1;
	if (deadline != 0) {
		int64_t left = deadline - now_us();
		/* Rounded up, so that the deadline has passed when the wait is over. */
		wait = left <= 0 ? 0 : left > 60000000 ? 60000 : (int)((left + 999) / 1000);
	}
	int count = epoll_wait(epoll_set, events, sizeof events / sizeof events[0], wait);
	for (int i = 0; i < count; i++) {
		struct source *source = events[i].data.ptr;
		if (source->fd >= 0 && source->watched != 0)
			source->ready(source, events[i].events);
	}
}

void
source_set(struct source *source, int fd, void (*ready)(struct source *, uint32_t))
{
	*source = (struct source){.fd = fd, .ready = ready};
}

bool
source_watch(struct source *source, uint32_t events)
{
	if (source->fd < 0 || source->watched == events)
		return true;
	int operation = events == 0 ? EPOLL_CTL_DEL : source->watched == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
	struct epoll_event event = {.events = events, .data.ptr = source};
	if (epoll_ctl(epoll_set, operation, source->fd, &event) < 0)
		return false;
	source->watched = events;
	return true;
}

void
source_close(struct source *source)
{
	if (source->fd < 0)
		return;
	/* A forked worker may hold a copy of the descriptor, and then close alone would leave it in the set. */
	source_watch(source, 0);
	close(source->fd);
	source->fd = -1;
	source->watched = 0;
}

int64_t
now_us(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t
sooner(int64_t a, int64_t b)
{
	return a == 0 || (b != 0 && b < a) ? b : a;
}
