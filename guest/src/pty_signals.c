/* Terminals of kernels that send no signals for them.
 *
 * gVisor of 2022 has terminals, but a new size raises no SIGWINCH, the interrupt key is a byte like any other, and the outer
 * end does not tell which group is in the foreground. Then the keeper leads the command's session, because only a member of
 * it may ask the inner end that; and we raise the signals of the keys ourselves. What is missing is found out by trying. */
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "pty.h"

/* How long the key may take on its way to a signal. */
#define KEY_NS 100000000
#define LACKS_SIZE 1
#define LACKS_KEYS 2

static bool
raised(int signal, long patience_ns)
{
	sigset_t wanted;
	struct timespec patience = {.tv_nsec = patience_ns};
	sigemptyset(&wanted);
	sigaddset(&wanted, signal);
	return sigtimedwait(&wanted, NULL, &patience) == signal;
}

/* Runs in a process of its own, which leads a session on a new terminal; every signal is blocked. */
static int
try_terminal(uid_t uid, gid_t gid)
{
	int outer, inner, lacks = 0;
	if (setsid() < 0 || !pty_open(&outer, &inner, uid, gid, 24, 80) || ioctl(inner, TIOCSCTTY, 0) < 0)
		return 0;
	sigset_t all;
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	pty_resize(outer, 25, 80);
	if (raised(SIGWINCH, 0))
		return 0; /* a kernel that does this does the rest */
	lacks |= LACKS_SIZE;
	if (write(outer, "\3", 1) == 1 && !raised(SIGINT, KEY_NS))
		lacks |= LACKS_KEYS;
	return lacks;
}

struct pty_lacks
pty_probe(uid_t uid, gid_t gid)
{
	int status = 0;
	pid_t child = fork();
	if (child == 0)
		_exit(try_terminal(uid, gid));
	if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
		return (struct pty_lacks){0};
	return (struct pty_lacks){WEXITSTATUS(status) & LACKS_SIZE, WEXITSTATUS(status) & LACKS_KEYS};
}

int
pty_signal_of(int outer, uint8_t key)
{
	struct termios modes;
	if (key == 0 || tcgetattr(outer, &modes) != 0 || (modes.c_lflag & ISIG) == 0)
		return 0;
	if (key == modes.c_cc[VINTR])
		return SIGINT;
	if (key == modes.c_cc[VQUIT])
		return SIGQUIT;
	return key == modes.c_cc[VSUSP] ? SIGTSTP : 0;
}

bool
pty_echoes(int outer)
{
	struct termios modes;
	return tcgetattr(outer, &modes) == 0 && (modes.c_lflag & ECHO) != 0;
}
