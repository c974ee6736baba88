/* The keeper runs as the guest's own user, so the code it watches over cannot signal it where the guest has an id of its
 * own. It is a fork of the guest that touches little memory: most of its pages stay shared. */
#include "keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "loop.h"
#include "tree.h"

/* How long the end of a killed main process may wait for the rest of its tree, so that `left` is true. */
#define KILL_REPORT_US 500000
/* How long to wait before looking again for what could not be killed at once; doubled each time up to the second. */
#define RETRY_MS 5
#define RETRY_MAX_MS 1000

struct keeper {
	int channel;
	int terminal; /* its inner end while the main process runs, where we lead its session; or -1 */
	struct family family; /* ours: the command's */
	pid_t main;
	bool main_ended;
	bool reported;
	bool killing;
	int retry_ms;
	int64_t killed_at;
	struct keeper_report end;
};

static void
report(struct keeper *keeper, const struct keeper_report *message)
{
	/* When the guest is gone there is nobody to tell; the channel's end will say so. */
	send(keeper->channel, message, sizeof *message, MSG_NOSIGNAL);
}

static void
start_killing(struct keeper *keeper)
{
	if (!keeper->killing)
		keeper->killed_at = now_us();
	keeper->killing = true;
	keeper->retry_ms = RETRY_MS;
}

/* The group in the foreground of the terminal that we lead; 0: there is none. */
static pid_t
foreground(const struct keeper *keeper)
{
	pid_t group = keeper->terminal < 0 ? 0 : tcgetpgrp(keeper->terminal);
	return group > 1 ? group : 0;
}

static void
obey(struct keeper *keeper, const struct keeper_order *order)
{
	pid_t group = order->group > 0 ? order->group : foreground(keeper);
	if (order->scope == SCOPE_TREE && order->signal == SIGKILL)
		start_killing(keeper);
	else if (order->scope == SCOPE_TREE)
		tree_signal(keeper->family, order->signal, 0);
	else if (order->scope == SCOPE_GROUP && group > 0)
		tree_signal(keeper->family, order->signal, group);
	else if (order->scope == SCOPE_GROUP && keeper->main_ended)
		/* The main process's id may belong to somebody else by now: only its own descendants are meant. */
		tree_signal(keeper->family, order->signal, keeper->main);
	else if (!keeper->main_ended)
		kill(order->scope == SCOPE_GROUP ? -keeper->main : keeper->main, order->signal);
}

/* Reaps whoever has ended. Returns false when no child is left at all. */
static bool
reap(struct keeper *keeper)
{
	for (;;) {
		int status;
		struct rusage usage;
		pid_t pid = wait4(-1, &status, WNOHANG, &usage);
		if (pid == 0)
			return true;
		if (pid < 0 && errno != EINTR)
			return false;
		if (pid != keeper->main || keeper->main_ended)
			continue;
		keeper->main_ended = true;
		if (keeper->terminal >= 0)
			close(keeper->terminal); /* it ends with its last holder */
		keeper->terminal = -1;
		keeper->end.status = status;
		keeper->end.cpu_us = (int64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 +
				     usage.ru_utime.tv_usec + usage.ru_stime.tv_usec;
		keeper->end.max_rss_bytes = (int64_t)usage.ru_maxrss * 1024;
	}
}

/* Whether there are orphans that the kernel gave to the guest and that only their mark tells. */
static bool
marked_left(const struct keeper *keeper)
{
	struct tree tree;
	if (keeper->family.mark == 0)
		return false;
	tree_read(&tree, keeper->family);
	bool left = tree.count > 0;
	tree_free(&tree);
	return left;
}

static void
report_end(struct keeper *keeper, bool children)
{
	if (!keeper->main_ended || keeper->reported)
		return;
	if (children && keeper->killing && now_us() - keeper->killed_at < KILL_REPORT_US)
		return;
	if (children) {
		struct tree tree;
		tree_read(&tree, keeper->family);
		keeper->end.left = (int64_t)tree.count;
		tree_free(&tree);
	}
	keeper->reported = true;
	report(keeper, &keeper->end);
}

/* The kernel should choose the command before the guest when memory runs out. Written after execve, because only then does
 * the file belong to the command's user, whom we can stand in for; where it is refused nothing is lost but preference. */
static void
prefer_for_oom(const struct command *command, pid_t pid)
{
	char path[40];
	snprintf(path, sizeof path, "/proc/%d/oom_score_adj", pid);
	if (command->change_user)
		setfsuid(command->uid);
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (command->change_user)
		setfsuid(geteuid());
	if (fd < 0)
		return;
	if (write(fd, "500", 3) < 0)
		errno = 0;
	close(fd);
}

static void
serve(struct keeper *keeper, int signals)
{
	struct pollfd waits[2] = {{.fd = keeper->channel, .events = POLLIN}, {.fd = signals, .events = POLLIN}};
	for (;;) {
		bool children = reap(keeper) || marked_left(keeper);
		report_end(keeper, children);
		if (!children)
			return;
		int timeout = signals < 0 ? RETRY_MS : -1; /* without a signalfd we look now and then */
		if (keeper->killing) {
			tree_kill(keeper->family);
			timeout = keeper->retry_ms;
			keeper->retry_ms = timeout * 2 < RETRY_MAX_MS ? timeout * 2 : RETRY_MAX_MS;
		}
		if (poll(waits, 2, timeout) < 0)
			continue;
		struct signalfd_siginfo info;
		if (waits[1].revents != 0 && read(signals, &info, sizeof info) < 0)
			continue;
		struct keeper_order order;
		ssize_t got = waits[0].revents == 0 ? 1 : recv(keeper->channel, &order, sizeof order, MSG_DONTWAIT);
		if (got == sizeof order)
			obey(keeper, &order);
		else if (got == 0) {
			/* The guest is gone, and nobody else will ever end this tree. */
			waits[0].fd = -1;
			start_killing(keeper);
		}
	}
}

/* Kernels have it from their zygote that they go first when memory runs out, and so has what becomes their keeper. */
static void
stay_like_guest(void)
{
	char score[8];
	int guest = open("/proc/1/oom_score_adj", O_RDONLY | O_CLOEXEC), own = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	ssize_t n = guest < 0 ? -1 : read(guest, score, sizeof score);
	if (n > 0 && own >= 0 && write(own, score, (size_t)n) < 0)
		errno = 0; /* nothing is lost but preference */
	close(guest);
	close(own);
}

/* Came over execve by way of the ambient set; from here on only this process has them, as a forked keeper does. */
static bool
keep_capabilities(void)
{
	const uint32_t kept = 1u << CAP_SETUID | 1u << CAP_SETGID | 1u << CAP_KILL;
	struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct data[2] = {{.effective = kept, .permitted = kept}};
	return prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) == 0 && syscall(SYS_capset, &header, data) == 0;
}

int
keeper_main(int argc, char **argv)
{
	sigset_t child;
	const uint64_t all = UINT64_MAX;
	stay_like_guest();
	prctl(PR_SET_DUMPABLE, 0);
	struct keeper keeper = {.terminal = -1, .channel = argc == 3 ? atoi(argv[1]) : -1, .main = argc == 3 ? atoi(argv[2]) : -1,
				.family.root = getpid()};
	if (keeper.channel <= 0 || keeper.main <= 1 || !keep_capabilities())
		return 2;
	signal(SIGCHLD, SIG_DFL);
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, sizeof all);
	close_except(0, (int[]){keeper.channel}, 1);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	struct keeper_report start = {.event = KEEPER_STARTED, .pid = keeper.main};
	report(&keeper, &start);
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	keeper.end = (struct keeper_report){.event = KEEPER_ENDED, .pid = keeper.main};
	serve(&keeper, signalfd(-1, &child, SFD_CLOEXEC));
	return 0;
}

_Noreturn void
keeper_run(struct command *command, int channel)
{
	struct keeper keeper = {.channel = channel, .terminal = command->keeper_leads ? command->input : -1,
				.family.root = getpid()};
	int keep[] = {channel, command->input, command->output, command->error, command->control_input,
		      command->control_output};
	close_except(0, keep, sizeof keep / sizeof keep[0]);
	/* Old gVisors refuse it to all but PID 1. Who adopts needs no mark. */
	if (prctl(PR_SET_CHILD_SUBREAPER, 1) == 0 || !command->change_user)
		command->mark = 0;
	keeper.family.mark = command->mark;
	sigset_t child;
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	struct keeper_report start = {.event = KEEPER_STARTED};
	if (keeper.terminal >= 0 && (setsid() < 0 || ioctl(keeper.terminal, TIOCSCTTY, 0) < 0)) {
		start.failure = (struct start_failure){START_SETUP, errno};
		start.pid = -1;
	} else
		start.pid = keeper.main = command_start(command, &start.failure);
	if (start.pid < 0) {
		start.event = KEEPER_FAILED;
		report(&keeper, &start);
		_exit(0);
	}
	report(&keeper, &start);
	if (keeper.terminal >= 0)
		close_except(0, (int[]){channel, keeper.terminal}, 2);
	else
		close_except(0, (int[]){channel}, 1);
	int signals = signalfd(-1, &child, SFD_CLOEXEC);
	keeper.end = (struct keeper_report){.event = KEEPER_ENDED, .pid = keeper.main, .marked = command->mark != 0};
	prefer_for_oom(command, keeper.main);
	/* Each change of user has set it anew, to whatever fs.suid_dumpable says. */
	prctl(PR_SET_DUMPABLE, 0);
	serve(&keeper, signals);
	_exit(0);
}
