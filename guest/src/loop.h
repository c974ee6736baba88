/* The guest's event loop: one epoll set, level-triggered, one thread. Nothing called from it may block. */
#ifndef CARREL_LOOP_H
#define CARREL_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>

#define container_of(pointer, type, member) ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

/* A descriptor and who is called when it is ready. Its owner may be freed only between two rounds of the loop, because a
 * round may still hold an event for it; a closed source is skipped. */
struct source {
	int fd;		  /* -1: closed */
	uint32_t watched; /* epoll events asked for; 0: not in the set, so not even a hang-up wakes us */
	void (*ready)(struct source *source, uint32_t events);
};

bool loop_open(void);

/* Waits until something is ready or the deadline (of now_us, 0: none) has come, and calls whom it concerns. */
void loop_round(int64_t deadline);

void source_set(struct source *source, int fd, void (*ready)(struct source *, uint32_t));

/* Asks for these events from now on. False when the kernel has no memory for it. */
bool source_watch(struct source *source, uint32_t events);
void source_close(struct source *source);

int64_t now_us(void);

/* Of two moments the one that comes first; 0 is never. */
int64_t sooner(int64_t a, int64_t b);

#endif
