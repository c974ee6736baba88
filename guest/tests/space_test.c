/* What happens when the file system is full, and when a request makes no sense. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness.h"

static void
write_to(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	CHECK(fd >= 0 && write_all(fd, text, strlen(text)));
	close_fd(&fd);
}

/* A mount namespace of our own, so that no mount outlives us or is seen by anybody else. */
static bool
stand_alone(void)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	if (uid == 0 ? unshare(CLONE_NEWNS) < 0 : unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		return false;
	if (uid != 0) {
		char map[32];
		write_to("/proc/self/setgroups", "deny");
		snprintf(map, sizeof map, "0 %u 1", uid);
		write_to("/proc/self/uid_map", map);
		snprintf(map, sizeof map, "0 %u 1", gid);
		write_to("/proc/self/gid_map", map);
	}
	return mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

static void
a_full_disk_keeps_what_it_has(void)
{
	size_t size = 4u << 20;
	uint8_t *data = calloc(1, size);
	CHECK(mkdir(in("small"), 0755) == 0 && mount("carrel", in("small"), "tmpfs", 0, "size=1m") == 0);
	put_text(in("small/kept"), "old");
	put_file(in("big"), data, size);
	struct reply reply = ask_write(in("small/kept"), data, size);
	CHECK(failed_with(&reply, "no_space") && has_text(in("small/kept"), "old"));
	reply_free(&reply);
	reply = ask_write(in("small/new"), data, size);
	CHECK(failed_with(&reply, "no_space") && !exists(in("small/new")));
	reply_free(&reply);
	reply = ask_two(REQUEST_COPY, in("big"), in("small/copy"), true);
	CHECK(failed_with(&reply, "no_space") && !exists(in("small/copy")));
	reply_free(&reply);
	CHECK(mkdir(in("tree"), 0755) == 0);
	put_file(in("tree/big"), data, size);
	reply = ask_two(REQUEST_MOVE, in("tree"), in("small/tree"), true);
	CHECK(failed_with(&reply, "no_space") && !exists(in("small/tree")) && exists(in("tree/big")));
	reply_free(&reply);
	CHECK(leftovers(in("small")) == 0);
	/* All of it is free again. */
	reply = ask_write(in("small/fits"), data, 900 << 10);
	CHECK(reply.last == FRAME_OK);
	reply_free(&reply);
	CHECK(umount(in("small")) == 0);
	free(data);
}

static void
small_files_only(void)
{
	setrlimit(RLIMIT_FSIZE, &(struct rlimit){1000, 1000});
}

static void
a_limit_on_file_size_is_told(void)
{
	char data[5000] = {0};
	in_worker = small_files_only;
	struct reply reply = ask_write(in("limited"), data, sizeof data);
	CHECK(failed_with(&reply, "too_large") && !exists(in("limited")) && leftovers(folder) == 0);
	reply_free(&reply);
	in_worker = NULL;
}

static void
nonsense_is_refused(void)
{
	static const uint8_t types[] = {REQUEST_STAT, REQUEST_READ, REQUEST_WRITE, REQUEST_LIST_DIR, REQUEST_MKDIR, REQUEST_MOVE, REQUEST_COPY,
	    REQUEST_REMOVE, REQUEST_GLOB, REQUEST_GREP, REQUEST_WATCH, REQUEST_TUNNEL};
	for (size_t i = 0; i < sizeof types; i++) {
		begin(types[i]);
		struct worker worker = start();
		send_frame(&worker, FRAME_DATA_END, "", 0);
		struct reply reply = finish_request(&worker);
		CHECK(failed_with(&reply, "bad_request"));
		reply_free(&reply);
		/* Every field an integer of the wrong size. */
		begin(types[i]);
		for (uint8_t tag = 10; tag <= 18; tag++)
			put_bytes(&request, tag, "xyz", 3);
		worker = start();
		send_frame(&worker, FRAME_DATA_END, "", 0);
		reply = finish_request(&worker);
		CHECK(reply.last == FRAME_ERROR);
		reply_free(&reply);
		begin(types[i]);
		put_string(&request, 3, "not/absolute");
		put_string(&request, 10, folder);
		reply = run();
		CHECK(failed_with(&reply, "bad_request"));
		reply_free(&reply);
	}
	begin(0x1F);
	struct reply reply = run();
	CHECK(failed_with(&reply, "unsupported"));
	reply_free(&reply);
}

int
main(void)
{
	if (!stand_alone()) {
		printf("cannot have a mount namespace: %s\n0 passed, 1 failed\n", strerror(errno));
		return 1;
	}
	folder_make();
	a_full_disk_keeps_what_it_has();
	a_limit_on_file_size_is_told();
	nonsense_is_refused();
	folder_remove();
	return finish();
}
