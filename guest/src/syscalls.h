/* System calls and constants that the libc's headers do not have. Numbers from 424 on are the same on every architecture. */
#ifndef CARREL_SYSCALLS_H
#define CARREL_SYSCALLS_H

#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NR_OPEN_TREE 428
#define NR_MOVE_MOUNT 429
#define NR_FSOPEN 430
#define NR_FSCONFIG 431
#define NR_FSMOUNT 432
#define NR_PIDFD_OPEN 434
#define NR_PIDFD_SEND_SIGNAL 424
#define NR_CLONE3 435
#define NR_CLOSE_RANGE 436
#define NR_OPENAT2 437
#define NR_PIDFD_GETFD 438
#define NR_MOUNT_SETATTR 442
#define NR_LANDLOCK_CREATE_RULESET 444
#define NR_LANDLOCK_ADD_RULE 445
#define NR_LANDLOCK_RESTRICT_SELF 446

#define K_OPEN_TREE_CLONE 1u
#define K_AT_RECURSIVE 0x8000u
#define K_MOVE_MOUNT_F_EMPTY_PATH 4u
#define K_MOVE_MOUNT_T_EMPTY_PATH 0x40u
#define K_FSCONFIG_SET_FLAG 0u
#define K_FSCONFIG_SET_STRING 1u
#define K_FSCONFIG_CMD_CREATE 6u
#define K_MOUNT_ATTR_RDONLY 1u
#define K_MOUNT_ATTR_NOSUID 2u
#define K_MOUNT_ATTR_NODEV 4u
#define K_MOUNT_ATTR_NOEXEC 8u
#define K_MOUNT_ATTR_NOATIME 0x10u
#define K_MOUNT_ATTR_IDMAP 0x100000u
#define K_RESOLVE_NO_XDEV 1u
#define K_RESOLVE_NO_MAGICLINKS 2u
#define K_RESOLVE_NO_SYMLINKS 4u
#define K_RESOLVE_BENEATH 8u
#define K_RENAME_NOREPLACE 1u
#define K_CLONE_INTO_CGROUP 0x200000000ull

struct k_mount_attr {
	uint64_t set, clear, propagation, userns;
};

struct k_open_how {
	uint64_t flags, mode, resolve;
};

struct k_clone_args {
	uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid, set_tid_size, cgroup;
};

/* What the kernel (6.15) still knows of a process that was not our child. */
struct k_pidfd_info {
	uint64_t mask, cgroup;
	uint32_t pid, tgid, ppid, ruid, rgid, euid, egid, suid, sgid, fsuid, fsgid;
	int32_t exit_code;
};
#define K_PIDFD_INFO_EXIT (1ull << 3)
#define K_PIDFD_GET_INFO _IOWR(0xff, 11, struct k_pidfd_info)

static inline int
k_open_tree(int directory, const char *path, unsigned flags)
{
	return (int)syscall(NR_OPEN_TREE, directory, path, flags);
}

static inline int
k_move_mount(int from, const char *from_path, int to, const char *to_path, unsigned flags)
{
	return (int)syscall(NR_MOVE_MOUNT, from, from_path, to, to_path, flags);
}

static inline int
k_mount_setattr(int directory, const char *path, unsigned flags, uint64_t set)
{
	struct k_mount_attr attributes = {.set = set};
	return (int)syscall(NR_MOUNT_SETATTR, directory, path, flags, &attributes, sizeof attributes);
}

/* Takes attributes away from one mount, and from none below it. */
static inline int
k_mount_clear(int directory, const char *path, unsigned flags, uint64_t clear)
{
	struct k_mount_attr attributes = {.clear = clear};
	return (int)syscall(NR_MOUNT_SETATTR, directory, path, flags, &attributes, sizeof attributes);
}

static inline int
k_openat2(int directory, const char *path, uint64_t flags, uint64_t resolve)
{
	struct k_open_how how = {.flags = flags, .resolve = resolve};
	return (int)syscall(NR_OPENAT2, directory, path, &how, sizeof how);
}

static inline int
k_pidfd_open(int pid)
{
	return (int)syscall(NR_PIDFD_OPEN, pid, 0);
}

static inline int
k_pidfd_send_signal(int pidfd, int signal)
{
	return (int)syscall(NR_PIDFD_SEND_SIGNAL, pidfd, signal, NULL, 0);
}

/* The libc's own is a wrapper in newer versions only. */
static inline int
k_renameat2(int from, const char *name, int to, const char *new_name, unsigned flags)
{
	return (int)syscall(SYS_renameat2, from, name, to, new_name, flags);
}

static inline int
k_pidfd_getfd(int pidfd, int fd)
{
	return (int)syscall(NR_PIDFD_GETFD, pidfd, fd, 0);
}

static inline int
k_close_range(unsigned first, unsigned last)
{
	return (int)syscall(NR_CLOSE_RANGE, first, last, 0);
}

#endif
