/* Starting a child that becomes a sandbox. */
#ifndef CARREL_LAUNCH_H
#define CARREL_LAUNCH_H

#include "spawn.h"

/* Finds the command line and environment that children inherit, so that they can overwrite them. To be called once. */
void launch_remember_arguments(void);

/* Overwrites them in a child, and leaves this name. */
void launch_forget_arguments(const char *id);

/* Becomes the owner of what is made next: the effective id of whoever makes a user namespace or opens a file is what the kernel
 * asks for later. Files are still reached as ourselves, and capabilities are not touched, because some hosts let only privileged
 * processes make one. 0: back to ourselves. */
bool act_as(uid_t owner);

#endif
