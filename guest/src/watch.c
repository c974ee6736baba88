/* WATCH: tells what changes in a directory, or in everything below it, until the host closes the connection.
 *
 * The kernel watches single directories, so a new one is watched first and looked through after: what was put into it before
 * the watch was in place is told from what is found there. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "files.h"
#include "walk.h"

#define MOST_WATCHES 65536
#define BATCH (64u << 10)
#define BATCH_SLOTS 8192 /* more than a batch can hold events, a power of two */

enum kind { CREATED, MODIFIED, DELETED, MOVED_AWAY, MOVED_HERE, OVERFLOWED };

struct watched {
	int id;
	char *path; /* of the directory, from the top; "" is the top; NULL: no longer watched */
};

/* The last thing told about a path in this batch. */
struct told {
	uint64_t hash;
	uint32_t batch;
	uint8_t kind;
};

struct watching {
	struct operation *op;
	const char *top;
	struct place place; /* of the top */
	bool recursive;
	int events;
	struct watched *watched; /* by rising id: the kernel counts up */
	size_t count;
	size_t capacity;
	size_t live;
	struct told *told;
	uint32_t batch;
	bool overflowed;
};

static struct watched *
find_watch(struct watching *watching, int id)
{
	size_t low = 0, high = watching->count;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (watching->watched[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low < watching->count && watching->watched[low].id == id ? &watching->watched[low] : NULL;
}

static void
drop_watch(struct watching *watching, struct watched *watched)
{
	if (watched->path != NULL)
		watching->live--;
	free_text(&watched->path);
}

/* Ids only rise, so the dead ones are squeezed out from time to time instead of being searched over. */
static void
squeeze(struct watching *watching)
{
	size_t kept = 0;
	for (size_t i = 0; i < watching->count; i++)
		if (watching->watched[i].path != NULL)
			watching->watched[kept++] = watching->watched[i];
	watching->count = kept;
}

static bool
note_watch(struct watching *watching, int id, const char *path)
{
	char *copy = strdup(path);
	if (copy == NULL)
		return false;
	struct watched *known = find_watch(watching, id);
	if (known != NULL) {
		watching->live += known->path == NULL;
		free(known->path);
		known->path = copy;
		return true;
	}
	if (watching->count == watching->capacity) {
		squeeze(watching);
		if (watching->count * 2 >= watching->capacity) {
			size_t capacity = 2 * watching->capacity + 64;
			struct watched *grown = realloc(watching->watched, capacity * sizeof *grown);
			if (grown == NULL) {
				free(copy);
				return false;
			}
			watching->watched = grown;
			watching->capacity = capacity;
		}
	}
	size_t at = watching->count++;
	for (; at > 0 && watching->watched[at - 1].id > id; at--)
		watching->watched[at] = watching->watched[at - 1];
	watching->watched[at] = (struct watched){id, copy};
	watching->live++;
	return true;
}

/* Watches an open directory. The descriptor, not a path, says which, so nothing can be swapped in between. */
static bool
watch_directory(struct watching *watching, int fd, const char *path)
{
	const uint32_t mask = IN_CREATE | IN_MODIFY | IN_CLOSE_WRITE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE_SELF |
			      IN_MOVE_SELF | IN_ONLYDIR | IN_EXCL_UNLINK;
	char self[48];
	if (watching->live >= MOST_WATCHES) {
		errno = ENOSPC;
		return false;
	}
	snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
	int id = inotify_add_watch(watching->events, self, mask);
	return id >= 0 && note_watch(watching, id, path);
}

static uint64_t
hash_of(const char *path)
{
	uint64_t hash = UINT64_C(14695981039346656037);
	for (const char *p = path; *p != 0; p++)
		hash = (hash ^ (uint8_t)*p) * UINT64_C(1099511628211);
	return hash;
}

/* True when the last thing told about this path in this batch was the same. */
static bool
repeats(struct watching *watching, const char *path, enum kind kind)
{
	uint64_t hash = hash_of(path);
	for (size_t i = 0; i < BATCH_SLOTS; i++) {
		struct told *told = &watching->told[(hash + i) & (BATCH_SLOTS - 1)];
		bool used = told->batch == watching->batch;
		if (used && told->hash != hash)
			continue;
		bool same = used && told->kind == kind;
		*told = (struct told){hash, watching->batch, (uint8_t)kind};
		return same;
	}
	return false; /* a scan told more than the table holds */
}

static void
tell(struct watching *watching, const char *path, enum kind kind, bool directory)
{
	struct operation *op = watching->op;
	if (repeats(watching, path, kind))
		return;
	char *whole CLEANUP(free_text) = path[0] == 0 ? strdup(watching->top) : join_path(watching->top, path);
	if (whole == NULL || strlen(whole) > 2 * PATH_LIMIT) {
		watching->overflowed = true;
		return;
	}
	frame_begin(&op->out, FRAME_EVENT);
	put_string(&op->out, 50, whole);
	put_int(&op->out, 64, kind);
	if (directory)
		put_int(&op->out, 65, 1);
	frame_end(&op->out);
	answer_pass(op);
}

/* The names that WRITE, COPY and MOVE use on the way are nobody's business. */
static bool
ours(const char *name)
{
	return strncmp(name, ".carrel-", 8) == 0 && strlen(name) == 24 && strspn(name + 8, "0123456789abcdef") == 16;
}

/* Watches a directory and all below it, and tells what it finds as created unless it was known before. */
static void
take_in(struct watching *watching, int fd, const char *path, bool told)
{
	struct walk walk;
	char *here CLEANUP(free_text) = NULL;
	bool watched = watch_directory(watching, fd, path);
	watching->overflowed |= !watched;
	if (!watching->recursive || !watched || walk_start(&walk, fd) < 0) {
		watching->overflowed |= watching->recursive;
		if (!watching->recursive || !watched)
			close(fd);
		return;
	}
	for (enum walk_step step; (step = walk_next(&walk)) != WALK_END && !watching->op->gone;) {
		if (step == WALK_LOST) {
			watching->overflowed = true;
			break;
		}
		if (step == WALK_LEAVE || (ours(walk.name) && walk.type != DT_DIR))
			continue;
		free(here);
		if ((here = join_path(path, walk.path)) == NULL) {
			watching->overflowed = true;
			break;
		}
		if (told)
			tell(watching, here, CREATED, walk.type == DT_DIR);
		if (walk.type != DT_DIR || walk_enter(&walk) < 0)
			continue;
		if (!watch_directory(watching, walk_descriptor(&walk), here))
			watching->overflowed = true;
	}
	walk_free(&walk);
}

/* Opens a directory below the top by its names, none of them a link. */
static int
open_below(struct watching *watching, const char *path)
{
	int fd = openat(watching->place.parent, watching->place.name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	while (fd >= 0 && *path != 0) {
		size_t length = strcspn(path, "/");
		char name[256];
		int below = -1;
		if (length < sizeof name) {
			memcpy(name, path, length);
			name[length] = 0;
			below = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		}
		close(fd);
		fd = below;
		path += length + (path[length] == '/');
	}
	return fd;
}

static void
forget_below(struct watching *watching, const char *path)
{
	size_t length = strlen(path);
	for (size_t i = 0; i < watching->count; i++) {
		struct watched *watched = &watching->watched[i];
		if (watched->path == NULL || strncmp(watched->path, path, length) != 0 ||
		    (watched->path[length] != '/' && watched->path[length] != 0))
			continue;
		inotify_rm_watch(watching->events, watched->id);
		drop_watch(watching, watched);
	}
}

static void
entry_changed(struct watching *watching, const struct watched *parent, const struct inotify_event *event)
{
	static const struct {
		uint32_t mask;
		enum kind kind;
	} kinds[] = {{IN_CREATE, CREATED}, {IN_MODIFY, MODIFIED}, {IN_CLOSE_WRITE, MODIFIED}, {IN_DELETE, DELETED},
	    {IN_MOVED_FROM, MOVED_AWAY}, {IN_MOVED_TO, MOVED_HERE}};
	bool directory = (event->mask & IN_ISDIR) != 0;
	char *path CLEANUP(free_text) = join_path(parent->path, event->name);
	if (path == NULL) {
		watching->overflowed = true;
		return;
	}
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (event->mask & kinds[i].mask)
			tell(watching, path, kinds[i].kind, directory);
	if (!directory || !watching->recursive)
		return;
	if (event->mask & IN_MOVED_FROM)
		forget_below(watching, path);
	if (event->mask & (IN_CREATE | IN_MOVED_TO)) {
		int fd = open_below(watching, path);
		if (fd >= 0)
			take_in(watching, fd, path, true);
		else if (errno != ENOENT && errno != ENOTDIR && errno != ELOOP)
			watching->overflowed = true;
	}
}

static void
handle(struct watching *watching, const struct inotify_event *event)
{
	if (event->mask & IN_Q_OVERFLOW) {
		watching->overflowed = true;
		return;
	}
	struct watched *watched = find_watch(watching, event->wd);
	if (watched == NULL || watched->path == NULL)
		return;
	if (event->mask & IN_IGNORED) {
		drop_watch(watching, watched);
	} else if (event->len > 0) {
		if (!ours(event->name) || (event->mask & IN_ISDIR) != 0)
			entry_changed(watching, watched, event);
	} else if (watched->path[0] == 0 && (event->mask & (IN_DELETE_SELF | IN_MOVE_SELF)) != 0) {
		tell(watching, "", event->mask & IN_DELETE_SELF ? DELETED : MOVED_AWAY, true);
	}
}

/* Events were lost: watch whatever is there now, and say that one has to look. */
static void
start_over(struct watching *watching)
{
	watching->overflowed = false;
	int fd = open_below(watching, "");
	if (fd >= 0)
		take_in(watching, fd, "", false);
	watching->overflowed = false;
	tell(watching, "", OVERFLOWED, true);
}

static bool
read_batch(struct watching *watching, uint8_t *buffer)
{
	ssize_t got = read(watching->events, buffer, BATCH);
	if (got < 0)
		return errno == EINTR || errno == EAGAIN;
	watching->batch++;
	for (ssize_t at = 0; at < got;) {
		const struct inotify_event *event = (const void *)(buffer + at);
		handle(watching, event);
		at += (ssize_t)(sizeof *event + event->len);
	}
	if (watching->overflowed)
		start_over(watching);
	return answer_flush(watching->op);
}

static void
watch(struct watching *watching)
{
	uint8_t *buffer = aligned_alloc(_Alignof(struct inotify_event), BATCH);
	struct pollfd ends[2] = {
	    {.fd = watching->events, .events = POLLIN}, {.fd = watching->op->connection, .events = POLLIN | POLLRDHUP}};
	while (buffer != NULL) {
		if (poll(ends, 2, -1) < 0 && errno != EINTR)
			break;
		if (ends[1].revents != 0)
			break; /* the host has nothing to say but good-bye */
		if ((ends[0].revents & POLLIN) != 0 && !read_batch(watching, buffer))
			break;
	}
	free(buffer);
}

void
serve_watch(struct operation *op)
{
	struct watching watching = {.op = op, .place.parent = -1, .batch = 1};
	char *path CLEANUP(free_text) = ask_path(op, 10, "path");
	if (path == NULL || !ask_flag(op, 11, "recursive", true, &watching.recursive))
		return;
	watching.top = path;
	watching.told = calloc(BATCH_SLOTS, sizeof *watching.told);
	watching.events = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	int fd = watching.events < 0 ? -1 : place_open(op, path, O_RDONLY | O_DIRECTORY, &watching.place);
	if (fd < 0 || watching.told == NULL) {
		/* EMFILE: the user has as many watching connections as the kernel allows. */
		fail_errno(op, errno == EMFILE ? EBUSY : errno, "watch", path);
		close_fd(&fd);
	} else {
		take_in(&watching, fd, "", false);
		bool partly = watching.overflowed;
		put_ok(op);
		if (partly)
			tell(&watching, "", OVERFLOWED, true);
		watching.overflowed = false;
		if (answer_flush(op))
			watch(&watching);
	}
	for (size_t i = 0; i < watching.count; i++)
		free(watching.watched[i].path);
	free(watching.watched);
	free(watching.told);
	close_fd(&watching.events);
	place_free(&watching.place);
}
