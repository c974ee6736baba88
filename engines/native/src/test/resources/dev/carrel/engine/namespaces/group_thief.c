/* An interpreter that says it is ready, and with what it is given to enter a sandbox tries to move VICTIM, a process of the host, into that
 * sandbox's control groups. Says how many files took VICTIM, and how many took itself, which is what they are for. */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CONTROL = 3, MOST = 64 };

int
main(void)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(MOST * sizeof(int))];
	} extra;
	char data[65536], victim[16], said[64];
	struct iovec part = {data, sizeof data};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &extra, .msg_controllen = sizeof extra};
	int fds[MOST], others = 0, itself = 0;
	recvmsg(CONTROL, &message, 0);
	send(CONTROL, "R", 1, 0);
	message.msg_controllen = sizeof extra;
	recvmsg(CONTROL, &message, 0);
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);
	int count = header == NULL ? 0 : (int)((header->cmsg_len - CMSG_LEN(0)) / sizeof(int));
	memcpy(fds, CMSG_DATA(header), (size_t)count * sizeof(int));
	snprintf(victim, sizeof victim, "%d", VICTIM);
	/* The first five are streams, which take whatever is written. */
	for (int i = 5; i < count; i++) {
		others += write(fds[i], victim, strlen(victim)) > 0;
		itself += write(fds[i], "0", 1) > 0;
	}
	snprintf(said, sizeof said, "Dothers=%d itself=%d end.", others, itself);
	send(CONTROL, said, strlen(said), 0);
	pause();
	return 0;
}
