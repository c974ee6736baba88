/* Requests in, answers out. Clients are of our own user, but their bytes are checked like anybody's. */
#include "clients.h"
#include "jobs.h"
#include "volume.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "jobs.h"
#include "volume.h"
#include "zygote.h"

enum request {
	HELLO = 0x60,
	PROBE,
	CREATE,
	DESTROY,
	LIST,
	STATUS,
	LEAVE,
	PAUSE,
	RESUME,
	LIMIT,
	VOLUME_COPY,
	VOLUME_REMOVE,
	VOLUMES,
	FORK = 0x70,
};
enum answer { OK = 0xe0, SANDBOX, PROBED, STATUS_IS, VOLUME, FAILED = 0xef };

enum tag {
	TAG_ID = 10,
	TAG_IMAGE,
	TAG_MEMORY,
	TAG_CPU,
	TAG_PIDS,
	TAG_DISK,
	TAG_NOFILE,
	TAG_EGRESS,
	TAG_ALLOW_MISSING,
	TAG_IF_IDLE,
	TAG_VERSION = 20,
	TAG_BUILD,
	TAG_PID,
	TAG_RUNNING,
	TAG_EXIT_CODE,
	TAG_SIGNAL,
	TAG_OOM_KILLS,
	TAG_PIDS_REFUSED,
	TAG_MEMORY_USED,
	TAG_CPU_NS,
	TAG_PIDS_NOW,
	TAG_VOLUME,
	TAG_TARGET,
	TAG_ON_DISK,
	TAG_PAUSED,
	TAG_ISOLATED,
	TAG_CGROUP = 40,
	TAG_MEASURE,
	TAG_STEP = 50,
	TAG_ERRNO,
	TAG_MESSAGE,
	TAG_KIND,
};

static const struct limits usual_limits = {.memory = 256 << 20, .cpu = 1000, .pids = 128, .disk = 64 << 20, .nofile = 1024};

static const char *const kinds[] = {
	[KIND_ENGINE] = "engine",
	[KIND_ISOLATION] = "isolation",
	[KIND_IMAGE] = "image",
	[KIND_BUSY] = "busy",
	[KIND_BAD_REQUEST] = "bad_request",
	[KIND_NOT_FOUND] = "not_found",
	[KIND_CONFLICT] = "conflict",
	[KIND_SPACE] = "no_space",
	[KIND_UNSUPPORTED] = "not_supported",
};

static void
answer_ok(struct writer *out)
{
	frame_begin(out, OK);
	frame_end(out);
}

static void
answer_failed(struct writer *out, const struct failure *failure)
{
	frame_begin(out, FAILED);
	put_string(out, TAG_KIND, kinds[failure->kind]);
	put_string(out, TAG_STEP, failure->step);
	put_int(out, TAG_ERRNO, failure->error);
	put_string(out, TAG_MESSAGE, failure->message);
	frame_end(out);
}

static void
put_measures(struct writer *out, const struct measures *measures)
{
	char text[DETAIL_MAX + 40];
	for (int i = 0; i < MEASURE_COUNT; i++) {
		snprintf(text, sizeof text, "%c%s %s", measures->applied[i] ? '+' : '-', measure_name((enum measure)i), measures->detail[i]);
		put_string(out, TAG_MEASURE, text);
	}
}

static void
put_groups(struct writer *out, const struct hierarchies *groups)
{
	char text[CGROUP_PATH_MAX + 64];
	for (int i = 0; i < groups->count; i++)
		for (int c = 0; c < CG_COUNT; c++)
			if (groups->at[i].controllers & 1u << c) {
				snprintf(text, sizeof text, "%s %d %s", controller_name((enum controller)c), groups->at[i].v2 ? 2 : 1,
					groups->at[i].path);
				put_string(out, TAG_CGROUP, text);
			}
}

static void
answer_sandbox(struct writer *out, const struct box *box, const struct box_details *details)
{
	frame_begin(out, SANDBOX);
	put_string(out, TAG_ID, box->id);
	put_int(out, TAG_PID, box->pid);
	put_int(out, TAG_RUNNING, box->state == BOX_RUNNING);
	put_int(out, TAG_PAUSED, box->paused);
	put_int(out, TAG_MEMORY, details->limits.memory);
	put_int(out, TAG_CPU, details->limits.cpu);
	put_int(out, TAG_PIDS, details->limits.pids);
	put_int(out, TAG_DISK, details->limits.disk);
	put_int(out, TAG_NOFILE, details->limits.nofile);
	if (box->volume[0] != 0)
		put_string(out, TAG_VOLUME, box->volume);
	put_groups(out, &details->groups);
	put_measures(out, &details->measures);
	frame_end(out);
}

static void
answer_status(struct writer *out, const struct box *box, const struct box_details *details)
{
	struct cgroup_counters counters;
	cgroup_read(&details->groups, &counters);
	frame_begin(out, STATUS_IS);
	put_string(out, TAG_ID, box->id);
	put_int(out, TAG_RUNNING, box->state == BOX_RUNNING);
	put_int(out, TAG_PAUSED, box->paused);
	if (box->status_known && WIFEXITED(box->status))
		put_int(out, TAG_EXIT_CODE, WEXITSTATUS(box->status));
	if (box->status_known && WIFSIGNALED(box->status))
		put_int(out, TAG_SIGNAL, WTERMSIG(box->status));
	put_int(out, TAG_OOM_KILLS, counters.oom_kills);
	put_int(out, TAG_PIDS_REFUSED, counters.pids_refused);
	put_int(out, TAG_MEMORY_USED, counters.memory);
	put_int(out, TAG_CPU_NS, counters.cpu_ns);
	put_int(out, TAG_PIDS_NOW, counters.pids);
	frame_end(out);
}

/* Copies a text field into a fixed place. False when it does not fit; absent is "". */
static bool
copy_text(struct bytes payload, uint8_t tag, char *text, size_t size)
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

/* Ids name folders, groups and hosts, so they are plain: `sb` and lower-case letters and digits. */
static bool
valid_id(const char *id)
{
	return strncmp(id, "sb", 2) == 0 && strlen(id) > 2 && id[strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789")] == 0;
}

/* What is not said stays as it is. */
static bool
parse_limits(struct bytes payload, struct limits *limits)
{
	const struct {
		uint8_t tag;
		int64_t least, most;
		int64_t *value;
	} fields[] = {{TAG_MEMORY, 8 << 20, (int64_t)1 << 46, &limits->memory}, {TAG_CPU, 10, 1024000, &limits->cpu},
		{TAG_PIDS, 4, 1 << 22, &limits->pids}, {TAG_DISK, 1 << 20, (int64_t)1 << 46, &limits->disk},
		{TAG_NOFILE, 32, 1 << 20, &limits->nofile}};
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
		if (!field_int(payload, fields[i].tag, *fields[i].value, fields[i].value) || *fields[i].value < fields[i].least
			|| *fields[i].value > fields[i].most)
			return false;
	return true;
}

static bool
parse_create(struct bytes payload, struct create_request *request, struct failure *failure)
{
	size_t offset = 0;
	uint8_t tag;
	struct bytes value;
	memset(request, 0, sizeof *request);
	request->limits = usual_limits;
	if (!copy_text(payload, TAG_ID, request->id, sizeof request->id) || !valid_id(request->id))
		return give_up(failure, KIND_BAD_REQUEST, "id", 0, "not an id");
	if (!copy_text(payload, TAG_IMAGE, request->image, sizeof request->image)
		|| !copy_text(payload, TAG_EGRESS, request->egress, sizeof request->egress))
		return give_up(failure, KIND_BAD_REQUEST, "path", 0, "a path is too long");
	if (request->image[0] != 0 && (request->image[0] != '/' || request->image[strspn(request->image, "/.")] == 0))
		return give_up(failure, KIND_IMAGE, "image", 0, "an image is an absolute path to a folder other than /");
	if (strchr(request->image, '\n') != NULL)
		return give_up(failure, KIND_IMAGE, "image", 0, "an image's path is one line");
	if (!copy_text(payload, TAG_VOLUME, request->volume, sizeof request->volume)
		|| (request->volume[0] != 0 && !volume_id_valid(request->volume)))
		return give_up(failure, KIND_BAD_REQUEST, "volume", 0, "not a volume's id");
	int64_t isolated;
	if (!parse_limits(payload, &request->limits) || !field_int(payload, TAG_ISOLATED, 0, &isolated))
		return give_up(failure, KIND_BAD_REQUEST, "limits", 0, "a limit is out of range");
	request->isolated = isolated != 0;
	while (field_next(payload, &offset, &tag, &value) == 1) {
		if (tag != TAG_ALLOW_MISSING)
			continue;
		enum measure measure = measure_find((const char *)value.data, value.length);
		if (measure == MEASURE_COUNT)
			return give_up(failure, KIND_BAD_REQUEST, "allow-missing", 0, "no measure has this name: %.*s",
				value.length < 40 ? (int)value.length : 40, (const char *)value.data);
		request->allow_missing |= 1u << measure;
	}
	return true;
}

/* The proxy's socket belongs to our user; the ids inside must be able to connect to it, and only its folder guards it. */
static bool
open_egress(const char *path, struct failure *failure)
{
	struct stat status;
	if (path[0] == 0)
		return true;
	if (lstat(path, &status) != 0 || !S_ISSOCK(status.st_mode))
		return give_up(failure, KIND_BAD_REQUEST, "egress", 0, "%s is not a socket", path);
	return chmod(path, 0666) == 0 || give_up(failure, KIND_ENGINE, "egress", errno, "%s", path);
}

static void
wait_for(struct client *client, enum waiting waiting, int box)
{
	client->waiting = waiting;
	client->box = box;
}

static void
handle_create(struct spawn *spawn, struct client *client, struct bytes payload, bool probe)
{
	static unsigned probes;
	struct create_request request;
	struct failure failure;
	bool good = !spawn->leaving || give_up(&failure, KIND_BUSY, "leaving", 0, "this server is about to end");
	if (good && probe) {
		memset(&request, 0, sizeof request);
		snprintf(request.id, sizeof request.id, "sb0probe%dx%u", (int)getpid(), probes++);
		request.limits = usual_limits;
		request.allow_missing = ALL_MEASURES;
		request.probe = true;
	} else if (good) {
		good = parse_create(payload, &request, &failure) && open_egress(request.egress, &failure);
	}
	int box = good ? boxes_create(spawn, &request, &failure) : -1;
	if (box < 0)
		answer_failed(&client->out, &failure);
	else
		wait_for(client, probe ? WAITING_PROBE : WAITING_CREATE, box);
}

/* Requests to a sandbox that must be running. */
static void
handle_running(struct spawn *spawn, struct client *client, uint8_t type, struct bytes payload, int box)
{
	struct failure failure;
	struct limits limits = spawn->details[box].limits;
	bool good, waits = false;
	boxes_on_process(spawn, box);
	if (spawn->boxes[box].state != BOX_RUNNING) {
		good = give_up(&failure, KIND_CONFLICT, "state", 0, "the sandbox does not run");
	} else if (type == PAUSE) {
		good = boxes_pause(spawn, box, &failure);
		waits = good && !spawn->boxes[box].frozen;
		if (waits)
			wait_for(client, WAITING_PAUSE, box);
	} else if (type == RESUME) {
		good = boxes_resume(spawn, box, &failure);
	} else {
		good = parse_limits(payload, &limits) || give_up(&failure, KIND_BAD_REQUEST, "limits", 0, "a limit is out of range");
		waits = good = good && jobs_limit(spawn, (int)(client - spawn->clients), box, &limits, &failure);
		if (waits)
			client->waiting = WAITING_JOB;
	}
	if (!good)
		answer_failed(&client->out, &failure);
	else if (!waits)
		answer_ok(&client->out);
}

static void
handle_named(struct spawn *spawn, struct client *client, uint8_t type, struct bytes payload)
{
	char id[ID_MAX];
	struct failure failure;
	int box = copy_text(payload, TAG_ID, id, sizeof id) ? boxes_find(spawn, id) : -1;
	if (box < 0 && type == DESTROY) {
		answer_ok(&client->out); /* what is not there is destroyed */
	} else if (box < 0) {
		give_up(&failure, KIND_NOT_FOUND, "id", 0, "no such sandbox here");
		answer_failed(&client->out, &failure);
	} else if (type == STATUS) {
		boxes_on_process(spawn, box); /* its end may wait in the queue behind this request */
		answer_status(&client->out, &spawn->boxes[box], &spawn->details[box]);
	} else if (type == DESTROY) {
		wait_for(client, WAITING_DESTROY, box);
		boxes_destroy(spawn, box);
	} else {
		handle_running(spawn, client, type, payload, box);
	}
}

static void
put_volume(void *out, const char *id, int64_t size, int64_t on_disk)
{
	frame_begin(out, VOLUME);
	put_string(out, TAG_VOLUME, id);
	put_int(out, TAG_DISK, size);
	put_int(out, TAG_ON_DISK, on_disk);
	frame_end(out);
}

static void
handle_volumes(struct spawn *spawn, struct client *client, uint8_t type, struct bytes payload)
{
	char id[VOLUME_ID_MAX], target[VOLUME_ID_MAX];
	struct failure failure;
	bool good = copy_text(payload, TAG_VOLUME, id, sizeof id) && copy_text(payload, TAG_TARGET, target, sizeof target)
		&& (volume_id_valid(id) || (id[0] == 0 && type == VOLUMES)) && (volume_id_valid(target) || type != VOLUME_COPY);
	if (!good)
		give_up(&failure, KIND_BAD_REQUEST, "volume", 0, "not a volume's id");
	else if (spawn->volumes[0] == 0)
		good = give_up(&failure, KIND_NOT_FOUND, "volume", 0, "this server has no folder for volumes");
	else if (type == VOLUME_COPY)
		good = jobs_copy(spawn, (int)(client - spawn->clients), id, target, &failure);
	else if (type == VOLUME_REMOVE)
		good = jobs_remove(spawn, (int)(client - spawn->clients), id, &failure);
	else
		good = volume_list(spawn->volumes, id, put_volume, &client->out, &failure);
	if (!good)
		answer_failed(&client->out, &failure);
	else if (type != VOLUMES)
		client->waiting = WAITING_JOB;
	else
		answer_ok(&client->out);
}

bool
spawn_idle(const struct spawn *spawn, const struct client *but)
{
	for (int i = 0; i < CLIENTS_MAX; i++)
		if (spawn->clients[i].fd >= 0 && &spawn->clients[i] != but)
			return false;
	for (int i = 0; i < spawn->used; i++)
		if (spawn->boxes[i].state != BOX_FREE && !spawn->boxes[i].template)
			return false;
	return true;
}

static void
handle_hello(const struct spawn *spawn, struct client *client)
{
	frame_begin(&client->out, OK);
	put_int(&client->out, TAG_VERSION, SPAWN_VERSION);
	put_string(&client->out, TAG_BUILD, spawn->build);
	put_int(&client->out, TAG_PID, getpid());
	frame_end(&client->out);
}

static void
handle(struct spawn *spawn, struct client *client, uint8_t type, struct bytes payload)
{
	struct failure failure;
	int64_t if_idle;
	switch (type) {
	case HELLO:
		handle_hello(spawn, client);
		break;
	case PROBE:
	case CREATE:
		handle_create(spawn, client, payload, type == PROBE);
		break;
	case DESTROY:
	case STATUS:
	case PAUSE:
	case RESUME:
	case LIMIT:
		handle_named(spawn, client, type, payload);
		break;
	case VOLUME_COPY:
	case VOLUME_REMOVE:
	case VOLUMES:
		handle_volumes(spawn, client, type, payload);
		break;
	case LIST:
		for (int i = 0; i < spawn->used; i++) {
			boxes_on_process(spawn, i);
			if (!spawn->boxes[i].template && (spawn->boxes[i].state == BOX_RUNNING || spawn->boxes[i].state == BOX_DEAD))
				answer_sandbox(&client->out, &spawn->boxes[i], &spawn->details[i]);
		}
		answer_ok(&client->out);
		break;
	case FORK:
		fork_serve(spawn, client, payload);
		break;
	case LEAVE:
		if (field_int(payload, TAG_IF_IDLE, 0, &if_idle) && (!if_idle || spawn_idle(spawn, client)))
			spawn->leaving = true;
		frame_begin(&client->out, OK);
		if (spawn->leaving)
			put_int(&client->out, TAG_IF_IDLE, 1);
		frame_end(&client->out);
		break;
	default:
		give_up(&failure, KIND_BAD_REQUEST, "type", 0, "unknown request 0x%02x", type);
		answer_failed(&client->out, &failure);
		break;
	}
}

/* Writes what can be written; asks to be woken for the rest. False when the connection is broken. */
static bool
flush(struct spawn *spawn, struct client *client)
{
	struct writer *out = &client->out;
	while (client->sent < out->length) {
		ssize_t n = send(client->fd, out->data + client->sent, out->length - client->sent, MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			break;
		if (n < 0)
			return false;
		client->sent += (size_t)n;
	}
	bool rest = client->sent < out->length;
	if (!rest) {
		bool failed = out->failed;
		writer_free(out);
		client->sent = 0;
		if (failed)
			return false;
	}
	if (rest != client->writing) {
		struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP | (rest ? EPOLLOUT : 0),
			.data.u64 = (uint64_t)EVENT_CLIENT << 32 | (uint32_t)(client - spawn->clients)};
		client->writing = rest;
		return epoll_ctl(spawn->epoll, EPOLL_CTL_MOD, client->fd, &event) == 0;
	}
	return true;
}

/* Handles whole frames one after another, until one has to wait. */
static bool
handle_frames(struct spawn *spawn, struct client *client)
{
	while (client->waiting == WAITING_NOT && !client->writing) {
		uint8_t type;
		struct bytes payload;
		ptrdiff_t size = frame_decode(client->in, client->length, &type, &payload);
		if (size == 0)
			return client->length < sizeof client->in;
		if (size < 0 || !fields_valid(payload))
			return false;
		handle(spawn, client, type, payload);
		client->length -= (size_t)size;
		memmove(client->in, client->in + size, client->length);
		if (!flush(spawn, client))
			return false;
	}
	return true;
}

void
boxes_settled(struct spawn *spawn, int index)
{
	const struct box *box = &spawn->boxes[index];
	const struct box_details *details = &spawn->details[index];
	bool gone = box->state == BOX_LEAVING;
	for (int i = 0; i < CLIENTS_MAX; i++) {
		struct client *client = &spawn->clients[i];
		struct failure failure;
		if (client->fd < 0 || client->waiting == WAITING_NOT || client->waiting == WAITING_FORK || client->waiting == WAITING_JOB
			|| client->box != index
			|| (client->waiting == WAITING_DESTROY && !gone))
			continue;
		if (client->waiting == WAITING_DESTROY) {
			answer_ok(&client->out);
		} else if (gone && box->failed) {
			answer_failed(&client->out, &details->failure);
		} else if (client->waiting == WAITING_PROBE) {
			frame_begin(&client->out, PROBED);
			put_measures(&client->out, &details->measures);
			frame_end(&client->out);
		} else if (gone) {
			give_up(&failure, KIND_CONFLICT, "state", 0, "the sandbox was destroyed meanwhile");
			answer_failed(&client->out, &failure);
		} else {
			answer_sandbox(&client->out, box, details);
		}
		client_resume(spawn, client);
	}
}

void
boxes_stopped(struct spawn *spawn, int index, const struct failure *failure)
{
	for (int i = 0; i < CLIENTS_MAX; i++) {
		struct client *client = &spawn->clients[i];
		if (client->fd < 0 || client->waiting != WAITING_PAUSE || client->box != index)
			continue;
		if (failure != NULL)
			answer_failed(&client->out, failure);
		else
			answer_ok(&client->out);
		client_resume(spawn, client);
	}
	jobs_box_stopped(spawn, index, failure);
}

void
client_job_done(struct spawn *spawn, int index, int box, const struct failure *failure)
{
	struct client *client = &spawn->clients[index];
	if (failure != NULL)
		answer_failed(&client->out, failure);
	else if (box >= 0)
		answer_sandbox(&client->out, &spawn->boxes[box], &spawn->details[box]);
	else
		answer_ok(&client->out);
	client_resume(spawn, client);
}

void
client_resume(struct spawn *spawn, struct client *client)
{
	client->waiting = WAITING_NOT;
	if (!flush(spawn, client) || !handle_frames(spawn, client))
		shutdown(client->fd, SHUT_RDWR); /* the loop closes it: we may be inside its own handling */
}

static void
watch_listener(struct spawn *spawn, bool watched)
{
	struct epoll_event event = {.events = watched ? EPOLLIN : 0, .data.u64 = (uint64_t)EVENT_LISTENER << 32};
	epoll_ctl(spawn->epoll, EPOLL_CTL_MOD, spawn->listener, &event);
	spawn->full = !watched;
}

static struct client *
free_client(struct spawn *spawn)
{
	for (int i = 0; i < CLIENTS_MAX; i++)
		if (spawn->clients[i].fd < 0)
			return &spawn->clients[i];
	return NULL;
}

static bool
is_our_user(int fd)
{
	struct ucred peer;
	socklen_t length = sizeof peer;
	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.uid == geteuid();
}

void
clients_accept(struct spawn *spawn)
{
	for (struct client *client; (client = free_client(spawn)) != NULL;) {
		int fd = accept4(spawn->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0)
			return;
		if (!is_our_user(fd)) {
			close(fd);
			continue;
		}
		client->fd = fd;
		client->waiting = WAITING_NOT;
		client->writing = false;
		client->length = client->sent = 0;
		client->out = (struct writer){0};
		if (!spawn_watch(spawn, fd, EVENT_CLIENT, (int)(client - spawn->clients), EPOLLIN | EPOLLRDHUP))
			client_close(spawn, client);
	}
	watch_listener(spawn, false);
}

void
client_close(struct spawn *spawn, struct client *client)
{
	spawn_unwatch(spawn, &client->fd);
	writer_free(&client->out);
	/* Nobody would know of a sandbox whose asker is gone before it was ready. */
	if (client->waiting == WAITING_CREATE && spawn->boxes[client->box].state == BOX_CREATING)
		boxes_destroy(spawn, client->box);
	fork_abandon(spawn, (int)(client - spawn->clients));
	if (client->waiting == WAITING_JOB)
		jobs_abandon_client(spawn, (int)(client - spawn->clients));
	client->waiting = WAITING_NOT;
	if (spawn->full)
		watch_listener(spawn, true);
}

void
client_ready(struct spawn *spawn, int index, uint32_t events)
{
	struct client *client = &spawn->clients[index];
	if (client->fd < 0)
		return;
	bool good = true;
	if (events & EPOLLOUT)
		good = flush(spawn, client);
	if (good && events & EPOLLIN && client->length < sizeof client->in) {
		ssize_t n = recv(client->fd, client->in + client->length, sizeof client->in - client->length, MSG_DONTWAIT);
		if (n > 0)
			client->length += (size_t)n;
		else
			good = n < 0 && (errno == EAGAIN || errno == EINTR);
	}
	good = good && handle_frames(spawn, client);
	/* A client that shut down its side does not wait for an answer. */
	if (!good || events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
		client_close(spawn, client);
}
