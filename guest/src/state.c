/* The state file: lines of text, only ever appended to. */
#include "state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MAX 16384

static const char *
boot_id(void)
{
	static char id[40];
	if (id[0] == 0) {
		int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
		ssize_t n = fd < 0 ? 0 : read(fd, id, 36);
		if (fd >= 0)
			close(fd);
		id[n > 0 ? n : 0] = 0;
	}
	return id;
}

uint64_t
process_start(pid_t pid)
{
	char path[32], text[1024];
	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	ssize_t n = read(fd, text, sizeof text - 1);
	close(fd);
	if (n <= 0)
		return 0;
	text[n] = 0;
	/* The name may hold anything, so fields count from its last bracket; the start is the 20th after it. */
	char *field = strrchr(text, ')');
	for (int i = 0; field != NULL && i < 20; i++)
		field = strchr(field + 1, ' ');
	return field == NULL ? 0 : strtoull(field + 1, NULL, 10);
}

static bool
append(const char *folder, int flags, const char *text, size_t length)
{
	char path[HOST_PATH_MAX + 64];
	snprintf(path, sizeof path, "%s/state", folder);
	int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | flags, 0600);
	if (fd < 0)
		return false;
	bool good = write_all(fd, text, length);
	return close(fd) == 0 && good;
}

static size_t
format_limits(char *text, size_t size, const struct limits *limits)
{
	return (size_t)snprintf(text, size, "limits %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 "\n", limits->memory,
		limits->cpu, limits->pids, limits->disk, limits->nofile);
}

bool
state_begin(const char *folder, const struct state *state)
{
	char text[CG_COUNT * (CGROUP_PATH_MAX + 32) + HOST_PATH_MAX + 320];
	size_t length = (size_t)snprintf(text, sizeof text, "carrel 1\nboot %s\nslot %d\nowner %u\nimage %s\n%s", boot_id(), state->slot,
		(unsigned)state->owner, state->image, state->template ? "template\n" : "");
	length += format_limits(text + length, sizeof text - length, &state->limits);
	for (int i = 0; i < state->groups.count; i++)
		length += (size_t)snprintf(text + length, sizeof text - length, "cgroup %d %u %s\n", state->groups.at[i].v2,
			state->groups.at[i].controllers, state->groups.at[i].path);
	return append(folder, O_CREAT | O_EXCL, text, length);
}

bool
state_add_child(const char *folder, pid_t pid, uint64_t start)
{
	char text[64];
	int length = snprintf(text, sizeof text, "child %d %" PRIu64 "\n", (int)pid, start);
	return append(folder, 0, text, (size_t)length);
}

bool
state_add_ready(const char *folder, const struct limits *limits, const struct measures *measures)
{
	char text[MEASURE_COUNT * (DETAIL_MAX + 40) + 160];
	size_t length = format_limits(text, sizeof text, limits);
	for (int i = 0; i < MEASURE_COUNT; i++)
		length += (size_t)snprintf(text + length, sizeof text - length, "measure %c %s %s\n", measures->applied[i] ? '+' : '-',
			measure_name((enum measure)i), measures->detail[i]);
	length += (size_t)snprintf(text + length, sizeof text - length, "ready\n");
	return append(folder, 0, text, length);
}

static void
read_measure(struct state *state, const char *text)
{
	size_t length = strlen(text) > 2 ? strcspn(text + 2, " ") : 0;
	enum measure measure = length > 0 ? measure_find(text + 2, length) : MEASURE_COUNT;
	if (measure == MEASURE_COUNT)
		return;
	const char *detail = text[2 + length] == ' ' ? text + 3 + length : "";
	if (text[0] == '+')
		measure_applied(&state->measures, measure, "%s", detail);
	else
		measure_missing(&state->measures, measure, "%s", detail);
}

static void
read_group(struct state *state, const char *text)
{
	int v2, used = 0;
	unsigned controllers;
	if (state->groups.count == CG_COUNT || sscanf(text, "%d %u %n", &v2, &controllers, &used) != 2 || used == 0
		|| strlen(text + used) >= CGROUP_PATH_MAX)
		return;
	struct hierarchy *group = &state->groups.at[state->groups.count++];
	*group = (struct hierarchy){.v2 = v2 != 0, .controllers = controllers};
	memcpy(group->path, text + used, strlen(text + used) + 1);
}

static void
read_line(struct state *state, const char *line)
{
	int pid;
	if (strncmp(line, "boot ", 5) == 0)
		state->this_boot = strcmp(line + 5, boot_id()) == 0;
	else if (strncmp(line, "slot ", 5) == 0)
		state->slot = atoi(line + 5);
	else if (strncmp(line, "owner ", 6) == 0)
		state->owner = (uid_t)strtoul(line + 6, NULL, 10);
	else if (strncmp(line, "image ", 6) == 0 && strlen(line + 6) < sizeof state->image)
		memcpy(state->image, line + 6, strlen(line + 6) + 1);
	else if (strcmp(line, "template") == 0)
		state->template = true;
	else if (strncmp(line, "limits ", 7) == 0)
		sscanf(line + 7, "%" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64, &state->limits.memory, &state->limits.cpu,
			&state->limits.pids, &state->limits.disk, &state->limits.nofile);
	else if (strncmp(line, "cgroup ", 7) == 0)
		read_group(state, line + 7);
	else if (strncmp(line, "measure ", 8) == 0)
		read_measure(state, line + 8);
	else if (sscanf(line, "child %d %" SCNu64, &pid, &state->start) == 2)
		state->pid = pid;
	else if (strcmp(line, "ready") == 0)
		state->ready = true;
}

bool
state_read(const char *folder, struct state *state)
{
	char path[HOST_PATH_MAX + 64], text[FILE_MAX];
	memset(state, 0, sizeof *state);
	state->slot = -1;
	snprintf(path, sizeof path, "%s/state", folder);
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return false;
	ssize_t n = read(fd, text, sizeof text - 1);
	close(fd);
	if (n <= 0)
		return false;
	text[n] = 0;
	/* A line without its end was cut off by a crash and does not count. */
	char *line = text;
	for (char *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
		*end = 0;
		read_line(state, line);
	}
	return true;
}

bool
state_remove(const char *folder)
{
	static const char *const files[] = {"guest.sock", "state"};
	char path[HOST_PATH_MAX + 64];
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		snprintf(path, sizeof path, "%s/%s", folder, files[i]);
		if (unlink(path) != 0 && errno != ENOENT)
			return false;
	}
	return rmdir(folder) == 0 || errno == ENOENT;
}
