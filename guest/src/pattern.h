/* Patterns for paths: * and ? within a name, [a-z] [!a-z], {a,b}, \\ before a character to take as it is, and ** as a whole
 * component for any number of directories. Bytes that are not UTF-8 count as one character each. */
#ifndef CARREL_PATTERN_H
#define CARREL_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PATTERN_CHOICES 64

struct pattern_choice;

/* How far each choice of the braces has come: a set of components that may be next. */
struct pattern_state {
	uint64_t next[PATTERN_CHOICES];
};

struct pattern {
	struct pattern_choice *choices;
	size_t count;
	bool hidden; /* wildcards match a leading dot */
};

/* NULL, or what is wrong with the text. */
const char *pattern_compile(struct pattern *pattern, const char *text, bool hidden);
void pattern_free(struct pattern *pattern);

void pattern_start(const struct pattern *pattern, struct pattern_state *state);
/* Takes one component of a path. Returns what is known about the path up to it. */
enum { PATTERN_MATCH = 1, PATTERN_MAY_CONTINUE = 2 };
unsigned pattern_step(const struct pattern *pattern, const struct pattern_state *from, const char *name, struct pattern_state *to);

/* A whole path at once. */
bool pattern_matches(const struct pattern *pattern, const char *path);

#endif
