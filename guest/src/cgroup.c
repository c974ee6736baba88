/* Control groups: one per sandbox and hierarchy, its limits and its counters. */
#include "cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "spawn.h"

static const char *const controller_names[CG_COUNT] = {"memory", "pids", "cpu", "cpuacct", "freezer"};

const char *
controller_name(enum controller controller)
{
	return controller_names[controller];
}

int
cgroup_write(int directory, const char *name, const char *text)
{
	int fd = openat(directory, name, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	ssize_t n = write(fd, text, strlen(text));
	int saved = errno;
	close(fd);
	errno = saved;
	return n < 0 ? -1 : 0;
}

int
cgroup_write_int(int directory, const char *name, int64_t value)
{
	char text[24];
	snprintf(text, sizeof text, "%lld", (long long)value);
	return cgroup_write(directory, name, text);
}

ssize_t
cgroup_read_file(const char *folder, const char *name, char *text, size_t size)
{
	char path[CGROUP_PATH_MAX + 64];
	snprintf(path, sizeof path, "%s/%s", folder, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	ssize_t n = read(fd, text, size - 1);
	close(fd);
	/* What fills the buffer may end within a line, and the beginning of a process's number is another process's. */
	if (n == (ssize_t)size - 1)
		while (n > 0 && text[n - 1] != '\n')
			n--;
	text[n > 0 ? n : 0] = 0;
	return n;
}

bool
cgroup_paths(const struct cgroup_host *host, const char *id, bool template, struct hierarchies *out)
{
	out->count = host->parents.count;
	for (int i = 0; i < out->count; i++) {
		const struct hierarchy *parent = &host->parents.at[i];
		struct hierarchy *group = &out->at[i];
		const char *below = template && parent->controllers & 1u << CG_MEMORY ? "/" ZYGOTES : "";
		if ((size_t)snprintf(group->path, sizeof group->path, "%s%s/%s", parent->path, below, id) >= sizeof group->path)
			return false;
		group->v2 = parent->v2;
		group->controllers = parent->controllers;
	}
	return true;
}

static int
limit_memory(int group, bool v2, int64_t bytes, struct measures *measures)
{
	const char *swap = "without swap";
	if (cgroup_write_int(group, v2 ? "memory.max" : "memory.limit_in_bytes", bytes) != 0)
		return -1;
	if (v2) {
		if (cgroup_write(group, "memory.swap.max", "0") != 0)
			swap = "this kernel does not account swap";
	} else if (cgroup_write_int(group, "memory.memsw.limit_in_bytes", bytes) != 0) {
		cgroup_write(group, "memory.swappiness", "0");
		swap = "swap is not accounted here, swappiness 0";
	}
	/* Version 2 counts the buffers of sockets with the rest; version 1 apart, and not at all without a limit of their own. */
	if (!v2 && cgroup_write_int(group, SOCKET_BUFFERS_LIMIT, bytes) != 0 && errno != ENOENT)
		return -1;
	measure_applied(measures, MEASURE_MEMORY_LIMIT, "%lld bytes, %s", (long long)bytes, swap);
	return 0;
}

static int64_t
cpu_quota(const struct limits *limits)
{
	return limits->cpu * CPU_PERIOD_US / 1000;
}

bool
cgroup_limit_cpu(const struct hierarchies *of, const struct limits *limits, struct failure *failure)
{
	char text[48];
	for (int i = 0; i < of->count; i++) {
		if ((of->at[i].controllers & 1u << CG_CPU) == 0)
			continue;
		const char *name = of->at[i].v2 ? "cpu.max" : "cpu.cfs_quota_us";
		int used = snprintf(text, sizeof text, "%lld", (long long)cpu_quota(limits));
		if (of->at[i].v2)
			snprintf(text + used, sizeof text - (size_t)used, " %d", CPU_PERIOD_US);
		int directory = open(of->at[i].path, O_PATH | O_DIRECTORY | O_CLOEXEC);
		bool good = directory >= 0 && cgroup_write(directory, name, text) == 0;
		int error = errno;
		if (directory >= 0)
			close(directory);
		if (!good)
			return give_up(failure, KIND_ENGINE, "cgroup", error, "%s/%s", of->at[i].path, name);
	}
	return true;
}

static void
say_pids(const struct limits *limits, struct measures *measures)
{
	measure_applied(measures, MEASURE_PIDS_LIMIT, "%lld processes and threads", (long long)limits->pids);
}

static void
say_cpu(const struct limits *limits, struct measures *measures)
{
	measure_applied(measures, MEASURE_CPU_LIMIT, "%lld us in each %d us", (long long)cpu_quota(limits), CPU_PERIOD_US);
}

void
cgroup_describe(const struct limits *limits, struct measures *measures)
{
	char swap[DETAIL_MAX] = "";
	const char *comma = strchr(measures->detail[MEASURE_MEMORY_LIMIT], ',');
	if (comma != NULL)
		memcpy(swap, comma, strlen(comma) + 1); /* what was said of it stays true */
	if (measures->applied[MEASURE_MEMORY_LIMIT])
		measure_applied(measures, MEASURE_MEMORY_LIMIT, "%lld bytes%.60s", (long long)limits->memory, swap);
	if (measures->applied[MEASURE_PIDS_LIMIT])
		say_pids(limits, measures);
	if (measures->applied[MEASURE_CPU_LIMIT])
		say_cpu(limits, measures);
}

/* Makes one group, sets its limits and opens the way in. */
static int
make_group(const struct hierarchy *group, const struct limits *limits, struct cgroup_fds *fds, struct measures *measures)
{
	if (mkdir(group->path, 0755) != 0)
		return -1;
	int directory = open(group->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (directory < 0)
		return -1;
	bool v2 = group->v2, good = true;
	if (group->controllers & 1u << CG_MEMORY)
		good = limit_memory(directory, v2, limits->memory, measures) == 0;
	if (good && group->controllers & 1u << CG_PIDS) {
		good = cgroup_write_int(directory, "pids.max", limits->pids) == 0;
		say_pids(limits, measures);
	}
	if (group->controllers & 1u << CG_CPU)
		say_cpu(limits, measures);
	if (group->controllers & 1u << CG_FREEZER)
		measure_applied(measures, MEASURE_FREEZER, "version %d", v2 ? 2 : 1);
	if (good && v2) {
		fds->unified = directory;
		return 0;
	}
	if (good) {
		int tasks = openat(directory, "tasks", O_WRONLY | O_CLOEXEC);
		good = tasks >= 0;
		if (good)
			fds->tasks[fds->count++] = tasks;
	}
	int saved = errno;
	close(directory);
	errno = saved;
	return good ? 0 : -1;
}

static void
say_missing(const struct cgroup_host *host, struct measures *measures)
{
	static const struct {
		enum controller controller;
		enum measure measure;
	} pairs[] = {{CG_MEMORY, MEASURE_MEMORY_LIMIT}, {CG_PIDS, MEASURE_PIDS_LIMIT}, {CG_CPU, MEASURE_CPU_LIMIT},
		{CG_FREEZER, MEASURE_FREEZER}};
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
		if (host->reason[pairs[i].controller][0] != 0)
			measure_missing(measures, pairs[i].measure, "%s: %s", controller_names[pairs[i].controller],
				host->reason[pairs[i].controller]);
}

bool
cgroup_create(const struct cgroup_host *host, const char *id, bool template, const struct limits *limits,
	struct hierarchies *made, struct cgroup_fds *fds, struct measures *measures, struct failure *failure)
{
	*fds = (struct cgroup_fds){.unified = -1};
	say_missing(host, measures);
	if (!cgroup_paths(host, id, template, made))
		return give_up(failure, KIND_ENGINE, "cgroup", ENAMETOOLONG, "control group of %s", id);
	for (int i = 0; i < made->count; i++) {
		if (make_group(&made->at[i], limits, fds, measures) == 0)
			continue;
		int error = errno;
		cgroup_close(fds);
		cgroup_remove(made);
		return give_up(failure, error == EEXIST ? KIND_BUSY : KIND_ENGINE, "cgroup", error, "control group %s",
			made->at[i].path);
	}
	return true;
}

void
cgroup_close(struct cgroup_fds *fds)
{
	for (int i = 0; i < fds->count; i++)
		close(fds->tasks[i]);
	if (fds->unified >= 0)
		close(fds->unified);
	*fds = (struct cgroup_fds){.unified = -1};
}

const struct hierarchy *
cgroup_carrier(const struct hierarchies *of, enum controller controller)
{
	for (int i = 0; i < of->count; i++)
		if (of->at[i].controllers & 1u << controller)
			return &of->at[i];
	return NULL;
}

static bool
write_freezer(const struct hierarchies *of, const char *first, const char *second)
{
	const struct hierarchy *group = cgroup_carrier(of, CG_FREEZER);
	errno = EOPNOTSUPP;
	int directory = group == NULL ? -1 : open(group->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (directory < 0)
		return false;
	int result = cgroup_write(directory, group->v2 ? "cgroup.freeze" : "freezer.state", group->v2 ? second : first);
	int saved = errno;
	close(directory);
	errno = saved;
	return result == 0;
}

bool
cgroup_freeze(const struct hierarchies *of)
{
	return write_freezer(of, "FROZEN", "1");
}

void
cgroup_thaw(const struct hierarchies *of)
{
	write_freezer(of, "THAWED", "0");
}

void
cgroup_kill(const struct hierarchies *of)
{
	char pids[8192];
	for (int i = 0; i < of->count; i++) {
		if (cgroup_read_file(of->at[i].path, "cgroup.procs", pids, sizeof pids) <= 0)
			continue;
		char *save = NULL;
		for (char *pid = strtok_r(pids, "\n", &save); pid != NULL; pid = strtok_r(NULL, "\n", &save))
			if (atoi(pid) > 1)
				kill(atoi(pid), SIGKILL);
	}
}

int
cgroup_remove(const struct hierarchies *of)
{
	int result = 0;
	for (int i = 0; i < of->count; i++)
		if (rmdir(of->at[i].path) != 0 && errno != ENOENT)
			result = errno;
	return result;
}

int64_t
cgroup_number(const char *folder, const char *name, const char *word)
{
	char text[2048];
	if (cgroup_read_file(folder, name, text, sizeof text) <= 0)
		return 0;
	size_t length = strlen(word);
	for (const char *line = text; *line != 0; line += strcspn(line, "\n"), line += *line == '\n') {
		if (length == 0)
			return strtoll(line, NULL, 10);
		if (strncmp(line, word, length) == 0 && line[length] == ' ')
			return strtoll(line + length, NULL, 10);
	}
	return 0;
}

bool
cgroup_frozen(const struct hierarchies *of)
{
	char text[16];
	const struct hierarchy *group = cgroup_carrier(of, CG_FREEZER);
	if (group == NULL)
		return false;
	if (group->v2)
		return cgroup_number(group->path, "cgroup.events", "frozen") == 1;
	return cgroup_read_file(group->path, "freezer.state", text, sizeof text) > 0 && strcmp(text, "FROZEN\n") == 0;
}

void
cgroup_read(const struct hierarchies *of, struct cgroup_counters *counters)
{
	memset(counters, 0, sizeof *counters);
	for (int i = 0; i < of->count; i++) {
		const struct hierarchy *group = &of->at[i];
		const char *path = group->path;
		if (group->controllers & 1u << CG_MEMORY) {
			counters->memory = cgroup_number(path, group->v2 ? "memory.current" : "memory.usage_in_bytes", "");
			counters->oom_kills = cgroup_number(path, group->v2 ? "memory.events" : "memory.oom_control", "oom_kill");
		}
		if (group->controllers & 1u << CG_PIDS) {
			counters->pids = cgroup_number(path, "pids.current", "");
			counters->pids_refused = cgroup_number(path, "pids.events", "max");
		}
		if (group->controllers & 1u << CG_CPUACCT)
			counters->cpu_ns = group->v2 ? cgroup_number(path, "cpu.stat", "usage_usec") * 1000
						     : cgroup_number(path, "cpuacct.usage", "");
	}
}
