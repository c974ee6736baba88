/* Jobs: a fork each, watched by its pidfd. What fails is said over a pipe that is read when the process has ended. */
#include "jobs.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "syscalls.h"
#include "volume.h"

#define JOB_SECONDS 600
#define LIMIT_SECONDS 8 /* whoever asks is gone after ten, and there are few places */
#define AGAIN_SECONDS 5

bool
jobs_busy(const struct spawn *spawn)
{
	for (int i = 0; i < JOBS_MAX; i++)
		if (spawn->jobs[i].kind != JOB_FREE)
			return true;
	return false;
}

static struct job *
take_job(struct spawn *spawn, enum job_kind kind, int client, int box, struct failure *failure)
{
	/* A removal is short, and whoever waits for it ends a sandbox: copies never keep it from a place. */
	int places = kind == JOB_REMOVE ? JOBS_MAX : JOBS_MAX - JOBS_FOR_REMOVALS;
	for (int i = 0; i < places; i++) {
		struct job *job = &spawn->jobs[i];
		if (job->kind != JOB_FREE)
			continue;
		*job = (struct job){.kind = kind, .client = client, .box = box, .pidfd = -1, .words = -1};
		return job;
	}
	give_up(failure, KIND_BUSY, "jobs", 0, "%d copies, removals and changes of limits are under way: try again", places);
	return NULL;
}

/* Everything the process needs, on the stack of whoever forks it: the server's tables are not inherited. */
struct task {
	enum job_kind kind;
	struct volume_copy copy;
	struct limits old, limits;
	struct hierarchies groups;
	int words;
	pid_t server;
};

/* Only wakes: the kernel takes memory back for as long as there is some, and stops for a signal. A change is then undone and
 * refused, which its default action would leave half done. Once more, should it have come between two calls. */
static void
on_alarm(int number)
{
	(void)number;
	alarm(AGAIN_SECONDS);
}

static _Noreturn void
work(const struct task *task)
{
	static struct failure failure;
	int words = fcntl(task->words, F_DUPFD_CLOEXEC, 4);
	if (words < 0 || dup3(words, 3, O_CLOEXEC) < 0 || k_close_range(4, ~0u) != 0)
		_exit(2);
	/* Without the server nobody keeps the sandbox still: a copy must not go on then. The others may. */
	if (task->kind == JOB_COPY && (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0 || getppid() != task->server))
		_exit(2);
	if (task->kind == JOB_LIMIT)
		sigaction(SIGALRM, &(struct sigaction){.sa_handler = on_alarm}, NULL);
	alarm(task->kind == JOB_LIMIT ? LIMIT_SECONDS : JOB_SECONDS);
	bool good = task->kind == JOB_COPY ? volume_copy(&task->copy, &failure)
		: task->kind == JOB_REMOVE ? volume_remove(task->copy.folder, task->copy.from, &failure)
					   : cgroup_change(&task->groups, &task->old, &task->limits, &failure);
	_exit(good || !write_all(3, &failure, sizeof failure) ? !good : 1);
}

static bool
start(struct spawn *spawn, struct job *job, struct failure *failure)
{
	struct task task = {.kind = job->kind, .limits = job->limits, .server = getpid()};
	int words[2];
	if (job->box >= 0) {
		task.groups = spawn->details[job->box].groups;
		task.old = spawn->details[job->box].limits;
		task.copy.pid = spawn->boxes[job->box].pid;
		task.copy.start = spawn->boxes[job->box].start;
	}
	snprintf(task.copy.folder, sizeof task.copy.folder, "%s", spawn->volumes);
	memcpy(task.copy.from, job->from, sizeof job->from);
	memcpy(task.copy.to, job->to, sizeof job->to);
	if (pipe2(words, O_CLOEXEC | O_NONBLOCK) != 0)
		return give_up(failure, KIND_ENGINE, "jobs", errno, "pipe");
	task.words = words[1];
	pid_t pid = fork();
	if (pid == 0)
		work(&task); /* which must not touch the job: the table is not there */
	int error = errno;
	job->pid = pid;
	close(words[1]);
	job->words = words[0];
	job->pidfd = job->pid < 0 ? -1 : k_pidfd_open(job->pid);
	if (job->pidfd >= 0 && spawn_watch(spawn, job->pidfd, EVENT_JOB, (int)(job - spawn->jobs), EPOLLIN))
		return true;
	if (job->pid > 0) {
		kill(job->pid, SIGKILL);
		waitpid(job->pid, NULL, 0);
	}
	return give_up(failure, KIND_ENGINE, "jobs", error, "fork");
}

/* Frees the entry and tells who waits. The box may go on. */
static void
finish(struct spawn *spawn, struct job *job, const struct failure *failure)
{
	struct job done = *job;
	spawn_unwatch(spawn, &job->pidfd);
	if (job->words >= 0)
		close(job->words);
	job->kind = JOB_FREE;
	if (done.kind == JOB_COPY && done.box >= 0)
		boxes_release(spawn, done.box);
	if (done.client >= 0)
		client_job_done(spawn, done.client, done.kind == JOB_LIMIT ? done.box : -1, failure);
}

static bool
start_or_forget(struct spawn *spawn, struct job *job, struct failure *failure)
{
	if (start(spawn, job, failure))
		return true;
	job->client = -1;
	finish(spawn, job, failure);
	return false;
}

bool
jobs_copy(struct spawn *spawn, int client, const char *from, const char *to, struct failure *failure)
{
	int box = -1;
	for (int i = 0; i < spawn->used; i++)
		if (spawn->boxes[i].state == BOX_RUNNING && strcmp(spawn->boxes[i].volume, from) == 0)
			box = i;
	if (box >= 0)
		boxes_on_process(spawn, box);
	if (box >= 0 && spawn->boxes[box].state != BOX_RUNNING)
		box = -1; /* it has just ended, and lets go of the image by itself */
	struct job *job = take_job(spawn, JOB_COPY, client, box, failure);
	if (job == NULL)
		return false;
	snprintf(job->from, sizeof job->from, "%s", from);
	snprintf(job->to, sizeof job->to, "%s", to);
	if (box >= 0 && !boxes_hold(spawn, box, failure)) {
		job->kind = JOB_FREE;
		return false;
	}
	return (box >= 0 && !spawn->boxes[box].frozen) || start_or_forget(spawn, job, failure);
}

bool
jobs_remove(struct spawn *spawn, int client, const char *id, struct failure *failure)
{
	struct job *job = take_job(spawn, JOB_REMOVE, client, -1, failure);
	if (job == NULL)
		return false;
	snprintf(job->from, sizeof job->from, "%s", id);
	return start_or_forget(spawn, job, failure);
}

void
jobs_box_stopped(struct spawn *spawn, int box, const struct failure *failure)
{
	for (int i = 0; i < JOBS_MAX; i++) {
		struct job *job = &spawn->jobs[i];
		struct failure cannot;
		if (job->kind != JOB_COPY || job->box != box || job->pid != 0)
			continue;
		if (failure != NULL)
			finish(spawn, job, failure);
		else if (!start(spawn, job, &cannot))
			finish(spawn, job, &cannot);
	}
}

bool
jobs_limit(struct spawn *spawn, int client, int box, const struct limits *limits, struct failure *failure)
{
	for (int i = 0; i < JOBS_MAX; i++)
		if (spawn->jobs[i].kind == JOB_LIMIT && spawn->jobs[i].box == box)
			return give_up(failure, KIND_CONFLICT, "limits", 0, "another change of its limits is under way");
	const struct limits *now = &spawn->details[box].limits;
	struct limits settled = {.memory = limits->memory, .disk = now->disk};
	limits_settle(&settled);
	if (spawn->boxes[box].volume[0] == 0 && settled.disk < now->disk)
		return give_up(failure, KIND_CONFLICT, "limits", 0,
			"its /workspace is in memory and may take %lld MiB: %lld MiB of memory are too few for that",
			(long long)(now->disk >> 20), (long long)(limits->memory >> 20));
	struct job *job = take_job(spawn, JOB_LIMIT, client, box, failure);
	if (job == NULL)
		return false;
	job->limits = (struct limits){.memory = limits->memory, .cpu = limits->cpu, .pids = limits->pids, .disk = now->disk,
		.nofile = now->nofile};
	return start_or_forget(spawn, job, failure);
}

void
jobs_on_end(struct spawn *spawn, int index)
{
	struct job *job = &spawn->jobs[index];
	struct failure failure;
	int status;
	if (job->kind == JOB_FREE || waitpid(job->pid, &status, WNOHANG) != job->pid)
		return;
	bool good = WIFEXITED(status) && WEXITSTATUS(status) == 0;
	if (job->abandoned)
		good = give_up(&failure, KIND_CONFLICT, "state", 0, "the sandbox was destroyed meanwhile");
	else if (!good && read(job->words, &failure, sizeof failure) != (ssize_t)sizeof failure)
		give_up(&failure, KIND_ENGINE, "jobs", 0, "what did it ended with status %d", status);
	if (good && job->kind == JOB_LIMIT && job->box >= 0) {
		struct failure unrecorded;
		spawn->details[job->box].limits = job->limits;
		cgroup_describe(&job->limits, &spawn->details[job->box].measures);
		/* They are in force; the next server reads them from the kernel. */
		if (!boxes_record(spawn, job->box, &unrecorded))
			fprintf(stderr, "carrel: %s\n", unrecorded.message);
	}
	finish(spawn, job, good ? NULL : &failure);
}

/* Ends a job. A process that was started is waited for by its pidfd; what only waits is over at once. */
static void
abandon(struct spawn *spawn, struct job *job)
{
	struct failure gone;
	job->abandoned = true;
	if (job->pid > 0) {
		kill(job->pid, SIGKILL);
		return;
	}
	give_up(&gone, KIND_CONFLICT, "state", 0, "the sandbox was destroyed meanwhile");
	finish(spawn, job, &gone);
}

void
jobs_abandon_client(struct spawn *spawn, int client)
{
	for (int i = 0; i < JOBS_MAX; i++) {
		struct job *job = &spawn->jobs[i];
		if (job->kind == JOB_FREE || job->client != client)
			continue;
		job->client = -1;
		if (job->kind == JOB_COPY) /* the others are finished, since they may be half done */
			abandon(spawn, job);
	}
}

void
jobs_abandon_box(struct spawn *spawn, int box)
{
	for (int i = 0; i < JOBS_MAX; i++) {
		struct job *job = &spawn->jobs[i];
		if (job->kind == JOB_FREE || job->box != box)
			continue;
		job->box = -1; /* its place may soon be another's */
		abandon(spawn, job);
	}
}
