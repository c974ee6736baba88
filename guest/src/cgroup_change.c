/* Limits of a running sandbox, changed. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "spawn.h"

static bool
write_file(const struct hierarchy *group, const char *name, int64_t value)
{
	int directory = open(group->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (directory < 0)
		return false;
	int result = cgroup_write_int(directory, name, value);
	int saved = errno;
	close(directory);
	errno = saved;
	return result == 0;
}

static bool
too_much(const char *what, int64_t used, int64_t wanted, const char *unit, struct failure *failure)
{
	return give_up(failure, KIND_CONFLICT, "limits", 0, "%lld%s of %s are in use, more than the %lld%s that were asked for",
		(long long)used, unit, what, (long long)wanted, unit);
}

/* Rounded so that what is in use and what was asked for differ also when they nearly do not. */
static int64_t
mebibytes(int64_t used)
{
	return (used + (1 << 20) - 1) >> 20;
}

static bool
memory_in_use(const struct hierarchy *group, int64_t wanted, struct failure *failure)
{
	int64_t used = cgroup_number(group->path, group->v2 ? "memory.current" : "memory.usage_in_bytes", "");
	return too_much("memory", mebibytes(used), wanted >> 20, " MiB", failure);
}

/* Version 1 takes back what it can by itself and says EBUSY when that is not enough. Memory and swap together may never be
 * less than memory alone, so they change in an order. A host that does not account swap has no file for it, and one without
 * TCP none for the buffers of sockets. */
static bool
change_memory_1(const struct hierarchy *group, int64_t old, int64_t wanted, struct failure *failure)
{
	enum { BUFFERS, MEMORY, WITH_SWAP, FILES };
	static const char *const files[] = {SOCKET_BUFFERS_LIMIT, "memory.limit_in_bytes", "memory.memsw.limit_in_bytes"};
	bool raise = wanted > old;
	for (int i = 0; i < FILES; i++) {
		int file = raise ? FILES - 1 - i : i;
		if (write_file(group, files[file], wanted) || (errno == ENOENT && file != MEMORY))
			continue;
		int error = errno;
		while (i-- > 0)
			write_file(group, files[raise ? FILES - 1 - i : i], old);
		if (error == EBUSY && file == BUFFERS)
			return too_much("socket buffers", mebibytes(cgroup_number(group->path, "memory.kmem.tcp.usage_in_bytes", "")),
				wanted >> 20, " MiB", failure);
		if (error == EBUSY)
			return memory_in_use(group, wanted, failure);
		if (error == EINTR)
			return give_up(failure, KIND_CONFLICT, "limits", 0,
				"more than the %lld MiB that were asked for is in use, and could not be taken back in time",
				(long long)(wanted >> 20));
		return give_up(failure, KIND_ENGINE, "limits", error, "%s/%s", group->path, files[file]);
	}
	return true;
}

/* Version 2 would kill for a limit below what is in use: so it is looked at first, after what can be given back was. */
static bool
change_memory_2(const struct hierarchy *group, int64_t wanted, struct failure *failure)
{
	int64_t used = cgroup_number(group->path, "memory.current", "");
	if (used > wanted) {
		write_file(group, "memory.reclaim", used - wanted); /* kernels before 5.19 have none */
		used = cgroup_number(group->path, "memory.current", "");
	}
	if (used > wanted)
		return memory_in_use(group, wanted, failure);
	return write_file(group, "memory.max", wanted) || give_up(failure, KIND_ENGINE, "limits", errno, "%s/memory.max", group->path);
}

/* As far as it goes: what came in meanwhile may need more than there was before. */
static void
put_back(const struct hierarchy *memory, const struct hierarchy *pids, const struct limits *old, const struct limits *limits)
{
	struct failure ignored;
	if (limits->pids != old->pids)
		write_file(pids, "pids.max", old->pids);
	if (limits->memory != old->memory && memory->v2)
		change_memory_2(memory, old->memory, &ignored);
	else if (limits->memory != old->memory)
		change_memory_1(memory, limits->memory, old->memory, &ignored);
}

bool
cgroup_change(const struct hierarchies *of, const struct limits *old, const struct limits *limits, struct failure *failure)
{
	const struct hierarchy *memory = cgroup_carrier(of, CG_MEMORY), *pids = cgroup_carrier(of, CG_PIDS);
	if ((memory == NULL && limits->memory != old->memory) || (pids == NULL && limits->pids != old->pids)
		|| (cgroup_carrier(of, CG_CPU) == NULL && limits->cpu != old->cpu))
		return give_up(failure, KIND_UNSUPPORTED, "limits", 0, "the sandbox has no control group for this limit");
	/* What can be refused comes first, so that a refusal changes nothing. */
	if (limits->pids < old->pids && cgroup_number(pids->path, "pids.current", "") > limits->pids)
		return too_much("processes and threads", cgroup_number(pids->path, "pids.current", ""), limits->pids, "", failure);
	if (limits->memory != old->memory
		&& !(memory->v2 ? change_memory_2(memory, limits->memory, failure)
				: change_memory_1(memory, old->memory, limits->memory, failure)))
		return false;
	bool good = limits->pids == old->pids || write_file(pids, "pids.max", limits->pids)
		|| give_up(failure, KIND_ENGINE, "limits", errno, "%s/pids.max", pids->path);
	if (good && (limits->cpu == old->cpu || cgroup_limit_cpu(of, limits, failure)))
		return true;
	put_back(memory, pids, old, limits);
	return false;
}

void
cgroup_limits_now(const struct hierarchies *of, struct limits *limits)
{
	const struct hierarchy *memory = cgroup_carrier(of, CG_MEMORY), *pids = cgroup_carrier(of, CG_PIDS);
	int64_t bytes = memory == NULL ? 0 : cgroup_number(memory->path, memory->v2 ? "memory.max" : "memory.limit_in_bytes", "");
	const struct hierarchy *cpu = cgroup_carrier(of, CG_CPU);
	int64_t most = pids == NULL ? 0 : cgroup_number(pids->path, "pids.max", "");
	int64_t quota = cpu == NULL ? 0 : cgroup_number(cpu->path, cpu->v2 ? "cpu.max" : "cpu.cfs_quota_us", "");
	if (bytes > 0 && bytes < INT64_MAX / 2) /* more means that there is none */
		limits->memory = bytes;
	if (most > 0)
		limits->pids = most;
	if (quota > 0)
		limits->cpu = quota * 1000 / CPU_PERIOD_US;
}
