/* Control groups: finding our place in the hierarchies, and one group per sandbox. */
#include "cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "spawn.h"

#define FOLDER "carrel"
#define CPU_PERIOD_US 100000

static const char *const controller_names[CG_COUNT] = {"memory", "pids", "cpu", "cpuacct", "freezer"};

const char *
controller_name(enum controller controller)
{
	return controller_names[controller];
}

static int
write_at(int directory, const char *name, const char *text)
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

static int
write_int_at(int directory, const char *name, int64_t value)
{
	char text[24];
	snprintf(text, sizeof text, "%lld", (long long)value);
	return write_at(directory, name, text);
}

/* Reads a small file of a group; -1 when it is not there. */
static ssize_t
read_in(const char *folder, const char *name, char *text, size_t size)
{
	char path[CGROUP_PATH_MAX + 64];
	snprintf(path, sizeof path, "%s/%s", folder, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	ssize_t n = read(fd, text, size - 1);
	close(fd);
	text[n > 0 ? n : 0] = 0;
	return n;
}

static bool
list_has(const char *list, const char *separators, const char *word)
{
	size_t length = strlen(word);
	while (*list != 0) {
		size_t span = strcspn(list, separators);
		if (span == length && memcmp(list, word, length) == 0)
			return true;
		list += span;
		list += strspn(list, separators);
	}
	return false;
}

/* Our own path in the hierarchy with these controllers ("" for version 2), as /proc/self/cgroup tells it. */
static bool
own_path(const char *membership, const char *controller, char *path, size_t size)
{
	FILE *file = fopen(membership, "re");
	if (file == NULL)
		return false;
	char line[1024];
	bool found = false;
	while (!found && fgets(line, sizeof line, file) != NULL) {
		line[strcspn(line, "\n")] = 0;
		char *list = strchr(line, ':');
		char *where = list != NULL ? strchr(list + 1, ':') : NULL;
		if (where == NULL)
			continue;
		*where++ = 0;
		list++;
		found = controller[0] == 0 ? list[0] == 0 : list_has(list, ",", controller);
		if (found && (size_t)snprintf(path, size, "%s", where) >= size)
			found = false;
	}
	fclose(file);
	return found;
}

struct mount_line {
	char *root, *point, *type, *options;
};

/* Splits one line of mountinfo in place. */
static bool
parse_mount(char *line, struct mount_line *out)
{
	char *save = NULL;
	char *word[6];
	line[strcspn(line, "\n")] = 0;
	for (int i = 0; i < 6; i++)
		if ((word[i] = strtok_r(i == 0 ? line : NULL, " ", &save)) == NULL)
			return false;
	char *next;
	while ((next = strtok_r(NULL, " ", &save)) != NULL && strcmp(next, "-") != 0)
		continue;
	out->root = word[3];
	out->point = word[4];
	out->type = strtok_r(NULL, " ", &save);
	char *source = strtok_r(NULL, " ", &save);
	out->options = strtok_r(NULL, " ", &save);
	return out->type != NULL && source != NULL && out->options != NULL;
}

/* The folder of our own group: the mount may show only a part of the hierarchy. */
static bool
own_folder(const struct mount_line *mount, const char *own, char *path, size_t size)
{
	size_t root = strlen(mount->root);
	if (strcmp(mount->root, "/") == 0)
		root = 0;
	else if (strncmp(own, mount->root, root) != 0 || (own[root] != 0 && own[root] != '/'))
		own = "", root = 0;
	own += root;
	if (strcmp(own, "/") == 0)
		own = "";
	return (size_t)snprintf(path, size, "%s%s", mount->point, own) < size - sizeof "/" FOLDER - ID_MAX;
}

static void
missing(struct cgroup_host *host, unsigned controllers, const char *why, int error)
{
	for (int c = 0; c < CG_COUNT; c++)
		if (controllers & 1u << c)
			snprintf(host->reason[c], CGROUP_REASON_MAX, "%s%s%s", why, error ? ": " : "", error ? strerror(error) : "");
}

/* Gives the sandboxes together the weight of one busy host task per core: neither side starves the other. */
static void
weigh(const struct hierarchy *parent)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	int64_t weight = (parent->v2 ? 100 : 1024) * (cores > 0 ? (cores < 64 ? cores : 64) : 1);
	int directory = open(parent->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (directory < 0)
		return;
	write_int_at(directory, parent->v2 ? "cpu.weight" : "cpu.shares", weight);
	close(directory);
}

static void
add_parent(struct cgroup_host *host, const char *own, bool v2, unsigned controllers)
{
	struct hierarchy *parent = &host->parents.at[host->parents.count];
	snprintf(parent->path, sizeof parent->path, "%.*s/" FOLDER, (int)(CGROUP_PATH_MAX - 1 - sizeof FOLDER), own);
	parent->v2 = v2;
	parent->controllers = controllers;
	if ((mkdir(parent->path, 0755) != 0 && errno != EEXIST) || access(parent->path, W_OK) != 0) {
		missing(host, controllers, "no right to make control groups below our own", errno);
		return;
	}
	missing(host, controllers, "", 0);
	if (controllers & 1u << CG_CPU)
		weigh(parent);
	host->parents.count++;
}

static void
add_version_1(struct cgroup_host *host, const struct mount_line *mount, const char *membership)
{
	unsigned controllers = 0;
	for (int c = 0; c < CG_COUNT; c++)
		if (list_has(mount->options, ",", controller_names[c]))
			controllers |= 1u << c;
	controllers &= ~host->seen;
	host->seen |= controllers;
	char own[CGROUP_PATH_MAX], folder[CGROUP_PATH_MAX];
	if (controllers == 0 || host->parents.count == CG_COUNT)
		return;
	int first = __builtin_ctz(controllers);
	if (!own_path(membership, controller_names[first], own, sizeof own) || !own_folder(mount, own, folder, sizeof folder)) {
		missing(host, controllers, "our own control group's path is too long or unknown", 0);
		return;
	}
	add_parent(host, folder, false, controllers);
}

/* Version 2 forbids processes beside sub-groups with controllers, so ours move to a leaf first. */
static void
move_to_leaf(const char *folder)
{
	char path[CGROUP_PATH_MAX + 64], pids[4096];
	ssize_t n = read_in(folder, "cgroup.procs", pids, sizeof pids);
	snprintf(path, sizeof path, "%s/" FOLDER "-host", folder);
	if (n <= 0 || (mkdir(path, 0755) != 0 && errno != EEXIST))
		return;
	int leaf = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (leaf < 0)
		return;
	char *save = NULL;
	for (char *pid = strtok_r(pids, "\n", &save); pid != NULL; pid = strtok_r(NULL, "\n", &save))
		write_at(leaf, "cgroup.procs", pid);
	close(leaf);
}

/* Turns controllers on for sub-groups; returns those that are on afterwards. Some may be on already where we may not ask. */
static unsigned
delegate(const char *folder, unsigned wanted)
{
	char word[32], text[512];
	unsigned on = 0;
	int directory = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (directory < 0 || read_in(folder, "cgroup.subtree_control", text, sizeof text) <= 0)
		text[0] = 0;
	for (int c = 0; c < CG_COUNT && directory >= 0; c++) {
		snprintf(word, sizeof word, "+%s", controller_names[c]);
		if ((wanted & 1u << c)
			&& (list_has(text, " \n", controller_names[c]) || write_at(directory, "cgroup.subtree_control", word) == 0))
			on |= 1u << c;
	}
	if (directory >= 0)
		close(directory);
	return on;
}

static void
add_version_2(struct cgroup_host *host, const struct mount_line *mount, const char *membership)
{
	const unsigned core = 1u << CG_CPUACCT | 1u << CG_FREEZER; /* no controller needed for these */
	unsigned wanted = ((1u << CG_COUNT) - 1) & ~host->seen, offered = 0;
	char own[CGROUP_PATH_MAX], folder[CGROUP_PATH_MAX], text[512];
	host->seen |= wanted;
	if (wanted == 0 || host->parents.count == CG_COUNT)
		return;
	if (!own_path(membership, "", own, sizeof own) || !own_folder(mount, own, folder, sizeof folder)) {
		missing(host, wanted, "our own control group's path is too long or unknown", 0);
		return;
	}
	if (read_in(folder, "cgroup.controllers", text, sizeof text) > 0)
		for (int c = 0; c < CG_COUNT; c++)
			if (list_has(text, " \n", controller_names[c]))
				offered |= 1u << c;
	offered &= wanted & ~core;
	missing(host, wanted & ~core & ~offered, "this controller is not delegated to our control group", 0);
	move_to_leaf(folder);
	unsigned on = delegate(folder, offered);
	missing(host, offered & ~on, "the controller could not be turned on for sub-groups", 0);
	add_parent(host, folder, true, on | (wanted & core));
	if (host->parents.count > 0 && host->parents.at[host->parents.count - 1].v2)
		delegate(host->parents.at[host->parents.count - 1].path, on);
}

void
cgroup_detect(struct cgroup_host *host, const char *mountinfo, const char *membership)
{
	memset(host, 0, sizeof *host);
	missing(host, (1u << CG_COUNT) - 1, "no control group hierarchy with it is mounted", 0);
	/* Version 1 first: on a hybrid host the version 2 mount carries what is left. */
	for (int pass = 1; pass <= 2; pass++) {
		FILE *file = fopen(mountinfo, "re");
		char line[4096];
		struct mount_line mount;
		while (file != NULL && fgets(line, sizeof line, file) != NULL) {
			if (!parse_mount(line, &mount))
				continue;
			if (pass == 1 && strcmp(mount.type, "cgroup") == 0)
				add_version_1(host, &mount, membership);
			if (pass == 2 && strcmp(mount.type, "cgroup2") == 0)
				add_version_2(host, &mount, membership);
		}
		if (file != NULL)
			fclose(file);
	}
}

bool
cgroup_paths(const struct cgroup_host *host, const char *id, struct hierarchies *out)
{
	out->count = host->parents.count;
	for (int i = 0; i < out->count; i++) {
		const struct hierarchy *parent = &host->parents.at[i];
		struct hierarchy *group = &out->at[i];
		if ((size_t)snprintf(group->path, sizeof group->path, "%s/%s", parent->path, id) >= sizeof group->path)
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
	if (write_int_at(group, v2 ? "memory.max" : "memory.limit_in_bytes", bytes) != 0)
		return -1;
	if (v2) {
		if (write_at(group, "memory.swap.max", "0") != 0)
			swap = "this kernel does not account swap";
	} else if (write_int_at(group, "memory.memsw.limit_in_bytes", bytes) != 0) {
		write_at(group, "memory.swappiness", "0");
		swap = "swap is not accounted here, swappiness 0";
	}
	measure_applied(measures, MEASURE_MEMORY_LIMIT, "%lld bytes, %s", (long long)bytes, swap);
	return 0;
}

static int
limit_cpu(int group, bool v2, int64_t thousandths, struct measures *measures)
{
	char text[48];
	int64_t quota = thousandths * CPU_PERIOD_US / 1000;
	int result;
	if (v2) {
		snprintf(text, sizeof text, "%lld %d", (long long)quota, CPU_PERIOD_US);
		result = write_at(group, "cpu.max", text);
	} else {
		result = write_int_at(group, "cpu.cfs_quota_us", quota);
	}
	measure_applied(measures, MEASURE_CPU_LIMIT, "%lld us in each %d us", (long long)quota, CPU_PERIOD_US);
	return result;
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
		good = write_int_at(directory, "pids.max", limits->pids) == 0;
		measure_applied(measures, MEASURE_PIDS_LIMIT, "%lld processes and threads", (long long)limits->pids);
	}
	if (good && group->controllers & 1u << CG_CPU)
		good = limit_cpu(directory, v2, limits->cpu, measures) == 0;
	if (group->controllers & 1u << CG_FREEZER)
		measure_applied(measures, MEASURE_FREEZER, "version %d", v2 ? 2 : 1);
	if (good && v2) {
		fds->unified = directory;
		return 0;
	}
	if (good) {
		int tasks = openat(directory, "tasks", O_WRONLY | O_CLOEXEC);
		good = tasks >= 0;
		if (good && group->controllers & 1u << CG_CPU)
			fds->cpu = tasks;
		else if (good)
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
cgroup_create(const struct cgroup_host *host, const char *id, const struct limits *limits, struct hierarchies *made,
	struct cgroup_fds *fds, struct measures *measures, struct failure *failure)
{
	*fds = (struct cgroup_fds){.cpu = -1, .unified = -1};
	say_missing(host, measures);
	if (!cgroup_paths(host, id, made))
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
	if (fds->cpu >= 0)
		close(fds->cpu);
	if (fds->unified >= 0)
		close(fds->unified);
	*fds = (struct cgroup_fds){.cpu = -1, .unified = -1};
}

void
cgroup_thaw(const struct hierarchies *of)
{
	for (int i = 0; i < of->count; i++) {
		if ((of->at[i].controllers & 1u << CG_FREEZER) == 0)
			continue;
		int directory = open(of->at[i].path, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (directory < 0)
			continue;
		write_at(directory, of->at[i].v2 ? "cgroup.freeze" : "freezer.state", of->at[i].v2 ? "0" : "THAWED");
		close(directory);
	}
}

void
cgroup_kill(const struct hierarchies *of)
{
	char pids[8192];
	for (int i = 0; i < of->count; i++) {
		if (read_in(of->at[i].path, "cgroup.procs", pids, sizeof pids) <= 0)
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

/* The number after a word at the start of a line; the file's first number when the word is "". */
static int64_t
number_in(const char *folder, const char *name, const char *word)
{
	char text[2048];
	if (read_in(folder, name, text, sizeof text) <= 0)
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

void
cgroup_read(const struct hierarchies *of, struct cgroup_counters *counters)
{
	memset(counters, 0, sizeof *counters);
	for (int i = 0; i < of->count; i++) {
		const struct hierarchy *group = &of->at[i];
		const char *path = group->path;
		if (group->controllers & 1u << CG_MEMORY) {
			counters->memory = number_in(path, group->v2 ? "memory.current" : "memory.usage_in_bytes", "");
			counters->oom_kills = number_in(path, group->v2 ? "memory.events" : "memory.oom_control", "oom_kill");
		}
		if (group->controllers & 1u << CG_PIDS) {
			counters->pids = number_in(path, "pids.current", "");
			counters->pids_refused = number_in(path, "pids.events", "max");
		}
		if (group->controllers & 1u << CG_CPUACCT)
			counters->cpu_ns = group->v2 ? number_in(path, "cpu.stat", "usage_usec") * 1000
						     : number_in(path, "cpuacct.usage", "");
	}
}
