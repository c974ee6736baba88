/* The floors of the benchmark: what the kernel alone costs. Prints one duration in nanoseconds a line.
 *   floors spawn N    posix_spawn of /bin/true and wait
 *   floors echo N     one byte to another process over a Unix socket and back
 *   floors pipe N     N MiB through a pipe to another process; one line: the whole time
 *   floors launch N   a process in namespaces and a root of its own, until it says that it is there; needs root
 *   floors life N     the same, then /bin/true in it, until all of it is gone */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
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

/* As little as makes a root: /usr, /proc and a place to write. */
static bool
enter_root(void)
{
	static const char *const links[] = {"bin", "sbin", "lib", "lib64"};
	char target[16];
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 || mount("floor", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "size=1m") != 0
		|| chdir("/tmp") != 0 || mkdir("usr", 0755) != 0 || mkdir("proc", 0755) != 0 || mkdir("old", 0700) != 0)
		return false;
	for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
		snprintf(target, sizeof target, "usr/%s", links[i]);
		if (symlink(target, links[i]) != 0)
			return false;
	}
	return mount("/usr", "usr", NULL, MS_BIND | MS_REC, NULL) == 0
		&& mount(NULL, "usr", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV, NULL) == 0
		&& mount("proc", "proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) == 0 && syscall(SYS_pivot_root, ".", "old") == 0
		&& chdir("/") == 0 && umount2("old", MNT_DETACH) == 0;
}

/* The child: waits for its ids, says that it is there, waits for leave to go on. */
static _Noreturn void
launched(int socket)
{
	char *arguments[] = {"/bin/true", NULL};
	char byte;
	if (read(socket, &byte, 1) != 1 || setresgid(0, 0, 0) != 0 || setresuid(0, 0, 0) != 0 || !enter_root() || write(socket, "r", 1) != 1
		|| read(socket, &byte, 1) != 1)
		_exit(1);
	execve(arguments[0], arguments, environ);
	_exit(1);
}

static int
launch_floor(int count, bool life)
{
	for (int i = 0; i < count; i++) {
		struct clone_args arguments = {.exit_signal = SIGCHLD,
			.flags = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS};
		int ends[2], status;
		char byte;
		int64_t start = now();
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
			return 1;
		pid_t pid = (pid_t)syscall(SYS_clone3, &arguments, sizeof arguments);
		if (pid == 0)
			launched(ends[1]);
		close(ends[1]);
		if (pid < 0 || !map_ids(pid) || write(ends[0], "m", 1) != 1 || read(ends[0], &byte, 1) != 1)
			return 1;
		int64_t there = now();
		if (write(ends[0], "g", 1) != 1 || waitpid(pid, &status, 0) != pid || status != 0)
			return 1;
		close(ends[0]);
		printf("%lld\n", (long long)((life ? now() : there) - start));
	}
	return 0;
}

int
main(int argc, char **argv)
{
	int count = argc == 3 ? atoi(argv[2]) : 0;
	if (count <= 0)
		return 2;
	if (strcmp(argv[1], "spawn") == 0)
		return spawn_floor(count);
	if (strcmp(argv[1], "echo") == 0)
		return echo_floor(count);
	if (strcmp(argv[1], "pipe") == 0)
		return pipe_floor(count);
	if (strcmp(argv[1], "launch") == 0 || strcmp(argv[1], "life") == 0)
		return launch_floor(count, argv[1][1] == 'i');
	return 2;
}
