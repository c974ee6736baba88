/* The state file: what is written is read back, also after a crash in the middle. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness.h"
#include "state.h"

static struct state
sample(void)
{
	struct state state = {.slot = 12, .limits = {.memory = 1, .cpu = 2, .pids = 3, .disk = 4, .nofile = 5}, .groups = {.count = 1}};
	snprintf(state.volume, sizeof state.volume, "voabcdefghijklmn");
	state.groups.at[0] = (struct hierarchy){.v2 = true, .controllers = 5};
	snprintf(state.groups.at[0].path, CGROUP_PATH_MAX, "/sys/fs/cgroup/with space/sbx");
	state.owner = 0x51230000;
	snprintf(state.image, sizeof state.image, "/images/with space");
	return state;
}

static void
round_trip(void)
{
	struct state written = sample(), read;
	static struct measures measures;
	measure_applied(&measures, MEASURE_SECCOMP, "allow-list of %d calls", 9);
	measure_missing(&measures, MEASURE_LANDLOCK, "this kernel has none");
	mkdir(in("box"), 0700);
	CHECK(state_begin(in("box"), &written));
	CHECK(!state_begin(in("box"), &written)); /* never two */
	CHECK(state_read(in("box"), &read) && read.pid == 0 && !read.ready && read.this_boot);
	CHECK(state_add_child(in("box"), getpid(), process_start(getpid())));
	CHECK(state_read(in("box"), &read) && read.pid == getpid() && read.start == process_start(getpid()) && !read.ready);
	CHECK(state_add_ready(in("box"), &written.limits, &measures));
	CHECK(state_read(in("box"), &read) && read.ready && read.slot == 12 && read.limits.nofile == 5);
	CHECK(read.owner == written.owner && !read.template && strcmp(read.image, written.image) == 0);
	CHECK(strcmp(read.volume, "voabcdefghijklmn") == 0 && !read.paused);
	CHECK(read.groups.count == 1 && read.groups.at[0].v2 && read.groups.at[0].controllers == 5);
	CHECK(strcmp(read.groups.at[0].path, written.groups.at[0].path) == 0);
	CHECK(read.measures.applied[MEASURE_SECCOMP] && strcmp(read.measures.detail[MEASURE_SECCOMP], "allow-list of 9 calls") == 0);
	CHECK(!read.measures.applied[MEASURE_LANDLOCK]
		&& strcmp(read.measures.detail[MEASURE_LANDLOCK], "this kernel has none") == 0);
	read.paused = true;
	read.limits.memory = 77;
	CHECK(state_replace(in("box"), &read));
	struct state again;
	CHECK(state_read(in("box"), &again) && memcmp(&again, &read, sizeof again) == 0);
	again.paused = false;
	CHECK(state_replace(in("box"), &again) && state_read(in("box"), &read) && !read.paused && read.limits.memory == 77);
	put_text(in("box/guest.sock"), "");
	put_text(in("box/state.new"), "cut off");
	CHECK(state_remove(in("box")) && !exists(in("box")));
}

static void
what_was_cut_off_does_not_count(void)
{
	struct state read;
	mkdir(in("cut"), 0700);
	put_text(in("cut/state"), "carrel 1\nboot another\nslot 3\nchild 77 12");
	CHECK(state_read(in("cut"), &read) && read.pid == 0 && read.slot == 3 && !read.this_boot);
	put_text(in("cut/state"), "slot x\ncgroup\ncgroup 1\nmeasure\nmeasure +\nmeasure + nothing known\nlimits 1\nready");
	CHECK(state_read(in("cut"), &read) && !read.ready && read.groups.count == 0);
	CHECK(!state_read(in("absent"), &read) && read.slot == -1);
	unlink(in("cut/state"));
	CHECK(state_remove(in("cut")));
}

static void
start_times_tell_processes_apart(void)
{
	CHECK(process_start(getpid()) != 0);
	CHECK(process_start(1) != process_start(getpid()));
	CHECK(process_start(0x7ffffff0) == 0);
}

int
main(void)
{
	folder_make();
	round_trip();
	what_was_cut_off_does_not_count();
	start_times_tell_processes_apart();
	folder_remove();
	return finish();
}
