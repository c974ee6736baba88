/* What the file operations share: a request and its answer, places in the tree, and what each of them serves. */
#ifndef CARREL_FILES_H
#define CARREL_FILES_H

#include <sys/stat.h>

#include "guest.h"

enum {
	REQUEST_STAT = 0x10,
	REQUEST_READ,
	REQUEST_WRITE,
	REQUEST_LIST_DIR,
	REQUEST_MKDIR,
	REQUEST_MOVE,
	REQUEST_COPY,
	REQUEST_REMOVE,
	REQUEST_GLOB,
	REQUEST_GREP,
	REQUEST_WATCH,
	REQUEST_TUNNEL = 0x20,
};

enum {
	FRAME_DATA_IN = 0x40,
	FRAME_DATA_END = 0x41,
	FRAME_OK = 0x80,
	FRAME_ERROR = 0x81,
	FRAME_ENTRY = 0x88,
	FRAME_MATCH = 0x89,
	FRAME_DATA = 0x8A,
	FRAME_EVENT = 0x8B,
};

/* Paths longer than this do not fit an answer; what lies deeper counts as unreadable. */
#define PATH_LIMIT (256u << 10)

/* One request being served. Answers gather in `out` and leave in large writes. */
struct operation {
	int connection;
	struct bytes request;
	const char *workspace; /* where a relative path starts when there is no root */
	char *root;	       /* paths stay beneath it; NULL: anywhere the sandbox's user may go */
	struct writer out;
	bool attributes;       /* entries are told with them */
	bool gone; /* the host hung up: nothing more is worth doing */
};

/* What a walk could not look into: counted, the first one named. */
struct unreadable {
	int64_t count;
	char *first;
};

#define CLEANUP(function) __attribute__((cleanup(function)))
void close_fd(int *fd);
void free_text(char **text);
void free_writer(struct writer *writer);
void free_unreadable(struct unreadable *unreadable);

/* answer.c. The ask functions answer ERROR bad_request themselves when they return false or NULL. */
bool ask_int(struct operation *op, uint8_t tag, const char *name, int64_t fallback, int64_t min, int64_t max, int64_t *value);
bool ask_flag(struct operation *op, uint8_t tag, const char *name, bool fallback, bool *value);
char *ask_text(struct operation *op, uint8_t tag, const char *name);
char *ask_path(struct operation *op, uint8_t tag, const char *name);

void fail(struct operation *op, const char *code, int error, const char *format, ...) __attribute__((format(printf, 4, 5)));
/* "cannot DOING PATH: reason", with the code that belongs to the errno. */
void fail_errno(struct operation *op, int error, const char *doing, const char *path);

/* Adds an ENTRY, with the target of a link or NULL. False when the path is too long for a frame. */
bool put_entry(struct operation *op, const char *path, const struct stat *status, const char *target);
/* The same for what is at a name in a folder, with its attributes where the request asks for them. */
bool put_entry_at(struct operation *op, const char *path, const struct stat *status, const char *target, int parent, const char *name);
#define TARGET_SIZE 4097
/* Where a link points, in the buffer; NULL when it is none. */
const char *link_target(const struct stat *status, int parent, const char *name, char buffer[TARGET_SIZE]);
void put_ok(struct operation *op);
void put_unreadable(struct writer *out, const struct unreadable *unreadable);
void note_unreadable(struct unreadable *unreadable, const char *path);

/* Sends what has gathered when it is worth a write (or in any case). False once the host is gone. */
bool answer_pass(struct operation *op);
bool answer_flush(struct operation *op);
/* Asks the socket whether the host hung up; cheap enough for every thousandth step of a walk. */
bool host_gone(struct operation *op);

/* attributes.c. Gives a new file those that the request has: 0, or an errno. */
int attributes_set(const struct operation *op, int fd);
bool attributes_asked(const struct operation *op);
void put_attributes(struct writer *out, int parent, const char *name);

/* "base/name", or just name when base is empty. NULL when memory is short. */
char *join_path(const char *base, const char *name);

/* A name in a directory: the end of a path whose other parts are already resolved. The name has no slash; "." stands for
 * the directory itself. */
struct place {
	int parent;
	char *name;
};

enum {
	PLACE_FOLLOW = 1,  /* a link at the end stands for its target, there or not */
	PLACE_PARENTS = 2, /* missing directories on the way are made, 0755 */
};

/* place.c. Both return 0, or -1 with errno; EXDEV: the path leads out of the root. */
int place_find(const struct operation *op, const char *path, unsigned flags, struct place *place);
int place_stat(const struct place *place, struct stat *status);
void place_free(struct place *place);
/* Finds and opens in one go; never waits for a FIFO, never follows a link put there meanwhile. */
int place_open(const struct operation *op, const char *path, int flags, struct place *place);
/* Makes the name of a temporary sibling. */
void sibling_name(char name[32]);
/* Renames without replacing anything: EEXIST when something is there. */
int rename_new(int from, const char *from_name, int to, const char *to_name);
/* Puts each of two where the other is. */
int rename_exchange(int from, const char *from_name, int to, const char *to_name);

void serve_stat(struct operation *op);
void serve_read(struct operation *op);
void serve_write(struct operation *op);
void serve_list(struct operation *op);
void serve_mkdir(struct operation *op);
void serve_move(struct operation *op);
void serve_copy(struct operation *op);
void serve_remove(struct operation *op);
void serve_glob(struct operation *op);
void serve_grep(struct operation *op);
void serve_watch(struct operation *op);
void serve_tunnel(struct operation *op);

#endif
