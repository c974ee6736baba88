/* Sandboxes that other programs make: OCI runtimes (oci.c), daemons of containers, and what the guest then does to itself
 * (own_ids.c, confine_self.c). */
#ifndef CARREL_OCI_H
#define CARREL_OCI_H

#include <stdbool.h>
#include <stdint.h>

/* `guest oci run|delete …`: see oci.c. */
int oci_main(int argc, char **argv);

/* `guest volume copy|place …`: see oci_volume.c. */
int volume_main(int argc, char **argv);

/* Leaves the host's ids: a user namespace whose 65536 ids begin at the host's `base`, and us its root. False with the reason
 * printed. */
bool take_own_ids(uint32_t base);

/* Lets the owners of a mount that is attached to nothing yet be the 65536 ids from the host's `base` on. */
struct failure;
bool volume_map_owners(int tree, int64_t base, struct failure *failure);

/* Confines the calling process as the launcher confines a sandbox (Landlock, capabilities, system calls) and writes what was
 * applied to the open file `report`, a line per measure as in spawn-protocol.md. False when a measure that `allowed` (names,
 * comma-separated) does not excuse is missing; the reason was printed. */
bool confine_self(const char *allowed, int report);

#endif
