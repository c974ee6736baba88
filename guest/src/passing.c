#include "passing.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

bool
pass_at(int socket, const void *data, size_t length, int fd, int flags)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct iovec part = {.iov_base = (void *)(uintptr_t)data, .iov_len = length};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
	if (fd >= 0) {
		message.msg_control = &control;
		message.msg_controllen = sizeof control.space;
		struct cmsghdr *header = CMSG_FIRSTHDR(&message);
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(header), &fd, sizeof fd);
	}
	return sendmsg(socket, &message, MSG_NOSIGNAL | flags) == (ssize_t)length;
}

bool
take_at(int socket, void *data, size_t length, int *fd, int flags)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct iovec part = {.iov_base = data, .iov_len = length};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control.space};
	ssize_t n;
	do
		n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | flags);
	while (n < 0 && errno == EINTR);
	*fd = -1;
	if (n != (ssize_t)length)
		return false;
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);
	if (header != NULL && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS)
		memcpy(fd, CMSG_DATA(header), sizeof *fd);
	return true;
}

bool
pass_with(int socket, const void *data, size_t length, int fd)
{
	return pass_at(socket, data, length, fd, 0);
}

bool
take_with(int socket, void *data, size_t length, int *fd)
{
	return take_at(socket, data, length, fd, 0);
}
