#include "ignore.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pattern.h"

#define FILE_NAME ".gitignore"
#define MOST_BYTES (128u << 10) /* of a file */
#define MOST_RULE 1024u
#define MOST_RULES 2048u /* of all files on the way together */
#define MOST_ABOVE 64
#define WORK_PER_LOOK (1u << 16)

struct rule {
	struct pattern pattern;
	bool negated;
	bool directories; /* speaks of nothing else */
	bool anchored;	  /* speaks of the path from its file on, else of the name */
};

struct ignore_rules {
	struct rule *rules;
	size_t count;
	bool above;   /* the walk; its paths are those of ignore.path */
	size_t depth; /* of the directory in the walk that has the file */
	size_t base;  /* where in a path its own paths begin */
};

static void
rules_free(struct ignore_rules *rules)
{
	for (size_t i = 0; i < rules->count; i++)
		pattern_free(&rules->rules[i].pattern);
	free(rules->rules);
}

static void
pop(struct ignore *ignore)
{
	ignore->count--;
	ignore->rules -= ignore->stack[ignore->count].count;
	rules_free(&ignore->stack[ignore->count]);
}

/* Ends the line before trailing spaces, unless a backslash keeps one. */
static void
trim(char *line)
{
	char *end = line;
	for (char *p = line; *p != 0; p++) {
		if (*p == '\\' && p[1] != 0)
			end = ++p + 1;
		else if (*p != ' ')
			end = p + 1;
	}
	*end = 0;
}

/* Braces mean nothing in these files. */
static void
without_braces(const char *line, char *text)
{
	for (; *line != 0; line++) {
		if (*line == '{')
			*text++ = '\\';
		*text++ = *line;
		if (*line == '\\' && line[1] != 0)
			*text++ = *++line;
	}
	*text = 0;
}

/* 1 when the line is a rule, 0 when it is none, -1 when it is beyond the bounds. */
static int
read_rule(char *line, struct rule *rule)
{
	char text[2 * MOST_RULE + 1];
	if (line[0] == '#')
		return 0;
	trim(line);
	*rule = (struct rule){.negated = line[0] == '!'};
	line += rule->negated;
	size_t length = strlen(line);
	if (length > MOST_RULE)
		return -1;
	if (length > 0 && line[length - 1] == '/') {
		rule->directories = true;
		line[length - 1] = 0;
	}
	rule->anchored = strchr(line, '/') != NULL;
	without_braces(line, text);
	if (pattern_compile(&rule->pattern, text, true) == NULL)
		return 1;
	pattern_free(&rule->pattern);
	return 0;
}

static bool
add_rule(struct ignore_rules *rules, const struct rule *rule)
{
	if ((rules->count & (rules->count - 1)) == 0) {
		struct rule *grown = realloc(rules->rules, (rules->count == 0 ? 1 : 2 * rules->count) * sizeof *grown);
		if (grown == NULL)
			return false;
		rules->rules = grown;
	}
	rules->rules[rules->count++] = *rule;
	return true;
}

/* False when not all of the text could be heeded. */
static bool
read_rules(char *text, size_t most, struct ignore_rules *rules)
{
	bool whole = true;
	if (strncmp(text, "\xef\xbb\xbf", 3) == 0)
		text += 3;
	for (char *next = text; next != NULL;) {
		char *line = next;
		struct rule rule;
		next = strchr(line, '\n');
		if (next != NULL)
			*next++ = 0;
		size_t length = strlen(line);
		if (length > 0 && line[length - 1] == '\r')
			line[length - 1] = 0;
		int kind = read_rule(line, &rule);
		whole = whole && kind >= 0;
		if (kind <= 0)
			continue;
		if (rules->count == most || !add_rule(rules, &rule)) {
			pattern_free(&rule.pattern);
			return false;
		}
	}
	return whole;
}

static bool
push(struct ignore *ignore, const struct ignore_rules *rules)
{
	if (ignore->count == ignore->capacity) {
		size_t capacity = 2 * ignore->capacity + 8;
		struct ignore_rules *grown = realloc(ignore->stack, capacity * sizeof *grown);
		if (grown == NULL)
			return false;
		ignore->stack = grown;
		ignore->capacity = capacity;
	}
	ignore->stack[ignore->count++] = *rules;
	ignore->rules += rules->count;
	return true;
}

/* The text of a regular file: NULL when there is none, *whole false when there is more than was read. */
static char *
read_text(int folder, bool *whole)
{
	struct stat status;
	/* A link is none: git does not follow it either. */
	int fd CLEANUP(close_fd) = openat(folder, FILE_NAME, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	*whole = fd >= 0 || errno == ENOENT || errno == ELOOP;
	if (fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode))
		return NULL;
	char *text = malloc(MOST_BYTES + 1);
	size_t length = 0;
	ssize_t got = text == NULL ? -1 : 1;
	while (got > 0 && length < MOST_BYTES) {
		got = read(fd, text + length, MOST_BYTES - length);
		if (got < 0 && errno == EINTR)
			got = 1;
		else if (got > 0)
			length += (size_t)got;
	}
	*whole = got == 0 || (got > 0 && status.st_size <= (off_t)length);
	if (text != NULL)
		text[length] = 0;
	/* The last line may be a part of one, and a part may say more than the whole. */
	if (text != NULL && !*whole) {
		char *newline = strrchr(text, '\n');
		*(newline == NULL ? text : newline) = 0;
	}
	return text;
}

static void
read_file(struct ignore *ignore, int folder, const char *path, struct ignore_rules rules)
{
	bool whole;
	char *text CLEANUP(free_text) = read_text(folder, &whole);
	if (text != NULL)
		whole = read_rules(text, MOST_RULES - ignore->rules, &rules) && whole;
	if (rules.count > 0 && !push(ignore, &rules)) {
		rules_free(&rules);
		whole = false;
	}
	if (whole)
		return;
	char *name CLEANUP(free_text) = join_path(path, FILE_NAME);
	note_unreadable(ignore->unreadable, name == NULL ? FILE_NAME : name);
}

/* What follows the folder in an absolute path, or NULL. */
static const char *
after(const char *folder, const char *path)
{
	size_t length = strlen(folder);
	while (length > 0 && folder[length - 1] == '/')
		length--;
	return strncmp(folder, path, length) == 0 && (path[length] == '/' || path[length] == 0) ? path + length : NULL;
}

/* The same folder from the workspace or the root on, as a relative path is meant; NULL when it lies elsewhere. */
static const char *
relative(const struct operation *op, const char *folder)
{
	if (folder[0] != '/')
		return folder;
	if (op->root != NULL)
		return after(op->root, folder);
	const char *inside = after(op->workspace, folder);
	return inside != NULL ? inside : after("/workspace", folder);
}

static int
open_folder(const struct operation *op, const char *path, struct place *place)
{
	return place_open(op, path[0] == 0 ? "." : path, O_PATH | O_DIRECTORY, place);
}

void
ignore_start(struct ignore *ignore, struct operation *op, const char *folder, struct unreadable *unreadable)
{
	*ignore = (struct ignore){.op = op, .unreadable = unreadable};
	const char *next = relative(op, folder);
	ignore->path = next == NULL ? NULL : calloc(1, strlen(next) + 2);
	if (ignore->path == NULL)
		return;
	ignore->path_capacity = strlen(next) + 2;
	for (int names = 0;; names++) {
		next += strspn(next, "/");
		size_t length = strcspn(next, "/");
		if (length == 1 && next[0] == '.') {
			next++;
			continue;
		}
		if (length == 0)
			return;
		if (length == 2 && strncmp(next, "..", 2) == 0) {
			while (ignore->count > 0)
				pop(ignore);
			return;
		}
		struct place place CLEANUP(place_free) = {.parent = -1};
		int fd CLEANUP(close_fd) = names < MOST_ABOVE ? open_folder(op, ignore->path, &place) : -1;
		if (fd >= 0)
			read_file(ignore, fd, ignore->path, (struct ignore_rules){.above = true, .base = ignore->prefix});
		memcpy(ignore->path + ignore->prefix, next, length);
		ignore->path[ignore->prefix + length] = '/';
		ignore->prefix += length + 1;
		next += length;
	}
}

void
ignore_enter(struct ignore *ignore, const struct walk *walk)
{
	if (ignore->op == NULL)
		return;
	while (ignore->count > 0 && !ignore->stack[ignore->count - 1].above && ignore->stack[ignore->count - 1].depth >= walk->depth)
		pop(ignore);
	size_t base = walk->path_length + (walk->path_length > 0);
	read_file(ignore, walk_descriptor(walk), walk->path, (struct ignore_rules){.depth = walk->depth, .base = base});
}

/* The entry's path from the workspace on, for the rules of files above the walk. */
static const char *
whole_path(struct ignore *ignore, const struct walk *walk)
{
	size_t size = ignore->prefix + walk->path_length + 1;
	if (size > ignore->path_capacity) {
		char *grown = realloc(ignore->path, 2 * size);
		if (grown == NULL)
			return NULL;
		ignore->path = grown;
		ignore->path_capacity = 2 * size;
	}
	memcpy(ignore->path + ignore->prefix, walk->path, walk->path_length + 1);
	return ignore->path;
}

static bool
speaks_of(const struct rule *rule, const struct walk *walk, const char *path)
{
	if (rule->directories && walk->type != DT_DIR)
		return false;
	return pattern_matches(&rule->pattern, rule->anchored ? path : walk->name);
}

bool
ignore_hides(struct ignore *ignore, const struct walk *walk)
{
	while (ignore->count > 0 && !ignore->stack[ignore->count - 1].above && ignore->stack[ignore->count - 1].depth > walk->depth)
		pop(ignore);
	if (ignore->count == 0)
		return false;
	ignore->work += ignore->rules * (1 + walk->path_length / 64);
	if (ignore->work > WORK_PER_LOOK) {
		ignore->work = 0;
		host_gone(ignore->op);
	}
	const char *whole = ignore->stack[0].above ? whole_path(ignore, walk) : walk->path;
	/* The innermost file has the say, and in it the last rule that fits. */
	for (size_t i = ignore->count; i-- > 0 && whole != NULL;) {
		const struct ignore_rules *rules = &ignore->stack[i];
		const char *path = (rules->above ? whole : walk->path) + rules->base;
		for (size_t k = rules->count; k-- > 0;)
			if (speaks_of(&rules->rules[k], walk, path))
				return !rules->rules[k].negated;
	}
	return false;
}

void
ignore_free(struct ignore *ignore)
{
	while (ignore->count > 0)
		pop(ignore);
	free(ignore->stack);
	free(ignore->path);
	*ignore = (struct ignore){0};
}
