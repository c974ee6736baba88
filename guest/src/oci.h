/* Sandboxes that other programs make: OCI runtimes (oci.c, oci_overlay.c), daemons of containers, and what the guest then does to itself
 * (own_ids.c, confine_self.c). */
#ifndef CARREL_OCI_H
#define CARREL_OCI_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct failure;

/* `guest oci run|delete …`: see oci.c. */
int oci_main(int argc, char **argv);

/* `guest oci ids`: prints which ids sandboxes of a server that is not root get, "slice" or "one" with the reason. */
int oci_ids_main(void);

/* Becomes root of a user namespace whose ids are of that kind: see oci_ids.c. `folder` is the sandbox's own. */
bool oci_take_ids(const char *kind, const char *folder, struct failure *failure);

/* Gives a folder to the sandbox's id 0, and lets the server's user, its group, in too; nothing where there is one id. */
bool oci_share_folder(const char *path, struct failure *failure);

/* Lets other sandboxes have the ids. */
void oci_leave_ids(void);

/* Leaves for a user namespace that has one id, the outside's under another number. False with errno. */
bool take_one_id(uint32_t inside, uint32_t outside_uid, uint32_t outside_gid);

/* `guest volume copy|place …`: see oci_volume.c. */
int volume_main(int argc, char **argv);

/* Leaves the host's ids: a user namespace whose 65536 ids begin at the host's `base`, and us its root. False with the reason
 * printed. */
bool take_own_ids(uint32_t base);

/* Lets the owners of a mount that is attached to nothing yet be the 65536 ids from the host's `base` on. */
bool volume_map_owners(int tree, int64_t base, struct failure *failure);

/* A root on the stage of a runtime that may be written to, beside its /workspace. */
struct overlay_order {
	const char *id, *stage;
	const char *lower; /* the image's folder */
	const char *first; /* a folder that lies over it; NULL: none */
	int64_t base;	   /* as below; negative: ids are the host's */
};

/* Puts <stage>/root and <stage>/workspace there, out of a divided volume that is attached to nothing yet. */
bool oci_overlay(const struct overlay_order *order, int volume, struct failure *failure);

/* Lets the 65536 ids of a process's new user namespace begin at the host's `base`. */
bool map_ids_of(pid_t process, int64_t base);

/* Confines the calling process as the launcher confines a sandbox (Landlock, capabilities, system calls) and writes what was
 * applied to the open file `report`, a line per measure as in spawn-protocol.md; with `overlay` commands are root inside, with
 * `one_id` they are who we are. False when a measure that `allowed` (names, comma-separated) does not excuse is missing; the
 * reason was printed. */
bool confine_self(const char *allowed, bool overlay, bool one_id, int report);

#endif
