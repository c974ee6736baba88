/* PID 1 of a sandbox, or an ordinary process where the engine has none: accepts connections, reaps, and stops. */
#include "guest.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command.h"
#include "exec.h"
#include "relay.h"
#include "server.h"
#include "tree.h"

/* After KILL has been sent to all, this long is waited for them to go. */
#define STOP_PATIENCE_US 2000000
/* How long no connection is accepted after the kernel had no descriptor for one. */
#define ACCEPT_PAUSE_US 20000
#define SIGNALS 64

struct guest guest;
_Alignas(4096) uint8_t scratch[SCRATCH_SIZE];

static struct source listener, signals;
static int spare = -1;
static int64_t accept_again;

void
scratch_release(void)
{
	madvise(scratch, SCRATCH_SIZE, MADV_DONTNEED);
}

static void
refuse(int fd)
{
	struct connection lost = {0};
	source_set(&lost.source, fd, NULL);
	connection_error(&lost, "busy", "too many connections at once", 0);
	writer_free(&lost.out);
	source_close(&lost.source);
}

/* No descriptor is left for the connection that waits. The spare one makes room to take it and hang up; without that it
 * would wait for ever, and the listener would never stop being ready. */
static void
accept_without_descriptor(void)
{
	close(spare);
	int fd = accept4(listener.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd >= 0)
		refuse(fd);
	spare = eventfd(0, EFD_CLOEXEC);
	accept_again = now_us() + ACCEPT_PAUSE_US;
	source_watch(&listener, 0);
}

static void
listener_ready(struct source *source, uint32_t events)
{
	(void)events;
	for (int i = 0; i < 16; i++) {
		int fd = accept4(source->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd >= 0 && connections_open() >= CONNECTIONS_MAX)
			refuse(fd);
		else if (fd >= 0)
			connection_open(fd);
		else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
			accept_without_descriptor();
			return;
		} else if (errno != EINTR && errno != ECONNABORTED)
			return;
	}
}

/* The main processes of a lost keeper, and whatever comes to us when those die. */
static void
kill_orphans(void)
{
	struct tree tree;
	pid_t self = getpid();
	bool found = false;
	tree_read(&tree, (struct family){.root = self});
	for (size_t i = 0; i < tree.count; i++) {
		const struct process *process = &tree.processes[i];
		bool ours = execs_is_keeper(process->pid) || worker_known(process->pid) || relay_is(process->pid);
		if (process->parent == self && !ours) {
			found = true;
			kill(process->pid, SIGKILL);
		}
	}
	tree_free(&tree);
	guest.orphans = found;
}

static void
signals_ready(struct source *source, uint32_t events)
{
	struct signalfd_siginfo info[8];
	(void)events;
	ssize_t n = read(source->fd, info, sizeof info);
	for (ssize_t i = 0; i < n / (ssize_t)sizeof info[0]; i++)
		if (info[i].ssi_signo != SIGCHLD)
			guest_stop(NULL, 2000);
	pid_t pid;
	while ((pid = waitpid(-1, NULL, WNOHANG)) > 0) {
		execs_reaped(pid);
		worker_ended(pid);
		relay_reaped(pid);
	}
}

void
guest_stop(struct connection *connection, int64_t grace_ms)
{
	if (connection != NULL && guest.stop_connection != NULL) {
		connection_error(connection, "busy", "the guest is already shutting down", 0);
		return;
	}
	if (connection != NULL)
		guest.stop_connection = connection;
	if (guest.stopping)
		return;
	guest.stopping = true;
	guest.stop_kill = now_us() + grace_ms * 1000;
	guest.stop_give_up = guest.stop_kill + STOP_PATIENCE_US;
	execs_signal_all(SIGTERM);
}

/* True when the guest may exit. */
static bool
stopped(int64_t now, int64_t *deadline)
{
	if (guest.stop_kill != 0 && guest.stop_kill <= now) {
		guest.stop_kill = 0;
		execs_signal_all(SIGKILL);
	}
	if (execs_running() == 0 || guest.stop_give_up <= now)
		return true;
	*deadline = sooner(*deadline, guest.stop_kill != 0 ? guest.stop_kill : guest.stop_give_up);
	return false;
}

static bool
prepare_signals(bool first)
{
	sigset_t heard;
	/* Blocked, not handled: as PID 1 that leaves the kernel's protection against signals from inside as it is, and a
	 * forged one finds nothing to interrupt. Programs start with an empty mask and default actions. Asked of the kernel
	 * directly, because a libc keeps some signals for threads that we do not have. */
	const uint64_t all = UINT64_MAX, defaults[8] = {0};
	for (int number = 1; number <= SIGNALS; number++)
		syscall(SYS_rt_sigaction, number, defaults, NULL, sizeof all);
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, sizeof all);
	sigemptyset(&heard);
	sigaddset(&heard, SIGCHLD);
	if (!first) {
		sigaddset(&heard, SIGTERM);
		sigaddset(&heard, SIGINT);
		sigaddset(&heard, SIGHUP);
	}
	source_set(&signals, signalfd(-1, &heard, SFD_CLOEXEC | SFD_NONBLOCK), signals_ready);
	return signals.fd >= 0;
}

/* Every descriptor below 5 is taken, so that pipes never collide with those a program is given. */
static bool
prepare_descriptors(int *listening, int report)
{
	if (*listening < 5) {
		int moved = fcntl(*listening, F_DUPFD_CLOEXEC, 5);
		if (moved < 0)
			return false;
		close(*listening);
		*listening = moved;
	}
	int keep[] = {0, 1, 2, *listening, report};
	close_except(0, keep, sizeof keep / sizeof keep[0]);
	int fd;
	while ((fd = eventfd(0, EFD_CLOEXEC)) >= 0 && fd < 5)
		continue;
	spare = fd;
	struct rlimit limit;
	if (fd < 0 || getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return false;
	inherited_nofile = (int64_t)limit.rlim_cur;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	return fcntl(*listening, F_SETFD, FD_CLOEXEC) == 0 && fcntl(*listening, F_SETFL, O_NONBLOCK) == 0;
}

static bool
prepare(const struct guest_options *options)
{
	bool first = getpid() == 1;
	guest.options = *options;
	guest.started = now_us();
	umask(022);
	prctl(PR_SET_DUMPABLE, 0);
	if (!first && prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
		return false;
	int report = options->ready != NULL ? options->report : 0;
	if (!prepare_descriptors(&guest.options.listener, report) || !loop_open() || !prepare_signals(first))
		return false;
	source_set(&listener, guest.options.listener, listener_ready);
	if (options->egress != NULL && !relay_open(options->egress, options->egress_port_file)) {
		fprintf(stderr, "guest: cannot relay 127.0.0.1 to %s: %s\n", options->egress, strerror(errno));
		return false;
	}
	return source_watch(&listener, EPOLLIN) && source_watch(&signals, EPOLLIN);
}

/* Between two rounds: acts on what is due and frees what is over. True when the guest may exit. */
static bool
sweep(int64_t *deadline)
{
	int64_t now = now_us();
	if (guest.orphans)
		kill_orphans();
	*deadline = sooner(execs_sweep(now), changes_sweep(now));
	if (guest.garbage || connections_timed())
		*deadline = sooner(*deadline, connections_sweep(now));
	guest.garbage = false;
	if (accept_again != 0 && accept_again <= now) {
		accept_again = 0;
		source_watch(&listener, EPOLLIN);
	}
	*deadline = sooner(*deadline, accept_again);
	return guest.stopping && stopped(now, deadline);
}

/* Only the end of a PID 1 takes everybody with it. Elsewhere whoever is still below us, a stuck keeper's command say, would
 * live on as a stranger's child. */
static void
end_descendants(void)
{
	if (getpid() == 1)
		return;
	int64_t patience = now_us() + STOP_PATIENCE_US;
	while (now_us() < patience) {
		tree_kill((struct family){.root = getpid()});
		pid_t pid;
		while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
			continue;
		if (pid < 0)
			return;
		poll(NULL, 0, 1);
	}
}

int
guest_run(const struct guest_options *options)
{
	if (!prepare(options) || (options->ready != NULL && !options->ready(options->report)))
		return 1;
	int64_t deadline = 0;
	while (!sweep(&deadline))
		loop_round(deadline);
	end_descendants();
	if (guest.stop_connection != NULL) {
		frame_begin(&guest.stop_connection->out, FRAME_OK);
		frame_end(&guest.stop_connection->out);
		connection_finish(guest.stop_connection);
	}
	return 0;
}
