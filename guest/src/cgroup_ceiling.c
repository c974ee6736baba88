/* What all sandboxes may take together. Each has limits of its own, but there may be more sandboxes than the host has room for;
 * then the kernel would choose among all processes whom to end, and fail forks of everybody, the server's too. Below a bound of
 * their own both happen among them. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "spawn.h"

#define RESERVE (1ll << 30)

/* The least of what is there and what the groups around a folder allow. */
static int64_t
least_around(const char *folder, const char *top, const char *file, int64_t least)
{
	char path[CGROUP_PATH_MAX];
	char *slash;
	snprintf(path, sizeof path, "%s", folder);
	while ((slash = strrchr(path, '/')) != NULL && (size_t)(slash - path) >= strlen(top)) {
		*slash = 0;
		int64_t allowed = cgroup_number(path, file, ""); /* 0 for "max" too */
		if (allowed > 0 && allowed < least)
			least = allowed;
	}
	return least;
}

/* Whoever runs already stays: version 2 would kill to get below a limit. */
static void
set(const char *folder, const char *limit, const char *usage, int64_t value)
{
	int directory = value > cgroup_number(folder, usage, "") ? open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	if (directory < 0)
		return;
	cgroup_write_int(directory, limit, value);
	close(directory);
}

void
cgroup_bound(const char *folder, const char *top, bool v2)
{
	const char *file = v2 ? "memory.max" : "memory.limit_in_bytes";
	int64_t memory = least_around(folder, top, file, cgroup_number("/proc", "meminfo", "MemTotal:") << 10);
	int64_t reserve = memory / 8 > RESERVE ? memory / 8 : RESERVE;
	if (!v2)
		set(folder, "memory.use_hierarchy", "memory.use_hierarchy", 1); /* older kernels ask for it; newer know nothing else */
	set(folder, file, v2 ? "memory.current" : "memory.usage_in_bytes", memory - (reserve < memory / 2 ? reserve : memory / 2));
	int64_t pids = cgroup_number("/proc/sys/kernel", "pid_max", ""), threads = cgroup_number("/proc/sys/kernel", "threads-max", "");
	set(folder, "pids.max", "pids.current", least_around(folder, top, "pids.max", threads < pids ? threads : pids) / 4 * 3);
}
