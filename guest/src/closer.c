#include "closer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "changes.h"
#include "launch.h"
#include "passing.h"
#include "spawn.h"
#include "syscalls.h"

#define TOGETHER 64
#define SENDER_MS 2
/* Most workspaces have no more directories. Marks that are gone when the descriptor is closed need not be waited for there,
 * so that many descriptors take no longer than one. */
#define WATCHES 64

static int
receive(int socket, int flags)
{
	char byte;
	int fd;
	return take_at(socket, &byte, 1, &fd, flags) ? fd : -1;
}

static _Noreturn void
close_for_others(int given)
{
	int fds[TOGETHER], count;
	launch_forget_arguments("closer");
	if (dup3(given, 3, O_CLOEXEC) < 0 || k_close_range(4, ~0u) != 0)
		_exit(2);
	/* When the server ends there is no more to come. */
	while ((fds[0] = receive(3, 0)) >= 0) {
		for (count = 1; count < TOGETHER && (fds[count] = receive(3, MSG_DONTWAIT)) >= 0; count++)
			continue;
		/* Until the sender has let go of them too: whoever closes last waits. */
		poll(NULL, 0, SENDER_MS);
		for (int i = 0; i < count; i++)
			for (int watch = 1; watch <= WATCHES; watch++)
				inotify_rm_watch(fds[i], watch);
		for (int i = 0; i < count; i++)
			close(fds[i]);
	}
	_exit(0);
}

static bool
start(struct closers *closers)
{
	int ends[2];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
		return false;
	for (int i = 0; i < CLOSERS; i++) {
		pid_t pid = fork();
		if (pid == 0)
			close_for_others(ends[1]);
		if (pid < 0)
			break;
		closers->pids[i] = pid;
	}
	close(ends[1]);
	closers->socket = ends[0];
	if (closers->pids[0] == 0)
		close(ends[0]);
	return closers->pids[0] > 0;
}

static void
stop(struct closers *closers)
{
	close(closers->socket);
	for (int i = 0; i < CLOSERS; i++)
		if (closers->pids[i] > 0 && kill(closers->pids[i], SIGKILL) == 0)
			waitpid(closers->pids[i], NULL, 0);
	*closers = (struct closers){0};
}

static bool
is_inotify(int fd)
{
	static const char kind[] = "anon_inode:inotify";
	char path[32], target[sizeof kind];
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	ssize_t length = readlink(path, target, sizeof target);
	return length == (ssize_t)sizeof kind - 1 && memcmp(target, kind, sizeof kind - 1) == 0;
}

void
keep_events(struct kept *kept, int pidfd)
{
	/* Not allowed for an ordinary user, nor by an old kernel. */
	int fd = kept->events >= 0 ? -1 : k_pidfd_getfd(pidfd, CHANGES_FD);
	if (fd >= 0 && is_inotify(fd))
		kept->events = fd;
	else if (fd >= 0)
		close(fd);
}

/* Whether a file system is that of an image: what lies at a path inside is not for us to believe. */
static bool
is_on(const struct stat *status, const char *image)
{
	char path[64], backing[HOST_PATH_MAX + VOLUME_ID_MAX + 8];
	snprintf(path, sizeof path, "/sys/dev/block/%u:%u/loop/backing_file", major(status->st_dev), minor(status->st_dev));
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t length = fd < 0 ? -1 : read(fd, backing, sizeof backing);
	if (fd >= 0)
		close(fd);
	return length == (ssize_t)strlen(image) + 1 && memcmp(backing, image, strlen(image)) == 0;
}

bool
keep_volume(struct kept *kept, pid_t pid, const char *image)
{
	char path[64];
	struct stat status;
	snprintf(path, sizeof path, "/proc/%d/root", (int)pid);
	int root = kept->volume >= 0 ? -1 : open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return false;
	int fd = k_openat2(root, "workspace", O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW, K_RESOLVE_BENEATH | K_RESOLVE_NO_SYMLINKS);
	close(root);
	if (fd < 0)
		return false;
	if (fstat(fd, &status) != 0 || !is_on(&status, image)) {
		close(fd);
		return false;
	}
	kept->volume = fd;
	return true;
}

void
give_away_one(struct closers *closers, int *fd)
{
	if (*fd < 0)
		return;
	bool ready = closers->pids[0] > 0 || start(closers);
	/* When they are lost the next one starts others. When they have too much to do we close it ourselves. */
	if (ready && !pass_at(closers->socket, "", 1, *fd, MSG_DONTWAIT) && (errno == EPIPE || errno == ECONNRESET))
		stop(closers);
	close(*fd);
	*fd = -1;
}

void
give_away(struct closers *closers, struct kept *kept)
{
	give_away_one(closers, &kept->events);
	give_away_one(closers, &kept->volume);
}
