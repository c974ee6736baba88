/* What the child gives up before it becomes the guest: limits, descriptors, capabilities. */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"
#include "spawn.h"
#include "syscalls.h"

/* Sets both limits, not above what we may: raising needs a capability that even root may lack. */
static int
limit(int resource, rlim_t value, rlim_t *effective)
{
	struct rlimit now;
	if (getrlimit(resource, &now) != 0)
		return -1;
	if (now.rlim_max != RLIM_INFINITY && value > now.rlim_max)
		value = now.rlim_max;
	*effective = value;
	return setrlimit(resource, &(struct rlimit){value, value});
}

bool
confine_limits(struct plan *plan, struct failure *failure)
{
	const struct {
		int resource;
		rlim_t value;
	} limits[] = {{RLIMIT_CORE, CORE_LIMIT}, {RLIMIT_MEMLOCK, 8 << 20}, {RLIMIT_MSGQUEUE, 64 << 10}, {RLIMIT_SIGPENDING, 1024},
		{RLIMIT_NICE, 0}, {RLIMIT_RTPRIO, 0}};
	rlim_t effective;
	for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
		if (limit(limits[i].resource, limits[i].value, &effective) != 0)
			return give_up(failure, KIND_ENGINE, "rlimit", errno, "resource %d", limits[i].resource);
	/* Only where no group counts processes: a limit of each process's own could never be raised again. */
	if (!plan->measures.applied[MEASURE_PIDS_LIMIT] && limit(RLIMIT_NPROC, (rlim_t)plan->limits.pids, &effective) != 0)
		return give_up(failure, KIND_ENGINE, "rlimit", errno, "processes");
	if (limit(RLIMIT_NOFILE, (rlim_t)plan->limits.nofile, &effective) != 0)
		return give_up(failure, KIND_ENGINE, "rlimit", errno, "open files");
	plan->limits.nofile = (int64_t)effective;
	measure_applied(&plan->measures, MEASURE_NOFILE_LIMIT, "%lld descriptors a process", (long long)effective);
	return true;
}

/* What a package manager's root needs inside: files of any owner, and to act as another user. Each is good for the ids of
 * this user namespace alone. None of them mounts, makes devices, opens raw sockets, traces or changes the system. */
#define ROOT_CAPABILITIES                                                                                                    \
	(1u << CAP_CHOWN | 1u << CAP_DAC_OVERRIDE | 1u << CAP_FOWNER | 1u << CAP_FSETID | 1u << CAP_SETGID | 1u << CAP_SETUID)

#define GUEST_CAPABILITIES (1u << CAP_SETUID | 1u << CAP_SETGID | 1u << CAP_KILL)

static bool
keep_capabilities(uint32_t kept)
{
	struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct data[2] = {{.effective = kept, .permitted = kept}};
	return syscall(SYS_capset, &header, data) == 0;
}

/* Where commands are root, the guest is somebody else: it keeps what they shall have, since with no_new_privs nobody gets
 * more than who started it has, and what it needs to end them. */
static bool
leave_root(struct failure *failure)
{
	const uid_t id = OVERLAY_GUEST_UID;
	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) != 0 || setresgid(id, id, id) != 0 || setresuid(id, id, id) != 0
		|| prctl(PR_SET_KEEPCAPS, 0, 0, 0, 0) != 0 || !keep_capabilities(ROOT_CAPABILITIES | GUEST_CAPABILITIES | 1u << CAP_SETPCAP))
		return give_up(failure, KIND_ENGINE, "capabilities", errno, "taking the guest's own id");
	return true;
}

/* The guest keeps what it needs to change to the sandbox's user and to end its processes; the bounding set is empty but where
 * commands are root, so no program it starts can have even that. */
static bool
drop_capabilities(const struct plan *plan, struct failure *failure)
{
	const uint32_t bounding = plan->overlay ? ROOT_CAPABILITIES : 0;
	for (int capability = 0;; capability++) {
		if (capability < 32 && (bounding & 1u << capability) != 0)
			continue;
		if (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0)
			continue;
		if (errno == EINVAL && capability > CAP_AUDIT_READ)
			break; /* past the last one of this kernel */
		return give_up(failure, KIND_ENGINE, "capabilities", errno, "emptying the bounding set");
	}
	if (plan->overlay && !leave_root(failure))
		return false;
	const unsigned long bits = (plan->overlay ? 0 : SECBIT_NOROOT) | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP_LOCKED
		| SECBIT_KEEP_CAPS_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;
	/* A kernel that is not Linux (gVisor) knows neither: there the empty bounding set stands alone. */
	if (prctl(PR_SET_SECUREBITS, bits, 0, 0, 0) != 0 && errno != EINVAL)
		return give_up(failure, KIND_ENGINE, "capabilities", errno, "securebits");
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0 && errno != EINVAL)
		return give_up(failure, KIND_ENGINE, "capabilities", errno, "ambient set");
	if (!keep_capabilities(plan->map == MAP_SINGLE ? 0 : bounding | GUEST_CAPABILITIES))
		return give_up(failure, KIND_ENGINE, "capabilities", errno, "capset");
	return true;
}

bool
confine_privileges(struct plan *plan, struct failure *failure)
{
	if (!drop_capabilities(plan, failure))
		return false;
	if (plan->overlay)
		measure_missing(&plan->measures, MEASURE_NO_CAPABILITIES,
			"chown, dac_override, fowner, fsetid, setuid, setgid on its own ids, as rootfs: overlay asks for");
	else
		measure_applied(&plan->measures, MEASURE_NO_CAPABILITIES, "bounding set empty%s",
			plan->map == MAP_SINGLE ? "" : "; the guest alone keeps setuid, setgid, kill");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return give_up(failure, KIND_ENGINE, "no-new-privileges", errno, "prctl");
	measure_applied(&plan->measures, MEASURE_NO_NEW_PRIVILEGES, "set");
	/* Last, since every change of ids sets it anew: nobody inside may look into the guest. */
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
		return give_up(failure, KIND_ENGINE, "dumpable", errno, "prctl");
	return true;
}
