/* The floors of the benchmark: what the kernel alone costs. Prints one duration in nanoseconds a line.
 *   floors spawn N    posix_spawn of /bin/true and wait
 *   floors echo N     one byte to another process over a Unix socket and back
 *   floors pipe N     N MiB through a pipe to another process; one line: the whole time */
#define _GNU_SOURCE
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
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
	return 2;
}
