/* Control groups of the sandboxes: version 1, hybrid and version 2. Paths come from the host's own tables, which a test
 * may replace. */
#ifndef CARREL_CGROUP_H
#define CARREL_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct failure;
struct measures;

#define CGROUP_PATH_MAX 384
#define CGROUP_REASON_MAX 80
#define CPU_PERIOD_US 100000
#define ZYGOTES "zygotes" /* below a parent that counts memory: the groups of templates */
#define SOCKET_BUFFERS_LIMIT "memory.kmem.tcp.limit_in_bytes" /* version 1; of UDP too, whatever its name */

enum controller { CG_MEMORY, CG_PIDS, CG_CPU, CG_CPUACCT, CG_FREEZER, CG_COUNT };

/* What a sandbox may use. */
struct limits {
	int64_t memory; /* bytes, without swap */
	int64_t cpu;	/* thousandths of a core */
	int64_t pids;
	int64_t disk; /* bytes of /workspace */
	int64_t nofile;
};

/* One folder and the controllers that it carries, as bits of enum controller. */
struct hierarchy {
	char path[CGROUP_PATH_MAX];
	bool v2;
	unsigned controllers;
};

struct hierarchies {
	int count;
	struct hierarchy at[CG_COUNT];
};

/* Where sandboxes' groups go on this host: a folder `carrel` under our own group in each hierarchy. */
struct cgroup_host {
	struct hierarchies parents;
	unsigned seen; /* controllers that some hierarchy carries, whether we may use it or not */
	char reason[CG_COUNT][CGROUP_REASON_MAX]; /* why a controller is not there; "" when it is */
};

/* Descriptors by which a child gets into its groups: version 1 `tasks` files to which it writes 0 itself, because that
 * costs microseconds where moving a pid costs an RCU grace period; version 2 a folder for CLONE_INTO_CGROUP. */
struct cgroup_fds {
	int tasks[CG_COUNT];
	int count;
	int unified;
};

struct cgroup_counters {
	int64_t memory;
	int64_t cpu_ns;
	int64_t pids;
	int64_t oom_kills;
	int64_t pids_refused;
};

/* Reads the tables of /proc/self (mountinfo, cgroup) and makes the `carrel` folders. What cannot be used gets a reason. */
void cgroup_detect(struct cgroup_host *host, const char *mountinfo, const char *membership);

/* Bounds what all below a folder take together, memory and processes, to less than the host has and the groups around it up to
 * `top` allow. What is there already and cannot be bounded so, or not by us, stays as it is. */
void cgroup_bound(const char *folder, const char *top, bool v2);

/* The same for a folder of this name in every hierarchy: one in which others make the groups. */
void cgroup_bound_all(const char *mountinfo, const char *name);

/* Bounds the memory of all templates together, what outlives them in the kernels of their forks too. */
void cgroup_bound_templates(const char *folder, const char *top, bool v2);

/* Makes the groups of one sandbox and sets its limits, but for cpu. Says in `measures` what is applied; false only when
 * something is broken that was there. Nothing is left behind then. */
bool cgroup_create(const struct cgroup_host *host, const char *id, bool template, const struct limits *limits,
	struct hierarchies *made, struct cgroup_fds *fds, struct measures *measures, struct failure *failure);
void cgroup_close(struct cgroup_fds *fds);

/* Sets the cpu limit, where there is the controller: after the start, which a small share would drag out. */
bool cgroup_limit_cpu(const struct hierarchies *of, const struct limits *limits, struct failure *failure);

/* Changes memory, cpu and pids of a group with processes in it. Refused when more is in use than would be allowed. May take
 * long: memory that can be given back is taken back. */
bool cgroup_change(const struct hierarchies *of, const struct limits *old, const struct limits *limits, struct failure *failure);

/* Says the new limits in the measures that have them. */
void cgroup_describe(const struct limits *limits, struct measures *measures);

/* The folders that cgroup_create would make. */
bool cgroup_paths(const struct cgroup_host *host, const char *id, bool template, struct hierarchies *out);

/* Asks the kernel to stop every process where it is. False with errno. */
bool cgroup_freeze(const struct hierarchies *of);

/* True when all have stopped. */
bool cgroup_frozen(const struct hierarchies *of);

/* Lets frozen processes run again: in version 1 a frozen process cannot die. */
void cgroup_thaw(const struct hierarchies *of);

/* Kills whatever is still inside; for remains whose pid is not known. */
void cgroup_kill(const struct hierarchies *of);

/* Removes the folders: 0, or errno (EBUSY while the last task is not reaped yet). */
int cgroup_remove(const struct hierarchies *of);

void cgroup_read(const struct hierarchies *of, struct cgroup_counters *counters);

const char *controller_name(enum controller controller);

/* For the cgroup*.c files: the group that carries a controller, or NULL; a number in one of its files, after a word that
 * starts a line ("": the first); small files of a group. 0 or -1 with errno; the length of the whole lines read, or -1. */
int cgroup_write(int directory, const char *name, const char *text);
int cgroup_write_int(int directory, const char *name, int64_t value);
const struct hierarchy *cgroup_carrier(const struct hierarchies *of, enum controller controller);
int64_t cgroup_number(const char *folder, const char *name, const char *word);

/* What is in force by now, whatever the record says: a change may have been made and not recorded. */
void cgroup_limits_now(const struct hierarchies *of, struct limits *limits);
ssize_t cgroup_read_file(const char *folder, const char *name, char *text, size_t size);

#endif
