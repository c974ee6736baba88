/* Who owns the user namespaces of an image's sandboxes: a host id of the image's own. Whoever has that id on the host may
 * enter exactly those sandboxes, by the kernel's rule for owners; the image's zygotes have it, and nobody else ever does. */
#ifndef CARREL_OWNERS_H
#define CARREL_OWNERS_H

#include "boxes.h"

#define OWNERS_MAX 128

struct owner {
	bool used;
	int slot; /* of the id pool: its first id is the owner's, the others stay unused */
	char image[HOST_PATH_MAX];
};

/* The owner of an image's sandboxes, taken on first use. 0: there is none here, and none of its sandboxes can be entered. */
uid_t owner_of(struct spawn *spawn, const char *image);

/* Knows again what an earlier server took. */
void owners_adopt(struct spawn *spawn);

/* Gives all back; only when no sandbox is left. */
void owners_release(struct spawn *spawn);

#endif
