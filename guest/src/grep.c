/* GREP: lines that match, of every text file below a directory, the file that changed last first. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "files.h"
#include "ignore.h"
#include "pattern.h"
#include "expression.h"
#include "recent.h"
#include "syscalls.h"
#include "walk.h"

#define MOST_MATCHES 100000
#define MOST_CONTEXT 100
#define MOST_LINE (256 << 10)
#define MOST_PATTERN 4096
#define WINDOW (1u << 20)
#define MOST_WINDOW (8u << 20) /* a line longer than this is looked at in parts */
#define SNIFF 8192u
#define FILES_PER_LOOK 256
#define STEPS_PER_LOOK 1024
#define OPEN_FILE (O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)

/* The part of a file that is in memory. Everything is counted from the start of `data`. */
struct window {
	uint8_t *data;
	size_t capacity;
	size_t length;
	size_t at;   /* lines before this were searched */
	size_t told; /* lines before this were told, or are not in reach */
	size_t mark; /* a place whose line number is known */
	int64_t line;
	int64_t after; /* lines still to be told after a match */
	const char *path;
};

struct grepping {
	struct operation *op;
	const char *top;
	struct regex *regex;
	const struct literal *literal;
	bool filtered;
	bool by_path; /* the filter has a slash: it speaks of the path, else of the name */
	struct pattern filter;
	bool hidden;
	int64_t context;
	int64_t limit;
	int64_t max_line;
	int64_t files;
	int64_t matches;
	bool truncated;
	struct recent recent;
	struct ignore ignore;
	struct unreadable unreadable;
	struct window window;
};

struct line {
	size_t start;
	size_t end; /* where its newline is, or the end of the text */
};

static size_t
line_start(const struct window *window, size_t from, size_t place)
{
	const uint8_t *newline = memrchr(window->data + from, '\n', place - from);
	return newline == NULL ? from : (size_t)(newline - window->data) + 1;
}

static size_t
line_end(const struct window *window, size_t place, size_t end)
{
	const uint8_t *newline = memchr(window->data + place, '\n', end - place);
	return newline == NULL ? end : (size_t)(newline - window->data);
}

/* The next line that matches, from the start of a line on. Most lines are passed over by the search for the literal; the
 * automaton sees only those that contain it. */
static bool
find_line(struct grepping *grepping, size_t from, size_t end, struct line *line)
{
	const struct window *window = &grepping->window;
	const uint8_t *data = window->data;
	if (grepping->literal->length == 0) {
		const uint8_t *place = regex_scan(grepping->regex, data + from, data + end);
		if (place == NULL)
			return false;
		line->start = line_start(window, from, (size_t)(place - data));
		line->end = line_end(window, (size_t)(place - data), end);
		return true;
	}
	while (from < end) {
		const uint8_t *place = literal_find(grepping->literal, data + from, data + end);
		if (place == NULL)
			return false;
		line->start = line_start(window, from, (size_t)(place - data));
		line->end = line_end(window, (size_t)(place - data), end);
		if (grepping->literal->whole || regex_scan(grepping->regex, data + line->start, data + line->end) != NULL)
			return true;
		from = line->end + 1;
	}
	return false;
}

static int64_t
number_of(struct window *window, size_t place)
{
	window->line += (int64_t)count_newlines(window->data + window->mark, window->data + place);
	window->mark = place;
	return window->line;
}

/* The longest part of a text within the limit that does not end within a character. */
static size_t
cut(const uint8_t *text, size_t length, size_t most)
{
	if (length <= most)
		return length;
	size_t end = most;
	while (end > 0 && most - end < 3 && (text[end] & 0xC0) == 0x80)
		end--;
	return (text[end] & 0xC0) == 0x80 ? most : end;
}

static void
tell_line(struct grepping *grepping, struct line line, bool context)
{
	struct window *window = &grepping->window;
	struct writer *out = &grepping->op->out;
	const uint8_t *text = window->data + line.start;
	size_t length = line.end - line.start;
	size_t kept = cut(text, length, (size_t)grepping->max_line);
	frame_begin(out, FRAME_MATCH);
	put_string(out, 50, window->path);
	put_int(out, 60, number_of(window, line.start));
	put_bytes(out, 61, text, kept);
	if (context)
		put_int(out, 62, 1);
	if (kept < length)
		put_int(out, 63, 1);
	frame_end(out);
	answer_pass(grepping->op);
	window->told = line.end + 1;
}

static void
tell_after(struct grepping *grepping, size_t end)
{
	struct window *window = &grepping->window;
	while (window->after > 0 && window->told < end) {
		window->after--;
		tell_line(grepping, (struct line){window->told, line_end(window, window->told, end)}, true);
	}
}

/* Start of the line that is up to `context` lines before the place and was not told yet. */
static size_t
context_start(const struct grepping *grepping, size_t place)
{
	const struct window *window = &grepping->window;
	size_t floor = window->told < place ? window->told : place;
	for (int64_t i = 0; i < grepping->context && place > floor; i++)
		place = line_start(window, floor, place - 1);
	return place;
}

/* Searches the lines from window->at to `end`. False when the limit is reached. */
static bool
search_lines(struct grepping *grepping, size_t end)
{
	struct window *window = &grepping->window;
	struct line line;
	while (window->at < end && find_line(grepping, window->at, end, &line)) {
		if (grepping->matches == grepping->limit) {
			tell_after(grepping, line.start);
			grepping->truncated = true;
			return false;
		}
		tell_after(grepping, line.start);
		for (size_t before = context_start(grepping, line.start); before < line.start; before = window->told)
			tell_line(grepping, (struct line){before, line_end(window, before, line.start)}, true);
		tell_line(grepping, line, false);
		grepping->matches++;
		window->after = grepping->context;
		window->at = line.end + 1;
	}
	tell_after(grepping, end);
	window->at = window->at > end ? window->at : end;
	return !grepping->op->gone;
}

/* Makes room at the end: keeps the lines not searched yet and those that may be needed as context. */
static bool
make_room(struct grepping *grepping)
{
	struct window *window = &grepping->window;
	size_t at = window->at < window->length ? window->at : window->length;
	size_t keep = context_start(grepping, at);
	if (at - keep > window->capacity / 2)
		keep = at;
	if (keep > 0) {
		number_of(window, keep);
		memmove(window->data, window->data + keep, window->length - keep);
		window->length -= keep;
		window->mark = 0;
		window->at = at - keep;
		window->told = window->told > keep ? window->told - keep : 0;
	}
	if (window->length < window->capacity || window->capacity >= MOST_WINDOW)
		return true;
	uint8_t *grown = realloc(window->data, 2 * window->capacity);
	if (grown == NULL)
		return false;
	window->data = grown;
	window->capacity *= 2;
	return true;
}

/* Reads until the window is full or the file ends. -1 on an error, 0 at the end, 1 when there may be more. */
static int
fill(struct window *window, int fd)
{
	ssize_t got = 1;
	while (got != 0 && window->length < window->capacity) {
		got = read(fd, window->data + window->length, window->capacity - window->length);
		if (got < 0 && errno != EINTR)
			return -1;
		window->length += got > 0 ? (size_t)got : 0;
	}
	return got != 0;
}

static bool
begins_like_text(const struct window *window)
{
	return memchr(window->data, 0, window->length < SNIFF ? window->length : SNIFF) == NULL;
}

static void
search_open(struct grepping *grepping, int fd)
{
	struct window *window = &grepping->window;
	int more = 1;
	for (bool first = true; more > 0; first = false) {
		more = fill(window, fd);
		if (more < 0)
			note_unreadable(&grepping->unreadable, window->path);
		if (more < 0 || (first && !begins_like_text(window)))
			return;
		const uint8_t *newline = memrchr(window->data, '\n', window->length);
		size_t end = more == 0 ? window->length : newline == NULL ? 0 : (size_t)(newline - window->data) + 1;
		if (end <= window->at && window->capacity >= MOST_WINDOW)
			end = window->length;
		if (end > window->at && !search_lines(grepping, end))
			return;
		if (more > 0 && host_gone(grepping->op))
			return;
		if (more > 0 && !make_room(grepping)) {
			note_unreadable(&grepping->unreadable, window->path);
			return;
		}
	}
}

/* Opens a file that was seen below the directory, now that others may have been put in its place: through no link. */
static int
open_below(int top, const char *path)
{
	int fd = k_openat2(top, path, OPEN_FILE, K_RESOLVE_BENEATH | K_RESOLVE_NO_SYMLINKS);
	/* Not there, or refused by a filter that does not know it; or the path is longer than it takes. */
	if (fd >= 0 || (errno != ENOSYS && errno != EPERM && errno != ENAMETOOLONG))
		return fd;
	char *names CLEANUP(free_text) = strdup(path), *name = names;
	if (names == NULL)
		return -1;
	int parent CLEANUP(close_fd) = -1;
	for (char *slash; (slash = strchr(name, '/')) != NULL; name = slash + 1) {
		*slash = 0;
		int next = openat(parent < 0 ? top : parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (next < 0)
			return -1;
		close_fd(&parent);
		parent = next;
	}
	return openat(parent < 0 ? top : parent, name, OPEN_FILE);
}

/* Takes the descriptor, or -1 with errno: what vanished or became a link or something else meanwhile is passed over. */
static void
search_file(struct grepping *grepping, int opened, const char *below)
{
	struct window *window = &grepping->window;
	struct stat status;
	bool vanished = opened < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP);
	int fd CLEANUP(close_fd) = opened;
	char *path CLEANUP(free_text) = below[0] == 0 ? strdup(grepping->top) : join_path(grepping->top, below);
	if (vanished || (fd >= 0 && (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode))))
		return;
	if (path == NULL || strlen(path) > 2 * PATH_LIMIT || fd < 0) {
		note_unreadable(&grepping->unreadable, path == NULL ? grepping->top : path);
		return;
	}
	int64_t before = grepping->matches;
	*window = (struct window){.data = window->data, .capacity = window->capacity, .line = 1, .path = path};
	search_open(grepping, fd);
	grepping->files += grepping->matches > before;
}

static bool
wanted(const struct grepping *grepping, const struct walk *walk)
{
	return walk->type == DT_REG &&
	       (!grepping->filtered || pattern_matches(&grepping->filter, grepping->by_path ? walk->path : walk->name));
}

/* Gathers the files; or, when they were more than are kept, searches those that were dropped, in the order they come. */
static void
look_through(struct grepping *grepping, struct walk *walk, bool rest)
{
	struct unreadable counted = {0};
	struct unreadable *unreadable = rest ? &counted : &grepping->unreadable;
	int64_t steps = 0;
	grepping->ignore.unreadable = unreadable;
	ignore_enter(&grepping->ignore, walk);
	for (enum walk_step step; !grepping->truncated && !grepping->op->gone && (step = walk_next(walk)) != WALK_END;) {
		struct stat status;
		if (step == WALK_LOST) {
			note_unreadable(unreadable, walk->path);
			break;
		}
		if (++steps % (rest ? FILES_PER_LOOK : STEPS_PER_LOOK) == 0)
			host_gone(grepping->op);
		if (step == WALK_LEAVE || (walk->name[0] == '.' && !grepping->hidden))
			continue;
		if (walk->type != DT_DIR && !wanted(grepping, walk))
			continue;
		if (ignore_hides(&grepping->ignore, walk))
			continue;
		if (walk->type == DT_DIR) {
			if (walk_enter(walk) == 0)
				ignore_enter(&grepping->ignore, walk);
			else if (errno != ENOENT && errno != ENOTDIR && errno != ELOOP)
				note_unreadable(unreadable, walk->path);
			continue;
		}
		if (fstatat(walk->parent, walk->name, &status, AT_SYMLINK_NOFOLLOW) < 0) {
			if (errno != ENOENT)
				note_unreadable(unreadable, walk->path);
			continue;
		}
		if (!rest)
			recent_add(&grepping->recent, walk->path, status.st_mtim);
		else if (recent_dropped(&grepping->recent, status.st_mtim))
			search_file(grepping, openat(walk->parent, walk->name, OPEN_FILE), walk->path);
	}
	grepping->ignore.unreadable = &grepping->unreadable;
	free_unreadable(&counted);
}

static bool
walk_through(struct grepping *grepping, int top, bool rest)
{
	struct walk walk;
	int fd = openat(top, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || walk_start(&walk, fd) < 0) {
		fail_errno(grepping->op, errno, "search", grepping->top);
		return false;
	}
	look_through(grepping, &walk, rest);
	walk_free(&walk);
	return true;
}

static bool
search_tree(struct grepping *grepping, int top)
{
	struct recent *recent = &grepping->recent;
	if (!walk_through(grepping, top, false))
		return false;
	recent_sort(recent);
	for (size_t i = 0; i < recent->count && !grepping->truncated && !grepping->op->gone; i++) {
		search_file(grepping, open_below(top, recent->files[i].path), recent->files[i].path);
		if (i % FILES_PER_LOOK == 0)
			host_gone(grepping->op);
	}
	return !recent->dropped || grepping->truncated || grepping->op->gone || walk_through(grepping, top, true);
}

static void
search(struct grepping *grepping)
{
	struct operation *op = grepping->op;
	struct place place CLEANUP(place_free) = {.parent = -1};
	struct stat status;
	if (place_find(op, grepping->top, PLACE_FOLLOW, &place) < 0 || place_stat(&place, &status) < 0) {
		fail_errno(op, errno, "search", grepping->top);
		return;
	}
	if (S_ISDIR(status.st_mode)) {
		int fd CLEANUP(close_fd) = openat(place.parent, place.name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0) {
			fail_errno(op, errno, "search", grepping->top);
			return;
		}
		if (!search_tree(grepping, fd))
			return;
	} else if (S_ISREG(status.st_mode)) {
		search_file(grepping, openat(place.parent, place.name, OPEN_FILE), "");
	} else {
		fail(op, "not_a_file", 0, "cannot search %.4096s: it is neither a file nor a directory", grepping->top);
		return;
	}
	frame_begin(&op->out, FRAME_OK);
	put_int(&op->out, 20, grepping->truncated);
	put_int(&op->out, 22, grepping->files);
	put_int(&op->out, 23, grepping->matches);
	put_unreadable(&op->out, &grepping->unreadable);
	frame_end(&op->out);
	answer_flush(op);
}

/* The same text as a regular expression that stands for nothing but itself. */
static char *
quoted(const char *text)
{
	char *quote = malloc(2 * strlen(text) + 1), *to = quote;
	for (; quote != NULL && *text != 0; text++) {
		if (strchr(".[]{}()*+?^$|\\", *text) != NULL)
			*to++ = '\\';
		*to++ = *text;
	}
	if (quote != NULL)
		*to = 0;
	return quote;
}

static bool
prepare(struct grepping *grepping, const char *text)
{
	struct operation *op = grepping->op;
	bool ignore_case, fixed, gitignore;
	const char *wrong = NULL;
	if (!ask_flag(op, 13, "ignore_case", false, &ignore_case) || !ask_int(op, 14, "context", 0, 0, MOST_CONTEXT, &grepping->context) ||
	    !ask_int(op, 15, "limit", 1000, 1, MOST_MATCHES, &grepping->limit) ||
	    !ask_int(op, 16, "max_line", 2000, 1, MOST_LINE, &grepping->max_line) || !ask_flag(op, 17, "fixed", false, &fixed) ||
	    !ask_flag(op, 18, "hidden", false, &grepping->hidden) || !ask_flag(op, 19, "gitignore", false, &gitignore))
		return false;
	if (gitignore)
		ignore_start(&grepping->ignore, op, grepping->top, &grepping->unreadable);
	if (text[0] == 0 || strlen(text) > MOST_PATTERN || strchr(text, '\n') != NULL) {
		fail(op, "bad_request", 0, "pattern must have 1 to %d bytes and no newline", MOST_PATTERN);
		return false;
	}
	char *expression CLEANUP(free_text) = fixed ? quoted(text) : strdup(text);
	char *glob CLEANUP(free_text) = field_string(op->request, 12);
	if (glob != NULL && glob[0] != 0) {
		wrong = pattern_compile(&grepping->filter, glob, true);
		grepping->filtered = true;
		grepping->by_path = strchr(glob, '/') != NULL;
	}
	if (wrong == NULL && expression != NULL)
		grepping->regex = regex_compile(expression, ignore_case, &wrong);
	grepping->window.data = malloc(WINDOW);
	grepping->window.capacity = WINDOW;
	if (wrong != NULL || expression == NULL || grepping->window.data == NULL) {
		fail(op, wrong == NULL ? "io" : "bad_request", 0, "%s", wrong == NULL ? "memory is short" : wrong);
		return false;
	}
	grepping->literal = regex_literal(grepping->regex);
	return true;
}

void
serve_grep(struct operation *op)
{
	struct grepping grepping = {.op = op};
	char *path CLEANUP(free_text) = ask_path(op, 10, "path");
	char *text CLEANUP(free_text) = path == NULL ? NULL : ask_text(op, 11, "pattern");
	if (text == NULL)
		return;
	grepping.top = path;
	if (prepare(&grepping, text))
		search(&grepping);
	regex_free(grepping.regex);
	pattern_free(&grepping.filter);
	free(grepping.window.data);
	recent_free(&grepping.recent);
	ignore_free(&grepping.ignore);
	free_unreadable(&grepping.unreadable);
}
