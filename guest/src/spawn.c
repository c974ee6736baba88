/* The spawn server: `guest spawn --run DIR --lib DIR [--volumes DIR] [--build ID]
 * [--uid-base N] [--foreground]`.
 *
 * One per run folder, of one thread: a child that has only one can be cloned from it safely. It outlives whoever started it,
 * and its sandboxes outlive it: a later one adopts them. */
#include "spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "guest.h"
#include "launch.h"
#include "jobs.h"
#include "owners.h"
#include "zygote.h"

#define EVENTS_MAX 64
#define UID_BASE 0x50000000u /* above what distributions give to users and systemd to containers by default */
#define LOCK_SECONDS 5
#define LEAVE_MS 15000 /* for what is under way to end, after which the next server has to see to it */
#define IDLE_MS 10000 /* without sandboxes and clients, after which the server ends by itself */

struct options {
	const char *run, *lib, *volumes, *build;
	uint32_t uid_base;
	uint32_t zygote_forks;
	int64_t zygote_age_ms, zygote_idle_ms;
	bool foreground;
};

static bool
parse_options(int argc, char **argv, struct options *options)
{
	*options = (struct options){.volumes = "", .build = "", .uid_base = UID_BASE, .zygote_forks = 1000, .zygote_age_ms = 3600000,
		.zygote_idle_ms = 600000};
	for (int i = 1; i < argc; i++) {
		const char *value = i + 1 < argc ? argv[i + 1] : NULL;
		if (strcmp(argv[i], "--foreground") == 0) {
			options->foreground = true;
			continue;
		}
		if (value == NULL)
			return false;
		if (strcmp(argv[i], "--run") == 0)
			options->run = value;
		else if (strcmp(argv[i], "--lib") == 0)
			options->lib = value;
		else if (strcmp(argv[i], "--volumes") == 0)
			options->volumes = value;
		else if (strcmp(argv[i], "--build") == 0)
			options->build = value;
		else if (strcmp(argv[i], "--uid-base") == 0)
			options->uid_base = (uint32_t)strtoul(value, NULL, 10);
		else if (strcmp(argv[i], "--zygote-forks") == 0)
			options->zygote_forks = (uint32_t)strtoul(value, NULL, 10);
		else if (strcmp(argv[i], "--zygote-age-ms") == 0)
			options->zygote_age_ms = strtoll(value, NULL, 10);
		else if (strcmp(argv[i], "--zygote-idle-ms") == 0)
			options->zygote_idle_ms = strtoll(value, NULL, 10);
		else
			return false;
		i++;
	}
	return options->run != NULL && options->lib != NULL && options->run[0] == '/' && options->lib[0] == '/'
		&& (options->volumes[0] == 0 || options->volumes[0] == '/');
}

/* A socket path must fit: the guest's is the longest, <run>/<id>/guest.sock. */
static bool
usable_run(const char *run)
{
	struct stat status;
	if (strlen(run) + sizeof "/" + 18 + sizeof "/guest.sock" > SOCKET_PATH_MAX) {
		fprintf(stderr, "carrel: the run folder's path is too long for sockets (%zu bytes, at most 76): %s\n", strlen(run), run);
		return false;
	}
	if (mkdir(run, 0700) != 0 && errno != EEXIST) {
		fprintf(stderr, "carrel: %s: %s\n", run, strerror(errno));
		return false;
	}
	if (stat(run, &status) != 0 || !S_ISDIR(status.st_mode) || status.st_uid != geteuid() || (status.st_mode & 077) != 0) {
		fprintf(stderr, "carrel: %s must be a folder of our own with mode 0700\n", run);
		return false;
	}
	return true;
}

static void
socket_address(const char *run, struct sockaddr_un *address)
{
	*address = (struct sockaddr_un){.sun_family = AF_UNIX};
	snprintf(address->sun_path, sizeof address->sun_path, "%.90s/spawn.sock", run);
}

static bool
somebody_serves(const char *run)
{
	struct sockaddr_un address;
	socket_address(run, &address);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool serves = fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0;
	if (fd >= 0)
		close(fd);
	return serves;
}

static void
on_alarm(int number)
{
	(void)number;
}

/* The lock, held for life. -1: somebody else has it and serves. -2: somebody has it and does not. */
static int
take_lock(const char *run)
{
	char path[HOST_PATH_MAX];
	snprintf(path, sizeof path, "%s/spawn.lock", run);
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return -2;
	if (flock(fd, LOCK_EX | LOCK_NB) == 0)
		return fd;
	if (!somebody_serves(run)) {
		/* One that is leaving still holds it for a moment. */
		struct sigaction action = {.sa_handler = on_alarm};
		sigaction(SIGALRM, &action, NULL);
		alarm(LOCK_SECONDS);
		int result = flock(fd, LOCK_EX);
		alarm(0);
		if (result == 0)
			return fd;
	}
	close(fd);
	return somebody_serves(run) ? -1 : -2;
}

static int
listen_on(const char *run)
{
	struct sockaddr_un address;
	socket_address(run, &address);
	unlink(address.sun_path); /* ours by the lock */
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof address) == 0 && listen(fd, CLIENTS_MAX) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* Leaves the caller: the first process ends when the server can be connected to, the server is nobody's child. */
static bool
daemonise(const char *run)
{
	char path[HOST_PATH_MAX];
	snprintf(path, sizeof path, "%s/spawn.log", run);
	int log = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (log < 0 || null < 0)
		return false;
	pid_t child = fork();
	if (child < 0)
		return false;
	if (child > 0)
		_exit(0);
	setsid();
	dup2(null, 0);
	dup2(log, 1);
	dup2(log, 2);
	close(null);
	close(log);
	return chdir("/") == 0;
}

/* Memory that children do not inherit. */
static void *
private_memory(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return memory == MAP_FAILED || madvise(memory, size, MADV_DONTFORK) != 0 ? NULL : memory;
}

static bool
prepare(struct spawn *spawn, const struct options *options)
{
	spawn->run = options->run;
	spawn->lib = options->lib;
	spawn->volumes = options->volumes;
	spawn->build = options->build;
	spawn->boxes = private_memory(BOXES_MAX * sizeof *spawn->boxes);
	spawn->details = private_memory(BOXES_MAX * sizeof *spawn->details);
	spawn->clients = private_memory(CLIENTS_MAX * sizeof *spawn->clients);
	spawn->owners = private_memory(OWNERS_MAX * sizeof *spawn->owners);
	spawn->nursery = private_memory(sizeof *spawn->nursery);
	spawn->jobs = private_memory(JOBS_MAX * sizeof *spawn->jobs);
	spawn->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (spawn->boxes == NULL || spawn->details == NULL || spawn->clients == NULL || spawn->owners == NULL || spawn->nursery == NULL
		|| spawn->jobs == NULL || spawn->epoll < 0 || !seccomp_prepare())
		return false;
	zygotes_open(spawn->nursery);
	spawn->nursery->max_forks = options->zygote_forks;
	spawn->nursery->max_age = options->zygote_age_ms;
	spawn->nursery->max_idle = options->zygote_idle_ms;
	for (int i = 0; i < CLIENTS_MAX; i++)
		spawn->clients[i].fd = -1;
	cgroup_detect(&spawn->cgroups, "/proc/self/mountinfo", "/proc/self/cgroup");
	id_pool_detect(&spawn->ids, options->uid_base);
	return true;
}

static bool
answers_pending(const struct spawn *spawn)
{
	for (int i = 0; i < CLIENTS_MAX; i++)
		if (spawn->clients[i].fd >= 0 && spawn->clients[i].writing)
			return true;
	return false;
}

/* Whoever removes the run folder removes the only way to its sandboxes: then they end too. */
static void
check_folder(struct spawn *spawn, int folder, int lock)
{
	char events[4096];
	struct stat status;
	while (read(folder, events, sizeof events) > 0)
		continue;
	if (fstat(lock, &status) != 0 || status.st_nlink > 0)
		return;
	for (int i = 0; i < spawn->used; i++)
		if (spawn->boxes[i].state != BOX_FREE)
			boxes_destroy(spawn, i);
	spawn->leaving = true;
}

/* Of two waits in milliseconds the shorter; -1 is for ever. */
static int
earlier(int a, int b)
{
	return a < 0 || (b >= 0 && b < a) ? b : a;
}

static void
serve(struct spawn *spawn, int signals, int folder, int lock)
{
	struct epoll_event events[EVENTS_MAX];
	int64_t until = 0;
	while (!spawn->leaving || (boxes_busy(spawn) && (until == 0 || now_ms() < until)) || jobs_busy(spawn) || answers_pending(spawn)) {
		int timeout = earlier(boxes_tick(spawn), boxes_freeze_tick(spawn));
		bool idle = timeout < 0 && spawn_idle(spawn, NULL);
		timeout = earlier(idle ? IDLE_MS : timeout, earlier(zygotes_tick(spawn), forks_tick(spawn)));
		timeout = earlier(timeout, earlier(boxes_spares_tick(spawn), blank_tick(spawn)));
		if (folder < 0)
			timeout = earlier(timeout, IDLE_MS); /* nobody tells when it is removed */
		bool expected = fork_expected(spawn);
		int count = epoll_wait(spawn->epoll, events, EVENTS_MAX, expected ? 0 : timeout);
		if (expected && count == 0)
			fork_prepare(spawn);
		if (idle && count == 0 && timeout == IDLE_MS && !expected)
			spawn->leaving = true;
		for (int i = 0; i < count; i++) {
			int index = (int)(uint32_t)events[i].data.u64;
			switch ((enum event_source)(events[i].data.u64 >> 32)) {
			case EVENT_LISTENER:
				clients_accept(spawn);
				break;
			case EVENT_CLIENT:
				client_ready(spawn, index, events[i].events);
				break;
			case EVENT_REPORT:
				boxes_on_report(spawn, index);
				break;
			case EVENT_PROCESS:
				boxes_on_process(spawn, index);
				break;
			case EVENT_ZYGOTE:
				zygote_ready(spawn, index);
				break;
			case EVENT_HOLDER:
				holder_ready(spawn, index);
				break;
			case EVENT_FORK:
				fork_ready(spawn, index);
				break;
			case EVENT_JOB:
				jobs_on_end(spawn, index);
				break;
			case EVENT_FOLDER:
				check_folder(spawn, folder, lock);
				break;
			case EVENT_SIGNAL:
				spawn->leaving = true;
				epoll_ctl(spawn->epoll, EPOLL_CTL_DEL, signals, NULL);
				break;
			default:
				break;
			}
		}
		if (folder < 0)
			check_folder(spawn, folder, lock);
		if (spawn->leaving) {
			zygotes_end_all(spawn);
			/* One that cannot be cleared away must not keep the next server from all others. */
			if (until == 0)
				until = now_ms() + LEAVE_MS;
		}
	}
}

/* TERM and INT end the server in order; its sandboxes go on. */
static int
watch_signals(struct spawn *spawn)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd >= 0 && spawn_watch(spawn, fd, EVENT_SIGNAL, 0, EPOLLIN) ? fd : -1;
}

/* -1: others of our user have all that the kernel gives it. */
static int
watch_folder(struct spawn *spawn)
{
	int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (fd < 0 || (inotify_add_watch(fd, spawn->run, IN_DELETE) >= 0 && spawn_watch(spawn, fd, EVENT_FOLDER, 0, EPOLLIN)))
		return fd;
	close(fd);
	return -1;
}

int
spawn_main(int argc, char **argv)
{
	static struct spawn spawn;
	struct options options;
	if (!parse_options(argc, argv, &options)) {
		fprintf(stderr,
			"usage: guest spawn --run DIR --lib DIR [--volumes DIR] [--build ID] [--uid-base N] [--zygote-forks N]"
			" [--zygote-age-ms N] [--zygote-idle-ms N] [--foreground]\n");
		return 2;
	}
	umask(077);
	if (!usable_run(options.run))
		return 1;
	int lock = take_lock(options.run);
	if (lock == -1)
		return 0;
	int listener = lock < 0 ? -1 : listen_on(options.run);
	if (listener < 0) {
		fprintf(stderr, "carrel: no lock or socket in %s: %s\n", options.run, strerror(errno));
		return 1;
	}
	if (!options.foreground && !daemonise(options.run)) {
		fprintf(stderr, "carrel: going to the background: %s\n", strerror(errno));
		return 1;
	}
	launch_remember_arguments();
	spawn.listener = listener;
	if (!prepare(&spawn, &options)) {
		fprintf(stderr, "carrel: starting: %s\n", strerror(errno));
		return 1;
	}
	int signals = watch_signals(&spawn);
	int folder = watch_folder(&spawn);
	if (signals < 0 || !spawn_watch(&spawn, listener, EVENT_LISTENER, 0, EPOLLIN))
		return 1;
	blank_open(&spawn);
	owners_adopt(&spawn);
	boxes_adopt(&spawn);
	serve(&spawn, signals, folder, lock);
	blank_close(&spawn);
	if (spawn.used == 0)
		owners_release(&spawn);
	/* Before the lock goes: the socket that the next server makes must not be removed. */
	struct stat status;
	struct sockaddr_un address;
	socket_address(options.run, &address);
	if (fstat(lock, &status) == 0 && status.st_nlink > 0)
		unlink(address.sun_path);
	return 0;
}
