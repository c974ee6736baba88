/* The ids of a companion whose server is not root: it becomes the root of a user namespace of its own, which lets it make a
 * stage and lets the runtime make a container. The server's user is id 0 there, and behind it come the ids of the sandbox:
 *   slice   1 to 3 are subordinate ids of the server's user that no other sandbox has; the sandbox gets these and not 0
 *   one     there are none, and the sandbox gets 0 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "idmap.h"
#include "oci.h"
#include "syscalls.h"

static struct id_pool pool;
static int slot = -1;
static char run[HOST_PATH_MAX];
static const char *id;

int
oci_ids_main(void)
{
	id_pool_detect(&pool, 0);
	if (pool.map == MAP_SLICE)
		puts("slice");
	else
		printf("one %s\n", pool.reason);
	return fflush(stdout) == 0 ? 0 : 1;
}

static bool
claim(const char *folder, struct failure *failure)
{
	const char *name = strrchr(folder, '/');
	id_pool_detect(&pool, 0);
	if (name == NULL || pool.map != MAP_SLICE)
		return give_up(failure, KIND_ISOLATION, "uid-range", 0, "%s", pool.reason);
	snprintf(run, sizeof run, "%.*s", (int)(name - folder), folder);
	id = name + 1;
	slot = id_pool_claim(&pool, run, id);
	return slot >= 0 || give_up(failure, KIND_ENGINE, "uid-range", errno, "all of the user's subordinate ids are in use");
}

static bool
write_own(const char *name, const char *text)
{
	char path[48];
	snprintf(path, sizeof path, "/proc/self/%s", name);
	int file = open(path, O_WRONLY | O_CLOEXEC);
	bool good = file >= 0 && write_all(file, text, strlen(text));
	if (file >= 0)
		close(file);
	return good;
}

bool
take_one_id(uint32_t inside, uint32_t outside_uid, uint32_t outside_gid)
{
	char uids[48], gids[48];
	snprintf(uids, sizeof uids, "%u %u 1", inside, outside_uid);
	snprintf(gids, sizeof gids, "%u %u 1", inside, outside_gid);
	return unshare(CLONE_NEWUSER) == 0 && write_own("setgroups", "deny") && write_own("uid_map", uids) && write_own("gid_map", gids);
}

/* Whoever maps ids for us has a right to them outside: a child that stays behind while we go. */
static pid_t
start_mapper(int go, int ours)
{
	char byte;
	const pid_t companion = getpid();
	pid_t child = fork();
	if (child != 0)
		return child;
	close(ours);
	_exit(read(go, &byte, 1) == 1 && id_map_behind(&pool, slot, companion) ? 0 : 1);
}

static bool
take_slice(struct failure *failure)
{
	int ends[2], status = -1;
	if (pipe2(ends, O_CLOEXEC) != 0)
		return give_up(failure, KIND_ENGINE, "user-namespace", errno, "pipe");
	pid_t mapper = start_mapper(ends[0], ends[1]);
	bool own = mapper > 0 && unshare(CLONE_NEWUSER) == 0;
	if (!own)
		give_up(failure, KIND_ISOLATION, "user-namespace", errno, "an ordinary user makes none here");
	bool told = own && write_all(ends[1], "g", 1);
	close(ends[0]);
	close(ends[1]);
	while (mapper > 0 && waitpid(mapper, &status, 0) < 0 && errno == EINTR)
		continue;
	if (!own)
		return false;
	if (!told || status != 0)
		return give_up(failure, KIND_ISOLATION, "uid-range", 0, "newuidmap or newgidmap refused; their words are above");
	/* The sandbox is to have none of the groups that the server's user is in. */
	return setgroups(0, NULL) == 0 || give_up(failure, KIND_ENGINE, "uid-range", errno, "leaving the user's groups");
}

bool
oci_take_ids(const char *kind, const char *folder, struct failure *failure)
{
	if (strcmp(kind, "slice") == 0)
		return claim(folder, failure) && take_slice(failure);
	return take_one_id(0, geteuid(), getegid())
		|| give_up(failure, KIND_ISOLATION, "user-namespace", errno, "an ordinary user makes none here");
}

bool
oci_share_folder(const char *path, struct failure *failure)
{
	return slot < 0 || (chown(path, 1, 0) == 0 && chmod(path, 02770) == 0)
		|| give_up(failure, KIND_ENGINE, "stage", errno, "giving %s to the guest", path);
}

void
oci_leave_ids(void)
{
	id_pool_release(&pool, slot, run, id);
}
