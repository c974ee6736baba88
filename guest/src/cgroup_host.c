/* Finding our place in the hierarchies of the host: where the sandboxes' groups go, and why somewhere they cannot. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "spawn.h"

#define FOLDER "carrel"
#define LEAF "/" FOLDER "-host"

static bool
list_has(const char *list, const char *separators, const char *word)
{
	size_t length = strlen(word);
	while (*list != 0) {
		size_t span = strcspn(list, separators);
		if (span == length && memcmp(list, word, length) == 0)
			return true;
		list += span;
		list += strspn(list, separators);
	}
	return false;
}

/* Those of our controllers that a list names. */
static unsigned
controllers_in(const char *list, const char *separators)
{
	unsigned found = 0;
	for (int c = 0; c < CG_COUNT; c++)
		if (list_has(list, separators, controller_name((enum controller)c)))
			found |= 1u << c;
	return found;
}

/* Our own path in the hierarchy with these controllers ("" for version 2), as /proc/self/cgroup tells it. */
static bool
own_path(const char *membership, const char *controller, char *path, size_t size)
{
	FILE *file = fopen(membership, "re");
	if (file == NULL)
		return false;
	char line[1024];
	bool found = false;
	while (!found && fgets(line, sizeof line, file) != NULL) {
		line[strcspn(line, "\n")] = 0;
		char *list = strchr(line, ':');
		char *where = list != NULL ? strchr(list + 1, ':') : NULL;
		if (where == NULL)
			continue;
		*where++ = 0;
		list++;
		found = controller[0] == 0 ? list[0] == 0 : list_has(list, ",", controller);
		if (found && (size_t)snprintf(path, size, "%s", where) >= size)
			found = false;
	}
	fclose(file);
	return found;
}

struct mount_line {
	char *root, *point, *type, *options;
};

/* Splits one line of mountinfo in place. */
static bool
parse_mount(char *line, struct mount_line *out)
{
	char *save = NULL;
	char *word[6];
	line[strcspn(line, "\n")] = 0;
	for (int i = 0; i < 6; i++)
		if ((word[i] = strtok_r(i == 0 ? line : NULL, " ", &save)) == NULL)
			return false;
	char *next;
	while ((next = strtok_r(NULL, " ", &save)) != NULL && strcmp(next, "-") != 0)
		continue;
	out->root = word[3];
	out->point = word[4];
	out->type = strtok_r(NULL, " ", &save);
	char *source = strtok_r(NULL, " ", &save);
	out->options = strtok_r(NULL, " ", &save);
	return out->type != NULL && source != NULL && out->options != NULL;
}

/* The folder of our own group: the mount may show only a part of the hierarchy. */
static bool
own_folder(const struct mount_line *mount, const char *own, char *path, size_t size)
{
	size_t root = strlen(mount->root);
	if (strcmp(mount->root, "/") == 0)
		root = 0;
	else if (strncmp(own, mount->root, root) != 0 || (own[root] != 0 && own[root] != '/'))
		own = "", root = 0;
	own += root;
	if (strcmp(own, "/") == 0)
		own = "";
	return (size_t)snprintf(path, size, "%s%s", mount->point, own) < size - sizeof "/" FOLDER "/" ZYGOTES - ID_MAX;
}

static void
missing(struct cgroup_host *host, unsigned controllers, const char *why, int error)
{
	for (int c = 0; c < CG_COUNT; c++)
		if (controllers & 1u << c)
			snprintf(host->reason[c], CGROUP_REASON_MAX, "%s%s%s", why, error ? ": " : "", error ? strerror(error) : "");
}

/* Turns controllers on for sub-groups; returns those that are on afterwards. Some may be on already where we may not ask. */
static unsigned
delegate(const char *folder, unsigned wanted)
{
	char word[32], text[512];
	unsigned on = 0;
	int directory = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (directory < 0 || cgroup_read_file(folder, "cgroup.subtree_control", text, sizeof text) <= 0)
		text[0] = 0;
	for (int c = 0; c < CG_COUNT && directory >= 0; c++) {
		snprintf(word, sizeof word, "+%s", controller_name((enum controller)c));
		if ((wanted & 1u << c)
			&& (list_has(text, " \n", controller_name((enum controller)c)) || cgroup_write(directory, "cgroup.subtree_control", word) == 0))
			on |= 1u << c;
	}
	if (directory >= 0)
		close(directory);
	return on;
}

/* Gives the sandboxes together the weight of one busy host task per core: neither side starves the other. */
static void
weigh(const struct hierarchy *parent)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	int64_t weight = (parent->v2 ? 100 : 1024) * (cores > 0 ? (cores < 64 ? cores : 64) : 1);
	int directory = open(parent->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (directory < 0)
		return;
	cgroup_write_int(directory, parent->v2 ? "cpu.weight" : "cpu.shares", weight);
	close(directory);
}

static bool
add_parent(struct cgroup_host *host, const char *own, const char *top, bool v2, unsigned controllers)
{
	struct hierarchy *parent = &host->parents.at[host->parents.count];
	snprintf(parent->path, sizeof parent->path, "%.*s/" FOLDER, (int)(CGROUP_PATH_MAX - 1 - sizeof FOLDER), own);
	parent->v2 = v2;
	parent->controllers = controllers;
	if ((mkdir(parent->path, 0755) != 0 && errno != EEXIST) || access(parent->path, W_OK) != 0) {
		missing(host, controllers, "no right to make control groups below our own", errno);
		return false;
	}
	missing(host, controllers, "", 0);
	if (controllers & 1u << CG_CPU)
		weigh(parent);
	cgroup_bound(parent->path, top, v2);
	host->parents.count++;
	return true;
}

/* Without the folder there are no templates: a group in it cannot be made. */
static void
add_templates(const struct hierarchy *parent, const char *top, unsigned on)
{
	char folder[CGROUP_PATH_MAX + sizeof "/" ZYGOTES];
	snprintf(folder, sizeof folder, "%s/" ZYGOTES, parent->path);
	if ((parent->controllers & 1u << CG_MEMORY) == 0 || (mkdir(folder, 0755) != 0 && errno != EEXIST))
		return;
	cgroup_bound_templates(folder, top, parent->v2);
	delegate(folder, on);
}

static void
add_version_1(struct cgroup_host *host, const struct mount_line *mount, const char *membership)
{
	unsigned controllers = controllers_in(mount->options, ",") & ~host->seen;
	host->seen |= controllers;
	char own[CGROUP_PATH_MAX], folder[CGROUP_PATH_MAX];
	if (controllers == 0 || host->parents.count == CG_COUNT)
		return;
	int first = __builtin_ctz(controllers);
	if (!own_path(membership, controller_name((enum controller)first), own, sizeof own) || !own_folder(mount, own, folder, sizeof folder)) {
		missing(host, controllers, "our own control group's path is too long or unknown", 0);
		return;
	}
	if (add_parent(host, folder, mount->point, false, controllers))
		add_templates(&host->parents.at[host->parents.count - 1], mount->point, 0);
}

/* Version 2 forbids processes beside sub-groups with controllers, so ours move to a leaf first. */
static void
move_to_leaf(const char *folder)
{
	char path[CGROUP_PATH_MAX + 64], pid[32];
	snprintf(path, sizeof path, "%s/cgroup.procs", folder);
	FILE *processes = fopen(path, "re");
	if (processes == NULL)
		return;
	snprintf(path, sizeof path, "%s" LEAF, folder);
	int leaf = -1;
	while (fgets(pid, sizeof pid, processes) != NULL) {
		if (leaf < 0 && (mkdir(path, 0755) == 0 || errno == EEXIST))
			leaf = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (leaf < 0)
			break;
		pid[strcspn(pid, "\n")] = 0;
		cgroup_write(leaf, "cgroup.procs", pid);
	}
	if (leaf >= 0)
		close(leaf);
	fclose(processes);
}

/* Whoever started us may have been moved to a leaf by a former server, and we were born there: our place is above it. */
static void
leave_leaf(const struct mount_line *mount, char *folder)
{
	size_t top = strlen(mount->point), length = strlen(folder), leaf = sizeof LEAF - 1;
	while (length >= top + leaf && strcmp(folder + length - leaf, LEAF) == 0)
		folder[length -= leaf] = 0;
}

static void
add_version_2(struct cgroup_host *host, const struct mount_line *mount, const char *membership)
{
	const unsigned core = 1u << CG_CPUACCT | 1u << CG_FREEZER; /* no controller needed for these */
	unsigned wanted = ((1u << CG_COUNT) - 1) & ~host->seen, offered = 0;
	char own[CGROUP_PATH_MAX], folder[CGROUP_PATH_MAX], text[512];
	host->seen |= wanted;
	if (wanted == 0 || host->parents.count == CG_COUNT)
		return;
	if (!own_path(membership, "", own, sizeof own) || !own_folder(mount, own, folder, sizeof folder)) {
		missing(host, wanted, "our own control group's path is too long or unknown", 0);
		return;
	}
	leave_leaf(mount, folder);
	if (cgroup_read_file(folder, "cgroup.controllers", text, sizeof text) > 0)
		offered = controllers_in(text, " \n") & wanted & ~core;
	missing(host, wanted & ~core & ~offered, "this controller is not delegated to our control group", 0);
	move_to_leaf(folder);
	unsigned on = delegate(folder, offered);
	missing(host, offered & ~on, "the controller could not be turned on for sub-groups", 0);
	if (!add_parent(host, folder, mount->point, true, on | (wanted & core)))
		return;
	const struct hierarchy *parent = &host->parents.at[host->parents.count - 1];
	delegate(parent->path, on);
	add_templates(parent, mount->point, on);
}

void
cgroup_detect(struct cgroup_host *host, const char *mountinfo, const char *membership)
{
	memset(host, 0, sizeof *host);
	missing(host, (1u << CG_COUNT) - 1, "no control group hierarchy with it is mounted", 0);
	/* Version 1 first: on a hybrid host the version 2 mount carries what is left. */
	for (int pass = 1; pass <= 2; pass++) {
		FILE *file = fopen(mountinfo, "re");
		char line[4096];
		struct mount_line mount;
		while (file != NULL && fgets(line, sizeof line, file) != NULL) {
			if (!parse_mount(line, &mount))
				continue;
			if (pass == 1 && strcmp(mount.type, "cgroup") == 0)
				add_version_1(host, &mount, membership);
			if (pass == 2 && strcmp(mount.type, "cgroup2") == 0)
				add_version_2(host, &mount, membership);
		}
		if (file != NULL)
			fclose(file);
	}
}

void
cgroup_bound_all(const char *mountinfo, const char *name)
{
	FILE *file = fopen(mountinfo, "re");
	char line[4096], folder[CGROUP_PATH_MAX];
	struct mount_line mount;
	while (file != NULL && fgets(line, sizeof line, file) != NULL) {
		if (!parse_mount(line, &mount))
			continue;
		bool v2 = strcmp(mount.type, "cgroup2") == 0;
		if ((v2 || strcmp(mount.type, "cgroup") == 0)
			&& (size_t)snprintf(folder, sizeof folder, "%s/%s", mount.point, name) < sizeof folder)
			cgroup_bound(folder, mount.point, v2);
	}
	if (file != NULL)
		fclose(file);
}
