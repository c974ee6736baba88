/* Connections: requests in, what each one waits for, answers out. */
#include "clients.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client_frames.h"
#include "jobs.h"
#include "volume.h"
#include "zygote.h"

static bool
check_egress(const char *path, struct failure *failure)
{
	struct stat status;
	return path[0] == 0 || (path[0] == '/' && lstat(path, &status) == 0 && S_ISSOCK(status.st_mode))
		|| give_up(failure, KIND_BAD_REQUEST, "egress", 0, "%s is not a socket", path);
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
		int64_t overlay;
		request.overlay = field_int(payload, TAG_OVERLAY, 0, &overlay) && overlay != 0;
		if (request.overlay)
			snprintf(request.image, sizeof request.image, "%s", spawn->lib); /* any folder will do */
	} else if (good) {
		good = parse_create(payload, &request, &failure) && check_egress(request.egress, &failure);
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
		boxes_resume(spawn, box);
		good = true;
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
	int64_t discard;
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
		if (field_int(payload, TAG_DISCARD, 0, &discard) && discard)
			boxes_discard(spawn, box);
		else
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
	else if (type == VOLUME_REMOVE && volume_absent(spawn->volumes, id))
		type = VOLUMES; /* nothing to do and so nothing to wait for */
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
		bool created = client->waiting == WAITING_CREATE && !gone;
		if (!client_resume(spawn, client) && created)
			boxes_destroy(spawn, index); /* nobody knows that it is there */
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

bool
client_resume(struct spawn *spawn, struct client *client)
{
	client->waiting = WAITING_NOT;
	bool told = flush(spawn, client);
	if (!told || !handle_frames(spawn, client))
		shutdown(client->fd, SHUT_RDWR); /* the loop closes it: we may be inside its own handling */
	return told;
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
