/* Which system calls code in a sandbox may make: an allow-list, the same for every engine mode.
 *
 * The program is a binary search over ranges of call numbers, because the kernel runs it once for every number when it is
 * installed (to know which calls need no check later), and a list of comparisons would cost a third of a millisecond there. */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>

#include "spawn.h"
#include "syscalls.h"

#if defined(__x86_64__)
#define NATIVE_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE_ARCH AUDIT_ARCH_AARCH64
#else
#error "the call table has to be checked for this architecture first"
#endif

/* The last call we have an opinion on; newer ones (and x32's) do not exist inside. */
#define LAST_KNOWN 467
#define CLONE_NAMESPACES 0x7e020000u /* CLONE_NEW{NS,CGROUP,UTS,IPC,USER,PID,NET} */

enum action {
	REFUSE, /* EPERM */
	ALLOW,
	ABSENT, /* ENOSYS */
	CHECK_CLONE,
	CHECK_SOCKET,
	CHECK_PAIR,
	CHECK_OPTION,	   /* setsockopt without programs */
	CHECK_MAP,	   /* mmap, */
	CHECK_MEMORY_FILE, /* memfd_create */
	CHECK_SEGMENT,	   /* and shmget without huge pages */
	CHECK_ADVICE,	   /* madvise, */
	CHECK_PROCESS,	   /* and prctl without memory that is merged */
	CHECK_IOCTL,
	CHECK_PERSONALITY,
	CHECK_LIMIT,	   /* setrlimit, */
	CHECK_LIMIT_OF,	   /* and prlimit64, which must not name PID 1 either, leave the limit on cores as it is */
	CHECK_FIRST,  /* the first argument must not name PID 1 */
	CHECK_SECOND, /* the second must not */
	CHECK_NODE,   /* mknod of no device: gVisor asks for no privilege there */
	CHECK_NODE_AT,
	ACTIONS
};

/* Calls of every architecture, grouped by what they are about. */
static const uint16_t common[] = {
	/* files */
	__NR_read, __NR_write, __NR_readv, __NR_writev, __NR_pread64, __NR_pwrite64, __NR_preadv, __NR_pwritev, __NR_preadv2,
	__NR_pwritev2, __NR_close, __NR_openat, __NR_fstat, __NR_newfstatat, __NR_lseek, __NR_fcntl, __NR_flock, __NR_fsync, __NR_fdatasync,
	__NR_truncate, __NR_ftruncate, __NR_fallocate, __NR_fadvise64, __NR_readahead, __NR_sync, __NR_syncfs, __NR_sync_file_range,
	__NR_sendfile, __NR_splice, __NR_tee, __NR_vmsplice, __NR_copy_file_range, __NR_statx, __NR_statfs, __NR_fstatfs,
	__NR_getdents64, __NR_getcwd, __NR_chdir, __NR_fchdir, __NR_mkdirat, __NR_unlinkat, __NR_symlinkat, __NR_linkat,
	__NR_renameat2, __NR_readlinkat, __NR_faccessat, __NR_fchmod, __NR_fchmodat, __NR_fchown, __NR_fchownat, __NR_utimensat,
	__NR_umask, __NR_dup, __NR_dup3, __NR_pipe2, __NR_getxattr, __NR_lgetxattr, __NR_fgetxattr, __NR_setxattr,
	__NR_lsetxattr, __NR_fsetxattr, __NR_listxattr, __NR_llistxattr, __NR_flistxattr, __NR_removexattr, __NR_lremovexattr,
	__NR_fremovexattr, __NR_inotify_init1, __NR_inotify_add_watch, __NR_inotify_rm_watch,
	/* memory */
	__NR_munmap, __NR_mprotect, __NR_mremap, __NR_msync, __NR_mincore, __NR_mlock, __NR_mlock2,
	__NR_munlock, __NR_mlockall, __NR_munlockall, __NR_brk, __NR_remap_file_pages, __NR_membarrier, __NR_pkey_alloc,
	__NR_pkey_free, __NR_pkey_mprotect, __NR_get_mempolicy, __NR_set_mempolicy, __NR_mbind,
	/* waiting */
	__NR_ppoll, __NR_pselect6, __NR_epoll_create1, __NR_epoll_ctl, __NR_epoll_pwait, __NR_eventfd2, __NR_signalfd4,
	__NR_timerfd_create, __NR_timerfd_settime, __NR_timerfd_gettime, __NR_futex, __NR_set_robust_list, __NR_get_robust_list,
	__NR_nanosleep, __NR_clock_nanosleep,
	/* processes and signals */
	__NR_execve, __NR_execveat, __NR_exit, __NR_exit_group, __NR_wait4, __NR_waitid, __NR_kill, __NR_tkill, __NR_tgkill,
	__NR_rt_sigaction, __NR_rt_sigprocmask, __NR_rt_sigpending, __NR_rt_sigsuspend, __NR_rt_sigtimedwait, __NR_rt_sigreturn,
	__NR_rt_sigqueueinfo, __NR_rt_tgsigqueueinfo, __NR_sigaltstack, __NR_restart_syscall, __NR_set_tid_address, __NR_rseq,
	__NR_getpid, __NR_getppid, __NR_gettid, __NR_getpgid, __NR_setpgid, __NR_getsid, __NR_setsid, __NR_seccomp,
	__NR_getuid, __NR_geteuid, __NR_getgid, __NR_getegid, __NR_getresuid, __NR_getresgid, __NR_getgroups, __NR_setuid, __NR_setgid,
	__NR_setreuid, __NR_setregid, __NR_setresuid, __NR_setresgid, __NR_setfsuid, __NR_setfsgid, __NR_setgroups, __NR_capget,
	__NR_capset, __NR_getrlimit, __NR_getrusage, __NR_getpriority, __NR_sched_yield, __NR_sched_getaffinity,
	__NR_sched_getparam, __NR_sched_getscheduler, __NR_sched_getattr, __NR_sched_get_priority_max, __NR_sched_get_priority_min,
	__NR_sched_rr_get_interval, __NR_ioprio_get, __NR_ioprio_set, __NR_getcpu,
	/* time and system */
	__NR_clock_gettime, __NR_clock_getres, __NR_gettimeofday, __NR_times, __NR_getitimer, __NR_setitimer, __NR_timer_create,
	__NR_timer_settime, __NR_timer_gettime, __NR_timer_getoverrun, __NR_timer_delete, __NR_uname, __NR_sysinfo, __NR_getrandom,
	/* sockets and IPC: both live in namespaces of their own */
	__NR_bind, __NR_listen, __NR_accept, __NR_accept4, __NR_connect, __NR_getsockname, __NR_getpeername,
	__NR_sendto, __NR_recvfrom, __NR_sendmsg, __NR_recvmsg, __NR_sendmmsg, __NR_recvmmsg, __NR_shutdown, __NR_getsockopt,
	__NR_shmat, __NR_shmdt, __NR_shmctl, __NR_semget, __NR_semop, __NR_semctl, __NR_semtimedop,
	__NR_msgget, __NR_msgsnd, __NR_msgrcv, __NR_msgctl, __NR_mq_open, __NR_mq_unlink, __NR_mq_timedsend, __NR_mq_timedreceive,
	__NR_mq_notify, __NR_mq_getsetattr,
	/* numbers that every architecture shares: pidfd_send_signal, pidfd_open, close_range, openat2, faccessat2, epoll_pwait2,
	 * landlock (3), futex_waitv, fchmodat2, map_shadow_stack, futex (3), mseal, xattrat (4) */
	424, 434, 436, 437, 439, 441, 444, 445, 446, 449, 452, 453, 454, 455, 456, 462, 463, 464, 465, 466,
#if defined(__x86_64__)
	/* older forms of the above */
	__NR_open, __NR_creat, __NR_stat, __NR_lstat, __NR_access, __NR_pipe, __NR_dup2, __NR_poll, __NR_select, __NR_getdents,
	__NR_rename, __NR_renameat, __NR_mkdir, __NR_rmdir, __NR_link, __NR_unlink, __NR_symlink, __NR_readlink, __NR_chmod,
	__NR_chown, __NR_lchown, __NR_utime, __NR_utimes, __NR_futimesat, __NR_epoll_create, __NR_epoll_wait,
	__NR_inotify_init, __NR_signalfd, __NR_eventfd, __NR_fork, __NR_vfork, __NR_getpgrp, __NR_pause, __NR_alarm, __NR_time,
	__NR_arch_prctl,
#else
	__NR_renameat,
#endif
};

/* clone3: its flags cannot be seen; libc then uses clone. io_*: the whole host has one number of events for them
 * (fs.aio-max-nr), and programs that know them have another way. cachestat: says what others read of a file that all share. */
static const uint16_t absent[] = {435, 451, __NR_io_setup, __NR_io_destroy, __NR_io_submit, __NR_io_cancel, __NR_io_getevents};

static const struct {
	uint16_t number;
	uint8_t action;
} checked[] = {{__NR_clone, CHECK_CLONE}, {__NR_socket, CHECK_SOCKET}, {__NR_socketpair, CHECK_PAIR},
	{__NR_setsockopt, CHECK_OPTION}, {__NR_mmap, CHECK_MAP}, {__NR_memfd_create, CHECK_MEMORY_FILE},
	{__NR_shmget, CHECK_SEGMENT}, {__NR_madvise, CHECK_ADVICE}, {__NR_prctl, CHECK_PROCESS}, {__NR_ioctl, CHECK_IOCTL}, {__NR_personality, CHECK_PERSONALITY},
	{__NR_setrlimit, CHECK_LIMIT}, {__NR_prlimit64, CHECK_LIMIT_OF}, {__NR_sched_setaffinity, CHECK_FIRST}, {__NR_sched_setscheduler, CHECK_FIRST},
	{__NR_sched_setparam, CHECK_FIRST}, {__NR_sched_setattr, CHECK_FIRST}, {__NR_setpriority, CHECK_SECOND},
#ifdef __NR_mknod
	{__NR_mknod, CHECK_NODE},
#endif
	{__NR_mknodat, CHECK_NODE_AT}};

#define RETURN(value) BPF_STMT(BPF_RET | BPF_K, value)
#define ERROR(number) RETURN(SECCOMP_RET_ERRNO | (number))
#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define LOAD_HIGH(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field) + 4)
#define EQUAL(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, yes, no)
#define ANY_BIT(mask, yes, no) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, mask, yes, no)
#define PASS RETURN(SECCOMP_RET_ALLOW)

/* Arguments are looked at by their low half: both architectures are little-endian and these calls take ints. */
static const struct sock_filter clone_check[] = {LOAD(args[0]), ANY_BIT(CLONE_NAMESPACES, 0, 1), ERROR(EPERM), PASS};
/* Any other family or protocol would be a module of the kernel's that somebody inside can have loaded. */
static const struct sock_filter socket_check[] = {LOAD(args[0]), EQUAL(1 /* AF_UNIX */, 14, 0), EQUAL(2 /* AF_INET */, 4, 0),
	EQUAL(10 /* AF_INET6 */, 3, 0), EQUAL(16 /* AF_NETLINK */, 0, 10), LOAD(args[2]), EQUAL(0 /* route */, 9, 8), LOAD(args[2]),
	EQUAL(0 /* the type's own */, 7, 0), EQUAL(1 /* ICMP */, 6, 0), EQUAL(6 /* TCP */, 5, 0), EQUAL(17 /* UDP */, 4, 0),
	EQUAL(58 /* ICMPv6 */, 3, 0), EQUAL(262 /* MPTCP */, 2, 0), ERROR(EPROTONOSUPPORT), ERROR(EAFNOSUPPORT), PASS};
static const struct sock_filter pair_check[] = {LOAD(args[0]), EQUAL(1 /* AF_UNIX */, 1, 0), ERROR(EAFNOSUPPORT), PASS};
/* Programs for sockets are made of memory that all users of the host share, and the filter of every new sandbox is too. */
static const struct sock_filter option_check[] = {LOAD(args[1]), EQUAL(1 /* SOL_SOCKET */, 0, 6), LOAD(args[2]),
	EQUAL(26 /* SO_ATTACH_FILTER */, 3, 0), EQUAL(50 /* SO_ATTACH_BPF */, 2, 0), EQUAL(51 /* SO_ATTACH_REUSEPORT_CBPF */, 1, 0),
	EQUAL(52 /* SO_ATTACH_REUSEPORT_EBPF */, 0, 1), ERROR(EPERM), PASS};
/* Huge pages that the host has laid by are somebody's, and no memory limit counts them. */
static const struct sock_filter map_check[] = {LOAD(args[3]), ANY_BIT(0x40000 /* MAP_HUGETLB */, 0, 1), ERROR(ENOMEM), PASS};
static const struct sock_filter memory_file_check[] = {LOAD(args[1]), ANY_BIT(4 /* MFD_HUGETLB */, 0, 1), ERROR(EINVAL), PASS};
static const struct sock_filter segment_check[] = {LOAD(args[2]), ANY_BIT(04000 /* SHM_HUGETLB */, 0, 1), ERROR(EPERM), PASS};
/* Where a page of one's own is merged with an equal one, a write takes longer: so it would tell what virtual machines of the
 * host hold. The answer is that of a kernel that merges none. */
static const struct sock_filter advice_check[] = {LOAD(args[2]), EQUAL(12 /* MADV_MERGEABLE */, 0, 1), ERROR(EINVAL), PASS};
static const struct sock_filter process_check[] = {LOAD(args[0]), EQUAL(67 /* PR_SET_MEMORY_MERGE */, 0, 1), ERROR(EINVAL), PASS};
static const struct sock_filter ioctl_check[] = {LOAD(args[1]), EQUAL(0x5412 /* TIOCSTI */, 2, 0),
	EQUAL(0x541c /* TIOCLINUX */, 1, 0), EQUAL(0x5423 /* TIOCSETD */, 0, 1), ERROR(EPERM), PASS};
static const struct sock_filter personality_check[] = {LOAD(args[0]), EQUAL(0, 1, 0), EQUAL(0xffffffffu, 0, 1), PASS,
	ERROR(EPERM)};
/* A lower one would let crashes through to the host: see CORE_LIMIT. Programs that want none are told that it is done. */
static const struct sock_filter limit_check[] = {LOAD(args[0]), EQUAL(4 /* RLIMIT_CORE */, 0, 1), ERROR(0), PASS};
static const struct sock_filter limit_of_check[] = {LOAD(args[0]), EQUAL(1, 0, 1), ERROR(EPERM), LOAD(args[1]),
	EQUAL(4 /* RLIMIT_CORE */, 0, 5), LOAD(args[2]), EQUAL(0, 0, 2), LOAD_HIGH(args[2]), EQUAL(0 /* only asks */, 1, 0), ERROR(0),
	PASS};
static const struct sock_filter first_check[] = {LOAD(args[0]), EQUAL(1, 0, 1), ERROR(EPERM), PASS};
static const struct sock_filter second_check[] = {LOAD(args[1]), EQUAL(1, 0, 1), ERROR(EPERM), PASS};
/* Of all that mknod makes, devices alone have this bit. */
#define DEVICE_BIT 0020000
static const struct sock_filter node_check[] = {LOAD(args[1]), ANY_BIT(DEVICE_BIT, 0, 1), ERROR(EPERM), PASS};
static const struct sock_filter node_at_check[] = {LOAD(args[2]), ANY_BIT(DEVICE_BIT, 0, 1), ERROR(EPERM), PASS};

static const struct {
	const struct sock_filter *code;
	size_t length;
} checks[ACTIONS] = {
	[CHECK_CLONE] = {clone_check, sizeof clone_check / sizeof *clone_check},
	[CHECK_SOCKET] = {socket_check, sizeof socket_check / sizeof *socket_check},
	[CHECK_PAIR] = {pair_check, sizeof pair_check / sizeof *pair_check},
	[CHECK_OPTION] = {option_check, sizeof option_check / sizeof *option_check},
	[CHECK_MAP] = {map_check, sizeof map_check / sizeof *map_check},
	[CHECK_MEMORY_FILE] = {memory_file_check, sizeof memory_file_check / sizeof *memory_file_check},
	[CHECK_SEGMENT] = {segment_check, sizeof segment_check / sizeof *segment_check},
	[CHECK_ADVICE] = {advice_check, sizeof advice_check / sizeof *advice_check},
	[CHECK_PROCESS] = {process_check, sizeof process_check / sizeof *process_check},
	[CHECK_IOCTL] = {ioctl_check, sizeof ioctl_check / sizeof *ioctl_check},
	[CHECK_PERSONALITY] = {personality_check, sizeof personality_check / sizeof *personality_check},
	[CHECK_LIMIT] = {limit_check, sizeof limit_check / sizeof *limit_check},
	[CHECK_LIMIT_OF] = {limit_of_check, sizeof limit_of_check / sizeof *limit_of_check},
	[CHECK_FIRST] = {first_check, sizeof first_check / sizeof *first_check},
	[CHECK_SECOND] = {second_check, sizeof second_check / sizeof *second_check},
	[CHECK_NODE] = {node_check, sizeof node_check / sizeof *node_check},
	[CHECK_NODE_AT] = {node_at_check, sizeof node_at_check / sizeof *node_at_check},
};

struct range {
	uint16_t start;
	uint8_t action;
};

#define PROGRAM_MAX 512

/* For sandboxes, and for zygotes: the same and setns, because a filter stays in force for what they fork. */
static struct sock_filter programs[2][PROGRAM_MAX], *program;
static size_t lengths[2], length;
static size_t check_at[ACTIONS];

static void
emit(struct sock_filter instruction)
{
	if (length < PROGRAM_MAX)
		program[length] = instruction;
	length++;
}

static void
emit_leaf(uint8_t action)
{
	if (action == ALLOW)
		emit((struct sock_filter)PASS);
	else if (action == REFUSE)
		emit((struct sock_filter)ERROR(EPERM));
	else if (action == ABSENT)
		emit((struct sock_filter)ERROR(ENOSYS));
	else
		emit((struct sock_filter)BPF_STMT(BPF_JMP | BPF_JA, (uint32_t)(check_at[action] - length - 1)));
}

/* A search over n ranges takes 2n - 1 instructions; a jump reaches 255, so n may be a little over 250. */
static void
emit_search(const struct range *ranges, size_t count)
{
	if (count == 1) {
		emit_leaf(ranges[0].action);
		return;
	}
	size_t left = count / 2;
	emit((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, ranges[left].start, (uint8_t)(2 * left - 1), 0));
	emit_search(ranges, left);
	emit_search(ranges + left, count - left);
}

static size_t
find_ranges(struct range *ranges, bool zygote)
{
	static uint8_t actions[LAST_KNOWN + 2];
	for (size_t i = 0; i < sizeof common / sizeof *common; i++)
		actions[common[i]] = ALLOW;
	for (size_t i = 0; i < sizeof checked / sizeof *checked; i++)
		actions[checked[i].number] = checked[i].action;
	for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
		actions[absent[i]] = ABSENT;
	actions[__NR_setns] = zygote ? ALLOW : REFUSE;
	actions[LAST_KNOWN + 1] = ABSENT;
	size_t count = 0;
	for (size_t number = 0; number < sizeof actions; number++)
		if (count == 0 || ranges[count - 1].action != actions[number])
			ranges[count++] = (struct range){(uint16_t)number, actions[number]};
	return count;
}

static bool
assemble(bool zygote)
{
	static struct range ranges[LAST_KNOWN + 2];
	program = programs[zygote];
	length = 0;
	emit((struct sock_filter)LOAD(arch));
	emit((struct sock_filter)EQUAL(NATIVE_ARCH, 1, 0));
	emit((struct sock_filter)RETURN(SECCOMP_RET_KILL_PROCESS));
	emit((struct sock_filter)LOAD(nr));
	size_t count = find_ranges(ranges, zygote);
	size_t next = length + 2 * count - 1;
	for (int action = 0; action < ACTIONS; action++) {
		check_at[action] = next;
		next += checks[action].length;
	}
	if (count > 250 || next > PROGRAM_MAX)
		return false;
	emit_search(ranges, count);
	for (int action = 0; action < ACTIONS; action++)
		for (size_t i = 0; i < checks[action].length; i++)
			emit(checks[action].code[i]);
	lengths[zygote] = length;
	return true;
}

bool
seccomp_prepare(void)
{
	return assemble(false) && assemble(true);
}

/* The one call that zygotes have more than sandboxes, refused: their list stays in force for their forks, and of two answers the
 * stricter holds.
 * The whole list a second time would take a fifth of a millisecond to install, and be gone through at each call. */
struct bytes
seccomp_rest(void)
{
	static const struct sock_filter rest[] = {LOAD(nr), EQUAL(__NR_setns, 0, 1), ERROR(EPERM), PASS};
	return (struct bytes){(const uint8_t *)rest, sizeof rest};
}

bool
seccomp_confine_zygote(void)
{
	struct sock_fprog filter = {(unsigned short)lengths[1], programs[1]};
	return syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) == 0;
}

bool
seccomp_apply(struct plan *plan, struct failure *failure)
{
	struct sock_fprog filter = {(unsigned short)lengths[0], programs[0]};
	if (syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) == 0) {
		measure_applied(&plan->measures, MEASURE_SECCOMP, "allow-list of %zu calls",
			sizeof common / sizeof *common + sizeof checked / sizeof *checked);
		return true;
	}
	measure_missing(&plan->measures, MEASURE_SECCOMP, "the kernel refused the filter: %s", strerror(errno));
	return excused(plan, MEASURE_SECCOMP, failure);
}
