/* Frames of spec/kernel-protocol.md, and the growing buffers they are made in. */
#ifndef CARREL_FRAMES_H
#define CARREL_FRAMES_H
#include <stddef.h>
#include <stdint.h>

enum { REQUESTS = 3, EVENTS = 4 };
enum { EXECUTE = 0x01, PING = 0x02, COMPLETE = 0x03, SHUTDOWN = 0x04, BIND = 0x05 };
enum { READY = 0x81, ERROR = 0x84, DONE = 0x85, COMPLETIONS = 0x86, PONG = 0x87 };
enum { OK = 0, FAILED = 1, INTERRUPTED = 2 };

struct buffer {
    char *data;
    size_t size, room;
};

/* Ends the kernel: what it cannot do, and the reason in errno, go to standard error. */
void fail(const char *what);
void append(struct buffer *buffer, const void *data, size_t size);
void append_u32(struct buffer *buffer, uint32_t number);
void append_text(struct buffer *buffer, const char *text, size_t size);
uint32_t u32_at(const char *data);
int write_all(int fd, const char *data, size_t size);
/* 1 when all was read, 0 at the end of the channel. */
int read_all(int fd, char *data, size_t size);
void add_event(struct buffer *out, unsigned char type, const struct buffer *payload);
/* Writes what was added, in one piece, and frees it. */
void send_events(struct buffer *out);
void add_done(struct buffer *out, uint32_t id, unsigned char status);

#endif
