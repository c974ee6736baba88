/* What the parts of the running guest share. */
#ifndef CARREL_SERVER_H
#define CARREL_SERVER_H

#include "connection.h"
#include "guest.h"

#define CONNECTIONS_MAX 1024
#define EXECS_MAX 512
#define RETAINED_MAX 64
#define WORKERS_MAX 256
#define SCRATCH_SIZE (128u << 10)
#define INPUT_CHUNK (64u << 10)

enum request_type {
	REQUEST_PING = 0x01,
	REQUEST_EXEC = 0x02,
	REQUEST_ATTACH = 0x03,
	REQUEST_LIST = 0x04,
	REQUEST_FORGET = 0x05,
	REQUEST_SIGNAL = 0x06,
	REQUEST_ADOPT = 0x07,
	REQUEST_SHUTDOWN = 0x08,
	REQUEST_FILES_FIRST = 0x10,
	REQUEST_FILES_LAST = 0x1A,
	REQUEST_TUNNEL = 0x20,
};

enum frame_type {
	FRAME_DATA = 0x40,
	FRAME_DATA_END = 0x41,
	FRAME_SIGNAL = 0x42,
	FRAME_RESIZE = 0x43,
	FRAME_CONTROL = 0x44,
	FRAME_DETACH = 0x45,
	FRAME_OK = 0x80,
	FRAME_ERROR = 0x81,
	FRAME_STARTED = 0x82,
	FRAME_STDOUT = 0x83,
	FRAME_STDERR = 0x84,
	FRAME_EXITED = 0x85,
	FRAME_CHANGE = 0x86,
	FRAME_CONTROL_OUT = 0x87,
	FRAME_EXEC_INFO = 0x8C,
	FRAME_GAP = 0x8D,
};

struct guest {
	struct guest_options options;
	int64_t started;
	pid_t workers[WORKERS_MAX]; /* processes that serve one connection each; 0: free */
	bool garbage;		/* something is dead and waits to be freed after this round */
	bool orphans;		/* a keeper was lost: its command's processes are ours to kill */
	bool stopping;		/* SHUTDOWN, or SIGTERM when not PID 1 */
	struct connection *stop_connection; /* who is told when it is over */
	int64_t stop_kill;	/* when patience ends */
	int64_t stop_give_up;	/* when we go even if a process does not */
};

extern struct guest guest;

/* For the moment between reading bytes and passing them on; holds nothing from one call to the next. */
extern uint8_t scratch[SCRATCH_SIZE];

/* Gives its memory back to the kernel until it is used again. */
void scratch_release(void);

/* Answers the first frame of a connection; its fields are valid. */
void request_serve(struct connection *connection, uint8_t type, struct bytes payload);

/* Worker processes: a known one, one that has been reaped. */
bool worker_known(pid_t pid);
void worker_ended(pid_t pid);

/* Begins the end: TERM to all, KILL after the grace. The connection, when there is one, is told at the end. */
void guest_stop(struct connection *connection, int64_t grace_ms);

#endif
