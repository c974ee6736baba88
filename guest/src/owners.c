/* <run>/zy<number of the image>/owner holds the slot and the image; the folder is what the slot's registry points to. */
#include "owners.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME_SIZE 20

static void
name_of(const char *image, char name[NAME_SIZE])
{
	uint64_t number = 14695981039346656037u; /* FNV-1a */
	for (const char *at = image; *at != 0; at++)
		number = (number ^ (uint8_t)*at) * 1099511628211u;
	snprintf(name, NAME_SIZE, "zy%016llx", (unsigned long long)number);
}

static uid_t
id_of(const struct spawn *spawn, const struct owner *owner)
{
	return id_pool_first(&spawn->ids, owner->slot);
}

static struct owner *
find(struct spawn *spawn, const char *image)
{
	for (int i = 0; i < OWNERS_MAX; i++)
		if (spawn->owners[i].used && strcmp(spawn->owners[i].image, image) == 0)
			return &spawn->owners[i];
	return NULL;
}

static struct owner *
unused(struct spawn *spawn)
{
	for (int i = 0; i < OWNERS_MAX; i++)
		if (!spawn->owners[i].used)
			return &spawn->owners[i];
	return NULL;
}

static void
file_of(const struct spawn *spawn, const char *name, char *path, size_t size)
{
	snprintf(path, size, "%s/%s/owner", spawn->run, name);
}

static bool
write_file(const char *path, const struct owner *owner)
{
	char text[HOST_PATH_MAX + 32];
	int length = snprintf(text, sizeof text, "%d %s\n", owner->slot, owner->image);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	bool good = fd >= 0 && write_all(fd, text, (size_t)length);
	if (fd >= 0)
		close(fd);
	return good;
}

uid_t
owner_of(struct spawn *spawn, const char *image)
{
	char name[NAME_SIZE], path[HOST_PATH_MAX + 64];
	if (spawn->ids.map != MAP_RANGE)
		return 0;
	struct owner *owner = find(spawn, image);
	if (owner != NULL)
		return id_of(spawn, owner);
	owner = unused(spawn);
	if (owner == NULL)
		return 0;
	name_of(image, name);
	snprintf(path, sizeof path, "%s/%s", spawn->run, name);
	if (mkdir(path, 0700) != 0)
		return 0; /* two images with one number: the later one does without */
	owner->slot = id_pool_claim(&spawn->ids, spawn->run, name);
	snprintf(owner->image, sizeof owner->image, "%s", image);
	file_of(spawn, name, path, sizeof path);
	if (owner->slot >= 0 && write_file(path, owner)) {
		owner->used = true;
		return id_of(spawn, owner);
	}
	id_pool_release(&spawn->ids, owner->slot, spawn->run, name);
	unlink(path);
	*strrchr(path, '/') = 0;
	rmdir(path);
	return 0;
}

static void
forget(struct spawn *spawn, const char *name, int slot)
{
	char path[HOST_PATH_MAX + 64];
	file_of(spawn, name, path, sizeof path);
	unlink(path);
	*strrchr(path, '/') = 0;
	if (rmdir(path) == 0)
		id_pool_release(&spawn->ids, slot, spawn->run, name);
}

static void
adopt(struct spawn *spawn, const char *name)
{
	char path[HOST_PATH_MAX + 64], text[HOST_PATH_MAX + 32], expected[NAME_SIZE];
	struct owner *owner = unused(spawn);
	char *rest = NULL;
	file_of(spawn, name, path, sizeof path);
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = 0;
	char *end = strchr(text, '\n');
	if (owner != NULL && end != NULL) {
		*end = 0;
		owner->slot = (int)strtol(text, &rest, 10);
		snprintf(owner->image, sizeof owner->image, "%.*s", HOST_PATH_MAX - 1, *rest == ' ' ? rest + 1 : "?");
		name_of(owner->image, expected);
		owner->used = strcmp(expected, name) == 0 && owner->slot >= 0 && owner->slot < spawn->ids.slots
			&& id_pool_keep(&spawn->ids, owner->slot, spawn->run, name);
	}
	/* A crash between the folder and its text: nothing was made with it yet, and the slot is free with the folder. Or the host
	 * has started again, so that nothing of it runs, and somebody else was faster. */
	if (owner != NULL && !owner->used)
		forget(spawn, name, -1);
}

void
owners_adopt(struct spawn *spawn)
{
	DIR *entries = spawn->ids.map == MAP_RANGE ? opendir(spawn->run) : NULL;
	if (entries == NULL)
		return;
	for (struct dirent *entry; (entry = readdir(entries)) != NULL;)
		if (entry->d_type == DT_DIR && strncmp(entry->d_name, "zy", 2) == 0 && strlen(entry->d_name) < NAME_SIZE)
			adopt(spawn, entry->d_name);
	closedir(entries);
}

void
owners_release(struct spawn *spawn)
{
	char name[NAME_SIZE];
	for (int i = 0; i < OWNERS_MAX; i++)
		if (spawn->owners[i].used) {
			name_of(spawn->owners[i].image, name);
			forget(spawn, name, spawn->owners[i].slot);
			spawn->owners[i].used = false;
		}
}
