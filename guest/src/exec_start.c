/* Serves EXEC: reads its fields, makes the pipes, forks the keeper. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "exec.h"
#include "pty.h"
#include "server.h"

#define RETAIN_MAX (1 << 20)
#define DAY_MS (INT64_C(86400000))
/* Groups that no system gives to anybody, and more of them than there can be execs. */
#define MARK_FIRST 57344
#define MARKS (4 * EXECS_MAX)

struct request {
	int64_t uid, gid, pty, rows, columns, timeout_ms, grace_ms, input, control, keep, retain, nofile, nproc, fsize, changes;
};

static bool
parse_numbers(struct request *request, struct bytes payload)
{
	const struct {
		uint8_t tag;
		int64_t *value, fallback, least, most;
	} fields[] = {
		{14, &request->uid, guest.options.uid, 0, UINT32_MAX - 1},
		{15, &request->gid, guest.options.gid, 0, UINT32_MAX - 1},
		{16, &request->pty, 0, 0, 1},
		{17, &request->rows, 24, 1, UINT16_MAX},
		{18, &request->columns, 80, 1, UINT16_MAX},
		{19, &request->timeout_ms, 0, 0, 366 * DAY_MS},
		{20, &request->grace_ms, 500, 0, DAY_MS},
		{21, &request->input, 0, 0, 1},
		{22, &request->control, 0, 0, 1},
		{23, &request->keep, 0, 0, 1},
		{24, &request->retain, 0, 0, RETAIN_MAX},
		{25, &request->nofile, -1, 0, INT64_MAX},
		{26, &request->nproc, -1, 0, INT64_MAX},
		{27, &request->fsize, -1, 0, INT64_MAX},
		{28, &request->changes, 0, 0, 1},
	};
	for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
		int64_t value;
		if (!field_int(payload, fields[i].tag, fields[i].fallback, &value))
			return false;
		if (value != fields[i].fallback && (value < fields[i].least || value > fields[i].most))
			return false;
		*fields[i].value = value;
	}
	return true;
}

bool
exec_id_valid(struct bytes id)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
	if (id.length == 0 || id.length > EXEC_ID_MAX)
		return false;
	for (size_t i = 0; i < id.length; i++)
		if (memchr(allowed, id.data[i], sizeof allowed - 1) == NULL)
			return false;
	return true;
}

static bool
make_pipe(int *read_end, int *write_end)
{
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) < 0)
		return false;
	*read_end = ends[0];
	*write_end = ends[1];
	return true;
}

/* Only our own ends are non-blocking: the program's are ordinary pipes. */
static bool
own_end(int fd)
{
	return fcntl(fd, F_SETFL, O_NONBLOCK) == 0;
}

static int
open_nothing(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC), other;
	/* A root without /dev: a pipe that nobody writes to ends at once, too. */
	if (fd < 0 && make_pipe(&fd, &other))
		close(other);
	return fd;
}

static bool
open_streams(struct command *command, struct ends *ours, const struct request *request)
{
	if (request->pty) {
		if (!pty_open(&ours->output, &command->input, command->uid, command->gid, request->rows, request->columns))
			return false;
		command->output = command->error = command->input;
		/* Input has a descriptor of its own, so that each direction can be watched and closed alone. */
		ours->input = fcntl(ours->output, F_DUPFD_CLOEXEC, 5);
		return ours->input >= 0;
	}
	if (request->input) {
		if (!make_pipe(&command->input, &ours->input) || !own_end(ours->input))
			return false;
	} else if ((command->input = open_nothing()) < 0) {
		return false;
	}
	return make_pipe(&ours->output, &command->output) && make_pipe(&ours->error, &command->error) &&
	       own_end(ours->output) && own_end(ours->error);
}

static bool
open_ends(struct command *command, struct ends *ours, const struct request *request)
{
	int channel[2];
	if (!open_streams(command, ours, request))
		return false;
	if (request->control && (!make_pipe(&command->control_input, &ours->control_input) ||
				 !make_pipe(&ours->control_output, &command->control_output) ||
				 !own_end(ours->control_input) || !own_end(ours->control_output)))
		return false;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channel) < 0)
		return false;
	ours->channel = channel[0];
	ours->keeper_channel = channel[1];
	return true;
}

static void
close_fds(const int *fds, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

static void
close_command_ends(const struct command *command)
{
	/* A terminal is one descriptor under three names. */
	const int fds[] = {command->input, command->pty ? -1 : command->output, command->pty ? -1 : command->error,
			   command->control_input, command->control_output};
	close_fds(fds, sizeof fds / sizeof fds[0]);
}

struct exec *
exec_new(struct bytes id, int64_t retain)
{
	struct exec *exec = calloc(1, sizeof *exec);
	if (exec == NULL || !ring_open(&exec->ring, (size_t)retain)) {
		free(exec);
		return NULL;
	}
	memcpy(exec->id, id.data, id.length);
	exec->listed = true;
	exec->begin = now_us();
	return exec;
}

/* One that no process has: a keeper lives as long as there is somebody with its mark. */
static gid_t
free_mark(void)
{
	static gid_t last;
	const struct exec *exec;
	do {
		last = (last + 1) % MARKS;
		for (exec = execs_first(); exec != NULL && (exec->keeper.fd < 0 || exec->family_mark != MARK_FIRST + last);)
			exec = exec->next;
	} while (exec != NULL);
	return MARK_FIRST + last;
}

static void
apply_request(struct exec *exec, const struct request *request)
{
	exec->pty = request->pty;
	exec->keep = request->keep;
	exec->grace_ms = request->grace_ms;
	exec->deadline = request->timeout_ms > 0 ? exec->begin + request->timeout_ms * 1000 : 0;
}

void
exec_set_ends(struct exec *exec, const struct ends *ours)
{
	const int outputs[STREAMS] = {ours->output, ours->error, ours->control_output};
	const uint8_t frames[STREAMS] = {FRAME_STDOUT, FRAME_STDERR, FRAME_CONTROL_OUT};
	for (int i = 0; i < STREAMS; i++) {
		source_set(&exec->streams[i].source, outputs[i], i == STREAM_CONTROL ? control_ready : stream_ready);
		exec->streams[i].exec = exec;
		exec->streams[i].frame = frames[i];
	}
	source_set(&exec->input.source, ours->input, sink_ready);
	source_set(&exec->control.source, ours->control_input, sink_ready);
	exec->input.exec = exec->control.exec = exec;
	source_set(&exec->keeper, ours->channel, keeper_ready);
}

/* Forks the keeper. On failure answers the host. */
static void
launch(struct connection *connection, struct exec *exec, struct command *command, const struct request *request)
{
	struct ends ours = {-1, -1, -1, -1, -1, -1, -1};
	command->input = command->output = command->error = command->control_input = command->control_output = -1;
	bool opened = open_ends(command, &ours, request);
	int error = errno;
	if (opened && request->changes)
		changes_begin(&exec->mark);
	exec->family_mark = command->mark = free_mark();
	pid_t pid = opened ? fork() : -1;
	if (pid == 0)
		keeper_run(command, ours.keeper_channel);
	if (opened && pid < 0)
		error = errno;
	close_command_ends(command);
	if (ours.keeper_channel >= 0)
		close(ours.keeper_channel);
	ours.keeper_channel = -1;
	if (pid < 0) {
		close_fds((const int *)&ours, sizeof ours / sizeof(int));
		changes_end(&exec->mark, NULL);
		ring_close(&exec->ring);
		free(exec);
		connection_error(connection, !opened ? "io" : "no_process",
				 !opened ? "cannot make the program's pipes or terminal" : "cannot start another process", error);
		return;
	}
	exec->keeper_pid = pid;
	apply_request(exec, request);
	exec_set_ends(exec, &ours);
	exec->connection = connection;
	connection->exec = exec;
	connection->streaming = request->input || request->control || request->pty;
	execs_add(exec);
	if (!source_watch(&exec->keeper, EPOLLIN))
		exec_order(exec, SIGKILL, SCOPE_TREE);
}

void
exec_start(struct connection *connection, struct bytes payload)
{
	struct request request;
	struct bytes id;
	struct command command;
	const char *why = NULL;
	if (!field_find(payload, 10, &id) || !exec_id_valid(id))
		why = "exec_id must be 1 to 64 of [a-zA-Z0-9_-]";
	else if (!parse_numbers(&request, payload))
		why = "a number of EXEC is not 8 bytes long or out of its range";
	if (why != NULL || !command_parse(&command, payload, guest.options.workspace, &why)) {
		connection_error(connection, "bad_request", why, 0);
		return;
	}
	command.uid = (uid_t)request.uid;
	command.gid = (gid_t)request.gid;
	command.change_user = guest.options.own_uid;
	command.pty = request.pty;
	command.keeper_leads = request.pty && exec_lacks().size;
	command.nofile = request.nofile;
	command.nproc = request.nproc;
	command.fsize = request.fsize;
	bool other_user = command.uid != guest.options.uid || command.gid != guest.options.gid;
	struct exec *exec = NULL;
	bool roots = guest.options.uid != 0 && (command.uid == 0 || command.gid == 0);
	if (guest.options.own_uid ? roots : other_user)
		connection_error(connection, "denied", "commands may not run as this user here", 0);
	else if (exec_find(id) != NULL)
		connection_error(connection, "exists", "another exec has this exec_id: FORGET it, or choose a new one", 0);
	else if (guest.stopping || execs_running() >= EXECS_MAX)
		connection_error(connection, "busy", guest.stopping ? "the guest is shutting down" : "too many execs", 0);
	else if ((exec = exec_new(id, request.retain)) == NULL)
		connection_error(connection, "io", "no memory in the sandbox for another exec", ENOMEM);
	else
		launch(connection, exec, &command, &request);
	command_free(&command);
}
