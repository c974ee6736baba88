/* `guest volume`: what the server asks of volumes without a spawn server. */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "oci.h"
#include "syscalls.h"
#include "volume.h"

/* guest volume copy FOLDER FROM TO [PID PLACE]: the process in whose view FROM is mounted, and where, without the first /. */
static bool
copy(int argc, char **argv, struct failure *failure)
{
	struct volume_copy order = {0};
	memcpy(order.folder, argv[0], strlen(argv[0]) + 1);
	memcpy(order.from, argv[1], VOLUME_ID_MAX);
	memcpy(order.to, argv[2], VOLUME_ID_MAX);
	if (argc == 5) {
		order.pid = atoi(argv[3]);
		order.place = argv[4];
	}
	return volume_copy(&order, failure);
}

bool
map_ids_of(pid_t process, int64_t base)
{
	static const char *const files[] = {"uid_map", "gid_map"};
	char path[64], map[64];
	bool good = true;
	snprintf(map, sizeof map, "0 %lld 65536", (long long)base);
	for (int i = 0; good && i < 2; i++) {
		snprintf(path, sizeof path, "/proc/%d/%s", (int)process, files[i]);
		int file = open(path, O_WRONLY | O_CLOEXEC);
		good = file >= 0 && write_all(file, map, strlen(map));
		if (file >= 0)
			close(file);
	}
	return good;
}

/* A user namespace whose only use is to name a mapping of ids. */
static int
open_mapping(int64_t base, struct failure *failure)
{
	char path[64];
	int ends[2], namespace = -1;
	if (pipe2(ends, O_CLOEXEC) != 0)
		return give_up(failure, KIND_ENGINE, "volume", errno, "pipe") ? 0 : -1;
	pid_t child = (pid_t)syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
	if (child == 0) {
		char go;
		close(ends[1]);
		_exit(read(ends[0], &go, 1) < 0);
	}
	bool good = child > 0 && map_ids_of(child, base);
	snprintf(path, sizeof path, "/proc/%d/ns/user", (int)child);
	if (good)
		namespace = open(path, O_RDONLY | O_CLOEXEC);
	if (namespace < 0)
		give_up(failure, KIND_ENGINE, "volume", errno, "a mapping of ids");
	close(ends[0]);
	close(ends[1]);
	if (child > 0)
		waitpid(child, NULL, 0);
	return namespace;
}

bool
volume_map_owners(int tree, int64_t base, struct failure *failure)
{
	int namespace = open_mapping(base, failure);
	if (namespace < 0)
		return false;
	struct k_mount_attr attributes = {.set = K_MOUNT_ATTR_IDMAP, .userns = (uint64_t)namespace};
	bool good = syscall(NR_MOUNT_SETATTR, tree, "", AT_EMPTY_PATH, &attributes, sizeof attributes) == 0
		|| give_up(failure, KIND_ENGINE, "volume", errno, "mapping the volume's owners to the sandbox's");
	close(namespace);
	return good;
}

/* Puts the mount where a process sees its /workspace: the sandbox's root has nothing there yet that code of it has made. */
static bool
move_into(int tree, int pid, struct failure *failure)
{
	char path[32];
	snprintf(path, sizeof path, "/proc/%d/ns/mnt", pid);
	int view = open(path, O_RDONLY | O_CLOEXEC);
	bool good = view >= 0 && setns(view, CLONE_NEWNS) == 0
		&& k_move_mount(tree, "", AT_FDCWD, "/workspace", K_MOVE_MOUNT_F_EMPTY_PATH) == 0;
	if (!good)
		give_up(failure, KIND_ENGINE, "volume", errno, "putting it into the sandbox");
	if (view >= 0)
		close(view);
	return good;
}

/* guest volume place FOLDER VOLUME SIZE PID BASE: mounts it, made when there is none, as /workspace of a process, whose ids
 * begin at the host's BASE, and prints its size. */
static bool
place(char **argv, struct failure *failure)
{
	struct stat status;
	int folder = volume_folder(argv[0], failure);
	int image = folder < 0 ? -1 : volume_open(folder, argv[1], strtoll(argv[2], NULL, 10), failure);
	if (image < 0)
		return false;
	int tree = fstat(image, &status) == 0 ? volume_attach(image, failure) : -1;
	close(image);
	close(folder);
	if (tree < 0 || !volume_divide(tree, false, argv[1], failure) || !volume_map_owners(tree, strtoll(argv[4], NULL, 10), failure) || !move_into(tree, atoi(argv[3]), failure))
		return false;
	printf("%lld\n", (long long)status.st_size);
	return fflush(stdout) == 0;
}

/* guest volume lend FOLDER VOLUME: mounts one that nobody has, for reading, in no mount namespace at all; prints the path under
 * which whoever may look at us finds its files, and keeps them there until standard input ends. */
static bool
lend(char **argv, struct failure *failure)
{
	char end;
	int folder = volume_folder(argv[0], failure);
	int image = folder < 0 ? -1 : volume_open(folder, argv[1], VOLUME_LEAST, failure);
	if (image < 0)
		return false;
	int tree = volume_attach(image, failure);
	close(image);
	close(folder);
	if (tree < 0 || !volume_divide(tree, true, argv[1], failure))
		return false;
	if (k_mount_setattr(tree, "", AT_EMPTY_PATH, K_MOUNT_ATTR_RDONLY | K_MOUNT_ATTR_NOEXEC) != 0)
		return give_up(failure, KIND_ENGINE, "volume", errno, "making it read-only");
	printf("/proc/%d/fd/%d/%s\n", (int)getpid(), tree, VOLUME_UPPER);
	if (fflush(stdout) != 0)
		return give_up(failure, KIND_ENGINE, "volume", errno, "telling where it is");
	while (read(0, &end, 1) > 0)
		continue;
	return true;
}

int
volume_main(int argc, char **argv)
{
	struct failure failure = {0};
	bool copies = (argc == 5 || argc == 7) && strcmp(argv[1], "copy") == 0 && volume_id_valid(argv[4]);
	bool places = argc == 7 && strcmp(argv[1], "place") == 0;
	bool lends = argc == 4 && strcmp(argv[1], "lend") == 0;
	if ((!copies && !places && !lends) || !volume_id_valid(argv[3]) || strlen(argv[2]) >= HOST_PATH_MAX)
		return 2;
	if (copies ? copy(argc - 2, argv + 2, &failure) : lends ? lend(argv + 2, &failure) : place(argv + 2, &failure))
		return 0;
	fprintf(stderr, "%s\t%s: %s\n", failure_kind_name(failure.kind), failure.step, failure.message);
	return 1;
}
