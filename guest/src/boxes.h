/* The sandboxes that this server knows, and what may happen to each:
 *
 *   CREATING ──ready──► RUNNING ──its PID 1 ends──► DEAD
 *       └─fails, stuck, asker gone──┐  └──destroy──┐   │
 *                                   └──► LEAVING ◄─┴───┘──► forgotten, when process, groups and folder are gone
 */
#ifndef CARREL_BOXES_H
#define CARREL_BOXES_H

#include "blank.h"
#include "closer.h"
#include "idmap.h"
#include "spawn.h"
#include "volume.h"

#define BOXES_MAX SLOTS_MAX
#define SPARES 3 /* to make a volume takes as long as two creates */

enum box_state { BOX_FREE, BOX_CREATING, BOX_RUNNING, BOX_DEAD, BOX_LEAVING };

struct box {
	char id[ID_MAX];
	enum box_state state;
	bool probe;   /* made only to see what would be applied */
	bool template; /* where a zygote lives: no sandbox of anybody's */
	bool adopted; /* not our child: it was started by an earlier server */
	bool failed;  /* its creation did; details->failure says how */
	bool ended;   /* its process did */
	bool status_known;
	int status; /* as from waitpid */
	pid_t pid;
	pid_t mapper;
	pid_t mounter; /* attaches its volume; 0: none, or done */
	char volume[VOLUME_ID_MAX];
	bool attached; /* it got its volume, so the lock on it may be its own */
	bool discarded; /* its volume went with it */
	struct kept kept;
	int pidfd;
	int report;
	int slot;
	int64_t deadline; /* CREATING: give up then; LEAVING: look again then */
	int64_t since;	  /* LEAVING: start of it */
	uint64_t start;	  /* of its process: see process_start */
	bool paused;
	bool frozen;
	int holds;		 /* copies that need it to stand still */
	int64_t freeze_deadline; /* told to freeze and not frozen yet: give up then; 0: neither */
};

/* What is looked at seldom. */
struct box_details {
	char image[HOST_PATH_MAX];
	uid_t owner;
	struct limits limits;
	struct measures measures;
	struct hierarchies groups;
	struct failure failure;
};

struct create_request {
	char id[ID_MAX];
	char image[HOST_PATH_MAX];
	char egress[HOST_PATH_MAX];
	char volume[VOLUME_ID_MAX];
	struct limits limits;
	uint32_t allow_missing;
	bool probe;
	bool template;
	bool overlay;  /* a root that may be written to */
	bool isolated; /* nobody but the guest may ever start a process in it: no zygote's fork */
};

/* The server's own knowledge. The tables lie in memory that children do not get: a guest must know of no other sandbox. */
struct spawn {
	const char *run, *lib, *build;
	const char *volumes; /* "": none here */
	int epoll;
	int listener;
	bool full; /* no room for another client: the listener is not watched */
	bool leaving; /* asked to end: no more creates */
	struct cgroup_host cgroups;
	struct id_pool ids;
	struct box *boxes;
	struct box_details *details;
	struct client *clients;
	struct owner *owners;
	struct nursery *nursery;
	struct job *jobs;
	struct closers closers;
	struct blank blank;
	struct volume_spare spares[SPARES];
	int64_t spares_until; /* by now_ms, when they are dropped if nobody claims them */
	int64_t spares_due; /* when those that are wanted are made; 0: none is */
	int spares_wanted;
	int64_t volume_size; /* what was asked for last */
	int used; /* boxes beyond this one were never used */
};

enum event_source {
	EVENT_LISTENER,
	EVENT_CLIENT,
	EVENT_REPORT,
	EVENT_PROCESS,
	EVENT_SIGNAL,
	EVENT_FOLDER,
	EVENT_ZYGOTE,
	EVENT_HOLDER,
	EVENT_FORK,
	EVENT_JOB,
};

int64_t now_ms(void);
bool spawn_watch(struct spawn *spawn, int fd, enum event_source source, int index, uint32_t events);
/* Closes a watched descriptor. Closing alone would not do: a child that was just cloned may hold it too, and as long as it
 * does the kernel goes on telling of it, under an index that may belong to somebody else by then. */
void spawn_unwatch(struct spawn *spawn, int *fd);

int boxes_find(const struct spawn *spawn, const char *id);
/* Starts a sandbox: its index, or -1 with the failure and nothing left behind. The outcome comes by boxes_settled. */
int boxes_create(struct spawn *spawn, const struct create_request *request, struct failure *failure);
void boxes_destroy(struct spawn *spawn, int index);
void boxes_on_report(struct spawn *spawn, int index);
void boxes_on_process(struct spawn *spawn, int index);
/* Does what is due; returns the milliseconds until something else will be, -1: nothing. */
int boxes_tick(struct spawn *spawn);
/* Takes over what an earlier server left in the run folder, and sweeps what is dead. */
void boxes_adopt(struct spawn *spawn);
/* True while a create or destroy is under way. */
bool boxes_busy(const struct spawn *spawn);

/* boxes_freeze.c. A box stands still while it is paused or held; boxes_stopped tells when it does, or why it cannot.
 * Pausing is remembered on disk, a hold is not: the next server lets go on what was only held. */
bool boxes_pause(struct spawn *spawn, int index, struct failure *failure);
void boxes_resume(struct spawn *spawn, int index);
bool boxes_hold(struct spawn *spawn, int index, struct failure *failure);
void boxes_release(struct spawn *spawn, int index);
/* After adoption: puts the kernel's state in line with what was asked for last. */
void boxes_refreeze(struct spawn *spawn, int index);
/* As boxes_tick. */
int boxes_freeze_tick(struct spawn *spawn);

/* boxes_volume.c. Lets a volume be attached beside the child's own work; a probe tries it where it may work. */
bool boxes_start_mounter(struct spawn *spawn, int index, struct plan *plan, struct failure *failure);
/* A quick answer where the table knows it; the lock on the image is what really keeps others out. */
bool boxes_volume_taken(struct spawn *spawn, const char *volume, struct failure *failure);
/* True while the loop device of a dead box still has its image: for others it is not free yet, so the box is not gone. Not
 * for ever: the lock could be that of a stranger who mounted it by hand. */
bool boxes_hold_volume(const struct spawn *spawn, int index);
/* As boxes_destroy; its volume, if it has one, goes with it. */
void boxes_discard(struct spawn *spawn, int index);
/* Makes volumes ahead: whoever makes one sandbox with a volume may soon make another, and who made two more of them. Soon;
 * at once when a sandbox goes. */
void boxes_want_spares(struct spawn *spawn);
void boxes_hurry_spares(struct spawn *spawn);
/* As boxes_tick, for that. */
int boxes_spares_tick(struct spawn *spawn);

/* Writes what is known of a running box to its folder. */
bool boxes_record(const struct spawn *spawn, int index, struct failure *failure);

/* Told by boxes_freeze.c, known by clients.c and jobs.c: the box stands still, or (with the failure) cannot be made to. */
void boxes_stopped(struct spawn *spawn, int index, const struct failure *failure);

/* Told by boxes.c, known by clients.c: the box came to RUNNING, or is about to be forgotten. */
void boxes_settled(struct spawn *spawn, int index);

#endif
