/* GLOB, and the patterns by themselves. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness.h"
#include "pattern.h"

static bool
matches(const char *text, const char *path, bool hidden)
{
	struct pattern pattern;
	struct pattern_state state, next_state;
	unsigned known = 0;
	if (pattern_compile(&pattern, text, hidden) != NULL) {
		pattern_free(&pattern);
		return false;
	}
	char *copy = strdup(path);
	pattern_start(&pattern, &state);
	for (char *name = strtok(copy, "/"); name != NULL; name = strtok(NULL, "/")) {
		known = pattern_step(&pattern, &state, name, &next_state);
		state = next_state;
	}
	free(copy);
	pattern_free(&pattern);
	return (known & PATTERN_MATCH) != 0;
}

static void
patterns_match_as_said(void)
{
	static const struct {
		const char *pattern, *path;
		bool match;
	} cases[] = {
	    {"*.py", "a.py", true}, {"*.py", "d/a.py", false}, {"*.py", "a.pyc", false}, {"*", "a", true}, {"*", ".a", false},
	    {".*", ".a", true}, {"?", "a", true}, {"?", "ab", false}, {"?", "\xc3\xa9", true}, {"?", "\xff", true},
	    {"[a-c]x", "bx", true}, {"[a-c]x", "dx", false}, {"[!a-c]x", "dx", true}, {"[^a-c]x", "ax", false}, {"[]]", "]", true},
	    {"[a", "[a", true}, {"[\xc3\xa0-\xc3\xbf]", "\xc3\xa9", true}, {"[a-]", "-", true}, {"\\*", "*", true}, {"\\*", "a", false},
	    {"[\\]]", "]", true}, {"**", "a", true}, {"**", "a/b/c", true}, {"**/*.c", "x.c", true}, {"**/*.c", "a/b/x.c", true},
	    {"a/**/z", "a/z", true}, {"a/**/z", "a/b/c/z", true}, {"a/**/z", "b/z", false}, {"a/**", "a", false}, {"a/**", "a/b/c", true},
	    {"**/x/**/y", "x/y", true}, {"**/x/**/y", "a/x/b/x/y", true}, {"**/.git/*", "a/.git/b", true}, {"**/*", "a/.git/b", false},
	    {"*.{c,h}", "a.h", true}, {"*.{c,h}", "a.o", false}, {"{a,b{c,d}}e", "bde", true}, {"{a,b{c,d}}e", "be", false},
	    {"{a}", "{a}", true}, {"{a", "{a", true}, {"{,x}a", "a", true}, {"\\{a,b\\}", "{a,b}", true}, {"\\\\{a,b}", "\\a", true},
	    {"{src,test}/**/*.{ts,tsx}", "test/a/b.tsx", true}, {"a*b*c*d", "aXbXcXd", true}, {"a*b*c*d", "aXbXcX", false},
	    {"a//b/", "a/b", true}, {"./a", "a", true}, {"*a*a*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		if (!CHECK(matches(cases[i].pattern, cases[i].path, false) == cases[i].match))
			printf("  %s against %s\n", cases[i].pattern, cases[i].path);
	CHECK(matches("**/*", "a/.git/b", true) && matches("*", ".a", true));
	CHECK(!matches("../x", "x", true) && !matches("", "x", true) && !matches("{a,b,c,d,e}{a,b,c,d,e}{a,b,c,d,e}", "aaa", true));
}

static struct reply
glob(const char *root, const char *pattern, int64_t limit, bool hidden)
{
	begin(REQUEST_GLOB);
	put_string(&request, 10, root);
	put_string(&request, 11, pattern);
	put_int(&request, 12, limit);
	put_int(&request, 13, hidden);
	return run();
}

static void
make(const char *name, time_t time)
{
	put_text(in(name), "x");
	utimensat(AT_FDCWD, in(name), (struct timespec[2]){{time, 0}, {time, 0}}, 0);
}

static void
glob_is_newest_first(void)
{
	const char *folders[] = {"g", "g/sub", "g/sub/deep", "g/.git", "g/closed"};
	for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
		CHECK(mkdir(in(folders[i]), 0755) == 0);
	make("g/old.c", 1000);
	make("g/new.c", 5000);
	make("g/sub/middle.c", 3000);
	make("g/sub/deep/newest.c", 9000);
	make("g/sub/other.h", 9500);
	make("g/.git/hidden.c", 9900);
	make("g/odd\nna\xffme.c", 10);
	CHECK(symlink("sub", in("g/link")) == 0);
	struct reply reply = glob(in("g"), "**/*.c", 100, false);
	const char *expected[] = {"g/sub/deep/newest.c", "g/new.c", "g/sub/middle.c", "g/old.c", "g/odd\nna\xffme.c"};
	CHECK(reply.last == FRAME_OK && reply.entries == 5 && reply_int(&reply, 20) == 0);
	for (int i = 0; i < 5 && i < reply.entries; i++)
		CHECK(strcmp(reply.paths[i], in(expected[i])) == 0);
	reply_free(&reply);
	reply = glob(in("g"), "**/*.c", 2, false);
	CHECK(reply.entries == 2 && reply_int(&reply, 20) == 1 && strcmp(reply.paths[1], in("g/new.c")) == 0);
	reply_free(&reply);
	reply = glob(in("g"), "**/*.c", 5, true);
	CHECK(reply.entries == 5 && strcmp(reply.paths[0], in("g/.git/hidden.c")) == 0);
	reply_free(&reply);
	reply = glob(in("g"), "link/*", 5, true); /* links are told, not entered */
	CHECK(reply.last == FRAME_OK && reply.entries == 0);
	reply_free(&reply);
	reply = glob(in("g"), "l*", 5, true);
	struct bytes target;
	CHECK(reply.entries == 1 && field_find((struct bytes){reply.first.data, reply.first.length}, 57, &target));
	reply_free(&reply);
	reply = glob(in("g"), "", 5, true);
	CHECK(failed_with(&reply, "bad_request"));
	reply_free(&reply);
	reply = glob(in("g/old.c"), "*", 5, true);
	CHECK(failed_with(&reply, "not_a_directory"));
	reply_free(&reply);
}

static void
as_nobody(void)
{
	if (geteuid() == 0 && (setgid(65534) < 0 || setuid(65534) < 0))
		_exit(3);
}

static void
the_unreadable_is_counted(void)
{
	chmod(folder, 0755);
	chmod(in("g/closed"), 0);
	in_worker = as_nobody;
	struct reply reply = glob(in("g"), "**/*.c", 100, false);
	CHECK(reply.last == FRAME_OK && reply.entries == 5 && reply_int(&reply, 24) == 1);
	reply_free(&reply);
	in_worker = NULL;
	chmod(in("g/closed"), 0755);
}

static void
limits_bound_memory_not_the_search(void)
{
	char name[64];
	CHECK(mkdir(in("many"), 0755) == 0);
	for (int i = 0; i < 3000; i++) {
		snprintf(name, sizeof name, "many/%d.txt", i);
		make(name, 1 + (i * 7919) % 3000);
	}
	struct reply reply = glob(in("many"), "*.txt", 10, false);
	CHECK(reply.entries == 10 && reply_int(&reply, 20) == 1);
	for (int i = 0; i < reply.entries; i++) {
		struct stat status;
		CHECK(stat(reply.paths[i], &status) == 0 && status.st_mtim.tv_sec == 3000 - i);
	}
	reply_free(&reply);
}

int
main(void)
{
	folder_make();
	patterns_match_as_said();
	glob_is_newest_first();
	the_unreadable_is_counted();
	limits_bound_memory_not_the_search();
	folder_remove();
	return finish();
}
