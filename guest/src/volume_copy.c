/* Copies of images, their removal and their list. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "state.h"
#include "syscalls.h"
#include "volume_image.h"

#define K_EXT4_MAGIC 0xef53
#define K_EXT4_IOC_CHECKPOINT _IOW('f', 43, uint32_t)

/* Brings the image of a mounted volume to a state that a copy can start from: everything written is in it, and the journal
 * is empty. Nothing changes it from then on, since its only users stand still; without the second step the kernel could
 * move what is in the journal to its place while we copy, and the copy would have neither. */
static bool
settle(const struct volume_copy *order, struct failure *failure)
{
	char root[32];
	uint32_t flags = 0;
	struct statfs status;
	snprintf(root, sizeof root, "/proc/%d/root", (int)order->pid);
	int top = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int workspace = top < 0 ? -1
				: k_openat2(top, order->place != NULL ? order->place : "workspace", O_RDONLY | O_DIRECTORY | O_CLOEXEC,
					  K_RESOLVE_BENEATH | K_RESOLVE_NO_SYMLINKS | K_RESOLVE_NO_MAGICLINKS);
	bool good = workspace >= 0 && fstatfs(workspace, &status) == 0 && status.f_type == K_EXT4_MAGIC && syncfs(workspace) == 0
		&& ioctl(workspace, K_EXT4_IOC_CHECKPOINT, &flags) == 0;
	if (!good)
		give_up(failure, errno == EROFS ? KIND_READ_ONLY : KIND_ENGINE, "volume", errno, "writing out the volume %s", order->from);
	if (workspace >= 0)
		close(workspace);
	if (top >= 0)
		close(top);
	return good;
}

static bool
copy_named(const struct volume_copy *order, int folder, int image, struct failure *failure)
{
	char name[VOLUME_NAME_MAX];
	struct stat status;
	volume_name(order->to, name);
	if (fstat(image, &status) != 0)
		return give_up(failure, KIND_ENGINE, "volume", errno, "the volume %s", order->from);
	int copy = volume_nameless(folder, failure);
	if (copy < 0)
		return false;
	bool good = volume_share_bytes(image, copy)
		|| (volume_room(folder, (int64_t)status.st_blocks * 512, failure) && volume_copy_bytes(image, copy, failure));
	if (good && fsync(copy) != 0)
		good = give_up(failure, errno == ENOSPC ? KIND_SPACE : KIND_ENGINE, "volume", errno, "writing the copy");
	/* Who stands still can be killed with version 2; then its file system is unmounted, and so written to. */
	if (good && order->pid > 0 && order->start > 0 && process_start(order->pid) != order->start)
		good = give_up(failure, KIND_CONFLICT, "volume", 0, "the sandbox of volume %s ended while it was copied: try again", order->from);
	if (good && !volume_name_it(copy, folder, name))
		good = give_up(failure, errno == EEXIST ? KIND_CONFLICT : KIND_ENGINE, "volume", errno, "naming the volume %s", order->to);
	close(copy);
	return good && (fsync(folder) == 0 || give_up(failure, KIND_ENGINE, "volume", errno, "writing the volumes' folder"));
}

bool
volume_copy(const struct volume_copy *order, struct failure *failure)
{
	char name[VOLUME_NAME_MAX];
	int folder = volume_folder(order->folder, failure);
	if (folder < 0)
		return false;
	volume_name(order->from, name);
	int image = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	bool good = image >= 0
		|| give_up(failure, errno == ENOENT ? KIND_NOT_FOUND : KIND_ENGINE, "volume", errno, "the volume %s", order->from);
	if (good && order->pid > 0)
		good = settle(order, failure);
	else if (good && !volume_lock(image, LOCK_SH))
		good = give_up(failure, KIND_CONFLICT, "volume", 0, "the volume %s is just being started or removed", order->from);
	good = good && copy_named(order, folder, image, failure);
	if (image >= 0)
		close(image);
	close(folder);
	return good;
}

static void
image_path(const char *folder, const char *id, char *path, size_t size)
{
	char name[VOLUME_NAME_MAX];
	volume_name(id, name);
	snprintf(path, size, "%s/%s", folder, name);
}

bool
volume_absent(const char *folder, const char *id)
{
	char path[HOST_PATH_MAX + VOLUME_NAME_MAX];
	struct stat status;
	image_path(folder, id, path, sizeof path);
	return lstat(path, &status) != 0 && errno == ENOENT;
}

bool
volume_remove(const char *folder, const char *id, struct failure *failure)
{
	char path[HOST_PATH_MAX + VOLUME_NAME_MAX];
	image_path(folder, id, path, sizeof path);
	return unlink(path) == 0 || errno == ENOENT || give_up(failure, KIND_ENGINE, "volume", errno, "removing the volume %s", id);
}

bool
volume_list(const char *folder, const char *only, void (*each)(void *to, const char *id, int64_t size, int64_t on_disk), void *to,
	struct failure *failure)
{
	DIR *entries = opendir(folder);
	if (entries == NULL)
		return errno == ENOENT || give_up(failure, KIND_ENGINE, "volume", errno, "reading the volumes' folder");
	for (struct dirent *entry; (entry = readdir(entries)) != NULL;) {
		char id[VOLUME_ID_MAX] = "";
		struct stat status;
		if (strlen(entry->d_name) == VOLUME_ID_MAX - 1 + 4)
			memcpy(id, entry->d_name, VOLUME_ID_MAX - 1);
		if (!volume_id_valid(id) || strcmp(entry->d_name + VOLUME_ID_MAX - 1, ".img") != 0 || (only[0] != 0 && strcmp(only, id) != 0)
			|| fstatat(dirfd(entries), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(status.st_mode))
			continue;
		each(to, id, status.st_size, (int64_t)status.st_blocks * 512);
	}
	closedir(entries);
	return true;
}
