/* The state file: lines of text, appended to until the sandbox is ready and replaced as a whole when something changes later. */
#include "state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MAX 16384 /* bytes: far more than all of them need */

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

/* A growing text in a fixed place: what does not fit is cut off, and then not written at all. */
struct text {
	size_t length;
	char data[FILE_MAX];
};

static void __attribute__((format(printf, 2, 3)))
add(struct text *text, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	int length = vsnprintf(text->data + text->length, sizeof text->data - text->length, format, arguments);
	va_end(arguments);
	text->length += length > 0 ? (size_t)length : 0;
	if (text->length > sizeof text->data)
		text->length = sizeof text->data;
}

static void
add_limits(struct text *text, const struct limits *limits)
{
	add(text, "limits %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 "\n", limits->memory, limits->cpu, limits->pids,
		limits->disk, limits->nofile);
}

static void
add_beginning(struct text *text, const struct state *state)
{
	add(text, "carrel 1\nboot %s\nslot %d\nowner %u\nimage %s\n%s", boot_id(), state->slot, (unsigned)state->owner, state->image,
		state->template ? "template\n" : "");
	add_limits(text, &state->limits);
	if (state->volume[0] != 0)
		add(text, "volume %s\n", state->volume);
	for (int i = 0; i < state->groups.count; i++)
		add(text, "cgroup %d %u %s\n", state->groups.at[i].v2, state->groups.at[i].controllers, state->groups.at[i].path);
}

static void
add_child(struct text *text, pid_t pid, uint64_t start)
{
	add(text, "child %d %" PRIu64 "\n", (int)pid, start);
}

static void
add_ready(struct text *text, const struct limits *limits, const struct measures *measures)
{
	add_limits(text, limits);
	for (int i = 0; i < MEASURE_COUNT; i++)
		add(text, "measure %c %s %s\n", measures->applied[i] ? '+' : '-', measure_name((enum measure)i), measures->detail[i]);
	add(text, "ready\n");
}

static bool
put(const char *folder, const char *name, int flags, const struct text *text)
{
	char path[HOST_PATH_MAX + 64];
	snprintf(path, sizeof path, "%s/%s", folder, name);
	if (text->length >= sizeof text->data) {
		errno = EFBIG;
		return false;
	}
	int fd = open(path, O_WRONLY | O_CLOEXEC | flags, 0600);
	if (fd < 0)
		return false;
	bool good = write_all(fd, text->data, text->length);
	return close(fd) == 0 && good;
}

bool
state_begin(const char *folder, const struct state *state)
{
	struct text text;
	text.length = 0;
	add_beginning(&text, state);
	return put(folder, "state", O_CREAT | O_EXCL, &text);
}

bool
state_add_child(const char *folder, pid_t pid, uint64_t start)
{
	struct text text;
	text.length = 0;
	add_child(&text, pid, start);
	return put(folder, "state", O_APPEND, &text);
}

bool
state_add_ready(const char *folder, const struct limits *limits, const struct measures *measures)
{
	struct text text;
	text.length = 0;
	add_ready(&text, limits, measures);
	return put(folder, "state", O_APPEND, &text);
}

bool
state_replace(const char *folder, const struct state *state)
{
	struct text text;
	char old[HOST_PATH_MAX + 64], new[HOST_PATH_MAX + 64];
	snprintf(old, sizeof old, "%s/state", folder);
	snprintf(new, sizeof new, "%s/state.new", folder);
	text.length = 0;
	add_beginning(&text, state);
	add_child(&text, state->pid, state->start);
	if (state->paused)
		add(&text, "paused\n");
	add_ready(&text, &state->limits, &state->measures);
	return put(folder, "state.new", O_CREAT | O_TRUNC, &text) && rename(new, old) == 0;
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
	else if (strncmp(line, "volume ", 7) == 0 && strlen(line + 7) < VOLUME_ID_MAX)
		memcpy(state->volume, line + 7, strlen(line + 7) + 1);
	else if (strncmp(line, "cgroup ", 7) == 0)
		read_group(state, line + 7);
	else if (strncmp(line, "measure ", 8) == 0)
		read_measure(state, line + 8);
	else if (sscanf(line, "child %d %" SCNu64, &pid, &state->start) == 2)
		state->pid = pid;
	else if (strcmp(line, "paused") == 0)
		state->paused = true;
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
	static const char *const files[] = {"guest.sock", "state.new", "state"};
	char path[HOST_PATH_MAX + 64];
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		snprintf(path, sizeof path, "%s/%s", folder, files[i]);
		if (unlink(path) != 0 && errno != ENOENT)
			return false;
	}
	return rmdir(folder) == 0 || errno == ENOENT;
}
