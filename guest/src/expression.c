#include "expression.h"

#include <stdlib.h>
#include <string.h>

#include "expression_tree.h"

#define MOST_STEPS 10000
#define MOST_STATES 20000
#define TABLE_BYTES (8u << 20)
#define WAITING_BYTES (8u << 20)

enum op { OP_SET, OP_SPLIT, OP_JUMP, OP_ASSERT, OP_MATCH };

/* One instruction of the nondeterministic machine. */
struct step {
	uint8_t op;
	uint8_t assertion;
	uint32_t first, second; /* where to go on; for a set, its number */
};

/* What stands before a position; for states, only told apart when the pattern asks. */
enum before { AT_START, AFTER_WORD, AFTER_OTHER };

/* A state of the automaton: the instructions it waits at, besides the first one, which it always does. */
struct state {
	uint32_t *waiting;
	uint32_t count;
	uint8_t before;
	uint32_t chain; /* next state with the same hash */
};

enum { UNKNOWN, MATCHED, START }; /* numbers of states; the first two are none */

struct regex {
	struct literal literal;
	struct step *steps;
	uint32_t count, capacity;
	struct byte_set *sets;
	uint32_t set_count, set_capacity;
	bool asserts;
	bool failed;
	uint8_t kind[256];	     /* bytes that no set tells apart are of one kind */
	uint8_t sample[256];	     /* one byte of each kind */
	bool idle[256];		     /* bytes that lead from the first state to itself */
	uint32_t kinds;
	uint32_t *table;	     /* state × kind: the row of the next state, 0 when not yet known */
	struct state *states;
	uint32_t state_count, state_capacity, most_states;
	size_t waiting_bytes;	     /* of all states together */
	uint32_t buckets[4096];
	uint32_t *stack, *reached, *mark, generation; /* work space, one entry a step */
};

static uint32_t
emit(struct regex *regex, struct step step)
{
	if (regex->count == regex->capacity && !regex->failed) {
		uint32_t capacity = 2 * regex->capacity + 256;
		struct step *grown = regex->count >= MOST_STEPS ? NULL : realloc(regex->steps, capacity * sizeof *grown);
		regex->failed = grown == NULL;
		if (grown != NULL) {
			regex->steps = grown;
			regex->capacity = capacity;
		}
	}
	if (regex->failed)
		return 0;
	regex->steps[regex->count] = step;
	return regex->count++;
}

static void
emit_set(struct regex *regex, const struct byte_set *set)
{
	uint32_t number = 0;
	while (number < regex->set_count && memcmp(&regex->sets[number], set, sizeof *set) != 0)
		number++;
	if (number == regex->set_count) {
		if (regex->set_count == regex->set_capacity) {
			uint32_t capacity = 2 * regex->set_capacity + 16;
			struct byte_set *grown = realloc(regex->sets, capacity * sizeof *grown);
			if (grown == NULL) {
				regex->failed = true;
				return;
			}
			regex->sets = grown;
			regex->set_capacity = capacity;
		}
		regex->sets[regex->set_count++] = *set;
	}
	emit(regex, (struct step){.op = OP_SET, .first = number});
}

static void
emit_span(struct regex *regex, unsigned low, unsigned high, int times)
{
	struct byte_set set = {0};
	for (unsigned byte = low; byte <= high; byte++)
		set_add(&set, byte);
	while (times-- > 0)
		emit_set(regex, &set);
}

/* One character of an open class: ASCII by its set, any sequence that UTF-8 allows, or a byte that is none. */
static void
emit_wide(struct regex *regex, const struct node *node)
{
	static const uint8_t leads[][3] = {{0xC2, 0xDF, 1}, {0xE0, 0xEF, 2}, {0xF0, 0xF4, 3}, {0x80, 0xFF, 0}};
	uint32_t jumps[4];
	for (size_t i = 0; i < 4; i++) {
		uint32_t split = emit(regex, (struct step){.op = OP_SPLIT, .first = regex->count + 1});
		if (i == 0)
			emit_set(regex, &node->set);
		else
			emit_span(regex, leads[i - 1][0], leads[i - 1][1], 1), emit_span(regex, 0x80, 0xBF, leads[i - 1][2]);
		jumps[i] = emit(regex, (struct step){.op = OP_JUMP});
		if (regex->failed)
			return;
		regex->steps[split].second = regex->count;
	}
	emit_span(regex, 0x80, 0xFF, 1);
	for (size_t i = 0; i < 4 && !regex->failed; i++)
		regex->steps[jumps[i]].first = regex->count;
}

static void emit_node(struct regex *regex, const struct node *nodes, uint32_t index);

static void
emit_loop(struct regex *regex, const struct node *nodes, const struct node *body, uint32_t index)
{
	uint32_t split = emit(regex, (struct step){.op = OP_SPLIT, .first = regex->count + 1});
	if (body->kind == NODE_WIDE) {
		/* Any number of characters and stray bytes is any number of bytes. */
		struct byte_set set = body->set;
		set.words[2] = set.words[3] = ~UINT64_C(0);
		emit_set(regex, &set);
	} else {
		emit_node(regex, nodes, index);
	}
	emit(regex, (struct step){.op = OP_JUMP, .first = split});
	if (!regex->failed)
		regex->steps[split].second = regex->count;
}

static void
emit_repeat(struct regex *regex, const struct node *nodes, const struct node *node)
{
	for (int i = 0; i < node->min && !regex->failed; i++) {
		uint32_t before = regex->count;
		emit_node(regex, nodes, node->left);
		/* Nothing, however often, is nothing: and only steps count against the limit. */
		if (regex->count == before)
			return;
	}
	if (node->max < 0) {
		emit_loop(regex, nodes, &nodes[node->left], node->left);
		return;
	}
	for (int i = node->min; i < node->max && !regex->failed; i++) {
		uint32_t split = emit(regex, (struct step){.op = OP_SPLIT, .first = regex->count + 1});
		emit_node(regex, nodes, node->left);
		if (!regex->failed)
			regex->steps[split].second = regex->count;
	}
}

static void
emit_node(struct regex *regex, const struct node *nodes, uint32_t index)
{
	const struct node *node = &nodes[index];
	if (regex->failed)
		return;
	switch (node->kind) {
	case NODE_SET:
		emit_set(regex, &node->set);
		break;
	case NODE_WIDE:
		emit_wide(regex, node);
		break;
	case NODE_CAT:
		emit_node(regex, nodes, node->left);
		emit_node(regex, nodes, node->right);
		break;
	case NODE_ALT: {
		uint32_t split = emit(regex, (struct step){.op = OP_SPLIT, .first = regex->count + 1});
		emit_node(regex, nodes, node->left);
		uint32_t jump = emit(regex, (struct step){.op = OP_JUMP});
		if (regex->failed)
			return;
		regex->steps[split].second = regex->count;
		emit_node(regex, nodes, node->right);
		regex->steps[jump].first = regex->count;
		break;
	}
	case NODE_REPEAT:
		emit_repeat(regex, nodes, node);
		break;
	case NODE_ASSERT:
		regex->asserts = true;
		emit(regex, (struct step){.op = OP_ASSERT, .assertion = (uint8_t)node->assertion});
		break;
	case NODE_EMPTY:
	default:
		break;
	}
}

static bool
is_word(unsigned byte)
{
	return byte >= 0x80 || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') ||
	       byte == '_';
}

/* Sorts the bytes into kinds: those that are in the same sets, and alike for the assertions. */
static void
find_kinds(struct regex *regex)
{
	for (unsigned byte = 0; byte < 256; byte++) {
		uint32_t kind = 0;
		for (; kind < regex->kinds; kind++) {
			unsigned other = regex->sample[kind];
			bool alike = byte != '\n' && other != '\n' && (!regex->asserts || is_word(byte) == is_word(other));
			for (uint32_t i = 0; i < regex->set_count && alike; i++)
				alike = set_has(&regex->sets[i], byte) == set_has(&regex->sets[i], other);
			if (alike)
				break;
		}
		if (kind == regex->kinds)
			regex->sample[regex->kinds++] = (uint8_t)byte;
		regex->kind[byte] = (uint8_t)kind;
	}
}

static bool
holds(enum assertion assertion, enum before before, bool at_end, bool word_next)
{
	bool word_before = before == AFTER_WORD;
	switch (assertion) {
	case LINE_START:
		return before == AT_START;
	case LINE_END:
		return at_end;
	case WORD_EDGE:
		return word_before != word_next;
	case NO_WORD_EDGE:
		return word_before == word_next;
	case WORD_START:
		return !word_before && word_next;
	case WORD_END:
		return word_before && !word_next;
	default:
		return false;
	}
}

static bool
mark_step(struct regex *regex, uint32_t step)
{
	if (regex->mark[step] == regex->generation)
		return false;
	regex->mark[step] = regex->generation;
	return true;
}

/* Follows everything that takes no byte, from the state and from the start, and collects the sets that are reached. Returns
 * their count, or -1 when the match is complete. */
static int64_t
close_over(struct regex *regex, const struct state *state, unsigned next)
{
	uint32_t reached = 0;
	bool at_end = next == '\n';
	bool word_next = !at_end && is_word(next);
	regex->generation++;
	for (uint32_t i = 0; i <= state->count; i++) {
		uint32_t depth = 0;
		regex->stack[depth++] = i == 0 ? 0 : state->waiting[i - 1];
		while (depth > 0) {
			uint32_t at = regex->stack[--depth];
			if (!mark_step(regex, at))
				continue;
			const struct step *step = &regex->steps[at];
			if (step->op == OP_MATCH)
				return -1;
			if (step->op == OP_SET)
				regex->reached[reached++] = at;
			if (step->op == OP_SPLIT || step->op == OP_JUMP)
				regex->stack[depth++] = step->first;
			if (step->op == OP_SPLIT)
				regex->stack[depth++] = step->second;
			if (step->op == OP_ASSERT && holds((enum assertion)step->assertion, (enum before)state->before, at_end, word_next))
				regex->stack[depth++] = at + 1;
		}
	}
	return reached;
}

static int
by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return x < y ? -1 : x > y;
}

static void
forget_states(struct regex *regex)
{
	for (uint32_t i = START; i < regex->state_count; i++)
		free(regex->states[i].waiting);
	regex->state_count = START;
	regex->waiting_bytes = 0;
	memset(regex->buckets, 0, sizeof regex->buckets);
}

static uint32_t
hash_state(const uint32_t *waiting, uint32_t count, uint8_t before)
{
	uint32_t hash = 2166136261u ^ before;
	for (uint32_t i = 0; i < count; i++)
		hash = (hash ^ waiting[i]) * 16777619u;
	return (hash ^ hash >> 15) & 4095;
}

/* The number of the state that waits at these steps; made when it is new. UNKNOWN when memory is short. */
static uint32_t
find_state(struct regex *regex, uint32_t *waiting, uint32_t count, uint8_t before)
{
	uint32_t *bucket = &regex->buckets[hash_state(waiting, count, before)];
	for (uint32_t i = *bucket; i != 0; i = regex->states[i].chain) {
		struct state *state = &regex->states[i];
		if (state->count == count && state->before == before && memcmp(state->waiting, waiting, count * sizeof *waiting) == 0)
			return i;
	}
	if (regex->state_count >= regex->state_capacity) {
		uint32_t capacity = 2 * regex->state_capacity + 16;
		struct state *states = realloc(regex->states, capacity * sizeof *states);
		if (states != NULL)
			regex->states = states;
		uint32_t *table = realloc(regex->table, (size_t)capacity * regex->kinds * sizeof *table);
		if (table != NULL)
			regex->table = table;
		if (states == NULL || table == NULL)
			return UNKNOWN;
		regex->state_capacity = capacity;
	}
	uint32_t *copy = malloc(count * sizeof *copy + 1);
	if (copy == NULL)
		return UNKNOWN;
	memcpy(copy, waiting, count * sizeof *copy);
	regex->waiting_bytes += count * sizeof *copy;
	uint32_t number = regex->state_count++;
	regex->states[number] = (struct state){copy, count, before, *bucket};
	*bucket = number;
	memset(regex->table + (size_t)number * regex->kinds, 0, regex->kinds * sizeof *regex->table);
	return number;
}

/* Works out one entry of the table: the row of the next state, 0 when memory is short. */
static uint32_t
follow(struct regex *regex, uint32_t row, unsigned byte)
{
	int64_t reached = close_over(regex, &regex->states[row / regex->kinds], byte);
	uint32_t to = reached < 0 ? MATCHED : START;
	if (reached >= 0 && byte != '\n') {
		uint32_t count = 0;
		for (int64_t i = 0; i < reached; i++)
			if (set_has(&regex->sets[regex->steps[regex->reached[i]].first], byte))
				regex->reached[count++] = regex->reached[i] + 1;
		qsort(regex->reached, count, sizeof *regex->reached, by_number);
		uint8_t before = !regex->asserts ? AT_START : is_word(byte) ? AFTER_WORD : AFTER_OTHER;
		if (regex->state_count >= regex->most_states || regex->waiting_bytes > WAITING_BYTES) {
			/* Full: start afresh, which costs no more than it did the first time. */
			forget_states(regex);
			find_state(regex, regex->stack, 0, AT_START);
			return find_state(regex, regex->reached, count, before) * regex->kinds;
		}
		to = find_state(regex, regex->reached, count, before);
	}
	if (to != UNKNOWN)
		regex->table[row + regex->kind[byte]] = to * regex->kinds;
	return to * regex->kinds;
}

const uint8_t *
regex_scan(struct regex *regex, const uint8_t *begin, const uint8_t *end)
{
	const uint32_t matched = MATCHED * regex->kinds;
	const uint8_t *kind = regex->kind;
	const uint32_t start = START * regex->kinds;
	uint32_t row = start;
	const uint8_t *p = begin;
	for (; p < end; p++) {
		/* Where nothing has begun, bytes need not wait for each other's look-up. */
		if (row == start) {
			while (end - p > 4 && regex->idle[p[0]] && regex->idle[p[1]] && regex->idle[p[2]] && regex->idle[p[3]])
				p += 4;
		}
		uint32_t next = regex->table[row + kind[*p]];
		if (next <= matched && next != matched)
			next = follow(regex, row, *p);
		if (next <= matched)
			return next == matched ? p : NULL;
		row = next;
	}
	/* The end of the text ends its last line too, unless there is none. */
	if (p == begin || p[-1] == '\n')
		return NULL;
	return follow(regex, row, '\n') == matched ? p : NULL;
}

/* Gathers the longest run of single bytes that every match contains. */
struct gathering {
	struct literal run, best;
	bool fold;
};

static void
end_run(struct gathering *gathering)
{
	gathering->run.whole = false;
	if (gathering->run.length > gathering->best.length)
		gathering->best = gathering->run;
	gathering->run.length = 0;
}

/* The only byte of a set, letters folded when case is ignored; -1 when there are several. */
static int
only_byte(const struct byte_set *set, bool fold)
{
	int found = -1;
	for (unsigned byte = 0; byte < 256; byte++) {
		if (!set_has(set, byte))
			continue;
		unsigned as = fold && byte >= 'A' && byte <= 'Z' ? byte + 32 : byte;
		if (found >= 0 && (unsigned)found != as)
			return -1;
		found = (int)as;
	}
	return found;
}

static void
gather(struct gathering *gathering, const struct node *nodes, uint32_t index)
{
	const struct node *node = &nodes[index];
	int byte = node->kind == NODE_SET ? only_byte(&node->set, gathering->fold) : -1;
	if (node->kind == NODE_EMPTY)
		return;
	if (node->kind == NODE_CAT) {
		gather(gathering, nodes, node->left);
		gather(gathering, nodes, node->right);
	} else if (byte >= 0) {
		if (gathering->run.length == LITERAL_MAX)
			end_run(gathering);
		gathering->run.bytes[gathering->run.length++] = (uint8_t)byte;
	} else if (node->kind == NODE_ASSERT) {
		gathering->run.whole = false;
	} else {
		end_run(gathering);
		if (node->kind == NODE_REPEAT && node->min > 0)
			gather(gathering, nodes, node->left);
		end_run(gathering);
	}
}

static void
find_literal(struct regex *regex, const struct tree_of_nodes *tree, bool fold)
{
	struct gathering gathering = {.fold = fold, .run.whole = true};
	gather(&gathering, tree->nodes, tree->top);
	bool whole = gathering.run.whole;
	if (!whole)
		end_run(&gathering);
	regex->literal = whole ? gathering.run : gathering.best;
	regex->literal.folded = fold;
	regex->literal.whole = whole && regex->literal.length > 0;
}

static bool
prepare(struct regex *regex)
{
	emit(regex, (struct step){.op = OP_MATCH});
	if (regex->failed)
		return false;
	find_kinds(regex);
	regex->stack = calloc(2 * (size_t)regex->count + 2, sizeof *regex->stack);
	regex->reached = calloc(regex->count, sizeof *regex->reached);
	regex->mark = calloc(regex->count, sizeof *regex->mark);
	regex->state_count = START;
	regex->most_states = TABLE_BYTES / (uint32_t)sizeof *regex->table / regex->kinds;
	if (regex->most_states > MOST_STATES)
		regex->most_states = MOST_STATES;
	if (regex->stack == NULL || regex->reached == NULL || regex->mark == NULL ||
	    find_state(regex, regex->stack, 0, AT_START) != START)
		return false;
	const uint32_t start = START * regex->kinds;
	for (uint32_t kind = 0; kind < regex->kinds; kind++)
		follow(regex, start, regex->sample[kind]);
	for (unsigned byte = 0; byte < 256; byte++)
		regex->idle[byte] = regex->table[start + regex->kind[byte]] == start;
	return true;
}

struct regex *
regex_compile(const char *pattern, bool ignore_case, const char **error)
{
	struct tree_of_nodes tree;
	struct regex *regex = calloc(1, sizeof *regex);
	*error = regex == NULL ? "memory is short" : NULL;
	if (regex == NULL)
		return NULL;
	*error = regex_parse(pattern, ignore_case, &tree);
	if (*error == NULL) {
		emit_node(regex, tree.nodes, tree.top);
		find_literal(regex, &tree, ignore_case || strncmp(pattern, "(?i)", 4) == 0);
		if (!prepare(regex))
			*error = "the pattern is too large when its repetitions are written out";
	}
	free(tree.nodes);
	if (*error == NULL)
		return regex;
	regex_free(regex);
	return NULL;
}

void
regex_free(struct regex *regex)
{
	if (regex == NULL)
		return;
	forget_states(regex);
	free(regex->steps);
	free(regex->sets);
	free(regex->table);
	free(regex->states);
	free(regex->stack);
	free(regex->reached);
	free(regex->mark);
	free(regex);
}

const struct literal *
regex_literal(const struct regex *regex)
{
	return &regex->literal;
}
