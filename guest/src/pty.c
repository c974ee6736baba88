#include "pty.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/fsuid.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <termios.h>
#include <unistd.h>

#ifndef TIOCGPTPEER
#define TIOCGPTPEER _IO('T', 0x41)
#endif

static int
open_inner(int outer)
{
	int fd = ioctl(outer, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	/* Not every kernel, and not gVisor. */
	unsigned number;
	char path[32];
	if (ioctl(outer, TIOCGPTN, &number) < 0)
		return -1;
	snprintf(path, sizeof path, "/dev/pts/%u", number);
	return open(path, O_RDWR | O_NOCTTY | O_CLOEXEC);
}

bool
pty_open(int *outer, int *inner, uid_t uid, gid_t gid, int64_t rows, int64_t columns)
{
	/* The node in /dev/pts gets the owner that opened the other end, and we may not chown. */
	int old_gid = setfsgid(gid), old_uid = setfsuid(uid);
	*inner = -1;
	*outer = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
	int unlocked = 0;
	if (*outer >= 0 && ioctl(*outer, TIOCSPTLCK, &unlocked) == 0)
		*inner = open_inner(*outer);
	int error = errno;
	setfsuid((uid_t)old_uid);
	setfsgid((gid_t)old_gid);
	prctl(PR_SET_DUMPABLE, 0);
	if (*inner < 0) {
		if (*outer >= 0)
			close(*outer);
		errno = error;
		return false;
	}
	struct termios modes;
	if (tcgetattr(*inner, &modes) == 0) {
		modes.c_iflag |= IUTF8;
		tcsetattr(*inner, TCSANOW, &modes);
	}
	pty_resize(*outer, rows, columns);
	return true;
}

void
pty_resize(int outer, int64_t rows, int64_t columns)
{
	struct winsize size = {.ws_row = (unsigned short)rows, .ws_col = (unsigned short)columns};
	ioctl(outer, TIOCSWINSZ, &size);
}

pid_t
pty_foreground(int outer)
{
	int group = 0;
	return ioctl(outer, TIOCGPGRP, &group) == 0 && group > 1 ? group : 0;
}

uint8_t
pty_end_of_file(int outer)
{
	struct termios modes;
	return tcgetattr(outer, &modes) == 0 && modes.c_cc[VEOF] != 0 ? modes.c_cc[VEOF] : 4;
}
