/* The decoder against the vectors of spec/vectors, and the encoder against itself. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "frame.h"
#include "harness.h"

/* Beside this file when the tests are run by make. */
#define VECTORS "../spec/vectors/guest-frames.txt"

static size_t
from_hex(const char *text, uint8_t *bytes)
{
	size_t length = 0;
	for (unsigned value; isxdigit((unsigned char)text[0]) && sscanf(text, "%2x", &value) == 1; text += 2)
		bytes[length++] = (uint8_t)value;
	return length;
}

static bool
same_when_written_again(uint8_t type, struct bytes payload, const uint8_t *bytes, size_t length)
{
	struct writer writer = {0};
	size_t offset = 0;
	uint8_t tag;
	struct bytes value;
	frame_begin(&writer, type);
	while (field_next(payload, &offset, &tag, &value) == 1)
		put_bytes(&writer, tag, value.data, value.length);
	frame_end(&writer);
	bool same = writer.length == length && memcmp(writer.data, bytes, length) == 0;
	writer_free(&writer);
	return same;
}

static bool
starts(const char *name, const char *prefix)
{
	return strncmp(name, prefix, strlen(prefix)) == 0;
}

/* In memory of exactly its size, so that the sanitizer sees a byte too many. */
static void
check_vector(const char *name, const uint8_t *source, size_t length)
{
	uint8_t *bytes = malloc(length + (length == 0)), type = 0;
	memcpy(bytes, source, length);
	struct bytes payload = {NULL, 0};
	ptrdiff_t size = frame_decode(bytes, length, &type, &payload);
	bool good = false;
	if (starts(name, "fields-"))
		good = size == (ptrdiff_t)length && fields_valid(payload) &&
		       same_when_written_again(type, payload, bytes, length);
	else if (starts(name, "bad-"))
		good = size == (ptrdiff_t)length && !fields_valid(payload);
	else if (starts(name, "short-"))
		good = size == 0;
	else if (starts(name, "long-"))
		good = size == -1;
	else if (starts(name, "raw-"))
		good = size > 0 && payload.length == (size_t)size - FRAME_HEADER;
	if (!CHECK(good))
		printf("vector %s\n", name);
	free(bytes);
}

static void
vectors(void)
{
	char line[8192], name[64];
	int seen = 0;
	FILE *file = fopen(VECTORS, "r");
	if (!CHECK(file != NULL))
		return;
	while (fgets(line, sizeof line, file) != NULL) {
		uint8_t bytes[4096];
		int used = 0;
		if (line[0] == '#' || sscanf(line, "%63s %n", name, &used) != 1)
			continue;
		check_vector(name, bytes, from_hex(line + used, bytes));
		seen++;
	}
	fclose(file);
	CHECK(seen >= 25);
}

static void
numbers_and_strings(void)
{
	struct writer writer = {0};
	uint8_t type;
	struct bytes payload, value;
	int64_t number;
	frame_begin(&writer, 7);
	put_int(&writer, 1, INT64_MIN);
	put_int(&writer, 2, -2);
	put_string(&writer, 3, "text");
	put_bytes(&writer, 4, "a\0b", 3);
	put_bytes(&writer, 5, "1234567", 7);
	frame_end(&writer);
	CHECK(frame_decode(writer.data, writer.length, &type, &payload) == (ptrdiff_t)writer.length && type == 7);
	CHECK(field_int(payload, 1, 0, &number) && number == INT64_MIN);
	CHECK(field_int(payload, 2, 0, &number) && number == -2);
	CHECK(field_int(payload, 9, 42, &number) && number == 42);
	CHECK(!field_int(payload, 5, 0, &number));
	CHECK(field_find(payload, 4, &value) && value.length == 3);
	CHECK(!field_find(payload, 9, &value));
	char *text = field_string(payload, 3);
	CHECK(text != NULL && strcmp(text, "text") == 0);
	free(text);
	CHECK(field_string(payload, 4) == NULL);
	CHECK(field_string(payload, 9) == NULL);
	writer_free(&writer);
}

static void
blocking_transfer(void)
{
	int ends[2];
	uint8_t *buffer = NULL, type;
	size_t capacity = 0;
	struct bytes payload;
	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
	CHECK(write_all(ends[0], "\3\0\0\0\x83" "abc" "\0\0\0\0\x41", 13));
	CHECK(frame_receive(ends[1], &buffer, &capacity, &type, &payload) == 1 && type == 0x83 && payload.length == 3);
	CHECK(frame_receive(ends[1], &buffer, &capacity, &type, &payload) == 1 && type == 0x41 && payload.length == 0);
	CHECK(write_all(ends[0], "\3\0\0\0\x83" "a", 6));
	close(ends[0]);
	CHECK(frame_receive(ends[1], &buffer, &capacity, &type, &payload) == -1);
	CHECK(frame_receive(ends[1], &buffer, &capacity, &type, &payload) == 0);
	close(ends[1]);
	free(buffer);
}

int
main(void)
{
	vectors();
	numbers_and_strings();
	blocking_transfer();
	return finish();
}
