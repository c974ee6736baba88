/* The newest bytes of an exec's output, each with the stream it came from. */
#ifndef CARREL_RING_H
#define CARREL_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ring {
	uint8_t *bytes;
	uint8_t *streams; /* one bit a byte: set for standard error */
	size_t size;
	uint64_t end; /* offset after the last byte; grows for ever */
};

/* Memory is taken from the kernel page by page as output comes. */
bool ring_open(struct ring *ring, size_t size);
void ring_close(struct ring *ring);
void ring_append(struct ring *ring, bool error, const uint8_t *data, size_t length);

/* The first offset that is still there. */
uint64_t ring_start(const struct ring *ring);

/* The longest run of bytes of one stream from this offset on, at most `limit`: returns its length, 0 at the end. */
size_t ring_run(const struct ring *ring, uint64_t offset, size_t limit, bool *error, const uint8_t **data);

#endif
