/* The way out: 127.0.0.1:3128 inside the sandbox is the host proxy's Unix socket. */
#ifndef CARREL_RELAY_H
#define CARREL_RELAY_H

#include <stdbool.h>
#include <sys/types.h>

#define RELAY_PORT 3128

/* Listens. The first connection starts the relay, a process of its own that goes when it has had nothing to do. Where the
 * loopback is the host's own, any free port is taken and written to `port_file`; NULL: RELAY_PORT. False with errno when the
 * port cannot be had. */
bool relay_open(const char *egress, const char *port_file);

/* A child of ours was reaped. */
void relay_reaped(pid_t pid);
bool relay_is(pid_t pid);

#endif
