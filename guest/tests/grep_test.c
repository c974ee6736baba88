/* GREP, and the regular expressions by themselves. */
#include <fcntl.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "expression.h"
#include "harness.h"

/* 1 or 0; -1 when the pattern is refused. Both ways to search must agree. */
static int
matches(const char *pattern, const char *text, bool ignore_case)
{
	const char *error;
	struct regex *regex = regex_compile(pattern, ignore_case, &error);
	if (regex == NULL)
		return -1;
	char line[4096];
	int length = snprintf(line, sizeof line, "%s\n", text);
	const uint8_t *begin = (const uint8_t *)line;
	bool found = regex_scan(regex, begin, begin + length) != NULL;
	bool unended = length > 1 && regex_scan(regex, begin, begin + length - 1) != NULL;
	if (length > 1)
		CHECK(found == unended);
	const struct literal *literal = regex_literal(regex);
	if (literal->length > 0) {
		bool has = literal_find(literal, begin, begin + length) != NULL;
		if (!CHECK(!found || has) || !CHECK(!literal->whole || found == has))
			printf("  %s in %s\n", pattern, text);
	}
	regex_free(regex);
	return found;
}

static void
expressions_match_as_said(void)
{
	static const struct {
		const char *pattern, *text;
		int match;
	} cases[] = {
	    {"abc", "xabcx", 1}, {"abc", "ab c", 0}, {"^abc", "abc", 1}, {"^abc", "xabc", 0}, {"abc$", "xabc", 1}, {"abc$", "abcx", 0},
	    {"^$", "", 1}, {"^$", "x", 0}, {"a.c", "abc", 1}, {"a.c", "ac", 0}, {"^a.c$", "a\xc3\xa9" "c", 1}, {"a.c", "a\xff" "c", 1},
	    {"a*", "", 1}, {"a+", "", 0}, {"ab?c", "ac", 1}, {"a{2,3}b", "ab", 0}, {"^a{2,3}b", "aaab", 1}, {"^a{2,3}b", "aaaab", 0},
	    {"^a{2}$", "aaa", 0}, {"a{2,}", "aaaa", 1}, {"a{,2}", "a{,2}", 1}, {"x{y}", "x{y}", 1}, {"(foo|bar)baz", "barbaz", 1},
	    {"(foo|bar)baz", "foobar", 0}, {"foo|bar", "a bar", 1}, {"(a|b|)c", "c", 1}, {"[a-c]+d", "abcd", 1}, {"[^a-c]d", "cd", 0},
	    {"[]]", "]", 1}, {"[^]]", "]", 0}, {"[a-]", "-", 1}, {"[[:digit:]]{3}", "a123", 1}, {"[[:alpha:]_]+", "12", 0},
	    {"[\\w.-]+@x", "a.b-c@x", 1}, {"[^\\s]", " \t", 0}, {"\\d+", "a1", 1}, {"\\D", "12", 0}, {"\\bfoo\\b", "a foo b", 1},
	    {"\\bfoo\\b", "foobar", 0}, {"\\bfoo\\b", "_foo", 0}, {"\\Bfoo", "xfoo", 1}, {"\\Bfoo", " foo", 0}, {"\\<foo", "xfoo", 0},
	    {"foo\\>", "foo.", 1}, {"foo\\>", "foos", 0}, {"\\.py$", "a.py", 1}, {"\\.py$", "apy", 0}, {"a\\tb", "a\tb", 1},
	    {"caf\xc3\xa9", "un caf\xc3\xa9", 1}, {"[\xc3\xa0-\xc3\xbf]", "\xc3\xa9", 1}, {"^[^\xc3\xa9]$", "\xc3\xa9", 0},
	    {"^[^\xc3\xa9]$", "\xc3\xa8", 1}, {"^[^\xc3\xa9]$", "\xe2\x82\xac", 1}, {"^[^\xc3\xa9]$", "\xf0\x9f\x98\x80", 1},
	    {"[\xce\xb1-\xf0\x9f\x98\x80]", "\xe2\x82\xac", 1}, {"(?:ab)+c", "ababc", 1}, {"(?i)ABC", "xabc", 1}, {"a.*?b", "axxb", 1},
	    {"(a*)*b", "aaab", 1}, {"(a|aa)+$", "aaaa", 1}, {"^(a?){30}a{30}$", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 1},
	    {"(x+x+)+y", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", 0}, {"\\(x\\)", "(x)", 1}, {"a|*b", "a", -1}, {"*a", "a", -1},
	    {"(a", "a", -1}, {"a)", "a", -1}, {"[a", "a", -1}, {"a\\", "a", -1}, {"(a)\\1", "aa", -1}, {"(?=a)", "a", -1},
	    {"[z-a]", "a", -1}, {"a{3,2}", "a", -1}, {"[[:nope:]]", "a", -1}, {"((a{1000}){1000}){1000}", "a", -1},
	    {"import .* from", "import x from y", 1}, {"def \\w+\\(", "def f(x):", 1}, {"\\$\\{[^}]+\\}", "a ${b} c", 1}, {"x$|^y", "yz", 1},
	    {"a\\nb", "a", -1}, {"^[^\\n]$", "a", 1}, {"^((((((){1000}){1000}){1000}){1000}){1000}){1000}b", "b", 1},
	    {"^(((((a{0}){1000}){1000}){1000}){1000}){2,1000}b", "b", 1}, {"(((((a{0}){1000}){1000}){1000}){1000}){1000,}b", "a", 0},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		if (!CHECK(matches(cases[i].pattern, cases[i].text, false) == cases[i].match))
			printf("  %s in %s\n", cases[i].pattern, cases[i].text);
	CHECK(matches("HeLLo [a-z]+", "hEllO WORLD", true) == 1 && matches("[^a]", "A", true) == 0 && matches("[B-D]", "c", true) == 1);
	CHECK(matches("k@", "K`", true) == 0 && matches("[^\\W_]", "_", true) == 0);
}

/* A stream of patterns that both we and libc understand, and texts over the same few letters: the answers must agree. */
static void
expressions_agree_with_libc(void)
{
	static const char *const parts[] = {"a", "b", "c", ".", "[ab]", "[^a]", "(a|b)", "(ab|c)", "a*", "b+", "c?", "(ab)*", "a{2}", "(b|c){1,2}",
	    "^", "$", "|", "(a|bc*)"};
	unsigned seed = 12345;
	int tried = 0;
	for (int round = 0; round < 1000; round++) {
		char pattern[128] = "", text[32];
		for (int i = 0, count = 1 + (int)(seed >> 16) % 5; i < count; i++) {
			seed = seed * 1103515245 + 12345;
			strcat(pattern, parts[(seed >> 16) % (sizeof parts / sizeof *parts)]);
		}
		regex_t libc;
		/* An empty branch and a repeated anchor mean different things to different libraries. */
		if (strstr(pattern, "||") != NULL || pattern[0] == '|' || pattern[strlen(pattern) - 1] == '|' || strstr(pattern, "^") != NULL)
			continue;
		if (strstr(pattern, "$") != NULL && pattern[strlen(pattern) - 1] != '$')
			continue;
		if (regcomp(&libc, pattern, REG_EXTENDED | REG_NOSUB) != 0)
			continue;
		for (int i = 0; i < 20; i++) {
			size_t length = 1 + (seed >> 16) % 8;
			for (size_t k = 0; k < length; k++) {
				seed = seed * 1103515245 + 12345;
				text[k] = "abcd"[(seed >> 16) % 4];
			}
			text[length] = 0;
			tried++;
			int expected = regexec(&libc, text, 0, NULL, 0) == 0;
			if (!CHECK(matches(pattern, text, false) == expected))
				printf("  %s in %s should be %d\n", pattern, text, expected);
		}
		regfree(&libc);
	}
	CHECK(tried > 10000);
}

/* A pattern with a million states, over a text that visits far more of them than are kept. */
static void
the_table_may_overflow(void)
{
	enum { SIZE = 300000 };
	const char *error;
	struct regex *regex = regex_compile("a[ab]{20}c", false, &error);
	uint8_t *text = malloc(SIZE);
	unsigned seed = 99;
	for (int i = 0; i < SIZE; i++) {
		seed = seed * 1103515245 + 12345;
		text[i] = (seed >> 20 & 1) != 0 ? 'a' : 'b';
	}
	CHECK(regex != NULL && regex_scan(regex, text, text + SIZE) == NULL);
	text[SIZE - 50] = 'c';
	text[SIZE - 50 - 21] = 'b';
	CHECK(regex_scan(regex, text, text + SIZE) == NULL);
	text[SIZE - 50 - 21] = 'a';
	CHECK(regex_scan(regex, text, text + SIZE) == text + SIZE - 49);
	regex_free(regex);
	free(text);
}

/* Any bytes may come as a pattern: refused or used, but nothing breaks (the sanitizers watch). */
static void
any_bytes_may_be_a_pattern(void)
{
	static const char alphabet[] = "ab(|)[]^$*+?{}0123,-:.\\dwsb<>\xc3\xa9\xff";
	static const uint8_t text[] = "aab\xc3\xa9(01)\n\xff";
	unsigned seed = 4711;
	int accepted = 0;
	for (int round = 0; round < 5000; round++) {
		char pattern[24];
		size_t length = 1 + (seed >> 16) % (sizeof pattern - 1);
		for (size_t i = 0; i < length; i++) {
			seed = seed * 1103515245 + 12345;
			pattern[i] = alphabet[(seed >> 16) % (sizeof alphabet - 1)];
		}
		pattern[length - 1] = 0;
		const char *error;
		struct regex *regex = regex_compile(pattern, (round & 1) != 0, &error);
		accepted += regex != NULL;
		if (regex != NULL)
			regex_scan(regex, text, text + sizeof text);
		regex_free(regex);
	}
	CHECK(accepted > 100 && accepted < 5000);
}

static struct reply
grep(const char *path, const char *pattern, const char *glob, int64_t context, int64_t limit)
{
	begin(REQUEST_GREP);
	put_string(&request, 10, path);
	put_string(&request, 11, pattern);
	if (glob != NULL)
		put_string(&request, 12, glob);
	put_int(&request, 14, context);
	put_int(&request, 15, limit);
	return run();
}

static void
expect(struct reply reply, const char *lines, int64_t files, int64_t found, bool truncated)
{
	if (!CHECK(reply.last == FRAME_OK && strcmp((char *)reply.matches.data, lines) == 0))
		printf("  got %s: %s\n%s", reply.code, reply.message, (char *)reply.matches.data);
	CHECK(reply_int(&reply, 22) == files && reply_int(&reply, 23) == found && reply_int(&reply, 20) == truncated);
	reply_free(&reply);
}

static void
lines_come_with_context(void)
{
	put_text(in("text"), "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten");
	expect(grep(in("text"), "three", NULL, 0, 100), "text:3:three\n", 1, 1, false);
	expect(grep(in("text"), "three|five|ten", NULL, 1, 100),
	    "text-2-two\ntext:3:three\ntext-4-four\ntext:5:five\ntext-6-six\ntext-9-nine\ntext:10:ten\n", 1, 3, false);
	expect(grep(in("text"), "^one$|^two$", NULL, 2, 100), "text:1:one\ntext:2:two\ntext-3-three\ntext-4-four\n", 1, 2, false);
	expect(grep(in("text"), "e", NULL, 0, 3), "text:1:one\ntext:3:three\ntext:5:five\n", 1, 3, true);
	expect(grep(in("text"), "ten|nine", NULL, 0, 2), "text:9:nine\ntext:10:ten\n", 1, 2, false);
	expect(grep(in("text"), "absent", NULL, 3, 3), "", 0, 0, false);
	expect(grep(in("text"), "i", NULL, 100, 100),
	    "text-1-one\ntext-2-two\ntext-3-three\ntext-4-four\ntext:5:five\ntext:6:six\ntext-7-seven\ntext:8:eight\ntext:9:nine\ntext-10-ten\n", 1, 4,
	    false);
}

static void
options_are_obeyed(void)
{
	CHECK(mkdir(in("o"), 0755) == 0 && mkdir(in("o/sub"), 0755) == 0 && mkdir(in("o/.hid"), 0755) == 0);
	put_text(in("o/a.c"), "x = a.b(c)\n");
	put_text(in("o/sub/b.py"), "X = AXBXC\n");
	put_text(in("o/.hid/c"), "x = a.b(c)\n");
	put_file(in("o/binary"), "x = a.b(c)\n\0", 12);
	CHECK(symlink("/etc", in("o/etc")) == 0 && mkfifo(in("o/fifo"), 0600) == 0);
	expect(grep(in("o"), "^x = a", NULL, 0, 9), "a.c:1:x = a.b(c)\n", 1, 1, false);
	expect(grep(in("o"), "X", "*.py", 0, 9), "b.py:1:X = AXBXC\n", 1, 1, false);
	expect(grep(in("o"), "=", "sub/*", 0, 9), "b.py:1:X = AXBXC\n", 1, 1, false);
	expect(grep(in("o"), "=", "*.{c,h}", 0, 9), "a.c:1:x = a.b(c)\n", 1, 1, false);
	for (int fixed = 0; fixed < 2; fixed++) {
		begin(REQUEST_GREP);
		put_string(&request, 10, in("o"));
		put_string(&request, 11, fixed ? "a.b(" : "a.b.c");
		put_int(&request, 13, 1);
		put_int(&request, 17, fixed);
		put_int(&request, 18, fixed);
		struct reply reply = run();
		CHECK(reply.last == FRAME_OK && reply_int(&reply, 23) == 2 && reply_int(&reply, 22) == 2);
		CHECK((strstr((char *)reply.matches.data, "AXBXC") != NULL) == (fixed == 0));
		reply_free(&reply);
	}
	struct reply reply = grep(in("o"), "a(", NULL, 0, 9);
	CHECK(failed_with(&reply, "bad_request"));
	reply_free(&reply);
	reply = grep(in("o/fifo"), "a", NULL, 0, 9);
	CHECK(failed_with(&reply, "not_a_file"));
	reply_free(&reply);
	reply = grep(in("o/none"), "a", NULL, 0, 9);
	CHECK(failed_with(&reply, "not_found"));
	reply_free(&reply);
}

static void
long_lines_are_cut_between_characters(void)
{
	char line[64] = "";
	for (int i = 0; i < 10; i++)
		strcat(line, "\xe2\x82\xac");
	put_text(in("long"), line);
	for (int64_t most = 1; most < 32; most++) {
		begin(REQUEST_GREP);
		put_string(&request, 10, in("long"));
		put_string(&request, 11, "\xe2\x82\xac");
		put_int(&request, 16, most);
		struct worker worker = start();
		struct bytes payload, text = {0};
		int64_t flag;
		CHECK(next(&worker, &payload) == FRAME_MATCH && field_find(payload, 61, &text) && field_int(payload, 63, 0, &flag));
		CHECK((int64_t)text.length == (most >= 30 ? 30 : most - most % 3) && flag == (most < 30));
		CHECK(worker_end(&worker) == 0);
	}
}

/* A file of many windows: lines, numbers and context must not depend on where the windows end. */
static void
windows_do_not_show(void)
{
	struct writer text = {0};
	char line[128], expected[256];
	int64_t lines = 0;
	for (; text.length < 5u << 20; lines++) {
		int length = snprintf(line, sizeof line, "line %lld %s\n", (long long)lines + 1, lines % 50000 == 49999 ? "needle" : "hay hay hay hay");
		writer_bytes(&text, line, (size_t)length);
	}
	put_file(in("huge"), text.data, text.length);
	struct reply reply = grep(in("huge"), "needle", NULL, 2, 100);
	CHECK(reply.last == FRAME_OK && reply_int(&reply, 23) == lines / 50000);
	const char *at = (char *)reply.matches.data;
	for (int64_t hit = 50000; hit <= lines; hit += 50000)
		for (int64_t number = hit - 2; number <= hit + 2 && number <= lines; number++) {
			char mark = number == hit ? ':' : '-';
			snprintf(expected, sizeof expected, "huge%c%lld%cline %lld %s\n", mark, (long long)number, mark, (long long)number,
			    number == hit ? "needle" : "hay hay hay hay");
			if (!CHECK(strncmp(at, expected, strlen(expected)) == 0))
				break;
			at += strlen(expected);
		}
	reply_free(&reply);
	writer_free(&text);
	/* One line of 20 MB, longer than any window. */
	uint8_t *giant = malloc(20u << 20);
	memset(giant, 'x', 20u << 20);
	memcpy(giant + (15u << 20), "needle", 6);
	put_file(in("giant"), giant, 20u << 20);
	free(giant);
	reply = grep(in("giant"), "needle", NULL, 1, 100);
	CHECK(reply.last == FRAME_OK && reply_int(&reply, 23) == 1);
	reply_free(&reply);
	/* A NUL makes a file binary at its beginning, not where a window begins. */
	uint8_t *spotted = malloc(3u << 20);
	memset(spotted, '\n', 3u << 20);
	for (size_t spot = 9000; spot < 3u << 20; spot += 5000)
		spotted[spot] = 0;
	memcpy(spotted + (3u << 20) - 7, "needle", 6);
	put_file(in("spotted"), spotted, 3u << 20);
	free(spotted);
	reply = grep(in("spotted"), "needle", NULL, 0, 100);
	CHECK(reply.last == FRAME_OK && reply_int(&reply, 23) == 1);
	reply_free(&reply);
	/* And a hole of 8 TB after a little text. */
	put_text(in("hole"), "needle\n");
	CHECK(truncate(in("hole"), (off_t)1 << 43) == 0);
	reply = grep(in("hole"), "needle", NULL, 0, 100);
	CHECK(reply.last == FRAME_OK && reply_int(&reply, 23) == 0);
	reply_free(&reply);
	unlink(in("huge"));
	unlink(in("giant"));
	unlink(in("spotted"));
	unlink(in("hole"));
}

static void
as_nobody(void)
{
	if (geteuid() == 0 && (setgid(65534) < 0 || setuid(65534) < 0))
		_exit(3);
}

static void
odd_names_and_closed_doors(void)
{
	CHECK(mkdir(in("n"), 0755) == 0 && mkdir(in("n/closed"), 0700) == 0 && mkdir(in("n/listed"), 0755) == 0);
	chmod(folder, 0755);
	put_text(in("n/a\nb\xff"), "needle");
	put_text(in("n/private"), "needle");
	put_text(in("n/listed/inside"), "needle");
	chmod(in("n/listed"), 0744);
	chmod(in("n/private"), 0);
	chmod(in("n/closed"), 0);
	in_worker = as_nobody;
	struct reply reply = grep(in("n"), "needle", NULL, 0, 10);
	CHECK(reply.last == FRAME_OK && reply_int(&reply, 23) == 1 && reply_int(&reply, 24) == 3);
	CHECK(strcmp((char *)reply.matches.data, "a\nb\xff:1:needle\n") == 0);
	reply_free(&reply);
	in_worker = NULL;
	chmod(in("n/closed"), 0700);
}

static void
write_at(int parent, const char *name, const char *text, time_t changed)
{
	int fd = openat(parent, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	CHECK(fd >= 0 && write_all(fd, text, strlen(text)) && futimens(fd, (struct timespec[2]){{changed, 0}, {changed, 0}}) == 0);
	close_fd(&fd);
}

static void
the_newest_file_comes_first(void)
{
	char name[64];
	CHECK(mkdir(in("t"), 0755) == 0 && mkdir(in("t/old"), 0755) == 0 && mkdir(in("t/new"), 0755) == 0);
	for (int i = 0; i < 60; i++) {
		snprintf(name, sizeof name, "t/old/%d", i);
		write_at(AT_FDCWD, in(name), "needle\nneedle\n", 1000 + (i * 7) % 60);
	}
	write_at(AT_FDCWD, in("t/new/latest"), "hay\nneedle\n", 5000);
	write_at(AT_FDCWD, in("t/middle"), "needle\n", 3000);
	expect(grep(in("t"), "needle", NULL, 0, 3), "latest:2:needle\nmiddle:1:needle\n17:1:needle\n", 3, 3, true);
	struct reply reply = grep(in("t"), "needle", NULL, 0, 1000);
	CHECK(reply_int(&reply, 23) == 122 && reply_int(&reply, 22) == 62 && reply_int(&reply, 20) == 0);
	reply_free(&reply);
}

/* Paths so long that not all of them are kept: the newest still comes first, and nothing is lost or told twice. */
static void
more_files_than_are_kept(void)
{
	enum { FILES = 5000, LEVELS = 20 };
	char long_name[256], name[256];
	memset(long_name, 'd', 250);
	long_name[250] = 0;
	CHECK(mkdir(in("deep"), 0755) == 0);
	int parent = open(in("deep"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (int i = 0; i < LEVELS; i++) {
		CHECK(mkdirat(parent, long_name, 0755) == 0);
		int below = openat(parent, long_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		close_fd(&parent);
		parent = below;
	}
	for (int i = 0; i < FILES; i++) {
		snprintf(name, sizeof name, "%d", i);
		write_at(parent, name, "needle\n", 1000 + (i * 7919) % FILES / 2);
	}
	write_at(parent, "newest", "needle\n", 50000);
	struct reply reply = grep(in("deep"), "needle", NULL, 0, 100000);
	CHECK(reply.last == FRAME_OK && reply_int(&reply, 23) == FILES + 1 && reply_int(&reply, 24) < 1);
	CHECK(strncmp((char *)reply.matches.data, "newest:", 7) == 0);
	bool *seen = calloc(FILES, 1);
	for (char *line = strchr((char *)reply.matches.data, '\n') + 1; *line != 0; line = strchr(line, '\n') + 1) {
		CHECK(!seen[atoi(line)]);
		seen[atoi(line)] = true;
	}
	free(seen);
	reply_free(&reply);
	reply = grep(in("deep"), "needle", NULL, 0, 1);
	CHECK(reply_int(&reply, 20) == 1 && strcmp((char *)reply.matches.data, "newest:1:needle\n") == 0);
	reply_free(&reply);
	close_fd(&parent);
}

int
main(void)
{
	folder_make();
	expressions_match_as_said();
	expressions_agree_with_libc();
	any_bytes_may_be_a_pattern();
	the_table_may_overflow();
	lines_come_with_context();
	options_are_obeyed();
	long_lines_are_cut_between_characters();
	windows_do_not_show();
	odd_names_and_closed_doors();
	the_newest_file_comes_first();
	more_files_than_are_kept();
	folder_remove();
	return finish();
}
