/* STAT, READ, WRITE, MKDIR, LIST_DIR. */
#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
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
stat_tells_what_is_there(void)
{
	put_text(in("plain"), "12345");
	chmod(in("plain"), 0640);
	CHECK(symlink("plain", in("to-plain")) == 0);
	struct reply reply = ask_stat(in("to-plain"), true);
	CHECK(ok(&reply) && entry_int(&reply, 52) == 5 && entry_int(&reply, 53) == 0640);
	CHECK(strcmp(reply.paths[0], in("to-plain")) == 0);
	reply_free(&reply);
	reply = ask_stat(in("to-plain"), false);
	struct bytes target;
	CHECK(ok(&reply) && field_find((struct bytes){reply.first.data, reply.first.length}, 57, &target));
	CHECK(target.length == 5 && memcmp(target.data, "plain", 5) == 0);
	reply_free(&reply);
	reply = ask_stat("plain", true); /* relative to the workspace */
	CHECK(ok(&reply) && entry_int(&reply, 52) == 5);
	reply_free(&reply);
	reply = ask_stat(in("absent"), true);
	CHECK(failed_with(&reply, "not_found"));
	reply_free(&reply);
	reply = ask_stat(in("plain/below"), true);
	CHECK(failed_with(&reply, "not_a_directory"));
	reply_free(&reply);
	reply = ask_stat("/", true);
	CHECK(ok(&reply));
	reply_free(&reply);
	reply = ask_stat("", true);
	CHECK(failed_with(&reply, "bad_request"));
	reply_free(&reply);
}

static void
read_gives_ranges(void)
{
	size_t size = 3 * 1000 * 1000 + 17;
	uint8_t *data = malloc(size);
	for (size_t i = 0; i < size; i++)
		data[i] = (uint8_t)(i * 2654435761u >> 13);
	put_file(in("big"), data, size);
	static const int64_t ranges[][3] = {{-1, -1, 0}, {0, 10, 0}, {1000000, -1, 0}, {2999999, 100, 0}, {5000000, 5, 0}, {7, 0, 0}};
	for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
		int64_t from = ranges[i][0] < 0 ? 0 : ranges[i][0];
		int64_t left = from < (int64_t)size ? (int64_t)size - from : 0;
		int64_t expected = ranges[i][1] < 0 || ranges[i][1] > left ? left : ranges[i][1];
		struct reply reply = ask_read(in("big"), ranges[i][0], ranges[i][1]);
		CHECK(ok(&reply) && (int64_t)reply.data.length == expected && entry_int(&reply, 52) == (int64_t)size);
		CHECK(expected == 0 || memcmp(reply.data.data, data + from, (size_t)expected) == 0);
		reply_free(&reply);
	}
	begin(REQUEST_READ);
	put_string(&request, 10, in("big"));
	put_int(&request, 11, -5);
	struct reply reply = run();
	CHECK(failed_with(&reply, "bad_request"));
	reply_free(&reply);
	free(data);
}

static void
expect_read_refused(const char *path, const char *code)
{
	struct reply reply = ask_read(path, -1, -1);
	CHECK(failed_with(&reply, code) && reply.data.length == 0);
	reply_free(&reply);
}

static void
hold_a_secret(void)
{
	int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (write(fd, "secret", 6) != 6 || dup2(fd, 9) < 0)
		_exit(3);
	close(fd);
}

static void
read_takes_only_regular_files(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	snprintf(address.sun_path, sizeof address.sun_path, "%s", in("socket"));
	CHECK(bind(listener, (struct sockaddr *)&address, sizeof address) == 0);
	CHECK(mkfifo(in("fifo"), 0600) == 0);
	CHECK(symlink("/dev/zero", in("zero")) == 0 && symlink("fifo", in("to-fifo")) == 0);
	CHECK(symlink("loop", in("loop")) == 0 && symlink("nowhere", in("dangling")) == 0);
	expect_read_refused(in("fifo"), "not_a_file");
	expect_read_refused(in("to-fifo"), "not_a_file");
	expect_read_refused(in("socket"), "not_a_file");
	expect_read_refused(in("zero"), "not_a_file");
	expect_read_refused("/dev/null", "not_a_file");
	expect_read_refused(folder, "not_a_file");
	expect_read_refused(in("loop"), "bad_request");
	expect_read_refused(in("dangling"), "not_found");
	expect_read_refused("/proc/self/mem", "io");
	in_worker = hold_a_secret;
	expect_read_refused("/proc/self/fd/9", "not_found"); /* only text: not the worker's own descriptor */
	in_worker = NULL;
	close(listener);
	struct reply reply = ask_read("/proc/version", 0, -1);
	CHECK(ok(&reply) && reply.data.length > 5 && entry_int(&reply, 52) == (int64_t)reply.data.length);
	CHECK(memcmp(reply.data.data, "Linux", 5) == 0);
	reply_free(&reply);
}

static void
read_survives_a_sparse_giant(void)
{
	int fd = open(in("giant"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	off_t size = (off_t)1 << 43;
	CHECK(ftruncate(fd, size) == 0 && pwrite(fd, "end", 3, size - 3) == 3);
	close(fd);
	struct reply reply = ask_read(in("giant"), size - 6, -1);
	CHECK(ok(&reply) && entry_int(&reply, 52) == size && reply.data.length == 6);
	CHECK(memcmp(reply.data.data, "\0\0\0end", 6) == 0);
	reply_free(&reply);
	begin(REQUEST_READ);
	put_string(&request, 10, in("giant"));
	struct worker worker = start();
	struct bytes payload;
	CHECK(next(&worker, &payload) == FRAME_ENTRY && next(&worker, &payload) == FRAME_DATA);
	CHECK(worker_end(&worker) == 0); /* the host hangs up: the worker ends by itself */
	unlink(in("giant"));
}

static void
read_keeps_its_word_when_the_file_changes(void)
{
	size_t size = 8u << 20;
	uint8_t *data = calloc(1, size);
	put_file(in("changing"), data, size);
	begin(REQUEST_READ);
	put_string(&request, 10, in("changing"));
	struct worker worker = start();
	struct bytes payload;
	CHECK(next(&worker, &payload) == FRAME_ENTRY);
	CHECK(truncate(in("changing"), 4 << 20) == 0);
	struct reply reply = finish_request(&worker);
	CHECK(failed_with(&reply, "io") && reply.data.length == 4u << 20);
	reply_free(&reply);
	put_file(in("changing"), data, size);
	begin(REQUEST_READ);
	put_string(&request, 10, in("changing"));
	worker = start();
	CHECK(next(&worker, &payload) == FRAME_ENTRY);
	CHECK(truncate(in("changing"), 16 << 20) == 0);
	reply = finish_request(&worker);
	CHECK(ok(&reply) && reply.data.length == size);
	reply_free(&reply);
	free(data);
}

static void
write_replaces_as_a_whole(void)
{
	size_t size = 2500000;
	uint8_t *data = malloc(size);
	for (size_t i = 0; i < size; i++)
		data[i] = (uint8_t)(i >> 3 ^ i);
	struct reply reply = ask_write(in("new/deep/file"), data, size);
	CHECK(ok(&reply) && entry_int(&reply, 52) == (int64_t)size && entry_int(&reply, 53) == 0644);
	reply_free(&reply);
	reply = ask_read(in("new/deep/file"), -1, -1);
	CHECK(reply.data.length == size && memcmp(reply.data.data, data, size) == 0);
	reply_free(&reply);
	free(data);
	chmod(in("new/deep/file"), 0750);
	int old = open(in("new/deep/file"), O_RDONLY | O_CLOEXEC);
	reply = ask_write(in("new/deep/file"), "x", 1);
	CHECK(ok(&reply) && entry_int(&reply, 53) == 0750 && has_text(in("new/deep/file"), "x"));
	CHECK(lseek(old, 0, SEEK_END) == (off_t)size); /* a reader keeps the old one */
	close(old);
	reply_free(&reply);
	reply = ask_write(in("empty"), "", 0);
	CHECK(ok(&reply) && entry_int(&reply, 52) == 0);
	reply_free(&reply);
	CHECK(leftovers(in("new/deep")) == 0);
}

static struct reply
write_with(const char *path, uint8_t tag, int64_t value, const char *text)
{
	begin(REQUEST_WRITE);
	put_string(&request, 10, path);
	put_int(&request, tag, value);
	struct worker worker = start();
	send_frame(&worker, FRAME_DATA_IN, text, strlen(text));
	send_frame(&worker, FRAME_DATA_END, "", 0);
	return finish_request(&worker);
}

static void
write_obeys_its_options(void)
{
	struct reply reply = write_with(in("log"), 12, 1, "one\n");
	CHECK(ok(&reply));
	reply_free(&reply);
	reply = write_with(in("log"), 12, 1, "two\n");
	CHECK(ok(&reply) && entry_int(&reply, 52) == 8 && has_text(in("log"), "one\ntwo\n"));
	reply_free(&reply);
	reply = write_with(in("log"), 15, 1, "three");
	CHECK(failed_with(&reply, "exists") && has_text(in("log"), "one\ntwo\n"));
	reply_free(&reply);
	reply = write_with(in("log2"), 15, 1, "three");
	CHECK(ok(&reply) && has_text(in("log2"), "three"));
	reply_free(&reply);
	reply = write_with(in("log2"), 11, 0600, "four");
	CHECK(ok(&reply) && entry_int(&reply, 53) == 0600);
	reply_free(&reply);
	reply = write_with(in("no/such/folder"), 13, 0, "x");
	CHECK(failed_with(&reply, "not_found") && !exists(in("no")));
	reply_free(&reply);
	reply = write_with(in("log2"), 14, 4, "12345");
	CHECK(failed_with(&reply, "bad_request") && has_text(in("log2"), "four"));
	reply_free(&reply);
	reply = write_with(in("log2"), 14, 6, "12345");
	CHECK(failed_with(&reply, "bad_request") && has_text(in("log2"), "four"));
	reply_free(&reply);
	reply = write_with(in("log2"), 14, 5, "12345");
	CHECK(ok(&reply) && has_text(in("log2"), "12345"));
	reply_free(&reply);
	CHECK(leftovers(folder) == 0);
}

static void
write_goes_through_links(void)
{
	CHECK(mkdir(in("real"), 0755) == 0);
	put_text(in("real/target"), "old");
	CHECK(symlink("real/target", in("alias")) == 0);
	struct reply reply = ask_write(in("alias"), "new", 3);
	CHECK(ok(&reply) && has_text(in("real/target"), "new"));
	reply_free(&reply);
	reply = ask_stat(in("alias"), false);
	struct bytes target;
	CHECK(field_find((struct bytes){reply.first.data, reply.first.length}, 57, &target)); /* still a link */
	reply_free(&reply);
	CHECK(symlink("real/unborn", in("promise")) == 0);
	reply = ask_write(in("promise"), "born", 4);
	CHECK(ok(&reply) && has_text(in("real/unborn"), "born"));
	reply_free(&reply);
	reply = ask_write(in("fifo"), "x", 1);
	CHECK(failed_with(&reply, "not_a_file"));
	reply_free(&reply);
	reply = write_with(in("fifo"), 12, 1, "x");
	CHECK(failed_with(&reply, "not_a_file"));
	reply_free(&reply);
	reply = ask_write(in("zero"), "x", 1);
	CHECK(failed_with(&reply, "not_a_file"));
	reply_free(&reply);
	reply = ask_write(in("real"), "x", 1);
	CHECK(failed_with(&reply, "not_a_file"));
	reply_free(&reply);
}

static void
unfinished_write_leaves_the_old_file(void)
{
	put_text(in("kept"), "old");
	begin(REQUEST_WRITE);
	put_string(&request, 10, in("kept"));
	struct worker worker = start();
	send_frame(&worker, FRAME_DATA_IN, "half of it", 10);
	CHECK(worker_end(&worker) == 0);
	CHECK(has_text(in("kept"), "old") && leftovers(folder) == 0);
	begin(REQUEST_WRITE);
	put_string(&request, 10, in("kept"));
	worker = start();
	send_frame(&worker, FRAME_DATA_IN, "half", 4);
	send_frame(&worker, 0x44, "what", 4);
	struct reply reply = finish_request(&worker);
	CHECK(failed_with(&reply, "bad_request") && has_text(in("kept"), "old") && leftovers(folder) == 0);
	reply_free(&reply);
}

static void
killed_write_leaves_nothing(void)
{
	CHECK(mkdir(in("killed"), 0755) == 0);
	begin(REQUEST_WRITE);
	put_string(&request, 10, in("killed/file"));
	struct worker worker = start();
	send_frame(&worker, FRAME_DATA_IN, "half of it", 10);
	int queued = 1;
	for (double until = seconds() + 5; queued > 0 && seconds() < until; sched_yield())
		CHECK(ioctl(worker.fd, SIOCOUTQ, &queued) == 0);
	CHECK(queued == 0 && kill(worker.pid, SIGKILL) == 0);
	CHECK(worker_end(&worker) == SIGKILL);
	CHECK(rmdir(in("killed")) == 0); /* empty */
}

static void
without_proc(void)
{
	if (geteuid() != 0 && unshare(CLONE_NEWUSER) < 0)
		_exit(3);
	if (chroot(folder) < 0 || chdir("/") < 0)
		_exit(3);
}

static void
write_works_without_proc(void)
{
	put_text(in("kept"), "old");
	in_worker = without_proc;
	struct reply reply = ask_write("/kept", "new", 3);
	CHECK(ok(&reply) && has_text(in("kept"), "new"));
	reply_free(&reply);
	reply = write_with("/kept", 15, 1, "newer");
	CHECK(failed_with(&reply, "exists"));
	reply_free(&reply);
	reply = write_with("/fresh", 15, 1, "first");
	CHECK(ok(&reply) && has_text(in("fresh"), "first"));
	reply_free(&reply);
	begin(REQUEST_WRITE);
	put_string(&request, 10, "/kept");
	struct worker worker = start();
	send_frame(&worker, FRAME_DATA_IN, "half", 4);
	CHECK(worker_end(&worker) == 0 && has_text(in("kept"), "new"));
	in_worker = NULL;
	CHECK(leftovers(folder) == 0);
}

static void
names_may_hold_any_byte(void)
{
	char longest[256];
	memset(longest, 'n', 255);
	longest[255] = 0;
	const char *names[] = {"new\nline", "not utf-8 \xff\xfe", " ", "-rf", "*?[]{}", longest};
	CHECK(mkdir(in("odd"), 0755) == 0);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		char *path = join_path(in("odd"), names[i]);
		struct reply reply = ask_write(path, "odd", 3);
		CHECK(ok(&reply));
		reply_free(&reply);
		reply = ask_read(path, -1, -1);
		CHECK(ok(&reply) && reply.data.length == 3 && strcmp(reply.paths[0], path) == 0);
		reply_free(&reply);
		free(path);
	}
	begin(REQUEST_LIST_DIR);
	put_string(&request, 10, in("odd"));
	struct reply reply = run();
	CHECK(ok(&reply) && reply.entries == 6);
	for (int i = 1; i < reply.entries; i++)
		CHECK(strcmp(reply.paths[i - 1], reply.paths[i]) < 0);
	reply_free(&reply);
	begin(REQUEST_STAT);
	put_bytes(&request, 10, "a\0b", 3);
	reply = run();
	CHECK(failed_with(&reply, "bad_request"));
	reply_free(&reply);
	char *too_long = join_path(in("odd"), longest);
	too_long = realloc(too_long, strlen(too_long) + 2);
	strcat(too_long, "n");
	reply = ask_write(too_long, "x", 1);
	CHECK(failed_with(&reply, "bad_request"));
	reply_free(&reply);
	free(too_long);
}

static void
mkdir_makes_the_way(void)
{
	begin(REQUEST_MKDIR);
	put_string(&request, 10, in("m/a/b"));
	put_int(&request, 12, 0700);
	struct reply reply = run();
	CHECK(ok(&reply) && entry_int(&reply, 53) == 0700);
	reply_free(&reply);
	begin(REQUEST_MKDIR);
	put_string(&request, 10, in("m/a/b"));
	reply = run();
	CHECK(ok(&reply)); /* as mkdir -p */
	reply_free(&reply);
	begin(REQUEST_MKDIR);
	put_string(&request, 10, in("m/a/b"));
	put_int(&request, 11, 0);
	reply = run();
	CHECK(failed_with(&reply, "exists"));
	reply_free(&reply);
	begin(REQUEST_MKDIR);
	put_string(&request, 10, in("plain"));
	reply = run();
	CHECK(failed_with(&reply, "exists"));
	reply_free(&reply);
	begin(REQUEST_MKDIR);
	put_string(&request, 10, in("n/a"));
	put_int(&request, 11, 0);
	reply = run();
	CHECK(failed_with(&reply, "not_found"));
	reply_free(&reply);
}

static struct reply
list(const char *path, int64_t depth, int64_t limit)
{
	begin(REQUEST_LIST_DIR);
	put_string(&request, 10, path);
	put_int(&request, 11, depth);
	put_int(&request, 12, limit);
	return run();
}

static void
list_is_sorted_and_bounded(void)
{
	CHECK(mkdir(in("l"), 0755) == 0 && mkdir(in("l/b"), 0755) == 0 && mkdir(in("l/b/x"), 0755) == 0);
	put_text(in("l/c"), "c");
	put_text(in("l/a"), "a");
	put_text(in("l/b/y"), "y");
	CHECK(symlink("b", in("l/link")) == 0);
	struct reply reply = list(in("l"), 1, 100);
	CHECK(ok(&reply) && reply.entries == 4 && reply_int(&reply, 20) == 0);
	CHECK(strcmp(reply.paths[0], in("l/a")) == 0 && strcmp(reply.paths[3], in("l/link")) == 0);
	reply_free(&reply);
	reply = list(in("l"), 3, 100);
	const char *expected[] = {"l/a", "l/b", "l/b/x", "l/b/y", "l/c", "l/link"};
	CHECK(reply.entries == 6);
	for (int i = 0; i < 6 && i < reply.entries; i++)
		CHECK(strcmp(reply.paths[i], in(expected[i])) == 0);
	reply_free(&reply);
	reply = list(in("l"), 3, 3);
	CHECK(ok(&reply) && reply.entries == 3 && reply_int(&reply, 20) == 1);
	CHECK(strcmp(reply.paths[2], in("l/b/x")) == 0);
	reply_free(&reply);
	CHECK(mkdir(in("many"), 0755) == 0);
	for (int i = 0; i < 500; i++) {
		char name[32];
		snprintf(name, sizeof name, "many/%03d", (i * 7919) % 500);
		put_text(in(name), "");
	}
	reply = list(in("many"), 1, 10);
	CHECK(reply.entries == 10 && strcmp(reply.paths[9], in("many/009")) == 0 && reply_int(&reply, 20) == 1);
	reply_free(&reply);
	reply = list(in("many"), 1, 500);
	CHECK(reply.entries == 500 && reply_int(&reply, 20) == 0 && strcmp(reply.paths[499], in("many/499")) == 0);
	reply_free(&reply);
	reply = list(in("l/a"), 1, 10);
	CHECK(failed_with(&reply, "not_a_directory"));
	reply_free(&reply);
}

static void
as_nobody(void)
{
	if (geteuid() == 0 && (setgid(65534) < 0 || setuid(65534) < 0))
		_exit(3);
}

static void
permissions_are_the_kernels(void)
{
	CHECK(mkdir(in("p"), 0755) == 0 && mkdir(in("p/closed"), 0700) == 0);
	chmod(folder, 0755);
	put_text(in("p/private"), "secret");
	put_text(in("p/readable"), "text");
	put_text(in("p/closed/inner"), "x");
	chmod(in("p/private"), 0);
	chmod(in("p/closed"), 0);
	chmod(in("p/readable"), 0444);
	in_worker = as_nobody;
	struct reply reply = ask_read(in("p/private"), -1, -1);
	CHECK(failed_with(&reply, "permission"));
	reply_free(&reply);
	reply = ask_write(in("p/readable"), "x", 1);
	CHECK(failed_with(&reply, "permission") && has_text(in("p/readable"), "text"));
	reply_free(&reply);
	reply = list(in("p"), 2, 100);
	CHECK(ok(&reply) && reply.entries == 3 && reply_int(&reply, 24) == 1);
	struct bytes first = {0};
	CHECK(field_find((struct bytes){reply.final.data, reply.final.length}, 25, &first));
	CHECK(first.length == strlen(in("p/closed")) && memcmp(first.data, in("p/closed"), first.length) == 0);
	reply_free(&reply);
	in_worker = NULL;
	chmod(in("p/closed"), 0700);
	chmod(in("p/private"), 0600);
}

static struct reply
rooted(uint8_t type, const char *root, const char *path)
{
	begin(type);
	put_string(&request, 3, root);
	put_string(&request, 10, path);
	return run();
}

static void
expect_rooted(const char *path, const char *code)
{
	struct reply reply = rooted(REQUEST_READ, in("r/root"), path);
	if (code == NULL)
		CHECK(ok(&reply) && reply.data.length == 6);
	else
		CHECK(failed_with(&reply, code) && reply.data.length == 0);
	reply_free(&reply);
}

static void
a_root_holds(void)
{
	CHECK(mkdir(in("r"), 0755) == 0 && mkdir(in("r/root"), 0755) == 0 && mkdir(in("r/root/d"), 0755) == 0);
	CHECK(mkdir(in("r/rootx"), 0755) == 0);
	put_text(in("r/outside"), "secret");
	put_text(in("r/rootx/outside"), "secret");
	put_text(in("r/root/inside"), "inside");
	CHECK(symlink("../outside", in("r/root/up")) == 0 && symlink("/", in("r/root/top")) == 0);
	CHECK(symlink("..", in("r/root/d/parent")) == 0 && symlink("../..", in("r/root/d/out")) == 0);
	CHECK(symlink(in("r/root/inside"), in("r/root/absolute")) == 0 && symlink(in("r/outside"), in("r/root/escape")) == 0);
	expect_rooted("inside", NULL);
	expect_rooted(in("r/root/inside"), NULL);
	expect_rooted("d/../inside", NULL);
	expect_rooted("d/parent/inside", NULL);
	expect_rooted("absolute", NULL);
	expect_rooted("up", "denied");
	expect_rooted("escape", "denied");
	expect_rooted("top/etc/passwd", "denied");
	expect_rooted("../outside", "denied");
	expect_rooted("d/out/outside", "denied");
	expect_rooted("d/../../root/inside", "denied");
	expect_rooted(in("r/outside"), "denied");
	expect_rooted(in("r/rootx/outside"), "denied");
	expect_rooted("/etc/passwd", "denied");
	struct reply reply = rooted(REQUEST_LIST_DIR, in("r/root"), ".");
	CHECK(ok(&reply) && reply.entries == 6);
	reply_free(&reply);
	reply = rooted(REQUEST_REMOVE, in("r/root"), ".");
	CHECK(failed_with(&reply, "bad_request"));
	reply_free(&reply);
	begin(REQUEST_WRITE);
	put_string(&request, 3, in("r/root"));
	put_string(&request, 10, "escape");
	struct worker worker = start();
	send_frame(&worker, FRAME_DATA_END, "", 0);
	reply = finish_request(&worker);
	CHECK(failed_with(&reply, "denied") && has_text(in("r/outside"), "secret"));
	reply_free(&reply);
}

int
main(void)
{
	folder_make();
	stat_tells_what_is_there();
	read_gives_ranges();
	read_takes_only_regular_files();
	read_survives_a_sparse_giant();
	read_keeps_its_word_when_the_file_changes();
	write_replaces_as_a_whole();
	write_obeys_its_options();
	write_goes_through_links();
	unfinished_write_leaves_the_old_file();
	killed_write_leaves_nothing();
	write_works_without_proc();
	names_may_hold_any_byte();
	mkdir_makes_the_way();
	list_is_sorted_and_bounded();
	permissions_are_the_kernels();
	a_root_holds();
	folder_remove();
	return finish();
}
