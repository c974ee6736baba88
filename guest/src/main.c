/* The guest: see ../README.md. Chooses the role. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "guest.h"
#include "keeper.h"
#include "oci.h"

#define GUEST_VERSION "0.1.0"
#define TOKEN_MAX 4096
#define ONE_ID 1000 /* who commands are where there is one id for all */

static int
usage(void)
{
	fprintf(stderr,
		"usage: guest init --socket PATH [--token-file FILE] [--workspace DIR] [--uid N --gid N] [--egress PATH [--egress-port-file FILE]]\n"
		"                  [--name ID] [--confine FILE [--allow-missing NAMES] [--overlay 1] [--one-id 1]]\n"
		"                  [--group 1] [--ids BASE] [--hold 1]\n"
		"       guest spawn --run DIR --lib DIR [--build ID] [--uid-base N] [--foreground]\n"
		"       guest oci run|delete|ids …, guest volume copy|place …: see oci.c and oci_volume.c\n"
		"       guest version\n");
	return 2;
}

static int
complain(const char *what, const char *name)
{
	fprintf(stderr, "guest: %s %s: %s\n", what, name, strerror(errno));
	return 1;
}

/* Listens on a new socket that only our own user can connect to, and with `group` whoever has the group of its folder. */
static int
listen_on(const char *path, bool group)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	if (strlen(path) >= sizeof address.sun_path) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(address.sun_path, path, strlen(path) + 1);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || (unlink(path) < 0 && errno != ENOENT))
		return -1;
	mode_t mask = umask(group ? 0117 : 0177);
	int bound = bind(fd, (struct sockaddr *)&address, sizeof address);
	umask(mask);
	return bound < 0 || listen(fd, 1024) < 0 ? -1 : fd;
}

/* The token is the file's first line, so that it appears neither in our arguments nor in our environment. */
static char *
read_token(const char *path)
{
	char text[TOKEN_MAX + 1];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	ssize_t length = read(fd, text, TOKEN_MAX);
	close(fd);
	if (length < 0)
		return NULL;
	text[length] = 0;
	text[strcspn(text, "\r\n")] = 0;
	if (*text == 0) {
		errno = ENODATA;
		return NULL;
	}
	return strdup(text);
}

static bool
read_id(const char *text, uint32_t *id)
{
	char *end;
	errno = 0;
	unsigned long value = strtoul(text, &end, 10);
	if (errno != 0 || end == text || *end != 0 || *text == '-' || value >= UINT32_MAX)
		return false;
	*id = (uint32_t)value;
	return true;
}

/* Where commands are root inside they could enter the folder of our socket, take it away and put another there. Nobody needs
 * it in here any more: an empty folder covers it that nobody can write to. (Not unmounted: gVisor's socket would go with it.) */
static bool
cover_folder(const char *path)
{
	char folder[PATH_MAX];
	snprintf(folder, sizeof folder, "%s", path);
	*strrchr(folder, '/') = 0;
	if (mount("tmpfs", folder, "tmpfs", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, "size=4k,mode=0555") == 0)
		return true;
	complain("cannot cover", folder);
	return false;
}

/* After the socket is there: from then on nothing can be made beside it. With one id commands are who we are, so that the
 * folder is covered here too, before we leave for ids that can take nothing away again. */
static bool
confine(const char *path, const char *allowed, bool overlay, bool group, bool one_id)
{
	int report = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, group ? 0640 : 0600);
	if (report < 0) {
		complain("cannot write", path);
		return false;
	}
	bool good = (!overlay && !one_id) || cover_folder(path);
	if (good && one_id && !take_one_id(ONE_ID, 0, 0))
		good = complain("cannot leave for", "a user namespace of our own") == 0;
	good = good && confine_self(allowed, overlay, one_id, report);
	close(report);
	return good;
}

/* Whoever made the sandbox is not done with it: it connects, does the rest, and hangs up. */
static bool
await_go(int listener)
{
	char byte;
	int maker;
	while ((maker = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) < 0)
		if (errno != EINTR && errno != ECONNABORTED)
			return false;
	while (read(maker, &byte, 1) > 0)
		;
	return close(maker) == 0;
}

/* Our streams lead to a file of the host's, and not every kernel keeps code inside from opening what we have open. */
static bool
leave_streams(void)
{
	int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
	bool good = nothing >= 0 && dup2(nothing, 0) == 0 && dup2(nothing, 1) == 1 && dup2(nothing, 2) == 2;
	if (nothing > 2)
		close(nothing);
	return good;
}

static int
init_main(int argc, char **argv)
{
	struct guest_options options = {.workspace = "/workspace", .uid = geteuid(), .gid = getegid()};
	const char *socket_path = NULL, *token_file = NULL, *report = NULL, *allowed = "", *held = NULL, *overlay = NULL;
	const char *group = NULL, *one_id = NULL;
	uint32_t ids = 0; /* 0: those that we have */
	for (int i = 0; i < argc; i += 2) {
		const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
		if (value == NULL)
			return usage();
		if (strcmp(name, "--socket") == 0)
			socket_path = value;
		else if (strcmp(name, "--token-file") == 0)
			token_file = value;
		else if (strcmp(name, "--workspace") == 0)
			options.workspace = value;
		else if (strcmp(name, "--egress") == 0)
			options.egress = value;
		else if (strcmp(name, "--egress-port-file") == 0)
			options.egress_port_file = value;
		else if (strcmp(name, "--confine") == 0)
			report = value;
		else if (strcmp(name, "--allow-missing") == 0)
			allowed = value;
		else if (strcmp(name, "--name") == 0)
			continue; /* for whoever looks for us among the host's processes */
		else if (strcmp(name, "--hold") == 0)
			held = value;
		else if (strcmp(name, "--overlay") == 0)
			overlay = value;
		else if (strcmp(name, "--group") == 0)
			group = value;
		else if (strcmp(name, "--one-id") == 0)
			one_id = value;
		else if (strcmp(name, "--ids") == 0 && (!read_id(value, &ids) || ids == 0))
			return usage();
		else if (strcmp(name, "--ids") == 0)
			continue;
		else if (strcmp(name, "--uid") == 0 ? !read_id(value, &options.uid)
						    : strcmp(name, "--gid") != 0 || !read_id(value, &options.gid))
			return usage();
	}
	if (socket_path == NULL)
		return usage();
	if (ids != 0 && !take_own_ids(ids))
		return 1;
	/* With a root to write to commands are uid 0, and it is us who become somebody else. */
	options.own_uid = one_id == NULL && (overlay != NULL || options.uid != geteuid());
	if (token_file != NULL && (options.token = read_token(token_file)) == NULL)
		return complain("cannot read the token in", token_file);
	options.listener = listen_on(socket_path, group != NULL);
	if (options.listener < 0)
		return complain("cannot listen on", socket_path);
	if (held != NULL && !await_go(options.listener))
		return complain("cannot wait on", socket_path);
	if (report != NULL && (!confine(report, allowed, overlay != NULL, group != NULL, one_id != NULL) || !leave_streams()))
		return 1;
	options.foreign = report != NULL;
	int status = guest_run(&options);
	unlink(socket_path);
	return status;
}

int
main(int argc, char **argv)
{
	if (argc >= 2 && strcmp(argv[1], "init") == 0)
		return init_main(argc - 2, argv + 2);
	if (argc >= 2 && strcmp(argv[1], "spawn") == 0)
		return spawn_main(argc - 1, argv + 1);
	if (argc >= 2 && strcmp(argv[1], "keeper") == 0)
		return keeper_main(argc - 1, argv + 1);
	if (argc >= 2 && strcmp(argv[1], "oci") == 0)
		return oci_main(argc - 1, argv + 1);
	if (argc >= 2 && strcmp(argv[1], "volume") == 0)
		return volume_main(argc - 1, argv + 1);
	if (argc == 2 && strcmp(argv[1], "version") == 0) {
		printf("guest %s, protocol %d\n", GUEST_VERSION, PROTOCOL_VERSION);
		return 0;
	}
	return usage();
}
