/* Names of the measures and of the kinds of failure, and the words for what is and is not applied. */
#include <string.h>

#include "spawn.h"

static const char *const names[MEASURE_COUNT] = {
	[MEASURE_USER_NAMESPACE] = "user-namespace",
	[MEASURE_UID_RANGE] = "uid-range",
	[MEASURE_OWN_GUEST_UID] = "own-guest-uid",
	[MEASURE_PID_NAMESPACE] = "pid-namespace",
	[MEASURE_NETWORK_NAMESPACE] = "network-namespace",
	[MEASURE_MOUNT_NAMESPACE] = "mount-namespace",
	[MEASURE_IPC_NAMESPACE] = "ipc-namespace",
	[MEASURE_UTS_NAMESPACE] = "uts-namespace",
	[MEASURE_CGROUP_NAMESPACE] = "cgroup-namespace",
	[MEASURE_MEMORY_LIMIT] = "memory-limit",
	[MEASURE_PIDS_LIMIT] = "pids-limit",
	[MEASURE_CPU_LIMIT] = "cpu-limit",
	[MEASURE_FREEZER] = "freezer",
	[MEASURE_READ_ONLY_ROOT] = "read-only-root",
	[MEASURE_MASKED_PROC] = "masked-proc",
	[MEASURE_MINIMAL_DEV] = "minimal-dev",
	[MEASURE_NO_CAPABILITIES] = "no-capabilities",
	[MEASURE_NO_NEW_PRIVILEGES] = "no-new-privileges",
	[MEASURE_SECCOMP] = "seccomp",
	[MEASURE_LANDLOCK] = "landlock",
	[MEASURE_WORKSPACE_LIMIT] = "workspace-limit",
	[MEASURE_TMPFS_TMP] = "tmpfs-tmp",
	[MEASURE_NOFILE_LIMIT] = "nofile-limit",
	[MEASURE_VOLUME] = "volume",
};

static const char *const kinds[] = {
	[KIND_ENGINE] = "engine",
	[KIND_ISOLATION] = "isolation",
	[KIND_IMAGE] = "image",
	[KIND_BUSY] = "busy",
	[KIND_BAD_REQUEST] = "bad_request",
	[KIND_NOT_FOUND] = "not_found",
	[KIND_CONFLICT] = "conflict",
	[KIND_SPACE] = "no_space",
	[KIND_READ_ONLY] = "read_only",
	[KIND_UNSUPPORTED] = "not_supported",
};

const char *
failure_kind_name(enum failure_kind kind)
{
	return kinds[kind];
}

const char *
measure_name(enum measure measure)
{
	return names[measure];
}

enum measure
measure_find(const char *name, size_t length)
{
	for (int i = 0; i < MEASURE_COUNT; i++)
		if (strlen(names[i]) == length && memcmp(names[i], name, length) == 0)
			return (enum measure)i;
	return MEASURE_COUNT;
}

void
measure_applied(struct measures *measures, enum measure measure, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(measures->detail[measure], DETAIL_MAX, format, arguments);
	va_end(arguments);
	measures->applied[measure] = true;
}

void
measure_missing(struct measures *measures, enum measure measure, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(measures->detail[measure], DETAIL_MAX, format, arguments);
	va_end(arguments);
	measures->applied[measure] = false;
}

bool
give_up(struct failure *failure, enum failure_kind kind, const char *step, int error, const char *format, ...)
{
	va_list arguments;
	failure->kind = kind;
	failure->error = error;
	snprintf(failure->step, sizeof failure->step, "%s", step);
	va_start(arguments, format);
	int length = vsnprintf(failure->message, sizeof failure->message, format, arguments);
	va_end(arguments);
	if (error != 0 && length >= 0 && (size_t)length < sizeof failure->message)
		snprintf(failure->message + length, sizeof failure->message - (size_t)length, ": %s", strerror(error));
	return false;
}

bool
excused(const struct plan *plan, enum measure measure, struct failure *failure)
{
	if (plan->allow_missing & 1u << measure)
		return true;
	return give_up(failure, KIND_ISOLATION, measure_name(measure), 0, "%s cannot be applied: %s", measure_name(measure),
		plan->measures.detail[measure]);
}

void
limits_settle(struct limits *limits)
{
	/* A tmpfs filled past the memory limit is an OOM kill instead of ENOSPC, so /workspace stays below it. */
	int64_t most = limits->memory / 4 * 3;
	if (limits->disk > most)
		limits->disk = most;
}
