/* Starting a child that becomes a sandbox. */
#ifndef CARREL_LAUNCH_H
#define CARREL_LAUNCH_H

#include "spawn.h"

/* Finds the command line and environment that children inherit, so that they can overwrite them. To be called once. */
void launch_remember_arguments(void);

/* Overwrites them in a child, and leaves this name. */
void launch_forget_arguments(const char *id);

#endif
