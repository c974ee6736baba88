/* What the parts of the program ask of each other.
 *
 *   main.c      chooses the role: `guest spawn …` (spawn server on the host) or `guest init …` (PID 1, without our launcher)
 *   spawn.c, launch.c, cgroup.c, rootfs.c, seccomp.c, landlock.c   the host side; the launched child calls guest_run, no exec
 *   guest.c, exec.c, …                                             PID 1 in the sandbox
 *   files.c, glob.c, grep.c, watch.c, tunnel.c                     one forked worker per file operation
 */
#ifndef CARREL_GUEST_H
#define CARREL_GUEST_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "frame.h"

#define PROTOCOL_VERSION 1

struct guest_options {
	int listener;		  /* listening stream socket; not visible inside the sandbox */
	const char *token;	  /* NULL: the socket itself is the proof */
	uid_t uid;		  /* who commands and file operations run as */
	gid_t gid;
	bool own_uid;		  /* the guest has a uid of its own and may change to `uid` */
	const char *workspace;	  /* "/workspace"; another folder only where there is no isolation */
	const char *egress;	  /* host proxy's socket as seen inside, or NULL: no relay */
	const char *egress_port_file; /* see relay_open */
	bool foreign;		  /* another program made the sandbox, and perhaps its kernel */
	bool (*ready)(int report); /* NULL, or told once requests are served; false: nobody waits for this guest */
	int report;		  /* what `ready` is given and closes; 5 or above */
};

/* Serves until SHUTDOWN or, when not PID 1, until the listener's owner kills us. Never returns to a caller that has
 * something left to do: the result is the exit status. */
int guest_run(const struct guest_options *options);

/* Serves one file operation or tunnel on a blocking connection, already running as the sandbox's user in a process of its
 * own, and returns when it is done. `type` and `payload` are the request (its fields are valid). */
void files_serve(int connection, uint8_t type, struct bytes payload, const struct guest_options *options);

/* Serves as the spawn server: see spawn.c. */
int spawn_main(int argc, char **argv);

#endif
