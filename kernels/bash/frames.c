#include "frames.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void
fail(const char *what)
{
    fprintf(stderr, "kernel: %s: %s\n", what, strerror(errno));
    _exit(70);
}

void
append(struct buffer *buffer, const void *data, size_t size)
{
    if (buffer->size + size > buffer->room) {
        buffer->room = (buffer->size + size) * 2;
        buffer->data = realloc(buffer->data, buffer->room);
        if (buffer->data == NULL)
            fail("out of memory");
    }
    memcpy(buffer->data + buffer->size, data, size);
    buffer->size += size;
}

void
append_u32(struct buffer *buffer, uint32_t number)
{
    unsigned char bytes[4] = {number & 0xff, number >> 8 & 0xff, number >> 16 & 0xff, number >> 24 & 0xff};
    append(buffer, bytes, sizeof bytes);
}

void
append_text(struct buffer *buffer, const char *text, size_t size)
{
    append_u32(buffer, (uint32_t)size);
    append(buffer, text, size);
}

uint32_t
u32_at(const char *data)
{
    const unsigned char *bytes = (const unsigned char *)data;
    return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

int
write_all(int fd, const char *data, size_t size)
{
    while (size > 0) {
        ssize_t written = write(fd, data, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return -1;
        data += written;
        size -= (size_t)written;
    }
    return 0;
}

int
read_all(int fd, char *data, size_t size)
{
    while (size > 0) {
        ssize_t got = read(fd, data, size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            fail("reading a request");
        if (got == 0)
            return 0;
        data += got;
        size -= (size_t)got;
    }
    return 1;
}

void
add_event(struct buffer *out, unsigned char type, const struct buffer *payload)
{
    append_u32(out, (uint32_t)payload->size);
    append(out, &type, 1);
    append(out, payload->data, payload->size);
}

void
send_events(struct buffer *out)
{
    if (write_all(EVENTS, out->data, out->size) < 0)
        fail("writing an event");
    free(out->data);
}

void
add_done(struct buffer *out, uint32_t id, unsigned char status)
{
    struct buffer payload = {0};
    append_u32(&payload, id);
    append(&payload, &status, 1);
    add_event(out, DONE, &payload);
    free(payload.data);
}
