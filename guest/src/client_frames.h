/* The frames of spec/spawn-protocol.md: numbers, and how requests are read and answers written. */
#ifndef CARREL_CLIENT_FRAMES_H
#define CARREL_CLIENT_FRAMES_H

#include "clients.h"

enum request {
	HELLO = 0x60,
	PROBE,
	CREATE,
	DESTROY,
	LIST,
	STATUS,
	LEAVE,
	PAUSE,
	RESUME,
	LIMIT,
	VOLUME_COPY,
	VOLUME_REMOVE,
	VOLUMES,
	FORK = 0x70,
};
enum answer { OK = 0xe0, SANDBOX, PROBED, STATUS_IS, VOLUME, FAILED = 0xef };

enum tag {
	TAG_ID = 10,
	TAG_IMAGE,
	TAG_MEMORY,
	TAG_CPU,
	TAG_PIDS,
	TAG_DISK,
	TAG_NOFILE,
	TAG_EGRESS,
	TAG_ALLOW_MISSING,
	TAG_IF_IDLE,
	TAG_VERSION = 20,
	TAG_BUILD,
	TAG_PID,
	TAG_RUNNING,
	TAG_EXIT_CODE,
	TAG_SIGNAL,
	TAG_OOM_KILLS,
	TAG_PIDS_REFUSED,
	TAG_MEMORY_USED,
	TAG_CPU_NS,
	TAG_PIDS_NOW,
	TAG_VOLUME,
	TAG_TARGET,
	TAG_ON_DISK,
	TAG_PAUSED,
	TAG_ISOLATED,
	TAG_DISCARD,
	TAG_OVERLAY = 37,
	TAG_CGROUP = 40,
	TAG_MEASURE,
	TAG_STEP = 50,
	TAG_ERRNO,
	TAG_MESSAGE,
	TAG_KIND,
};

/* What holds where a request says nothing. */
extern const struct limits usual_limits;

void answer_ok(struct writer *out);
void answer_failed(struct writer *out, const struct failure *failure);
void answer_sandbox(struct writer *out, const struct box *box, const struct box_details *details);
void answer_status(struct writer *out, const struct box *box, const struct box_details *details);
void put_measures(struct writer *out, const struct measures *measures);

/* Copies a text field into a fixed place. False when it does not fit; absent is "". */
bool copy_text(struct bytes payload, uint8_t tag, char *text, size_t size);

/* What is not said stays as it is. */
bool parse_limits(struct bytes payload, struct limits *limits);
bool parse_create(struct bytes payload, struct create_request *request, struct failure *failure);

#endif
