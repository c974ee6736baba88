/* Frames and fields of the guest protocol: see spec/guest-protocol.md. Nothing here trusts a length. */
#ifndef CARREL_FRAME_H
#define CARREL_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FRAME_HEADER 5u
#define FRAME_MAX (1u << 20)

/* A view into somebody else's buffer. */
struct bytes {
	const uint8_t *data;
	size_t length;
};

/* Finds the frame at the start of a buffer. Returns its whole size when it is complete (type and payload are set), 0 when
 * more bytes are needed, -1 when the length is not allowed. */
ptrdiff_t frame_decode(const uint8_t *buffer, size_t length, uint8_t *type, struct bytes *payload);

/* Walks the fields of a structured payload: returns 1 with the next one, 0 at the end, -1 when malformed. Start with
 * *offset = 0. */
int field_next(struct bytes payload, size_t *offset, uint8_t *tag, struct bytes *value);

/* True when every field fits its payload. The finders below may be used only then. */
bool fields_valid(struct bytes payload);

/* The first field with this tag. */
bool field_find(struct bytes payload, uint8_t tag, struct bytes *value);

/* The integer with this tag, or the fallback when absent. False when it is there and not 8 bytes long. */
bool field_int(struct bytes payload, uint8_t tag, int64_t fallback, int64_t *value);

/* A copy of the field as a C string, to be freed; NULL when absent, when it holds a NUL or when memory is short. */
char *field_string(struct bytes payload, uint8_t tag);

/* A growing buffer of outgoing frames. After a failed allocation `failed` stays set and nothing more is added. */
struct writer {
	uint8_t *data;
	size_t length;
	size_t capacity;
	size_t frame; /* where the open frame starts */
	bool failed;
};

void writer_free(struct writer *writer);
void writer_bytes(struct writer *writer, const void *data, size_t length);
void frame_begin(struct writer *writer, uint8_t type);
void frame_end(struct writer *writer);
void put_int(struct writer *writer, uint8_t tag, int64_t value);
void put_bytes(struct writer *writer, uint8_t tag, const void *data, size_t length);
void put_string(struct writer *writer, uint8_t tag, const char *text);

/* Blocking transfer on a socket or pipe. read_all returns 1, 0 at a clean end, -1 on an error or an end in the middle. */
int read_all(int fd, void *data, size_t length);
bool write_all(int fd, const void *data, size_t length);

/* Reads one frame, growing *buffer as needed (free it yourself): 1, 0 at the end of the connection, -1 when bad. */
int frame_receive(int fd, uint8_t **buffer, size_t *capacity, uint8_t *type, struct bytes *payload);

#endif
