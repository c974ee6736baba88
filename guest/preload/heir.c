/* A library for the forks of zygotes (../../kernels/python/carrel_kernel/zygote.py), while somebody waits for them.
 *
 * `enter` is what Python would do too, slower. `leave` and `heir` are what it could not: a process divides into a child that
 * goes on with the memory and the stack as they are, and a parent that ends, or becomes another program. After a fork both
 * have copies, and pay for each page that they write to; here the child gets the pages themselves. So the parent, from the
 * clone until it is gone, touches neither the stack nor anything else in memory but what `estate` points to: it has its
 * registers. (A stack for return addresses alone, as processors have them, would not be shared: no libc uses one unasked.)
 *
 * No libc is used, so one library serves every image with a dynamic linker. */
#include <errno.h>
#include <linux/capability.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "call.h"

#define WAYS 16
#define NOTES 8
#define DIGITS 12
#define SHARED 0x100 /* CLONE_VM */
#define NR_LANDLOCK_RESTRICT_SELF 446 /* not every libc knows it */
#define NR_CLOSE_RANGE 436
#define NR_MADV_POPULATE_WRITE 23 /* nor this, of 5.14 */
#define RSEQ_SIZE 32 /* of the first version, which every kernel takes */
#define RSEQ_CPU 1
#define RSEQ_NONE (-2)
#define PUBLIC __attribute__((visibility("default")))

/* What a kernel gets of its spare together with the memory, and what is not right there any more. Made once for all forks of
 * a zygote; from `arguments` on each fork fills in its own, and that has to stay as it is until the parent's program runs. */
struct estate {
	const char *program;
	long rseq;		/* from the thread pointer on; 0: none */
	int32_t *notes[NOTES];	/* where libc may keep the number of the thread; NULL after the last one */
	long announced;		/* to the kernel is the first of them */
	char *arguments[5];
	char channel[DIGITS], number[DIGITS]; /* of the last two */
	long gone;  /* a pipe at whose end nobody else uses the memory any more, and the arguments are complete */
	long alive; /* its other end, which the child closes when they are */
	/* What the kernel knows of a thread of this memory, and does not know of the child's. */
	void *robust;
	size_t robust_size;
};

PUBLIC long leave(struct estate *estate);
PUBLIC long heir(struct estate *estate, int channel, int gone, int alive);
PUBLIC long settle(const struct estate *estate, int channel, int user);

/* Whole pages. */
struct stretch {
	uint64_t first, size;
};

PUBLIC void tell_written(const struct stretch *where, int count, int page, int to);
PUBLIC void copy_ahead(const struct stretch *what, int count);

#if defined(__x86_64__)

#define RSEQ_SIGNATURE 0x53053053

static char *
thread_pointer(void)
{
	char *pointer;
	__asm__("mov %%fs:0, %0" : "=r"(pointer));
	return pointer;
}

/* Returns in the child, and in the parent only when there is no child. */
static long
move_out(void)
{
	long result;
	register long thread __asm__("r8") = 0;
	register long note __asm__("r10") = 0;
	__asm__ volatile("syscall\n\t"
			 "test %%rax, %%rax\n\t"
			 "jle 2f\n"
			 "1:\tmov %[exit], %%eax\n\t"
			 "xor %%edi, %%edi\n\t"
			 "syscall\n\t"
			 "jmp 1b\n"
			 "2:"
			 : "=a"(result)
			 : "a"((long)SYS_clone), "D"((long)(SHARED | SIGCHLD)), "S"(0l), "d"(0l), "r"(note), "r"(thread), [exit] "i"(SYS_exit_group)
			 : "rcx", "r11", "memory", "cc");
	return result;
}

/* As move_out, but that the parent executes its program when nobody else has the memory but the child. If it cannot, it ends
 * the child too. */
static long
divide(const struct estate *estate)
{
	static char nothing;
	char *const *no_variables = &estate->arguments[4];
	long result;
	register const char *program __asm__("r12") = estate->program;
	register char *const *arguments __asm__("r13") = estate->arguments;
	register char *const *environment __asm__("r14") = no_variables;
	register long gone __asm__("r15") = estate->gone;
	register char *byte __asm__("rbx") = &nothing;
	register long alive __asm__("r9") = estate->alive;
	register long thread __asm__("r8") = 0;
	register long note __asm__("r10") = 0;
	__asm__ volatile("syscall\n\t"
			 "test %%rax, %%rax\n\t"
			 "jle 4f\n\t"
			 "mov %%rax, %%r10\n\t"
			 "mov %[close], %%eax\n\t"
			 "mov %%r9, %%rdi\n\t"
			 "syscall\n"
			 "1:\txor %%eax, %%eax\n\t" /* read */
			 "mov %%r15, %%rdi\n\t"
			 "mov %%rbx, %%rsi\n\t"
			 "mov $1, %%edx\n\t"
			 "syscall\n\t"
			 "cmp $-4, %%rax\n\t" /* EINTR */
			 "je 1b\n\t"
			 "test %%rax, %%rax\n\t"
			 "jnz 3f\n\t"
			 "mov %[execve], %%eax\n\t"
			 "mov %%r12, %%rdi\n\t"
			 "mov %%r13, %%rsi\n\t"
			 "mov %%r14, %%rdx\n\t"
			 "syscall\n"
			 "3:\tmov %[kill], %%eax\n\t"
			 "mov %%r10, %%rdi\n\t"
			 "mov %[end], %%esi\n\t"
			 "syscall\n\t"
			 "mov %[exit], %%eax\n\t"
			 "mov $127, %%edi\n\t"
			 "syscall\n\t"
			 "jmp 3b\n"
			 "4:"
			 : "=a"(result)
			 : "a"((long)SYS_clone), "D"((long)(SHARED | SIGCHLD)), "S"(0l), "d"(0l), "r"(note), "r"(thread), "r"(program),
			 "r"(arguments), "r"(environment), "r"(gone), "r"(byte), "r"(alive), [close] "i"(SYS_close), [execve] "i"(SYS_execve),
			 [kill] "i"(SYS_kill), [end] "i"(SIGKILL), [exit] "i"(SYS_exit_group)
			 : "rcx", "r11", "memory", "cc");
	return result;
}

#elif defined(__aarch64__)

#define RSEQ_SIGNATURE 0xd428bc00

static char *
thread_pointer(void)
{
	char *pointer;
	__asm__("mrs %0, tpidr_el0" : "=r"(pointer));
	return pointer;
}

/* Returns in the child, and in the parent only when there is no child. */
static long
move_out(void)
{
	register long x0 __asm__("x0") = SHARED | SIGCHLD;
	register long x1 __asm__("x1") = 0;
	register long x2 __asm__("x2") = 0;
	register long x3 __asm__("x3") = 0;
	register long x4 __asm__("x4") = 0;
	register long x8 __asm__("x8") = SYS_clone;
	__asm__ volatile("svc 0\n\t"
			 "cmp x0, #0\n\t"
			 "b.le 2f\n"
			 "1:\tmov x0, #0\n\t"
			 "mov x8, %[exit]\n\t"
			 "svc 0\n\t"
			 "b 1b\n"
			 "2:"
			 : "+r"(x0), "+r"(x8)
			 : "r"(x1), "r"(x2), "r"(x3), "r"(x4), [exit] "i"(SYS_exit_group)
			 : "memory", "cc");
	return x0;
}

/* As move_out, but that the parent executes its program when nobody else has the memory but the child. If it cannot, it ends
 * the child too. */
static long
divide(const struct estate *estate)
{
	static char nothing;
	char *const *no_variables = &estate->arguments[4];
	register const char *program __asm__("x19") = estate->program;
	register char *const *arguments __asm__("x20") = estate->arguments;
	register char *const *environment __asm__("x21") = no_variables;
	register long gone __asm__("x22") = estate->gone;
	register char *byte __asm__("x23") = &nothing;
	register long alive __asm__("x24") = estate->alive;
	register long x0 __asm__("x0") = SHARED | SIGCHLD;
	register long x1 __asm__("x1") = 0;
	register long x2 __asm__("x2") = 0;
	register long x3 __asm__("x3") = 0;
	register long x4 __asm__("x4") = 0;
	register long x8 __asm__("x8") = SYS_clone;
	__asm__ volatile("svc 0\n\t"
			 "cmp x0, #0\n\t"
			 "b.le 4f\n\t"
			 "mov x25, x0\n\t"
			 "mov x0, x24\n\t"
			 "mov x8, %[close]\n\t"
			 "svc 0\n"
			 "1:\tmov x0, x22\n\t"
			 "mov x1, x23\n\t"
			 "mov x2, #1\n\t"
			 "mov x8, %[read]\n\t"
			 "svc 0\n\t"
			 "cmn x0, #4\n\t" /* EINTR */
			 "b.eq 1b\n\t"
			 "cbnz x0, 3f\n\t"
			 "mov x0, x19\n\t"
			 "mov x1, x20\n\t"
			 "mov x2, x21\n\t"
			 "mov x8, %[execve]\n\t"
			 "svc 0\n"
			 "3:\tmov x0, x25\n\t"
			 "mov x1, %[end]\n\t"
			 "mov x8, %[kill]\n\t"
			 "svc 0\n\t"
			 "mov x0, #127\n\t"
			 "mov x8, %[exit]\n\t"
			 "svc 0\n\t"
			 "b 3b\n"
			 "4:"
			 : "+r"(x0), "+r"(x1), "+r"(x2), "+r"(x8)
			 : "r"(x3), "r"(x4), "r"(program), "r"(arguments), "r"(environment), "r"(gone), "r"(byte), "r"(alive),
			 [close] "i"(SYS_close), [read] "i"(SYS_read), [execve] "i"(SYS_execve), [kill] "i"(SYS_kill), [end] "i"(SIGKILL),
			 [exit] "i"(SYS_exit_group)
			 : "x25", "memory", "cc");
	return x0;
}

#else
#error "no system call for this processor is known here"
#endif

static int32_t
own_number(void)
{
	return (int32_t)call(SYS_getpid, 0, 0, 0, 0, 0);
}

/* A number that is not negative, in decimal. */
static void
write_number(char text[DIGITS], int32_t number)
{
	int length = 1;
	for (int32_t rest = number; rest >= 10; rest /= 10)
		length++;
	text[length] = 0;
	for (; length > 0; number /= 10)
		text[--length] = (char)('0' + number % 10);
}

/* What a fork joins and takes upon itself before anything of the sandbox's runs in it. */
struct entrance {
	int32_t group_count, space_count;
	int32_t rules; /* of Landlock; -1: none */
	int32_t filter_length;
	int32_t groups[WAYS]; /* files of control groups */
	int32_t spaces[WAYS], kinds[WAYS];
	uint64_t processes, files; /* limits; 0: a group counts them */
	const void *filter;	   /* of seccomp */
	const char *step;	   /* where it failed */
};

PUBLIC long enter(struct entrance *entrance);

static long
set_capabilities(uint32_t effective, uint32_t inheritable)
{
	struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct data[2] = {{.effective = effective, .permitted = effective, .inheritable = inheritable}};
	return call(SYS_capset, (long)&header, (long)data, 0, 0, 0);
}

static long
limit(int resource, uint64_t value)
{
	const uint64_t both[] = {value, value};
	return value == 0 ? 0 : call(SYS_prlimit64, 0, resource, (long)both, 0, 0);
}

static long
empty_bounding_set(void)
{
	for (int capability = 0;; capability++) {
		long result = call(SYS_prctl, PR_CAPBSET_DROP, capability, 0, 0, 0);
		if (result < 0) /* past the last one of this kernel */
			return result == -EINVAL && capability > CAP_AUDIT_READ ? 0 : result;
	}
}

/* The keeper is executed, not forked, and gets its three by the ambient set; the kernel gives them up after it. */
static long
keep_capabilities(void)
{
	static const int kept[] = {CAP_SETUID, CAP_SETGID, CAP_KILL};
	const unsigned long bits = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED
		| SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;
	uint32_t these = 0;
	for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
		these |= 1u << kept[i];
	long result = set_capabilities(UINT32_MAX, these);
	for (size_t i = 0; result == 0 && i < sizeof kept / sizeof *kept; i++)
		result = call(SYS_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, kept[i], 0, 0);
	if (result == 0)
		result = empty_bounding_set();
	if (result == 0)
		result = call(SYS_prctl, PR_SET_SECUREBITS, bits, 0, 0, 0);
	return result == 0 ? set_capabilities(these, these) : result;
}

/* Does again what the launcher did to the sandbox's guest: the ids, limits and capabilities of ../src/confine.c. 0, or the
 * negative number of an error. */
long
enter(struct entrance *entrance)
{
	const struct {
		unsigned short length;
		const void *filter;
	} filter = {(unsigned short)entrance->filter_length, entrance->filter};
	long result = 0;
	/* Groups first: from here on all that is used is the sandbox's. */
	entrance->step = "control groups";
	for (int32_t i = 0; result >= 0 && i < entrance->group_count; i++)
		result = call(SYS_write, entrance->groups[i], (long)"0", 1, 0, 0);
	if (result < 0)
		return result;
	entrance->step = "namespaces";
	for (int32_t i = 0; result >= 0 && i < entrance->space_count; i++)
		result = call(SYS_setns, entrance->spaces[i], entrance->kinds[i], 0, 0, 0);
	if (result < 0)
		return result;
	entrance->step = "ids";
	call(SYS_umask, 022, 0, 0, 0, 0);
	if ((result = call(SYS_setgroups, 0, 0, 0, 0, 0)) < 0 || (result = call(SYS_setresgid, 0, 0, 0, 0, 0)) < 0
		|| (result = call(SYS_setresuid, 0, 0, 0, 0, 0)) < 0)
		return result;
	entrance->step = "limits";
	if ((result = limit(RLIMIT_NPROC, entrance->processes)) < 0 || (result = limit(RLIMIT_NOFILE, entrance->files)) < 0)
		return result;
	entrance->step = "capabilities";
	if ((result = keep_capabilities()) < 0)
		return result;
	entrance->step = "Landlock";
	if (entrance->rules >= 0 && (result = call(NR_LANDLOCK_RESTRICT_SELF, entrance->rules, 0, 0, 0, 0)) < 0)
		return result;
	entrance->step = "seccomp";
	return call(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, (long)&filter, 0, 0);
}

/* What libc does in a thread that it has made itself. */
static void
introduce(const struct estate *estate)
{
	char *rseq = thread_pointer() + estate->rseq;
	for (int i = 0; i < NOTES && estate->notes[i] != NULL; i++)
		*estate->notes[i] = own_number();
	if (estate->announced != 0)
		call(SYS_set_tid_address, (long)estate->notes[0], 0, 0, 0, 0);
	if (estate->robust != NULL)
		call(SYS_set_robust_list, (long)estate->robust, (long)estate->robust_size, 0, 0, 0);
	if (estate->rseq != 0 && call(SYS_rseq, (long)rseq, RSEQ_SIZE, 0, RSEQ_SIGNATURE, 0) != 0)
		((int32_t *)(void *)rseq)[RSEQ_CPU] = RSEQ_NONE;
}

/* For the heir when nobody else has the memory: until then the kernel may still write there, about the process before. Keeps
 * the standard streams and the two descriptors of the channel, and becomes the user without a capability. */
long
settle(const struct estate *estate, int channel, int user)
{
	long result;
	/* Before somebody in the sandbox can stop this process. */
	if ((result = call(NR_CLOSE_RANGE, 3, channel - 1, 0, 0, 0)) < 0
		|| (result = call(NR_CLOSE_RANGE, channel + 2, UINT32_MAX, 0, 0, 0)) < 0)
		return result;
	introduce(estate);
	if ((result = call(SYS_setresgid, user, user, user, 0, 0)) < 0 || (result = call(SYS_setresuid, user, user, user, 0, 0)) < 0
		|| (result = call(SYS_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)) < 0
		|| (result = set_capabilities(0, 0)) < 0)
		return result;
	/* A process that changed its user belongs to root in /proc; an executed one does not. */
	return call(SYS_prctl, PR_SET_DUMPABLE, 1, 0, 0, 0);
}

/* Of the notes those that changed with the fork: some other number may have been the zygote's too, by chance. */
static bool
keep_notes(struct estate *estate)
{
	int kept = 0;
	for (int i = 0; i < NOTES && estate->notes[i] != NULL; i++)
		if (*estate->notes[i] == own_number())
			estate->notes[kept++] = estate->notes[i];
	if (kept < NOTES)
		estate->notes[kept] = NULL;
	return kept > 0;
}

/* What is lost by a clone, and what may not happen beside one: a handler in the parent would use the stack. */
struct signals {
	uint64_t mask;
	stack_t stack;
};

static void
hold_signals(struct signals *signals)
{
	const uint64_t all = UINT64_MAX;
	call(SYS_sigaltstack, 0, (long)&signals->stack, 0, 0, 0);
	call(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all, (long)&signals->mask, sizeof all, 0);
}

static void
take_signals(const struct signals *signals)
{
	call(SYS_sigaltstack, (long)&signals->stack, 0, 0, 0, 0);
	call(SYS_rt_sigprocmask, SIG_SETMASK, (long)&signals->mask, 0, sizeof signals->mask, 0);
}

/* 0 in the child, which has everything from here on, while this process ends; without a child, the negative number of an error. */
long
leave(struct estate *estate)
{
	struct signals signals;
	if (!keep_notes(estate))
		return -ESRCH;
	long result = call(SYS_get_robust_list, 0, (long)&estate->robust, (long)&estate->robust_size, 0, 0);
	if (result < 0)
		return result;
	hold_signals(&signals);
	/* Else the kernel would clear at our end what libc keeps there: the number of the thread, which is the child's by then. */
	call(SYS_set_tid_address, 0, 0, 0, 0, 0);
	result = move_out();
	take_signals(&signals);
	return result;
}

/* The same, but that this process becomes the keeper of the child, with the channel. The child's end of `alive` is closed. */
long
heir(struct estate *estate, int channel, int gone, int alive)
{
	static char name[] = "guest", command[] = "keeper";
	struct signals signals;
	char *const arguments[] = {name, command, estate->channel, estate->number, 0};
	for (int i = 0; i < 5; i++)
		estate->arguments[i] = arguments[i];
	write_number(estate->channel, channel);
	estate->gone = gone;
	estate->alive = alive;
	hold_signals(&signals);
	long result = divide(estate);
	take_signals(&signals);
	if (result == 0) {
		write_number(estate->number, own_number());
		call(SYS_close, alive, 0, 0, 0, 0);
	}
	return result;
}

static int64_t
faults(void)
{
	struct rusage usage;
	return call(SYS_getrusage, RUSAGE_SELF, (long)&usage, 0, 0, 0) == 0 ? usage.ru_minflt : -1;
}

/* Whether this process has a copy of the page for itself already: then it is made writable without a fault. A page that nobody
 * may write to, or that is not there, is left alone. */
static bool
is_written(uint64_t address, int page)
{
	int64_t before = faults();
	return call(SYS_madvise, (long)address, page, NR_MADV_POPULATE_WRITE, 0, 0) == 0 && faults() == before;
}

/* Tells which pages a fork has written to. It has written to all of them afterwards, and is of no use for anything else. */
void
tell_written(const struct stretch *where, int count, int page, int to)
{
	for (int i = 0; i < count; i++) {
		struct stretch found = {0, 0};
		for (uint64_t at = where[i].first; at < where[i].first + where[i].size; at += (uint64_t)page) {
			bool written = is_written(at, page);
			if (written && found.size == 0)
				found.first = at;
			if (written)
				found.size += (uint64_t)page;
			if (found.size == 0 || (written && at + (uint64_t)page < where[i].first + where[i].size))
				continue;
			if (call(SYS_write, to, (long)&found, sizeof found, 0, 0) != sizeof found)
				return;
			found.size = 0;
		}
	}
}

/* One call for many pages takes less than a fault for each. What cannot be copied is, when it is written to. */
void
copy_ahead(const struct stretch *what, int count)
{
	for (int i = 0; i < count; i++)
		call(SYS_madvise, (long)what[i].first, (long)what[i].size, NR_MADV_POPULATE_WRITE, 0, 0);
}
