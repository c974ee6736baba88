#include "recent.h"

#include <stdlib.h>
#include <string.h>

#define MOST_FILES 65536u
#define MOST_BYTES (16u << 20)

static int
newer(const struct timespec *a, const struct timespec *b)
{
	if (a->tv_sec != b->tv_sec)
		return a->tv_sec > b->tv_sec ? 1 : -1;
	return a->tv_nsec == b->tv_nsec ? 0 : a->tv_nsec > b->tv_nsec ? 1 : -1;
}

static int
order(const void *left, const void *right)
{
	const struct recent_file *a = left, *b = right;
	int by_time = newer(&b->changed, &a->changed);
	return by_time != 0 ? by_time : strcmp(a->path, b->path);
}

static void
swap(struct recent_file *a, struct recent_file *b)
{
	struct recent_file kept = *a;
	*a = *b;
	*b = kept;
}

static void
note_dropped(struct recent *recent, struct timespec changed)
{
	if (!recent->dropped || newer(&changed, &recent->dropped_at) > 0)
		recent->dropped_at = changed;
	recent->dropped = true;
}

static void
drop_oldest(struct recent *recent)
{
	struct recent_file *files = recent->files;
	note_dropped(recent, files[0].changed);
	recent->bytes -= strlen(files[0].path) + 1;
	free(files[0].path);
	files[0] = files[--recent->count];
	for (size_t at = 0;;) {
		size_t oldest = at;
		for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < recent->count; child++)
			if (newer(&files[oldest].changed, &files[child].changed) > 0)
				oldest = child;
		if (oldest == at)
			return;
		swap(&files[at], &files[oldest]);
		at = oldest;
	}
}

static bool
make_room(struct recent *recent)
{
	if (recent->count < recent->capacity)
		return true;
	size_t capacity = 2 * recent->capacity + 64;
	struct recent_file *grown = realloc(recent->files, capacity * sizeof *grown);
	if (grown == NULL)
		return false;
	recent->files = grown;
	recent->capacity = capacity;
	return true;
}

void
recent_add(struct recent *recent, const char *path, struct timespec changed)
{
	if (recent_dropped(recent, changed))
		return;
	char *copy = make_room(recent) ? strdup(path) : NULL;
	if (copy == NULL) {
		note_dropped(recent, changed);
		return;
	}
	struct recent_file *files = recent->files;
	size_t at = recent->count++;
	files[at] = (struct recent_file){copy, changed};
	recent->bytes += strlen(copy) + 1;
	for (; at > 0 && newer(&files[(at - 1) / 2].changed, &files[at].changed) > 0; at = (at - 1) / 2)
		swap(&files[at], &files[(at - 1) / 2]);
	while (recent->count > MOST_FILES || recent->bytes > MOST_BYTES)
		drop_oldest(recent);
}

void
recent_sort(struct recent *recent)
{
	while (recent->count > 0 && recent_dropped(recent, recent->files[0].changed))
		drop_oldest(recent);
	if (recent->count > 0)
		qsort(recent->files, recent->count, sizeof *recent->files, order);
}

bool
recent_dropped(const struct recent *recent, struct timespec changed)
{
	return recent->dropped && newer(&changed, &recent->dropped_at) <= 0;
}

void
recent_free(struct recent *recent)
{
	for (size_t i = 0; i < recent->count; i++)
		free(recent->files[i].path);
	free(recent->files);
	*recent = (struct recent){0};
}
