/* Regular expressions for lines of bytes: POSIX extended, with the usual letters (\d \w \s \b …) besides.
 *
 * Only the question whether a line matches is answered, so a deterministic automaton does: one table look-up a byte, built as
 * the text asks for it, in bounded memory and in time that grows with the text alone. */
#ifndef CARREL_EXPRESSION_H
#define CARREL_EXPRESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LITERAL_MAX 64

/* Bytes that every match contains, for a quick search; empty when there are none. */
struct literal {
	uint8_t bytes[LITERAL_MAX]; /* lower case when folded */
	size_t length;
	bool folded; /* ASCII letters match either case */
	bool whole;  /* and a line that contains them matches */
};

struct regex;

/* NULL with the reason in *error. */
struct regex *regex_compile(const char *pattern, bool ignore_case, const char **error);
void regex_free(struct regex *regex);
const struct literal *regex_literal(const struct regex *regex);

/* Looks for a line that matches, from the start of a line. Returns a place in that line or at the newline that ends it (`end`
 * for the last line when it has none), or NULL. */
const uint8_t *regex_scan(struct regex *regex, const uint8_t *begin, const uint8_t *end);

/* Finds the literal, or NULL. */
const uint8_t *literal_find(const struct literal *literal, const uint8_t *begin, const uint8_t *end);
size_t count_newlines(const uint8_t *begin, const uint8_t *end);

#endif
