/* What boxes have to do with volumes. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "boxes.h"

#define SPARES_MS 2000 /* loop devices and mounts are held by them */
#define SPARE_REAP_MS 20
#define VOLUME_MS 10000

/* Of those of a size the one that has had the most time to become ready; else any. */
static struct volume_spare *
oldest_spare(struct spawn *spawn, int64_t size)
{
	struct volume_spare *found = NULL;
	for (int i = 0; i < SPARES; i++) {
		struct volume_spare *next = &spawn->spares[i];
		if (next->pid > 0 && next->socket >= 0 && next->size == size && (found == NULL || next->since < found->since))
			found = next;
	}
	return found == NULL ? &spawn->spares[0] : found;
}

bool
boxes_start_mounter(struct spawn *spawn, int index, struct plan *plan, struct failure *failure)
{
	struct box *box = &spawn->boxes[index];
	struct volume_order order = {.size = plan->limits.disk};
	const char *lacking = spawn->volumes[0] == 0 ? "this server has no folder for volumes"
			    : spawn->ids.map != MAP_RANGE ? "only root can attach loop devices and map their owners" : NULL;
	if (lacking == NULL && box->volume[0] == 0 && !box->probe)
		lacking = "none was asked for";
	if (lacking != NULL) {
		measure_missing(&plan->measures, MEASURE_VOLUME, "%s: /workspace is in memory", lacking);
		bool needed = box->volume[0] != 0 || plan->overlay;
		return !needed || give_up(failure, KIND_UNSUPPORTED, "volume", 0, "no volumes here: %s", lacking);
	}
	snprintf(order.folder, sizeof order.folder, "%s", spawn->volumes);
	memcpy(order.id, box->volume, sizeof order.id);
	if (plan->overlay)
		snprintf(order.lower, sizeof order.lower, "%s", plan->image);
	/* A spare knows of no image. */
	box->mounter = plan->overlay ? 0 : volume_claim_spare(oldest_spare(spawn, order.size), &order, &plan->volume, plan->report);
	if (box->mounter == 0)
		box->mounter = volume_start_mounter(&order, &plan->volume, plan->report, failure);
	spawn->volume_size = order.size;
	return box->mounter > 0;
}

bool
boxes_volume_taken(struct spawn *spawn, const char *volume, struct failure *failure)
{
	for (int i = 0; volume[0] != 0 && i < spawn->used; i++) {
		const struct box *box = &spawn->boxes[i];
		if ((box->state == BOX_CREATING || box->state == BOX_RUNNING) && strcmp(box->volume, volume) == 0)
			return !give_up(failure, KIND_CONFLICT, "volume", 0, "the volume %s is in use by sandbox %s", volume, box->id);
	}
	return false;
}

bool
boxes_hold_volume(const struct spawn *spawn, int index)
{
	const struct box *box = &spawn->boxes[index];
	if (!box->attached || box->discarded || now_ms() - box->since > VOLUME_MS || !volume_in_use(spawn->volumes, box->volume))
		return false;
	for (int i = 0; i < spawn->used; i++)
		if (i != index && spawn->boxes[i].state != BOX_FREE && strcmp(spawn->boxes[i].volume, box->volume) == 0)
			return false; /* it may be that one's by now */
	return true;
}

void
boxes_discard(struct spawn *spawn, int index)
{
	struct box *box = &spawn->boxes[index];
	char image[HOST_PATH_MAX + VOLUME_ID_MAX + 8];
	snprintf(image, sizeof image, "%s/%s.img", spawn->volumes, box->volume);
	/* While it is in use, and kept so: to free a large file takes the kernel long. */
	if (box->state != BOX_LEAVING && box->attached && box->pidfd >= 0 && !box->ended && keep_volume(&box->kept, box->pid, image))
		box->discarded = unlink(image) == 0;
	boxes_destroy(spawn, index);
}

void
boxes_want_spares(struct spawn *spawn)
{
	int64_t now = now_ms();
	spawn->spares_wanted = now < spawn->spares_until ? SPARES : 1;
	spawn->spares_until = now + SPARES_MS;
	if (spawn->spares_due == 0)
		spawn->spares_due = now + STAND_BACK_MS;
}

void
boxes_hurry_spares(struct spawn *spawn)
{
	if (spawn->spares_due > 0)
		spawn->spares_due = now_ms();
}

static void
start_spares(struct spawn *spawn)
{
	int64_t now = now_ms();
	for (int i = 0; i < spawn->spares_wanted; i++)
		if (volume_start_spare(&spawn->spares[i], spawn->volumes, spawn->volume_size, spawn->spares_wanted == 1))
			spawn->spares[i].since = now;
	spawn->spares_due = 0;
}

int
boxes_spares_tick(struct spawn *spawn)
{
	int64_t now = now_ms(), left = spawn->spares_until - now;
	if (spawn->spares_due > 0 && spawn->spares_due <= now)
		start_spares(spawn);
	int wait = spawn->spares_due > 0 ? (int)(spawn->spares_due - now) : -1;
	for (int i = 0; i < SPARES; i++) {
		struct volume_spare *spare = &spawn->spares[i];
		if (spare->pid <= 0)
			continue;
		int next = (int)left;
		if (left <= 0 || spare->socket < 0) {
			volume_drop_spare(spare);
			next = spare->pid > 0 ? SPARE_REAP_MS : -1;
		}
		if (next >= 0 && (wait < 0 || next < wait))
			wait = next;
	}
	return wait;
}
