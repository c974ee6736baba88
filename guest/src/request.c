/* The first frame of a connection: answered here, by an exec, or by a worker process. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "command.h"
#include "exec.h"
#include "server.h"

/* Compares in a time that tells nothing about where the difference is. */
static bool
token_matches(struct bytes payload)
{
	struct bytes given;
	size_t length = strlen(guest.options.token);
	if (!field_find(payload, 2, &given) || given.length != length)
		return false;
	uint8_t difference = 0;
	for (size_t i = 0; i < length; i++)
		difference |= (uint8_t)(given.data[i] ^ (uint8_t)guest.options.token[i]);
	return difference == 0;
}

static void
ping(struct connection *connection)
{
	struct writer *out = &connection->out;
	frame_begin(out, FRAME_OK);
	put_int(out, 10, PROTOCOL_VERSION);
	put_int(out, 11, (now_us() - guest.started) / 1000);
	put_int(out, 12, (int64_t)execs_running());
	frame_end(out);
	connection_finish(connection);
}

static void
shut_down(struct connection *connection, struct bytes payload)
{
	int64_t grace_ms;
	if (!field_int(payload, 10, 2000, &grace_ms) || grace_ms < 0 || grace_ms > 3600000)
		connection_error(connection, "bad_request", "grace_ms must be 0 to 3600000", 0);
	else
		guest_stop(connection, grace_ms);
}

/* Runs in the worker: as the sandbox's user, with the connection and nothing else of the guest's. */
static _Noreturn void
work(int fd, uint8_t type, struct bytes payload)
{
	close_except(0, &fd, 1);
	for (int low = 0; low <= 2; low++)
		if (fd != low && open("/dev/null", O_RDWR | O_CLOEXEC) < 0)
			break;
	if (guest.options.own_uid && !become_user(guest.options.uid, guest.options.gid, 0))
		_exit(1);
	prctl(PR_SET_DUMPABLE, 0);
	/* Changing the user forgets this, so it comes after. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigset_t mask;
	sigemptyset(&mask);
	sigaddset(&mask, SIGPIPE);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	int flags = fcntl(fd, F_GETFL);
	if (flags < 0 || fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) < 0)
		_exit(1);
	files_serve(fd, type, payload, &guest.options);
	_exit(0);
}

static pid_t *
worker_slot(pid_t pid)
{
	for (size_t i = 0; i < WORKERS_MAX; i++)
		if (guest.workers[i] == pid)
			return &guest.workers[i];
	return NULL;
}

bool
worker_known(pid_t pid)
{
	return worker_slot(pid) != NULL;
}

void
worker_ended(pid_t pid)
{
	pid_t *slot = worker_slot(pid);
	if (slot != NULL)
		*slot = 0;
}

static void
start_worker(struct connection *connection, uint8_t type, struct bytes payload)
{
	pid_t *slot = worker_slot(0);
	if (slot == NULL || guest.stopping) {
		connection_error(connection, "busy", "too many file operations and tunnels at once", 0);
		return;
	}
	pid_t pid = fork();
	if (pid == 0)
		work(connection->source.fd, type, payload);
	if (pid < 0) {
		connection_error(connection, "no_process", "cannot start another process", errno);
		return;
	}
	*slot = pid;
	/* The connection is the worker's now. */
	connection_drop(connection);
}

static void
dispatch(struct connection *connection, uint8_t type, struct bytes payload)
{
	switch (type) {
	case REQUEST_PING:
		ping(connection);
		break;
	case REQUEST_EXEC:
		exec_start(connection, payload);
		break;
	case REQUEST_ATTACH:
		exec_attach(connection, payload);
		break;
	case REQUEST_LIST:
		exec_list(connection);
		break;
	case REQUEST_FORGET:
		exec_forget(connection, payload);
		break;
	case REQUEST_SIGNAL:
		exec_signal(connection, payload);
		break;
	case REQUEST_ADOPT:
		exec_adopt(connection, payload);
		break;
	case REQUEST_SHUTDOWN:
		shut_down(connection, payload);
		break;
	default:
		if ((type >= REQUEST_FILES_FIRST && type <= REQUEST_FILES_LAST) || type == REQUEST_TUNNEL)
			start_worker(connection, type, payload);
		else
			connection_error(connection, "unsupported", "this guest does not know the request", 0);
		break;
	}
}

void
request_serve(struct connection *connection, uint8_t type, struct bytes payload)
{
	int64_t version;
	if (guest.options.token != NULL && !token_matches(payload))
		connection_error(connection, "denied", "the token is missing or wrong", 0);
	else if (!field_int(payload, 1, PROTOCOL_VERSION, &version) || version < 1)
		connection_error(connection, "bad_request", "the version must be a positive number", 0);
	else if (version > PROTOCOL_VERSION)
		connection_error(connection, "unsupported", "this guest speaks version 1 of the protocol", 0);
	else
		dispatch(connection, type, payload);
}
