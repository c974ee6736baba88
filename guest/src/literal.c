/* Looks for bytes, at sixteen places at a time: every processor that we run on can, and the compiler knows how. */
#include <string.h>

#include "expression.h"

typedef uint8_t places __attribute__((vector_size(16)));

/* The lowest bit of each byte. */
#define EACH UINT64_C(0x0101010101010101)

static places
load(const uint8_t *begin)
{
	places loaded;
	memcpy(&loaded, begin, sizeof(loaded));
	return loaded;
}

static places
all(uint8_t byte)
{
	return byte - (places){0};
}

static uint8_t
lower(uint8_t byte)
{
	return byte >= 'A' && byte <= 'Z' ? (uint8_t)(byte + 32) : byte;
}

static bool
is_lower(uint8_t byte)
{
	return byte >= 'a' && byte <= 'z';
}

static bool
same(const struct literal *literal, const uint8_t *text)
{
	if (!literal->folded)
		return memcmp(literal->bytes, text, literal->length) == 0;
	for (size_t i = 0; i < literal->length; i++)
		if (lower(text[i]) != literal->bytes[i])
			return false;
	return true;
}

static const uint8_t *
find_slowly(const struct literal *literal, const uint8_t *begin, const uint8_t *end)
{
	for (; (size_t)(end - begin) >= literal->length; begin++) {
		if (!literal->folded) {
			begin = memchr(begin, literal->bytes[0], (size_t)(end - begin) - literal->length + 1);
			if (begin == NULL)
				return NULL;
		}
		if (same(literal, begin))
			return begin;
	}
	return NULL;
}

/* Compares the first and the last byte of the literal at sixteen places; only where both agree the rest is looked at. A
 * letter that may be of either case is compared with the bit set that tells them apart. */
const uint8_t *
literal_find(const struct literal *literal, const uint8_t *begin, const uint8_t *end)
{
	uint8_t first = literal->bytes[0], last = literal->bytes[literal->length - 1];
	const places first_bytes = all(first), last_bytes = all(last);
	const places first_fold = all(literal->folded && is_lower(first) ? 32 : 0);
	const places last_fold = all(literal->folded && is_lower(last) ? 32 : 0);
	size_t tail = literal->length - 1;
	for (; (size_t)(end - begin) >= sizeof(places) + tail; begin += sizeof(places)) {
		places both = ((load(begin) | first_fold) == first_bytes) & ((load(begin + tail) | last_fold) == last_bytes);
		uint64_t halves[2];
		memcpy(halves, &both, sizeof(halves));
		if ((halves[0] | halves[1]) == 0)
			continue;
		for (size_t half = 0; half < 2; half++) {
			for (uint64_t found = halves[half] & EACH; found != 0; found &= found - 1) {
				const uint8_t *place = begin + 8 * half + (size_t)__builtin_ctzll(found) / 8;
				if (same(literal, place))
					return place;
			}
		}
	}
	return find_slowly(literal, begin, end);
}

size_t
count_newlines(const uint8_t *begin, const uint8_t *end)
{
	size_t count = 0;
	const places newline = all('\n');
	while ((size_t)(end - begin) >= sizeof(places)) {
		/* A byte counts to 255. */
		places counts = {0};
		for (int i = 0; i < 255 && (size_t)(end - begin) >= sizeof(places); i++, begin += sizeof(places))
			counts -= (places)(load(begin) == newline);
		for (size_t i = 0; i < sizeof(places); i++)
			count += counts[i];
	}
	for (; begin < end; begin++)
		count += *begin == '\n';
	return count;
}
