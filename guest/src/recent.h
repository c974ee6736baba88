/* The files of a tree by the time of their last change, as many as fit a bound: what did not fit is known by its time. */
#ifndef CARREL_RECENT_H
#define CARREL_RECENT_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

struct recent_file {
	char *path;
	struct timespec changed;
};

struct recent {
	struct recent_file *files; /* while adding a heap with the oldest on top, so that it is the one to go */
	size_t count;
	size_t capacity;
	size_t bytes;
	bool dropped;
	struct timespec dropped_at; /* of the newest that was dropped */
};

/* Keeps the file, or drops it or older ones. */
void recent_add(struct recent *recent, const char *path, struct timespec changed);
/* Newest first, then by path. Only those newer than all that was dropped stay: the others belong together. */
void recent_sort(struct recent *recent);
/* Whether a file of this time belongs to what was dropped. */
bool recent_dropped(const struct recent *recent, struct timespec changed);
void recent_free(struct recent *recent);

#endif
