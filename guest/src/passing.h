/* Messages between our own processes on one host, each with descriptors or without. */
#ifndef CARREL_PASSING_H
#define CARREL_PASSING_H

#include <stdbool.h>
#include <stddef.h>

/* One message with one descriptor; -1: with none. */
bool pass_with(int socket, const void *data, size_t length, int fd);
/* The other end: false when the connection ended. *fd is -1 when none came. */
bool take_with(int socket, void *data, size_t length, int *fd);

/* The same with flags of sendmsg and recvmsg. */
bool pass_at(int socket, const void *data, size_t length, int fd, int flags);
bool take_at(int socket, void *data, size_t length, int *fd, int flags);

#define PASSED_AT_ONCE 24

/* The same with several descriptors, PASSED_AT_ONCE at most. */
bool pass_all(int socket, const void *data, size_t length, const int *fds, int count, int flags);
/* Returns how many came, -1 when the connection ended. */
int take_all(int socket, void *data, size_t length, int fds[PASSED_AT_ONCE], int flags);

#endif
