/* Execs: a command, its keeper, its streams and who listens to them. */
#ifndef CARREL_EXEC_H
#define CARREL_EXEC_H

#include "changes.h"
#include "connection.h"
#include "keeper.h"
#include "pty.h"
#include "ring.h"

#define EXEC_ID_MAX 64

/* From the program to the host. */
struct stream {
	struct source source;
	struct exec *exec;
	uint8_t frame;
	size_t due; /* bytes that must be passed on before what waits for this stream may go */
};

/* From the host to the program: what its pipe did not take yet. */
struct sink {
	struct source source;
	struct exec *exec;
	uint8_t *waiting;
	size_t start, length;
	bool ending; /* close, or send a terminal's end of file, once all is written */
	uint8_t last; /* byte written */
};

enum { STREAM_OUT, STREAM_ERR, STREAM_CONTROL, STREAMS };

struct exec {
	struct exec *next;
	char id[EXEC_ID_MAX + 1];
	pid_t keeper_pid, pid;
	gid_t family_mark;	/* of its processes, where the keeper cannot adopt them */
	struct source keeper;
	struct stream streams[STREAMS];
	struct sink input, control;
	struct connection *connection;
	struct ring ring;
	uint64_t replay;	/* next offset to send to a connection that attached later */
	uint8_t *held;		/* control bytes that wait for stream bytes written before them */
	size_t held_length;
	bool pty, keep;
	bool adopted;		/* its keeper came from outside */
	bool started;		/* the program runs or has run */
	bool ended;		/* its main process has ended, or it could not be started */
	bool cut_off;		/* the streams did not end in time: only what is `due` still counts */
	bool finished;		/* EXITED was sent, or would have been */
	bool listed;		/* found by its id */
	bool timed_out, killed;
	uint64_t asked;		/* signals that the host sent: bit 0 is signal 1 */
	int64_t grace_ms;
	int64_t begin, end;	/* of the main process */
	int64_t deadline;	/* of its time limit, 0: none */
	int64_t kill_at;	/* the end of the grace after it, 0: none */
	int64_t keeper_until;	/* when a keeper that was told to kill and did not is killed itself, 0: never */
	int64_t drain_until;	/* how long EXITED waits for the streams' end, 0: not ended */
	struct keeper_report last;
	struct start_failure failure;
	struct change_mark mark;
	struct writer changes;	/* the CHANGE frames, once it has ended */
};

/* Serve the requests of these names. */
void exec_start(struct connection *connection, struct bytes payload);
void exec_adopt(struct connection *connection, struct bytes payload);
void exec_attach(struct connection *connection, struct bytes payload);
void exec_list(struct connection *connection);
void exec_forget(struct connection *connection, struct bytes payload);
void exec_signal(struct connection *connection, struct bytes payload);

/* A later frame of the attached connection: with fields, or a part of DATA or CONTROL. */
void exec_frame(struct exec *exec, uint8_t type, struct bytes payload);
void exec_input(struct exec *exec, uint8_t type, const uint8_t *data, size_t length);

/* The attached connection has ended. */
void exec_detached(struct exec *exec);
bool exec_keeps(const struct exec *exec);

/* Looks anew at what may be read and written now, and sends what can be sent. */
void exec_update(struct exec *exec);

/* Acts on limits that have passed and frees what is over. Returns the next moment to look again, or 0. */
int64_t execs_sweep(int64_t now);

/* Sends a signal to every tree. Returns how many execs still have processes. */
size_t execs_signal_all(int signal);
size_t execs_running(void);

bool execs_is_keeper(pid_t pid);

/* A child of ours has been reaped: its id may be somebody else's from now on. */
void execs_reaped(pid_t pid);

/* exec_start.c: our ends of the streams and of the keeper's channel. */
struct ends {
	int input, output, error, control_input, control_output, channel, keeper_channel;
};
bool exec_id_valid(struct bytes id);
struct exec *exec_new(struct bytes id, int64_t retain);
void exec_set_ends(struct exec *exec, const struct ends *ours);

void execs_add(struct exec *exec);
struct exec *execs_first(void);
struct exec *exec_find(struct bytes id);
void exec_order(struct exec *exec, int signal, enum signal_scope scope);
void keeper_ready(struct source *source, uint32_t events);

/* exec_streams.c: the bytes. */
void stream_ready(struct source *source, uint32_t events);
void control_ready(struct source *source, uint32_t events);
void sink_ready(struct source *source, uint32_t events);
void sink_write(struct exec *exec, struct sink *sink, const uint8_t *data, size_t length);
void sink_end(struct exec *exec, struct sink *sink);
void sink_close(struct sink *sink);
bool exec_replaying(const struct exec *exec);
void exec_pump(struct exec *exec);
void stream_output(struct exec *exec, struct stream *stream, const uint8_t *data, size_t length);
void exec_cut_off(struct exec *exec);
bool exec_drained(const struct exec *exec);

/* exec_requests.c: what this kernel leaves to us at terminals. */
struct pty_lacks exec_lacks(void);

/* exec_end.c: what is told at the end. */
void exec_send_started(struct exec *exec);
void exec_send_exited(struct exec *exec);
void exec_put_end(const struct exec *exec, struct writer *out);

#endif
