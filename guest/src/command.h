/* The start of one program: everything between fork and execve. */
#ifndef CARREL_COMMAND_H
#define CARREL_COMMAND_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "frame.h"

/* What a program is started with. The strings live in one block: see command_free. */
struct command {
	char **arguments;
	char **environment;
	const char *search; /* PATH of that environment */
	const char *directory;
	uid_t uid;
	gid_t gid;
	gid_t mark; /* a further group, by which the keeper knows its own; 0: none */
	bool change_user;
	bool pty;
	bool keeper_leads; /* the session of that terminal: see pty_signals.c */
	int64_t nofile, nproc, fsize; /* -1: as the guest found it */
	int input, output, error;     /* the program's ends; a terminal is all three */
	int control_input, control_output; /* -1: no control channel */
	void *block;
};

enum start_stage { START_OK, START_FORK, START_SETUP, START_DIRECTORY, START_EXEC };

struct start_failure {
	enum start_stage stage;
	int error;
};

/* Reads the arguments, the environment and the working directory of an EXEC. On failure returns false and says why. */
bool command_parse(struct command *command, struct bytes payload, const char *directory, const char **why);
void command_free(struct command *command);

/* Starts it and returns its pid once execve has succeeded; otherwise -1, and *failure says what failed. */
pid_t command_start(const struct command *command, struct start_failure *failure);

/* Gives up the guest's identity for good, but for the group `mark` if that is not 0. False when the kernel refuses. */
bool become_user(uid_t uid, gid_t gid, gid_t mark);

/* Closes every descriptor from `first` on but those in `keep`, which is sorted in place. */
void close_except(int first, int *keep, int count);

/* As good as 0 for files, as nothing is written below a page. A core_pattern that begins with | is another matter: with every
 * limit but this one the kernel starts that program for a crash, as the host's root and outside of all groups. */
#define CORE_LIMIT 1

/* The limit on open files that the guest itself was started with, and that programs get when nothing else is asked. */
extern int64_t inherited_nofile;

#endif
