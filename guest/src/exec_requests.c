/* What the host asks of an exec that exists: later frames of its connection, ATTACH, LIST, FORGET, SIGNAL. */
#include <signal.h>

#include "exec.h"
#include "pty.h"
#include "server.h"

#define SIGNAL_MAX 64

/* Reads and sends a signal; false when the fields are out of range. */
static bool
send_signal(struct exec *exec, struct bytes payload, uint8_t signal_tag, uint8_t scope_tag)
{
	int64_t signal, scope;
	if (!field_int(payload, signal_tag, 0, &signal) || !field_int(payload, scope_tag, SCOPE_GROUP, &scope))
		return false;
	if (signal < 1 || signal > SIGNAL_MAX || scope < SCOPE_MAIN || scope > SCOPE_TREE)
		return false;
	if (!exec->ended) {
		exec->asked |= UINT64_C(1) << (signal - 1);
		exec->killed = exec->killed || signal == SIGKILL || signal == SIGTERM;
	}
	exec_order(exec, (int)signal, (enum signal_scope)scope);
	return true;
}

static bool
resize(struct exec *exec, struct bytes payload)
{
	int64_t rows, columns;
	if (!field_int(payload, 17, 24, &rows) || !field_int(payload, 18, 80, &columns))
		return false;
	if (rows < 1 || rows > UINT16_MAX || columns < 1 || columns > UINT16_MAX)
		return false;
	if (exec->pty && exec->streams[STREAM_OUT].source.fd >= 0) {
		pty_resize(exec->streams[STREAM_OUT].source.fd, rows, columns);
		if (exec_lacks().size)
			exec_order(exec, SIGWINCH, SCOPE_GROUP);
	}
	return true;
}

void
exec_frame(struct exec *exec, uint8_t type, struct bytes payload)
{
	struct connection *connection = exec->connection;
	bool good = true;
	switch (type) {
	case FRAME_DATA_END:
		sink_end(exec, &exec->input);
		break;
	case FRAME_SIGNAL:
		good = send_signal(exec, payload, 10, 11);
		break;
	case FRAME_RESIZE:
		good = resize(exec, payload);
		break;
	case FRAME_DETACH:
		exec->keep = true;
		connection_drop(connection);
		break;
	default:
		good = false;
		break;
	}
	if (!good) {
		/* A host that sends nonsense gets no second chance: it loses its exec as if it had gone. */
		connection->exec = NULL;
		exec_detached(exec);
		connection_error(connection, "bad_request", "not a frame that may follow EXEC or ATTACH", 0);
	}
}

/* Tried once, at the first terminal, and only where the kernel may be another one. */
struct pty_lacks
exec_lacks(void)
{
	static struct pty_lacks lacks;
	static bool tried;
	if (!tried && guest.options.foreign)
		lacks = pty_probe(guest.options.uid, guest.options.gid);
	tried = true;
	return lacks;
}

/* What a line discipline does with a key that stands for a signal. */
static void
type_keys(struct exec *exec, const uint8_t *data, size_t length)
{
	int terminal = exec->input.source.fd;
	size_t start = 0;
	for (size_t i = 0; i < length && terminal >= 0; i++) {
		int signal = data[i] < ' ' || data[i] == 0x7f ? pty_signal_of(terminal, data[i]) : 0;
		if (signal == 0)
			continue;
		sink_write(exec, &exec->input, data + start, i - start);
		start = i + 1;
		exec_order(exec, signal, SCOPE_GROUP);
		const uint8_t shown[] = {'^', data[i] ^ 0x40};
		if (pty_echoes(terminal) && exec->streams[STREAM_OUT].source.fd >= 0)
			stream_output(exec, &exec->streams[STREAM_OUT], shown, sizeof shown);
	}
	sink_write(exec, &exec->input, data + start, length - start);
}

void
exec_input(struct exec *exec, uint8_t type, const uint8_t *data, size_t length)
{
	if (type == FRAME_CONTROL)
		sink_write(exec, &exec->control, data, length);
	else if (exec->pty && exec_lacks().keys)
		type_keys(exec, data, length);
	else
		sink_write(exec, &exec->input, data, length);
}

static struct exec *
asked_exec(struct connection *connection, struct bytes payload)
{
	struct bytes id;
	struct exec *exec = field_find(payload, 10, &id) ? exec_find(id) : NULL;
	if (exec == NULL)
		connection_error(connection, "not_found", "no exec with this exec_id: it ended without `retain`, or was forgotten",
				 0);
	return exec;
}

void
exec_attach(struct connection *connection, struct bytes payload)
{
	int64_t from;
	if (!field_int(payload, 11, INT64_MAX, &from) || from < 0) {
		connection_error(connection, "bad_request", "`from` must be an offset", 0);
		return;
	}
	struct exec *exec = asked_exec(connection, payload);
	if (exec == NULL)
		return;
	if (exec->connection != NULL) {
		connection_error(connection, "busy", "another connection is attached to this exec", 0);
		return;
	}
	uint64_t asked = (uint64_t)from < exec->ring.end ? (uint64_t)from : exec->ring.end;
	uint64_t first = ring_start(&exec->ring);
	exec->replay = asked < first ? first : asked;
	exec->connection = connection;
	connection->exec = exec;
	connection->streaming = true;
	/* One that ended before goes through the same steps again: replay, then EXITED. */
	exec->finished = false;
	if (exec->started)
		exec_send_started(exec);
	if (asked < first && exec->connection != NULL) {
		frame_begin(&connection->out, FRAME_GAP);
		put_int(&connection->out, 10, (int64_t)(first - asked));
		frame_end(&connection->out);
		connection_flush(connection);
	}
	exec_update(exec);
}

static void
put_info(struct writer *out, const struct exec *exec)
{
	frame_begin(out, FRAME_EXEC_INFO);
	put_string(out, 10, exec->id);
	put_int(out, 11, exec->pid);
	put_int(out, 12, (int64_t)exec->ring.end);
	put_int(out, 13, !exec->ended);
	put_int(out, 14, (int64_t)ring_start(&exec->ring));
	put_int(out, 15, exec->connection != NULL);
	put_int(out, 16, exec->streams[STREAM_CONTROL].source.fd >= 0);
	if (exec->ended)
		exec_put_end(exec, out);
	frame_end(out);
}

void
exec_list(struct connection *connection)
{
	for (const struct exec *exec = execs_first(); exec != NULL; exec = exec->next)
		if (exec->listed)
			put_info(&connection->out, exec);
	frame_begin(&connection->out, FRAME_OK);
	frame_end(&connection->out);
	connection_finish(connection);
}

void
exec_forget(struct connection *connection, struct bytes payload)
{
	struct exec *exec = asked_exec(connection, payload);
	if (exec == NULL)
		return;
	if (!exec->finished) {
		connection_error(connection, "busy", "the exec still runs or is being read", 0);
		return;
	}
	exec->listed = false;
	ring_close(&exec->ring);
	guest.garbage = true;
	frame_begin(&connection->out, FRAME_OK);
	frame_end(&connection->out);
	connection_finish(connection);
}

void
exec_signal(struct connection *connection, struct bytes payload)
{
	struct exec *exec = asked_exec(connection, payload);
	if (exec == NULL)
		return;
	if (!send_signal(exec, payload, 11, 12)) {
		connection_error(connection, "bad_request", "signal must be 1 to 64 and scope 0 to 2", 0);
		return;
	}
	frame_begin(&connection->out, FRAME_OK);
	frame_end(&connection->out);
	connection_finish(connection);
}
