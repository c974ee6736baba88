#include "blank.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "boxes.h"
#include "passing.h"
#include "syscalls.h"

#define NAME "blank"
#define STAY_MS 2000
#define REAP_MS 5
#define PLACE_MAX (HOST_PATH_MAX + 32)

/* The folder, and in it an empty file whose name is the slot. */
static void
place(const struct spawn *spawn, char path[PLACE_MAX], int slot)
{
	int length = snprintf(path, PLACE_MAX, "%s/" NAME, spawn->run);
	if (slot >= 0)
		snprintf(path + length, PLACE_MAX - (size_t)length, "/%d", slot);
}

static bool
make_place(const struct spawn *spawn, int *slot, struct failure *failure)
{
	char path[PLACE_MAX];
	place(spawn, path, -1);
	if (mkdir(path, 0700) != 0)
		return give_up(failure, KIND_ENGINE, "folder", errno, "%s", path);
	*slot = id_pool_claim(&spawn->ids, spawn->run, NAME);
	place(spawn, path, *slot);
	int file = *slot < 0 ? -1 : open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (file < 0)
		return give_up(failure, KIND_ENGINE, "id-map", errno, "a stretch of user ids");
	close(file);
	return true;
}

static void
forget(struct spawn *spawn)
{
	char path[PLACE_MAX];
	place(spawn, path, spawn->blank.slot);
	if (spawn->blank.slot >= 0)
		unlink(path);
	place(spawn, path, -1);
	rmdir(path);
	spawn->blank = (struct blank){.pidfd = -1, .socket = -1, .slot = -1};
}

void
blank_open(struct spawn *spawn)
{
	char path[PLACE_MAX];
	spawn->blank.slot = -1;
	place(spawn, path, -1);
	DIR *entries = opendir(path);
	for (struct dirent *entry; entries != NULL && (entry = readdir(entries)) != NULL;)
		if (entry->d_name[0] != '.')
			spawn->blank.slot = atoi(entry->d_name);
	if (entries != NULL)
		closedir(entries);
	/* Its process has ended with the server whose it was. The slot may be a sandbox's by now. */
	if (spawn->blank.slot >= 0)
		id_pool_release(&spawn->ids, spawn->blank.slot, spawn->run, NAME);
	forget(spawn);
}

/* An image's folders are bound one by one: of one that comes later a blank knows nothing. */
static struct timespec
change_of(const char *image)
{
	struct stat status;
	return stat(image[0] != 0 ? image : "/", &status) == 0 ? status.st_mtim : (struct timespec){0};
}

static bool
launch_blank(struct spawn *spawn, struct plan *plan, struct failure *failure)
{
	struct blank *blank = &spawn->blank;
	int sync[2], ends[2];
	pid_t mapper;
	if (pipe2(sync, O_CLOEXEC) != 0)
		return give_up(failure, KIND_ENGINE, "pipe", errno, "pipe");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
		give_up(failure, KIND_ENGINE, "pipe", errno, "socket pair");
		close(sync[0]);
		close(sync[1]);
		return false;
	}
	plan->sync = sync[0];
	plan->sync_peer = sync[1];
	plan->request = ends[0];
	blank->pid = launch(plan, &blank->pidfd, failure);
	blank->socket = ends[1];
	if (blank->pid > 0)
		setpriority(PRIO_PROCESS, (id_t)blank->pid, AHEAD_NICE);
	bool good = blank->pid > 0 && id_map(&spawn->ids, blank->slot, blank->pid, sync[1], -1, &mapper, failure);
	close(sync[0]);
	close(sync[1]);
	close(ends[0]);
	return good;
}

static void
make(struct spawn *spawn)
{
	struct blank *blank = &spawn->blank;
	struct plan plan = {.owner = blank->owner, .maker = blank->owner, .map = spawn->ids.map, .listener = -1, .report = -1, .volume = -1, .request = -1,
		.way_out = -1, .cgroups = {.unified = -1}};
	struct failure failure;
	memcpy(plan.image, blank->image, sizeof plan.image);
	snprintf(plan.lib, sizeof plan.lib, "%s", spawn->lib);
	snprintf(plan.run, sizeof plan.run, "%s", spawn->run);
	blank->until = now_ms() + STAY_MS;
	blank->changed = change_of(plan.image);
	if (make_place(spawn, &blank->slot, &failure) && launch_blank(spawn, &plan, &failure))
		return;
	/* The next create does without, and says the same if it matters. */
	fprintf(stderr, "carrel: no child was made ahead: %s: %s\n", failure.step, failure.message);
	blank_drop(spawn);
}

void
blank_want(struct spawn *spawn, const char *image, uid_t owner)
{
	struct blank *blank = &spawn->blank;
	/* With other maps it takes other programs to set them. */
	if (spawn->leaving || spawn->ids.map != MAP_RANGE || owner == 0)
		return;
	if (blank->pid > 0) {
		if (blank->owner == owner && strcmp(blank->image, image) == 0)
			blank->until = now_ms() + STAY_MS;
		else
			blank_drop(spawn);
		return;
	}
	*blank = (struct blank){.pidfd = -1, .socket = -1, .slot = -1, .owner = owner, .until = now_ms() + STAND_BACK_MS};
	snprintf(blank->image, sizeof blank->image, "%s", image);
}

void
blank_hurry(struct spawn *spawn)
{
	if (spawn->blank.pid == 0 && spawn->blank.owner != 0)
		spawn->blank.until = now_ms();
}

bool
blank_take(struct spawn *spawn, struct box *box, struct plan *plan)
{
	struct blank *blank = &spawn->blank;
	struct pollfd ended = {.fd = blank->pidfd, .events = POLLIN};
	if (blank->pid <= 0 || blank->socket < 0 || plan->overlay || blank->owner != plan->owner || strcmp(blank->image, plan->image) != 0)
		return false;
	struct timespec changed = change_of(plan->image);
	if (changed.tv_sec != blank->changed.tv_sec || changed.tv_nsec != blank->changed.tv_nsec || poll(&ended, 1, 0) != 0
		|| setpriority(PRIO_PROCESS, (id_t)blank->pid, 0) != 0 || !id_pool_move(&spawn->ids, blank->slot, spawn->run, box->id)) {
		blank_drop(spawn);
		return false;
	}
	box->slot = blank->slot;
	box->pid = blank->pid;
	box->pidfd = blank->pidfd;
	plan->request = blank->socket;
	forget(spawn);
	return true;
}

/* The folder of the egress socket, which the ids inside could not reach by its path. */
static int
open_way_out(const char *socket)
{
	char folder[HOST_PATH_MAX];
	snprintf(folder, sizeof folder, "%s", socket);
	*strrchr(folder, '/') = 0;
	return k_open_tree(AT_FDCWD, folder, AT_SYMLINK_NOFOLLOW | O_CLOEXEC | K_OPEN_TREE_CLONE);
}

/* Places for the descriptors of a plan, in the order in which they are passed. */
static int
descriptors_of(struct plan *plan, int *places[PASSED_AT_ONCE])
{
	int count = 0;
	places[count++] = &plan->listener;
	places[count++] = &plan->report;
	if (plan->volume >= 0)
		places[count++] = &plan->volume;
	if (plan->way_out >= 0)
		places[count++] = &plan->way_out;
	for (int i = 0; i < plan->cgroups.count; i++)
		places[count++] = &plan->cgroups.tasks[i];
	return count;
}

bool
blank_ask(const struct plan *asked, pid_t pid, struct failure *failure)
{
	struct plan plan = *asked;
	int *places[PASSED_AT_ONCE], fds[PASSED_AT_ONCE];
	plan.way_out = plan.egress[0] != 0 ? open_way_out(plan.egress) : -1;
	if (plan.egress[0] != 0 && plan.way_out < 0)
		return give_up(failure, KIND_ENGINE, "egress", errno, "%s", plan.egress);
	const int count = descriptors_of(&plan, places);
	for (int i = 0; i < count; i++)
		fds[i] = *places[i];
	/* In version 2 a child is cloned into its group; this one was there before. */
	bool good = plan.cgroups.unified < 0 || cgroup_write_int(plan.cgroups.unified, "cgroup.procs", pid) == 0;
	good = good && pass_all(plan.request, &plan, sizeof plan, fds, count, MSG_DONTWAIT);
	if (!good)
		give_up(failure, KIND_ENGINE, "launch", errno, "telling the child whose sandbox it is");
	if (plan.way_out >= 0)
		close(plan.way_out);
	return good;
}

bool
blank_await(struct plan *plan)
{
	struct plan told;
	int *places[PASSED_AT_ONCE], fds[PASSED_AT_ONCE];
	struct pollfd asked = {.fd = plan->request, .events = POLLIN};
	/* Long after the server would have ended it: whatever becomes of that, no blank stays. */
	if (poll(&asked, 1, 5 * STAY_MS) <= 0)
		return false;
	int came = take_all(plan->request, &told, sizeof told, fds, 0);
	if (came < 0 || descriptors_of(&told, places) != came)
		return false;
	for (int i = 0; i < came; i++)
		*places[i] = fds[i];
	/* What was applied here already the server does not know of. */
	for (int i = 0; i < MEASURE_COUNT; i++)
		if (plan->measures.applied[i]) {
			told.measures.applied[i] = true;
			memcpy(told.measures.detail[i], plan->measures.detail[i], sizeof told.measures.detail[i]);
		}
	close(plan->request);
	*plan = told;
	return true;
}

void
blank_drop(struct spawn *spawn)
{
	struct blank *blank = &spawn->blank;
	if (blank->pid > 0 && blank->socket >= 0)
		k_pidfd_send_signal(blank->pidfd, SIGKILL);
	if (blank->socket >= 0)
		close(blank->socket);
	blank->socket = -1;
	if (blank->pid > 0 && waitpid(blank->pid, NULL, WNOHANG) == 0)
		return; /* the ids are its own until it is gone */
	if (blank->pidfd >= 0)
		close(blank->pidfd);
	id_pool_release(&spawn->ids, blank->slot, spawn->run, NAME);
	forget(spawn);
}

void
blank_close(struct spawn *spawn)
{
	for (blank_drop(spawn); spawn->blank.pid > 0; blank_drop(spawn)) {
		struct pollfd ended = {.fd = spawn->blank.pidfd, .events = POLLIN};
		poll(&ended, 1, -1);
	}
}

int
blank_tick(struct spawn *spawn)
{
	struct blank *blank = &spawn->blank;
	if (blank->pid == 0 && blank->owner == 0)
		return -1;
	int64_t left = blank->until - now_ms();
	if ((blank->pid == 0 || blank->socket >= 0) && left > 0)
		return (int)left;
	if (blank->pid == 0 && !spawn->leaving) {
		make(spawn);
		return blank->pid > 0 ? STAY_MS : -1;
	}
	blank_drop(spawn);
	return blank->pid > 0 ? REAP_MS : -1;
}
