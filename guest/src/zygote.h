/* Zygotes: interpreters that have started, imported and warmed up, and fork ready kernels into sandboxes of their image.
 *
 *   none ──first use──► MOVING_IN ──its template runs──► WARMING ──it says so──► READY ──old, used often──► replaced
 *                           └──────────fails──────────────┴─► BROKEN, for a while          └─idle, stuck, dead─► none
 *
 * A zygote lives in a *template*: a sandbox like any other, whose mounts, network, ipc, host name and control groups it
 * shares, but not its pid and user namespaces. On the host it has the id that owns its image's sandboxes (owners.h) and no
 * capability, so the kernel lets its forks enter those and nothing else. Nobody's code runs in it but the image's. */
#ifndef CARREL_ZYGOTE_H
#define CARREL_ZYGOTE_H

#include "clients.h"
#include "passing.h"

#define ZYGOTES_MAX 32
#define HOLDERS_MAX 128
#define PRELOAD_MAX 12

enum zygote_state { ZYGOTE_NONE, ZYGOTE_MOVING_IN, ZYGOTE_WARMING, ZYGOTE_READY, ZYGOTE_BROKEN };

struct zygote {
	enum zygote_state state;
	char preload[PRELOAD_MAX];
	char image[HOST_PATH_MAX];
	int box;	  /* its template */
	int control;	  /* requests, and what becomes of them; its end is the zygote's */
	int life;	  /* the holder ends the zygote when this is closed */
	int64_t deadline; /* MOVING_IN and WARMING: ready by then; BROKEN: tried again after it */
	int64_t born, used;
	int64_t waiting; /* since when one is awaited that takes the next request */
	unsigned asked, taken, failed;
};

/* The parent of a zygote and reaper of the keepers it leaves behind: see zygote_start.c. */
struct holder {
	pid_t pid; /* 0: free */
	int pidfd;
};

/* A FORK that waits for its sandbox's guest; one for each client. */
struct adoption {
	int guest; /* connection, -1: none */
	int64_t deadline;
};

/* Descriptors on their way to somebody else. */
struct ways {
	int fds[PASSED_AT_ONCE];
	int count;
};

/* What a fork into a sandbox needs: streams for the kernel and for the guest, and the ways in, which go to the kernel too. */
struct doors {
	int box; /* -1: none are open */
	struct ways kernel, guest;
	char names[64]; /* of the namespaces, in their order */
	int groups;
	bool landlock;
};

struct nursery {
	unsigned max_forks;	   /* of one zygote, after which it is replaced */
	int64_t max_age, max_idle; /* milliseconds */
	struct zygote zygotes[ZYGOTES_MAX];
	struct holder holders[HOLDERS_MAX];
	struct adoption adoptions[CLIENTS_MAX];
	int expected;	    /* the sandbox that is most likely to be entered next; -1: none, or its doors are open */
	struct doors ahead; /* of that one */
};

/* Preloads that a zygote can have. */
bool preload_known(const char *preload);

/* The ready zygote of an image and preload; NULL when there is none yet: then one is on its way, or `reason` says why not. */
struct zygote *zygote_for(struct spawn *spawn, const char *image, const char *preload, const char **reason);

/* It was sent a request. */
void zygote_asked(struct spawn *spawn, struct zygote *zygote);

/* Ends one, and whatever it was doing. */
void zygote_end(struct spawn *spawn, struct zygote *zygote, bool broken);

void zygote_ready(struct spawn *spawn, int index);
void holder_ready(struct spawn *spawn, int index);

/* A template came to RUNNING, or is gone. */
void zygotes_on_box(struct spawn *spawn, int index, bool running);

void zygotes_open(struct nursery *nursery);
int zygotes_tick(struct spawn *spawn);
void zygotes_end_all(struct spawn *spawn);

/* zygote_start.c: starts the process in its template. */
bool zygote_start(struct spawn *spawn, struct zygote *zygote);

/* fork.c: serves FORK; the answer may come later. */
void fork_serve(struct spawn *spawn, struct client *client, struct bytes payload);
void fork_ready(struct spawn *spawn, int index);
void fork_abandon(struct spawn *spawn, int index);
int forks_tick(struct spawn *spawn);

/* Of a sandbox that was just made: whoever asked for it wants an interpreter in it next, where others of its image are in use.
 * Its doors are opened by fork_prepare, when there is nothing else to do. Whatever ends it must have them closed: they keep
 * its namespaces. */
void fork_expect(struct spawn *spawn, int index);
bool fork_expected(const struct spawn *spawn);
void fork_prepare(struct spawn *spawn);
void fork_forget(struct spawn *spawn, int index);
/* To be called before a child is cloned that closes what it inherits only later. */
void fork_shut(struct spawn *spawn);

/* For fork.c and zygote_start.c: opens the ways into control groups, to each of which `0` is to be written. */
int groups_open(const struct hierarchies *groups, int fds[CG_COUNT]);

#endif
