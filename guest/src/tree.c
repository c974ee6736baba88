#include "tree.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROCESSES_MAX 131072
#define STOP_ROUNDS 32

static bool
read_process(int proc, const char *name, struct process *process)
{
	char path[64], text[512];
	if (snprintf(path, sizeof path, "%s/stat", name) >= (int)sizeof path)
		return false;
	int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	ssize_t length = read(fd, text, sizeof text - 1);
	close(fd);
	if (length <= 0)
		return false;
	text[length] = 0;
	/* The name in parentheses is the program's own choice and may hold anything: what counts follows the last one. */
	char *rest = strrchr(text, ')');
	int parent, group;
	if (rest == NULL || sscanf(rest + 1, " %c %d %d", &process->state, &parent, &group) != 3)
		return false;
	process->pid = atoi(name);
	process->parent = parent;
	process->group = group;
	process->member = false;
	return true;
}

static bool
append(struct tree *tree, const struct process *process)
{
	if (tree->count == tree->capacity) {
		size_t capacity = tree->capacity ? tree->capacity * 2 : 64;
		if (capacity > PROCESSES_MAX)
			return false;
		struct process *grown = realloc(tree->processes, capacity * sizeof *grown);
		if (grown == NULL)
			return false;
		tree->processes = grown;
		tree->capacity = capacity;
	}
	tree->processes[tree->count++] = *process;
	return true;
}

static int
compare_pids(const void *a, const void *b)
{
	const struct process *x = a, *y = b;
	return (x->pid > y->pid) - (x->pid < y->pid);
}

static void
mark_descendants(struct tree *tree, pid_t root)
{
	qsort(tree->processes, tree->count, sizeof *tree->processes, compare_pids);
	bool found = true;
	while (found) {
		found = false;
		for (size_t i = 0; i < tree->count; i++) {
			struct process *process = &tree->processes[i], key = {.pid = process->parent};
			if (process->member)
				continue;
			struct process *parent = bsearch(&key, tree->processes, tree->count, sizeof key, compare_pids);
			if (process->parent == root || (parent != NULL && parent->member))
				process->member = found = true;
		}
	}
}

static bool
in_group(int proc, const char *name, gid_t group)
{
	char path[64], text[4096];
	snprintf(path, sizeof path, "%s/status", name);
	int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	if (fd >= 0)
		close(fd);
	text[length > 0 ? length : 0] = 0;
	/* The first line is the program's own choice and may look like any other: what counts is the last. */
	const char *groups = NULL;
	for (const char *found = text; (found = strstr(found, "\nGroups:")) != NULL;)
		groups = found += strlen("\nGroups:");
	while (groups != NULL && *(groups += strspn(groups, "\t ")) != 0 && *groups != '\n') {
		char *end;
		if (strtoul(groups, &end, 10) == group)
			return true;
		groups = end > groups ? end : NULL;
	}
	return false;
}

/* Everybody on the host's /proc, then who of them is of the family. */
static bool
read_all_processes(struct tree *tree, DIR *proc, struct family family)
{
	bool complete = true;
	for (struct dirent *entry; complete && (entry = readdir(proc)) != NULL;) {
		struct process process;
		if (isdigit((unsigned char)entry->d_name[0]) && read_process(dirfd(proc), entry->d_name, &process)) {
			process.member = family.mark != 0 && in_group(dirfd(proc), entry->d_name, family.mark);
			complete = append(tree, &process);
		}
	}
	mark_descendants(tree, family.root);
	return complete;
}

/* Adds the children that one thread has; false when this kernel does not list them. */
static bool
read_children(struct tree *tree, int proc, pid_t pid, const char *thread)
{
	char path[64], name[16];
	snprintf(path, sizeof path, "%d/task/%s/children", (int)pid, thread);
	int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	if (file == NULL) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	while (fscanf(file, "%15s", name) == 1) {
		struct process process;
		if (!read_process(proc, name, &process))
			continue;
		process.member = true;
		if (!append(tree, &process))
			break;
	}
	fclose(file);
	return true;
}

/* Asks the kernel for children's children. Quicker than looking at everybody, and where many processes live it is the only
 * way to keep up with a command that forks as fast as it can. */
static bool
read_descendants(struct tree *tree, int proc, pid_t root)
{
	char path[32], thread[16];
	snprintf(thread, sizeof thread, "%d", (int)root);
	if (!read_children(tree, proc, root, thread))
		return false;
	for (size_t i = 0; i < tree->count; i++) {
		snprintf(path, sizeof path, "%d/task", (int)tree->processes[i].pid);
		int fd = openat(proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		DIR *threads = fd < 0 ? NULL : fdopendir(fd);
		if (threads == NULL && fd >= 0)
			close(fd);
		for (struct dirent *entry; threads != NULL && (entry = readdir(threads)) != NULL;)
			if (isdigit((unsigned char)entry->d_name[0]))
				read_children(tree, proc, tree->processes[i].pid, entry->d_name);
		if (threads != NULL)
			closedir(threads);
	}
	return true;
}

bool
tree_read(struct tree *tree, struct family family)
{
	*tree = (struct tree){0};
	DIR *proc = opendir("/proc");
	if (proc == NULL)
		return false;
	bool complete = (family.mark == 0 && read_descendants(tree, dirfd(proc), family.root)) ||
			read_all_processes(tree, proc, family);
	closedir(proc);
	size_t kept = 0;
	for (size_t i = 0; i < tree->count; i++)
		if (tree->processes[i].member && tree->processes[i].state != 'Z' && tree->processes[i].state != 'X')
			tree->processes[kept++] = tree->processes[i];
	tree->count = kept;
	return complete;
}

void
tree_free(struct tree *tree)
{
	free(tree->processes);
	*tree = (struct tree){0};
}

void
tree_signal(struct family family, int signal, pid_t group)
{
	struct tree tree;
	tree_read(&tree, family);
	for (size_t i = 0; i < tree.count; i++)
		if (group == 0 || tree.processes[i].group == group)
			kill(tree.processes[i].pid, signal);
	tree_free(&tree);
}

void
tree_kill(struct family family)
{
	struct tree tree;
	size_t running = 1;
	for (int round = 0; round < STOP_ROUNDS && running > 0; round++) {
		running = 0;
		tree_read(&tree, family);
		for (size_t i = 0; i < tree.count; i++)
			if (tree.processes[i].state != 'T' && tree.processes[i].state != 't') {
				running++;
				kill(tree.processes[i].pid, SIGSTOP);
			}
		tree_free(&tree);
		if (running > 0)
			sched_yield();
	}
	tree_signal(family, SIGKILL, 0);
}
