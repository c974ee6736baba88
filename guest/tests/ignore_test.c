/* What .gitignore files keep out of GLOB and GREP. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness.h"

/* Makes a file and the folders on the way to it. */
static void
make(const char *name, const char *text)
{
	char path[4096];
	snprintf(path, sizeof path, "%s", in(name));
	for (char *slash = path + strlen(folder) + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
		*slash = 0;
		mkdir(path, 0755);
		*slash = '/';
	}
	put_text(path, text);
}

static struct reply
glob(const char *path, const char *pattern, bool gitignore)
{
	begin(REQUEST_GLOB);
	put_string(&request, 3, folder);
	put_string(&request, 10, path);
	put_string(&request, 11, pattern);
	put_int(&request, 13, 1);
	put_int(&request, 14, gitignore);
	return run();
}

static bool
has(const struct reply *reply, const char *path)
{
	for (int i = 0; i < reply->entries; i++)
		if (strcmp(reply->paths[i], path) == 0)
			return true;
	return false;
}

/* One file of rules, and what it makes of one path below it. */
static bool
hidden(const char *rules, const char *path)
{
	char name[512];
	CHECK(mkdir(in("r"), 0755) == 0);
	snprintf(name, sizeof name, "r/%s", path);
	make(name, "x");
	make("r/.gitignore", rules);
	struct reply reply = glob("r", "**", true);
	CHECK(reply.last == FRAME_OK && reply_int(&reply, 24) < 1);
	bool found = has(&reply, name);
	reply_free(&reply);
	reply = ask_remove(in("r"), true);
	reply_free(&reply);
	return !found;
}

static void
rules_mean_what_git_means(void)
{
	static const struct {
		const char *rules, *path;
		bool hidden;
	} cases[] = {
	    {"*.o", "a.o", true}, {"*.o", "d/e/a.o", true}, {"*.o", "a.c", false}, {"# *.c\n\n*.o\r\n", "a.o", true}, {"#a", "#a", false},
	    {"\\#a", "#a", true}, {"\\!a", "!a", true}, {"*.log\n!keep.log", "keep.log", false}, {"!keep.log\n*.log", "keep.log", true},
	    {"build/", "build/a", true}, {"build/", "d/build/a", true}, {"build/", "build", false}, {"build", "build", true},
	    {"/build", "build/a", true}, {"/build", "d/build/a", false}, {"d/build", "d/build/a", true}, {"d/build", "e/d/build/a", false},
	    {"a/**/z", "a/z", true}, {"a/**/z", "a/b/c/z", true}, {"**/z", "a/b/z", true}, {"a/**", "a/b/c", true}, {"a/*", "a/b/c", true},
	    {"/*\n!/src", "src/a", false}, {"/*\n!/src", "other", true}, {"node_modules/\n!node_modules/x", "node_modules/x", true},
	    {"a  ", "a", true}, {"a\\ ", "a ", true}, {"{a,b}", "a", false}, {"{a,b}", "{a,b}", true}, {"[{]", "{", true}, {"[ab]", "b", true},
	    {"\xef\xbb\xbf" "a", "a", true}, {"..\n/\n//\n!\n\\\n   \na", "a", true}, {"?", "ab", false}, {".env", ".env", true},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		if (!CHECK(hidden(cases[i].rules, cases[i].path) == cases[i].hidden))
			printf("  %s on %s\n", cases[i].rules, cases[i].path);
}

static void
files_on_the_way_count(void)
{
	make("p/.gitignore", "*.tmp\n/src/gen\nnode_modules/\n");
	make("p/src/.gitignore", "!keep.tmp\nlocal\n");
	make("p/src/a.tmp", "needle");
	make("p/src/keep.tmp", "needle");
	make("p/src/gen/x", "needle");
	make("p/src/deep/gen/x", "needle");
	make("p/src/deep/local", "needle");
	make("p/node_modules/x", "needle");
	make("p/local", "needle");
	static const char *const seen[] = {"p/src/keep.tmp", "p/src/deep/gen/x", "p/local"};
	static const char *const unseen[] = {"p/src/a.tmp", "p/src/gen/x", "p/src/gen", "p/src/deep/local", "p/node_modules/x"};
	struct reply reply = glob("p", "**", true);
	for (size_t i = 0; i < 3; i++)
		CHECK(has(&reply, seen[i]));
	for (size_t i = 0; i < 5; i++)
		CHECK(!has(&reply, unseen[i]));
	reply_free(&reply);
	reply = glob("p", "**", false);
	for (size_t i = 0; i < 5; i++)
		CHECK(has(&reply, unseen[i]));
	reply_free(&reply);
	/* Those above the folder that is asked for, too, unless it is one of what they name. */
	reply = glob("p/./src", "**", true);
	CHECK(has(&reply, "p/./src/keep.tmp") && !has(&reply, "p/./src/a.tmp") && !has(&reply, "p/./src/gen"));
	CHECK(has(&reply, "p/./src/deep/gen"));
	reply_free(&reply);
	reply = glob("p/node_modules", "**", true);
	CHECK(has(&reply, "p/node_modules/x"));
	reply_free(&reply);
	reply = glob("p/src/../src", "*", true);
	CHECK(has(&reply, "p/src/../src/a.tmp") && !has(&reply, "p/src/../src/local"));
	reply_free(&reply);
}

static void
a_search_passes_them_over(void)
{
	for (int gitignore = 0; gitignore < 2; gitignore++) {
		begin(REQUEST_GREP);
		put_string(&request, 10, in("p"));
		put_string(&request, 11, "needle");
		put_int(&request, 19, gitignore);
		struct reply reply = run();
		CHECK(reply.last == FRAME_OK && reply_int(&reply, 23) == (gitignore ? 3 : 7));
		CHECK((strstr((char *)reply.matches.data, "a.tmp") == NULL) == (gitignore == 1));
		reply_free(&reply);
	}
}

static void
as_nobody(void)
{
	if (geteuid() == 0 && (setgid(65534) < 0 || setuid(65534) < 0))
		_exit(3);
}

/* Whatever is called .gitignore: the search ends in time, and what was not heeded is counted. */
static void
hostile_files_are_bounded(void)
{
	enum { SIZE = 4 << 20 };
	char *text = malloc(SIZE + 1);
	make("h/a", "x");
	CHECK(mkfifo(in("h/.gitignore"), 0666) == 0);
	struct reply reply = glob("h", "**", true);
	CHECK(reply.last == FRAME_OK && has(&reply, "h/a"));
	reply_free(&reply);
	unlink(in("h/.gitignore"));
	put_text(in("rules"), "a");
	CHECK(symlink("../rules", in("h/.gitignore")) == 0);
	reply = glob("h", "**", true);
	CHECK(reply.last == FRAME_OK && has(&reply, "h/a"));
	reply_free(&reply);
	unlink(in("h/.gitignore"));
	CHECK(mkdir(in("h/.gitignore"), 0755) == 0);
	reply = glob("h", "**", true);
	CHECK(reply.last == FRAME_OK && has(&reply, "h/a"));
	reply_free(&reply);
	rmdir(in("h/.gitignore"));
	/* No line ends: a part of it says nothing. */
	memset(text, '*', SIZE);
	text[SIZE] = 0;
	put_text(in("h/.gitignore"), text);
	reply = glob("h", "**", true);
	CHECK(reply.last == FRAME_OK && has(&reply, "h/a") && reply_int(&reply, 24) == 1);
	reply_free(&reply);
	/* Nor does the part of a line that is left at the end of what is read. */
	memset(text, '#', SIZE);
	memcpy(text + (128 << 10) - 2, "\nabc\n", 5);
	put_text(in("h/.gitignore"), text);
	reply = glob("h", "**", true);
	CHECK(reply.last == FRAME_OK && has(&reply, "h/a") && reply_int(&reply, 24) == 1);
	reply_free(&reply);
	/* Nor does a rule past the last that all files together may have. */
	for (int i = 0; i < 2048; i++)
		memcpy(text + 2 * i, "b\n", 2);
	strcpy(text + 4096, "a\n");
	put_text(in("h/.gitignore"), text);
	reply = glob("h", "**", true);
	CHECK(reply.last == FRAME_OK && has(&reply, "h/a") && reply_int(&reply, 24) == 1);
	reply_free(&reply);
	text[4096 - 2] = 'a';
	text[4096] = 0;
	put_text(in("h/.gitignore"), text);
	reply = glob("h", "**", true);
	CHECK(reply.last == FRAME_OK && !has(&reply, "h/a") && reply_int(&reply, 24) < 1);
	reply_free(&reply);
	/* Rules without end, each as dear as it can be, in every folder, and a name that nearly fits. */
	for (int i = 0; i < SIZE; i++)
		text[i] = i % 200 == 199 ? '\n' : i % 2 == 0 ? '*' : 'a';
	put_text(in("h/.gitignore"), text);
	char name[512] = "h/";
	for (int i = 0; i < 6; i++)
		strcat(name, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab/");
	strcat(name, ".gitignore");
	make(name, text);
	double begun = seconds();
	reply = glob("h", "**", true);
	CHECK(reply.last == FRAME_OK && has(&reply, name) && reply_int(&reply, 24) == 2 && seconds() - begun < 20);
	reply_free(&reply);
	free(text);
	chmod(folder, 0755);
	put_text(in("h/.gitignore"), "a\n");
	chmod(in("h/.gitignore"), 0);
	in_worker = as_nobody;
	reply = glob("h", "*", true);
	CHECK(reply.last == FRAME_OK && has(&reply, "h/a") && reply_int(&reply, 24) == 1);
	reply_free(&reply);
	in_worker = NULL;
}

int
main(void)
{
	folder_make();
	rules_mean_what_git_means();
	files_on_the_way_count();
	a_search_passes_them_over();
	hostile_files_are_bounded();
	folder_remove();
	return finish();
}
