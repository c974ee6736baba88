#include "changes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "loop.h"
#include "nodes.h"
#include "server.h"

#define JOURNAL_MAX 32768
#define REPORT_MAX 10000
#define REPORT_BYTES (512u << 10)
/* Events are fetched at most this often: the kernel merges equal ones that wait. */
#define FETCH_US 10000
/* A workspace that could not be known as a whole is looked through again at most this often. */
#define SCAN_US 10000000
/* What one fetch may cost, in names looked at: some tenths of a second, and more than all the new directories that a
 * report has room for. To a program a rename is one call, to us it is every name below. */
#define WORK_MAX 400000
#define WORK_OF_DIRECTORY 32 /* to open, watch and read it */
#define INTEREST                                                                                                            \
	(IN_CREATE | IN_DELETE | IN_MODIFY | IN_CLOSE_WRITE | IN_MOVED_FROM | IN_MOVED_TO | IN_ONLYDIR | IN_DONT_FOLLOW |   \
	 IN_EXCL_UNLINK)

enum change { CHANGE_APPEARED, CHANGE_WRITTEN, CHANGE_CLOSED, CHANGE_GONE };
enum action { ACTION_CREATED, ACTION_MODIFIED, ACTION_DELETED };

/* Only the first entry of a node after a mark matters: it tells whether the node was there before. */
struct entry {
	struct node *node;
	enum change change;
};

static struct source events;
static bool opened;
static int top = -1;
static struct entry *journal;
static size_t journal_length, journal_capacity;
static uint64_t journal_start, newest_mark, losses;
static size_t open_marks;
static uint32_t reports, scans;
static uint32_t work; /* of this fetch */
static bool stale;	/* events were lost: what we know must be compared with what is there */
static bool incomplete; /* some directory is not watched, or some file not known */
static int64_t fetch_again, scan_again;

static void scan(struct node *directory, int fd);

static void
lose(void)
{
	losses++;
	incomplete = true;
}

static void
lose_track(void)
{
	losses++;
	stale = true;
}

static void
note(struct node *node, enum change change)
{
	if (open_marks == 0)
		return;
	if (node->journalled > newest_mark) {
		struct entry *entry = &journal[node->journalled - 1 - journal_start];
		if (entry->change == CHANGE_CLOSED && change == CHANGE_WRITTEN)
			entry->change = change;
		return;
	}
	if (journal_length == journal_capacity) {
		size_t capacity = journal_capacity ? journal_capacity * 2 : 64;
		struct entry *grown = capacity > JOURNAL_MAX ? NULL : realloc(journal, capacity * sizeof *grown);
		if (grown == NULL) {
			losses++;
			return;
		}
		journal = grown;
		journal_capacity = capacity;
	}
	journal[journal_length++] = (struct entry){node, change};
	node->journalled = journal_start + journal_length;
}

static void
disappeared(struct node *node)
{
	for (struct node *child = node->child; child != NULL; child = child->sibling) {
		work++; /* those that are gone are met as well */
		if (child->present)
			disappeared(child);
	}
	if (node->watch >= 0)
		inotify_rm_watch(events.fd, node->watch);
	note(node, CHANGE_GONE);
	node_gone(node);
}

/* Watches a directory before its entries are read, so that nothing that comes in between is missed. */
static void
watch(struct node *directory, int fd)
{
	if (fchdir(fd) < 0) {
		lose();
		return;
	}
	int number = inotify_add_watch(events.fd, ".", INTEREST);
	if (chdir("/") < 0 || number < 0) {
		lose();
		return;
	}
	struct node *other = node_by_watch(number);
	if (other != NULL && other != directory)
		node_set_watch(other, -1);
	node_set_watch(directory, number);
}

static void
scan_child(struct node *node, int parent)
{
	int fd = openat(parent, node->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0)
		scan(node, fd);
	else if (errno != ENOENT && errno != ENOTDIR && errno != ELOOP)
		lose();
}

/* There is an entry of this name, and when `replaced`, not the one that may have been there before. `fd` is its directory's,
 * or -1 when that has to be opened. False when nothing more can be remembered. */
static bool
appeared(struct node *parent, int fd, const char *name, bool directory, bool replaced)
{
	struct node *node = node_find(parent, name);
	bool was_there = node != NULL && node->present;
	work++;
	if (was_there && node->directory && (replaced || !directory))
		disappeared(node);
	if (node == NULL)
		node = node_add(parent, name);
	if (node == NULL) {
		lose();
		return false;
	}
	if (!was_there)
		note(node, CHANGE_APPEARED);
	else if (replaced || node->directory != directory)
		note(node, CHANGE_WRITTEN);
	node->seen = scans;
	node->present = true;
	node->directory = directory;
	if (!directory)
		return true;
	work += fd >= 0 ? WORK_OF_DIRECTORY : WORK_OF_DIRECTORY + parent->depth;
	int parent_fd = fd >= 0 ? fd : node_open(parent, top);
	if (parent_fd >= 0)
		scan_child(node, parent_fd);
	if (fd < 0 && parent_fd >= 0)
		close(parent_fd);
	return true;
}

/* Watches a directory and takes in what it holds; closes the descriptor. */
static void
scan(struct node *directory, int fd)
{
	watch(directory, fd);
	DIR *stream = fdopendir(fd);
	if (stream == NULL) {
		lose();
		close(fd);
		return;
	}
	for (struct dirent *entry; (entry = readdir(stream)) != NULL;) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		bool is_directory = entry->d_type == DT_DIR;
		struct stat status;
		if (entry->d_type == DT_UNKNOWN && fstatat(fd, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0)
			is_directory = S_ISDIR(status.st_mode);
		if (!appeared(directory, fd, entry->d_name, is_directory, false))
			break;
	}
	closedir(stream);
}

static void
forget_unseen(struct node *directory)
{
	for (struct node *child = directory->child; child != NULL; child = child->sibling) {
		if (child->present && child->seen != scans)
			disappeared(child);
		else if (child->present && child->directory)
			forget_unseen(child);
	}
}

static void
scan_all(void)
{
	struct node *root = nodes_root();
	int fd = root == NULL ? -1 : node_open(root, top);
	stale = incomplete = false;
	scan_again = now_us() + SCAN_US;
	if (fd < 0) {
		lose();
		return;
	}
	scans++;
	scan(root, fd);
	forget_unseen(root);
}

static void
take_event(const struct inotify_event *event)
{
	if (event->mask & IN_Q_OVERFLOW) {
		lose_track();
		return;
	}
	struct node *parent = node_by_watch(event->wd);
	if (parent == NULL)
		return;
	if (event->mask & IN_IGNORED) {
		node_set_watch(parent, -1);
		if (parent->parent == NULL)
			lose();
		return;
	}
	if (event->len == 0)
		return;
	bool directory = event->mask & IN_ISDIR;
	if (event->mask & (IN_DELETE | IN_MOVED_FROM)) {
		struct node *node = node_find(parent, event->name);
		if (node != NULL && node->present)
			disappeared(node);
	} else if (event->mask & (IN_CREATE | IN_MOVED_TO)) {
		/* What a move replaces gets no event of its own. A creation may be one that a scan has met before. */
		appeared(parent, -1, event->name, directory, event->mask & IN_MOVED_TO);
	} else if (!directory) {
		struct node *node = node_find(parent, event->name);
		if (node == NULL || !node->present)
			return;
		note(node, event->mask & IN_MODIFY ? CHANGE_WRITTEN : CHANGE_CLOSED);
	}
}

static void
fetch(void)
{
	_Alignas(struct inotify_event) uint8_t buffer[16384];
	work = 0;
	/* A program that makes events as fast as we read them must not hold us here. */
	for (int round = 0; round < 256; round++) {
		ssize_t length = read(events.fd, buffer, sizeof buffer);
		if (length <= 0)
			return;
		for (ssize_t at = 0; at < length && !stale;) {
			const struct inotify_event *event = (const struct inotify_event *)(const void *)(buffer + at);
			if (work > WORK_MAX)
				lose_track();
			else
				take_event(event);
			at += (ssize_t)(sizeof *event + event->len);
		}
	}
	lose_track();
}

/* As the sandbox's user, because its directories may be closed to us. */
static void
as_user(void (*action)(void))
{
	if (!guest.options.own_uid) {
		action();
		return;
	}
	setfsgid(guest.options.gid);
	setfsuid(guest.options.uid);
	action();
	setfsuid(geteuid());
	setfsgid(getegid());
	prctl(PR_SET_DUMPABLE, 0);
}

static void
fetch_all(void)
{
	fetch();
	if (stale || (incomplete && scan_again <= now_us()))
		scan_all();
}

static void
events_ready(struct source *source, uint32_t ready)
{
	(void)ready;
	as_user(fetch);
	source_watch(source, 0);
	fetch_again = now_us() + FETCH_US;
}

static int
open_events(void)
{
	int made = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	int fd = made < 0 ? -1 : dup3(made, CHANGES_FD, O_CLOEXEC);
	if (made >= 0)
		close(made);
	return fd;
}

static void
open_all(void)
{
	top = open(guest.options.workspace, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK);
	if (top >= 0)
		scan_all();
}

static void
update_watch(void)
{
	bool wanted = open_marks > 0 && !stale && fetch_again == 0;
	if (events.fd >= 0)
		source_watch(&events, wanted ? EPOLLIN : 0);
}

void
changes_begin(struct change_mark *mark)
{
	if (!opened) {
		opened = true;
		source_set(&events, open_events(), events_ready);
		if (events.fd >= 0)
			as_user(open_all);
	} else if (events.fd >= 0 && top >= 0) {
		as_user(fetch_all);
	}
	*mark = (struct change_mark){.open = true, .truncated = events.fd < 0 || top < 0};
	mark->position = newest_mark = journal_start + journal_length;
	mark->losses = losses;
	clock_gettime(CLOCK_REALTIME_COARSE, &mark->wall);
	open_marks++;
	update_watch();
}

static bool
written_since(const struct stat *status, const struct timespec *wall)
{
	return status->st_mtim.tv_sec > wall->tv_sec ||
	       (status->st_mtim.tv_sec == wall->tv_sec && status->st_mtim.tv_nsec >= wall->tv_nsec);
}

/* Adds the frame for one node that has an entry after the mark. False when it does not fit any more. */
static bool
report_node(const struct entry *entry, const struct change_mark *mark, struct writer *out)
{
	const struct node *node = entry->node;
	bool before = entry->change != CHANGE_APPEARED;
	char path[PATH_MAX];
	struct stat status = {0};
	if (!before && !node->present)
		return true;
	if (!node_path(node, path, sizeof path) || out->length > REPORT_BYTES)
		return false;
	if (node->present) {
		int fd = node_open(node->parent, top);
		int found = fd < 0 ? -1 : fstatat(fd, node->name, &status, AT_SYMLINK_NOFOLLOW);
		if (fd >= 0)
			close(fd);
		if (before && found == 0 && entry->change == CHANGE_CLOSED && !written_since(&status, &mark->wall))
			return true;
	}
	frame_begin(out, FRAME_CHANGE);
	put_string(out, 40, path);
	put_int(out, 41, !node->present ? ACTION_DELETED : before ? ACTION_MODIFIED : ACTION_CREATED);
	if (node->present && !node->directory)
		put_int(out, 42, status.st_size);
	put_int(out, 43, node->directory);
	frame_end(out);
	return true;
}

static struct change_mark *ending;
static struct writer *ending_out;

static void
report_all(void)
{
	size_t count = 0;
	fetch_all();
	reports++;
	for (size_t i = (size_t)(ending->position - journal_start); i < journal_length; i++) {
		struct node *node = journal[i].node;
		if (node->reported == reports)
			continue;
		node->reported = reports;
		if (++count > REPORT_MAX || !report_node(&journal[i], ending, ending_out)) {
			ending->truncated = true;
			return;
		}
	}
}

void
changes_end(struct change_mark *mark, struct writer *out)
{
	if (!mark->open)
		return;
	mark->open = false;
	if (events.fd >= 0 && top >= 0 && out != NULL) {
		ending = mark;
		ending_out = out;
		as_user(report_all);
	}
	mark->truncated = mark->truncated || incomplete || losses != mark->losses;
	if (--open_marks > 0)
		return;
	/* Nobody reads the journal any more. */
	journal_start += journal_length;
	journal_length = 0;
	nodes_purge();
	if (journal_capacity > 4096) {
		free(journal);
		journal = NULL;
		journal_capacity = 0;
	}
	fetch_again = 0;
	update_watch();
}

int64_t
changes_sweep(int64_t now)
{
	if (fetch_again != 0 && fetch_again <= now) {
		fetch_again = 0;
		update_watch();
	}
	return fetch_again;
}
