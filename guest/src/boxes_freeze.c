/* Making a box stand still. The kernel takes its time, so this too goes by the clock: ask, look, look again. */
#include <errno.h>
#include <signal.h>

#include "boxes.h"

#define FREEZE_MS 5000 /* for a process in an uninterruptible wait; usually it takes less than one */
#define LOOK_MS 1

static void
let_go(struct spawn *spawn, int index)
{
	struct box *box = &spawn->boxes[index];
	cgroup_thaw(&spawn->details[index].groups);
	box->frozen = false;
	box->freeze_deadline = 0;
}

static void
look(struct spawn *spawn, int index)
{
	struct box *box = &spawn->boxes[index];
	const struct hierarchies *groups = &spawn->details[index].groups;
	if (box->freeze_deadline == 0)
		return;
	if (!cgroup_frozen(groups)) {
		/* Version 1 tells each process once. One that was about to wait for the child of a vfork then waits on, for a child that
		 * stands still. */
		cgroup_freeze(groups);
		return;
	}
	box->frozen = true;
	box->freeze_deadline = 0;
}

/* Asks for it, unless it stands still already or was asked to. */
static bool
freeze(struct spawn *spawn, int index, struct failure *failure)
{
	struct box *box = &spawn->boxes[index];
	if (box->frozen || box->freeze_deadline != 0)
		return true;
	if (!cgroup_freeze(&spawn->details[index].groups))
		return give_up(failure, KIND_UNSUPPORTED, "freezer", errno, "this sandbox cannot be made to stand still");
	box->freeze_deadline = now_ms() + FREEZE_MS;
	look(spawn, index);
	return true;
}

bool
boxes_pause(struct spawn *spawn, int index, struct failure *failure)
{
	struct box *box = &spawn->boxes[index];
	if (box->paused)
		return true;
	/* Written first: a server that ends in between is followed by one that finishes it. */
	box->paused = true;
	if (boxes_record(spawn, index, failure) && freeze(spawn, index, failure))
		return true;
	struct failure ignored;
	box->paused = false;
	boxes_record(spawn, index, &ignored);
	return false;
}

void
boxes_resume(struct spawn *spawn, int index)
{
	struct box *box = &spawn->boxes[index];
	if (!box->paused)
		return;
	box->paused = false;
	/* A full disk must not keep it standing still. Should the server end before this is written, the next one finds it paused,
	 * and whoever owns it knows better. */
	struct failure unwritten;
	boxes_record(spawn, index, &unwritten);
	if (box->holds > 0)
		return; /* the last copy lets it go on */
	struct failure resumed;
	bool pending = box->freeze_deadline != 0;
	let_go(spawn, index);
	give_up(&resumed, KIND_CONFLICT, "freezer", 0, "the sandbox was resumed meanwhile");
	if (pending)
		boxes_stopped(spawn, index, &resumed);
}

bool
boxes_hold(struct spawn *spawn, int index, struct failure *failure)
{
	if (!freeze(spawn, index, failure))
		return false;
	spawn->boxes[index].holds++;
	return true;
}

void
boxes_release(struct spawn *spawn, int index)
{
	struct box *box = &spawn->boxes[index];
	if (--box->holds == 0 && !box->paused)
		let_go(spawn, index);
}

void
boxes_refreeze(struct spawn *spawn, int index)
{
	struct failure failure;
	if (!spawn->boxes[index].paused)
		let_go(spawn, index);
	else if (!freeze(spawn, index, &failure))
		spawn->boxes[index].paused = false;
}

int
boxes_freeze_tick(struct spawn *spawn)
{
	int64_t now = now_ms();
	bool more = false;
	for (int i = 0; i < spawn->used; i++) {
		struct box *box = &spawn->boxes[i];
		struct failure failure;
		if (box->state == BOX_DEAD && box->freeze_deadline != 0) {
			/* Its process ended meanwhile, and whoever waits for it to stand still would wait for ever. */
			give_up(&failure, KIND_CONFLICT, "freezer", 0, "the sandbox %s has ended meanwhile", box->id);
			let_go(spawn, i);
			boxes_stopped(spawn, i, &failure);
		}
		if (box->state != BOX_RUNNING || box->freeze_deadline == 0)
			continue;
		look(spawn, i);
		if (box->frozen) {
			boxes_stopped(spawn, i, NULL);
		} else if (box->freeze_deadline <= now) {
			give_up(&failure, KIND_ENGINE, "freezer", ETIMEDOUT, "a process of %s does not stop: it runs on", box->id);
			box->paused = false;
			let_go(spawn, i);
			struct failure ignored;
			boxes_record(spawn, i, &ignored);
			boxes_stopped(spawn, i, &failure);
		} else {
			more = true;
		}
	}
	return more ? LOOK_MS : -1;
}
