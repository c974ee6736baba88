/* The change report: which files under the workspace were created, modified or deleted while an exec ran. It is kept by
 * inotify, so its cost grows with what happens and not with what lies there. */
#ifndef CARREL_CHANGES_H
#define CARREL_CHANGES_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "frame.h"

/* Where the guest keeps its inotify, once it has one: see closer.h. Below the numbers that pipes get. */
#define CHANGES_FD 4

struct change_mark {
	bool open;
	bool truncated;	      /* something may be missing */
	uint64_t position;    /* in the journal */
	uint64_t losses;      /* how often events had been lost */
	struct timespec wall; /* when it began, on the clock of the files */
};

/* From here on changes belong to this mark. The first one looks through the workspace once. */
void changes_begin(struct change_mark *mark);

/* Adds a CHANGE frame for each changed path, as far as they are few enough, and closes the mark. `out` may be NULL. */
void changes_end(struct change_mark *mark, struct writer *out);

/* Returns when to look again, or 0. */
int64_t changes_sweep(int64_t now);

#endif
