/* The life of zygotes, as the server leads it. */
#include "zygote.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define READY_MS 60000
#define BROKEN_MS 60000
#define TAKEN_MS 2000
#define ENTER_MS 2000
#define LOG_MAX (4 << 20)
#define TEMPLATE_MEMORY (INT64_C(1) << 30)
/* What a kernel has of its spare's memory is counted in the template as long as it lives: for each fork so much more. */
#define HERITAGE_MEMORY (INT64_C(4) << 20)
#define HERITAGES_AHEAD 64 /* forks for which the limit is raised at once */
#define HERITAGES_MAX 1024

static const char *const preloads[] = {"plain", "ipython", "data"};

bool
preload_known(const char *preload)
{
	for (size_t i = 0; i < sizeof preloads / sizeof *preloads; i++)
		if (strcmp(preload, preloads[i]) == 0)
			return true;
	return false;
}

void
zygotes_open(struct nursery *nursery)
{
	for (int i = 0; i < ZYGOTES_MAX; i++)
		nursery->zygotes[i].control = nursery->zygotes[i].life = -1;
	for (int i = 0; i < CLIENTS_MAX; i++)
		nursery->adoptions[i].guest = -1;
	nursery->expected = nursery->ahead.box = -1;
}

static bool
same(const struct zygote *zygote, const char *image, const char *preload)
{
	return zygote->state != ZYGOTE_NONE && strcmp(zygote->preload, preload) == 0 && strcmp(zygote->image, image) == 0;
}

static void
complain(const struct zygote *zygote, const char *what)
{
	struct stat status;
	/* What an image's interpreter says comes as often as it likes. */
	if (fstat(STDERR_FILENO, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > LOG_MAX && ftruncate(STDERR_FILENO, 0) != 0)
		return;
	fprintf(stderr, "carrel: zygote %s of image '%s': %s\n", zygote->preload, zygote->image, what);
}

/* Makes the template; the rest follows when it runs. */
static void
begin(struct spawn *spawn, const char *image, const char *preload)
{
	static unsigned templates;
	struct nursery *nursery = spawn->nursery;
	struct zygote *zygote = NULL;
	for (int i = 0; i < ZYGOTES_MAX && zygote == NULL; i++)
		if (nursery->zygotes[i].state == ZYGOTE_NONE)
			zygote = &nursery->zygotes[i];
	if (zygote == NULL || spawn->leaving)
		return;
	struct create_request request = {.template = true, .allow_missing = ALL_MEASURES,
		.limits = {.memory = TEMPLATE_MEMORY, .cpu = 1000, .pids = 64, .disk = 1 << 20, .nofile = 256}};
	struct failure failure;
	snprintf(request.id, sizeof request.id, "sb0zygote%dx%u", (int)getpid(), templates++);
	snprintf(request.image, sizeof request.image, "%s", image);
	*zygote = (struct zygote){.state = ZYGOTE_MOVING_IN, .control = -1, .life = -1, .deadline = now_ms() + READY_MS};
	snprintf(zygote->image, sizeof zygote->image, "%s", image);
	snprintf(zygote->preload, sizeof zygote->preload, "%s", preload);
	zygote->box = boxes_create(spawn, &request, &failure);
	if (zygote->box < 0) {
		complain(zygote, failure.message);
		zygote_end(spawn, zygote, true);
	}
}

struct zygote *
zygote_for(struct spawn *spawn, const char *image, const char *preload, const char **reason)
{
	struct nursery *nursery = spawn->nursery;
	struct zygote *ready = NULL;
	bool known = false;
	*reason = "its zygote is getting ready";
	for (int i = 0; i < ZYGOTES_MAX; i++) {
		struct zygote *zygote = &nursery->zygotes[i];
		if (!same(zygote, image, preload))
			continue;
		if (zygote->state == ZYGOTE_READY && (ready == NULL || zygote->born > ready->born))
			ready = zygote;
		if (zygote->state == ZYGOTE_BROKEN)
			*reason = "its zygote could not start";
		known = true;
	}
	if (!known)
		begin(spawn, image, preload);
	return ready;
}

void
zygote_end(struct spawn *spawn, struct zygote *zygote, bool broken)
{
	spawn_unwatch(spawn, &zygote->control);
	if (zygote->life >= 0)
		close(zygote->life);
	zygote->life = -1;
	int box = zygote->box;
	zygote->box = -1;
	zygote->state = broken ? ZYGOTE_BROKEN : ZYGOTE_NONE;
	zygote->deadline = now_ms() + BROKEN_MS;
	if (box >= 0)
		boxes_destroy(spawn, box);
}

void
zygotes_on_box(struct spawn *spawn, int index, bool running)
{
	for (int i = 0; i < ZYGOTES_MAX; i++) {
		struct zygote *zygote = &spawn->nursery->zygotes[i];
		if (zygote->state == ZYGOTE_NONE || zygote->state == ZYGOTE_BROKEN || zygote->box != index)
			continue;
		if (!running) {
			complain(zygote, spawn->boxes[index].failed ? spawn->details[index].failure.message : "its template ended");
			zygote->box = -1;
			zygote_end(spawn, zygote, true);
		} else if (zygote_start(spawn, zygote)) {
			zygote->state = ZYGOTE_WARMING;
		} else {
			complain(zygote, strerror(errno));
			zygote_end(spawn, zygote, true);
		}
		return;
	}
}

/* A process with more than one thread must not fork: the others' locks would stay closed for ever in the child. */
static bool
single_threaded(pid_t pid)
{
	char path[32], text[4096];
	snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = 0;
	const char *line = strstr(text, "\nThreads:");
	return line != NULL && atoi(line + sizeof "\nThreads:" - 1) == 1;
}

void
zygote_asked(struct spawn *spawn, struct zygote *zygote)
{
	struct failure failure;
	if (zygote->asked++ == zygote->taken)
		zygote->waiting = now_ms();
	zygote->used = now_ms();
	struct box_details *template = &spawn->details[zygote->box];
	if (zygote->asked % HERITAGES_AHEAD != 0 || zygote->asked > HERITAGES_MAX || !template->measures.applied[MEASURE_MEMORY_LIMIT])
		return;
	struct limits more = template->limits;
	more.memory += HERITAGES_AHEAD * HERITAGE_MEMORY;
	if (cgroup_change(&template->groups, &template->limits, &more, &failure))
		template->limits = more;
	else
		complain(zygote, failure.message);
}

/* It is ready: from now on it is asked, and the one it replaces no more. */
static void
came_up(struct spawn *spawn, struct zygote *zygote, pid_t pid)
{
	if (!single_threaded(pid)) {
		complain(zygote, "it has more than one thread");
		zygote_end(spawn, zygote, true);
		return;
	}
	zygote->state = ZYGOTE_READY;
	zygote->born = zygote->used = now_ms();
}

void
zygote_ready(struct spawn *spawn, int index)
{
	struct zygote *zygote = &spawn->nursery->zygotes[index];
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(struct ucred))];
	} extra;
	char text[256];
	struct iovec part = {text, sizeof text - 1};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &extra, .msg_controllen = sizeof extra};
	if (zygote->control < 0)
		return;
	ssize_t n = recvmsg(zygote->control, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	/* A reset says that it ended without reading all; what it said before comes after that. */
	if (n < 0 && (errno == EAGAIN || errno == EINTR || errno == ECONNRESET))
		return;
	struct cmsghdr *header = n > 0 ? CMSG_FIRSTHDR(&message) : NULL;
	if (header == NULL || header->cmsg_type != SCM_CREDENTIALS) {
		complain(zygote, "it ended");
		zygote_end(spawn, zygote, zygote->state != ZYGOTE_READY);
		return;
	}
	struct ucred sender;
	memcpy(&sender, CMSG_DATA(header), sizeof sender);
	text[n] = 0;
	for (char *at = text; *at != 0; at++)
		if (*at < ' ' || *at > '~')
			*at = '?';
	if (text[0] == 'R' && zygote->state == ZYGOTE_WARMING) {
		came_up(spawn, zygote, sender.pid);
	} else if (text[0] == 'T' && zygote->taken != zygote->asked) {
		zygote->taken++;
		zygote->waiting = now_ms();
	} else if (text[0] == 'D' && zygote->failed != zygote->asked) {
		zygote->failed++;
		complain(zygote, text + 1);
	} else {
		complain(zygote, text[0] == 'F' ? text + 1 : "it does not speak our protocol");
		zygote_end(spawn, zygote, true);
	}
}

void
holder_ready(struct spawn *spawn, int index)
{
	struct holder *holder = &spawn->nursery->holders[index];
	if (holder->pid <= 0 || waitpid(holder->pid, NULL, WNOHANG) == 0)
		return;
	spawn_unwatch(spawn, &holder->pidfd);
	holder->pid = 0;
}

static bool
replaced(const struct spawn *spawn, const struct zygote *zygote)
{
	for (int i = 0; i < ZYGOTES_MAX; i++)
		if (&spawn->nursery->zygotes[i] != zygote && same(&spawn->nursery->zygotes[i], zygote->image, zygote->preload))
			return true;
	return false;
}

/* Whether another one is asked in its place. */
static bool
succeeded(const struct spawn *spawn, const struct zygote *zygote)
{
	for (int i = 0; i < ZYGOTES_MAX; i++) {
		const struct zygote *other = &spawn->nursery->zygotes[i];
		if (other->state == ZYGOTE_READY && other->born > zygote->born && same(other, zygote->image, zygote->preload))
			return true;
	}
	return false;
}

/* Does what is due for one; returns when to look again, -1: never. */
static int64_t
tick(struct spawn *spawn, struct zygote *zygote, int64_t now)
{
	const struct nursery *nursery = spawn->nursery;
	if (zygote->state == ZYGOTE_NONE)
		return -1;
	if (zygote->state == ZYGOTE_BROKEN) {
		if (zygote->deadline <= now)
			zygote->state = ZYGOTE_NONE;
		return -1; /* nobody waits for it: whoever comes next finds it gone */
	}
	if (zygote->state != ZYGOTE_READY) {
		if (zygote->deadline > now)
			return zygote->deadline;
		complain(zygote, "it was not ready in time");
		zygote_end(spawn, zygote, true);
		return -1;
	}
	bool busy = zygote->asked != zygote->taken;
	if (busy && zygote->waiting + TAKEN_MS <= now) {
		complain(zygote, "it is stuck");
		zygote_end(spawn, zygote, false);
		return -1;
	}
	/* What it forked last ends with it until that has entered its sandbox. */
	int64_t stays = succeeded(spawn, zygote) ? ENTER_MS : nursery->max_idle;
	if (!busy && zygote->used + stays <= now) {
		zygote_end(spawn, zygote, false);
		return -1;
	}
	if ((zygote->asked >= nursery->max_forks || zygote->born + nursery->max_age <= now) && !replaced(spawn, zygote))
		begin(spawn, zygote->image, zygote->preload);
	return busy ? zygote->waiting + TAKEN_MS : zygote->used + stays;
}

int
zygotes_tick(struct spawn *spawn)
{
	int64_t now = now_ms(), next = -1;
	for (int i = 0; i < ZYGOTES_MAX; i++) {
		int64_t due = tick(spawn, &spawn->nursery->zygotes[i], now);
		if (due >= 0 && (next < 0 || due < next))
			next = due;
	}
	return next < 0 ? -1 : next <= now ? 0 : (int)(next - now);
}

void
zygotes_end_all(struct spawn *spawn)
{
	for (int i = 0; i < ZYGOTES_MAX; i++)
		if (spawn->nursery->zygotes[i].state != ZYGOTE_NONE)
			zygote_end(spawn, &spawn->nursery->zygotes[i], false);
}
