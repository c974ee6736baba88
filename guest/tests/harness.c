#include "harness.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "subtree.h"

int checks_passed;
int checks_failed;
char folder[64];
struct writer request;
void (*in_worker)(void);

bool
check(bool condition, const char *file, int line, const char *text)
{
	if (condition) {
		checks_passed++;
	} else {
		checks_failed++;
		printf("%s:%d: not true: %s\n", file, line, text);
	}
	return condition;
}

int
finish(void)
{
	writer_free(&request);
	printf("%d passed, %d failed\n", checks_passed, checks_failed);
	return checks_failed > 0;
}

void
folder_make(void)
{
	/* A write to a worker that refused the rest must fail, not kill the test. */
	signal(SIGPIPE, SIG_IGN);
	strcpy(folder, "/tmp/carrel-test-XXXXXX");
	if (mkdtemp(folder) == NULL) {
		perror(folder);
		exit(1);
	}
}

void
folder_remove(void)
{
	struct operation op = {.connection = -1};
	struct subtree_failure failure = {0};
	int64_t removed = 0;
	CHECK(subtree_remove(&op, AT_FDCWD, folder, &removed, &failure) == 0);
	subtree_failure_free(&failure);
}

const char *
in(const char *name)
{
	static char buffers[8][4096];
	static int turn;
	turn = (turn + 1) % 8;
	snprintf(buffers[turn], sizeof buffers[turn], "%s/%s", folder, name);
	return buffers[turn];
}

void
put_file(const char *path, const void *data, size_t length)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0 || !write_all(fd, data, length)) {
		perror(path);
		exit(1);
	}
	close(fd);
}

void
put_text(const char *path, const char *text)
{
	put_file(path, text, strlen(text));
}

bool
has_text(const char *path, const char *text)
{
	char buffer[4096];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	ssize_t got = read(fd, buffer, sizeof buffer);
	close(fd);
	return got == (ssize_t)strlen(text) && memcmp(buffer, text, (size_t)got) == 0;
}

bool
exists(const char *path)
{
	struct stat status;
	return lstat(path, &status) == 0;
}

int
leftovers(const char *path)
{
	DIR *directory = opendir(path);
	int count = 0;
	if (directory == NULL)
		return -1;
	for (struct dirent *entry; (entry = readdir(directory)) != NULL;)
		count += strncmp(entry->d_name, ".carrel-", 8) == 0;
	closedir(directory);
	return count;
}

void
begin(uint8_t type)
{
	request.length = 0;
	frame_begin(&request, type);
}

struct worker
start(void)
{
	int ends[2];
	frame_end(&request);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		abort();
	fflush(stdout);
	pid_t pid = fork();
	if (pid == 0) {
		uint8_t type;
		struct bytes payload;
		struct guest_options options = {.workspace = folder};
		close(ends[0]);
		if (in_worker != NULL)
			in_worker();
		frame_decode(request.data, request.length, &type, &payload);
		if (!fields_valid(payload))
			_exit(2);
		files_serve(ends[1], type, payload, &options);
		writer_free(&request);
		if (access("/proc/self/task", F_OK) < 0)
			_exit(0);
		exit(0); /* the leak check runs at exit, and needs /proc */
	}
	close(ends[1]);
	return (struct worker){.fd = ends[0], .pid = pid};
}

uint8_t
next(struct worker *worker, struct bytes *payload)
{
	uint8_t type;
	return frame_receive(worker->fd, &worker->buffer, &worker->capacity, &type, payload) == 1 ? type : 0;
}

void
send_frame(struct worker *worker, uint8_t type, const void *data, size_t length)
{
	struct writer frame = {0};
	frame_begin(&frame, type);
	writer_bytes(&frame, data, length);
	frame_end(&frame);
	write_all(worker->fd, frame.data, frame.length);
	writer_free(&frame);
}

int
worker_end(struct worker *worker)
{
	int status = -1;
	if (worker->fd >= 0)
		close(worker->fd);
	worker->fd = -1;
	waitpid(worker->pid, &status, 0);
	free(worker->buffer);
	worker->buffer = NULL;
	return status;
}

static void
note_match(struct reply *reply, struct bytes payload)
{
	struct bytes path = {0}, text = {0};
	int64_t line, context;
	char number[32];
	field_find(payload, 50, &path);
	field_find(payload, 61, &text);
	field_int(payload, 60, 0, &line);
	field_int(payload, 62, 0, &context);
	const char *base = memrchr(path.data, '/', path.length);
	const char *name = base == NULL ? (const char *)path.data : base + 1;
	char mark = context ? '-' : ':';
	writer_bytes(&reply->matches, name, (size_t)((const char *)path.data + path.length - name));
	int length = snprintf(number, sizeof number, "%c%" PRId64 "%c", mark, line, mark);
	writer_bytes(&reply->matches, number, (size_t)length);
	writer_bytes(&reply->matches, text.data, text.length);
	writer_bytes(&reply->matches, "\n", 1);
}

static void
note_text(struct bytes payload, uint8_t tag, char *text, size_t size)
{
	struct bytes raw;
	text[0] = 0;
	if (!field_find(payload, tag, &raw))
		return;
	size_t length = raw.length < size - 1 ? raw.length : size - 1;
	memcpy(text, raw.data, length);
	text[length] = 0;
}

struct reply
finish_request(struct worker *worker)
{
	struct reply reply = {0};
	struct bytes payload;
	for (uint8_t type; (type = next(worker, &payload)) != 0;) {
		if (type == FRAME_DATA) {
			writer_bytes(&reply.data, payload.data, payload.length);
			continue;
		}
		CHECK(fields_valid(payload));
		reply.last = type == FRAME_OK || type == FRAME_ERROR ? type : 0;
		if (type == FRAME_ENTRY && reply.entries == 0)
			writer_bytes(&reply.first, payload.data, payload.length);
		if (type == FRAME_ENTRY && reply.entries < 4096)
			reply.paths[reply.entries] = field_string(payload, 50);
		reply.entries += type == FRAME_ENTRY;
		if (type == FRAME_MATCH)
			note_match(&reply, payload);
		if (type == FRAME_ERROR) {
			note_text(payload, 10, reply.code, sizeof reply.code);
			note_text(payload, 11, reply.message, sizeof reply.message);
		}
		reply.final.length = 0;
		writer_bytes(&reply.final, payload.data, payload.length);
	}
	writer_bytes(&reply.matches, "", 1);
	reply.status = worker_end(worker);
	CHECK(reply.status == 0);
	return reply;
}

struct reply
run(void)
{
	struct worker worker = start();
	return finish_request(&worker);
}

void
reply_free(struct reply *reply)
{
	for (int i = 0; i < reply->entries && i < 4096; i++)
		free(reply->paths[i]);
	writer_free(&reply->final);
	writer_free(&reply->first);
	writer_free(&reply->data);
	writer_free(&reply->matches);
	memset(reply, 0, sizeof *reply);
}

static int64_t
int_of(const struct writer *payload, uint8_t tag)
{
	int64_t value;
	field_int((struct bytes){payload->data, payload->length}, tag, -1, &value);
	return value;
}

int64_t
reply_int(const struct reply *reply, uint8_t tag)
{
	return int_of(&reply->final, tag);
}

int64_t
entry_int(const struct reply *reply, uint8_t tag)
{
	return int_of(&reply->first, tag);
}

bool
failed_with(const struct reply *reply, const char *code)
{
	bool as_told = reply->last == FRAME_ERROR && strcmp(reply->code, code) == 0;
	if (!as_told)
		printf("expected %s, got type 0x%02x %s: %s\n", code, reply->last, reply->code, reply->message);
	return as_told;
}

struct reply
ask_stat(const char *path, bool follow)
{
	begin(REQUEST_STAT);
	put_string(&request, 10, path);
	put_int(&request, 11, follow);
	return run();
}

struct reply
ask_read(const char *path, int64_t offset, int64_t length)
{
	begin(REQUEST_READ);
	put_string(&request, 10, path);
	if (offset >= 0)
		put_int(&request, 11, offset);
	if (length >= 0)
		put_int(&request, 12, length);
	return run();
}

struct reply
ask_write(const char *path, const void *data, size_t length)
{
	begin(REQUEST_WRITE);
	put_string(&request, 10, path);
	struct worker worker = start();
	for (size_t sent = 0; sent < length;) {
		size_t part = length - sent < 100000 ? length - sent : 100000;
		send_frame(&worker, FRAME_DATA_IN, (const uint8_t *)data + sent, part);
		sent += part;
	}
	send_frame(&worker, FRAME_DATA_END, "", 0);
	return finish_request(&worker);
}

struct reply
ask_two(uint8_t type, const char *from, const char *to, bool overwrite)
{
	begin(type);
	put_string(&request, 10, from);
	put_string(&request, 11, to);
	put_int(&request, 12, overwrite);
	return run();
}

struct reply
ask_remove(const char *path, bool recursive)
{
	begin(REQUEST_REMOVE);
	put_string(&request, 10, path);
	put_int(&request, 11, recursive);
	return run();
}

double
seconds(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}
