/* For tests of file operations: a folder of their own, requests to a worker process, and checks that count. */
#ifndef CARREL_HARNESS_H
#define CARREL_HARNESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "files.h"

extern int checks_passed;
extern int checks_failed;

#define CHECK(condition) check((condition), __FILE__, __LINE__, #condition)
bool check(bool condition, const char *file, int line, const char *text);
/* Prints the counts; the exit status of the program. */
int finish(void);

/* The test's folder, made by folder_make and removed with everything in it by folder_remove. */
extern char folder[64];
void folder_make(void);
void folder_remove(void);
/* "folder/name", in one of a few rotating buffers. */
const char *in(const char *name);

void put_file(const char *path, const void *data, size_t length);
void put_text(const char *path, const char *text);
bool has_text(const char *path, const char *text);
bool exists(const char *path);
/* Names in a directory that start with the prefix of temporary files. */
int leftovers(const char *path);

/* A worker serving one request. The caller reads frames, or closes `fd`; worker_end waits for it. */
struct worker {
	int fd;
	pid_t pid;
	uint8_t *buffer;
	size_t capacity;
};

/* Starts a request; fields are added by begin … put_… … start. */
extern struct writer request;
void begin(uint8_t type);
struct worker start(void);
/* In the worker, before it serves: chroot, another user, limits. */
extern void (*in_worker)(void);
/* Next frame: its type, or 0 at the end. */
uint8_t next(struct worker *worker, struct bytes *payload);
void send_frame(struct worker *worker, uint8_t type, const void *data, size_t length);
/* Closes the connection and returns the worker's wait status. */
int worker_end(struct worker *worker);

/* Everything a request answered. */
struct reply {
	uint8_t last; /* FRAME_OK, FRAME_ERROR, or 0 when it ended with neither */
	char code[32];
	char message[512];
	int entries;
	char *paths[4096]; /* of the first entries, events or matches */
	struct writer final; /* payload of the last frame */
	struct writer first; /* payload of the first ENTRY */
	struct writer data;
	struct writer matches; /* for MATCH frames, "path:line:text\n", context with '-' */
	int status;
};

struct reply finish_request(struct worker *worker);
struct reply run(void);
void reply_free(struct reply *reply);
int64_t reply_int(const struct reply *reply, uint8_t tag);
int64_t entry_int(const struct reply *reply, uint8_t tag);
bool failed_with(const struct reply *reply, const char *code);

/* Whole requests in one call. */
struct reply ask_stat(const char *path, bool follow);
struct reply ask_read(const char *path, int64_t offset, int64_t length);
struct reply ask_write(const char *path, const void *data, size_t length);
struct reply ask_two(uint8_t type, const char *from, const char *to, bool overwrite);
struct reply ask_remove(const char *path, bool recursive);

double seconds(void);

#endif
