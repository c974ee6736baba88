/* The guest confines itself where another program made its sandbox. It is the same code that the launcher runs, so commands
 * find the same walls under every engine, and the report says what this kernel really took. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "oci.h"
#include "spawn.h"

static uint32_t
measures_named(const char *names)
{
	uint32_t found = 0;
	while (*names != 0) {
		size_t length = strcspn(names, ",");
		enum measure measure = measure_find(names, length);
		if (measure != MEASURE_COUNT)
			found |= 1u << measure;
		names += length;
		names += *names == ',';
	}
	return found;
}

/* gVisor of 2022 does, and coreutils set it: see preload/gvisor.c. */
static bool
refuses_no_automount(void)
{
	uint8_t status[256]; /* as large as the kernel says */
	return syscall(SYS_statx, AT_FDCWD, "/", 0x800, 1, status) != 0 && errno == EINVAL;
}

/* The kernel that we see comes first: a runtime that brings one of its own is known by it. */
static bool
write_report(int report, const struct measures *measures)
{
	char line[sizeof(struct utsname)];
	struct utsname kernel;
	if (uname(&kernel) != 0)
		return false;
	int said = snprintf(line, sizeof line, "=kernel %s %s\n", kernel.release, kernel.version);
	if (!write_all(report, line, (size_t)said))
		return false;
	if (refuses_no_automount() && !write_all(report, "=refuses AT_NO_AUTOMOUNT\n", 25))
		return false;
	for (int i = 0; i < MEASURE_COUNT; i++) {
		if (measures->detail[i][0] == 0)
			continue;
		int length = snprintf(line, sizeof line, "%c%s %s\n", measures->applied[i] ? '+' : '-', measure_name((enum measure)i),
			measures->detail[i]);
		if (!write_all(report, line, (size_t)length))
			return false;
	}
	return true;
}

/* Whether the kernel shows a line of our own status: what it does not show cannot be proven. */
static bool
status_has(const char *word)
{
	char line[256];
	bool found = false;
	FILE *file = fopen("/proc/self/status", "re");
	while (file != NULL && !found && fgets(line, sizeof line, file) != NULL)
		found = strncmp(line, word, strlen(word)) == 0;
	if (file != NULL)
		fclose(file);
	return found;
}

static void
doubt_what_is_not_shown(struct measures *measures)
{
	if (!status_has("CapAmb:") && measures->applied[MEASURE_NO_CAPABILITIES])
		measure_missing(measures, MEASURE_NO_CAPABILITIES, "bounding set empty, but this kernel does not show the ambient set");
	if (!status_has("NoNewPrivs:"))
		measure_missing(measures, MEASURE_NO_NEW_PRIVILEGES, "set, but this kernel does not show it");
}

bool
confine_self(const char *allowed, bool overlay, bool one_id, int report)
{
	static struct plan plan;
	struct failure failure = {0};
	plan.allow_missing = measures_named(allowed);
	plan.map = one_id ? MAP_SINGLE : MAP_RANGE;
	plan.overlay = overlay;
	bool good = seccomp_prepare() && landlock_apply(&plan, &failure) && confine_privileges(&plan, &failure)
		&& seccomp_apply(&plan, &failure);
	doubt_what_is_not_shown(&plan.measures);
	good = good && write_report(report, &plan.measures);
	if (!good)
		fprintf(stderr, "%s\t%s: %s\n", failure_kind_name(failure.kind), failure.step, failure.message);
	return good;
}
