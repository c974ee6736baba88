/* From a plan to a sandbox. The parent's half is short, so that many creates overlap: it clones a child with its own user
 * and pid namespace and sets its id maps; the child makes everything else itself and reports once. What does not depend on
 * whose sandbox it will be comes first: a blank (blank.h) has done that already when somebody asks. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/securebits.h>
#include <linux/sched.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"
#include "guest.h"
#include "launch.h"
#include "syscalls.h"
#include "volume.h"

static char *arguments_start, *arguments_end;

void
launch_remember_arguments(void)
{
	char text[2048];
	unsigned long start, end;
	int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = 0;
	/* Where the arguments start and the environment ends: the 46th and 49th field after the name. */
	char *field = strrchr(text, ')');
	for (int i = 0; field != NULL && i < 46; i++)
		field = strchr(field + 1, ' ');
	if (field != NULL && sscanf(field, "%lu %*s %*s %lu", &start, &end) == 2 && start < end) {
		arguments_start = (char *)start;
		arguments_end = (char *)end;
	}
}

/* Code inside can read the guest's command line, and the server's names host paths. The id is no secret there, and on the
 * host it tells whose guest this is. */
void
launch_forget_arguments(const char *id)
{
	static char *none[] = {NULL};
	extern char **environ;
	if (arguments_start != NULL) {
		size_t size = (size_t)(arguments_end - arguments_start);
		memset(arguments_start, 0, size);
		snprintf(arguments_start, size, "guest %s", id);
	}
	environ = none;
	prctl(PR_SET_NAME, "guest", 0, 0, 0);
}

static bool
join_groups(const struct plan *plan, struct failure *failure)
{
	for (int i = 0; i < plan->cgroups.count; i++)
		if (write(plan->cgroups.tasks[i], "0", 1) != 1)
			return give_up(failure, KIND_ENGINE, "cgroup-attach", errno, "joining the control group");
	return true;
}

static bool
enter_namespaces(struct plan *plan, struct failure *failure)
{
	if (unshare(CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS) != 0)
		return give_up(failure, KIND_ENGINE, "namespaces", errno, "mount, network, ipc and uts namespaces");
	measure_applied(&plan->measures, MEASURE_PID_NAMESPACE, "own, the guest is PID 1");
	measure_applied(&plan->measures, MEASURE_NETWORK_NAMESPACE, "own, loopback only");
	measure_applied(&plan->measures, MEASURE_MOUNT_NAMESPACE, "own, the host's root is gone from it");
	measure_applied(&plan->measures, MEASURE_IPC_NAMESPACE, "own");
	measure_applied(&plan->measures, MEASURE_UTS_NAMESPACE, "own");
	return true;
}

/* After the groups: a cgroup namespace starts where its maker is at that time. */
static bool
enter_cgroup_namespace(struct plan *plan, struct failure *failure)
{
	if (unshare(CLONE_NEWCGROUP) == 0) {
		measure_applied(&plan->measures, MEASURE_CGROUP_NAMESPACE, "own");
		return true;
	}
	measure_missing(&plan->measures, MEASURE_CGROUP_NAMESPACE, "%s", strerror(errno));
	return excused(plan, MEASURE_CGROUP_NAMESPACE, failure);
}

/* Waits until the parent has set the id maps, then becomes the id that the guest runs as. */
static bool
take_ids(const struct plan *plan, struct failure *failure)
{
	char go;
	close(plan->sync_peer);
	if (read(plan->sync, &go, 1) != 1)
		_exit(1); /* the server is gone or gave up: nobody waits for a report */
	if (plan->map == MAP_SINGLE)
		return true;
	if (setgroups(0, NULL) != 0 || setresgid(0, 0, 0) != 0 || setresuid(0, 0, 0) != 0)
		return give_up(failure, KIND_ENGINE, "id-map", errno, "taking the guest's ids");
	return true;
}

static bool
raise_loopback(struct failure *failure)
{
	struct ifreq request = {.ifr_flags = IFF_UP | IFF_RUNNING};
	memcpy(request.ifr_name, "lo", sizeof "lo");
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &request) != 0)
		return give_up(failure, KIND_ENGINE, "loopback", errno, "raising lo");
	close(fd);
	return true;
}

/* Leaves nothing of the host open: 0 to 2 on the sandbox's own /dev/null, 3 the guest's socket, 5 the report. */
static bool
keep_descriptors(struct plan *plan, struct failure *failure)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int to = fcntl(plan->report, F_DUPFD_CLOEXEC, 6);
	int listener = fcntl(plan->listener, F_DUPFD_CLOEXEC, 6);
	if (null < 0 || to < 0 || listener < 0)
		return give_up(failure, KIND_ENGINE, "descriptors", errno, "/dev/null");
	for (int fd = 0; fd < 3; fd++)
		if (dup2(null, fd) < 0)
			return give_up(failure, KIND_ENGINE, "descriptors", errno, "dup2");
	if (dup3(listener, 3, O_CLOEXEC) < 0 || dup3(to, 5, O_CLOEXEC) < 0)
		return give_up(failure, KIND_ENGINE, "descriptors", errno, "dup3");
	plan->listener = 3;
	plan->report = 5;
	if (k_close_range(4, 4) != 0 || k_close_range(6, ~0u) != 0)
		return give_up(failure, KIND_ENGINE, "descriptors", errno, "close_range");
	return true;
}

/* As far as it goes without knowing whose sandbox it is. */
static bool
begin(struct plan *plan, struct failure *failure)
{
	return enter_namespaces(plan, failure) && rootfs_open_sources(plan, failure) && take_ids(plan, failure)
		&& volume_ask(plan, failure) && rootfs_begin(plan, failure) && raise_loopback(failure);
}

/* In a blank: waits until somebody asks. Whoever asks for one that failed is told why. */
static bool
await_request(struct plan *plan, bool begun, struct failure *failure)
{
	if (!blank_await(plan))
		_exit(0);
	launch_forget_arguments(plan->id);
	return begun && join_groups(plan, failure) && volume_ask(plan, failure);
}

static bool
become_sandbox(struct plan *plan, struct failure *failure)
{
	bool good = join_groups(plan, failure) && begin(plan, failure);
	if (plan->request >= 0)
		good = await_request(plan, good, failure);
	if (!good || !enter_cgroup_namespace(plan, failure) || !rootfs_complete(plan, failure))
		return false;
	if (sethostname(plan->id, strlen(plan->id)) != 0)
		return give_up(failure, KIND_ENGINE, "hostname", errno, "%s", plan->id);
	/* Excuses were checked for what fails here; what the parent could not do (control groups, ids) is checked by it. */
	return keep_descriptors(plan, failure) && confine_limits(plan, failure) && landlock_apply(plan, failure)
		&& confine_privileges(plan, failure) && seccomp_apply(plan, failure);
}

/* What the child tells, once. */
static struct report report;

static bool
tell(int to)
{
	bool told = write_all(to, &report, sizeof report);
	close(to);
	return told;
}

/* The whole life of the child: a sandbox whose guest serves, or one report of why not. */
static _Noreturn void
child(struct plan *plan)
{
	setsid();
	umask(022);
	launch_forget_arguments(plan->id[0] != 0 ? plan->id : "blank");
	for (int number = 1; number < 65; number++)
		signal(number, SIG_DFL);
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (plan->request >= 0) {
		/* It may wait for long, and must not keep open what others wait to see closed. */
		int keep[] = {plan->request, plan->sync, plan->sync_peer};
		close_except(3, keep, sizeof keep / sizeof *keep);
	}
	report.ready = become_sandbox(plan, &report.failure);
	report.measures = plan->measures;
	report.limits = plan->limits;
	if (!report.ready) {
		tell(plan->report);
		_exit(1);
	}
	char egress[HOST_PATH_MAX + 32];
	bool out = plan->egress[0] != 0;
	if (out)
		snprintf(egress, sizeof egress, "/run/carrel/egress%s", strrchr(plan->egress, '/'));
	const uid_t user = plan->overlay ? 0 : INSIDE_UID;
	struct guest_options options = {.listener = plan->listener, .uid = user, .gid = user,
		.own_uid = plan->map != MAP_SINGLE, .workspace = "/workspace", .egress = out ? egress : NULL, .ready = tell,
		.report = plan->report};
	_exit(guest_run(&options));
}

bool
act_as(uid_t owner)
{
	static long bits = -1;
	if (bits < 0)
		bits = prctl(PR_GET_SECUREBITS, 0, 0, 0, 0);
	if (owner != 0 && prctl(PR_SET_SECUREBITS, bits | SECBIT_NO_SETUID_FIXUP, 0, 0, 0) != 0)
		return false;
	if (setresuid((uid_t)-1, owner, (uid_t)-1) != 0)
		return false;
	setfsuid(0);
	return owner != 0 || prctl(PR_SET_SECUREBITS, bits, 0, 0, 0) == 0;
}

pid_t
launch(struct plan *plan, int *pidfd, struct failure *failure)
{
	struct k_clone_args arguments = {.flags = CLONE_PIDFD | CLONE_NEWUSER | CLONE_NEWPID, .pidfd = (uint64_t)(uintptr_t)pidfd,
		.exit_signal = SIGCHLD};
	if (plan->cgroups.unified >= 0) {
		arguments.flags |= K_CLONE_INTO_CGROUP;
		arguments.cgroup = (uint64_t)plan->cgroups.unified;
	}
	if (plan->maker != 0 && !act_as(plan->maker)) {
		give_up(failure, KIND_ENGINE, "owner", errno, "acting as user %u", (unsigned)plan->maker);
		act_as(0);
		return -1;
	}
	long pid = syscall(NR_CLONE3, &arguments, sizeof arguments);
	if (pid == 0)
		child(plan);
	int error = errno;
	if (plan->maker != 0 && !act_as(0))
		abort(); /* the server must not go on as somebody else */
	errno = error;
	if (pid < 0)
		give_up(failure, errno == EPERM || errno == ENOSPC || errno == EUSERS ? KIND_ISOLATION : KIND_ENGINE, "clone", errno,
			"a child in a user and pid namespace of its own");
	return (pid_t)pid;
}
