/* The floors of the benchmark: what the kernel alone costs. Prints one duration in nanoseconds a line.
 *   floors spawn N    posix_spawn of /bin/true and wait
 *   floors echo N     one byte to another process over a Unix socket and back
 *   floors pipe N     N MiB through a pipe to another process; one line: the whole time
 *   floors launch N   a sandbox with a process in it, until that says that it is there; needs root
 *   floors life N     the same, then another program in it, until all of it is gone
 * It is to be linked statically: nothing but itself is in the root of its sandboxes. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static int64_t
now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int
spawn_floor(int count)
{
	char *arguments[] = {"/bin/true", NULL};
	for (int i = 0; i < count; i++) {
		int64_t start = now();
		pid_t pid;
		int status;
		if (posix_spawn(&pid, arguments[0], NULL, NULL, arguments, environ) != 0 || waitpid(pid, &status, 0) != pid)
			return 1;
		printf("%lld\n", (long long)(now() - start));
	}
	return 0;
}

static int
echo_floor(int count)
{
	int ends[2];
	char byte = 'x';
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
		return 1;
	pid_t pid = fork();
	if (pid < 0)
		return 1;
	if (pid == 0) {
		close(ends[0]);
		while (read(ends[1], &byte, 1) == 1)
			if (write(ends[1], &byte, 1) != 1)
				break;
		_exit(0);
	}
	close(ends[1]);
	for (int i = 0; i < count; i++) {
		int64_t start = now();
		if (write(ends[0], &byte, 1) != 1 || read(ends[0], &byte, 1) != 1)
			return 1;
		printf("%lld\n", (long long)(now() - start));
	}
	close(ends[0]);
	return waitpid(pid, NULL, 0) != pid;
}

static int
pipe_floor(int mebibytes)
{
	enum { CHUNK = 65536 };
	static char buffer[CHUNK];
	int ends[2];
	if (pipe(ends) != 0)
		return 1;
	pid_t pid = fork();
	if (pid < 0)
		return 1;
	if (pid == 0) {
		close(ends[0]);
		for (int64_t left = (int64_t)mebibytes << 20; left > 0;) {
			ssize_t n = write(ends[1], buffer, CHUNK);
			if (n <= 0)
				_exit(1);
			left -= n;
		}
		_exit(0);
	}
	close(ends[1]);
	int64_t start = now();
	while (read(ends[0], buffer, CHUNK) > 0)
		continue;
	printf("%lld\n", (long long)(now() - start));
	return waitpid(pid, NULL, 0) != pid;
}

static bool
write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool good = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	if (fd >= 0)
		close(fd);
	return good;
}

static bool
map_ids(pid_t pid)
{
	static const char *const maps[] = {"uid_map", "gid_map"};
	char path[64];
	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, maps[i]);
		if (!write_text(path, "0 1000000 65536"))
			return false;
	}
	return true;
}

/* ---- a sandbox, as small a program as can be makes one: namespaces, control groups with limits, a root with the usual mounts and
 * masks, no capabilities, a filter for system calls, rules for files, and in it a process that answers. */

enum { GROUPS_MAX = 4, FILTER = 64 };

static char groups[GROUPS_MAX][64];
static int group_count;
#define REMOVE_ATTEMPTS 20000 /* a second: whoever was in it may still be on the way out */

static void
remove_groups(void)
{
	for (int i = 0; i < group_count; i++)
		for (int attempt = 0; rmdir(groups[i]) != 0 && errno == EBUSY && attempt < REMOVE_ATTEMPTS; attempt++)
			usleep(50);
	group_count = 0;
}

/* The groups of one sandbox; those of version 1 where there are some, as its controllers are then not with version 2. */
static bool
make_groups(int number)
{
	static const char *const controllers[] = {"memory", "pids", "cpu", "freezer"};
	static const char *const limits[] = {"memory.limit_in_bytes", "pids.max", "cpu.cfs_quota_us", NULL};
	static const char *const limits_v2[] = {"memory.max", "pids.max", "cpu.max"};
	static const char *const values[] = {"536870912", "128", "100000"};
	bool single = access("/sys/fs/cgroup/cgroup.controllers", F_OK) == 0;
	char path[384];
	for (int i = 0; i < (single ? 1 : GROUPS_MAX); i++) {
		snprintf(groups[i], sizeof groups[i], "/sys/fs/cgroup/%s%scarrel-floor-%d-%d", single ? "" : controllers[i], single ? "" : "/", (int)getpid(),
			number);
		if (mkdir(groups[i], 0755) != 0)
			return false;
		group_count = i + 1;
		if (!single && limits[i] != NULL) {
			snprintf(path, sizeof path, "%s/%s", groups[i], limits[i]);
			write_text(path, values[i]);
		}
	}
	for (int i = 0; single && i < 3; i++) {
		snprintf(path, sizeof path, "%s/%s", groups[0], limits_v2[i]);
		write_text(path, values[i]);
	}
	return true;
}

static bool
join_groups(void)
{
	char path[384];
	for (int i = 0; i < group_count; i++) {
		snprintf(path, sizeof path, "%s/%s", groups[i], group_count == 1 ? "cgroup.procs" : "tasks");
		if (!write_text(path, "0"))
			return false;
	}
	return true;
}

static bool
mount_over(const char *source, const char *target)
{
	return access(target, F_OK) != 0 || mount(source, target, NULL, MS_BIND, NULL) == 0;
}

static bool
seal(const char *path)
{
	return mount_over(path, path)
		&& (access(path, F_OK) != 0
			|| mount(NULL, path, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) == 0);
}

static bool
make_devices(void)
{
	static const char *const devices[] = {"null", "zero", "full", "random", "urandom"};
	static const char *const links[][2] = {{"/proc/self/fd", "dev/fd"}, {"/proc/self/fd/0", "dev/stdin"}, {"/proc/self/fd/1", "dev/stdout"},
		{"/proc/self/fd/2", "dev/stderr"}};
	char from[32], to[32];
	if (mount("dev", "dev", "tmpfs", MS_NOSUID | MS_NOEXEC, "size=64k,mode=755") != 0 || mkdir("dev/shm", 0755) != 0)
		return false;
	for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
		snprintf(from, sizeof from, "/dev/%s", devices[i]);
		snprintf(to, sizeof to, "dev/%s", devices[i]);
		close(open(to, O_CREAT | O_WRONLY | O_CLOEXEC, 0666));
		if (!mount_over(from, to))
			return false;
	}
	for (size_t i = 0; i < sizeof links / sizeof *links; i++)
		if (symlink(links[i][0], links[i][1]) != 0)
			return false;
	return mount("shm", "dev/shm", "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "size=64m,mode=1777") == 0;
}

/* What a sandbox finds as its root, with this program in it; made once. */
static bool
make_root(const char *program, char *root, size_t size)
{
	static const char *const folders[] = {"", "/proc", "/dev", "/tmp", "/workspace"};
	char path[4200];
	snprintf(root, size, "%s.root", program);
	for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
		snprintf(path, sizeof path, "%s%s", root, folders[i]);
		if (mkdir(path, 0755) != 0 && errno != EEXIST)
			return false;
	}
	snprintf(path, sizeof path, "%s/agent", root);
	return link(program, path) == 0 || errno == EEXIST;
}

static bool
enter_root(int root)
{
	static const char *const masked[] = {"proc/kcore", "proc/keys", "proc/timer_list", "proc/sysrq-trigger"};
	static const char *const sealed[] = {"proc/bus", "proc/fs", "proc/irq", "proc/sys"};
	char source[32];
	snprintf(source, sizeof source, "/proc/self/fd/%d", root);
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 || mount(source, "/tmp", NULL, MS_BIND, NULL) != 0
		|| mount(NULL, "/tmp", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV, NULL) != 0 || chdir("/tmp") != 0
		|| mount("proc", "proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) != 0 || !make_devices()
		|| mount("tmp", "tmp", "tmpfs", MS_NOSUID | MS_NODEV, "size=64m,mode=1777") != 0
		|| mount("files", "workspace", "tmpfs", MS_NOSUID | MS_NODEV, "size=256m,mode=755") != 0)
		return false;
	for (size_t i = 0; i < sizeof masked / sizeof *masked; i++)
		if (!mount_over("dev/null", masked[i]))
			return false;
	for (size_t i = 0; i < sizeof sealed / sizeof *sealed; i++)
		if (!seal(sealed[i]))
			return false;
	return syscall(SYS_pivot_root, ".", ".") == 0 && umount2(".", MNT_DETACH) == 0 && chdir("/workspace") == 0;
}

static bool
loopback_up(void)
{
	struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool good = fd >= 0 && ioctl(fd, SIOCSIFFLAGS, &request) == 0;
	close(fd);
	return good;
}

/* Rules as a sandbox has them: what is read-only stays so even where a mount would not say it. Older kernels do without. */
static void
restrict_files(void)
{
	static const char *const writable[] = {"/workspace", "/tmp", "/dev"};
	struct landlock_ruleset_attr all = {.handled_access_fs = (1 << 13) - 1};
	int rules = (int)syscall(SYS_landlock_create_ruleset, &all, sizeof all, 0);
	if (rules < 0)
		return;
	for (int i = 0; i < 4; i++) {
		struct landlock_path_beneath_attr rule = {
			.allowed_access = i < 3 ? all.handled_access_fs
									: LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR,
			.parent_fd = open(i < 3 ? writable[i] : "/", O_PATH | O_CLOEXEC)};
		syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
		close(rule.parent_fd);
	}
	syscall(SYS_landlock_restrict_self, rules, 0);
	close(rules);
}

/* Not as long as a real list of system calls, and it lets all of them pass. */
static bool
filter_calls(void)
{
	struct sock_filter code[FILTER + 2] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0)};
	for (unsigned i = 0; i < FILTER; i++)
		code[i + 1] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, i, FILTER - 1 - i, 0);
	code[FILTER + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = {FILTER + 2, code};
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0;
}

static bool
confine(void)
{
	struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct none[2] = {{0}};
	for (int capability = 0; capability < 64 && prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0; capability++)
		continue;
	if (syscall(SYS_capset, &header, none) != 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return false;
	restrict_files();
	return filter_calls();
}

/* The child: waits for its ids, becomes a sandbox, and then the program that answers in it. */
static _Noreturn void
launched(int socket, const char *root)
{
	char number[16], byte;
	snprintf(number, sizeof number, "%d", socket);
	char *arguments[] = {"floors", "agent", number, NULL};
	int fd = open(root, O_PATH | O_CLOEXEC); /* while it may: the folder above is closed to the ids of the sandbox */
	if (!join_groups() || read(socket, &byte, 1) != 1 || setresgid(0, 0, 0) != 0 || setresuid(0, 0, 0) != 0 || !enter_root(fd) || !loopback_up()
		|| !confine())
		_exit(1);
	execve("/agent", arguments, environ);
	_exit(1);
}

/* The first process of the sandbox: says that it is there, and starts a program that ends at once for each byte that comes. */
static int
agent(int socket)
{
	char *arguments[] = {"/agent", NULL};
	char byte = 'r';
	pid_t pid;
	fcntl(socket, F_SETFD, FD_CLOEXEC);
	while (write(socket, &byte, 1) == 1 && read(socket, &byte, 1) == 1)
		if (posix_spawn(&pid, arguments[0], NULL, NULL, arguments, environ) != 0 || waitpid(pid, NULL, 0) != pid)
			return 1;
	return 0;
}

static int
launch_floor(const char *program, int count, bool life)
{
	char root[4096];
	atexit(remove_groups);
	if (!make_root(program, root, sizeof root))
		return 1;
	for (int i = 0; i < count; i++) {
		struct clone_args arguments = {.exit_signal = SIGCHLD,
			.flags = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS};
		int ends[2];
		char byte;
		int64_t start = now();
		if (!make_groups(i) || socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
			return 1;
		fcntl(ends[0], F_SETFD, FD_CLOEXEC);
		pid_t pid = (pid_t)syscall(SYS_clone3, &arguments, sizeof arguments);
		if (pid == 0)
			launched(ends[1], root);
		close(ends[1]);
		if (pid < 0 || !map_ids(pid) || write(ends[0], "m", 1) != 1 || read(ends[0], &byte, 1) != 1)
			return 1;
		int64_t there = now();
		if (write(ends[0], "x", 1) != 1 || read(ends[0], &byte, 1) != 1 || kill(pid, SIGKILL) != 0 || waitpid(pid, NULL, 0) != pid)
			return 1;
		close(ends[0]);
		remove_groups();
		printf("%lld\n", (long long)((life ? now() : there) - start));
	}
	return 0;
}

int
main(int argc, char **argv)
{
	if (argc == 1)
		return 0; /* what the agent starts */
	int count = argc == 3 ? atoi(argv[2]) : 0;
	if (count <= 0)
		return 2;
	if (strcmp(argv[1], "agent") == 0)
		return agent(count);
	if (strcmp(argv[1], "spawn") == 0)
		return spawn_floor(count);
	if (strcmp(argv[1], "echo") == 0)
		return echo_floor(count);
	if (strcmp(argv[1], "pipe") == 0)
		return pipe_floor(count);
	if (strcmp(argv[1], "launch") == 0 || strcmp(argv[1], "life") == 0)
		return launch_floor(argv[0], count, argv[1][1] == 'i');
	return 2;
}
