/* FORK: a zygote's child becomes a kernel in a running sandbox. The zygote gets one end of each stream and the ways into the
 * sandbox, the sandbox's guest the other ends (ADOPT); after that it is an exec like any other, and we know nothing of it. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "guest.h"
#include "launch.h"
#include "owners.h"
#include "passing.h"
#include "server.h"
#include "syscalls.h"
#include "zygote.h"

#define ADOPT_MS 2000
#define EXEC_ID_SIZE 65

enum { TAG_SANDBOX = 10, TAG_IMAGE = 11, TAG_FORKED = 36, TAG_REASON = 52, TAG_EXEC = 60, TAG_PRELOAD, TAG_VARIABLE, TAG_DIRECTORY };
enum { OUT, ERR, CONTROL_IN, CONTROL_OUT, CHANNEL, STREAM_ENDS };

static const char *const namespaces[] = {"user", "pid", "mnt", "net", "ipc", "uts", "cgroup"};
#define NAMESPACES (sizeof namespaces / sizeof *namespaces)
_Static_assert(STREAM_ENDS + NAMESPACES + 1 + CG_COUNT <= PASSED_AT_ONCE, "all ways go in one message");

struct fork_request {
	char exec[EXEC_ID_SIZE], sandbox[ID_MAX], preload[PRELOAD_MAX], image[HOST_PATH_MAX];
};

static bool
add(struct ways *ways, int fd)
{
	if (fd < 0)
		return false;
	ways->fds[ways->count++] = fd;
	return true;
}

static void
close_ways(struct ways *ways)
{
	while (ways->count > 0)
		close(ways->fds[--ways->count]);
}

static bool
send_ways(int socket, const struct writer *out, const struct ways *ways)
{
	return !out->failed && pass_all(socket, out->data, out->length, ways->fds, ways->count, MSG_DONTWAIT);
}

/* Four pipes and the keeper's channel: the kernel's ends and the guest's, in the same order. */
static bool
open_streams(struct ways *kernel, struct ways *guest_ends)
{
	int pair[2];
	for (int i = 0; i < STREAM_ENDS; i++) {
		if (i == CHANNEL ? socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0 : pipe2(pair, O_CLOEXEC) != 0)
			return false;
		bool kernel_reads = i == CONTROL_IN;
		add(kernel, pair[kernel_reads ? 0 : 1]);
		add(guest_ends, pair[kernel_reads ? 1 : 0]);
	}
	return true;
}

static bool
open_namespaces(const struct box *box, struct doors *doors)
{
	char path[48];
	size_t length = 0;
	for (size_t i = 0; i < NAMESPACES; i++) {
		snprintf(path, sizeof path, "/proc/%d/ns/%s", (int)box->pid, namespaces[i]);
		int fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0 && errno == ENOENT && strcmp(namespaces[i], "cgroup") == 0)
			continue;
		if (!add(&doors->kernel, fd))
			return false;
		length += (size_t)snprintf(doors->names + length, sizeof doors->names - length, "%s%s", length > 0 ? " " : "", namespaces[i]);
	}
	return true;
}

static int
open_ruleset(const struct box *box)
{
	struct failure failure;
	char path[32];
	int version;
	snprintf(path, sizeof path, "/proc/%d/root", (int)box->pid);
	int root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int ruleset = root < 0 ? -1 : landlock_ruleset(root, false, false, &version, &failure);
	if (root >= 0)
		close(root);
	return ruleset;
}

/* An image's interpreter gets these, and it can name every process of the host. Which of them may be moved by such a file is
 * decided by who opened it: as the image's owner, none but the owner's. */
static int
open_groups(const struct box_details *details, int groups[CG_COUNT])
{
	int count = act_as(details->owner) ? groups_open(&details->groups, groups) : -1;
	if (!act_as(0))
		abort(); /* the server must not go on as somebody else */
	return count;
}

static void
doors_close(struct doors *doors)
{
	close_ways(&doors->kernel);
	close_ways(&doors->guest);
	doors->box = -1;
}

static bool
lives(const struct box *box)
{
	struct pollfd ended = {.fd = box->pidfd, .events = POLLIN};
	return box->pidfd >= 0 && poll(&ended, 1, 0) == 0;
}

/* All that leads into a sandbox. */
static bool
doors_open(struct spawn *spawn, int index, struct doors *doors)
{
	const struct box *box = &spawn->boxes[index];
	const struct box_details *details = &spawn->details[index];
	int groups[CG_COUNT];
	*doors = (struct doors){.box = index, .landlock = details->measures.applied[MEASURE_LANDLOCK]};
	bool good = open_streams(&doors->kernel, &doors->guest) && open_namespaces(box, doors)
		&& (!doors->landlock || add(&doors->kernel, open_ruleset(box)));
	doors->groups = good ? open_groups(details, groups) : -1;
	for (int i = 0; i < doors->groups; i++)
		add(&doors->kernel, groups[i]);
	/* The number was looked at several times: it must have been the same process's all the while. */
	if (doors->groups >= 0 && lives(box))
		return true;
	doors_close(doors);
	return false;
}

/* Says what is what of what is passed with it. */
static void
put_doors(struct writer *out, const struct doors *doors, const struct box_details *details)
{
	put_string(out, 11, doors->names);
	put_int(out, 12, doors->groups);
	put_int(out, 13, doors->landlock);
	/* As in confine_limits: only where no group counts them. */
	put_int(out, 14, details->measures.applied[MEASURE_PIDS_LIMIT] ? 0 : details->limits.pids);
	put_int(out, 15, details->limits.nofile);
}

static bool
ask_zygote(struct spawn *spawn, struct zygote *zygote, struct bytes payload, const struct doors *doors)
{
	struct writer out = {0};
	size_t offset = 0;
	uint8_t tag;
	struct bytes value;
	frame_begin(&out, 2);
	put_doors(&out, doors, &spawn->details[doors->box]);
	while (field_next(payload, &offset, &tag, &value) == 1)
		if (tag == TAG_VARIABLE || tag == TAG_DIRECTORY)
			put_bytes(&out, tag == TAG_VARIABLE ? 17 : 16, value.data, value.length);
	frame_end(&out);
	bool good = send_ways(zygote->control, &out, &doors->kernel);
	writer_free(&out);
	if (good)
		zygote_asked(spawn, zygote);
	return good;
}

/* Hands the other ends to the sandbox's guest over a connection of its own. */
static bool
ask_guest(struct spawn *spawn, int client, const struct fork_request *request, const struct ways *ends)
{
	struct adoption *adoption = &spawn->nursery->adoptions[client];
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct writer out = {0};
	char path[HOST_PATH_MAX + ID_MAX + 16];
	size_t length = (size_t)snprintf(path, sizeof path, "%s/%s/guest.sock", spawn->run, request->sandbox);
	if (length >= sizeof address.sun_path)
		return false;
	memcpy(address.sun_path, path, length);
	adoption->guest = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	frame_begin(&out, REQUEST_ADOPT);
	put_string(&out, 10, request->exec);
	frame_end(&out);
	bool good = adoption->guest >= 0 && connect(adoption->guest, (struct sockaddr *)&address, sizeof address) == 0
		&& send_ways(adoption->guest, &out, ends) && spawn_watch(spawn, adoption->guest, EVENT_FORK, client, EPOLLIN);
	writer_free(&out);
	adoption->deadline = now_ms() + ADOPT_MS;
	if (!good)
		spawn_unwatch(spawn, &adoption->guest);
	return good;
}

/* What a fork must be able to apply again; where a sandbox lacks one of these its commands come from its guest alone. */
static bool
fully_confined(const struct measures *measures)
{
	static const enum measure needed[] = {MEASURE_UID_RANGE, MEASURE_SECCOMP, MEASURE_NO_CAPABILITIES, MEASURE_NO_NEW_PRIVILEGES,
		MEASURE_PID_NAMESPACE, MEASURE_NOFILE_LIMIT};
	for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
		if (!measures->applied[needed[i]])
			return false;
	return true;
}

/* With version 2 whoever has such a file may move every process by it: that is only for the host's own interpreter. */
static bool
may_have_groups(const struct box_details *details)
{
	for (int i = 0; i < details->groups.count; i++)
		if (details->groups.at[i].v2 && details->image[0] != 0)
			return false;
	return true;
}

/* Whether a zygote's child may become a kernel there; otherwise `reason` says why not. */
static bool
may_enter(const struct spawn *spawn, int index, const char **reason)
{
	*reason = "no such sandbox runs here";
	if (index < 0 || spawn->boxes[index].state != BOX_RUNNING)
		return false;
	const struct box *box = &spawn->boxes[index];
	*reason = "the sandbox stands still, and so would who enters it";
	if (box->paused || box->frozen || box->freeze_deadline != 0)
		return false;
	const struct box_details *details = &spawn->details[index];
	*reason = "this sandbox can be entered by nobody";
	if (details->owner == 0 || !fully_confined(&details->measures))
		return false;
	*reason = "an interpreter of an image could move others' processes by a control group of version 2";
	return may_have_groups(details);
}

void
fork_expect(struct spawn *spawn, int index)
{
	const char *reason;
	struct nursery *nursery = spawn->nursery;
	bool asked = false;
	for (int i = 0; i < ZYGOTES_MAX && !asked; i++)
		asked = nursery->zygotes[i].state == ZYGOTE_READY && strcmp(nursery->zygotes[i].image, spawn->details[index].image) == 0;
	if (asked && may_enter(spawn, index, &reason))
		nursery->expected = index;
}

bool
fork_expected(const struct spawn *spawn)
{
	return spawn->nursery->expected >= 0;
}

void
fork_prepare(struct spawn *spawn)
{
	struct nursery *nursery = spawn->nursery;
	int index = nursery->expected;
	nursery->expected = -1;
	doors_close(&nursery->ahead);
	if (index >= 0)
		doors_open(spawn, index, &nursery->ahead);
}

void
fork_forget(struct spawn *spawn, int index)
{
	struct nursery *nursery = spawn->nursery;
	if (nursery->expected == index)
		nursery->expected = -1;
	if (index < 0 || nursery->ahead.box != index)
		return;
	/* Of a sandbox that has ended by itself we hold the mounts last, and would have to let go of its file systems. */
	struct ways *held = &nursery->ahead.kernel;
	while (!lives(&spawn->boxes[index]) && held->count > 0)
		give_away_one(&spawn->closers, &held->fds[--held->count]);
	doors_close(&nursery->ahead);
}

void
fork_shut(struct spawn *spawn)
{
	fork_forget(spawn, spawn->nursery->ahead.box);
}

/* True when the guest was asked; otherwise `reason` says why the kernel has to be started from scratch. */
static bool
begin(struct spawn *spawn, int client, const struct fork_request *request, struct bytes payload, const char **reason)
{
	struct doors doors = spawn->nursery->ahead;
	int index = boxes_find(spawn, request->sandbox);
	if (!may_enter(spawn, index, reason))
		return false;
	struct zygote *zygote = zygote_for(spawn, spawn->details[index].image, request->preload, reason);
	if (zygote == NULL)
		return false;
	*reason = "the zygote or the guest takes no request";
	if (doors.box == index)
		spawn->nursery->ahead = (struct doors){.box = -1};
	else if (!doors_open(spawn, index, &doors))
		return false;
	bool good = ask_zygote(spawn, zygote, payload, &doors) && ask_guest(spawn, client, request, &doors.guest);
	doors_close(&doors);
	return good;
}

static void
answer(struct client *client, bool forked, const char *reason)
{
	frame_begin(&client->out, 0xe0 /* OK */);
	put_int(&client->out, TAG_FORKED, forked);
	if (!forked)
		put_string(&client->out, TAG_REASON, reason);
	frame_end(&client->out);
}

static bool
copy(struct bytes payload, uint8_t tag, char *text, size_t size)
{
	struct bytes value;
	text[0] = 0;
	if (!field_find(payload, tag, &value))
		return true;
	if (value.length >= size || memchr(value.data, 0, value.length) != NULL)
		return false;
	memcpy(text, value.data, value.length);
	text[value.length] = 0;
	return true;
}

void
fork_serve(struct spawn *spawn, struct client *client, struct bytes payload)
{
	struct fork_request request;
	const int index = (int)(client - spawn->clients);
	const char *reason = "the request is malformed, or this preload is not known";
	bool good = copy(payload, TAG_SANDBOX, request.sandbox, sizeof request.sandbox)
		&& copy(payload, TAG_IMAGE, request.image, sizeof request.image) && copy(payload, TAG_EXEC, request.exec, sizeof request.exec)
		&& copy(payload, TAG_PRELOAD, request.preload, sizeof request.preload) && preload_known(request.preload);
	if (good && request.sandbox[0] == 0) {
		/* Without a sandbox it is only to be ready. */
		bool ready = owner_of(spawn, request.image) != 0 && zygote_for(spawn, request.image, request.preload, &reason) != NULL;
		answer(client, ready, reason);
	} else if (good && begin(spawn, index, &request, payload, &reason)) {
		client->waiting = WAITING_FORK;
		client->box = -1;
	} else {
		answer(client, false, reason);
	}
}

static void
settle(struct spawn *spawn, int index, bool forked)
{
	struct client *client = &spawn->clients[index];
	spawn_unwatch(spawn, &spawn->nursery->adoptions[index].guest);
	if (client->fd < 0 || client->waiting != WAITING_FORK)
		return;
	answer(client, forked, "the guest does not take it");
	client_resume(spawn, client);
}

void
fork_ready(struct spawn *spawn, int index)
{
	uint8_t header[FRAME_HEADER];
	int connection = spawn->nursery->adoptions[index].guest;
	if (connection < 0)
		return;
	ssize_t n = recv(connection, header, sizeof header, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	settle(spawn, index, n == (ssize_t)sizeof header && header[4] == FRAME_OK);
}

void
fork_abandon(struct spawn *spawn, int index)
{
	spawn_unwatch(spawn, &spawn->nursery->adoptions[index].guest);
}

int
forks_tick(struct spawn *spawn)
{
	int64_t now = now_ms(), next = -1;
	for (int i = 0; i < CLIENTS_MAX; i++) {
		struct adoption *adoption = &spawn->nursery->adoptions[i];
		if (adoption->guest >= 0 && adoption->deadline <= now)
			settle(spawn, i, false);
		if (adoption->guest >= 0 && (next < 0 || adoption->deadline < next))
			next = adoption->deadline;
	}
	return next < 0 ? -1 : next <= now ? 0 : (int)(next - now);
}
