/* Reads a regular expression into a tree of byte sets. Characters beyond ASCII become sequences of bytes here, so that the
 * automaton needs to know nothing about UTF-8. */
#include <stdlib.h>
#include <string.h>

#include "expression_tree.h"

#define MOST_NODES 20000
#define MOST_NESTING 200
#define MOST_RANGES 256
#define MOST_REPEATS 1000
#define LAST_CODE 0x10FFFFu

struct parser {
	const char *at;
	bool ignore_case;
	int nesting;
	const char *error;
	struct tree_of_nodes *tree;
};

/* A bracket expression: ASCII by bits, the rest by ranges, or all of the rest. */
struct class {
	struct byte_set ascii;
	bool wide;
	size_t count;
	uint32_t low[MOST_RANGES], high[MOST_RANGES];
};

static uint32_t parse_choice(struct parser *parser);

static uint32_t
refuse(struct parser *parser, const char *error)
{
	if (parser->error == NULL)
		parser->error = error;
	return 0;
}

static uint32_t
add(struct parser *parser, struct node node)
{
	struct tree_of_nodes *tree = parser->tree;
	if (tree->count == MOST_NODES)
		return refuse(parser, "the pattern is too large");
	if (tree->count == tree->capacity) {
		uint32_t capacity = 2 * tree->capacity + 64;
		struct node *grown = realloc(tree->nodes, capacity * sizeof *grown);
		if (grown == NULL)
			return refuse(parser, "memory is short");
		tree->nodes = grown;
		tree->capacity = capacity;
	}
	tree->nodes[tree->count] = node;
	return tree->count++;
}

static uint32_t
add_pair(struct parser *parser, enum node_kind kind, uint32_t left, uint32_t right)
{
	return add(parser, (struct node){.kind = kind, .left = left, .right = right});
}

static uint32_t
add_span(struct parser *parser, unsigned low, unsigned high)
{
	struct node node = {.kind = NODE_SET};
	for (unsigned byte = low; byte <= high; byte++)
		set_add(&node.set, byte);
	return add(parser, node);
}

static size_t
encode(uint32_t code, uint8_t bytes[4])
{
	if (code < 0x80) {
		bytes[0] = (uint8_t)code;
		return 1;
	}
	size_t length = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
	static const uint8_t lead[] = {0, 0, 0xC0, 0xE0, 0xF0};
	for (size_t i = length; i-- > 1; code >>= 6)
		bytes[i] = (uint8_t)(0x80 | (code & 0x3F));
	bytes[0] = (uint8_t)(lead[length] | code);
	return length;
}

/* The next character of the pattern; a stray byte stands for itself and is told by `*stray`. */
static uint32_t
decode(struct parser *parser, bool *stray)
{
	const uint8_t *p = (const uint8_t *)parser->at;
	size_t length = p[0] < 0x80 ? 1 : p[0] < 0xC2 ? 0 : p[0] < 0xE0 ? 2 : p[0] < 0xF0 ? 3 : p[0] < 0xF5 ? 4 : 0;
	uint32_t code = length < 2 ? p[0] : p[0] & (0x7Fu >> length);
	for (size_t i = 1; i < length; i++) {
		if ((p[i] & 0xC0) != 0x80) {
			length = 0;
			break;
		}
		code = code << 6 | (p[i] & 0x3Fu);
	}
	*stray = length == 0;
	parser->at += length == 0 ? 1 : length;
	return length == 0 ? p[0] : code;
}

/* All characters of one encoded length between two, as nested spans of bytes. */
static uint32_t
add_sequences(struct parser *parser, const uint8_t *low, const uint8_t *high, size_t length)
{
	if (length == 1)
		return add_span(parser, low[0], high[0]);
	static const uint8_t lowest[3] = {0x80, 0x80, 0x80}, highest[3] = {0xBF, 0xBF, 0xBF};
	if (low[0] == high[0])
		return add_pair(parser, NODE_CAT, add_span(parser, low[0], low[0]), add_sequences(parser, low + 1, high + 1, length - 1));
	unsigned first = low[0], last = high[0];
	uint32_t result = 0;
	bool some = false;
	if (memcmp(low + 1, lowest, length - 1) != 0) {
		result = add_pair(parser, NODE_CAT, add_span(parser, first, first), add_sequences(parser, low + 1, highest, length - 1));
		some = true;
		first++;
	}
	if (memcmp(high + 1, highest, length - 1) != 0) {
		uint32_t edge = add_pair(parser, NODE_CAT, add_span(parser, last, last), add_sequences(parser, lowest, high + 1, length - 1));
		result = some ? add_pair(parser, NODE_ALT, result, edge) : edge;
		some = true;
		last--;
	}
	if (first <= last) {
		uint32_t inner = add_pair(parser, NODE_CAT, add_span(parser, first, last), add_sequences(parser, lowest, highest, length - 1));
		result = some ? add_pair(parser, NODE_ALT, result, inner) : inner;
	}
	return result;
}

static uint32_t
add_range(struct parser *parser, uint32_t low, uint32_t high)
{
	static const uint32_t ends[] = {0x7FF, 0xFFFF, LAST_CODE};
	uint32_t result = 0;
	bool some = false;
	for (size_t i = 0; i < 3 && low <= high; i++) {
		if (low > ends[i])
			continue;
		uint32_t until = high < ends[i] ? high : ends[i];
		uint8_t from[4], to[4];
		size_t length = encode(low, from);
		encode(until, to);
		uint32_t part = add_sequences(parser, from, to, length);
		result = some ? add_pair(parser, NODE_ALT, result, part) : part;
		some = true;
		low = until + 1;
	}
	return result;
}

static void
class_add(struct parser *parser, struct class *class, uint32_t low, uint32_t high)
{
	for (uint32_t code = low; code <= high && code < 0x80; code++)
		set_add(&class->ascii, code);
	if (high < 0x80)
		return;
	if (class->count == MOST_RANGES) {
		refuse(parser, "a bracket expression has too many parts");
		return;
	}
	class->low[class->count] = low < 0x80 ? 0x80 : low;
	class->high[class->count++] = high;
}

static void
class_negate(struct class *class)
{
	class->ascii.words[0] = ~class->ascii.words[0];
	class->ascii.words[1] = ~class->ascii.words[1];
	if (class->wide || class->count == 0) {
		class->wide = !class->wide;
		class->count = 0;
		return;
	}
	/* What is left between the ranges, smallest first. */
	struct class rest = {.ascii = class->ascii};
	uint32_t from = 0x80;
	while (from <= LAST_CODE) {
		uint32_t covered = 0, start = LAST_CODE + 1;
		for (size_t i = 0; i < class->count; i++) {
			if (class->low[i] <= from && class->high[i] >= from && class->high[i] + 1 > covered)
				covered = class->high[i] + 1;
			if (class->low[i] > from && class->low[i] < start)
				start = class->low[i];
		}
		if (covered == 0) {
			rest.low[rest.count] = from;
			rest.high[rest.count++] = start - 1;
		}
		from = covered > 0 ? covered : start;
	}
	*class = rest;
}

static void
class_fold(struct byte_set *set)
{
	for (unsigned letter = 'a'; letter <= 'z'; letter++) {
		if (!set_has(set, letter) && !set_has(set, letter - 32))
			continue;
		set_add(set, letter);
		set_add(set, letter - 32);
	}
}

static uint32_t
class_node(struct parser *parser, struct class *class)
{
	struct node node = {.kind = class->wide ? NODE_WIDE : NODE_SET, .set = class->ascii};
	if (parser->ignore_case)
		class_fold(&node.set);
	node.set.words[0] &= ~(UINT64_C(1) << '\n');
	uint32_t result = add(parser, node);
	for (size_t i = 0; i < class->count && !class->wide && parser->error == NULL; i++)
		result = add_pair(parser, NODE_ALT, result, add_range(parser, class->low[i], class->high[i]));
	return result;
}

static bool
is_word(unsigned byte)
{
	return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') || byte == '_';
}

/* The letters that stand for sets: adds them to the class and returns true. */
static bool
class_letter(struct class *class, char letter)
{
	struct class set = {0};
	if (strchr("dDwWsS", letter) == NULL)
		return false;
	for (unsigned byte = 0; byte < 0x80; byte++) {
		bool digit = byte >= '0' && byte <= '9', space = byte == ' ' || (byte >= '\t' && byte <= '\r');
		if ((letter | 32) == 'd' ? digit : (letter | 32) == 'w' ? is_word(byte) : space)
			set_add(&set.ascii, byte);
	}
	set.wide = letter == 'w' || letter == 'W'; /* letters of other scripts count as word characters */
	if (letter < 'a') {
		set.ascii.words[0] = ~set.ascii.words[0];
		set.ascii.words[1] = ~set.ascii.words[1];
		set.wide = !set.wide;
	}
	class->ascii.words[0] |= set.ascii.words[0];
	class->ascii.words[1] |= set.ascii.words[1];
	class->wide |= set.wide;
	return true;
}

static bool
class_named(struct parser *parser, struct class *class)
{
	static const struct {
		const char *name, *ranges;
		bool wide;
	} named[] = {{"alpha:]", "azAZ", true}, {"digit:]", "09", false}, {"alnum:]", "azAZ09", true}, {"upper:]", "AZ", false},
	    {"lower:]", "az", false}, {"space:]", "\t\r  ", false}, {"blank:]", "\t\t  ", false}, {"punct:]", "!/:@[`{~", false},
	    {"xdigit:]", "09afAF", false}, {"word:]", "azAZ09__", true}, {"print:]", " ~", true}, {"graph:]", "!~", true},
	    {"cntrl:]", "\1\37\177\177", false}};
	for (size_t i = 0; i < sizeof named / sizeof *named; i++) {
		size_t length = strlen(named[i].name);
		if (strncmp(parser->at, named[i].name, length) != 0)
			continue;
		for (const char *range = named[i].ranges; *range != 0; range += 2)
			class_add(parser, class, (uint8_t)range[0], (uint8_t)range[1]);
		class->wide |= named[i].wide;
		parser->at += length;
		return true;
	}
	return false;
}

static uint32_t
control_letter(char letter)
{
	static const char letters[] = "tnrfvae", codes[] = "\t\n\r\f\v\a\033";
	const char *found = letter == 0 ? NULL : strchr(letters, letter);
	return found == NULL ? 0 : (uint8_t)codes[found - letters];
}

/* One end of a range, or a single member. */
static uint32_t
class_member(struct parser *parser)
{
	bool stray;
	if (parser->at[0] == '\\' && parser->at[1] != 0) {
		uint32_t control = control_letter(*++parser->at);
		if (control != 0) {
			parser->at++;
			return control;
		}
	}
	return decode(parser, &stray);
}

static uint32_t
parse_brackets(struct parser *parser)
{
	struct class class = {0};
	bool negated = *parser->at == '^';
	parser->at += negated;
	for (bool first = true; first || *parser->at != ']'; first = false) {
		if (*parser->at == 0)
			return refuse(parser, "a [ has no ]; write \\[ for the character");
		if (parser->at[0] == '[' && parser->at[1] == ':') {
			parser->at += 2;
			if (!class_named(parser, &class))
				return refuse(parser, "unknown class after [:");
			continue;
		}
		if (parser->at[0] == '\\' && parser->at[1] != 0 && class_letter(&class, parser->at[1])) {
			parser->at += 2;
			continue;
		}
		uint32_t low = class_member(parser), high = low;
		if (parser->at[0] == '-' && parser->at[1] != ']' && parser->at[1] != 0) {
			parser->at++;
			high = class_member(parser);
		}
		if (high < low)
			return refuse(parser, "a range in brackets ends before it starts");
		class_add(parser, &class, low, high);
	}
	parser->at++;
	bool fold = parser->ignore_case;
	if (fold)
		class_fold(&class.ascii);
	if (negated) {
		class_negate(&class);
		parser->ignore_case = false; /* folding the rest would bring back what was taken out */
	}
	uint32_t node = class_node(parser, &class);
	parser->ignore_case = fold;
	return node;
}

static uint32_t
parse_character(struct parser *parser)
{
	bool stray;
	struct class class = {0};
	uint32_t code = decode(parser, &stray);
	if (stray)
		return add_span(parser, code, code);
	class_add(parser, &class, code, code);
	if (class.count == 1)
		return add_range(parser, code, code);
	return class_node(parser, &class);
}

static uint32_t
parse_escape(struct parser *parser)
{
	static const char letters[] = "bB<>";
	static const enum assertion assertions[] = {WORD_EDGE, NO_WORD_EDGE, WORD_START, WORD_END};
	struct class class = {0};
	char letter = *parser->at;
	if (letter == 0)
		return refuse(parser, "the pattern ends in a backslash");
	if (letter >= '1' && letter <= '9')
		return refuse(parser, "references to groups (\\1) are not supported");
	if (letter == 'n')
		return refuse(parser, "\\n cannot match: each line is searched by itself; use ^ and $ for its ends");
	const char *found = strchr(letters, letter);
	if (found != NULL) {
		parser->at++;
		return add(parser, (struct node){.kind = NODE_ASSERT, .assertion = assertions[found - letters]});
	}
	if (class_letter(&class, letter)) {
		parser->at++;
		return class_node(parser, &class);
	}
	uint32_t control = control_letter(letter);
	if (control == 0)
		return parse_character(parser);
	parser->at++;
	return add_span(parser, control, control);
}

static uint32_t
parse_group(struct parser *parser)
{
	if (parser->at[0] == '?' && parser->at[1] == ':')
		parser->at += 2;
	else if (parser->at[0] == '?')
		return refuse(parser, "of the groups that start with (? only (?: is supported");
	if (++parser->nesting > MOST_NESTING)
		return refuse(parser, "the groups are nested too deep");
	uint32_t inner = parse_choice(parser);
	parser->nesting--;
	if (*parser->at != ')')
		return refuse(parser, "a ( has no ); write \\( for the character");
	parser->at++;
	return inner;
}

static uint32_t
parse_atom(struct parser *parser)
{
	struct class any = {.ascii.words = {~UINT64_C(0), ~UINT64_C(0)}, .wide = true};
	switch (*parser->at) {
	case '(':
		parser->at++;
		return parse_group(parser);
	case '[':
		parser->at++;
		return parse_brackets(parser);
	case '.':
		parser->at++;
		return class_node(parser, &any);
	case '^':
	case '$':
		return add(parser, (struct node){.kind = NODE_ASSERT, .assertion = *parser->at++ == '^' ? LINE_START : LINE_END});
	case '\\':
		parser->at++;
		return parse_escape(parser);
	case '*':
	case '+':
	case '?':
		return refuse(parser, "there is nothing to repeat before *, + or ?; write \\* for the character");
	default:
		return parse_character(parser);
	}
}

/* {n}, {n,} or {n,m}; anything else that starts with a brace is text. */
static bool
parse_bounds(struct parser *parser, int *min, int *max)
{
	char *end;
	const char *p = parser->at + 1;
	if (*p < '0' || *p > '9')
		return false;
	long low = strtol(p, &end, 10), high = low;
	if (*end == ',') {
		p = end + 1;
		high = *p >= '0' && *p <= '9' ? strtol(p, &end, 10) : -1;
		if (high < 0)
			end = (char *)p;
	}
	if (*end != '}')
		return false;
	if (low > MOST_REPEATS || high > MOST_REPEATS || (high >= 0 && high < low)) {
		refuse(parser, "a repetition must be {n}, {n,} or {n,m} with n <= m <= 1000");
		return false;
	}
	parser->at = end + 1;
	*min = (int)low;
	*max = (int)high;
	return true;
}

static uint32_t
parse_repeated(struct parser *parser)
{
	uint32_t node = parse_atom(parser);
	while (parser->error == NULL) {
		int min = 0, max = -1;
		char sign = *parser->at;
		if (sign == '{') {
			if (!parse_bounds(parser, &min, &max))
				break;
		} else if (sign != 0 && strchr("*+?", sign) != NULL) {
			parser->at++;
			min = sign == '+';
			max = sign == '?' ? 1 : -1;
		} else {
			break;
		}
		/* A ? after a repetition asks for the shortest; whether there is a match does not depend on it. */
		if (*parser->at == '?')
			parser->at++;
		node = add(parser, (struct node){.kind = NODE_REPEAT, .left = node, .min = min, .max = max});
	}
	return node;
}

static uint32_t
parse_sequence(struct parser *parser)
{
	uint32_t result = add(parser, (struct node){.kind = NODE_EMPTY});
	while (parser->error == NULL && *parser->at != 0 && *parser->at != '|' && (*parser->at != ')' || parser->nesting == 0)) {
		if (*parser->at == ')')
			return refuse(parser, "a ) has no (; write \\) for the character");
		result = add_pair(parser, NODE_CAT, result, parse_repeated(parser));
	}
	return result;
}

static uint32_t
parse_choice(struct parser *parser)
{
	uint32_t result = parse_sequence(parser);
	while (parser->error == NULL && *parser->at == '|') {
		parser->at++;
		result = add_pair(parser, NODE_ALT, result, parse_sequence(parser));
	}
	return result;
}

const char *
regex_parse(const char *pattern, bool ignore_case, struct tree_of_nodes *tree)
{
	*tree = (struct tree_of_nodes){0};
	bool inline_case = strncmp(pattern, "(?i)", 4) == 0;
	struct parser parser = {.at = pattern + (inline_case ? 4 : 0), .ignore_case = ignore_case || inline_case, .tree = tree};
	tree->top = parse_choice(&parser);
	return parser.error;
}
