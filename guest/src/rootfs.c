/* What a sandbox sees as its root: a small tmpfs with the image's top-level entries bound into it, all read-only, and our
 * own /proc, /dev, /tmp and /workspace on top.
 *
 * Runs in the child, in three parts. Sources are opened while the child still has the server's user id, because the way to
 * them may be closed to the ids inside; what depends on the image alone is built when it took those, and the rest when it is
 * known whose sandbox it is. No name is ever resolved inside an image with links followed: an image may be hostile. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "spawn.h"
#include "syscalls.h"
#include "volume.h"

#define ENTRIES_MAX 128 /* top-level entries of an image */
#define EMPTY "run/carrel/empty"
#define EGRESS "run/carrel/egress"
#define SEALED (K_MOUNT_ATTR_RDONLY | K_MOUNT_ATTR_NOSUID | K_MOUNT_ATTR_NODEV)

static int run_fd = -1, lib_fd = -1, egress_fd = -1, image_fd = -1, root_fd = -1;

static bool
failed(struct failure *failure, const char *step, const char *what)
{
	return give_up(failure, KIND_ENGINE, step, errno, "%s", what);
}

/* The folder and not the socket: a server that starts again binds a new socket in the same folder. */
static int
open_folder_of(const char *path)
{
	char folder[HOST_PATH_MAX];
	snprintf(folder, sizeof folder, "%s", path);
	*strrchr(folder, '/') = 0;
	return open(folder, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

bool
rootfs_open_sources(const struct plan *plan, struct failure *failure)
{
	const int flags = O_PATH | O_CLOEXEC;
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
		return failed(failure, "mount", "making the mounts private");
	if ((run_fd = open(plan->run, flags | O_DIRECTORY)) < 0)
		return failed(failure, "mount", plan->run);
	if ((lib_fd = open(plan->lib, flags | O_DIRECTORY)) < 0)
		return failed(failure, "mount", plan->lib);
	if (plan->egress[0] != 0 && (egress_fd = open_folder_of(plan->egress)) < 0)
		return failed(failure, "egress", plan->egress);
	const char *image = plan->image[0] != 0 ? plan->image : "/";
	if ((image_fd = open(image, flags | O_DIRECTORY)) < 0)
		return give_up(failure, KIND_IMAGE, "image", errno, "%s", image);
	return true;
}

/* Mounts a new tmpfs over the run folder and makes it the current one: the root to be. */
static bool
start_root(struct failure *failure)
{
	static const char *const options[][2] = {{"source", "carrel"}, {"size", "1m"}, {"nr_inodes", "1024"}, {"mode", "0755"}};
	int fs = (int)syscall(NR_FSOPEN, "tmpfs", 1 /* FSOPEN_CLOEXEC */);
	if (fs < 0)
		return failed(failure, "root", "fsopen tmpfs");
	for (size_t i = 0; i < sizeof options / sizeof *options; i++)
		if (syscall(NR_FSCONFIG, fs, K_FSCONFIG_SET_STRING, options[i][0], options[i][1], 0) != 0)
			return failed(failure, "root", options[i][0]);
	if (syscall(NR_FSCONFIG, fs, K_FSCONFIG_CMD_CREATE, NULL, NULL, 0) != 0)
		return failed(failure, "root", "creating the root's tmpfs");
	root_fd = (int)syscall(NR_FSMOUNT, fs, 1 /* FSMOUNT_CLOEXEC */, K_MOUNT_ATTR_NOSUID | K_MOUNT_ATTR_NODEV);
	close(fs);
	if (root_fd < 0)
		return failed(failure, "root", "fsmount");
	if (k_move_mount(root_fd, "", run_fd, "", K_MOVE_MOUNT_F_EMPTY_PATH | K_MOVE_MOUNT_T_EMPTY_PATH) != 0)
		return failed(failure, "root", "placing the new root");
	if (fchdir(root_fd) != 0)
		return failed(failure, "root", "entering the new root");
	return true;
}

static bool
make_directories(const char *const *names, size_t count, struct failure *failure)
{
	for (size_t i = 0; i < count; i++)
		if (mkdir(names[i], 0755) != 0 && errno != EEXIST)
			return failed(failure, "root", names[i]);
	return true;
}

static bool
make_file(const char *name, const char *text, struct failure *failure)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0)
		return failed(failure, "root", name);
	bool good = text == NULL || write_all(fd, text, strlen(text));
	if (!good)
		failed(failure, "root", name);
	close(fd);
	return good;
}

/* Binds what `source` is, with all mounts below it, at a place of the new root that exists. */
static bool
graft(int source, const char *target)
{
	int tree = k_open_tree(source, "", AT_EMPTY_PATH | O_CLOEXEC | K_OPEN_TREE_CLONE | K_AT_RECURSIVE);
	if (tree < 0)
		return false;
	int result = k_move_mount(tree, "", root_fd, target, K_MOVE_MOUNT_F_EMPTY_PATH);
	int saved = errno;
	close(tree);
	errno = saved;
	return result == 0;
}

/* Brings one entry of a folder into the new root: a link as a link, a folder or file as a bind. Anything else is left out. */
static bool
bring(int folder, const char *name, const char *target, struct failure *failure)
{
	char link[PATH_MAX];
	struct stat status;
	if (fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) != 0)
		return errno == ENOENT || give_up(failure, KIND_IMAGE, "image", errno, "%s", target);
	if (S_ISLNK(status.st_mode)) {
		ssize_t length = readlinkat(folder, name, link, sizeof link - 1);
		if (length < 0)
			return give_up(failure, KIND_IMAGE, "image", errno, "%s", target);
		link[length] = 0;
		return symlink(link, target) == 0 || give_up(failure, KIND_IMAGE, "image", errno, "link %s", target);
	}
	if (!S_ISDIR(status.st_mode) && !S_ISREG(status.st_mode))
		return true;
	int source = k_openat2(folder, name, O_PATH | O_NOFOLLOW | O_CLOEXEC,
		K_RESOLVE_BENEATH | K_RESOLVE_NO_SYMLINKS | K_RESOLVE_NO_MAGICLINKS);
	if (source < 0)
		return give_up(failure, KIND_IMAGE, "image", errno, "%s", target);
	/* The type may have changed since: what counts is what we hold. */
	bool good = fstat(source, &status) == 0;
	if (good && S_ISDIR(status.st_mode))
		good = mkdir(target, 0755) == 0 && graft(source, target);
	else if (good && S_ISREG(status.st_mode))
		good = make_file(target, NULL, failure) && graft(source, target);
	if (!good)
		give_up(failure, KIND_IMAGE, "image", errno, "binding %s", target);
	close(source);
	return good;
}

static bool
is_ours(const char *name)
{
	static const char *const ours[] = {".", "..", "proc", "sys", "dev", "tmp", "run", "workspace", "opt"};
	for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
		if (strcmp(name, ours[i]) == 0)
			return true;
	return false;
}

/* Brings every entry of a folder of the image in, except those that are ours. */
static bool
bring_all(int folder, const char *prefix, struct failure *failure)
{
	char target[NAME_MAX + 16];
	int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *entries = copy < 0 ? NULL : fdopendir(copy);
	if (entries == NULL)
		return give_up(failure, KIND_IMAGE, "image", errno, "reading the image's folder");
	int count = 0;
	bool good = true;
	for (struct dirent *entry; good && (entry = readdir(entries)) != NULL;) {
		if (prefix[0] == 0 ? is_ours(entry->d_name) : entry->d_name[0] == '.' || strcmp(entry->d_name, "carrel") == 0)
			continue;
		if (++count > ENTRIES_MAX)
			good = give_up(failure, KIND_IMAGE, "image", 0, "more than %d top-level entries", ENTRIES_MAX);
		snprintf(target, sizeof target, "%s%s", prefix, entry->d_name);
		good = good && bring(folder, entry->d_name, target, failure);
	}
	closedir(entries);
	return good;
}

static bool
host_etc(struct failure *failure)
{
	/* Only what programs need to find their own parts: nothing here tells who lives on the host. */
	static const char *const shared[] = {"R", "alternatives", "fonts", "java-25-openjdk", "java-21-openjdk", "java-17-openjdk",
		"ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "matplotlibrc", "mime.types", "os-release", "python3",
		"python3.11", "python3.12", "python3.13", "services", "timezone"};
	static const char *const certificates[] = {"certs", "openssl.cnf"};
	char target[64];
	bool good = make_file("etc/passwd",
			    "root:x:0:0:root:/root:/usr/sbin/nologin\ncarrel:x:1000:1000:carrel:/workspace:/bin/bash\n"
			    "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
			    failure)
		&& make_file("etc/group", "root:x:0:\ntty:x:5:\ncarrel:x:1000:\nnogroup:x:65534:\n", failure)
		&& make_file("etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n", failure);
	int etc = openat(image_fd, "etc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int ssl = openat(image_fd, "etc/ssl", O_PATH | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; good && etc >= 0 && i < sizeof shared / sizeof *shared; i++) {
		snprintf(target, sizeof target, "etc/%s", shared[i]);
		good = bring(etc, shared[i], target, failure);
	}
	/* Not all of ssl: beside the certificates lies a folder of private keys. */
	for (size_t i = 0; good && ssl >= 0 && i < sizeof certificates / sizeof *certificates; i++) {
		snprintf(target, sizeof target, "etc/ssl/%s", certificates[i]);
		good = bring(ssl, certificates[i], target, failure);
	}
	close(etc);
	close(ssl);
	return good;
}

static bool
host_image(struct failure *failure)
{
	static const char *const parts[] = {"usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32"};
	static const char *const folders[] = {"etc", "etc/ssl", "home", "root", "srv", "mnt", "var", "var/lib", "var/log", "var/cache"};
	if (!make_directories(folders, sizeof folders / sizeof *folders, failure))
		return false;
	if (symlink("/tmp", "var/tmp") != 0 || symlink("/run", "var/run") != 0)
		return failed(failure, "root", "links in /var");
	/* Where E2B's clients, and what is written for them, look for files. */
	if (symlink("/workspace", "home/user") != 0)
		return failed(failure, "root", "the link in /home");
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		if (!bring(image_fd, parts[i], parts[i], failure))
			return false;
	return host_etc(failure);
}

const char *
rootfs_name(int number, const char *id, char *text, size_t size)
{
	switch (number) {
	case 0:
		snprintf(text, size, "127.0.0.1 localhost %s\n::1 localhost\n", id);
		return "hosts";
	case 1:
		snprintf(text, size, "%s\n", id);
		return "hostname";
	case 2:
		text[0] = 0;
		return "resolv.conf";
	default:
		return NULL;
	}
}

/* Gives the host's image our names. */
static bool
make_names(const struct plan *plan, struct failure *failure)
{
	char text[128], target[32];
	const char *name;
	for (int i = 0; (name = rootfs_name(i, plan->id, text, sizeof text)) != NULL; i++) {
		snprintf(target, sizeof target, "etc/%s", name);
		if (!make_file(target, text, failure))
			return false;
	}
	return true;
}

/* Gives a folder image our names: only where it has plain files for them, which are then covered. */
static bool
cover_names(const struct plan *plan, struct failure *failure)
{
	char text[128], target[32], source[48];
	const char *name;
	for (int i = 0; (name = rootfs_name(i, plan->id, text, sizeof text)) != NULL; i++) {
		snprintf(target, sizeof target, "etc/%s", name);
		snprintf(source, sizeof source, "run/carrel/%s", name);
		int place = k_openat2(root_fd, target, O_PATH | O_NOFOLLOW | O_CLOEXEC, K_RESOLVE_BENEATH | K_RESOLVE_NO_SYMLINKS);
		struct stat status;
		if (place < 0)
			continue;
		bool plain = fstat(place, &status) == 0 && S_ISREG(status.st_mode);
		if (plain && !make_file(source, text, failure))
			return false;
		int tree = plain ? k_open_tree(root_fd, source, O_CLOEXEC | K_OPEN_TREE_CLONE) : -1;
		if (plain
			&& (tree < 0 || (!plan->overlay && k_mount_setattr(tree, "", AT_EMPTY_PATH, SEALED) != 0)
				|| k_move_mount(tree, "", place, "", K_MOVE_MOUNT_F_EMPTY_PATH | K_MOVE_MOUNT_T_EMPTY_PATH) != 0))
			return failed(failure, "root", target);
		if (tree >= 0)
			close(tree);
		close(place);
	}
	return true;
}

static bool
folder_image(struct failure *failure)
{
	if (!bring_all(image_fd, "", failure))
		return false;
	/* /opt is ours because our own programs go there; the image's entries in it come along. */
	int opt = k_openat2(image_fd, "opt", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, K_RESOLVE_BENEATH | K_RESOLVE_NO_SYMLINKS);
	if (opt >= 0 && !bring_all(opt, "opt/", failure))
		return false;
	if (opt >= 0)
		close(opt);
	return true;
}

bool
rootfs_mount_tmpfs(const char *target, int64_t bytes, const char *more, unsigned long flags, struct failure *failure)
{
	/* An inode costs about a kilobyte of memory that no size limit counts: one for each 8 KiB. */
	char options[160];
	snprintf(options, sizeof options, "size=%lld,nr_inodes=%lld,%s", (long long)bytes, (long long)(bytes / 8192 + 256), more);
	if (mount("tmpfs", target, "tmpfs", MS_NOSUID | MS_NODEV | flags, options) != 0)
		return failed(failure, "tmpfs", target);
	return true;
}

static bool
mount_dev(struct plan *plan, struct failure *failure)
{
	static const char *const nodes[] = {"null", "zero", "full", "random", "urandom", "tty"};
	char source[32];
	for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++) {
		snprintf(source, sizeof source, "/dev/%s", nodes[i]);
		if (mount(source, source + 1, NULL, MS_BIND, NULL) != 0)
			return failed(failure, "dev", source);
		if (k_mount_setattr(AT_FDCWD, source + 1, 0, K_MOUNT_ATTR_NOSUID | K_MOUNT_ATTR_NOEXEC) != 0)
			return failed(failure, "dev", source);
	}
	/* As many as commands at once; all sandboxes of the host share the few thousand that the kernel has. */
	const char *terminals = plan->map == MAP_RANGE ? "newinstance,ptmxmode=0666,mode=0620,max=64,gid=5"
						       : "newinstance,ptmxmode=0666,mode=0620,max=64";
	if (mount("devpts", "dev/pts", "devpts", MS_NOSUID | MS_NOEXEC, terminals) != 0)
		return failed(failure, "dev", "devpts");
	measure_applied(&plan->measures, MEASURE_MINIMAL_DEV, "null zero full random urandom tty, own pts and shm");
	return true;
}

/* What is watched counts for the maker of the user namespace as well, who is one for all sandboxes of an image: none takes all
 * that this id may have. Where it cannot be said, the host's own limit stands alone. */
static void
bound_watches(void)
{
	static const char *const bounds[][2] = {{"proc/sys/user/max_inotify_instances", "32"}, {"proc/sys/user/max_inotify_watches", "65536"}};
	for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
		int fd = open(bounds[i][0], O_WRONLY | O_CLOEXEC);
		if (fd < 0)
			continue;
		write_all(fd, bounds[i][1], strlen(bounds[i][1]));
		close(fd);
	}
}

static bool
mount_proc(struct plan *plan, struct failure *failure)
{
	static const char *const files[] = {"kcore", "keys", "key-users", "kmsg", "kallsyms", "timer_list", "timer_stats",
		"sysrq-trigger", "latency_stats", "sched_debug", "interrupts", "vmallocinfo", "slabinfo", "config.gz", "kpagecount",
		"kpageflags", "kpagecgroup", "pagetypeinfo"};
	static const char *const folders[] = {"acpi", "scsi", "asound", "driver"};
	static const char *const read_only[] = {"sys", "irq", "bus", "fs", "tty"};
	char path[48];
	if (mount("proc", "proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) != 0)
		return failed(failure, "proc", "a fresh /proc (in a container, its own /proc must not be masked)");
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		snprintf(path, sizeof path, "proc/%s", files[i]);
		if (mount("dev/null", path, NULL, MS_BIND, NULL) != 0 && errno != ENOENT)
			return failed(failure, "proc", path);
	}
	for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
		snprintf(path, sizeof path, "proc/%s", folders[i]);
		if (mount(EMPTY, path, NULL, MS_BIND, NULL) != 0 && errno != ENOENT)
			return failed(failure, "proc", path);
	}
	bound_watches();
	const unsigned long flags = MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC;
	for (size_t i = 0; i < sizeof read_only / sizeof *read_only; i++) {
		snprintf(path, sizeof path, "proc/%s", read_only[i]);
		if (mount(path, path, NULL, MS_BIND, NULL) == 0 ? mount(NULL, path, NULL, flags, NULL) != 0 : errno != ENOENT)
			return failed(failure, "proc", path);
	}
	measure_applied(&plan->measures, MEASURE_MASKED_PROC, "own instance, %zu paths masked, %zu read-only",
		sizeof files / sizeof *files + sizeof folders / sizeof *folders, sizeof read_only / sizeof *read_only);
	return true;
}

static bool
mount_writable(struct plan *plan, struct failure *failure)
{
	bool on_disk = plan->overlay; /* then it is where it belongs already */
	if (!on_disk && !volume_take(plan, &on_disk, failure))
		return false;
	if (!on_disk)
		limits_settle(&plan->limits);
	/* What is in memory stays together at 7/8 of the memory limit: the rest is for inodes and for programs. */
	const int64_t rest = plan->limits.memory / 8 * 7 - (on_disk ? 0 : plan->limits.disk);
	if ((!on_disk && !rootfs_mount_tmpfs("workspace", plan->limits.disk, "uid=1000,gid=1000,mode=0755", 0, failure))
		|| !rootfs_mount_tmpfs("tmp", rest / 3 * 2, "mode=1777", 0, failure)
		|| !rootfs_mount_tmpfs("dev/shm", rest / 3, "mode=1777", MS_NOEXEC, failure))
		return false;
	measure_applied(&plan->measures, MEASURE_WORKSPACE_LIMIT, "%s of %lld bytes", on_disk ? "ext4" : "tmpfs",
		(long long)plan->limits.disk);
	measure_applied(&plan->measures, MEASURE_TMPFS_TMP, "%lld bytes", (long long)(rest / 3 * 2));
	return true;
}

/* Names and places that do not depend on the image. */
static bool
make_skeleton(struct failure *failure)
{
	static const char *const folders[] = {"proc", "dev", "dev/pts", "dev/shm", "tmp", "workspace", "run", "run/carrel", EMPTY,
		EGRESS, "opt", "opt/carrel"};
	static const char *const nodes[] = {"dev/null", "dev/zero", "dev/full", "dev/random", "dev/urandom", "dev/tty"};
	static const char *const links[][2] = {{"pts/ptmx", "dev/ptmx"}, {"/proc/self/fd", "dev/fd"}, {"/proc/self/fd/0", "dev/stdin"},
		{"/proc/self/fd/1", "dev/stdout"}, {"/proc/self/fd/2", "dev/stderr"}};
	if (!make_directories(folders, sizeof folders / sizeof *folders, failure))
		return false;
	for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++)
		if (!make_file(nodes[i], NULL, failure))
			return false;
	for (size_t i = 0; i < sizeof links / sizeof *links; i++)
		if (symlink(links[i][0], links[i][1]) != 0)
			return failed(failure, "root", links[i][1]);
	return true;
}

/* Only what is ours in it: the rest is the sandbox's own to write. */
static bool
protect_ours(struct failure *failure)
{
	static const char *const ours[] = {"opt/carrel", "run/carrel", "dev"};
	for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
		if (k_mount_setattr(root_fd, ours[i], AT_SYMLINK_NOFOLLOW | K_AT_RECURSIVE, SEALED) != 0)
			return failed(failure, "root", ours[i]);
	return true;
}

/* Where the sandbox finds its way out, if it has one. */
static bool
place_egress(const struct plan *plan, struct failure *failure)
{
	if (plan->egress[0] == 0)
		return true;
	int tree = plan->way_out;
	if (tree < 0)
		tree = k_open_tree(egress_fd, "", AT_EMPTY_PATH | O_CLOEXEC | K_OPEN_TREE_CLONE | K_AT_RECURSIVE);
	if (tree < 0)
		return failed(failure, "egress", plan->egress);
	bool good = k_mount_setattr(tree, "", AT_EMPTY_PATH | K_AT_RECURSIVE, SEALED) == 0
		&& k_move_mount(tree, "", root_fd, EGRESS, K_MOVE_MOUNT_F_EMPTY_PATH) == 0;
	if (!good)
		failed(failure, "egress", plan->egress);
	close(tree);
	return good;
}

static bool
enter_root(struct failure *failure)
{
	if (syscall(SYS_pivot_root, ".", ".") != 0 || umount2(".", MNT_DETACH) != 0 || chdir("/") != 0)
		return failed(failure, "root", "pivot_root");
	return true;
}

static bool
build_overlay(struct plan *plan, struct failure *failure)
{
	int overlay = rootfs_overlay(plan, failure);
	if (overlay < 0)
		return false;
	close(root_fd);
	root_fd = overlay;
	if (!make_skeleton(failure) || !cover_names(plan, failure))
		return false;
	if (!graft(lib_fd, "opt/carrel"))
		return failed(failure, "root", "/opt/carrel");
	return place_egress(plan, failure) && protect_ours(failure) && mount_writable(plan, failure) && mount_dev(plan, failure)
		&& mount_proc(plan, failure) && enter_root(failure);
}

bool
rootfs_begin(struct plan *plan, struct failure *failure)
{
	if (!start_root(failure))
		return false;
	if (plan->overlay)
		return true;
	if (!make_skeleton(failure) || !(plan->image[0] == 0 ? host_image(failure) : folder_image(failure)))
		return false;
	if (!graft(lib_fd, "opt/carrel"))
		return failed(failure, "root", "/opt/carrel");
	/* One sweep over everything so far; what is mounted after it is ours and has flags of its own. */
	if (k_mount_setattr(root_fd, "", AT_EMPTY_PATH | K_AT_RECURSIVE, SEALED) != 0)
		return failed(failure, "root", "making the root read-only");
	measure_applied(&plan->measures, MEASURE_READ_ONLY_ROOT, "read-only, nosuid, nodev, all mounts below it too");
	return mount_dev(plan, failure) && mount_proc(plan, failure);
}

bool
rootfs_complete(struct plan *plan, struct failure *failure)
{
	if (plan->overlay)
		return build_overlay(plan, failure);
	/* Open for a moment, for the few files that tell whose it is. */
	if (k_mount_clear(root_fd, "", AT_EMPTY_PATH, K_MOUNT_ATTR_RDONLY) != 0)
		return failed(failure, "root", "opening the root for its names");
	if (!(plan->image[0] == 0 ? make_names(plan, failure) : cover_names(plan, failure)))
		return false;
	if (k_mount_setattr(root_fd, "", AT_EMPTY_PATH, SEALED) != 0)
		return failed(failure, "root", "making the root read-only again");
	return place_egress(plan, failure) && mount_writable(plan, failure) && enter_root(failure);
}
