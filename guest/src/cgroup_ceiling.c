/* What all sandboxes may take together. Each has limits of its own, but there may be more sandboxes than the host has room for;
 * then the kernel would choose among all processes whom to end, and fail forks of everybody, the server's too. Below a bound of
 * their own both happen among them. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "spawn.h"

#define RESERVE (1ll << 30)
/* Beyond it, contexts start from scratch, in the memory of their sandboxes. */
#define TEMPLATES_PART 4

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

static int64_t
memory_around(const char *folder, const char *top, bool v2)
{
	return least_around(folder, top, v2 ? "memory.max" : "memory.limit_in_bytes", cgroup_number("/proc", "meminfo", "MemTotal:") << 10);
}

static void
set_memory(const char *folder, bool v2, int64_t bytes)
{
	if (!v2)
		set(folder, "memory.use_hierarchy", "memory.use_hierarchy", 1); /* older kernels ask for it; newer know nothing else */
	set(folder, v2 ? "memory.max" : "memory.limit_in_bytes", v2 ? "memory.current" : "memory.usage_in_bytes", bytes);
}

void
cgroup_bound_templates(const char *folder, const char *top, bool v2)
{
	set_memory(folder, v2, memory_around(folder, top, v2) / TEMPLATES_PART);
}

void
cgroup_bound(const char *folder, const char *top, bool v2)
{
	int64_t memory = memory_around(folder, top, v2);
	int64_t reserve = memory / 8 > RESERVE ? memory / 8 : RESERVE;
	set_memory(folder, v2, memory - (reserve < memory / 2 ? reserve : memory / 2));
	int64_t pids = cgroup_number("/proc/sys/kernel", "pid_max", ""), threads = cgroup_number("/proc/sys/kernel", "threads-max", "");
	set(folder, "pids.max", "pids.current", least_around(folder, top, "pids.max", threads < pids ? threads : pids) / 4 * 3);
}
