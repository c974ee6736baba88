#include "ring.h"

#include <string.h>
#include <sys/mman.h>

static size_t
mapped_size(const struct ring *ring)
{
	return ring->size + (ring->size + 7) / 8;
}

bool
ring_open(struct ring *ring, size_t size)
{
	*ring = (struct ring){.size = size};
	if (size == 0)
		return true;
	void *memory = mmap(NULL, mapped_size(ring), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return false;
	ring->bytes = memory;
	ring->streams = ring->bytes + size;
	return true;
}

void
ring_close(struct ring *ring)
{
	if (ring->bytes != NULL)
		munmap(ring->bytes, mapped_size(ring));
	*ring = (struct ring){.end = ring->end};
}

static void
mark(uint8_t *bits, size_t from, size_t length, bool value)
{
	while (length > 0) {
		if (from % 8 == 0 && length >= 8) {
			size_t whole = length / 8;
			memset(bits + from / 8, value ? 0xff : 0, whole);
			from += whole * 8;
			length -= whole * 8;
			continue;
		}
		uint8_t bit = (uint8_t)(1u << from % 8);
		bits[from / 8] = (uint8_t)(value ? bits[from / 8] | bit : bits[from / 8] & ~bit);
		from++;
		length--;
	}
}

void
ring_append(struct ring *ring, bool error, const uint8_t *data, size_t length)
{
	ring->end += length;
	if (ring->size == 0)
		return;
	if (length > ring->size) {
		data += length - ring->size;
		length = ring->size;
	}
	size_t position = (size_t)((ring->end - length) % ring->size);
	size_t first = length < ring->size - position ? length : ring->size - position;
	memcpy(ring->bytes + position, data, first);
	mark(ring->streams, position, first, error);
	memcpy(ring->bytes, data + first, length - first);
	mark(ring->streams, 0, length - first, error);
}

uint64_t
ring_start(const struct ring *ring)
{
	return ring->end > ring->size ? ring->end - ring->size : 0;
}

static bool
marked(const struct ring *ring, size_t position)
{
	return ring->streams[position / 8] >> position % 8 & 1;
}

size_t
ring_run(const struct ring *ring, uint64_t offset, size_t limit, bool *error, const uint8_t **data)
{
	if (offset >= ring->end || offset < ring_start(ring) || ring->size == 0)
		return 0;
	size_t position = (size_t)(offset % ring->size), longest = (size_t)(ring->end - offset);
	if (longest > ring->size - position)
		longest = ring->size - position;
	if (longest > limit)
		longest = limit;
	*error = marked(ring, position);
	*data = ring->bytes + position;
	size_t length = 1;
	while (length < longest && marked(ring, position + length) == *error)
		length++;
	return length;
}
