/* A root that its sandbox may write to, for a runtime: an overlay of the image and of what the sandbox's volume holds of
 * changes, on the stage before the runtime begins. As under the launcher it is mounted by root of the sandbox's own ids, not by
 * the host's: by a process that exists for this alone. The runtime makes the sandbox's user namespace later, with the same ids,
 * and to the kernel ids are all that counts. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "oci.h"
#include "passing.h"
#include "syscalls.h"
#include "volume.h"

/* Where things are while the overlay is made, on the stage. */
#define LOWER "lower"
#define VOLUME "volume"
#define ROOT "root"
#define FIRST "first" /* a folder that lies over the image and below the changes; not always there */

static bool
failed(struct failure *failure, const char *what)
{
	return give_up(failure, KIND_ENGINE, "rootfs", errno, "%s", what);
}

static bool
put(int tree, const char *place, struct failure *failure)
{
	bool good = mkdir(place, 0755) == 0 && k_move_mount(tree, "", AT_FDCWD, place, K_MOVE_MOUNT_F_EMPTY_PATH) == 0;
	return good || failed(failure, place);
}

/* Puts a folder of the host at ./place, for nobody to change, with owners as inside. */
static bool
put_folder(const char *path, const char *place, int64_t base, struct failure *failure)
{
	int tree = k_open_tree(AT_FDCWD, path, O_CLOEXEC | AT_SYMLINK_NOFOLLOW | K_OPEN_TREE_CLONE);
	if (tree < 0)
		return give_up(failure, KIND_IMAGE, "image", errno, "%s", path);
	bool good = k_mount_setattr(tree, "", AT_EMPTY_PATH, K_MOUNT_ATTR_RDONLY | K_MOUNT_ATTR_NOSUID | K_MOUNT_ATTR_NODEV) == 0
		|| failed(failure, path);
	if (good && base >= 0 && !volume_map_owners(tree, base, failure))
		good = give_up(failure, KIND_UNSUPPORTED, "rootfs", failure->error, "the file system that holds the images cannot map their owners");
	good = good && put(tree, place, failure);
	close(tree);
	return good;
}

static bool
bind_workspace(struct failure *failure)
{
	int workspace = k_open_tree(AT_FDCWD, VOLUME "/" VOLUME_WORKSPACE, O_CLOEXEC | AT_SYMLINK_NOFOLLOW | K_OPEN_TREE_CLONE);
	if (workspace < 0)
		return failed(failure, "/workspace");
	bool good = put(workspace, "workspace", failure);
	close(workspace);
	return good;
}

struct result {
	bool good;
	struct failure failure;
};

/* The whole life of the process that mounts: in the stage's folder, in namespaces of its own whose maps are about to be set. */
static _Noreturn void
mounter(const char *lower, int socket)
{
	static struct result result;
	char go;
	if (read(socket, &go, 1) != 1)
		_exit(1);
	int root = -1;
	if (setgroups(0, NULL) != 0 || setresgid(0, 0, 0) != 0 || setresuid(0, 0, 0) != 0)
		failed(&result.failure, "becoming root of the sandbox's ids");
	else
		root = rootfs_lay(lower, &result.failure);
	result.good = root >= 0;
	_exit(pass_with(socket, &result, sizeof result, root) ? 0 : 1);
}

static int
lay_mapped(const char *lower, int64_t base, struct failure *failure)
{
	struct result result;
	int ends[2], root = -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
		return failed(failure, "socket pair") ? 0 : -1;
	pid_t child = (pid_t)syscall(SYS_clone, CLONE_NEWUSER | CLONE_NEWNS | SIGCHLD, 0, 0, 0, 0);
	if (child == 0) {
		close(ends[1]);
		mounter(lower, ends[0]);
	}
	close(ends[0]);
	bool good = child > 0 ? map_ids_of(child, base) : false;
	good = (good && write(ends[1], "g", 1) == 1) || failed(failure, "a process with the sandbox's ids");
	if (good && !take_with(ends[1], &result, sizeof result, &root))
		good = give_up(failure, KIND_ENGINE, "rootfs", 0, "what mounts it ended without an answer");
	else if (good && !result.good)
		*failure = result.failure;
	close(ends[1]);
	while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	return root;
}

/* Covers a file of the root with one of the stage's, which is small and the sandbox's own. No link is followed to it. */
static bool
cover_file(int root, const char *name, const char *text, int64_t base, struct failure *failure)
{
	char target[32];
	struct stat status;
	snprintf(target, sizeof target, "etc/%s", name);
	int place = k_openat2(root, target, O_PATH | O_NOFOLLOW | O_CLOEXEC, K_RESOLVE_BENEATH | K_RESOLVE_NO_SYMLINKS);
	if (place < 0 || fstat(place, &status) != 0 || !S_ISREG(status.st_mode)) {
		if (place >= 0)
			close(place);
		return true;
	}
	const uid_t owner = base < 0 ? 0 : (uid_t)base;
	int file = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	bool good = file >= 0 && write_all(file, text, strlen(text)) && fchmod(file, 0644) == 0 && fchown(file, owner, owner) == 0;
	int tree = good ? k_open_tree(AT_FDCWD, name, O_CLOEXEC | K_OPEN_TREE_CLONE) : -1;
	good = tree >= 0 && k_move_mount(tree, "", place, "", K_MOVE_MOUNT_F_EMPTY_PATH | K_MOVE_MOUNT_T_EMPTY_PATH) == 0;
	if (!good)
		failed(failure, target);
	if (tree >= 0)
		close(tree);
	if (file >= 0)
		close(file);
	close(place);
	return good;
}

static bool
cover_names(const char *id, int64_t base, struct failure *failure)
{
	char text[128];
	const char *name;
	bool good = true;
	int root = open(ROOT, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return failed(failure, ROOT);
	for (int i = 0; good && (name = rootfs_name(i, id, text, sizeof text)) != NULL; i++)
		good = cover_file(root, name, text, base, failure);
	close(root);
	return good;
}

bool
oci_overlay(const struct overlay_order *order, int volume, struct failure *failure)
{
	if (chdir(order->stage) != 0)
		return failed(failure, order->stage);
	if (!put(volume, VOLUME, failure) || !put_folder(order->lower, LOWER, order->base, failure) || !bind_workspace(failure))
		return false;
	if (order->first != NULL && !put_folder(order->first, FIRST, order->base, failure))
		return false;
	const char *lower = order->first != NULL ? FIRST ":" LOWER : LOWER;
	int root = order->base < 0 ? rootfs_lay(lower, failure) : lay_mapped(lower, order->base, failure);
	if (root < 0)
		return false;
	bool good = put(root, ROOT, failure) && cover_names(order->id, order->base, failure);
	close(root);
	/* The overlay has its layers by itself; nobody needs another way to them. */
	if (good && (umount2(VOLUME, MNT_DETACH) != 0 || umount2(LOWER, MNT_DETACH) != 0))
		good = failed(failure, "letting go of the layers");
	if (good && order->first != NULL && umount2(FIRST, MNT_DETACH) != 0)
		good = failed(failure, "letting go of the layers");
	return (chdir("/") == 0 || failed(failure, "/")) && good;
}
