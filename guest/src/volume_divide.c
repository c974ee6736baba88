/* A volume that holds the changes of a sandbox's root has three folders: what it sees as /workspace, the upper layer of its
 * overlay, and what the kernel needs beside that. Whoever sees /workspace sees none of the others.
 *
 * The mark is an attribute that only the host's root can set. Without it a volume that was written to as a plain /workspace
 * could pose as a divided one, with an upper layer of somebody's making. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "volume.h"

#define MARK "trusted.carrel.root"

static bool
is_empty(int mount)
{
	int copy = openat(mount, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *entries = copy < 0 ? NULL : fdopendir(copy);
	bool empty = entries != NULL;
	for (struct dirent *entry; empty && (entry = readdir(entries)) != NULL;)
		empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
	if (entries != NULL)
		closedir(entries);
	return empty;
}

/* The mark comes last. A crash before it leaves folders without one: such a volume is refused, and as nobody has seen it
 * there is nothing in it to miss. */
static bool
divide(int mount)
{
	const char *const folders[] = {VOLUME_WORKSPACE, VOLUME_UPPER, VOLUME_WORK};
	for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
		/* Whatever mask the server was started with: everybody inside looks through the upper one at /. */
		if (mkdirat(mount, folders[i], 0755) != 0 || fchmodat(mount, folders[i], 0755, 0) != 0)
			return false;
	return true;
}

bool
volume_divide(int mount, bool divided, const char *id, struct failure *failure)
{
	char value;
	int top = openat(mount, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ssize_t marked = top < 0 ? -1 : fgetxattr(top, MARK, &value, sizeof value);
	bool good = marked >= 0 || errno == ENODATA;
	if (!good)
		give_up(failure, KIND_ENGINE, "volume", errno, "the mark of volume %s", id);
	else if (marked < 0 && divided && !is_empty(mount))
		good = give_up(failure, KIND_CONFLICT, "rootfs", 0,
			"the volume %s was made without a writable root: begin with a new one", id);
	else if (marked < 0 && divided)
		good = (divide(mount) && fsetxattr(top, MARK, "1", 1, 0) == 0)
			|| give_up(failure, errno == ENOSPC ? KIND_SPACE : KIND_ENGINE, "volume", errno, "dividing the volume %s", id);
	else if (marked >= 0 && !divided)
		good = give_up(failure, KIND_CONFLICT, "rootfs", 0, "the volume %s holds a writable root: use rootfs overlay with it", id);
	if (top >= 0)
		close(top);
	return good;
}
