/* The life of sandboxes, as the server leads it. Nothing here waits: each step ends where the kernel has to act, and an event
 * or the clock brings the next. */
#include "boxes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "jobs.h"
#include "owners.h"
#include "state.h"
#include "syscalls.h"
#include "volume.h"
#include "zygote.h"

#define CREATE_MS 10000
#define RETRY_MS 2
#define SLOW_RETRY_MS 1000
#define SLOW_AFTER_MS 2000
#define STRAY_MS 100

int64_t
now_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

bool
spawn_watch(struct spawn *spawn, int fd, enum event_source source, int index, uint32_t events)
{
	struct epoll_event event = {.events = events, .data.u64 = (uint64_t)source << 32 | (uint32_t)index};
	return epoll_ctl(spawn->epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

void
spawn_unwatch(struct spawn *spawn, int *fd)
{
	if (*fd < 0)
		return;
	epoll_ctl(spawn->epoll, EPOLL_CTL_DEL, *fd, NULL);
	close(*fd);
	*fd = -1;
}

static void
folder_of(const struct spawn *spawn, const char *id, char *path, size_t size)
{
	snprintf(path, size, "%s/%s", spawn->run, id);
}

int
boxes_find(const struct spawn *spawn, const char *id)
{
	for (int i = 0; i < spawn->used; i++)
		if (spawn->boxes[i].state != BOX_FREE && strcmp(spawn->boxes[i].id, id) == 0)
			return i;
	return -1;
}

bool
boxes_busy(const struct spawn *spawn)
{
	for (int i = 0; i < spawn->used; i++)
		if (spawn->boxes[i].state == BOX_CREATING || spawn->boxes[i].state == BOX_LEAVING)
			return true;
	return false;
}

/* A fresh entry of the table, or -1. */
static int
take_entry(struct spawn *spawn, const char *id)
{
	for (int i = 0; i < BOXES_MAX; i++) {
		struct box *box = &spawn->boxes[i];
		if (i < spawn->used && box->state != BOX_FREE)
			continue;
		if (i >= spawn->used)
			spawn->used = i + 1;
		*box = (struct box){.pidfd = -1, .report = -1, .slot = -1, .kept = {-1, -1}};
		snprintf(box->id, sizeof box->id, "%s", id);
		memset(&spawn->details[i], 0, sizeof spawn->details[i]);
		return i;
	}
	return -1;
}

static void
close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* The guest's socket: made out here, so that nothing inside can reach it. */
static int
make_listener(const char *folder, struct failure *failure)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	snprintf(address.sun_path, sizeof address.sun_path, "%.90s/guest.sock", folder);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof address) == 0 && listen(fd, 128) == 0)
		return fd;
	give_up(failure, KIND_ENGINE, "socket", errno, "%s", address.sun_path);
	if (fd >= 0)
		close(fd);
	return -1;
}

/* The measures that are the server's to apply, not the child's. */
static bool
check_excuses(const struct plan *plan, struct failure *failure)
{
	static const enum measure ours[] = {MEASURE_UID_RANGE, MEASURE_OWN_GUEST_UID, MEASURE_MEMORY_LIMIT, MEASURE_PIDS_LIMIT,
		MEASURE_CPU_LIMIT, MEASURE_FREEZER};
	for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
		if (!plan->measures.applied[ours[i]] && !excused(plan, ours[i], failure))
			return false;
	return true;
}

/* What cannot be written down must not be done; a full disk is for somebody to mend, and is told apart. */
static bool
unwritten(struct failure *failure, const char *folder)
{
	return give_up(failure, errno == ENOSPC ? KIND_SPACE : KIND_ENGINE, "state", errno, "%s/state", folder);
}

/* Slot, state file, socket and groups, in an order in which a crash at any point can be swept. */
static bool
prepare(struct spawn *spawn, int index, struct plan *plan, struct failure *failure)
{
	struct box *box = &spawn->boxes[index];
	struct box_details *details = &spawn->details[index];
	char folder[HOST_PATH_MAX + ID_MAX];
	folder_of(spawn, box->id, folder, sizeof folder);
	if (!blank_take(spawn, box, plan))
		box->slot = id_pool_claim(&spawn->ids, spawn->run, box->id);
	if (box->slot < 0)
		return give_up(failure, KIND_BUSY, "id-map", 0, "no free stretch of user ids in %s", spawn->ids.registry);
	id_pool_describe(&spawn->ids, box->slot, &plan->measures);
	/* Never root, who would lose what the kernel allows one user (inotify, signals, message queues) to a sandbox. One's own id
	 * lets nobody in: the rule for owners is about who is outside. */
	plan->maker = plan->owner == 0 && plan->map == MAP_RANGE ? id_pool_first(&spawn->ids, box->slot) : plan->owner;
	if (plan->overlay)
		measure_applied(&plan->measures, MEASURE_OWN_GUEST_UID, "guest %d, code 0", OVERLAY_GUEST_UID);
	struct state state = {.slot = box->slot, .owner = plan->owner, .template = box->template, .limits = plan->limits};
	snprintf(state.image, sizeof state.image, "%s", plan->image);
	memcpy(state.volume, box->volume, sizeof state.volume);
	if (!cgroup_paths(&spawn->cgroups, box->id, box->template, &state.groups) || !state_begin(folder, &state))
		return unwritten(failure, folder);
	if ((plan->listener = make_listener(folder, failure)) < 0)
		return false;
	return cgroup_create(&spawn->cgroups, box->id, box->template, &plan->limits, &details->groups, &plan->cgroups, &plan->measures,
		       failure)
		&& check_excuses(plan, failure);
}

static bool
start(struct spawn *spawn, int index, struct plan *plan, struct failure *failure)
{
	struct box *box = &spawn->boxes[index];
	char folder[HOST_PATH_MAX + ID_MAX];
	int sync[2] = {-1, -1}, report[2] = {-1, -1};
	folder_of(spawn, box->id, folder, sizeof folder);
	if (pipe2(sync, O_CLOEXEC) != 0 || pipe2(report, O_CLOEXEC) != 0) {
		int error = errno;
		close_fd(&sync[0]);
		close_fd(&sync[1]);
		return give_up(failure, KIND_ENGINE, "pipe", error, "pipes");
	}
	plan->sync = sync[0];
	plan->sync_peer = sync[1];
	plan->report = report[1];
	box->report = report[0];
	bool good = boxes_start_mounter(spawn, index, plan, failure);
	const bool ahead = plan->request >= 0;
	if (good && !ahead) {
		fork_shut(spawn);
		box->pid = launch(plan, &box->pidfd, failure);
	}
	good = good && box->pid > 0;
	if (good && !spawn_watch(spawn, box->pidfd, EVENT_PROCESS, index, EPOLLIN))
		good = give_up(failure, KIND_ENGINE, "epoll", errno, "watching the child");
	/* The state names the child before it may go on: a crash of ours from here on leaves a sandbox that can be found. */
	box->start = good ? process_start(box->pid) : 0;
	if (good && !state_add_child(folder, box->pid, box->start))
		good = unwritten(failure, folder);
	good = good
		&& (ahead ? blank_ask(plan, box->pid, failure)
			  : id_map(&spawn->ids, box->slot, box->pid, sync[1], report[1], &box->mapper, failure));
	fcntl(report[0], F_SETFL, O_NONBLOCK);
	if (good && !spawn_watch(spawn, report[0], EVENT_REPORT, index, EPOLLIN))
		good = give_up(failure, KIND_ENGINE, "epoll", errno, "watching the child");
	close(sync[0]);
	close(sync[1]);
	close(report[1]);
	close_fd(&plan->volume);
	return good;
}

static void
fill_plan(struct spawn *spawn, const struct create_request *request, struct plan *plan)
{
	memset(plan, 0, sizeof *plan);
	snprintf(plan->id, sizeof plan->id, "%s", request->id);
	snprintf(plan->image, sizeof plan->image, "%s", request->image);
	snprintf(plan->egress, sizeof plan->egress, "%s", request->egress);
	snprintf(plan->lib, sizeof plan->lib, "%s", spawn->lib);
	snprintf(plan->run, sizeof plan->run, "%s", spawn->run);
	plan->limits = request->limits;
	if (request->volume[0] == 0 && !request->probe)
		limits_settle(&plan->limits);
	plan->allow_missing = request->allow_missing;
	plan->map = spawn->ids.map;
	plan->overlay = request->overlay;
	plan->owner = request->probe || request->template || request->isolated || request->overlay ? 0 : owner_of(spawn, request->image);
	plan->listener = -1;
	plan->volume = -1;
	plan->request = -1;
	plan->way_out = -1;
	plan->cgroups.unified = -1;
}

int
boxes_create(struct spawn *spawn, const struct create_request *request, struct failure *failure)
{
	struct plan plan;
	char folder[HOST_PATH_MAX + ID_MAX];
	if (boxes_volume_taken(spawn, request->volume, failure))
		return -1;
	int index = take_entry(spawn, request->id);
	if (index < 0) {
		give_up(failure, KIND_BUSY, "table", 0, "%d sandboxes are the most this server keeps", BOXES_MAX);
		return -1;
	}
	/* Making the folder is what makes the id ours: two creates of one id cannot both pass here. */
	folder_of(spawn, request->id, folder, sizeof folder);
	if (mkdir(folder, 0700) != 0) {
		give_up(failure, errno == EEXIST ? KIND_BUSY : errno == ENOSPC ? KIND_SPACE : KIND_ENGINE, "folder", errno, "%s", folder);
		return -1;
	}
	struct box *box = &spawn->boxes[index];
	box->probe = request->probe;
	box->template = request->template;
	memcpy(box->volume, request->volume, sizeof box->volume);
	box->state = BOX_CREATING;
	box->deadline = now_ms() + CREATE_MS;
	fill_plan(spawn, request, &plan);
	bool good = prepare(spawn, index, &plan, failure) && start(spawn, index, &plan, failure);
	close_fd(&plan.listener);
	close_fd(&plan.request);
	cgroup_close(&plan.cgroups);
	spawn->details[index].limits = plan.limits;
	spawn->details[index].owner = plan.owner;
	snprintf(spawn->details[index].image, sizeof spawn->details[index].image, "%s", plan.image);
	if (!good) {
		box->failed = true;
		spawn->details[index].failure = *failure;
		boxes_destroy(spawn, index);
	}
	return index;
}

/* Ends what works beside a child: mapper and mounter, which end by themselves right after they did their part. With WNOHANG
 * a stuck one is not waited for: false when it is still there. */
static bool
end_beside(struct box *box, int flags)
{
	pid_t *const pids[] = {&box->mapper, &box->mounter};
	bool gone = true;
	for (size_t i = 0; i < sizeof pids / sizeof *pids; i++) {
		if (*pids[i] <= 0)
			continue;
		kill(*pids[i], SIGKILL);
		if (waitpid(*pids[i], NULL, flags) == 0)
			gone = false;
		else
			*pids[i] = 0;
	}
	return gone;
}

void
boxes_destroy(struct spawn *spawn, int index)
{
	struct box *box = &spawn->boxes[index];
	if (box->state == BOX_LEAVING)
		return;
	end_beside(box, WNOHANG);
	jobs_abandon_box(spawn, index);
	fork_forget(spawn, index);
	spawn_unwatch(spawn, &box->report);
	if (box->pidfd >= 0 && !box->ended) {
		keep_events(&box->kept, box->pidfd);
		/* In this order a frozen sandbox does not run another step. */
		k_pidfd_send_signal(box->pidfd, SIGKILL);
	}
	cgroup_thaw(&spawn->details[index].groups);
	box->state = BOX_LEAVING;
	box->since = box->deadline = now_ms();
	if (box->pidfd >= 0 && !box->ended)
		box->deadline += SLOW_RETRY_MS; /* the pidfd will tell before that */
}

static void
creation_failed(struct spawn *spawn, int index, const struct failure *failure)
{
	spawn->boxes[index].failed = true;
	spawn->details[index].failure = *failure;
	boxes_destroy(spawn, index);
}

void
boxes_on_report(struct spawn *spawn, int index)
{
	struct box *box = &spawn->boxes[index];
	struct box_details *details = &spawn->details[index];
	struct report report;
	char folder[HOST_PATH_MAX + ID_MAX];
	struct failure lost;
	if (box->state != BOX_CREATING || box->report < 0)
		return;
	ssize_t n = read(box->report, &report, sizeof report);
	if (n < 0 && errno == EAGAIN)
		return;
	if (n != (ssize_t)sizeof report) {
		give_up(&lost, KIND_ENGINE, "launch", 0, "the child ended without a report");
		creation_failed(spawn, index, &lost);
		return;
	}
	spawn_unwatch(spawn, &box->report);
	if (!report.ready) {
		creation_failed(spawn, index, &report.failure);
		return;
	}
	end_beside(box, 0);
	box->attached = box->volume[0] != 0;
	details->limits = report.limits;
	details->measures = report.measures;
	folder_of(spawn, box->id, folder, sizeof folder);
	bool good = cgroup_limit_cpu(&details->groups, &details->limits, &lost);
	if (good && !state_add_ready(folder, &details->limits, &details->measures))
		good = unwritten(&lost, folder);
	if (!good) {
		creation_failed(spawn, index, &lost);
		return;
	}
	box->state = BOX_RUNNING;
	if (box->probe)
		boxes_destroy(spawn, index);
	else if (box->template)
		zygotes_on_box(spawn, index, true);
	else
		boxes_settled(spawn, index);
	if (box->state == BOX_RUNNING && box->attached)
		boxes_want_spares(spawn);
	if (box->state == BOX_RUNNING) {
		blank_want(spawn, details->image, details->owner);
		fork_expect(spawn, index);
	}
}

/* Keeps how it ended, if that can be known: a parent is told, others only by newer kernels and once it was reaped. */
static void
reap(struct spawn *spawn, struct box *box)
{
	struct k_pidfd_info info = {.mask = K_PIDFD_INFO_EXIT};
	if (!box->adopted)
		box->status_known = waitpid(box->pid, &box->status, WNOHANG) == box->pid;
	else if (ioctl(box->pidfd, K_PIDFD_GET_INFO, &info) == 0 && info.mask & K_PIDFD_INFO_EXIT)
		box->status = info.exit_code, box->status_known = true;
	box->ended = true;
	spawn_unwatch(spawn, &box->pidfd);
	give_away(&spawn->closers, &box->kept);
}

/* Removes what is left of a box whose process is gone. True when all is. */
static bool
clear_away(struct spawn *spawn, int index)
{
	struct box *box = &spawn->boxes[index];
	char folder[HOST_PATH_MAX + ID_MAX];
	if (!end_beside(box, WNOHANG) || cgroup_remove(&spawn->details[index].groups) != 0 || boxes_hold_volume(spawn, index))
		return false;
	folder_of(spawn, box->id, folder, sizeof folder);
	if (!state_remove(folder))
		return false;
	id_pool_release(&spawn->ids, box->slot, spawn->run, box->id);
	boxes_settled(spawn, index);
	if (box->template)
		zygotes_on_box(spawn, index, false);
	box->state = BOX_FREE;
	while (spawn->used > 0 && spawn->boxes[spawn->used - 1].state == BOX_FREE)
		spawn->used--;
	/* Whoever had it needs it no longer, and may want the next. */
	blank_hurry(spawn);
	boxes_hurry_spares(spawn);
	return true;
}

static bool
has_ended(const struct box *box)
{
	struct pollfd ended = {.fd = box->pidfd, .events = POLLIN};
	return box->pidfd >= 0 && poll(&ended, 1, 0) == 1;
}

static void
go_on_leaving(struct spawn *spawn, int index)
{
	struct box *box = &spawn->boxes[index];
	int64_t now = now_ms();
	if (has_ended(box))
		reap(spawn, box);
	if (box->pidfd >= 0) {
		k_pidfd_send_signal(box->pidfd, SIGKILL);
		box->deadline = now + SLOW_RETRY_MS;
	} else if (!clear_away(spawn, index)) {
		box->deadline = now + (now - box->since < SLOW_AFTER_MS ? RETRY_MS : SLOW_RETRY_MS);
		/* Only what came in from outside its pid namespace can still be there: a zygote's fork on its way. */
		if (now - box->since >= STRAY_MS)
			cgroup_kill(&spawn->details[index].groups);
	}
}

void
boxes_on_process(struct spawn *spawn, int index)
{
	struct box *box = &spawn->boxes[index];
	struct failure lost;
	if (box->state == BOX_FREE || !has_ended(box))
		return;
	/* A child that fails reports before it ends, and that report tells more. */
	if (box->state == BOX_CREATING)
		boxes_on_report(spawn, index);
	if (box->pidfd >= 0)
		reap(spawn, box);
	if (box->state == BOX_CREATING) {
		give_up(&lost, KIND_ENGINE, "launch", 0, "the child ended without a report");
		creation_failed(spawn, index, &lost);
	}
	fork_forget(spawn, index);
	if (box->state == BOX_RUNNING)
		box->state = BOX_DEAD;
	if (box->state == BOX_LEAVING)
		go_on_leaving(spawn, index);
}

int
boxes_tick(struct spawn *spawn)
{
	int64_t now = now_ms(), next = -1;
	for (int i = 0; i < spawn->used; i++) {
		struct box *box = &spawn->boxes[i];
		struct failure stuck;
		if (box->state == BOX_CREATING && box->deadline <= now) {
			give_up(&stuck, KIND_ENGINE, "launch", ETIMEDOUT, "the child did not report in %d ms", CREATE_MS);
			creation_failed(spawn, i, &stuck);
		}
		if (box->state == BOX_LEAVING && box->deadline <= now)
			go_on_leaving(spawn, i);
		if ((box->state == BOX_CREATING || box->state == BOX_LEAVING) && (next < 0 || box->deadline < next))
			next = box->deadline;
	}
	return next < 0 ? -1 : next <= now ? 0 : (int)(next - now);
}

bool
boxes_record(const struct spawn *spawn, int index, struct failure *failure)
{
	const struct box *box = &spawn->boxes[index];
	const struct box_details *details = &spawn->details[index];
	char folder[HOST_PATH_MAX + ID_MAX];
	struct state state = {.slot = box->slot, .owner = details->owner, .template = box->template, .limits = details->limits,
		.groups = details->groups, .pid = box->pid, .start = box->start, .paused = box->paused, .measures = details->measures};
	memcpy(state.image, details->image, sizeof state.image);
	memcpy(state.volume, box->volume, sizeof state.volume);
	folder_of(spawn, box->id, folder, sizeof folder);
	return state_replace(folder, &state) || unwritten(failure, folder);
}

/* Whether a folder without a record of ours has files that we never make: then it is another engine's. */
static bool
is_foreign(const char *folder)
{
	DIR *entries = opendir(folder);
	bool foreign = false;
	if (entries == NULL)
		return false;
	for (struct dirent *entry; !foreign && (entry = readdir(entries)) != NULL;)
		foreign = strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
		          strcmp(entry->d_name, "guest.sock") != 0 && strcmp(entry->d_name, "state.new") != 0
		          && strcmp(entry->d_name, "state") != 0; /* one that a crash of the host left empty */
	closedir(entries);
	return foreign;
}

/* Takes one folder of the run directory over. What is not a running sandbox of this boot is on its way out at once. */
static void
adopt(struct spawn *spawn, const char *id)
{
	char folder[HOST_PATH_MAX + ID_MAX];
	struct state state;
	folder_of(spawn, id, folder, sizeof folder);
	bool known = state_read(folder, &state);
	if (!known && is_foreign(folder))
		return;
	int index = take_entry(spawn, id);
	if (index < 0)
		return;
	struct box *box = &spawn->boxes[index];
	struct box_details *details = &spawn->details[index];
	box->adopted = true;
	box->slot = state.slot;
	memcpy(box->volume, state.volume, sizeof box->volume);
	box->attached = box->volume[0] != 0 && state.ready && state.this_boot;
	details->limits = state.limits;
	details->measures = state.measures;
	details->groups = state.groups;
	details->owner = state.owner;
	snprintf(details->image, sizeof details->image, "%s", state.image);
	box->template = state.template;
	if (!known)
		cgroup_paths(&spawn->cgroups, id, state.template, &details->groups);
	if (known && state.this_boot && state.pid > 0 && process_start(state.pid) == state.start) {
		box->pid = state.pid;
		box->start = state.start;
		box->paused = state.paused;
		box->pidfd = k_pidfd_open(state.pid);
		/* Between the look and the open the pid may have gone to another process. */
		if (box->pidfd >= 0 && process_start(state.pid) != state.start)
			close_fd(&box->pidfd);
	}
	box->state = BOX_RUNNING;
	if (box->pidfd >= 0 && !spawn_watch(spawn, box->pidfd, EVENT_PROCESS, index, EPOLLIN))
		close_fd(&box->pidfd);
	if (box->pidfd < 0 || !state.ready || state.template) {
		/* A template's zygote is not in its pid namespace, and useless to us: its descriptors were the former server's. */
		if (box->pidfd < 0 || state.template)
			cgroup_kill(&details->groups);
		boxes_destroy(spawn, index);
	} else {
		/* The registry may be another one by now: a user's goes with his last login. */
		if (spawn->ids.map != MAP_SINGLE && box->slot >= 0 && !id_pool_keep(&spawn->ids, box->slot, spawn->run, box->id))
			fprintf(stderr, "carrel: somebody else has the ids of %s too\n", box->id);
		cgroup_limits_now(&details->groups, &details->limits);
		cgroup_describe(&details->limits, &details->measures);
		boxes_refreeze(spawn, index);
	}
}

void
boxes_adopt(struct spawn *spawn)
{
	DIR *entries = opendir(spawn->run);
	if (entries == NULL)
		return;
	for (struct dirent *entry; (entry = readdir(entries)) != NULL;)
		if (entry->d_type == DT_DIR && strncmp(entry->d_name, "sb", 2) == 0 && strlen(entry->d_name) < ID_MAX)
			adopt(spawn, entry->d_name);
	closedir(entries);
}
