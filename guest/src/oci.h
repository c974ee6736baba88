/* Sandboxes that other programs make: OCI runtimes (oci.c) and what the guest then does to itself (confine_self.c). */
#ifndef CARREL_OCI_H
#define CARREL_OCI_H

#include <stdbool.h>

/* `guest oci run|delete …`: see oci.c. */
int oci_main(int argc, char **argv);

/* `guest volume copy …`: see oci_volume.c. */
int volume_main(int argc, char **argv);

/* Confines the calling process as the launcher confines a sandbox (Landlock, capabilities, system calls) and writes what was
 * applied to the open file `report`, a line per measure as in spawn-protocol.md. False when a measure that `allowed` (names,
 * comma-separated) does not excuse is missing; the reason was printed. */
bool confine_self(const char *allowed, int report);

#endif
