#include "command.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TAG_ARGUMENT 11
#define TAG_ENVIRONMENT 12
#define TAG_DIRECTORY 13

int64_t inherited_nofile = -1;

static char *
copy_string(char **free_space, struct bytes value)
{
	char *text = *free_space;
	memcpy(text, value.data, value.length);
	text[value.length] = 0;
	*free_space += value.length + 1;
	return text;
}

bool
command_parse(struct command *command, struct bytes payload, const char *directory, const char **why)
{
	size_t arguments = 0, variables = 0, offset = 0;
	uint8_t tag;
	struct bytes value;
	while (field_next(payload, &offset, &tag, &value) == 1) {
		arguments += tag == TAG_ARGUMENT;
		variables += tag == TAG_ENVIRONMENT;
		if (tag >= TAG_ARGUMENT && tag <= TAG_DIRECTORY && memchr(value.data, 0, value.length) != NULL) {
			*why = "an argument, variable or directory holds a NUL byte";
			return false;
		}
	}
	if (arguments == 0) {
		*why = "no arguments: the first one names the program";
		return false;
	}
	/* A field's header is 5 bytes in the payload, so one byte more for each string always fits in its length. */
	char **pointers = malloc((arguments + variables + 2) * sizeof *pointers + payload.length);
	if (pointers == NULL) {
		*why = "no memory in the sandbox for the command";
		return false;
	}
	char *free_space = (char *)(pointers + arguments + variables + 2);
	*command = (struct command){.block = pointers, .arguments = pointers, .environment = pointers + arguments + 1};
	command->directory = directory;
	char **argument = command->arguments, **variable = command->environment;
	for (offset = 0; field_next(payload, &offset, &tag, &value) == 1;) {
		if (tag == TAG_ARGUMENT)
			*argument++ = copy_string(&free_space, value);
		else if (tag == TAG_ENVIRONMENT)
			*variable++ = copy_string(&free_space, value);
		else if (tag == TAG_DIRECTORY)
			command->directory = copy_string(&free_space, value);
	}
	*argument = *variable = NULL;
	command->search = "/usr/local/bin:/usr/bin:/bin";
	for (variable = command->environment; *variable != NULL; variable++)
		if (strncmp(*variable, "PATH=", 5) == 0)
			command->search = *variable + 5;
	return true;
}

void
command_free(struct command *command)
{
	free(command->block);
	command->block = NULL;
}

static int
compare_ints(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;
	return (x > y) - (x < y);
}

static void
close_from_to(unsigned first, unsigned last)
{
	if (first > last || syscall(SYS_close_range, first, last, 0) == 0)
		return;
	/* Kernels before 5.9. */
	struct rlimit limit = {.rlim_cur = 1024};
	getrlimit(RLIMIT_NOFILE, &limit);
	for (unsigned fd = first; fd <= last && fd < limit.rlim_cur; fd++)
		close((int)fd);
}

void
close_except(int first, int *keep, int count)
{
	qsort(keep, (size_t)count, sizeof *keep, compare_ints);
	int from = first;
	for (int i = 0; i < count; i++) {
		if (keep[i] < from)
			continue;
		if (keep[i] > from)
			close_from_to((unsigned)from, (unsigned)keep[i] - 1);
		from = keep[i] + 1;
	}
	close_from_to((unsigned)from, ~0u);
}

bool
become_user(uid_t uid, gid_t gid, gid_t mark)
{
	return setgroups(mark != 0, &mark) == 0 && setresgid(gid, gid, gid) == 0 && setresuid(uid, uid, uid) == 0;
}

/* Lowers a limit, or raises it as far as the guest's own hard limit allows. */
static bool
set_limit(int resource, int64_t value)
{
	struct rlimit limit;
	if (value < 0)
		return true;
	if (getrlimit(resource, &limit) < 0)
		return false;
	if (limit.rlim_max == RLIM_INFINITY || (rlim_t)value < limit.rlim_max)
		limit.rlim_max = (rlim_t)value;
	limit.rlim_cur = limit.rlim_max;
	return setrlimit(resource, &limit) == 0;
}

static bool
set_limits(const struct command *command)
{
	struct rlimit nofile;
	if (!set_limit(RLIMIT_CORE, CORE_LIMIT) || getrlimit(RLIMIT_NOFILE, &nofile) < 0)
		return false;
	if (command->nofile >= 0) {
		if (!set_limit(RLIMIT_NOFILE, command->nofile))
			return false;
	} else if (inherited_nofile >= 0) {
		nofile.rlim_cur = (rlim_t)inherited_nofile;
		if (setrlimit(RLIMIT_NOFILE, &nofile) < 0)
			return false;
	}
	return set_limit(RLIMIT_NPROC, command->nproc) && set_limit(RLIMIT_FSIZE, command->fsize);
}

static bool
place_descriptors(const struct command *command)
{
	/* Our own descriptors are all above 4, so none of these overwrites one that is still needed. */
	if (dup2(command->input, 0) < 0 || dup2(command->output, 1) < 0 || dup2(command->error, 2) < 0)
		return false;
	bool control = command->control_input >= 0;
	if (control && (dup2(command->control_input, 3) < 0 || dup2(command->control_output, 4) < 0))
		return false;
	close_from_to(control ? 5 : 3, ~0u);
	if (!command->pty)
		return true;
	/* The keeper has the terminal already; we only take its foreground. */
	return command->keeper_leads ? tcsetpgrp(0, getpid()) == 0 : ioctl(0, TIOCSCTTY, 0) == 0;
}

/* Tries each folder of the search path as execvp does; returns the errno to report. */
static int
execute(const struct command *command)
{
	const char *name = command->arguments[0];
	char path[PATH_MAX];
	int error = ENOENT;
	if (*name == 0)
		return ENOENT;
	if (strchr(name, '/') != NULL) {
		execve(name, command->arguments, command->environment);
		return errno;
	}
	for (const char *folder = command->search;;) {
		size_t length = strcspn(folder, ":"), rest = strlen(name);
		if (length + rest + 2 <= sizeof path) {
			memcpy(path, folder, length);
			path[length] = '/';
			memcpy(path + length + (length > 0), name, rest + 1);
			execve(path, command->arguments, command->environment);
			if (errno != ENOENT && errno != ENOTDIR && errno != EACCES)
				return errno;
			if (errno == EACCES)
				error = EACCES;
		}
		if (folder[length] == 0)
			return error;
		folder += length + 1;
	}
}

/* Runs in the new process, which shares the keeper's memory until it executes the program. */
static void
become_command(const struct command *command, volatile struct start_failure *failure)
{
	failure->stage = START_SETUP;
	if ((command->keeper_leads ? setpgid(0, 0) : setsid()) < 0 || !place_descriptors(command) || !set_limits(command) ||
	    (command->change_user && !become_user(command->uid, command->gid, command->mark))) {
		failure->error = errno;
		return;
	}
	failure->stage = START_DIRECTORY;
	if (chdir(command->directory) < 0) {
		failure->error = errno;
		return;
	}
	failure->stage = START_EXEC;
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	failure->error = execute(command);
}

pid_t
command_start(const struct command *command, struct start_failure *result)
{
	volatile struct start_failure failure = {START_FORK, 0};
	pid_t pid = vfork();
	if (pid == 0) {
		become_command(command, &failure);
		_exit(127);
	}
	/* vfork has returned here only after execve or _exit: when it was execve, no error was noted. */
	if (pid < 0)
		failure.error = errno;
	result->stage = failure.error == 0 ? START_OK : failure.stage;
	result->error = failure.error;
	return failure.error == 0 ? pid : -1;
}
