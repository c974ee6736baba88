/* A library that gVisor's sandboxes load before libc, where their gVisor needs it (see /etc/ld.so.preload inside).
 *
 * gVisor of 2022, which distributions ship, answers EINVAL to statx and fstatat with AT_NO_AUTOMOUNT. It mounts nothing by
 * itself, so the flag says nothing there; but `ls`, `stat` and everything else of coreutils set it. These functions leave it
 * out. They use no libc but the place of errno, so one library serves every image with a dynamic linker that reads that file. */
#include <sys/syscall.h>

#include "call.h"

#define PUBLIC __attribute__((visibility("default")))
#define NO_AUTOMOUNT 0x800

/* Declared here and with plain pointers: each libc has headers of its own for them, and on 64 bits the kernel's structures. */
int *__errno_location(void);
PUBLIC int statx(int folder, const char *path, int flags, unsigned mask, void *status);
PUBLIC int fstatat(int folder, const char *path, void *status, int flags);
PUBLIC int fstatat64(int folder, const char *path, void *status, int flags);
PUBLIC int __fxstatat(int version, int folder, const char *path, void *status, int flags);
PUBLIC int __fxstatat64(int version, int folder, const char *path, void *status, int flags);

static int
answer(long result)
{
	if (result >= 0)
		return (int)result;
	*__errno_location() = (int)-result;
	return -1;
}

static int
stat_at(int folder, const char *path, void *status, int flags)
{
	return answer(call(SYS_newfstatat, folder, (long)path, (long)status, flags & ~NO_AUTOMOUNT, 0));
}

int
statx(int folder, const char *path, int flags, unsigned mask, void *status)
{
	return answer(call(SYS_statx, folder, (long)path, flags & ~NO_AUTOMOUNT, (long)mask, (long)status));
}

int
fstatat(int folder, const char *path, void *status, int flags)
{
	return stat_at(folder, path, status, flags);
}

int
fstatat64(int folder, const char *path, void *status, int flags)
{
	return stat_at(folder, path, status, flags);
}

/* What fstatat was in programs that were linked with a glibc before 2.33. */
int
__fxstatat(int version, int folder, const char *path, void *status, int flags)
{
	(void)version;
	return stat_at(folder, path, status, flags);
}

int
__fxstatat64(int version, int folder, const char *path, void *status, int flags)
{
	(void)version;
	return stat_at(folder, path, status, flags);
}
