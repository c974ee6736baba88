/* Processes that an interrupt missed. */
#ifndef CARREL_MISSED_H
#define CARREL_MISSED_H
#include <sys/types.h>

/* A SIGINT that comes between a shell's fork and exec is lost: the handler that it finds there vanishes. A process of the
 * shell's group that would die of SIGINT and is still alive was missed that way, or is younger. Sends SIGINT to those, and with
 * `tell_shell` to the shell first, so that it takes their death for an interrupt. Returns how many there were. */
int interrupt_missed(pid_t shell, int tell_shell);

#endif
