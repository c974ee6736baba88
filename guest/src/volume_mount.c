/* From an image to a sandbox's /workspace.
 *
 * A process of its own, the mounter, attaches the image while the child becomes a sandbox: it may have to wait for a loop
 * device that is still letting go, to replay a journal, or to run mke2fs, and the server never waits. What it makes is held
 * by descriptors alone (the loop device clears itself with its last user, the mount is attached to nothing), so whoever dies
 * at whatever moment leaves nothing behind. The mount is known to no mount namespace but the sandbox's. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/loop.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launch.h"
#include "passing.h"
#include "syscalls.h"
#include "volume.h"
#include "volume_image.h"

#define LOOP_MAJOR 7
#define LOOP_ATTEMPTS 512 /* others take free devices between our look and our grasp */

/* What the mounter answers; the mount comes with it. */
struct answer {
	int64_t size;
	bool mounted;
	char reason[DETAIL_MAX];
};

/* What a mounter tells when it fails. */
static struct report failed;

/* The node of a loop device. Where /dev is not the kernel's own, a new device has none yet. */
static int
open_loop(int number)
{
	char path[32];
	snprintf(path, sizeof path, "/dev/loop%d", number);
	int device = open(path, O_RDWR | O_CLOEXEC);
	if (device < 0 && errno == ENOENT && mknod(path, S_IFBLK | 0600, makedev(LOOP_MAJOR, (unsigned)number)) == 0)
		device = open(path, O_RDWR | O_CLOEXEC);
	return device;
}

/* A loop device on the image that clears itself when nobody has it open or mounted. */
static int
attach_loop(int image, int *number, struct failure *failure)
{
	int error = 0;
	int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
	if (control < 0) {
		give_up(failure, KIND_ENGINE, "loop", errno, "/dev/loop-control (the kernel module loop)");
		return -1;
	}
	for (int i = 0; i < LOOP_ATTEMPTS; i++) {
		struct loop_config config = {.fd = (uint32_t)image, .block_size = VOLUME_BLOCK};
		config.info.lo_flags = LO_FLAGS_AUTOCLEAR;
		*number = ioctl(control, LOOP_CTL_GET_FREE);
		int device = *number < 0 ? -1 : open_loop(*number);
		if (device >= 0 && ioctl(device, LOOP_CONFIGURE, &config) == 0) {
			close(control);
			return device;
		}
		error = errno;
		if (device >= 0)
			close(device);
		if (error != EBUSY && error != ENXIO)
			break;
	}
	close(control);
	give_up(failure, KIND_ENGINE, "loop", error, "a loop device");
	return -1;
}

static int
mount_ext4(int number, struct failure *failure)
{
	/* A broken image stops its own sandbox's writes instead of making it worse; what is deleted inside is given back. */
	static const char *const flags[] = {"discard", "noinit_itable"};
	char source[32];
	snprintf(source, sizeof source, "/dev/loop%d", number);
	int fs = (int)syscall(NR_FSOPEN, "ext4", 1 /* FSOPEN_CLOEXEC */);
	bool good = fs >= 0 && syscall(NR_FSCONFIG, fs, K_FSCONFIG_SET_STRING, "source", source, 0) == 0
		&& syscall(NR_FSCONFIG, fs, K_FSCONFIG_SET_STRING, "errors", "remount-ro", 0) == 0;
	for (size_t i = 0; good && i < sizeof flags / sizeof *flags; i++)
		good = syscall(NR_FSCONFIG, fs, K_FSCONFIG_SET_FLAG, flags[i], NULL, 0) == 0;
	good = good && syscall(NR_FSCONFIG, fs, K_FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0;
	int mount = !good ? -1
			  : (int)syscall(NR_FSMOUNT, fs, 1 /* FSMOUNT_CLOEXEC */,
				    K_MOUNT_ATTR_NOSUID | K_MOUNT_ATTR_NODEV | K_MOUNT_ATTR_NOATIME);
	if (mount < 0)
		give_up(failure, KIND_ENGINE, "ext4", errno, "mounting");
	if (fs >= 0)
		close(fs);
	return mount;
}

int
volume_attach(int image, struct failure *failure)
{
	int number;
	int device = attach_loop(image, &number, failure);
	if (device < 0)
		return -1;
	int mount = mount_ext4(number, failure);
	close(device); /* the mount has it now */
	return mount;
}

/* Opens the volume, or makes it, and mounts it. What is asked of an operator is said without paths of the host. */
static int
make_mount(const struct volume_order *order, int64_t *size, struct failure *failure)
{
	struct stat status;
	int folder = volume_folder(order->folder, failure);
	if (folder < 0)
		return -1;
	int image = order->id[0] != 0 ? volume_open(folder, order->id, order->size, failure) : volume_make(folder, order->size, failure);
	if (image < 0)
		return -1;
	if (fstat(image, &status) != 0) {
		give_up(failure, KIND_ENGINE, "volume", errno, "the volume %s", order->id);
		return -1;
	}
	*size = status.st_size;
	int mount = volume_attach(image, failure);
	if (mount >= 0 && !volume_divide(mount, order->lower[0] != 0, order->id, failure)) {
		close(mount);
		mount = -1;
	}
	if (mount < 0 && strcmp(failure->step, "ext4") == 0 && order->id[0] != 0)
		give_up(failure, KIND_ENGINE, "volume", failure->error,
			"the volume %s does not mount and was left as it is; e2fsck on %s.img in the volumes' folder may mend it", order->id,
			order->id);
	close(image);
	return mount;
}

static bool
map_owners(int mount, int namespace, struct failure *failure)
{
	struct k_mount_attr attributes = {.set = K_MOUNT_ATTR_IDMAP, .userns = (uint64_t)namespace};
	return syscall(NR_MOUNT_SETATTR, mount, "", AT_EMPTY_PATH, &attributes, sizeof attributes) == 0
		|| give_up(failure, KIND_ENGINE, "volume", errno, "mapping the volume's owners to the sandbox's");
}

/* The image as the sandbox's root is to see it: what belongs to root on the host belongs to root inside. */
static int
open_lower(const char *image, int namespace, struct failure *failure)
{
	const uint64_t flags = K_MOUNT_ATTR_IDMAP | K_MOUNT_ATTR_RDONLY | K_MOUNT_ATTR_NOSUID | K_MOUNT_ATTR_NODEV;
	struct k_mount_attr attributes = {.set = flags, .userns = (uint64_t)namespace};
	int tree = k_open_tree(AT_FDCWD, image, O_CLOEXEC | AT_SYMLINK_NOFOLLOW | K_OPEN_TREE_CLONE);
	if (tree < 0) {
		give_up(failure, KIND_IMAGE, "image", errno, "%s", image);
	} else if (syscall(NR_MOUNT_SETATTR, tree, "", AT_EMPTY_PATH, &attributes, sizeof attributes) != 0) {
		give_up(failure, KIND_UNSUPPORTED, "rootfs", errno, "the file system that holds the images cannot map their owners");
		close(tree);
		tree = -1;
	}
	return tree;
}

/* From then on the other descriptors of the server are not open here: the socket is 3, the report 4. */
static void
keep_only(int socket, int report)
{
	socket = fcntl(socket, F_DUPFD_CLOEXEC, 5);
	report = fcntl(report, F_DUPFD_CLOEXEC, 5);
	if (socket < 0 || report < 0 || dup3(socket, 3, O_CLOEXEC) < 0 || dup3(report, 4, O_CLOEXEC) < 0 || k_close_range(5, ~0u) != 0)
		_exit(1);
}

/* Gives the mount to the child that asks for it: the end of a mounter. `failed` says why there is none. */
static _Noreturn void
deliver(const struct volume_order *order, int mount, struct answer answer)
{
	char asked;
	int namespace;
	answer.mounted = mount >= 0;
	if (mount < 0 && order->id[0] != 0)
		_exit(write_all(4, &failed, sizeof failed) ? 1 : 2);
	snprintf(answer.reason, sizeof answer.reason, "%.*s", (int)sizeof answer.reason - 1, failed.failure.message);
	if (!take_with(3, &asked, 1, &namespace) || namespace < 0)
		_exit(1); /* the child is gone */
	bool good = mount < 0 || map_owners(mount, namespace, &failed.failure);
	int lower = -1;
	if (good && mount >= 0 && order->lower[0] != 0)
		good = (lower = open_lower(order->lower, namespace, &failed.failure)) >= 0;
	if (!good)
		_exit(write_all(4, &failed, sizeof failed) ? 1 : 2);
	good = pass_with(3, &answer, sizeof answer, mount) && (lower < 0 || pass_with(3, "", 1, lower));
	_exit(good ? 0 : 1);
}

static _Noreturn void
mounter(const struct volume_order *order, int socket, int report)
{
	struct answer answer = {0};
	keep_only(socket, report);
	int mount = make_mount(order, &answer.size, &failed.failure);
	deliver(order, mount, answer);
}

#define SPARE_NAME "spare-"

/* Removes what spares left whose process was killed. Those of others are locked. */
static void
sweep_spares(int folder)
{
	DIR *entries = fdopendir(openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	if (entries == NULL)
		return;
	for (struct dirent *entry; (entry = readdir(entries)) != NULL;) {
		if (strncmp(entry->d_name, SPARE_NAME, strlen(SPARE_NAME)) != 0)
			continue;
		int image = openat(folder, entry->d_name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
		if (image >= 0 && flock(image, LOCK_EX | LOCK_NB) == 0)
			unlinkat(folder, entry->d_name, 0);
		if (image >= 0)
			close(image);
	}
	closedir(entries);
}

/* A mounter that begins before anybody asks: with a new image, which gets the name of the volume when it is claimed. */
static _Noreturn void
spare(struct volume_order order, int socket, bool sweep)
{
	struct answer answer = {0};
	struct stat status;
	char own[VOLUME_NAME_MAX], name[VOLUME_NAME_MAX];
	int report;
	launch_forget_arguments("spare");
	setpriority(PRIO_PROCESS, 0, AHEAD_NICE);
	keep_only(socket, 2);
	snprintf(own, sizeof own, SPARE_NAME "%d", (int)getpid());
	int folder = volume_folder(order.folder, &failed.failure);
	if (folder >= 0 && sweep)
		sweep_spares(folder);
	int image = folder < 0 ? -1 : volume_open_as(folder, own, order.size, &failed.failure);
	int mount = image < 0 ? -1 : volume_attach(image, &failed.failure);
	bool claimed = take_with(3, order.id, sizeof order.id, &report) && report >= 0 && dup3(report, 4, O_CLOEXEC) == 4;
	volume_name(order.id, name);
	/* The claimed one may be there already, with files; and the disk may be full by now. */
	bool good = claimed && mount >= 0 && fstat(image, &status) == 0 && volume_room(folder, 0, &failed.failure)
		&& k_renameat2(folder, own, folder, name, K_RENAME_NOREPLACE) == 0;
	if (!good && image >= 0)
		unlinkat(folder, own, 0);
	if (!claimed)
		_exit(1); /* not needed any more */
	if (good) {
		answer.size = status.st_size;
		deliver(&order, mount, answer);
	}
	if (mount >= 0)
		close(mount);
	if (image >= 0)
		close(image);
	mount = make_mount(&order, &answer.size, &failed.failure);
	deliver(&order, mount, answer);
}

bool
volume_start_spare(struct volume_spare *kept, const char *folder, int64_t size, bool sweep)
{
	struct volume_order order = {.size = size};
	int ends[2];
	if (kept->pid > 0 && (kept->socket >= 0 || waitpid(kept->pid, NULL, WNOHANG) == 0))
		return false;
	*kept = (struct volume_spare){.socket = -1};
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
		return false;
	snprintf(order.folder, sizeof order.folder, "%s", folder);
	pid_t pid = fork();
	if (pid == 0) {
		close(ends[1]);
		spare(order, ends[0], sweep);
	}
	close(ends[0]);
	if (pid > 0)
		*kept = (struct volume_spare){.pid = pid, .socket = ends[1], .size = size};
	else
		close(ends[1]);
	return pid > 0;
}

void
volume_drop_spare(struct volume_spare *kept)
{
	if (kept->pid <= 0)
		return;
	if (kept->socket >= 0)
		close(kept->socket); /* which it takes as its end */
	kept->socket = -1;
	if (waitpid(kept->pid, NULL, WNOHANG) != 0)
		kept->pid = 0;
}

pid_t
volume_claim_spare(struct volume_spare *kept, const struct volume_order *order, int *peer, int report)
{
	pid_t pid = kept->pid;
	if (pid <= 0 || kept->socket < 0 || kept->size != order->size || order->id[0] == 0)
		return 0;
	if (!pass_with(kept->socket, order->id, sizeof order->id, report)) {
		volume_drop_spare(kept);
		return 0;
	}
	setpriority(PRIO_PROCESS, (id_t)pid, 0); /* somebody waits for it now */
	*peer = kept->socket;
	*kept = (struct volume_spare){.socket = -1};
	return pid;
}

pid_t
volume_start_mounter(const struct volume_order *order, int *peer, int report, struct failure *failure)
{
	int ends[2];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
		give_up(failure, KIND_ENGINE, "volume", errno, "socket pair");
		return -1;
	}
	pid_t pid = fork();
	if (pid == 0) {
		close(ends[1]);
		mounter(order, ends[0], report);
	}
	close(ends[0]);
	if (pid > 0) {
		*peer = ends[1];
		return pid;
	}
	give_up(failure, KIND_ENGINE, "volume", errno, "fork");
	close(ends[1]);
	return -1;
}

bool
volume_ask(const struct plan *plan, struct failure *failure)
{
	if (plan->volume < 0)
		return true;
	int namespace = open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC);
	/* A mounter that is gone has told why; if it could not, volume_take will notice. */
	bool good = namespace >= 0 && (pass_with(plan->volume, "", 1, namespace) || errno == EPIPE || errno == ECONNRESET);
	if (!good)
		give_up(failure, KIND_ENGINE, "volume", errno, "naming the user namespace");
	if (namespace >= 0)
		close(namespace);
	return good;
}

static bool
take(struct plan *plan, const char *place, bool *mounted, struct failure *failure)
{
	struct answer answer;
	int mount;
	*mounted = false;
	if (plan->volume < 0)
		return true;
	if (!take_with(plan->volume, &answer, sizeof answer, &mount))
		return give_up(failure, KIND_ENGINE, "volume", 0, "what mounts it ended without an answer");
	if (!answer.mounted) {
		measure_missing(&plan->measures, MEASURE_VOLUME, "%s", answer.reason);
		return true;
	}
	if (mount < 0 || k_move_mount(mount, "", AT_FDCWD, place, K_MOVE_MOUNT_F_EMPTY_PATH) != 0)
		return give_up(failure, KIND_ENGINE, "volume", errno, "placing the volume");
	close(mount);
	plan->limits.disk = answer.size;
	measure_applied(&plan->measures, MEASURE_VOLUME, "ext4 of its own, %lld bytes with its journal", (long long)answer.size);
	*mounted = true;
	return true;
}

bool
volume_take(struct plan *plan, bool *mounted, struct failure *failure)
{
	return take(plan, "workspace", mounted, failure);
}

bool
volume_take_divided(struct plan *plan, struct failure *failure)
{
	char one;
	int lower = -1;
	bool mounted;
	if (!take(plan, "volume", &mounted, failure))
		return false;
	if (!mounted)
		return give_up(failure, KIND_UNSUPPORTED, "rootfs", 0, "a writable root needs a volume: %s",
			plan->measures.detail[MEASURE_VOLUME]);
	bool good = take_with(plan->volume, &one, 1, &lower) && lower >= 0
		&& k_move_mount(lower, "", AT_FDCWD, "lower", K_MOVE_MOUNT_F_EMPTY_PATH) == 0;
	if (!good)
		give_up(failure, KIND_ENGINE, "rootfs", errno, "placing the image");
	if (lower >= 0)
		close(lower);
	return good;
}
