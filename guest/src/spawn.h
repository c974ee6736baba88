/* The host side: what the spawn server, the launcher and the launched child share.
 *
 *   spawn.c     the server: one thread, one epoll loop, many connections
 *   clients.c   who is connected and waits for what; client_frames.c requests and answers on the wire
 *   boxes.c     the life of the sandboxes the server knows: creating, running, dead, leaving; boxes_freeze.c and boxes_volume.c beside it
 *   state.c     what is kept on disk of each, so that a later server can adopt it
 *   launch.c    from a plan to a running child: clone3, id maps, the child's way to guest_run
 *   blank.c     a child that was made before anybody asked for it
 *   rootfs.c    what the child sees as its root; rootfs_overlay.c the one that it may write to
 *   confine.c   capabilities, limits and descriptors; seccomp.c and landlock.c beside it
 *   cgroup.c    limits and counters, version 1, hybrid and 2; cgroup_host.c finds where they go
 *   idmap.c     which host ids a sandbox gets; owners.c who owns the user namespaces of an image's sandboxes
 *   zygote.c    warm interpreters that fork into sandboxes; zygote_start.c makes one, fork.c asks one
 *   volume.h    files that outlive a sandbox
 */
#ifndef CARREL_SPAWN_H
#define CARREL_SPAWN_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "cgroup.h"
#include "frame.h"

#define SPAWN_VERSION 1
#define ID_MAX 32	  /* bytes of a sandbox id with its NUL */
/* What is made ahead is as much work as the sandbox that was just made, and whoever asked for that wants to use it. So it
 * begins a little later, and gives way until somebody waits for it. */
#define STAND_BACK_MS 10
#define AHEAD_NICE 10
#define HOST_PATH_MAX 1024
#define SOCKET_PATH_MAX 108
#define INSIDE_UID 1000 /* who commands run as, inside */
#define OVERLAY_GUEST_UID 65533 /* who the guest is where commands are root: an id that no distribution gives away */
#define VOLUME_ID_MAX 17 /* bytes of a volume's id with its NUL */

/* What is asked of the host for each sandbox. The names in measure.c are part of the product's vocabulary. */
enum measure {
	MEASURE_USER_NAMESPACE,
	MEASURE_UID_RANGE,
	MEASURE_OWN_GUEST_UID,
	MEASURE_PID_NAMESPACE,
	MEASURE_NETWORK_NAMESPACE,
	MEASURE_MOUNT_NAMESPACE,
	MEASURE_IPC_NAMESPACE,
	MEASURE_UTS_NAMESPACE,
	MEASURE_CGROUP_NAMESPACE,
	MEASURE_MEMORY_LIMIT,
	MEASURE_PIDS_LIMIT,
	MEASURE_CPU_LIMIT,
	MEASURE_FREEZER,
	MEASURE_READ_ONLY_ROOT,
	MEASURE_MASKED_PROC,
	MEASURE_MINIMAL_DEV,
	MEASURE_NO_CAPABILITIES,
	MEASURE_NO_NEW_PRIVILEGES,
	MEASURE_SECCOMP,
	MEASURE_LANDLOCK,
	MEASURE_WORKSPACE_LIMIT,
	MEASURE_TMPFS_TMP,
	MEASURE_NOFILE_LIMIT,
	MEASURE_VOLUME, /* convenience rather than protection: its absence needs no excuse */
	MEASURE_COUNT
};

#define DETAIL_MAX 104
#define ALL_MEASURES ((1u << MEASURE_COUNT) - 1)

struct measures {
	bool applied[MEASURE_COUNT];
	char detail[MEASURE_COUNT][DETAIL_MAX];
};

const char *measure_name(enum measure measure);
/* The measure with this name, or MEASURE_COUNT. */
enum measure measure_find(const char *name, size_t length);
void measure_applied(struct measures *measures, enum measure measure, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void measure_missing(struct measures *measures, enum measure measure, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Whose matter a failure is. */
enum failure_kind {
	KIND_ENGINE,
	KIND_ISOLATION, /* a measure that was not excused is missing */
	KIND_IMAGE,
	KIND_BUSY,
	KIND_BAD_REQUEST,
	KIND_NOT_FOUND,
	KIND_CONFLICT,  /* something is in use, or exists already */
	KIND_SPACE,     /* the host's disk is full */
	KIND_READ_ONLY, /* the kernel lets nobody write there any more */
	KIND_UNSUPPORTED,
};

/* As it stands on the wire. */
const char *failure_kind_name(enum failure_kind kind);

/* Why something could not be done. */
struct failure {
	enum failure_kind kind;
	char step[32];
	int error; /* errno, 0 when there is none */
	char message[400];
};

/* Fills in a failure and returns false, so that a step can end with `return give_up(…)`. */
bool give_up(struct failure *failure, enum failure_kind kind, const char *step, int error, const char *format, ...)
	__attribute__((format(printf, 5, 6)));

/* Which host ids the inside ids 0, 1000 and 65534 are. */
enum map_kind {
	MAP_RANGE,  /* 65536 ids of its own: we are root */
	MAP_SLICE,  /* three ids of its own out of the user's subordinate ids */
	MAP_SINGLE, /* only the user's own id */
};

/* What a child needs to become a sandbox. It lives on the server's stack, so the child has its own copy. */
struct plan {
	char id[ID_MAX]; /* "": it is not known yet whose sandbox this will be */
	char image[HOST_PATH_MAX]; /* "": the host's own /usr */
	char lib[HOST_PATH_MAX];
	char run[HOST_PATH_MAX];
	char egress[HOST_PATH_MAX]; /* "": none */
	struct limits limits;	    /* as in force: see limits_settle */
	uid_t owner;		    /* whoever has this id outside may enter the user namespace; 0: nobody but root */
	uid_t maker;		    /* of the user namespace: the kernel counts what is made in it for this id too; 0: our own */
	bool overlay;		    /* a root that may be written to, and commands that are root inside */
	uint32_t allow_missing;	    /* bit per measure */
	enum map_kind map;
	int listener; /* the guest's socket */
	int sync;     /* the parent writes one byte when the id maps are set; end of file means: give up */
	int sync_peer; /* the parent's end, which the child must not keep */
	int report;   /* one struct report goes back */
	int volume;   /* where the mounter answers; -1: /workspace is in memory */
	int request;  /* where the rest of a blank's plan comes from; -1: it is all here */
	int way_out;  /* the folder of the egress socket, as a mount that is attached to nothing; -1: the child opens it itself */
	struct cgroup_fds cgroups;
	struct measures measures;
};

/* The child's one message to the server. Smaller than PIPE_BUF, so it is never torn. */
struct report {
	bool ready;
	struct failure failure;
	struct measures measures;
	struct limits limits;
};

/* Lowers what was asked to what can be in force together when /workspace is in memory. */
void limits_settle(struct limits *limits);

/* blank.c. In a child that waits for it: fills in the rest of the plan. False when nobody will ever ask. */
bool blank_await(struct plan *plan);

/* launch.c. Returns the child's pid, or -1 with `failure`; on success *pidfd is its descriptor. The child waits on
 * plan->sync before it does anything that needs its id maps. */
pid_t launch(struct plan *plan, int *pidfd, struct failure *failure);

/* The steps of the child, in the order in which they run. Each returns false with `failure`. */
bool rootfs_open_sources(const struct plan *plan, struct failure *failure);
/* As much of the root as depends on the image alone. */
bool rootfs_begin(struct plan *plan, struct failure *failure);
bool rootfs_complete(struct plan *plan, struct failure *failure);
/* In the new root, which is empty yet: puts an overlay over it, of the image and what its volume holds of changes, makes it
 * the current folder, and covers what is ours in it. Its descriptor, or -1 with the failure. */
int rootfs_overlay(struct plan *plan, struct failure *failure);
/* An overlay of `lower` (folders of the current one, the highest first) and what ./volume holds of changes, with places in it
 * for what is ours: mounted nowhere yet. Its descriptor, or -1 with the failure. */
int rootfs_lay(const char *lower, struct failure *failure);
/* The file in /etc that is not the image's own but says who this sandbox is, its text, or NULL: there are no more. */
const char *rootfs_name(int number, const char *id, char *text, size_t size);
/* A tmpfs on a folder of the new root. */
bool rootfs_mount_tmpfs(const char *target, int64_t bytes, const char *more, unsigned long flags, struct failure *failure);
bool confine_limits(struct plan *plan, struct failure *failure);
bool confine_privileges(struct plan *plan, struct failure *failure);
bool landlock_apply(struct plan *plan, struct failure *failure);
bool seccomp_apply(struct plan *plan, struct failure *failure);

/* True when the missing measure was excused; otherwise sets `failure`. The reason stands in plan->measures already. */
bool excused(const struct plan *plan, enum measure measure, struct failure *failure);

/* Makes the seccomp programs once; the children inherit them. */
bool seccomp_prepare(void);
/* Refuses what zygotes may do and sandboxes may not: a program for a zygote to apply in what it forks. */
struct bytes seccomp_rest(void);
/* Applies the program for zygotes to the calling process. */
bool seccomp_confine_zygote(void);

/* The rules for a sandbox with this root, which it may write to or not, as a descriptor, or -1 with `failure`; *version is the kernel's, below 1: none. */
int landlock_ruleset(int root, bool scoped, bool writable, int *version, struct failure *failure);

#endif
