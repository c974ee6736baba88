/* What the parser hands to the automaton. */
#ifndef CARREL_EXPRESSION_TREE_H
#define CARREL_EXPRESSION_TREE_H

#include "expression.h"

/* A set of bytes. */
struct byte_set {
	uint64_t words[4];
};

static inline void
set_add(struct byte_set *set, unsigned byte)
{
	set->words[byte >> 6] |= UINT64_C(1) << (byte & 63);
}

static inline bool
set_has(const struct byte_set *set, unsigned byte)
{
	return set->words[byte >> 6] >> (byte & 63) & 1;
}

enum assertion { LINE_START, LINE_END, WORD_EDGE, NO_WORD_EDGE, WORD_START, WORD_END };

enum node_kind {
	NODE_EMPTY,
	NODE_SET,  /* one byte of `set` */
	NODE_WIDE, /* one ASCII byte of `set`, or any character beyond ASCII, or a stray byte */
	NODE_CAT,
	NODE_ALT,
	NODE_REPEAT, /* `left`, min to max times; max < 0: no end */
	NODE_ASSERT,
};

struct node {
	enum node_kind kind;
	uint32_t left, right;
	int min, max;
	enum assertion assertion;
	struct byte_set set;
};

struct tree_of_nodes {
	struct node *nodes;
	uint32_t count;
	uint32_t capacity;
	uint32_t top;
};

/* NULL, or what is wrong with the pattern. The nodes are to be freed in both cases. */
const char *regex_parse(const char *pattern, bool ignore_case, struct tree_of_nodes *tree);

#endif
