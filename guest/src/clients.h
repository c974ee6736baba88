/* The spawn server's end of spec/spawn-protocol.md. */
#ifndef CARREL_CLIENTS_H
#define CARREL_CLIENTS_H

#include "boxes.h"

#define CLIENTS_MAX 128
#define REQUEST_MAX 16384

enum waiting { WAITING_NOT, WAITING_CREATE, WAITING_PROBE, WAITING_DESTROY, WAITING_FORK, WAITING_PAUSE, WAITING_JOB };

/* One client connection. It has at most one request under way; the next is read when that one is answered. */
struct client {
	int fd; /* -1: free */
	enum waiting waiting;
	int box; /* what it waits for; not for a job, which knows its client */
	bool writing;
	size_t length; /* of what was read and not handled yet */
	struct writer out;
	size_t sent;
	uint8_t in[REQUEST_MAX];
};

/* True when there is no sandbox and, apart from one, no client. */
bool spawn_idle(const struct spawn *spawn, const struct client *but);

/* Takes who waits at the listener, as far as there is room; the rest goes on waiting there. */
void clients_accept(struct spawn *spawn);
void client_close(struct spawn *spawn, struct client *client);
/* A job's outcome: the failure if there is one, the box's present state if it is about a box, otherwise OK. */
void client_job_done(struct spawn *spawn, int index, int box, const struct failure *failure);
void client_ready(struct spawn *spawn, int index, uint32_t events);

/* Sends the answer that a client waited for, and goes on with its next request. False: nobody takes that answer. */
bool client_resume(struct spawn *spawn, struct client *client);

#endif
