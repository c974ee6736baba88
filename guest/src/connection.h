/* One connection of the host: reads its request, then the later frames; queues what is sent to it. */
#ifndef CARREL_CONNECTION_H
#define CARREL_CONNECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "frame.h"
#include "loop.h"

struct exec;

#define PASSED_MAX 5

struct connection {
	struct connection *next;
	struct source source;
	struct exec *exec;	/* whose output it gets */
	struct writer out;	/* frames not yet taken by the socket, from `sent` on */
	size_t sent;
	uint8_t head[FRAME_HEADER];
	size_t head_length;
	uint8_t *body;		/* of a request or another structured frame; NULL between them */
	size_t body_length, body_size;
	uint32_t raw_left;	/* of a DATA or CONTROL frame: those are passed on as they come */
	int passed[PASSED_MAX];	/* descriptors that came with the request */
	int passed_count;
	int64_t due;		/* when it is dropped if it has not moved on by then, 0: never */
	bool requested;		/* the first frame is over */
	bool streaming;		/* the host may still be sending when we are done */
	bool lingering;		/* all is said; what still comes is thrown away until the host hangs up */
	bool paused;		/* not read from while the program does not take its input */
	bool deaf;		/* the host hears no more, but input it sent before is still to be read */
	bool closing;		/* closed once everything is sent */
	bool dead;		/* freed after this round */
};

/* Takes over an accepted, non-blocking socket. Closes it when memory is short. */
void connection_open(int fd);
size_t connections_open(void);

/* Sends what was written to `out`, as far as the socket takes it. */
void connection_flush(struct connection *connection);

/* Sends a raw frame; what the socket does not take is copied. */
void connection_raw(struct connection *connection, uint8_t type, const void *data, size_t length);

/* True while earlier frames wait: whoever produces more should stop. */
bool connection_busy(const struct connection *connection);

void connection_error(struct connection *connection, const char *code, const char *message, int error);

/* Closes it when everything queued is sent. */
void connection_finish(struct connection *connection);

/* Stops or resumes reading later frames. */
void connection_pause(struct connection *connection, bool paused);

/* Ends it now. The exec it was attached to learns of it. */
void connection_drop(struct connection *connection);

/* True when some connection has a moment at which it is dropped. */
bool connections_timed(void);

/* Frees the dead, and drops those whose time is over. Returns the next moment to look again, or 0. */
int64_t connections_sweep(int64_t now);

#endif
