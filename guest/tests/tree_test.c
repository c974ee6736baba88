/* MOVE, COPY, REMOVE: trees deep, wide and hostile. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness.h"

static bool
ok(const struct reply *reply)
{
	if (reply->last != FRAME_OK)
		printf("expected OK, got type 0x%02x %s: %s\n", reply->last, reply->code, reply->message);
	return reply->last == FRAME_OK;
}

static void
expect(struct reply reply, const char *code)
{
	if (code == NULL)
		CHECK(ok(&reply));
	else
		CHECK(failed_with(&reply, code));
	reply_free(&reply);
}

static void
make_tree(const char *name)
{
	char path[4096];
	CHECK(mkdir(in(name), 0755) == 0);
	snprintf(path, sizeof path, "%s/sub", in(name));
	CHECK(mkdir(path, 0750) == 0);
	snprintf(path, sizeof path, "%s/sub/script", in(name));
	put_text(path, "#!/bin/sh\n");
	chmod(path, 0755);
	utimensat(AT_FDCWD, path, (struct timespec[2]){{1000, 5}, {2000, 7}}, 0);
	snprintf(path, sizeof path, "%s/link", in(name));
	CHECK(symlink("sub/script", path) == 0);
	snprintf(path, sizeof path, "%s/outside", in(name));
	CHECK(symlink("/etc", path) == 0);
	snprintf(path, sizeof path, "%s/sub", in(name));
	utimensat(AT_FDCWD, path, (struct timespec[2]){{1000, 0}, {3000, 0}}, 0);
}

static void
move_renames(void)
{
	put_text(in("a"), "a");
	put_text(in("b"), "b");
	expect(ask_two(REQUEST_MOVE, in("a"), in("b"), false), "exists");
	expect(ask_two(REQUEST_MOVE, in("a"), in("b"), true), NULL);
	CHECK(!exists(in("a")) && has_text(in("b"), "a"));
	expect(ask_two(REQUEST_MOVE, in("b"), in("new/place/c"), false), NULL);
	CHECK(has_text(in("new/place/c"), "a"));
	expect(ask_two(REQUEST_MOVE, in("absent"), in("c"), true), "not_found");
	expect(ask_two(REQUEST_MOVE, in("new"), in("new/place/new"), true), "bad_request");
	CHECK(mkdir(in("full"), 0755) == 0);
	put_text(in("full/x"), "x");
	expect(ask_two(REQUEST_MOVE, in("new"), in("full"), true), "not_empty");
	put_text(in("file"), "f");
	expect(ask_two(REQUEST_MOVE, in("file"), in("full"), true), "not_a_file");
	expect(ask_two(REQUEST_MOVE, in("full"), in("file"), true), "not_a_directory");
	CHECK(symlink("/etc", in("link")) == 0);
	expect(ask_two(REQUEST_MOVE, in("link"), in("link2"), true), NULL);
	char target[16];
	CHECK(readlink(in("link2"), target, sizeof target) == 4);
}

static struct reply
ask_exchange(const char *from, const char *to)
{
	begin(REQUEST_MOVE);
	put_string(&request, 10, from);
	put_string(&request, 11, to);
	put_int(&request, 14, true);
	return run();
}

static void
move_exchanges(void)
{
	make_tree("xa");
	CHECK(mkdir(in("xb"), 0755) == 0);
	put_text(in("xb/only"), "b");
	expect(ask_exchange(in("xa"), in("xb")), NULL);
	CHECK(has_text(in("xa/only"), "b") && !exists(in("xa/sub")) && exists(in("xb/sub/script")));
	put_text(in("xf"), "f");
	expect(ask_exchange(in("xf"), in("xa")), NULL);
	CHECK(has_text(in("xa"), "f") && has_text(in("xf/only"), "b"));
	expect(ask_exchange(in("xa"), in("absent")), "not_found");
	expect(ask_exchange(in("absent"), in("xa")), "not_found");
	expect(ask_exchange(in("xb"), in("xb/sub")), "bad_request");
	expect(ask_exchange(in("xb/sub"), in("xb")), "bad_request");
	CHECK(exists(in("xb/sub/script")) && has_text(in("xa"), "f"));
}

static void
copy_keeps_looks(void)
{
	make_tree("tree");
	expect(ask_two(REQUEST_COPY, in("tree"), in("copies/one"), true), NULL);
	struct stat status;
	char target[64];
	CHECK(stat(in("copies/one/sub/script"), &status) == 0 && (status.st_mode & 07777) == 0755);
	CHECK(status.st_mtim.tv_sec == 2000 && status.st_mtim.tv_nsec == 7);
	CHECK(stat(in("copies/one/sub"), &status) == 0 && (status.st_mode & 07777) == 0750 && status.st_mtim.tv_sec == 3000);
	CHECK(readlink(in("copies/one/outside"), target, sizeof target) == 4);
	CHECK(has_text(in("copies/one/sub/script"), "#!/bin/sh\n"));
	CHECK(leftovers(in("copies")) == 0);
	put_text(in("copies/one/extra"), "stays");
	put_text(in("tree/sub/script"), "newer");
	expect(ask_two(REQUEST_COPY, in("tree"), in("copies/one"), false), "exists");
	expect(ask_two(REQUEST_COPY, in("tree"), in("copies/one"), true), NULL); /* merges */
	CHECK(has_text(in("copies/one/extra"), "stays") && has_text(in("copies/one/sub/script"), "newer"));
	expect(ask_two(REQUEST_COPY, in("tree/link"), in("copies/link"), true), NULL);
	CHECK(readlink(in("copies/link"), target, sizeof target) == 10);
	expect(ask_two(REQUEST_COPY, in("tree/sub/script"), in("copies/link"), true), NULL);
	CHECK(has_text(in("copies/link"), "newer") && readlink(in("copies/link"), target, sizeof target) < 0);
	expect(ask_two(REQUEST_COPY, in("tree/sub/script"), in("tree/sub/script"), true), NULL);
	CHECK(has_text(in("tree/sub/script"), "newer"));
}

static void
copy_refuses_nonsense(void)
{
	expect(ask_two(REQUEST_COPY, in("tree"), in("tree"), true), "bad_request");
	expect(ask_two(REQUEST_COPY, in("tree"), in("tree/sub/again"), true), "bad_request");
	CHECK(symlink("tree/sub", in("way")) == 0);
	expect(ask_two(REQUEST_COPY, in("tree"), in("way/again"), true), "bad_request");
	CHECK(!exists(in("tree/sub/again")));
	CHECK(mkfifo(in("tree/fifo"), 0600) == 0);
	expect(ask_two(REQUEST_COPY, in("tree/fifo"), in("fifo-copy"), true), "not_a_file");
	struct reply reply = ask_two(REQUEST_COPY, in("tree"), in("partly"), true);
	CHECK(failed_with(&reply, "not_a_file") && strstr(reply.message, "tree/fifo") != NULL);
	reply_free(&reply);
	CHECK(has_text(in("partly/sub/script"), "newer") && !exists(in("partly/fifo")));
	expect(ask_two(REQUEST_COPY, in("tree"), in("file"), true), "not_a_directory");
	CHECK(has_text(in("file"), "f") && leftovers(folder) == 0);
}

static void
copy_keeps_holes(void)
{
	off_t size = (off_t)1 << 40;
	int fd = open(in("sparse"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	CHECK(ftruncate(fd, size) == 0 && pwrite(fd, "middle", 6, size / 2) == 6);
	close(fd);
	expect(ask_two(REQUEST_COPY, in("sparse"), in("sparse2"), true), NULL);
	struct stat status;
	char text[7] = {0};
	fd = open(in("sparse2"), O_RDONLY | O_CLOEXEC);
	CHECK(fstat(fd, &status) == 0 && status.st_size == size && status.st_blocks < 4096);
	CHECK(pread(fd, text, 6, size / 2) == 6 && strcmp(text, "middle") == 0);
	close(fd);
}

static void
remove_takes_what_it_is_told(void)
{
	put_text(in("single"), "x");
	struct reply reply = ask_remove(in("single"), false);
	CHECK(ok(&reply) && reply_int(&reply, 21) == 1 && !exists(in("single")));
	reply_free(&reply);
	expect(ask_remove(in("single"), false), "not_found");
	begin(REQUEST_REMOVE);
	put_string(&request, 10, in("single"));
	put_int(&request, 12, 1);
	reply = run();
	CHECK(ok(&reply) && reply_int(&reply, 21) == 0);
	reply_free(&reply);
	expect(ask_remove(in("tree"), false), "not_empty");
	CHECK(symlink(in("tree"), in("to-tree")) == 0);
	expect(ask_remove(in("to-tree"), true), NULL);
	CHECK(exists(in("tree/sub/script")) && !exists(in("to-tree")));
	reply = ask_remove(in("tree"), true);
	CHECK(ok(&reply) && reply_int(&reply, 21) == 6 && !exists(in("tree")) && exists("/etc/passwd"));
	reply_free(&reply);
	expect(ask_remove("/", true), "bad_request");
	expect(ask_remove(in("full/."), true), "bad_request");
	CHECK(exists(in("full/x")));
}

static void
dig(const char *top, int levels)
{
	CHECK(mkdir(top, 0755) == 0);
	int fd = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (int i = 0; i < levels && fd >= 0; i++) {
		CHECK(mkdirat(fd, "d", 0755) == 0);
		int down = openat(fd, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		close(fd);
		fd = down;
	}
	CHECK(symlinkat("/etc", fd, "link") == 0);
	close(fd);
}

static void
trees_may_be_very_deep(void)
{
	/* In memory: on a disk a hundred thousand directories take their time. */
	enum { REMOVED = 100000, COPIED = 5000 };
	char other[] = "/dev/shm/carrel-test-XXXXXX";
	CHECK(mkdtemp(other) != NULL);
	char *deep = join_path(other, "deep"), *copied = join_path(other, "copied"), *copy = join_path(other, "copy");
	dig(deep, REMOVED);
	dig(copied, COPIED);
	/* A place deep down can be named, far beyond what the kernel takes at once. */
	char *path = malloc((size_t)COPIED * 2 + 200);
	size_t length = (size_t)sprintf(path, "%s", copied);
	for (int i = 0; i < COPIED; i++)
		length += (size_t)sprintf(path + length, "/d");
	strcpy(path + length, "/new");
	expect(ask_write(path, "deep", 4), NULL);
	struct reply reply = ask_read(path, -1, -1);
	CHECK(ok(&reply) && reply.data.length == 4);
	reply_free(&reply);
	expect(ask_two(REQUEST_COPY, copied, copy, true), NULL);
	reply = ask_remove(copy, true);
	CHECK(ok(&reply) && reply_int(&reply, 21) == COPIED + 3);
	reply_free(&reply);
	reply = ask_remove(other, true);
	CHECK(ok(&reply) && reply_int(&reply, 21) == REMOVED + 2 + COPIED + 3 + 1);
	reply_free(&reply);
	free(path);
	free(deep);
	free(copied);
	free(copy);
}

static void
wide_and_deep_together(void)
{
	/* Deeper than the walk keeps descriptors open, and each level with more entries than one batch holds. */
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int64_t made = 0;
	for (int level = 0; level < 80; level++) {
		CHECK(mkdirat(fd, "w", 0755) == 0);
		int down = openat(fd, "w", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		close(fd);
		fd = down;
		made++;
		for (int i = 0; level % 20 == 0 && i < 2500; i++) {
			char name[64];
			snprintf(name, sizeof name, "%d-with-a-longer-name", i);
			CHECK(mkdirat(fd, name, 0755) == 0);
			made++;
		}
	}
	close(fd);
	expect(ask_two(REQUEST_COPY, in("w"), in("w2"), true), NULL);
	struct reply reply = ask_remove(in("w"), true);
	CHECK(ok(&reply) && reply_int(&reply, 21) == made);
	reply_free(&reply);
	reply = ask_remove(in("w2"), true);
	CHECK(ok(&reply) && reply_int(&reply, 21) == made);
	reply_free(&reply);
}

static void
across_file_systems(void)
{
	char other[] = "/dev/shm/carrel-test-XXXXXX";
	struct stat here, there;
	CHECK(mkdtemp(other) != NULL && stat(folder, &here) == 0 && stat(other, &there) == 0);
	CHECK(here.st_dev != there.st_dev);
	make_tree("travel");
	char *target = join_path(other, "arrived");
	expect(ask_two(REQUEST_MOVE, in("travel"), target, true), NULL);
	char *script = join_path(target, "sub/script");
	struct stat status;
	CHECK(!exists(in("travel")) && stat(script, &status) == 0 && status.st_mtim.tv_sec == 2000);
	/* One entry that cannot be copied: nothing is moved. */
	char *fifo = join_path(target, "fifo");
	CHECK(mkfifo(fifo, 0600) == 0);
	expect(ask_two(REQUEST_MOVE, target, in("back"), true), "not_a_file");
	CHECK(exists(script) && !exists(in("back")) && leftovers(folder) == 0);
	unlink(fifo);
	put_text(in("occupied"), "mine");
	expect(ask_two(REQUEST_MOVE, script, in("occupied"), false), "exists");
	CHECK(has_text(in("occupied"), "mine") && exists(script));
	expect(ask_two(REQUEST_MOVE, script, in("occupied"), true), NULL);
	CHECK(has_text(in("occupied"), "#!/bin/sh\n") && !exists(script));
	expect(ask_remove(other, true), NULL);
	free(target);
	free(script);
	free(fifo);
}

static void
as_nobody(void)
{
	if (geteuid() == 0 && (setgid(65534) < 0 || setuid(65534) < 0))
		_exit(3);
}

/* A copy has closed directories like its original, and is in nobody's way when it comes to nothing. */
static void
a_move_that_fails_leaves_nothing(void)
{
	char other[] = "/dev/shm/carrel-test-XXXXXX";
	CHECK(mkdtemp(other) != NULL && chmod(other, 0755) == 0);
	char *from = join_path(other, "from"), *sub = join_path(from, "sub"), *file = join_path(sub, "file"), *fifo = join_path(from, "fifo");
	CHECK(mkdir(from, 0755) == 0 && mkdir(sub, 0755) == 0 && mkfifo(fifo, 0600) == 0);
	put_text(file, "x");
	CHECK(chmod(sub, 0555) == 0 && chmod(from, 0555) == 0);
	chmod(folder, 0777);
	in_worker = as_nobody;
	expect(ask_two(REQUEST_MOVE, from, in("nowhere"), true), "not_a_file");
	in_worker = NULL;
	chmod(folder, 0755);
	CHECK(exists(file) && !exists(in("nowhere")) && leftovers(folder) == 0);
	CHECK(chmod(sub, 0755) == 0 && chmod(from, 0755) == 0);
	expect(ask_remove(other, true), NULL);
	free(from);
	free(sub);
	free(file);
	free(fifo);
}

static void
what_may_not_be_removed_is_named(void)
{
	CHECK(mkdir(in("mixed"), 0777) == 0 && mkdir(in("mixed/locked"), 0755) == 0);
	chmod(in("mixed"), 0777);
	chmod(folder, 0777);
	put_text(in("mixed/locked/held"), "x");
	if (geteuid() != 0)
		chmod(in("mixed/locked"), 0555);
	in_worker = as_nobody;
	struct reply reply = ask_remove(in("mixed"), true);
	CHECK(failed_with(&reply, "permission") && strstr(reply.message, "mixed/locked/held") != NULL);
	reply_free(&reply);
	chmod(folder, 0755);
	expect(ask_remove(in("mixed"), true), "permission"); /* known at once that it cannot be: nothing is touched */
	in_worker = NULL;
	chmod(in("mixed/locked"), 0755);
	CHECK(exists(in("mixed/locked/held")));
}

int
main(void)
{
	folder_make();
	move_renames();
	move_exchanges();
	copy_keeps_looks();
	copy_refuses_nonsense();
	copy_keeps_holes();
	remove_takes_what_it_is_told();
	trees_may_be_very_deep();
	wide_and_deep_together();
	across_file_systems();
	a_move_that_fails_leaves_nothing();
	what_may_not_be_removed_is_named();
	folder_remove();
	return finish();
}
