/* Control groups on a fake tree: parsing of the host's tables, file layout of both versions, counters. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"
#include "spawn.h"

static const struct limits limits = {.memory = 64 << 20, .cpu = 500, .pids = 32, .disk = 1 << 20, .nofile = 64};

static void
make(const char *path)
{
	mkdir(in(path), 0755);
}

/* A fake kernel cannot make the files of a new group, so a test makes the group's folder look right afterwards. */
static bool
text_is(const char *path, const char *expected)
{
	return has_text(in(path), expected);
}

static void
detect(struct cgroup_host *host, const char *mountinfo, const char *membership)
{
	put_text(in("mountinfo"), mountinfo);
	put_text(in("cgroup"), membership);
	cgroup_detect(host, in("mountinfo"), in("cgroup"));
}

static char *
with_folder(const char *format)
{
	static char text[8192];
	size_t used = 0;
	for (const char *p = format; *p != 0 && used < sizeof text - 80; p++)
		used += *p == '@' ? (size_t)sprintf(text + used, "%s", folder) : (size_t)sprintf(text + used, "%c", *p);
	text[used] = 0;
	return text;
}

static void
version_1_nests_below_our_own_group(void)
{
	struct cgroup_host host;
	make("v1");
	make("v1/memory");
	make("v1/memory/own");
	make("v1/cpu");
	make("v1/pids");
	detect(&host, with_folder("31 23 0:28 / @/v1 rw shared:9 - tmpfs tmpfs rw\n"
				  "32 31 0:29 / @/v1/memory rw,relatime shared:1 - cgroup cgroup rw,memory\n"
				  "33 31 0:30 / @/v1/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
				  "34 31 0:31 /box @/v1/pids rw - cgroup cgroup rw,pids\n"),
		"4:memory:/own\n3:cpu,cpuacct:/\n2:pids:/box\n0::/\n");
	CHECK(host.parents.count == 3);
	CHECK(strcmp(host.parents.at[0].path, in("v1/memory/own/carrel")) == 0);
	CHECK(host.parents.at[1].controllers == (1u << CG_CPU | 1u << CG_CPUACCT));
	CHECK(strcmp(host.parents.at[2].path, in("v1/pids/carrel")) == 0); /* the mount starts where we are */
	CHECK(exists(in("v1/memory/own/carrel")));
	CHECK(exists(in("v1/memory/own/carrel/zygotes")) && !exists(in("v1/cpu/carrel/zygotes")));
	CHECK(host.reason[CG_MEMORY][0] == 0);
	CHECK(strstr(host.reason[CG_FREEZER], "mounted") != NULL);
}

static void
hybrid_takes_nothing_from_version_2_that_version_1_has(void)
{
	struct cgroup_host host;
	make("hy");
	make("hy/memory");
	make("hy/unified");
	put_text(in("hy/unified/cgroup.controllers"), "hugetlb\n");
	put_text(in("hy/unified/cgroup.subtree_control"), "");
	detect(&host, with_folder("40 31 0:38 / @/hy/unified rw - cgroup2 cgroup2 rw\n"
				  "32 31 0:29 / @/hy/memory rw - cgroup cgroup rw,memory\n"),
		"4:memory:/\n0::/\n");
	CHECK(host.parents.count == 2);
	CHECK(!host.parents.at[0].v2 && host.parents.at[0].controllers == 1u << CG_MEMORY);
	CHECK(host.parents.at[1].v2 && host.parents.at[1].controllers == (1u << CG_CPUACCT | 1u << CG_FREEZER));
	CHECK(strstr(host.reason[CG_PIDS], "delegated") != NULL);
	CHECK(host.reason[CG_FREEZER][0] == 0);
}

static void
version_2_moves_us_to_a_leaf_and_turns_controllers_on(void)
{
	struct cgroup_host host;
	make("v2");
	make("v2/user");
	make("v2/user/carrel");
	make("v2/user/carrel-host");
	put_text(in("v2/user/cgroup.controllers"), "cpu memory pids\n");
	put_text(in("v2/user/cgroup.subtree_control"), "cpu memory pids\n");
	put_text(in("v2/user/cgroup.procs"), "4242\n");
	put_text(in("v2/user/carrel-host/cgroup.procs"), "");
	put_text(in("v2/user/carrel/cgroup.subtree_control"), "cpu memory\n");
	put_text(in("v2/user/carrel/cpu.weight"), "100\n");
	make("v2/user/carrel/zygotes");
	put_text(in("v2/user/carrel/zygotes/cgroup.subtree_control"), "cpu pids\n");
	detect(&host, with_folder("25 20 0:22 / @/v2 rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"), "0::/user\n");
	CHECK(host.parents.count == 1 && host.parents.at[0].v2);
	CHECK(host.parents.at[0].controllers == (1u << CG_COUNT) - 1);
	CHECK(text_is("v2/user/carrel-host/cgroup.procs", "4242"));
	CHECK(text_is("v2/user/carrel/cgroup.subtree_control", "+pidsemory\n")); /* only what was not on was asked for */
	CHECK(text_is("v2/user/carrel/zygotes/cgroup.subtree_control", "+memorys\n"));
	for (int c = 0; c < CG_COUNT; c++)
		CHECK(host.reason[c][0] == 0);
}

static void
version_2_stays_where_it_is_when_started_from_the_leaf(void)
{
	struct cgroup_host host;
	make("vl");
	make("vl/carrel-host");
	make("vl/user");
	make("vl/user/carrel-host");
	make("vl/user/carrel-host/carrel-host");
	put_text(in("vl/user/cgroup.controllers"), "cpu memory pids\n");
	put_text(in("vl/user/cgroup.subtree_control"), "cpu memory pids\n");
	put_text(in("vl/user/carrel-host/cgroup.procs"), "4242\n");
	const char *mount = "25 20 0:22 / @/vl rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n";
	detect(&host, with_folder(mount), "0::/user/carrel-host\n");
	CHECK(host.parents.count == 1 && strcmp(host.parents.at[0].path, in("vl/user/carrel")) == 0);
	CHECK(!exists(in("vl/user/carrel-host/carrel")));
	detect(&host, with_folder(mount), "0::/user/carrel-host/carrel-host\n");
	CHECK(host.parents.count == 1 && strcmp(host.parents.at[0].path, in("vl/user/carrel")) == 0);
	detect(&host, with_folder(mount), "0::/carrel-host\n");
	CHECK(host.parents.count == 1 && strcmp(host.parents.at[0].path, in("vl/carrel")) == 0);
	/* What is above a mount cannot be seen, whatever the mount is called. */
	detect(&host, with_folder("25 20 0:22 /user/carrel-host @/vl/carrel-host rw - cgroup2 cgroup2 rw\n"), "0::/user/carrel-host\n");
	CHECK(host.parents.count == 1 && strcmp(host.parents.at[0].path, in("vl/carrel-host/carrel")) == 0);
}

static void
version_2_moves_all_of_us_however_many(void)
{
	struct cgroup_host host;
	char pids[8192];
	size_t used = 0;
	for (int pid = 10000; pid < 11000; pid++)
		used += (size_t)snprintf(pids + used, sizeof pids - used, "%d\n", pid);
	make("vm");
	make("vm/carrel-host");
	put_text(in("vm/cgroup.procs"), pids);
	put_text(in("vm/carrel-host/cgroup.procs"), "");
	detect(&host, with_folder("25 20 0:22 / @/vm rw - cgroup2 cgroup2 rw\n"), "0::/\n");
	CHECK(text_is("vm/carrel-host/cgroup.procs", "10999"));
}

static void
version_2_without_delegation_says_so(void)
{
	struct cgroup_host host;
	make("vn");
	put_text(in("vn/cgroup.controllers"), "memory pids\n");
	put_text(in("vn/cgroup.subtree_control"), "pids\n");
	chmod(in("vn/cgroup.subtree_control"), 0444);
	detect(&host, with_folder("25 20 0:22 / @/vn rw - cgroup2 cgroup2 rw\n"), "0::/\n");
	CHECK(host.reason[CG_PIDS][0] == 0);
	CHECK(strstr(host.reason[CG_CPU], "delegated") != NULL);
	CHECK(geteuid() == 0 || strstr(host.reason[CG_MEMORY], "turned on") != NULL);
}

static void
all_sandboxes_together_leave_room_for_others(void)
{
	struct cgroup_host host;
	make("b1");
	make("b1/memory");
	make("b1/memory/own");
	make("b1/memory/own/carrel");
	make("b1/pids");
	make("b1/pids/carrel");
	put_text(in("b1/memory/memory.limit_in_bytes"), "9223372036854771712\n");
	put_text(in("b1/memory/own/memory.limit_in_bytes"), "1073741824\n");
	put_text(in("b1/memory/own/carrel/memory.limit_in_bytes"), "");
	put_text(in("b1/memory/own/carrel/memory.usage_in_bytes"), "4096\n");
	put_text(in("b1/memory/own/carrel/memory.use_hierarchy"), "");
	make("b1/memory/own/carrel/zygotes");
	put_text(in("b1/memory/own/carrel/zygotes/memory.limit_in_bytes"), "");
	put_text(in("b1/pids/pids.max"), "1000\n");
	put_text(in("b1/pids/carrel/pids.max"), "");
	const char *mounts = "32 31 0:29 / @/b1/memory rw - cgroup cgroup rw,memory\n"
			     "34 31 0:31 / @/b1/pids rw - cgroup cgroup rw,pids\n";
	const char *membership = "4:memory:/own\n2:pids:/\n";
	detect(&host, with_folder(mounts), membership);
	CHECK(text_is("b1/memory/own/carrel/memory.limit_in_bytes", "536870912")); /* half where a gibibyte would be too much */
	CHECK(text_is("b1/memory/own/carrel/memory.use_hierarchy", "1"));
	CHECK(text_is("b1/memory/own/carrel/zygotes/memory.limit_in_bytes", "134217728"));
	CHECK(text_is("b1/pids/carrel/pids.max", "750"));
	/* More than that is in use already. */
	put_text(in("b1/memory/own/carrel/memory.usage_in_bytes"), "600000000\n");
	put_text(in("b1/memory/own/carrel/memory.limit_in_bytes"), "");
	put_text(in("b1/pids/carrel/pids.current"), "800\n");
	put_text(in("b1/pids/carrel/pids.max"), "");
	detect(&host, with_folder(mounts), membership);
	CHECK(host.parents.count == 2 && host.reason[CG_MEMORY][0] == 0);
	CHECK(text_is("b1/memory/own/carrel/memory.limit_in_bytes", "") && text_is("b1/pids/carrel/pids.max", ""));
}

static void
groups_that_others_make_are_bounded_by_the_host(void)
{
	int64_t all = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
	make("b2");
	make("b2/others");
	put_text(in("b2/memory.max"), "max\n");
	put_text(in("b2/others/memory.max"), "max\n");
	put_text(in("b2/others/pids.max"), "max\n");
	put_text(in("mountinfo"), with_folder("25 20 0:22 / @/b2 rw - cgroup2 cgroup2 rw\n"));
	cgroup_bound_all(in("mountinfo"), "others");
	int64_t memory = cgroup_number(in("b2/others"), "memory.max", "");
	CHECK(memory >= all / 2 && memory <= all - all / 8);
	int64_t pids = cgroup_number(in("b2/others"), "pids.max", "");
	CHECK(pids > 0 && pids <= cgroup_number("/proc/sys/kernel", "pid_max", "") / 4 * 3);
	cgroup_bound_all(in("mountinfo"), "none-such");
	CHECK(!exists(in("b2/none-such")));
}

static void
group_of_version_2_has_its_files(void)
{
	struct cgroup_host host = {.parents = {.count = 1, .at = {{.v2 = true, .controllers = (1u << CG_COUNT) - 1}}}};
	struct hierarchies made;
	struct cgroup_fds fds;
	static struct measures measures;
	struct failure failure;
	snprintf(host.parents.at[0].path, CGROUP_PATH_MAX, "%s", in("parent"));
	make("parent");
	/* The kernel would make the limit files; without them the group is refused and nothing stays. */
	CHECK(!cgroup_create(&host, "sbone", false, &limits, &made, &fds, &measures, &failure));
	CHECK(strcmp(failure.step, "cgroup") == 0 && strstr(failure.message, "sbone") != NULL);
	CHECK(!exists(in("parent/sbone")));
	CHECK(cgroup_paths(&host, "sbtwo", false, &made) && made.count == 1);
	CHECK(strcmp(made.at[0].path, in("parent/sbtwo")) == 0 && made.at[0].v2);
	CHECK(cgroup_paths(&host, "sbtwo", true, &made) && strcmp(made.at[0].path, in("parent/zygotes/sbtwo")) == 0);
	host.parents.at[0].controllers &= ~(1u << CG_MEMORY);
	CHECK(cgroup_paths(&host, "sbtwo", true, &made) && strcmp(made.at[0].path, in("parent/sbtwo")) == 0);
}

static void
counters_are_read_from_both_versions(void)
{
	struct cgroup_counters counters;
	struct hierarchies groups = {.count = 1, .at = {{.v2 = true, .controllers = (1u << CG_COUNT) - 1}}};
	snprintf(groups.at[0].path, CGROUP_PATH_MAX, "%s", in("c2"));
	make("c2");
	put_text(in("c2/memory.current"), "1048576\n");
	put_text(in("c2/memory.events"), "low 0\nhigh 0\nmax 9\noom 3\noom_kill 2\noom_group_kill 0\n");
	put_text(in("c2/pids.current"), "7\n");
	put_text(in("c2/pids.events"), "max 5\n");
	put_text(in("c2/cpu.stat"), "usage_usec 1500\nuser_usec 1000\n");
	cgroup_read(&groups, &counters);
	CHECK(counters.memory == 1048576 && counters.oom_kills == 2 && counters.pids == 7);
	CHECK(counters.pids_refused == 5 && counters.cpu_ns == 1500000);
	groups.at[0].v2 = false;
	put_text(in("c2/memory.usage_in_bytes"), "99\n");
	put_text(in("c2/memory.oom_control"), "oom_kill_disable 0\nunder_oom 0\noom_kill 4\n");
	put_text(in("c2/cpuacct.usage"), "123456\n");
	cgroup_read(&groups, &counters);
	CHECK(counters.memory == 99 && counters.oom_kills == 4 && counters.cpu_ns == 123456);
	snprintf(groups.at[0].path, CGROUP_PATH_MAX, "%s", in("absent"));
	cgroup_read(&groups, &counters);
	CHECK(counters.memory == 0 && counters.oom_kills == 0);
}

static struct hierarchies
one_group(const char *name, bool v2)
{
	struct hierarchies groups = {.count = 1, .at = {{.v2 = v2, .controllers = (1u << CG_COUNT) - 1}}};
	make(name);
	snprintf(groups.at[0].path, CGROUP_PATH_MAX, "%s", in(name));
	return groups;
}

static void
freezing_writes_the_word_of_the_version_and_reads_its_answer(void)
{
	struct hierarchies first = one_group("f1", false), second = one_group("f2", true), none = {.count = 0};
	put_text(in("f1/freezer.state"), "");
	put_text(in("f2/cgroup.freeze"), "");
	CHECK(cgroup_freeze(&first) && text_is("f1/freezer.state", "FROZEN"));
	CHECK(cgroup_freeze(&second) && text_is("f2/cgroup.freeze", "1"));
	CHECK(!cgroup_freeze(&none) && !cgroup_frozen(&none));
	put_text(in("f1/freezer.state"), "FREEZING\n");
	CHECK(!cgroup_frozen(&first));
	put_text(in("f1/freezer.state"), "FROZEN\n");
	CHECK(cgroup_frozen(&first));
	put_text(in("f2/cgroup.events"), "populated 1\nfrozen 0\n");
	CHECK(!cgroup_frozen(&second));
	put_text(in("f2/cgroup.events"), "populated 1\nfrozen 1\n");
	CHECK(cgroup_frozen(&second));
	put_text(in("f1/freezer.state"), "");
	cgroup_thaw(&first);
	cgroup_thaw(&second);
	CHECK(text_is("f1/freezer.state", "THAWED"));
	CHECK(text_is("f2/cgroup.freeze", "0"));
}

static void
nobody_is_killed_by_a_part_of_a_number(void)
{
	struct hierarchies group = one_group("k1", false);
	int status = 0;
	pid_t child = fork();
	if (child == 0)
		for (;;)
			pause();
	char pids[8300], number[32];
	int digits = snprintf(number, sizeof number, "%d", child);
	/* Nobody has such a number; the last one goes on where what is read at once may end. */
	for (int shift = -2; shift <= 2; shift++) {
		size_t used = 0, until = (size_t)(8192 + shift - digits);
		while (used + 10 <= until)
			used += (size_t)snprintf(pids + used, sizeof pids - used, "999999999\n");
		while (used < until)
			pids[used++] = '\n';
		snprintf(pids + used, sizeof pids - used, "%d9999\n", child);
		put_text(in("k1/cgroup.procs"), pids);
		cgroup_kill(&group);
	}
	kill(child, SIGTERM);
	CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}

static void
limits_change_in_version_2(void)
{
	struct hierarchies group = one_group("l2", true);
	struct limits old = {.memory = 256 << 20, .cpu = 1000, .pids = 64}, wanted = {.memory = 128 << 20, .cpu = 500, .pids = 32};
	struct failure failure;
	put_text(in("l2/memory.current"), "209715200\n"); /* 200 MiB */
	put_text(in("l2/memory.max"), "");
	put_text(in("l2/memory.reclaim"), "");
	put_text(in("l2/pids.current"), "40\n");
	put_text(in("l2/pids.max"), "");
	put_text(in("l2/cpu.max"), "");
	CHECK(!cgroup_change(&group, &old, &wanted, &failure) && failure.kind == KIND_CONFLICT);
	CHECK(strstr(failure.message, "40 of processes") != NULL && strstr(failure.message, "the 32 that") != NULL);
	put_text(in("l2/pids.current"), "4\n");
	CHECK(!cgroup_change(&group, &old, &wanted, &failure) && failure.kind == KIND_CONFLICT);
	CHECK(strstr(failure.message, "200 MiB of memory") != NULL && strstr(failure.message, "the 128 MiB that") != NULL);
	CHECK(text_is("l2/memory.reclaim", "75497472")); /* it was asked to give back before it was refused */
	CHECK(text_is("l2/memory.max", "") && text_is("l2/pids.max", "") && text_is("l2/cpu.max", ""));
	put_text(in("l2/memory.current"), "1048576\n");
	CHECK(cgroup_change(&group, &old, &wanted, &failure));
	CHECK(text_is("l2/memory.max", "134217728") && text_is("l2/pids.max", "32") && text_is("l2/cpu.max", "50000 100000"));
	put_text(in("l2/memory.max"), "");
	CHECK(cgroup_change(&group, &wanted, &wanted, &failure) && text_is("l2/memory.max", "")); /* what stays is not touched */
	group.at[0].controllers = 1u << CG_CPU;
	CHECK(!cgroup_change(&group, &old, &wanted, &failure) && failure.kind == KIND_UNSUPPORTED);
}

static void
limits_change_in_version_1(void)
{
	struct hierarchies group = one_group("l1", false);
	struct limits small = {.memory = 128 << 20, .cpu = 1000, .pids = 64}, large = {.memory = 256 << 20, .cpu = 2000, .pids = 128};
	struct failure failure;
	put_text(in("l1/memory.limit_in_bytes"), "");
	put_text(in("l1/pids.current"), "4\n");
	put_text(in("l1/pids.max"), "");
	put_text(in("l1/cpu.cfs_quota_us"), "");
	/* Without the file for memory and swap together: this host does not account swap. */
	CHECK(cgroup_change(&group, &small, &large, &failure) && text_is("l1/memory.limit_in_bytes", "268435456"));
	CHECK(text_is("l1/pids.max", "128") && text_is("l1/cpu.cfs_quota_us", "200000"));
	put_text(in("l1/memory.memsw.limit_in_bytes"), "");
	put_text(in("l1/memory.limit_in_bytes"), "");
	CHECK(cgroup_change(&group, &large, &small, &failure) && text_is("l1/memory.limit_in_bytes", "134217728"));
	CHECK(text_is("l1/memory.memsw.limit_in_bytes", "134217728"));
	put_text(in("l1/" SOCKET_BUFFERS_LIMIT), "");
	CHECK(cgroup_change(&group, &small, &large, &failure) && text_is("l1/" SOCKET_BUFFERS_LIMIT, "268435456"));
	/* What was changed before a refusal is as it was. */
	put_text(in("l1/" SOCKET_BUFFERS_LIMIT), "");
	CHECK(unlink(in("l1/memory.limit_in_bytes")) == 0);
	CHECK(!cgroup_change(&group, &large, &small, &failure) && text_is("l1/" SOCKET_BUFFERS_LIMIT, "268435456"));
}

static void
nonsense_tables_are_survived(void)
{
	struct cgroup_host host;
	detect(&host, "garbage\n1 2 3\n- - - - - - -\n\n1 2 0:1 / /x rw - cgroup\n", "::\nx\n4:memory\n");
	CHECK(host.parents.count == 0);
	cgroup_detect(&host, in("no-such-file"), in("no-such-file"));
	CHECK(host.parents.count == 0 && host.reason[CG_MEMORY][0] != 0);
}

static void
disk_stays_below_memory(void)
{
	struct limits asked = {.memory = 100 << 20, .disk = 200 << 20};
	limits_settle(&asked);
	CHECK(asked.disk == asked.memory / 4 * 3);
	asked.disk = 1 << 20;
	limits_settle(&asked);
	CHECK(asked.disk == 1 << 20);
}

int
main(void)
{
	folder_make();
	version_1_nests_below_our_own_group();
	hybrid_takes_nothing_from_version_2_that_version_1_has();
	version_2_moves_us_to_a_leaf_and_turns_controllers_on();
	version_2_stays_where_it_is_when_started_from_the_leaf();
	version_2_moves_all_of_us_however_many();
	version_2_without_delegation_says_so();
	all_sandboxes_together_leave_room_for_others();
	groups_that_others_make_are_bounded_by_the_host();
	group_of_version_2_has_its_files();
	counters_are_read_from_both_versions();
	freezing_writes_the_word_of_the_version_and_reads_its_answer();
	nobody_is_killed_by_a_part_of_a_number();
	limits_change_in_version_2();
	limits_change_in_version_1();
	nonsense_tables_are_survived();
	disk_stays_below_memory();
	folder_remove();
	return finish();
}
