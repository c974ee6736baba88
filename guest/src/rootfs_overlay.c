/* A root that its sandbox may write to. The image below is not touched: changes are in the upper layer, a folder of the
 * sandbox's own volume that nothing inside has another way to, so its size is the volume's and its copies are the volume's.
 *
 * The overlay is mounted by the sandbox's own root and not by the host's: what the kernel does to the layers on behalf of
 * those inside, it does with no more rights than they could have. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "spawn.h"
#include "syscalls.h"
#include "volume.h"

#define SMALL (64 << 10)

static int
failed(struct failure *failure, const char *what)
{
	give_up(failure, KIND_ENGINE, "rootfs", errno, "%s", what);
	return -1;
}

static int
mount_overlay(const char *lower, struct failure *failure)
{
	const char *const options[][2] = {{"source", "carrel"}, {"lowerdir", lower}, {"upperdir", "volume/" VOLUME_UPPER},
		{"workdir", "volume/" VOLUME_WORK}, {"index", "off"}, {"metacopy", "off"}};
	int fs = (int)syscall(NR_FSOPEN, "overlay", 1 /* FSOPEN_CLOEXEC */);
	if (fs < 0) {
		give_up(failure, KIND_UNSUPPORTED, "rootfs", errno, "this kernel lets no sandbox mount an overlay (5.19 or later does)");
		return -1;
	}
	/* The attributes that the layers need are then ordinary ones: those inside may change them, and change but their own view. */
	bool good = syscall(NR_FSCONFIG, fs, K_FSCONFIG_SET_FLAG, "userxattr", NULL, 0) == 0;
	for (size_t i = 0; good && i < sizeof options / sizeof *options; i++)
		good = syscall(NR_FSCONFIG, fs, K_FSCONFIG_SET_STRING, options[i][0], options[i][1], 0) == 0;
	good = good && syscall(NR_FSCONFIG, fs, K_FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0;
	int mount = good ? (int)syscall(NR_FSMOUNT, fs, 1 /* FSMOUNT_CLOEXEC */, K_MOUNT_ATTR_NOSUID | K_MOUNT_ATTR_NODEV) : -1;
	if (mount < 0)
		failed(failure, "mounting the overlay");
	close(fs);
	return mount;
}

/* A folder of this name, whatever the image or somebody inside has put there: what is in the way goes. */
static bool
make_place(int folder, const char *name)
{
	struct stat status;
	if (mkdirat(folder, name, 0755) == 0)
		return true;
	if (errno != EEXIST || fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) != 0)
		return false;
	return S_ISDIR(status.st_mode) || (unlinkat(folder, name, 0) == 0 && mkdirat(folder, name, 0755) == 0);
}

static bool
make_places(int root)
{
	static const char *const names[] = {"proc", "dev", "tmp", "run", "workspace", "opt"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!make_place(root, names[i]))
			return false;
	int opt = openat(root, "opt", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	bool good = opt >= 0 && make_place(opt, "carrel");
	if (opt >= 0)
		close(opt);
	return good;
}

/* What lies in memory, and /workspace from its place in the volume. */
static bool
cover(int volume, struct failure *failure)
{
	if (!rootfs_mount_tmpfs("dev", SMALL, "mode=0755", 0, failure) || !rootfs_mount_tmpfs("run", 1 << 20, "mode=0755", 0, failure))
		return false;
	if (mkdir("run/carrel", 0755) != 0)
		return failed(failure, "/run/carrel") == 0;
	if (!rootfs_mount_tmpfs("run/carrel", SMALL, "mode=0755", 0, failure))
		return false;
	int workspace = k_open_tree(volume, VOLUME_WORKSPACE, O_CLOEXEC | AT_SYMLINK_NOFOLLOW | K_OPEN_TREE_CLONE);
	bool good = workspace >= 0 && k_move_mount(workspace, "", AT_FDCWD, "workspace", K_MOVE_MOUNT_F_EMPTY_PATH) == 0;
	if (!good)
		failed(failure, "/workspace");
	if (workspace >= 0)
		close(workspace);
	return good;
}

int
rootfs_lay(const char *lower, struct failure *failure)
{
	int root = mount_overlay(lower, failure);
	if (root < 0 || make_places(root))
		return root;
	failed(failure, "making places in the overlay");
	close(root);
	return -1;
}

int
rootfs_overlay(struct plan *plan, struct failure *failure)
{
	if (mkdir("lower", 0755) != 0 || mkdir("volume", 0755) != 0 || mkdir("root", 0755) != 0)
		return failed(failure, "making places");
	if (!volume_take_divided(plan, failure))
		return -1;
	int volume = open("volume", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int root = volume < 0 ? failed(failure, "the volume") : rootfs_lay("lower", failure);
	if (root < 0)
		return -1;
	if (k_move_mount(root, "", AT_FDCWD, "root", K_MOVE_MOUNT_F_EMPTY_PATH) != 0 || fchdir(root) != 0)
		return failed(failure, "placing the overlay");
	if (!cover(volume, failure))
		return -1;
	close(volume);
	measure_missing(&plan->measures, MEASURE_READ_ONLY_ROOT,
		"overlay on the image, nosuid, nodev; changes are in the sandbox's volume");
	return root;
}
