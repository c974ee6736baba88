/* Landlock: a second wall behind the read-only root, as far as this kernel's version of it goes. */
#include <errno.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "spawn.h"
#include "syscalls.h"

/* Rights by the version of the interface that brought them; the libc's headers may be older. */
#define FS_EXECUTE (1ull << 0)
#define FS_WRITE_FILE (1ull << 1)
#define FS_READ_FILE (1ull << 2)
#define FS_READ_DIR (1ull << 3)
#define FS_MAKE_CHAR (1ull << 6)
#define FS_MAKE_BLOCK (1ull << 11)
#define FS_VERSION_1 ((1ull << 13) - 1)
#define FS_REFER (1ull << 13)	  /* 2 */
#define FS_TRUNCATE (1ull << 14)  /* 3 */
#define FS_IOCTL_DEV (1ull << 15) /* 5 */
#define SCOPE_ABSTRACT_UNIX (1ull << 0) /* 6 */
#define SCOPE_SIGNAL (1ull << 1)	/* 6 */

struct ruleset {
	uint64_t fs, net, scoped;
};

struct path_beneath {
	uint64_t allowed;
	int32_t parent;
} __attribute__((packed));

static uint64_t
known_rights(int version)
{
	uint64_t rights = FS_VERSION_1;
	if (version >= 2)
		rights |= FS_REFER;
	if (version >= 3)
		rights |= FS_TRUNCATE;
	if (version >= 5)
		rights |= FS_IOCTL_DEV;
	return rights;
}

/* Nothing inside can put a link on the way, but what is named here is opened by root when it is for a fork from outside. */
static bool
allow(int ruleset, int root, const char *path, uint64_t rights, struct failure *failure)
{
	struct path_beneath rule = {.allowed = rights,
		.parent = k_openat2(root, path, O_PATH | O_CLOEXEC, K_RESOLVE_BENEATH | K_RESOLVE_NO_SYMLINKS | K_RESOLVE_NO_MAGICLINKS)};
	if (rule.parent < 0)
		return give_up(failure, KIND_ENGINE, "landlock", errno, "/%s", path);
	long result = syscall(NR_LANDLOCK_ADD_RULE, ruleset, 1 /* path beneath */, &rule, 0);
	int error = errno;
	close(rule.parent);
	return result == 0 || give_up(failure, KIND_ENGINE, "landlock", error, "rule for /%s", path);
}

static bool
allow_all(int ruleset, int root, bool writable, uint64_t known, struct failure *failure)
{
	const uint64_t write = FS_WRITE_FILE | FS_TRUNCATE;
	const uint64_t read = FS_EXECUTE | FS_READ_FILE | FS_READ_DIR;
	const struct {
		const char *path;
		uint64_t rights;
	} rules[] = {{".", writable ? ~(FS_IOCTL_DEV | FS_MAKE_CHAR | FS_MAKE_BLOCK) : read}, {"workspace", ~FS_IOCTL_DEV}, {"tmp", ~FS_IOCTL_DEV},
		{"dev/shm", ~FS_IOCTL_DEV & ~FS_EXECUTE}, {"dev", write | FS_IOCTL_DEV},
		/* Own settings such as oom_score_adj; /proc/sys and its like are read-only mounts. */
		{"proc", write}};
	for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
		if (!allow(ruleset, root, rules[i].path, rules[i].rights & known, failure))
			return false;
	return true;
}

int
landlock_ruleset(int root, bool scoped, bool writable, int *version, struct failure *failure)
{
	*version = (int)syscall(NR_LANDLOCK_CREATE_RULESET, NULL, 0, 1 /* ask the version */);
	if (*version < 1) {
		give_up(failure, KIND_ENGINE, "landlock", errno, "this kernel has none, or did not start it");
		return -1;
	}
	struct ruleset attributes = {.fs = known_rights(*version)};
	size_t size = *version >= 4 ? 16 : 8;
	if (*version >= 6 && scoped) {
		attributes.scoped = SCOPE_ABSTRACT_UNIX | SCOPE_SIGNAL;
		size = sizeof attributes;
	}
	int ruleset = (int)syscall(NR_LANDLOCK_CREATE_RULESET, &attributes, size, 0);
	if (ruleset < 0) {
		give_up(failure, KIND_ENGINE, "landlock", errno, "ruleset");
		return -1;
	}
	if (allow_all(ruleset, root, writable, attributes.fs, failure))
		return ruleset;
	close(ruleset);
	return -1;
}

bool
landlock_apply(struct plan *plan, struct failure *failure)
{
	int version;
	/* A scope ends at the processes of one domain. What a zygote forks into this sandbox has a domain of its own, and must be
	 * able to signal and be signalled like any other command; the pid and network namespaces draw the same line around all. */
	bool scoped = plan->owner == 0;
	int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return give_up(failure, KIND_ENGINE, "landlock", errno, "/");
	int ruleset = landlock_ruleset(root, scoped, plan->overlay, &version, failure);
	close(root);
	if (version < 1) {
		measure_missing(&plan->measures, MEASURE_LANDLOCK, "%s",
			failure->error == EOPNOTSUPP ? "built in but not started (see the lsm= boot parameter)" : "this kernel has none");
		return excused(plan, MEASURE_LANDLOCK, failure);
	}
	if (ruleset < 0)
		return false;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || syscall(NR_LANDLOCK_RESTRICT_SELF, ruleset, 0) != 0)
		return give_up(failure, KIND_ENGINE, "landlock", errno, "restricting");
	close(ruleset);
	measure_applied(&plan->measures, MEASURE_LANDLOCK, "version %d%s", version,
		version >= 6 && scoped ? ", abstract sockets and signals scoped" : "");
	return true;
}
