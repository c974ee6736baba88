/* User and group id maps: a range per sandbox as root, a slice of the subordinate ids or the one own id otherwise. */
#include "idmap.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "syscalls.h"

#define RANGE 65536u
#define REGISTRY "slots"
#define OWNER_SIZE (HOST_PATH_MAX + ID_MAX)
#define SLICE 4u /* ids: root, carrel, nobody, and one spare */

/* True when our own user namespace has all ids of the stretch. */
static bool
have_ids(const char *map, uint64_t first, uint64_t count)
{
	FILE *file = fopen(map, "re");
	unsigned long long inside, outside, length;
	bool found = false;
	while (file != NULL && !found && fscanf(file, "%llu %llu %llu", &inside, &outside, &length) == 3)
		found = first >= inside && first + count <= inside + length;
	if (file != NULL)
		fclose(file);
	return found;
}

/* The first stretch of subordinate ids of this user in /etc/subuid or /etc/subgid. */
static bool
subordinate(const char *path, uint32_t *base, uint32_t *count)
{
	char line[256], number[16];
	const struct passwd *user = getpwuid(getuid());
	snprintf(number, sizeof number, "%u", (unsigned)getuid());
	FILE *file = fopen(path, "re");
	bool found = false;
	while (file != NULL && !found && fgets(line, sizeof line, file) != NULL) {
		char *first = strchr(line, ':');
		char *length = first != NULL ? strchr(first + 1, ':') : NULL;
		if (length == NULL)
			continue;
		*first++ = 0;
		*length++ = 0;
		if (strcmp(line, number) != 0 && (user == NULL || strcmp(line, user->pw_name) != 0))
			continue;
		*base = (uint32_t)strtoul(first, NULL, 10);
		*count = (uint32_t)strtoul(length, NULL, 10);
		found = *count >= SLICE;
	}
	if (file != NULL)
		fclose(file);
	return found;
}

static void
choose_registry(struct id_pool *pool)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	if (geteuid() == 0)
		snprintf(pool->registry, sizeof pool->registry, "/run/carrel-ids");
	else if (runtime != NULL && strlen(runtime) < sizeof pool->registry - sizeof "/carrel-ids" && access(runtime, W_OK) == 0)
		snprintf(pool->registry, sizeof pool->registry, "%.40s/carrel-ids", runtime);
	else
		snprintf(pool->registry, sizeof pool->registry, "/tmp/carrel-ids-%u", (unsigned)geteuid());
}

void
id_pool_detect(struct id_pool *pool, uint32_t base)
{
	uint32_t uids = 0, gids = 0;
	memset(pool, 0, sizeof *pool);
	choose_registry(pool);
	if (geteuid() == 0) {
		const uint64_t all = (uint64_t)RANGE * SLOTS_MAX;
		if (have_ids("/proc/self/uid_map", base, all) && have_ids("/proc/self/gid_map", base, all)) {
			*pool = (struct id_pool){.map = MAP_RANGE, .uid_base = base, .gid_base = base, .ids = RANGE, .slots = SLOTS_MAX};
			choose_registry(pool);
			return;
		}
		snprintf(pool->reason, sizeof pool->reason, "our own user namespace lacks the ids from %u on", base);
	} else if (access("/usr/bin/newuidmap", X_OK) != 0 || access("/usr/bin/newgidmap", X_OK) != 0) {
		snprintf(pool->reason, sizeof pool->reason, "not root, and newuidmap is not installed (package uidmap)");
	} else if (!subordinate("/etc/subuid", &pool->uid_base, &uids) || !subordinate("/etc/subgid", &pool->gid_base, &gids)) {
		snprintf(pool->reason, sizeof pool->reason, "not root, and no ids for this user in /etc/subuid and /etc/subgid");
	} else {
		uint32_t slots = (uids < gids ? uids : gids) / SLICE;
		pool->map = MAP_SLICE;
		pool->ids = SLICE;
		pool->slots = slots < SLOTS_MAX ? (int)slots : SLOTS_MAX;
		return;
	}
	pool->map = MAP_SINGLE;
}

/* Opens the registry and takes its lock; the folder must be ours, for it may lie in /tmp. */
static int
lock_registry(const struct id_pool *pool)
{
	struct stat status;
	int folder = open(pool->registry, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (folder < 0 && errno == ENOENT && (mkdir(pool->registry, 0700) == 0 || errno == EEXIST))
		folder = open(pool->registry, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (folder < 0)
		return -1;
	bool ours = fstat(folder, &status) == 0 && status.st_uid == geteuid();
	int registry = ours ? openat(folder, REGISTRY, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600) : -1;
	close(folder);
	if (registry >= 0 && flock(registry, LOCK_EX) != 0) {
		close(registry);
		return -1;
	}
	return registry;
}

/* Who has a slot; "": nobody. */
static bool
read_holder(int registry, int slot, char held[OWNER_SIZE])
{
	ssize_t length = pread(registry, held, OWNER_SIZE - 1, (off_t)slot * OWNER_SIZE);
	held[length > 0 ? length : 0] = 0;
	return length >= 0;
}

static bool
write_holder(int registry, int slot, const char *owner)
{
	char record[OWNER_SIZE] = {0};
	snprintf(record, sizeof record, "%s", owner);
	return pwrite(registry, record, sizeof record, (off_t)slot * OWNER_SIZE) == sizeof record;
}

/* Under the lock, so that of two who find the same folder gone one has its slot. */
static bool
take(int registry, int slot, const char *owner)
{
	char held[OWNER_SIZE];
	if (!read_holder(registry, slot, held))
		return false;
	bool vacant = held[0] == 0 || (faccessat(AT_FDCWD, held, F_OK, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT);
	return vacant && write_holder(registry, slot, owner);
}

int
id_pool_claim(const struct id_pool *pool, const char *run, const char *id)
{
	static int next;
	char owner[OWNER_SIZE];
	if (pool->map == MAP_SINGLE)
		return 0;
	int registry = lock_registry(pool);
	if (registry < 0)
		return -1;
	snprintf(owner, sizeof owner, "%s/%s", run, id);
	int slot = -1;
	for (int i = 0; i < pool->slots && slot < 0; i++)
		if (take(registry, (next + i) % pool->slots, owner))
			slot = (next + i) % pool->slots;
	close(registry);
	if (slot >= 0)
		next = slot + 1;
	return slot;
}

static bool
holds(int registry, int slot, const char *owner)
{
	char held[OWNER_SIZE];
	return read_holder(registry, slot, held) && strcmp(held, owner) == 0;
}

bool
id_pool_keep(const struct id_pool *pool, int slot, const char *run, const char *id)
{
	char owner[OWNER_SIZE];
	int registry = lock_registry(pool);
	if (registry < 0)
		return false;
	snprintf(owner, sizeof owner, "%s/%s", run, id);
	bool ours = holds(registry, slot, owner) || take(registry, slot, owner);
	close(registry);
	return ours;
}

bool
id_pool_move(const struct id_pool *pool, int slot, const char *run, const char *id)
{
	char owner[OWNER_SIZE];
	int registry = lock_registry(pool);
	if (registry < 0)
		return false;
	snprintf(owner, sizeof owner, "%s/%s", run, id);
	bool good = write_holder(registry, slot, owner);
	close(registry);
	return good;
}

void
id_pool_release(const struct id_pool *pool, int slot, const char *run, const char *id)
{
	char owner[OWNER_SIZE];
	int registry = pool->map == MAP_SINGLE || slot < 0 ? -1 : lock_registry(pool);
	if (registry < 0)
		return;
	snprintf(owner, sizeof owner, "%s/%s", run, id);
	if (holds(registry, slot, owner))
		write_holder(registry, slot, "");
	close(registry);
}

uid_t
id_pool_first(const struct id_pool *pool, int slot)
{
	return pool->uid_base + (uint32_t)slot * pool->ids;
}

void
id_pool_describe(const struct id_pool *pool, int slot, struct measures *measures)
{
	unsigned first = id_pool_first(pool, slot);
	measure_applied(measures, MEASURE_USER_NAMESPACE, "own");
	if (pool->map == MAP_SINGLE) {
		measure_missing(measures, MEASURE_UID_RANGE, "%s", pool->reason);
		measure_missing(measures, MEASURE_OWN_GUEST_UID, "%s", pool->reason);
		return;
	}
	measure_applied(measures, MEASURE_UID_RANGE, "%u ids from %u, of no other sandbox", pool->ids, first);
	measure_applied(measures, MEASURE_OWN_GUEST_UID, "guest 0, code %d", INSIDE_UID);
}

static int
write_proc(pid_t pid, const char *name, const char *text)
{
	char path[48];
	snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	ssize_t n = write(fd, text, strlen(text));
	int saved = errno;
	close(fd);
	errno = saved;
	return n < 0 ? -1 : 0;
}

/* Runs newuidmap or newgidmap. In the mapper. */
static int
run_program(char **arguments)
{
	pid_t helper = fork();
	if (helper == 0) {
		execve(arguments[0], arguments, (char *[]){"PATH=/usr/bin:/bin", NULL});
		_exit(127);
	}
	int status = -1;
	while (helper > 0 && waitpid(helper, &status, 0) < 0 && errno == EINTR)
		continue;
	return helper > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* For a slice: root, carrel and nobody. */
static int
run_mapper(const char *program, pid_t child, uint32_t first)
{
	char pid[16], number[3][16];
	snprintf(pid, sizeof pid, "%d", (int)child);
	for (uint32_t i = 0; i < 3; i++)
		snprintf(number[i], sizeof number[i], "%u", first + i);
	char *arguments[] = {(char *)program, pid, "0", number[0], "1", "1000", number[1], "1", "65534", number[2], "1", NULL};
	return run_program(arguments);
}

bool
id_map_behind(const struct id_pool *pool, int slot, pid_t process)
{
	char pid[16], uid[16], gid[16], first_uid[16], first_gid[16];
	uint32_t offset = (uint32_t)slot * pool->ids;
	snprintf(pid, sizeof pid, "%d", (int)process);
	snprintf(uid, sizeof uid, "%u", (unsigned)geteuid());
	snprintf(gid, sizeof gid, "%u", (unsigned)getegid());
	snprintf(first_uid, sizeof first_uid, "%u", pool->uid_base + offset);
	snprintf(first_gid, sizeof first_gid, "%u", pool->gid_base + offset);
	char *uids[] = {"/usr/bin/newuidmap", pid, "0", uid, "1", "1", first_uid, "3", NULL};
	char *gids[] = {"/usr/bin/newgidmap", pid, "0", gid, "1", "1", first_gid, "3", NULL};
	return run_program(uids) == 0 && run_program(gids) == 0;
}

static pid_t
start_mapper(const struct id_pool *pool, int slot, pid_t child, int sync, int report)
{
	pid_t mapper = fork();
	if (mapper != 0)
		return mapper;
	static struct report answer;
	uint32_t offset = (uint32_t)slot * pool->ids;
	int result = run_mapper("/usr/bin/newuidmap", child, pool->uid_base + offset);
	if (result == 0)
		result = run_mapper("/usr/bin/newgidmap", child, pool->gid_base + offset);
	if (result == 0 && write_all(sync, "g", 1))
		_exit(0);
	give_up(&answer.failure, KIND_ENGINE, "id-map", 0, "newuidmap or newgidmap ended with %d", result);
	_exit(write_all(report, &answer, sizeof answer) ? 1 : 2);
}

bool
id_map(const struct id_pool *pool, int slot, pid_t child, int sync, int report, pid_t *mapper, struct failure *failure)
{
	char uids[48], gids[48];
	*mapper = 0;
	if (pool->map == MAP_SLICE) {
		*mapper = start_mapper(pool, slot, child, sync, report);
		return *mapper > 0 || give_up(failure, KIND_ENGINE, "id-map", errno, "fork");
	}
	if (pool->map == MAP_RANGE) {
		uint32_t offset = (uint32_t)slot * pool->ids;
		snprintf(uids, sizeof uids, "0 %u %u", pool->uid_base + offset, pool->ids);
		snprintf(gids, sizeof gids, "0 %u %u", pool->gid_base + offset, pool->ids);
	} else {
		snprintf(uids, sizeof uids, "%d %u 1", INSIDE_UID, (unsigned)geteuid());
		snprintf(gids, sizeof gids, "%d %u 1", INSIDE_UID, (unsigned)getegid());
		if (write_proc(child, "setgroups", "deny") != 0)
			return give_up(failure, KIND_ENGINE, "id-map", errno, "setgroups");
	}
	if (write_proc(child, "uid_map", uids) != 0)
		return give_up(failure, KIND_ENGINE, "id-map", errno, "uid_map %s", uids);
	if (write_proc(child, "gid_map", gids) != 0)
		return give_up(failure, KIND_ENGINE, "id-map", errno, "gid_map %s", gids);
	return write_all(sync, "g", 1) || give_up(failure, KIND_ENGINE, "id-map", errno, "waking the child");
}
