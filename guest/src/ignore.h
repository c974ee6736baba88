/* What the .gitignore files on the way to an entry of a walk say of it. They are whoever's who works in the sandbox, so all
 * of it is bounded: what is beyond the bounds is not heeded, and counted as unreadable. */
#ifndef CARREL_IGNORE_H
#define CARREL_IGNORE_H

#include "files.h"
#include "walk.h"

struct ignore_rules;

struct ignore {
	struct operation *op; /* NULL: nothing is ignored */
	struct unreadable *unreadable;
	struct ignore_rules *stack; /* outermost first; only files that have rules */
	size_t count;
	size_t capacity;
	size_t rules;
	char *path; /* of an entry from the folder of the outermost file on, where that is above the walk */
	size_t path_capacity;
	size_t prefix; /* of it, the part above the walk */
	size_t work;
};

/* Before the walk: reads the files above the folder asked for, from the workspace (or the request's root) on. */
void ignore_start(struct ignore *ignore, struct operation *op, const char *folder, struct unreadable *unreadable);
/* After the walk has entered a directory, the first one too: reads the file that is in it. */
void ignore_enter(struct ignore *ignore, const struct walk *walk);
/* Whether the entry just told is to be passed over, with all below it. May find that the host is gone. */
bool ignore_hides(struct ignore *ignore, const struct walk *walk);
void ignore_free(struct ignore *ignore);

#endif
