/* Which host ids the sandboxes of this host get. */
#ifndef CARREL_IDMAP_H
#define CARREL_IDMAP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "spawn.h"

#define SLOTS_MAX 4096

/* A stretch of ids cut into slots, one per sandbox. The registry is one folder per host (or per user) with a file of records
 * that say who holds which slot, so that two spawn servers never give the same ids out. Records and not links: those would
 * be a new inode for every sandbox, which is dear where /run is on a disk. */
struct id_pool {
	enum map_kind map;
	uint32_t uid_base, gid_base;
	uint32_t ids; /* per slot */
	int slots;
	char registry[64];
	char reason[DETAIL_MAX]; /* why it is not better; "" when it is the best there is */
};

void id_pool_detect(struct id_pool *pool, uint32_t base);

/* Takes a slot for <run>/<id>, which must exist already: the slot of a folder that is gone is free again. -1: none left. */
int id_pool_claim(const struct id_pool *pool, const char *run, const char *id);
/* Makes a slot that is ours that of another folder of ours. */
bool id_pool_move(const struct id_pool *pool, int slot, const char *run, const char *id);
/* Takes the slot that <run>/<id> had, if nobody else has it by now: the registry does not outlive the host's run, folders may. */
bool id_pool_keep(const struct id_pool *pool, int slot, const char *run, const char *id);
/* Gives a slot of <run>/<id> back. If the folder went first, it may be another's already, and stays that. */
void id_pool_release(const struct id_pool *pool, int slot, const char *run, const char *id);

/* The host's id that is 0 in a sandbox with this slot. No process outside of it ever has it. */
uid_t id_pool_first(const struct id_pool *pool, int slot);

/* Says in the measures what ids a sandbox of this pool has. */
void id_pool_describe(const struct id_pool *pool, int slot, struct measures *measures);

/* Sets the maps of a waiting child and lets it go by a byte on `sync`. With subordinate ids that takes other programs: then
 * *mapper is the process that does it, to be reaped, and a failure comes over `report`. */
bool id_map(const struct id_pool *pool, int slot, pid_t child, int sync, int report, pid_t *mapper, struct failure *failure);

/* Sets the maps of a process that waits in a new user namespace: 0 is our own id, and 1 to 3 are the slot's. */
bool id_map_behind(const struct id_pool *pool, int slot, pid_t process);

#endif
