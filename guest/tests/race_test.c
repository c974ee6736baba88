/* Somebody inside swaps directories for links, as fast as possible, while requests go on: nothing outside the root may ever be
 * read, written or removed. Each attack is also checked to have hit: some requests must have met the link. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"

#define EXCHANGE 2 /* RENAME_EXCHANGE */
#define LENGTH 1.2 /* seconds an attack lasts */

static pid_t
attack(void (*once)(void))
{
	fflush(stdout);
	pid_t pid = fork();
	if (pid != 0)
		return pid;
	for (;;)
		once();
}

static void
relent(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void
exchange(const char *one, const char *other)
{
	syscall(SYS_renameat2, AT_FDCWD, one, AT_FDCWD, other, EXCHANGE);
}

static void
swap_for_link(void)
{
	exchange(in("root/d"), in("root/other"));
}

/* Serves in this process, for speed: what is sent before and answered fits the socket's buffer. */
static struct reply
serve(const char *data)
{
	int ends[2];
	uint8_t type;
	struct bytes payload;
	struct reply reply = {0};
	struct guest_options options = {.workspace = folder};
	frame_end(&request);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		abort();
	struct worker worker = {.fd = ends[0], .pid = -1};
	if (data != NULL) {
		send_frame(&worker, FRAME_DATA_IN, data, strlen(data));
		send_frame(&worker, FRAME_DATA_END, "", 0);
	}
	frame_decode(request.data, request.length, &type, &payload);
	files_serve(ends[1], type, payload, &options);
	close(ends[1]);
	while ((type = next(&worker, &payload)) != 0) {
		reply.last = type;
		if (type == FRAME_DATA)
			writer_bytes(&reply.data, payload.data, payload.length);
		if (type == FRAME_ERROR) {
			struct bytes code = {0};
			field_find(payload, 10, &code);
			memcpy(reply.code, code.data, code.length < 31 ? code.length : 31);
		}
	}
	close(worker.fd);
	free(worker.buffer);
	return reply;
}

static void
begin_in_root(uint8_t type, const char *path)
{
	begin(type);
	put_string(&request, 3, in("root"));
	put_string(&request, 10, path);
}

static bool
outside_is_whole(void)
{
	return has_text(in("outside/f"), "secret") && has_text(in("outside/sub/g"), "secret") && leftovers(in("outside")) == 0 &&
	       !exists(in("outside/new"));
}

static void
build(void)
{
	const char *folders[] = {"root", "root/d", "root/d/sub", "outside", "outside/sub"};
	for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
		mkdir(in(folders[i]), 0755);
	put_text(in("root/d/f"), "inside");
	put_text(in("root/d/sub/g"), "inside");
	put_text(in("outside/f"), "secret");
	put_text(in("outside/sub/g"), "secret");
	CHECK(symlink("../outside", in("root/other")) == 0);
}

static void
reads_stay_inside(void)
{
	int inside = 0, refused = 0, escapes = 0, tries = 0;
	pid_t attacker = attack(swap_for_link);
	for (double until = seconds() + LENGTH; seconds() < until; tries++) {
		begin_in_root(REQUEST_READ, tries % 2 == 0 ? "d/sub/g" : "d/f");
		struct reply reply = serve(NULL);
		if (reply.data.length > 0 && memcmp(reply.data.data, "inside", 6) != 0)
			escapes++;
		inside += reply.last == FRAME_OK;
		refused += reply.last == FRAME_ERROR && strcmp(reply.code, "denied") == 0;
		reply_free(&reply);
	}
	relent(attacker);
	printf("read: %d tries, %d inside, %d refused, %d escapes\n", tries, inside, refused, escapes);
	CHECK(escapes == 0 && inside > 0 && refused > 0);
}

static void
writes_stay_inside(void)
{
	int written = 0, refused = 0, escapes = 0, tries = 0;
	pid_t attacker = attack(swap_for_link);
	for (double until = seconds() + LENGTH; seconds() < until; tries++) {
		static const char *const names[] = {"d/f", "d/new", "d/sub/g", "d/made/deep/new"};
		begin_in_root(tries % 8 == 7 ? REQUEST_MKDIR : REQUEST_WRITE, tries % 8 == 7 ? "d/made/again" : names[tries % 4]);
		struct reply reply = serve(tries % 8 == 7 ? NULL : "inside");
		written += reply.last == FRAME_OK;
		refused += reply.last == FRAME_ERROR;
		escapes += !outside_is_whole() || exists(in("outside/made"));
		reply_free(&reply);
	}
	relent(attacker);
	printf("write: %d tries, %d written, %d refused, %d escapes\n", tries, written, refused, escapes);
	CHECK(escapes == 0 && written > 0 && refused > 0);
}

#define PAIRS 8

static void
swap_in_tree(void)
{
	for (int i = 0; i < PAIRS; i++) {
		char one[32], other[32];
		snprintf(one, sizeof one, "root/tree/d%d", i);
		snprintf(other, sizeof other, "root/tree/l%d", i);
		exchange(in(one), in(other));
	}
}

/* Directories and links, and many more directories between them: the kernel tells the kinds of all in one go, and by the time
 * the later ones are entered they may be something else. */
static void
grow_tree(void)
{
	char name[32];
	mkdir(in("root/tree"), 0755);
	int tree = open(in("root/tree"), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	for (int i = 0; i < 40 && tree >= 0; i++) {
		snprintf(name, sizeof name, "s%d", i);
		mkdirat(tree, name, 0755);
		if (i % 5 != 0)
			continue;
		snprintf(name, sizeof name, "d%d", i / 5);
		mkdirat(tree, name, 0755);
		snprintf(name, sizeof name, "l%d", i / 5);
		CHECK(symlinkat("../../outside", tree, name) == 0 || errno == EEXIST);
	}
	close_fd(&tree);
}

static void
removals_stay_inside(void)
{
	int removed = 0, escapes = 0, tries = 0;
	pid_t attacker = attack(swap_in_tree);
	for (double until = seconds() + LENGTH; seconds() < until; tries++) {
		grow_tree();
		begin(REQUEST_REMOVE);
		if (tries % 2 == 0)
			put_string(&request, 3, in("root"));
		put_string(&request, 10, in("root/tree"));
		put_int(&request, 11, 1);
		struct reply reply = serve(NULL);
		removed += reply.last == FRAME_OK;
		escapes += !outside_is_whole();
		reply_free(&reply);
	}
	relent(attacker);
	printf("remove: %d tries, %d removed, %d escapes\n", tries, removed, escapes);
	CHECK(escapes == 0 && removed > 0);
}

static char high[256], low[256];

static void
carry_away(void)
{
	if (rename(high, low) < 0)
		rename(low, high);
}

/* A directory in the middle of a deep tree is carried outside and back while the tree is removed. The way up from it would
 * then lead through a stranger's folder. */
static void
removal_does_not_climb_out(void)
{
	int tries = 0, escapes = 0, met = 0;
	char path[1024];
	int length = snprintf(path, sizeof path, "%s", in("root/t"));
	for (int i = 0; i < 20; i++)
		length += snprintf(path + length, sizeof path - (size_t)length, "/x");
	snprintf(high, sizeof high, "%.200s/y", path);
	snprintf(low, sizeof low, "%.200s/y", in("outside/sub"));
	pid_t attacker = attack(carry_away);
	for (double until = seconds() + LENGTH; seconds() < until; tries++) {
		char deep[1024];
		mkdir(in("root/t"), 0755);
		length = snprintf(deep, sizeof deep, "%s", in("root/t"));
		for (int i = 0; i < 20; i++) {
			length += snprintf(deep + length, sizeof deep - (size_t)length, "/x");
			mkdir(deep, 0755);
		}
		for (int i = 0; i < 100; i++) {
			length += snprintf(deep + length, sizeof deep - (size_t)length, "/y");
			mkdir(deep, 0755);
		}
		begin(REQUEST_REMOVE);
		put_string(&request, 10, in("root/t"));
		put_int(&request, 11, 1);
		struct reply reply = serve(NULL);
		met += reply.last == FRAME_ERROR;
		escapes += !outside_is_whole();
		reply_free(&reply);
	}
	relent(attacker);
	printf("carried away: %d tries, %d noticed, %d escapes\n", tries, met, escapes);
	CHECK(escapes == 0);
}

static void
copies_stay_inside(void)
{
	int copied = 0, refused = 0, escapes = 0, tries = 0;
	CHECK(mkdir(in("root/source"), 0755) == 0 && mkdir(in("root/source/made"), 0755) == 0);
	put_text(in("root/source/made/new"), "inside");
	put_text(in("root/source/new"), "inside");
	pid_t attacker = attack(swap_for_link);
	for (double until = seconds() + LENGTH; seconds() < until; tries++) {
		begin(tries % 3 == 2 ? REQUEST_MOVE : REQUEST_COPY);
		put_string(&request, 3, in("root"));
		/* Into the swapped directory, out of it, and by renaming. */
		put_string(&request, 10, tries % 3 == 1 ? "d/sub" : tries % 3 == 2 ? "copy" : "source");
		put_string(&request, 11, tries % 3 == 1 ? "copy" : "d/made");
		struct reply reply = serve(NULL);
		copied += reply.last == FRAME_OK;
		refused += reply.last == FRAME_ERROR;
		escapes += !outside_is_whole() || exists(in("outside/made")) || has_text(in("root/copy/g"), "secret");
		reply_free(&reply);
	}
	relent(attacker);
	printf("copy: %d tries, %d done, %d refused, %d escapes\n", tries, copied, refused, escapes);
	CHECK(escapes == 0 && copied > 0 && refused > 0);
}

static void
links_come_and_go(void)
{
	unlink(in("root/end"));
	symlink("../outside/f", in("root/end"));
	unlink(in("root/end"));
	put_text(in("root/end"), "inside");
}

static void
the_last_name_is_no_exception(void)
{
	int written = 0, escapes = 0, tries = 0;
	pid_t attacker = attack(links_come_and_go);
	for (double until = seconds() + LENGTH; seconds() < until; tries++) {
		begin_in_root(tries % 2 == 0 ? REQUEST_WRITE : REQUEST_READ, "end");
		put_int(&request, 12, tries % 4 == 0); /* append, or a length */
		struct reply reply = serve(tries % 2 == 0 ? "inside" : NULL);
		written += reply.last == FRAME_OK;
		escapes += !outside_is_whole() || (reply.data.length > 0 && memcmp(reply.data.data, "inside", 6) != 0);
		reply_free(&reply);
	}
	relent(attacker);
	printf("last name: %d tries, %d done, %d escapes\n", tries, written, escapes);
	CHECK(escapes == 0 && written > 0);
}

int
main(void)
{
	folder_make();
	build();
	reads_stay_inside();
	writes_stay_inside();
	removals_stay_inside();
	removal_does_not_climb_out();
	copies_stay_inside();
	the_last_name_is_no_exception();
	folder_remove();
	return finish();
}
