/* Image files. None is ever visible half made: it has no name (O_TMPFILE) until it is whole, so a crash leaves nothing. */
#include "volume.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "loop.h"
#include "volume_image.h"

#define TEMPLATE_VERSION 2 /* of what mke2fs is asked for */
#define TEMPLATES_MAX 16
#define MKFS_SECONDS 30
#define LOCK_US 5000000
#define LOCK_STEP_NS 500000
#define RESERVE (512ll << 20) /* bytes of the host's file system that new volumes leave free; at most a twentieth of it */

bool
volume_id_valid(const char *id)
{
	return strlen(id) == VOLUME_ID_MAX - 1 && strncmp(id, "vo", 2) == 0 && id[strspn(id, "abcdefghijklmnopqrstuvwxyz234567")] == 0;
}

void
volume_name(const char *id, char name[VOLUME_NAME_MAX])
{
	snprintf(name, VOLUME_NAME_MAX, "%s.img", id);
}

int
volume_folder(const char *path, struct failure *failure)
{
	struct stat status;
	if (mkdir(path, 0700) != 0 && errno != EEXIST) {
		give_up(failure, KIND_ENGINE, "volume", errno, "making the volumes' folder");
		return -1;
	}
	int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (folder >= 0 && fstat(folder, &status) == 0 && status.st_uid == geteuid() && (status.st_mode & 022) == 0)
		return folder;
	give_up(failure, KIND_ENGINE, "volume", folder < 0 ? errno : EPERM, "the volumes' folder must be ours alone to write");
	if (folder >= 0)
		close(folder);
	return -1;
}

bool
volume_lock(int image, int operation)
{
	int64_t end = now_us() + LOCK_US;
	while (flock(image, operation | LOCK_NB) != 0) {
		if ((errno != EWOULDBLOCK && errno != EINTR) || now_us() >= end)
			return false;
		nanosleep(&(struct timespec){.tv_nsec = LOCK_STEP_NS}, NULL);
	}
	return true;
}

bool
volume_in_use(const char *folder, const char *id)
{
	char path[HOST_PATH_MAX + VOLUME_NAME_MAX], name[VOLUME_NAME_MAX];
	volume_name(id, name);
	snprintf(path, sizeof path, "%s/%s", folder, name);
	int image = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (image < 0)
		return false;
	bool taken = flock(image, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
	close(image);
	return taken;
}

bool
volume_room(int folder, int64_t needed, struct failure *failure)
{
	struct statvfs space;
	if (fstatvfs(folder, &space) != 0)
		return give_up(failure, KIND_ENGINE, "volume", errno, "the volumes' file system");
	int64_t unit = (int64_t)space.f_frsize, left = (int64_t)space.f_bavail * unit;
	int64_t reserve = (int64_t)space.f_blocks * unit / 20;
	if (reserve > RESERVE)
		reserve = RESERVE;
	if (left - needed >= reserve)
		return true;
	return give_up(failure, KIND_SPACE, "volume", 0,
		"the disk that holds the volumes has %lld MiB left, and %lld MiB must stay free: remove volumes or make room",
		(long long)(left >> 20), (long long)(reserve >> 20));
}

/* Copies one stretch of data. The kernel may refuse to do it alone, for example between file systems. */
static bool
copy_stretch(int from, int to, off_t start, off_t end)
{
	static char buffer[1 << 16];
	loff_t in = start, out = start;
	while (in < end) {
		ssize_t n = copy_file_range(from, &in, to, &out, (size_t)(end - in), 0);
		if (n > 0 || (n < 0 && errno == EINTR))
			continue;
		if (n == 0)
			return true; /* it became shorter: no file of ours does */
		if (errno != EXDEV && errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP)
			return false;
		break;
	}
	while (in < end) {
		size_t wanted = end - in < (off_t)sizeof buffer ? (size_t)(end - in) : sizeof buffer;
		ssize_t n = pread(from, buffer, wanted, in);
		if (n <= 0 || pwrite(to, buffer, (size_t)n, in) != n)
			return n == 0;
		in += n;
	}
	return true;
}

bool
volume_share_bytes(int from, int to)
{
	return ioctl(to, FICLONE, from) == 0;
}

bool
volume_copy_bytes(int from, int to, struct failure *failure)
{
	struct stat status;
	if (fstat(from, &status) != 0 || ftruncate(to, status.st_size) != 0)
		return give_up(failure, errno == ENOSPC ? KIND_SPACE : KIND_ENGINE, "volume", errno, "copying an image");
	off_t end = 0;
	for (off_t start; (start = lseek(from, end, SEEK_DATA)) >= 0;) {
		end = lseek(from, start, SEEK_HOLE);
		if (end < 0 || !copy_stretch(from, to, start, end))
			return give_up(failure, errno == ENOSPC ? KIND_SPACE : KIND_ENGINE, "volume", errno, "copying an image");
	}
	return errno == ENXIO || give_up(failure, KIND_ENGINE, "volume", errno, "reading an image");
}

int
volume_nameless(int folder, struct failure *failure)
{
	int file = openat(folder, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (file < 0)
		give_up(failure, errno == ENOSPC ? KIND_SPACE : KIND_ENGINE, "volume", errno, "a new file in the volumes' folder");
	return file;
}

bool
volume_name_it(int file, int folder, const char *name)
{
	char path[32];
	snprintf(path, sizeof path, "/proc/self/fd/%d", file);
	return linkat(AT_FDCWD, path, folder, name, AT_SYMLINK_FOLLOW) == 0;
}

/* In the process that becomes mke2fs. Everything that could come from the host's own configuration is said. What is written
 * lies in few stretches (the journal at the beginning, one backup instead of one for every few groups): each is work for
 * every copy. */
static _Noreturn void
run_mkfs(const char *program, int image, int64_t size, int said)
{
	char journal[32];
	int64_t megabytes = size >> 26; /* a 64th */
	snprintf(journal, sizeof journal, "size=%lld", (long long)(megabytes < 4 ? 4 : megabytes > 32 ? 32 : megabytes));
	char *arguments[] = {"mke2fs", "-q", "-F", "-b", "4096", "-I", "256", "-i", "8192", "-m", "0", "-J", journal, "-O",
		"none,has_journal,ext_attr,dir_index,filetype,extent,flex_bg,sparse_super,sparse_super2,large_file,huge_file,dir_nlink,"
		"extra_isize,metadata_csum",
		"-E", "lazy_itable_init=1,lazy_journal_init=1,nodiscard,root_owner=1000:1000,packed_meta_blocks=1,num_backup_sb=1",
		"/proc/self/fd/5", NULL};
	char *environment[] = {"MKE2FS_CONFIG=/dev/null", NULL};
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int high = fcntl(image, F_DUPFD_CLOEXEC, 6);
	if (null < 0 || high < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(said, 2) < 0 || dup2(high, 5) < 0)
		_exit(127);
	alarm(MKFS_SECONDS); /* it outlives the execve */
	execve(program, arguments, environment);
	_exit(127);
}

static bool
make_file_system(int image, int64_t size, struct failure *failure)
{
	static const char *const places[] = {"/usr/sbin/mke2fs", "/sbin/mke2fs"};
	const char *program = access(places[0], X_OK) == 0 ? places[0] : places[1];
	char said[200] = "";
	int pipe[2], status = -1;
	if (access(program, X_OK) != 0)
		return give_up(failure, KIND_ENGINE, "volume", 0, "mke2fs is not installed (package e2fsprogs)");
	if (pipe2(pipe, O_CLOEXEC) != 0)
		return give_up(failure, KIND_ENGINE, "volume", errno, "pipe");
	pid_t child = fork();
	if (child == 0)
		run_mkfs(program, image, size, pipe[1]);
	close(pipe[1]);
	ssize_t n = child < 0 ? 0 : read(pipe[0], said, sizeof said - 1);
	said[n > 0 ? n : 0] = 0;
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		continue;
	close(pipe[0]);
	if (child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return true;
	return give_up(failure, KIND_ENGINE, "volume", 0, "mke2fs ended with status %d: %s", status, said);
}

/* The folder that mke2fs makes for e2fsck, which makes it again when it needs it. */
static bool
remove_lost_and_found(int image, struct failure *failure)
{
	int mount = volume_attach(image, failure);
	if (mount < 0)
		return false;
	bool good = unlinkat(mount, "lost+found", AT_REMOVEDIR) == 0 || errno == ENOENT;
	if (!good)
		give_up(failure, KIND_ENGINE, "volume", errno, "preparing a template");
	close(mount);
	return good;
}

/* Keeps the number of templates bounded: the oldest goes. */
static void
drop_oldest_template(int folder)
{
	char oldest[NAME_MAX + 1] = "";
	time_t when = 0;
	int count = 0;
	int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *entries = copy < 0 ? NULL : fdopendir(copy);
	if (entries == NULL)
		return;
	for (struct dirent *entry; (entry = readdir(entries)) != NULL;) {
		struct stat status;
		if (strncmp(entry->d_name, "template-", 9) != 0 || fstatat(folder, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0)
			continue;
		if (count++ == 0 || status.st_mtime < when) {
			when = status.st_mtime;
			snprintf(oldest, sizeof oldest, "%s", entry->d_name);
		}
	}
	closedir(entries);
	if (count >= TEMPLATES_MAX)
		unlinkat(folder, oldest, 0);
}

/* The template of this size, made if need be. Two who make it at once make the same; one of them gets the name. */
static int
open_template(int folder, int64_t size, struct failure *failure)
{
	char name[64];
	snprintf(name, sizeof name, "template-%d-%lld.img", TEMPLATE_VERSION, (long long)size);
	int template = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (template >= 0)
		return template;
	drop_oldest_template(folder);
	template = volume_nameless(folder, failure);
	if (template < 0)
		return -1;
	bool good = ftruncate(template, size) == 0 || give_up(failure, KIND_ENGINE, "volume", errno, "a template's size");
	good = good && make_file_system(template, size, failure) && remove_lost_and_found(template, failure);
	/* To disk before it has a name: every volume of this size will be a copy of it. */
	if (good && (fsync(template) != 0 || (!volume_name_it(template, folder, name) && errno != EEXIST)))
		good = give_up(failure, KIND_ENGINE, "volume", errno, "keeping a template");
	if (good)
		return template;
	close(template);
	return -1;
}

int
volume_make(int folder, int64_t size, struct failure *failure)
{
	size = size < VOLUME_LEAST ? VOLUME_LEAST : size / VOLUME_BLOCK * VOLUME_BLOCK;
	if (!volume_room(folder, 0, failure))
		return -1;
	int template = open_template(folder, size, failure);
	if (template < 0)
		return -1;
	int image = volume_nameless(folder, failure);
	if (image >= 0 && !volume_share_bytes(template, image) && !volume_copy_bytes(template, image, failure)) {
		close(image);
		image = -1;
	}
	close(template);
	return image;
}

int
volume_open(int folder, const char *id, int64_t size, struct failure *failure)
{
	char name[VOLUME_NAME_MAX];
	volume_name(id, name);
	return volume_open_as(folder, name, size, failure);
}

int
volume_open_as(int folder, const char *name, int64_t size, struct failure *failure)
{
	struct stat status;
	int image = openat(folder, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	if (image < 0 && errno == ENOENT) {
		int made = volume_make(folder, size, failure);
		if (made < 0)
			return -1;
		/* Not synced: the mount that follows writes its superblock through to the disk, and all before it. */
		if (volume_name_it(made, folder, name) || errno == EEXIST)
			image = openat(folder, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
		close(made);
	}
	bool good = image >= 0 && fstat(image, &status) == 0 && S_ISREG(status.st_mode);
	if (!good)
		give_up(failure, KIND_ENGINE, "volume", image < 0 ? errno : EINVAL, "opening the volume %.*s", (int)strcspn(name, "."), name);
	if (good && !volume_lock(image, LOCK_EX))
		good = give_up(failure, KIND_CONFLICT, "volume", 0, "the volume %.*s is in use: stop what has it first",
			(int)strcspn(name, "."), name);
	if (good)
		return image;
	if (image >= 0)
		close(image);
	return -1;
}
