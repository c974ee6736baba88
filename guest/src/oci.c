/* The companion of one sandbox that an OCI runtime makes: `guest oci`.
 *
 * A runtime ends as soon as its container runs, and the server may end at any time; somebody has to stay who is told how the
 * container's first process ended. That is the companion. It has a mount namespace of its own, in which
 *   - a stage lies at a path that every id may walk: the ids of a user namespace cannot enter the server's folders;
 *   - the sandbox's volume is mounted, which so is gone with the companion, whoever kills whom;
 *   - what a runtime must not see is hidden (crun refuses hosts that mount both versions of control groups).
 * Where the server is not root it has a user namespace of its own as well: see oci_ids.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cgroup.h"
#include "oci.h"
#include "syscalls.h"
#include "volume.h"

#define BINDS_MAX 8
#define GROUPS "carrel-oci" /* as in the runtime's configuration */
#define RUNTIME_MAX 24 /* words of the runtime's own command */
#define RUN_SECONDS 60
#define DELETE_SECONDS 30

struct order {
	const char *id, *folder, *stage, *hide, *events, *layer, *ids;
	const char *lower, *first; /* of a root that may be written to: see overlay_order */
	const char *volumes, *volume;
	int64_t size;
	int64_t base; /* the host's number for the inside's id 0; negative: ids are the host's */
	const char *binds[BINDS_MAX];
	int bind_count;
	char **runtime;
	int runtime_count;
};

static bool
is_option(const char *name, const char *wanted, const char *value, const char **target)
{
	if (strcmp(name, wanted) != 0)
		return false;
	*target = value;
	return true;
}

static bool
parse(int argc, char **argv, struct order *order)
{
	const char *size = "0", *base = "-1", *bind = NULL;
	int i = 0;
	for (; i + 1 < argc && strcmp(argv[i], "--") != 0; i += 2) {
		const char *name = argv[i], *value = argv[i + 1];
		if (is_option(name, "--bind", value, &bind)) {
			if (order->bind_count == BINDS_MAX || strchr(value, '=') == NULL)
				return false;
			order->binds[order->bind_count++] = value;
		} else if (!is_option(name, "--id", value, &order->id) && !is_option(name, "--folder", value, &order->folder)
			&& !is_option(name, "--stage", value, &order->stage) && !is_option(name, "--hide", value, &order->hide)
			&& !is_option(name, "--events", value, &order->events) && !is_option(name, "--volumes", value, &order->volumes)
			&& !is_option(name, "--volume", value, &order->volume) && !is_option(name, "--size", value, &size)
			&& !is_option(name, "--base", value, &base) && !is_option(name, "--ids", value, &order->ids)
			&& !is_option(name, "--layer", value, &order->layer)
			&& !is_option(name, "--lower", value, &order->lower) && !is_option(name, "--first", value, &order->first))
			return false;
	}
	order->size = strtoll(size, NULL, 10);
	order->base = strtoll(base, NULL, 10);
	order->runtime = argv + i + 1;
	order->runtime_count = argc - i - 1;
	return order->id != NULL && order->folder != NULL && order->stage != NULL && order->runtime_count > 0
		&& order->runtime_count <= RUNTIME_MAX && (order->lower == NULL || order->volume != NULL)
		&& (order->volume == NULL || (order->volumes != NULL && volume_id_valid(order->volume)));
}

/* Whoever looks finds the whole file or none. */
static bool
write_whole(const char *path, const char *text)
{
	char next[HOST_PATH_MAX];
	snprintf(next, sizeof next, "%s.new", path);
	int file = open(next, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	bool good = file >= 0 && write_all(file, text, strlen(text));
	if (file >= 0)
		close(file);
	return good && rename(next, path) == 0;
}

static bool
failed(struct failure *failure, const char *step, const char *what)
{
	return give_up(failure, KIND_ENGINE, step, errno, "%s", what);
}

/* What the host mounted only its root may unmount; others cover it. */
static bool
hide(const struct order *order)
{
	if (order->ids != NULL)
		return mount("tmpfs", order->hide, "tmpfs", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, "size=4k") == 0;
	return umount2(order->hide, MNT_DETACH) == 0 || errno == EINVAL || errno == ENOENT;
}

/* A mount namespace of our own, without what the runtime must not see. */
static bool
withdraw(const struct order *order, struct failure *failure)
{
	if (order->ids != NULL && !oci_take_ids(order->ids, order->folder, failure))
		return false;
	if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
		return failed(failure, "mount", "a mount namespace of our own");
	if (order->hide != NULL && !hide(order))
		return failed(failure, "mount", order->hide);
	return true;
}

/* NAME=PATH: binds the path at <stage>/NAME. Nothing from the host may be a device or change ids there. */
static bool
bind_one(const struct order *order, const char *bind, struct failure *failure)
{
	char target[HOST_PATH_MAX];
	const char *source = strchr(bind, '=') + 1;
	snprintf(target, sizeof target, "%s/%.*s", order->stage, (int)(source - 1 - bind), bind);
	if (mkdir(target, 0755) != 0 || mount(source, target, NULL, MS_BIND | MS_REC, NULL) != 0)
		return failed(failure, "stage", source);
	if (k_mount_setattr(AT_FDCWD, target, K_AT_RECURSIVE, K_MOUNT_ATTR_NOSUID | K_MOUNT_ATTR_NODEV) != 0)
		return failed(failure, "stage", target);
	return true;
}

/* Mounts the volume, all of it as /workspace or with a root that may be written to, and puts that on the stage. */
static bool
stage_volume(const struct order *order, int tree, struct failure *failure)
{
	char target[HOST_PATH_MAX];
	if (!volume_divide(tree, order->lower != NULL, order->volume, failure)
		|| (order->base >= 0 && !volume_map_owners(tree, order->base, failure)))
		return false;
	if (order->lower != NULL) {
		struct overlay_order overlay = {.id = order->id, .stage = order->stage, .lower = order->lower, .first = order->first,
			.base = order->base};
		return oci_overlay(&overlay, tree, failure);
	}
	snprintf(target, sizeof target, "%s/workspace", order->stage);
	if (mkdir(target, 0755) != 0 || k_move_mount(tree, "", AT_FDCWD, target, K_MOVE_MOUNT_F_EMPTY_PATH) != 0)
		return failed(failure, "volume", target);
	return true;
}

/* The same, and says in <folder>/volume how large it is. */
static bool
mount_volume(const struct order *order, struct failure *failure)
{
	char target[HOST_PATH_MAX], size[32];
	struct stat status;
	int folder = volume_folder(order->volumes, failure);
	int image = folder < 0 ? -1 : volume_open(folder, order->volume, order->size, failure);
	if (image < 0)
		return false;
	int tree = fstat(image, &status) == 0 ? volume_attach(image, failure) : -1;
	if (tree < 0)
		return false;
	close(image);
	close(folder);
	bool staged = stage_volume(order, tree, failure);
	close(tree);
	if (!staged)
		return false;
	snprintf(size, sizeof size, "%lld\n", (long long)status.st_size);
	snprintf(target, sizeof target, "%s/volume", order->folder);
	return write_whole(target, size) || failed(failure, "volume", target);
}

/* Puts <stage>/NAME.top over <stage>/NAME: an image gets a file that it does not have, and is not written to. */
static bool
lay(const struct order *order, struct failure *failure)
{
	char target[HOST_PATH_MAX], lower[2 * HOST_PATH_MAX + 16];
	snprintf(target, sizeof target, "%s/%s", order->stage, order->layer);
	snprintf(lower, sizeof lower, "lowerdir=%s.top:%s", target, target);
	return mount("overlay", target, "overlay", MS_RDONLY | MS_NOSUID | MS_NODEV, lower) == 0
		|| failed(failure, "stage", target);
}

static bool
build_stage(const struct order *order, struct failure *failure)
{
	char guest[HOST_PATH_MAX];
	snprintf(guest, sizeof guest, "%s/guest", order->folder);
	if (mkdir(order->stage, 0711) != 0 && errno != EEXIST)
		return failed(failure, "stage", order->stage);
	if (mount("tmpfs", order->stage, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0711,size=64k,nr_inodes=32") != 0)
		return failed(failure, "stage", order->stage);
	for (int i = 0; i < order->bind_count; i++)
		if (!bind_one(order, order->binds[i], failure))
			return false;
	return oci_share_folder(guest, failure) && (order->layer == NULL || lay(order, failure))
		&& (order->volume == NULL || mount_volume(order, failure));
}

/* Runs the runtime with further words and returns its wait status. What it says goes where our own words go. A runtime that
 * removes a container waits for the ends of processes that are our children by then: `reap` them all meanwhile. */
static int
run_runtime(const struct order *order, char *const *more, unsigned seconds, bool reap)
{
	char *words[RUNTIME_MAX + 12];
	int count = 0, status = -1;
	for (; count < order->runtime_count; count++)
		words[count] = order->runtime[count];
	for (; *more != NULL && count < RUNTIME_MAX + 11; more++)
		words[count++] = *more;
	words[count] = NULL;
	pid_t child = fork();
	if (child == 0) {
		alarm(seconds); /* it outlives the execve */
		execv(words[0], words);
		_exit(127);
	}
	int any;
	pid_t ended = 0;
	while (child > 0 && ended != child && (ended >= 0 || errno == EINTR)) {
		ended = waitpid(reap ? -1 : child, &any, 0);
		if (ended == child)
			status = any;
	}
	return status;
}

/* How many processes the kernel killed in this sandbox for want of memory. The group is gone when the runtime cleaned up. */
static long
oom_kills(const char *events)
{
	char line[128];
	long count = 0;
	FILE *file = events == NULL ? NULL : fopen(events, "re");
	while (file != NULL && fgets(line, sizeof line, file) != NULL)
		if (sscanf(line, "oom_kill %ld", &count) == 1)
			break;
	if (file != NULL)
		fclose(file);
	return count;
}

static pid_t
read_pid(const char *path)
{
	int pid = -1;
	FILE *file = fopen(path, "re");
	if (file != NULL && fscanf(file, "%d", &pid) != 1)
		pid = -1;
	if (file != NULL)
		fclose(file);
	return pid;
}

/* Waits for the container's first process, which became our child when its runtime ended, and writes down how it ended. */
static void
await_end(const struct order *order, pid_t first)
{
	char text[96], path[HOST_PATH_MAX];
	int status = 0;
	pid_t ended;
	while ((ended = waitpid(-1, &status, 0)) != first)
		if (ended < 0 && errno != EINTR)
			return;
	int length = WIFSIGNALED(status) ? snprintf(text, sizeof text, "signal=%d\n", WTERMSIG(status))
					 : snprintf(text, sizeof text, "code=%d\n", WEXITSTATUS(status));
	snprintf(text + length, sizeof text - (size_t)length, "oom-kills=%ld\n", oom_kills(order->events));
	snprintf(path, sizeof path, "%s/end.properties", order->folder);
	write_whole(path, text);
}

/* The companion's whole life. Whoever started us waits on `started` for one byte: it runs, or it does not. */
static _Noreturn void
accompany(const struct order *order, int started)
{
	static struct failure failure;
	char pid_file[HOST_PATH_MAX];
	setsid();
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	snprintf(pid_file, sizeof pid_file, "%s/pid", order->folder);
	if (!withdraw(order, &failure) || !build_stage(order, &failure)) {
		fprintf(stderr, "%s\t%s: %s\n", failure_kind_name(failure.kind), failure.step, failure.message);
		_exit(1);
	}
	char *run[] = {"run", "--detach", "--pid-file", pid_file, "--bundle", (char *)order->folder, (char *)order->id, NULL};
	char *delete[] = {"delete", "--force", (char *)order->id, NULL};
	int status = run_runtime(order, run, RUN_SECONDS, false);
	pid_t first = status == 0 ? read_pid(pid_file) : -1;
	/* The runtime has made the group around the sandbox's too, if it was the first. Who is not root gets no groups. */
	if (first > 0 && order->ids == NULL)
		cgroup_bound_all("/proc/self/mountinfo", GROUPS);
	if (first > 0 && write_all(started, "r", 1)) {
		close(started);
		await_end(order, first);
	} else
		fprintf(stderr, "engine\truntime: it ended with status %d\n", status);
	run_runtime(order, delete, DELETE_SECONDS, true);
	oci_leave_ids();
	_exit(0);
}

static int
run_main(const struct order *order)
{
	int ends[2];
	char byte;
	if (pipe2(ends, O_CLOEXEC) != 0)
		return 1;
	pid_t child = fork();
	if (child == 0) {
		close(ends[0]);
		accompany(order, ends[1]);
	}
	close(ends[1]);
	if (child > 0 && read(ends[0], &byte, 1) == 1)
		return 0;
	if (child > 0)
		waitpid(child, NULL, 0); /* it cleans up after itself */
	return 1;
}

int
oci_main(int argc, char **argv)
{
	struct order order = {0};
	struct failure failure = {0};
	if (argc == 2 && strcmp(argv[1], "ids") == 0)
		return oci_ids_main();
	if (argc < 2 || !parse(argc - 2, argv + 2, &order))
		return 2;
	if (strcmp(argv[1], "run") == 0)
		return run_main(&order);
	if (strcmp(argv[1], "delete") != 0)
		return 2;
	if (!withdraw(&order, &failure)) {
		fprintf(stderr, "%s\t%s: %s\n", failure_kind_name(failure.kind), failure.step, failure.message);
		return 1;
	}
	char *delete[] = {"delete", "--force", (char *)order.id, NULL};
	return run_runtime(&order, delete, DELETE_SECONDS, true) == 0 ? 0 : 1;
}
