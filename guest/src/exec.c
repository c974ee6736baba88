/* The table of execs and the life of each: starting, running, ended, finished. */
#include "exec.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "pty.h"
#include "server.h"

/* How long descendants that hold the streams open may delay EXITED. */
#define DRAIN_US 100000
/* A keeper can be stuck: stopped by code that shares its user, or behind a program file that never loads. */
#define KEEPER_US 2000000

static struct exec *execs;

void
execs_add(struct exec *exec)
{
	exec->next = execs;
	execs = exec;
}

struct exec *
execs_first(void)
{
	return execs;
}

struct exec *
exec_find(struct bytes id)
{
	for (struct exec *exec = execs; exec != NULL; exec = exec->next)
		if (exec->listed && strlen(exec->id) == id.length && memcmp(exec->id, id.data, id.length) == 0)
			return exec;
	return NULL;
}

void
exec_order(struct exec *exec, int signal, enum signal_scope scope)
{
	struct keeper_order order = {.signal = signal, .scope = scope};
	if (exec->keeper.fd < 0)
		return;
	if (exec->pty && scope == SCOPE_GROUP)
		order.group = pty_foreground(exec->streams[STREAM_OUT].source.fd);
	send(exec->keeper.fd, &order, sizeof order, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (signal == SIGKILL && scope == SCOPE_TREE && !exec->ended && exec->keeper_until == 0)
		exec->keeper_until = now_us() + KEEPER_US;
}

bool
exec_keeps(const struct exec *exec)
{
	return exec->keep;
}

static void
kill_tree(struct exec *exec)
{
	exec->killed = true;
	exec_order(exec, SIGKILL, SCOPE_TREE);
}

void
exec_detached(struct exec *exec)
{
	exec->connection = NULL;
	if (!exec->keep && !exec->ended)
		kill_tree(exec);
	exec_update(exec);
}

static void
finish(struct exec *exec)
{
	struct connection *connection = exec->connection;
	exec->finished = true;
	guest.garbage = true;
	exec->killed = exec->killed || (exec->started && WIFSIGNALED(exec->last.status) &&
					exec->asked >> (WTERMSIG(exec->last.status) - 1) & 1);
	sink_close(&exec->input);
	sink_close(&exec->control);
	if (exec->ring.size == 0)
		exec->listed = false;
	changes_end(&exec->mark, connection != NULL || exec->listed ? &exec->changes : NULL);
	if (connection == NULL)
		return;
	exec_send_exited(exec);
	connection->exec = NULL;
	exec->connection = NULL;
	connection_finish(connection);
}

void
exec_update(struct exec *exec)
{
	exec_pump(exec);
	/* A timeout is over when the whole tree is gone, not when its main process obeyed. */
	bool tree_left = exec->timed_out && exec->keeper.fd >= 0 && !exec->cut_off;
	if (exec->ended && !exec->finished && !tree_left && exec_drained(exec))
		finish(exec);
	struct connection *connection = exec->connection;
	bool flowing = exec->started && (exec->finished || connection == NULL ||
					 (!connection_busy(connection) && !exec_replaying(exec)));
	for (int i = 0; i < STREAMS; i++) {
		/* Control bytes wait for a listener: unlike output they cannot be replayed. */
		bool wanted = flowing && (i != STREAM_CONTROL || exec->finished || (connection != NULL && exec->held == NULL));
		source_watch(&exec->streams[i].source, wanted ? EPOLLIN : 0);
	}
	source_watch(&exec->input.source, exec->input.length > 0 || exec->input.ending ? EPOLLOUT : 0);
	source_watch(&exec->control.source, exec->control.length > 0 ? EPOLLOUT : 0);
	if (connection != NULL)
		connection_pause(connection, exec->input.length > 0 || exec->control.length > 0);
}

static void
main_ended(struct exec *exec)
{
	exec->ended = true;
	exec->end = now_us();
	exec->deadline = exec->keeper_until = 0;
	/* Descendants that ignored the TERM of a timeout are still to be killed when its grace is over. */
	if (!exec->timed_out)
		exec->kill_at = 0;
	exec->drain_until = exec->end + DRAIN_US;
	if (exec->timed_out && exec->last.left > 0)
		exec->drain_until = (exec->kill_at > exec->end ? exec->kill_at : exec->end) + KEEPER_US;
}

static void
start_failed(struct exec *exec, const struct start_failure *failure)
{
	exec->failure = *failure;
	main_ended(exec);
	for (int i = 0; i < STREAMS; i++)
		source_close(&exec->streams[i].source);
	if (exec->connection != NULL && (failure->error == EAGAIN || failure->stage == START_FORK)) {
		struct connection *connection = exec->connection;
		exec->connection = NULL;
		connection->exec = NULL;
		exec->finished = true;
		exec->listed = false;
		connection_error(connection, "no_process", "the process limit is reached", failure->error);
	}
}

static void
keeper_gone(struct exec *exec)
{
	source_close(&exec->keeper);
	guest.garbage = true;
	if (exec->ended) {
		exec->last.left = 0;
		return;
	}
	/* Nobody but a murderer ends a keeper early; the kernel gives us the command's processes. */
	guest.orphans = true;
	exec->started = true;
	exec->last.status = SIGKILL;
	main_ended(exec);
}

/* Also when the end comes to be known here: who ended before was reaped when nobody waited for him. */
static void
look_again(struct exec *exec)
{
	if (exec->last.marked)
		exec_order(exec, 0, SCOPE_MAIN);
}

void
keeper_ready(struct source *source, uint32_t events)
{
	struct exec *exec = container_of(source, struct exec, keeper);
	struct keeper_report report;
	(void)events;
	ssize_t n = recv(source->fd, &report, sizeof report, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n != sizeof report) {
		keeper_gone(exec);
	} else if (report.event == KEEPER_STARTED) {
		exec->started = true;
		exec->pid = report.pid;
		if (exec->connection != NULL && !exec->adopted)
			exec_send_started(exec);
	} else if (report.event == KEEPER_FAILED) {
		start_failed(exec, &report.failure);
	} else {
		exec->last = report;
		main_ended(exec);
		look_again(exec);
	}
	exec_update(exec);
}

/* Acts on whatever of this exec is due. Returns its next deadline, or 0. */
static int64_t
sweep_one(struct exec *exec, int64_t now)
{
	if (exec->deadline != 0 && exec->deadline <= now) {
		exec->deadline = 0;
		exec->timed_out = true;
		exec->kill_at = now + exec->grace_ms * 1000;
		exec_order(exec, SIGTERM, SCOPE_TREE);
	}
	if (exec->kill_at != 0 && exec->kill_at <= now) {
		exec->kill_at = 0;
		exec_order(exec, SIGKILL, SCOPE_TREE);
	}
	if (exec->keeper_until != 0 && exec->keeper_until <= now) {
		exec->keeper_until = 0;
		/* Without it its children are ours, and die as orphans. An adopted one is no child of ours: it hears that we hang up. */
		if (exec->keeper_pid > 0)
			kill(exec->keeper_pid, SIGKILL);
		else if (exec->adopted)
			keeper_gone(exec);
	}
	bool draining = exec->ended && !exec->finished && !exec->cut_off;
	if (draining && exec->drain_until <= now) {
		exec_cut_off(exec);
		exec_update(exec);
		draining = false;
	}
	int64_t due = sooner(sooner(exec->deadline, exec->kill_at), exec->keeper_until);
	return draining ? sooner(due, exec->drain_until) : due;
}

static void
free_exec(struct exec *exec)
{
	source_close(&exec->keeper);
	for (int i = 0; i < STREAMS; i++)
		source_close(&exec->streams[i].source);
	sink_close(&exec->input);
	sink_close(&exec->control);
	ring_close(&exec->ring);
	changes_end(&exec->mark, NULL);
	writer_free(&exec->changes);
	free(exec->held);
	free(exec);
}

int64_t
execs_sweep(int64_t now)
{
	int64_t next = 0;
	size_t retained = 0;
	for (struct exec **link = &execs; *link != NULL;) {
		struct exec *exec = *link;
		int64_t due = sweep_one(exec, now);
		next = sooner(next, due);
		/* The newest come first, so those past the limit are the oldest. */
		if (exec->finished && exec->listed && ++retained > RETAINED_MAX)
			exec->listed = false;
		if (exec->keeper.fd >= 0 || !exec->finished || exec->listed) {
			link = &exec->next;
			continue;
		}
		*link = exec->next;
		free_exec(exec);
		if (execs == NULL)
			scratch_release();
	}
	return next;
}

size_t
execs_signal_all(int signal)
{
	size_t count = 0;
	for (struct exec *exec = execs; exec != NULL; exec = exec->next)
		if (exec->keeper.fd >= 0) {
			count++;
			exec->killed = exec->killed || !exec->ended;
			if (signal != 0)
				exec_order(exec, signal, SCOPE_TREE);
		}
	return count;
}

size_t
execs_running(void)
{
	size_t count = 0;
	for (struct exec *exec = execs; exec != NULL; exec = exec->next)
		count += exec->keeper.fd >= 0;
	return count;
}

bool
execs_is_keeper(pid_t pid)
{
	for (struct exec *exec = execs; exec != NULL; exec = exec->next)
		if (exec->keeper_pid == pid && exec->keeper.fd >= 0)
			return true;
	return false;
}

void
execs_reaped(pid_t pid)
{
	for (struct exec *exec = execs; exec != NULL; exec = exec->next) {
		if (exec->keeper_pid == pid)
			exec->keeper_pid = 0;
		look_again(exec);
	}
}
