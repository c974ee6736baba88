/* Looks for bytes: sixteen places at a time where the processor can. */
#include <string.h>

#include "expression.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

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

#if defined(__SSE2__)

/* Compares the first and the last byte of the literal at sixteen places; only where both agree the rest is looked at. A
 * letter that may be of either case is compared with the bit set that tells them apart. */
const uint8_t *
literal_find(const struct literal *literal, const uint8_t *begin, const uint8_t *end)
{
	uint8_t first = literal->bytes[0], last = literal->bytes[literal->length - 1];
	const __m128i first_bytes = _mm_set1_epi8((char)first), last_bytes = _mm_set1_epi8((char)last);
	const __m128i first_fold = _mm_set1_epi8(literal->folded && is_lower(first) ? 32 : 0);
	const __m128i last_fold = _mm_set1_epi8(literal->folded && is_lower(last) ? 32 : 0);
	size_t tail = literal->length - 1;
	while ((size_t)(end - begin) >= 16 + tail) {
		__m128i here = _mm_or_si128(_mm_loadu_si128((const __m128i *)(const void *)begin), first_fold);
		__m128i there = _mm_or_si128(_mm_loadu_si128((const __m128i *)(const void *)(begin + tail)), last_fold);
		__m128i both = _mm_and_si128(_mm_cmpeq_epi8(here, first_bytes), _mm_cmpeq_epi8(there, last_bytes));
		for (unsigned places = (unsigned)_mm_movemask_epi8(both); places != 0; places &= places - 1) {
			const uint8_t *place = begin + __builtin_ctz(places);
			if (same(literal, place))
				return place;
		}
		begin += 16;
	}
	return find_slowly(literal, begin, end);
}

size_t
count_newlines(const uint8_t *begin, const uint8_t *end)
{
	size_t count = 0;
	const __m128i newline = _mm_set1_epi8('\n');
	for (; end - begin >= 16; begin += 16) {
		__m128i here = _mm_loadu_si128((const __m128i *)(const void *)begin);
		count += (size_t)__builtin_popcount((unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(here, newline)));
	}
	for (; begin < end; begin++)
		count += *begin == '\n';
	return count;
}

#else

const uint8_t *
literal_find(const struct literal *literal, const uint8_t *begin, const uint8_t *end)
{
	return find_slowly(literal, begin, end);
}

size_t
count_newlines(const uint8_t *begin, const uint8_t *end)
{
	size_t count = 0;
	for (; begin < end; begin++)
		count += *begin == '\n';
	return count;
}

#endif
