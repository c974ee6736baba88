#include "passing.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union control {
	struct cmsghdr header;
	char space[CMSG_SPACE(PASSED_AT_ONCE * sizeof(int))];
};

bool
pass_all(int socket, const void *data, size_t length, const int *fds, int count, int flags)
{
	union control control = {0};
	struct iovec part = {.iov_base = (void *)(uintptr_t)data, .iov_len = length};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
	if (count > 0) {
		const size_t size = (size_t)count * sizeof *fds;
		message.msg_control = &control;
		message.msg_controllen = CMSG_SPACE(size);
		struct cmsghdr *header = CMSG_FIRSTHDR(&message);
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(size);
		memcpy(CMSG_DATA(header), fds, size);
	}
	return sendmsg(socket, &message, MSG_NOSIGNAL | flags) == (ssize_t)length;
}

int
take_all(int socket, void *data, size_t length, int fds[PASSED_AT_ONCE], int flags)
{
	union control control = {0};
	struct iovec part = {.iov_base = data, .iov_len = length};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control.space};
	ssize_t n;
	do
		n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | flags);
	while (n < 0 && errno == EINTR);
	if (n != (ssize_t)length)
		return -1;
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);
	if (header == NULL || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
		return 0;
	const size_t size = header->cmsg_len - CMSG_LEN(0);
	memcpy(fds, CMSG_DATA(header), size);
	return (int)(size / sizeof *fds);
}

bool
pass_at(int socket, const void *data, size_t length, int fd, int flags)
{
	return pass_all(socket, data, length, &fd, fd >= 0, flags);
}

bool
take_at(int socket, void *data, size_t length, int *fd, int flags)
{
	int fds[PASSED_AT_ONCE];
	int count = take_all(socket, data, length, fds, flags);
	*fd = count > 0 ? fds[0] : -1;
	for (int i = 1; i < count; i++)
		close(fds[i]); /* nobody asked for these */
	return count >= 0;
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
