#include "pattern.h"

#include <stdlib.h>
#include <string.h>

#define MOST_COMPONENTS 63
#define MOST_LENGTH 4096

/* One text without braces, cut at its slashes. */
struct pattern_choice {
	char *text;
	const char *components[MOST_COMPONENTS];
	size_t count;
};

/* The next character: its code, or a number beyond all codes for a stray byte. */
static size_t
character(const char *text, uint32_t *code)
{
	const uint8_t *p = (const uint8_t *)text;
	size_t length = p[0] < 0x80 ? 1 : p[0] < 0xC2 ? 0 : p[0] < 0xE0 ? 2 : p[0] < 0xF0 ? 3 : p[0] < 0xF5 ? 4 : 0;
	*code = 0x110000u + p[0];
	if (length <= 1) {
		if (length == 1)
			*code = p[0];
		return 1;
	}
	uint32_t value = p[0] & (0x7Fu >> length);
	for (size_t i = 1; i < length; i++) {
		if ((p[i] & 0xC0) != 0x80)
			return 1;
		value = value << 6 | (p[i] & 0x3Fu);
	}
	*code = value;
	return length;
}

static size_t
set_character(const char *text, uint32_t *code)
{
	size_t skip = text[0] == '\\' && text[1] != 0;
	return skip + character(text + skip, code);
}

/* Where the set that starts at '[' ends (after ']'), or NULL: then the bracket stands for itself. */
static const char *
set_end(const char *set)
{
	const char *p = set + 1;
	p += *p == '!' || *p == '^';
	if (*p == ']')
		p++;
	for (; *p != 0 && *p != ']'; p++)
		p += *p == '\\' && p[1] != 0;
	return *p == ']' ? p + 1 : NULL;
}

static bool
in_set(const char *set, const char *end, uint32_t code)
{
	const char *p = set + 1;
	bool negated = *p == '!' || *p == '^';
	bool found = false;
	p += negated;
	while (p < end - 1) {
		uint32_t low, high;
		p += set_character(p, &low);
		high = low;
		if (*p == '-' && p + 1 < end - 1)
			p += 1 + set_character(p + 1, &high);
		found |= low <= code && code <= high;
	}
	return found != negated;
}

/* Matches one character of the name, or fails: the lengths taken of both. */
static bool
match_one(const char *glob, const char *name, size_t *glob_length, size_t *name_length)
{
	uint32_t wanted, code;
	if (*name == 0)
		return false;
	*name_length = character(name, &code);
	if (*glob == '?') {
		*glob_length = 1;
		return true;
	}
	const char *end = *glob == '[' ? set_end(glob) : NULL;
	if (end != NULL) {
		*glob_length = (size_t)(end - glob);
		return in_set(glob, end, code);
	}
	*glob_length = set_character(glob, &wanted);
	return wanted == code;
}

static bool
matches_name(const char *glob, const char *name, bool hidden)
{
	const char *star = NULL, *resume = NULL;
	if (name[0] == '.' && !hidden && glob[0] != '.' && !(glob[0] == '\\' && glob[1] == '.'))
		return false;
	while (*name != 0 || *glob != 0) {
		size_t glob_length, name_length;
		if (*glob == '*') {
			star = ++glob;
			resume = name;
		} else if (*glob != 0 && match_one(glob, name, &glob_length, &name_length)) {
			glob += glob_length;
			name += name_length;
		} else if (star != NULL && *resume != 0) {
			uint32_t code;
			resume += character(resume, &code);
			glob = star;
			name = resume;
		} else {
			return false;
		}
	}
	return true;
}

static bool
any_depth(const char *component)
{
	return strcmp(component, "**") == 0;
}

static uint64_t
through_any_depth(const struct pattern_choice *choice, uint64_t set)
{
	/* At the end of a pattern ** stands for something, not for the directory before it. */
	for (size_t i = 0; i + 1 < choice->count; i++)
		if ((set >> i & 1) != 0 && any_depth(choice->components[i]))
			set |= UINT64_C(2) << i;
	return set;
}

void
pattern_start(const struct pattern *pattern, struct pattern_state *state)
{
	for (size_t i = 0; i < pattern->count; i++)
		state->next[i] = through_any_depth(&pattern->choices[i], 1);
}

unsigned
pattern_step(const struct pattern *pattern, const struct pattern_state *from, const char *name, struct pattern_state *to)
{
	unsigned result = 0;
	for (size_t c = 0; c < pattern->count; c++) {
		const struct pattern_choice *choice = &pattern->choices[c];
		uint64_t next = 0;
		for (size_t i = 0; i < choice->count; i++) {
			if ((from->next[c] >> i & 1) == 0)
				continue;
			if (!any_depth(choice->components[i]))
				next |= matches_name(choice->components[i], name, pattern->hidden) ? UINT64_C(2) << i : 0;
			else if (name[0] != '.' || pattern->hidden)
				next |= UINT64_C(1) << i | (i + 1 == choice->count ? UINT64_C(2) << i : 0);
		}
		next = through_any_depth(choice, next);
		to->next[c] = next;
		if (next >> choice->count & 1)
			result |= PATTERN_MATCH;
		if (next & ((UINT64_C(1) << choice->count) - 1))
			result |= PATTERN_MAY_CONTINUE;
	}
	return result;
}

static const char *
add_choice(struct pattern *pattern, char *text)
{
	if (pattern->count == PATTERN_CHOICES) {
		free(text);
		return "the braces have more than 64 choices";
	}
	struct pattern_choice *grown = realloc(pattern->choices, (pattern->count + 1) * sizeof *grown);
	if (grown == NULL) {
		free(text);
		return "memory is short";
	}
	pattern->choices = grown;
	struct pattern_choice *choice = &pattern->choices[pattern->count++];
	*choice = (struct pattern_choice){.text = text};
	for (char *next = text; next != NULL;) {
		char *component = next;
		next = strchr(component, '/');
		if (next != NULL)
			*next++ = 0;
		if (component[0] == 0 || strcmp(component, ".") == 0)
			continue;
		if (strcmp(component, "..") == 0)
			return "the pattern may not hold \"..\"";
		bool repeated = choice->count > 0 && any_depth(component) && any_depth(choice->components[choice->count - 1]);
		if (repeated)
			continue;
		if (choice->count == MOST_COMPONENTS)
			return "the pattern has more than 63 components";
		choice->components[choice->count++] = component;
	}
	return choice->count == 0 ? "the pattern is empty" : NULL;
}

/* Finds the first brace pair with a comma of its own: sets the brace, its end, and returns true. */
static bool
find_braces(const char *text, const char **open, const char **close)
{
	for (const char *start = text; *start != 0; start++) {
		if (*start == '\\' && start[1] != 0) {
			start++;
			continue;
		}
		if (*start != '{')
			continue;
		int depth = 0;
		bool comma = false;
		for (const char *p = start; *p != 0; p++) {
			if (*p == '\\' && p[1] != 0) {
				p++;
				continue;
			}
			depth += *p == '{' ? 1 : *p == '}' ? -1 : 0;
			comma |= *p == ',' && depth == 1;
			if (depth == 0 && comma) {
				*open = start;
				*close = p;
				return true;
			}
			if (depth == 0)
				break;
		}
	}
	return false;
}

/* Replaces the first braces by each of their parts in turn, and what results again, until no braces are left. */
static const char *
expand(struct pattern *pattern, const char *text)
{
	const char *open, *close;
	if (!find_braces(text, &open, &close)) {
		char *copy = strdup(text);
		return copy == NULL ? "memory is short" : add_choice(pattern, copy);
	}
	int depth = 0;
	const char *part = open + 1;
	for (const char *p = open + 1; p <= close; p++) {
		if (*p == '\\' && p < close) {
			p++;
			continue;
		}
		if (depth == 0 && (*p == ',' || p == close)) {
			size_t size = (size_t)(open - text) + (size_t)(p - part) + strlen(close + 1) + 1;
			char *whole = malloc(size);
			if (whole == NULL)
				return "memory is short";
			memcpy(whole, text, (size_t)(open - text));
			memcpy(whole + (open - text), part, (size_t)(p - part));
			strcpy(whole + (open - text) + (p - part), close + 1);
			const char *error = expand(pattern, whole);
			free(whole);
			if (error != NULL)
				return error;
			part = p + 1;
		}
		depth += *p == '{' ? 1 : *p == '}' ? -1 : 0;
	}
	return NULL;
}

const char *
pattern_compile(struct pattern *pattern, const char *text, bool hidden)
{
	*pattern = (struct pattern){.hidden = hidden};
	if (text[0] == 0 || strlen(text) > MOST_LENGTH)
		return "the pattern must have 1 to 4096 bytes";
	return expand(pattern, text);
}

void
pattern_free(struct pattern *pattern)
{
	for (size_t i = 0; i < pattern->count; i++)
		free(pattern->choices[i].text);
	free(pattern->choices);
	*pattern = (struct pattern){0};
}

bool
pattern_matches(const struct pattern *pattern, const char *path)
{
	struct pattern_state state, next;
	unsigned known = 0;
	char name[256];
	pattern_start(pattern, &state);
	while (*path != 0) {
		size_t length = strcspn(path, "/");
		if (length >= sizeof name)
			return false;
		memcpy(name, path, length);
		name[length] = 0;
		known = pattern_step(pattern, &state, name, &next);
		state = next;
		path += length + (path[length] == '/');
		if (*path != 0 && (known & PATTERN_MAY_CONTINUE) == 0)
			return false;
	}
	return (known & PATTERN_MATCH) != 0;
}
