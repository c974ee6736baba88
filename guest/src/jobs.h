/* Work for a client that may take long, done by processes of their own so that the server never waits: copies of volumes,
 * their removal (which waits for the journal of a busy disk) and changes of limits. */
#ifndef CARREL_JOBS_H
#define CARREL_JOBS_H

#include "clients.h"

#define JOBS_MAX 64
#define JOBS_FOR_REMOVALS 16 /* of these */

enum job_kind { JOB_FREE, JOB_COPY, JOB_REMOVE, JOB_LIMIT };

struct job {
	enum job_kind kind;
	int client; /* who is told; -1: nobody any more */
	int box;    /* what it is about, or which must stand still for it; -1: none */
	pid_t pid;  /* 0: it waits for the box to stand still */
	int pidfd;
	int words; /* a failure comes from here */
	bool abandoned;
	char from[VOLUME_ID_MAX], to[VOLUME_ID_MAX];
	struct limits limits;
};

/* Each starts a job, which ends with client_job_done. False with the failure when it cannot start. */
bool jobs_copy(struct spawn *spawn, int client, const char *from, const char *to, struct failure *failure);
bool jobs_remove(struct spawn *spawn, int client, const char *id, struct failure *failure);
bool jobs_limit(struct spawn *spawn, int client, int box, const struct limits *limits, struct failure *failure);

void jobs_on_end(struct spawn *spawn, int index);
void jobs_box_stopped(struct spawn *spawn, int box, const struct failure *failure);
/* Nobody waits for the copies any more, or the box goes away: they are ended. */
void jobs_abandon_client(struct spawn *spawn, int client);
void jobs_abandon_box(struct spawn *spawn, int box);
bool jobs_busy(const struct spawn *spawn);

#endif
