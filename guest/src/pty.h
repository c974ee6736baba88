#ifndef CARREL_PTY_H
#define CARREL_PTY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Opens a pair of terminal ends; the inner one belongs to this user. False with errno when there is none to be had. */
bool pty_open(int *outer, int *inner, uid_t uid, gid_t gid, int64_t rows, int64_t columns);
void pty_resize(int outer, int64_t rows, int64_t columns);

/* The process group in the foreground, 0 when there is none. */
pid_t pty_foreground(int outer);

/* The character that means end of input to a program that reads lines. */
uint8_t pty_end_of_file(int outer);

#endif
