/* Ids of our own where whoever made the sandbox gave it the host's: container daemons make user namespaces for all of their
 * containers or for none. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "oci.h"
#include "spawn.h"

static bool
write_map(const char *name, uint32_t base)
{
	char path[64], map[64];
	snprintf(path, sizeof path, "/proc/%d/%s", (int)getppid(), name);
	snprintf(map, sizeof map, "0 %u 65536", base);
	int file = open(path, O_WRONLY | O_CLOEXEC);
	bool good = file >= 0 && write_all(file, map, strlen(map));
	if (!good)
		fprintf(stderr, "isolation\tuser-namespace: writing %s: %s\n", path, strerror(errno));
	if (file >= 0)
		close(file);
	return good;
}

/* A map is written from outside by somebody with a right to the ids: a child that stays behind while we go. */
static pid_t
start_mapper(uint32_t base, int go, int ours)
{
	char byte;
	pid_t child = fork();
	if (child != 0)
		return child;
	close(ours); /* or our own end of the pipe would keep us from seeing that nobody is there any more */
	_exit(read(go, &byte, 1) == 1 && write_map("uid_map", base) && write_map("gid_map", base) ? 0 : 1);
}

bool
take_own_ids(uint32_t base)
{
	int ends[2], status = -1;
	if (pipe2(ends, O_CLOEXEC) != 0)
		return false;
	pid_t mapper = start_mapper(base, ends[0], ends[1]);
	bool good = mapper > 0 && unshare(CLONE_NEWUSER) == 0 && write_all(ends[1], "g", 1);
	if (!good)
		fprintf(stderr, "isolation\tuser-namespace: %s\n", strerror(errno));
	close(ends[0]);
	close(ends[1]);
	while (mapper > 0 && waitpid(mapper, &status, 0) < 0 && errno == EINTR)
		;
	good = good && status == 0;
	if (good && (setgroups(0, NULL) != 0 || setresgid(0, 0, 0) != 0 || setresuid(0, 0, 0) != 0)) {
		fprintf(stderr, "isolation\tuser-namespace: becoming its root: %s\n", strerror(errno));
		return false;
	}
	return good;
}
