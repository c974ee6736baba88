/* Starting a child that becomes a sandbox. */
#ifndef CARREL_LAUNCH_H
#define CARREL_LAUNCH_H

#include "spawn.h"

/* Lets children overwrite the command line they inherit. To be called once with main's own vector. */
void launch_remember_arguments(int argc, char **argv);

#endif
