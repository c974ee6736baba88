#include "frame.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static uint32_t
load32(const uint8_t *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static void
store32(uint8_t *p, uint32_t value)
{
	for (int i = 0; i < 4; i++)
		p[i] = (uint8_t)(value >> (8 * i));
}

ptrdiff_t
frame_decode(const uint8_t *buffer, size_t length, uint8_t *type, struct bytes *payload)
{
	if (length < 4)
		return 0;
	uint32_t size = load32(buffer);
	if (size > FRAME_MAX)
		return -1;
	if (length < FRAME_HEADER + (size_t)size)
		return 0;
	*type = buffer[4];
	*payload = (struct bytes){buffer + FRAME_HEADER, size};
	return (ptrdiff_t)(FRAME_HEADER + size);
}

int
field_next(struct bytes payload, size_t *offset, uint8_t *tag, struct bytes *value)
{
	size_t left = payload.length - *offset;
	if (left == 0)
		return 0;
	if (left < 5)
		return -1;
	const uint8_t *p = payload.data + *offset;
	uint32_t size = load32(p + 1);
	if (size > left - 5)
		return -1;
	*tag = p[0];
	*value = (struct bytes){p + 5, size};
	*offset += 5 + (size_t)size;
	return 1;
}

bool
fields_valid(struct bytes payload)
{
	size_t offset = 0;
	uint8_t tag;
	struct bytes value;
	int more;
	while ((more = field_next(payload, &offset, &tag, &value)) == 1)
		continue;
	return more == 0;
}

bool
field_find(struct bytes payload, uint8_t tag, struct bytes *value)
{
	size_t offset = 0;
	uint8_t seen;
	while (field_next(payload, &offset, &seen, value) == 1)
		if (seen == tag)
			return true;
	return false;
}

bool
field_int(struct bytes payload, uint8_t tag, int64_t fallback, int64_t *value)
{
	struct bytes raw;
	*value = fallback;
	if (!field_find(payload, tag, &raw))
		return true;
	if (raw.length != 8)
		return false;
	*value = (int64_t)((uint64_t)load32(raw.data) | (uint64_t)load32(raw.data + 4) << 32);
	return true;
}

char *
field_string(struct bytes payload, uint8_t tag)
{
	struct bytes raw;
	if (!field_find(payload, tag, &raw) || memchr(raw.data, 0, raw.length) != NULL)
		return NULL;
	char *text = malloc(raw.length + 1);
	if (text == NULL)
		return NULL;
	memcpy(text, raw.data, raw.length);
	text[raw.length] = 0;
	return text;
}

void
writer_free(struct writer *writer)
{
	free(writer->data);
	*writer = (struct writer){0};
}

void
writer_bytes(struct writer *writer, const void *data, size_t length)
{
	if (writer->failed)
		return;
	if (length > writer->capacity - writer->length) {
		size_t capacity = writer->capacity ? writer->capacity : 256;
		while (capacity - writer->length < length)
			capacity *= 2;
		uint8_t *grown = realloc(writer->data, capacity);
		if (grown == NULL) {
			writer->failed = true;
			return;
		}
		writer->data = grown;
		writer->capacity = capacity;
	}
	if (length > 0)
		memcpy(writer->data + writer->length, data, length);
	writer->length += length;
}

void
frame_begin(struct writer *writer, uint8_t type)
{
	writer->frame = writer->length;
	writer_bytes(writer, (uint8_t[]){0, 0, 0, 0, type}, FRAME_HEADER);
}

void
frame_end(struct writer *writer)
{
	if (!writer->failed)
		store32(writer->data + writer->frame, (uint32_t)(writer->length - writer->frame - FRAME_HEADER));
}

void
put_bytes(struct writer *writer, uint8_t tag, const void *data, size_t length)
{
	uint8_t head[5] = {tag};
	store32(head + 1, (uint32_t)length);
	writer_bytes(writer, head, sizeof head);
	writer_bytes(writer, data, length);
}

void
put_int(struct writer *writer, uint8_t tag, int64_t value)
{
	uint8_t raw[8];
	store32(raw, (uint32_t)(uint64_t)value);
	store32(raw + 4, (uint32_t)((uint64_t)value >> 32));
	put_bytes(writer, tag, raw, sizeof raw);
}

void
put_string(struct writer *writer, uint8_t tag, const char *text)
{
	put_bytes(writer, tag, text, strlen(text));
}

int
read_all(int fd, void *data, size_t length)
{
	size_t done = 0;
	while (done < length) {
		ssize_t n = read(fd, (uint8_t *)data + done, length - done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n == 0 && done == 0 ? 0 : -1;
		done += (size_t)n;
	}
	return 1;
}

bool
write_all(int fd, const void *data, size_t length)
{
	size_t done = 0;
	while (done < length) {
		ssize_t n = write(fd, (const uint8_t *)data + done, length - done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return false;
		done += (size_t)n;
	}
	return true;
}

int
frame_receive(int fd, uint8_t **buffer, size_t *capacity, uint8_t *type, struct bytes *payload)
{
	uint8_t head[FRAME_HEADER];
	int got = read_all(fd, head, sizeof head);
	if (got != 1)
		return got;
	uint32_t size = load32(head);
	if (size > FRAME_MAX)
		return -1;
	if (size > *capacity) {
		uint8_t *grown = realloc(*buffer, size);
		if (grown == NULL)
			return -1;
		*buffer = grown;
		*capacity = size;
	}
	if (size > 0 && read_all(fd, *buffer, size) != 1)
		return -1;
	*type = head[4];
	*payload = (struct bytes){*buffer, size};
	return 1;
}
