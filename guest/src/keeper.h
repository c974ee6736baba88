/* A keeper is the process between the guest and one command: the command's parent, and the adopter of all its orphans. */
#ifndef CARREL_KEEPER_H
#define CARREL_KEEPER_H

#include <stdint.h>
#include <sys/types.h>

#include "command.h"

enum signal_scope { SCOPE_MAIN, SCOPE_GROUP, SCOPE_TREE };

/* Guest to keeper: send this signal. SIGKILL to the tree goes on until nobody is left; 0 says that somebody has ended whom
 * the keeper may be waiting for, and whom the kernel did not give to it. */
struct keeper_order {
	int signal;
	enum signal_scope scope;
	pid_t group; /* another group than the main process's: a terminal's foreground; 0: none */
};

enum keeper_event { KEEPER_STARTED, KEEPER_FAILED, KEEPER_ENDED };

/* Keeper to guest: STARTED or FAILED first; after STARTED, ENDED when the main process has ended. The channel's end says
 * that no descendant is left. */
struct keeper_report {
	enum keeper_event event;
	pid_t pid;
	struct start_failure failure;
	int status; /* as of wait */
	int64_t cpu_us, max_rss_bytes, left;
	bool marked; /* its orphans are the guest's, which is to tell when one has ended */
};

/* Runs in the keeper's process, with all descriptors of the guest still open, and never returns. */
_Noreturn void keeper_run(struct command *command, int channel);

/* `guest keeper CHANNEL PID`: keeps a process that is a child of ours already. A zygote's fork executes this, see zygote.py. */
int keeper_main(int argc, char **argv);

#endif
