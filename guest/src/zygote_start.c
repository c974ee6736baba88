/* From a template to a zygote: server ── holder ── zygote ── fork on its way into a sandbox ── keeper ── kernel.
 *
 * The keeper lives in the sandbox's pid namespace but its parent ends outside, so somebody outside must reap it: until then
 * the namespace cannot end. That is the holder, a process of ours which no code of an image can reach. It has nothing to do
 * but to end the zygote when the server wants it or is gone, and it stays until the last of those keepers has ended. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command.h"
#include "launch.h"
#include "owners.h"
#include "syscalls.h"
#include "zygote.h"

/* As in a sandbox without settings of its own: control asks for a fork only when these are the same there. */
#define SEARCH "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/* What the child needs of the server's knowledge; the tables are not in its memory. */
struct start {
	uid_t owner;
	int template; /* pidfd */
	int groups[CG_COUNT], group_count;
	int control, life;
	const char *preload;
};

int
groups_open(const struct hierarchies *groups, int fds[CG_COUNT])
{
	char path[CGROUP_PATH_MAX + 16];
	int count = 0;
	for (int i = 0; i < groups->count; i++) {
		snprintf(path, sizeof path, "%s/%s", groups->at[i].path, groups->at[i].v2 ? "cgroup.procs" : "tasks");
		fds[count] = open(path, O_WRONLY | O_CLOEXEC);
		if (fds[count] >= 0) {
			count++;
			continue;
		}
		while (count > 0)
			close(fds[--count]);
		return -1;
	}
	return count;
}

/* Becomes a stranger to the host: an id of the image's own, and no way back. */
static bool
give_up_privileges(uid_t owner)
{
	struct rlimit core;
	const struct rlimit none = {0, 0}, locked = {8 << 20, 8 << 20}, queued = {64 << 10, 64 << 10}, pending = {1024, 1024};
	for (int capability = 0; prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0; capability++)
		continue;
	if (getrlimit(RLIMIT_CORE, &core) != 0)
		return false;
	core.rlim_cur = core.rlim_max = core.rlim_max < CORE_LIMIT ? core.rlim_max : CORE_LIMIT;
	if (setrlimit(RLIMIT_CORE, &core) != 0 || setrlimit(RLIMIT_MEMLOCK, &locked) != 0 || setrlimit(RLIMIT_MSGQUEUE, &queued) != 0
		|| setrlimit(RLIMIT_SIGPENDING, &pending) != 0 || setrlimit(RLIMIT_NICE, &none) != 0 || setrlimit(RLIMIT_RTPRIO, &none) != 0)
		return false;
	const unsigned long bits = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_KEEP_CAPS_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE
		| SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED | SECBIT_NO_SETUID_FIXUP_LOCKED;
	struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct data[2] = {{0}};
	return prctl(PR_SET_SECUREBITS, bits, 0, 0, 0) == 0 && setgroups(0, NULL) == 0 && setresgid(owner, owner, owner) == 0
		&& setresuid(owner, owner, owner) == 0 && syscall(SYS_capset, &header, data) == 0
		&& prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

/* 0 to 2 on the template's /dev/null, 3 the way to the server, and nothing else. */
static bool
keep_descriptors(int control)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int kept = fcntl(control, F_DUPFD_CLOEXEC, 4);
	return null >= 0 && kept >= 0 && dup2(null, 0) == 0 && dup2(null, 1) == 1 && dup2(null, 2) == 2 && dup2(kept, 3) == 3
		&& k_close_range(4, ~0u) == 0;
}

/* When memory runs out a kernel goes before its guest, as any command, and has it from here: where a memory is shared, and at
 * times a kernel's is, the kernel would look at all processes of the host. Without privileges, as a keeper takes it back; a
 * server that may not be preferred less than that has its way. */
static void
prefer_for_oom(int score)
{
	if (write(score, "500", 3) < 0)
		errno = 0;
}

static _Noreturn void
become_zygote(const struct start *start, pid_t holder)
{
	char *environment[] = {SEARCH, "HOME=/workspace", "USER=carrel", "LANG=C.UTF-8", "MPLBACKEND=agg", "MPLCONFIGDIR=/tmp/matplotlib",
		"OMP_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1", "MKL_NUM_THREADS=1", "BLIS_NUM_THREADS=1", "NUMEXPR_NUM_THREADS=1", NULL};
	char *arguments[] = {"python3", "-S", "-X", "utf8", "/opt/carrel/kernels/python/zygote.py", (char *)start->preload, NULL};
	const int namespaces = CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;
	/* Below, the file is not there. */
	int score = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	bool good = true;
	for (int i = 0; i < start->group_count; i++)
		good = good && write(start->groups[i], "0", 1) == 1;
	/* The template's own /tmp takes no file of an id that is not in its user namespace. */
	good = good && setns(start->template, namespaces) == 0 && chdir("/") == 0
		&& mount("tmpfs", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "size=16m,nr_inodes=2048,mode=1777") == 0
		&& give_up_privileges(start->owner);
	prefer_for_oom(score);
	good = good && keep_descriptors(start->control);
	/* After the change of ids, which forgets it. */
	good = good && prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0 && getppid() == holder && seccomp_confine_zygote();
	for (const char *folder = SEARCH + sizeof "PATH=" - 1; good && *folder != 0;) {
		char path[64];
		int length = (int)strcspn(folder, ":");
		snprintf(path, sizeof path, "%.*s/python3", length, folder);
		execve(path, arguments, environment);
		folder += length + (folder[length] == ':');
	}
	_exit(127);
}

static _Noreturn void
hold(struct start *start)
{
	struct k_clone_args arguments = {.flags = CLONE_PIDFD, .exit_signal = SIGCHLD};
	int pidfd = -1;
	sigset_t none;
	setsid();
	launch_forget_arguments("zygote");
	for (int number = 1; number < 65; number++)
		signal(number, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	pid_t holder = getpid();
	arguments.pidfd = (uint64_t)(uintptr_t)&pidfd;
	long zygote = syscall(NR_CLONE3, &arguments, sizeof arguments);
	if (zygote == 0)
		become_zygote(start, holder);
	if (zygote < 0)
		_exit(1);
	/* From here on the kernel reaps for us. */
	signal(SIGCHLD, SIG_IGN);
	int keep[] = {start->life, pidfd, start->template};
	close_except(0, keep, 3);
	struct pollfd life = {.fd = start->life};
	while (poll(&life, 1, -1) < 0)
		continue;
	k_pidfd_send_signal(pidfd, SIGKILL);
	/* Should the server be gone, nobody else ends the template before the next one comes. */
	k_pidfd_send_signal(start->template, SIGKILL);
	while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
		continue;
	_exit(0);
}

/* The first message: what it is to apply in every fork. */
static bool
send_setup(int control)
{
	struct writer out = {0};
	struct bytes program = seccomp_rest();
	frame_begin(&out, 1);
	put_bytes(&out, 10, program.data, program.length);
	put_int(&out, 11, INSIDE_UID);
	frame_end(&out);
	bool good = !out.failed && send(control, out.data, out.length, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)out.length;
	writer_free(&out);
	return good;
}

static struct holder *
unused_holder(struct nursery *nursery)
{
	for (int i = 0; i < HOLDERS_MAX; i++)
		if (nursery->holders[i].pid == 0)
			return &nursery->holders[i];
	errno = EUSERS;
	return NULL;
}

static bool
fork_holder(struct spawn *spawn, struct zygote *zygote, struct start *start)
{
	struct holder *holder = unused_holder(spawn->nursery);
	if (holder == NULL)
		return false;
	int pidfd = -1;
	struct k_clone_args arguments = {.flags = CLONE_PIDFD, .pidfd = (uint64_t)(uintptr_t)&pidfd, .exit_signal = SIGCHLD};
	pid_t pid = (pid_t)syscall(NR_CLONE3, &arguments, sizeof arguments);
	if (pid == 0)
		hold(start);
	if (pid < 0)
		return false;
	/* Whom nobody watches nobody would reap, and its place would never be free again. */
	if (!spawn_watch(spawn, pidfd, EVENT_HOLDER, (int)(holder - spawn->nursery->holders), EPOLLIN)) {
		k_pidfd_send_signal(pidfd, SIGKILL);
		waitpid(pid, NULL, 0);
		close(pidfd);
		return false;
	}
	*holder = (struct holder){.pid = pid, .pidfd = pidfd};
	return send_setup(zygote->control)
		&& spawn_watch(spawn, zygote->control, EVENT_ZYGOTE, (int)(zygote - spawn->nursery->zygotes), EPOLLIN);
}

bool
zygote_start(struct spawn *spawn, struct zygote *zygote)
{
	const struct box *box = &spawn->boxes[zygote->box];
	struct start start = {.owner = owner_of(spawn, zygote->image), .template = box->pidfd};
	char preload[PRELOAD_MAX];
	int control[2], life[2], on = 1;
	snprintf(preload, sizeof preload, "%s", zygote->preload);
	start.preload = preload;
	if (start.owner == 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control) != 0)
		return false;
	zygote->control = control[0];
	start.control = control[1];
	bool good = setsockopt(control[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof on) == 0 && pipe2(life, O_CLOEXEC) == 0;
	if (good) {
		start.life = life[0];
		zygote->life = life[1];
		start.group_count = groups_open(&spawn->details[zygote->box].groups, start.groups);
		good = start.group_count >= 0 && fork_holder(spawn, zygote, &start);
		for (int i = 0; i < start.group_count; i++)
			close(start.groups[i]);
		close(life[0]);
	}
	close(control[1]);
	return good;
}
