/* The ring against a plain list of all bytes. */
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "ring.h"

#define TOTAL 20000

static uint8_t all[TOTAL];
static bool errors[TOTAL];

static unsigned
dice(unsigned sides)
{
	static uint64_t state = 88172645463325252u;
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (unsigned)(state % sides);
}

static bool
replays(const struct ring *ring, uint64_t from)
{
	while (from < ring->end) {
		bool error;
		const uint8_t *data;
		size_t length = ring_run(ring, from, 1 + dice(700), &error, &data);
		if (length == 0 || memcmp(data, all + from, length) != 0)
			return false;
		for (size_t i = 0; i < length; i++)
			if (errors[from + i] != error)
				return false;
		from += length;
	}
	return true;
}

static void
against_a_list(size_t size)
{
	struct ring ring;
	size_t at = 0;
	bool good = true;
	if (!CHECK(ring_open(&ring, size)))
		return;
	while (good && at < TOTAL) {
		size_t length = 1 + dice(dice(10) == 0 ? 3000 : 20);
		if (length > TOTAL - at)
			length = TOTAL - at;
		bool error = dice(2);
		for (size_t i = 0; i < length; i++) {
			all[at + i] = (uint8_t)dice(256);
			errors[at + i] = error;
		}
		ring_append(&ring, error, all + at, length);
		at += length;
		good = ring.end == at && ring_start(&ring) == (at > size ? at - size : 0) &&
		       replays(&ring, ring_start(&ring)) && replays(&ring, ring_start(&ring) + dice((unsigned)(ring.end - ring_start(&ring))));
	}
	CHECK(good);
	bool error;
	const uint8_t *data;
	CHECK(ring_run(&ring, ring.end, 10, &error, &data) == 0);
	CHECK(ring_start(&ring) == 0 || ring_run(&ring, ring_start(&ring) - 1, 10, &error, &data) == 0);
	ring_close(&ring);
	CHECK(ring.end == TOTAL);
}

int
main(void)
{
	static const size_t sizes[] = {1, 7, 8, 9, 64, 1000, 4096, 19999, TOTAL, 1 << 20};
	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
		against_a_list(sizes[i]);
	struct ring none;
	CHECK(ring_open(&none, 0));
	ring_append(&none, false, all, 10);
	CHECK(none.end == 10 && ring_start(&none) == 10);
	ring_close(&none);
	return finish();
}
