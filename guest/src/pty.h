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

/* What this kernel does not do for a terminal by itself. */
struct pty_lacks {
	bool size; /* a new size raises no signal, and the outer end does not know the foreground */
	bool keys; /* the interrupt, quit and suspend keys raise none */
};

/* Finds out with a terminal and a process of their own. */
struct pty_lacks pty_probe(uid_t uid, gid_t gid);

/* The signal that this key stands for in the terminal's present modes; 0: it is a byte like any other. */
int pty_signal_of(int outer, uint8_t key);
bool pty_echoes(int outer);

#endif
