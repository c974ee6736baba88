"""Prints what a process sees of its own confinement, one `key value` a line. Run on the host, in runc and in a sandbox."""

import ctypes
import os
import platform
import resource
import socket
import stat
import struct
import sys

libc = ctypes.CDLL(None, use_errno=True)
ARM = platform.machine() == "aarch64"
# Number on x86_64, number on aarch64, arguments. The arguments are such that the call can have no effect wherever it is let
# through: what counts is whether it gets as far as looking at them. This file also runs on the host, as root.
NOWHERE = b"/no/such/path"
CALLS = {
    "unshare-user": (272, 97, (0x10000000,)),
    "unshare-net": (272, 97, (0x40000000,)),
    "clone-newuser": (56, 220, (0x10000000 | 17, 0, 0, 0, 0)),
    "clone3": (435, 435, (0, 0)),
    "setns": (308, 268, (-1, 0)),
    "mount": (165, 40, (NOWHERE, NOWHERE, b"tmpfs", 0, 0)),
    "umount": (166, 39, (NOWHERE, 0)),
    "pivot_root": (155, 41, (NOWHERE, NOWHERE)),
    "chroot": (161, 51, (NOWHERE,)),
    "fsopen": (430, 430, (b"nosuchfs", 0)),
    "open_tree": (428, 428, (-1, NOWHERE, 1)),
    "move_mount": (429, 429, (-1, b"", -1, b"", 0)),
    "mount_setattr": (442, 442, (-1, NOWHERE, 0, 0, 0)),
    "ptrace": (101, 117, (3, 0, 0, 0)),
    "process_vm_readv": (310, 270, (0, 0, 0, 0, 0, 0)),
    "kcmp": (312, 272, (0, 0, 0, 0, 0)),
    "pidfd_getfd": (438, 438, (-1, 0, 0)),
    "bpf": (321, 280, (-1, 0, 0)),
    "perf_event_open": (298, 241, (0, 0, -1, -1, 0)),
    "userfaultfd": (323, 282, (-1,)),
    "io_uring_setup": (425, 425, (0, 0)),
    "io_setup": (206, 0, (0, 0)),
    "io_submit": (209, 2, (0, 0, 0)),
    "keyctl": (250, 219, (-1, 0, 0)),
    "add_key": (248, 217, (b"nosuchtype", b"x", 0, 0, 0)),
    "request_key": (249, 218, (b"nosuchtype", b"x", 0, 0)),
    "name_to_handle_at": (303, 264, (-1, NOWHERE, 0, 0, 0)),
    "open_by_handle_at": (304, 265, (-1, 0, 0)),
    "init_module": (175, 105, (0, 0, 0)),
    "finit_module": (313, 273, (-1, 0, 0)),
    "delete_module": (176, 106, (b"nosuchmodule", 0)),
    "kexec_load": (246, 104, (0, 1000, 0, 0)),
    "reboot": (169, 142, (0, 0, 0, 0)),
    "swapon": (167, 224, (NOWHERE, 0)),
    "swapoff": (168, 225, (NOWHERE,)),
    "sethostname": (170, 161, (b"", -1)),
    "clock_settime": (227, 112, (-1, 0)),
    "syslog": (103, 116, (-1, 0, 0)),
    "acct": (163, 89, (NOWHERE,)),
    "quotactl": (179, 60, (-1, 0, 0, 0)),
    "cachestat": (451, 451, (-1, 0, 0, 0)),
    "fanotify_init": (300, 262, (-1, 0)),
    "call-of-the-future": (900, 900, ()),
    "sched_setaffinity-1": (203, 122, (1, 0, 0)),
    "prlimit-1": (302, 261, (1, 99, 0, 0)),
}
# Not by number alone: what their arguments ask for decides. All of these are of no consequence.
ARGUMENTS = {
    "personality-linux32": (135, 92, (0x0008,)),
    "ioctl-TIOCSTI": (16, 29, (-1, 0x5412, 0)),
    "ioctl-TIOCLINUX": (16, 29, (-1, 0x541C, 0)),
    "setsockopt-SO_ATTACH_FILTER": (54, 208, (-1, 1, 26, 0, 0)),
    "setsockopt-SO_ATTACH_REUSEPORT_CBPF": (54, 208, (-1, 1, 51, 0, 0)),
    "shmget-SHM_HUGETLB": (29, 194, (0, 0, 0o5000)),
    "x32-getpid": (0x40000000 + 39, 900, ()),
}
# What honest programs need, so that a filter that refuses everything cannot pass.
NEEDED = {
    "getpid": (39, 172, ()),
    "personality-query": (135, 92, (0xFFFFFFFF,)),
    "memfd_create": (319, 279, (b"x", 1)),
    "getrandom": (318, 278, (ctypes.create_string_buffer(8), 8, 0)),
    "prlimit-self": (302, 261, (0, 7, 0, ctypes.create_string_buffer(16))),
    "eventfd2": (290, 19, (0, 0)),
    "epoll_create1": (291, 20, (0,)),
    "inotify_init1": (294, 26, (0,)),
}
# Memory of a page size that no kernel has, and a file without a name: who looks at these says that, and gives nothing.
HUGE = {
    "mmap": (9, 222, (0, 4096, 0, 0xC040022, -1, 0)),
    "memfd_create": (319, 279, (0, 4)),
}
# The first asks it for no memory at all, the second takes it back.
MERGED = {
    "madvise": (28, 233, (0, 0, 12)),
    "prctl": (157, 167, (67, 0, 0, 0, 0)),
}
# What would put this process before those of all others: the lowest priority in real time, and a better one than usual.
AHEAD = {
    "sched_setscheduler": (144, 119, (0, 1, struct.pack("i", 1))),
    "setpriority": (141, 140, (0, 0, -5)),
}
# Zeros at an address whose lower half is zero too: who looks at that half alone takes it for none.
libc.mmap.restype = ctypes.c_void_p
FAR = libc.mmap(ctypes.c_void_p(5 << 32), ctypes.c_size_t(4096), 1, 0x100022, -1, ctypes.c_long(0))
# What lowers the limit on cores to 0, in the two ways that there are.
LOWERED = {
    "setrlimit": (160, 164, (4, bytes(16))),
    "prlimit64": (302, 261, (0, 4, bytes(16), 0)),
    "prlimit64-far": (302, 261, (0, 4, FAR, 0)),
}
FAMILIES = {"unix": 1, "inet": 2, "inet6": 10, "packet": 17, "alg": 38, "vsock": 40, "bluetooth": 31, "xdp": 44, "key": 15}
# A type and a protocol beside the type's own. Numbers that have the host load a module are not among them.
PROTOCOLS = {"tcp": (socket.SOCK_STREAM, 6), "udp": (socket.SOCK_DGRAM, 17), "udplite": (socket.SOCK_DGRAM, 136)}
PATHS = ["kcore", "keys", "timer_list", "sysrq-trigger", "kallsyms", "latency_stats", "sched_debug", "timer_stats",
         "interrupts", "acpi", "scsi", "asound", "config.gz", "driver"]
KNOBS = ["sys/kernel/core_pattern", "sys/kernel/modprobe", "sys/kernel/hostname", "sys/net/ipv4/ip_forward", "sys/vm/overcommit_memory",
         "sysrq-trigger", "irq/default_smp_affinity", "self/oom_score_adj"]
HOST = ["/root", "/home", "/var/lib/dpkg", "/etc/shadow", "/sys/kernel", "/sys/firmware", "/var/run/docker.sock", "/run/docker.sock",
        "/run/containerd", "/dev/kvm", "/dev/mem", "/dev/fuse", "/dev/net/tun", "/dev/vda", "/dev/sda", "/proc/1/root/usr", "/proc/1/cwd/usr"]


def call(table, name, then=None):
    intel, arm, arguments = table[name]
    ctypes.set_errno(0)
    # In a child: some of these would change us where nothing stops them.
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        result = libc.syscall(ctypes.c_long(arm if ARM else intel), *[a if isinstance(a, (bytes, ctypes.Array)) else ctypes.c_long(a)
                                                                      for a in arguments])
        error = ctypes.get_errno()
        answer = "ok" if result >= 0 else os.strerror(error).replace(" ", "_")
        os.write(writer, (then(answer) if then else answer).encode())
        os._exit(0)
    os.close(writer)
    answer = os.read(reader, 200).decode() or "died"
    os.close(reader)
    os.waitpid(pid, 0)
    return answer


def with_core_limit(answer):
    return "%s,%d,%d" % (answer, *resource.getrlimit(resource.RLIMIT_CORE))


def landlock_layers():
    """How many rulesets this process can still put on itself; the kernel takes a fixed number of each process."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        libc.prctl(38, 1, 0, 0, 0)  # no new privileges, without which an ordinary user may not
        ruleset = libc.syscall(ctypes.c_long(444), struct.pack("Q", 1), ctypes.c_long(8), ctypes.c_long(0))
        count = 0
        while count < 100 and libc.syscall(ctypes.c_long(446), ctypes.c_long(ruleset), ctypes.c_long(0)) == 0:
            count += 1
        os.write(writer, b"%d" % count)
        os._exit(0)
    os.close(writer)
    count = os.read(reader, 200).decode()
    os.close(reader)
    os.waitpid(pid, 0)
    return count


def opened(*arguments, make=socket.socket):
    try:
        made = make(*arguments)
        for one in made if isinstance(made, tuple) else (made,):
            one.close()
        return "ok"
    except OSError as error:
        return os.strerror(error.errno).replace(" ", "_")


def look(path):
    try:
        # Neither can be opened and read like a file: to be seen is enough to be connected to or to be opened by who may.
        if stat.S_ISSOCK(os.stat(path).st_mode) or stat.S_ISBLK(os.stat(path).st_mode):
            return "full"
        if os.path.isdir(path):
            # A name for the sandbox's own files is nothing of the host's.
            own = [name for name in os.listdir(path) if os.path.realpath(os.path.join(path, name)) == "/workspace"]
            return "full" if len(os.listdir(path)) > len(own) else "empty"
        with open(path, "rb", buffering=0) as file:
            return "full" if file.read(1) else "empty"
    except OSError as error:
        return "absent" if error.errno == 2 else "refused"


def look_at_own_socket():
    path = "/dev/shm/profile-%d.sock" % os.getpid()
    try:
        with socket.socket(socket.AF_UNIX) as own:
            own.bind(path)
            seen = look(path)
            os.unlink(path)
            return seen
    except OSError as error:
        return os.strerror(error.errno).replace(" ", "_")


def writable(path):
    try:
        os.close(os.open(path, os.O_WRONLY))
        return "writable"
    except OSError as error:
        return os.strerror(error.errno).replace(" ", "_")


def main():
    out = [("kernel", platform.release() + " " + platform.version())]
    for name in sorted(os.listdir("/proc/self/ns")):
        out.append(("ns." + name, os.readlink("/proc/self/ns/" + name)))
    with open("/proc/self/status") as status:
        for line in status:
            key, _, value = line.partition(":")
            if key.startswith("Cap") or key in ("NoNewPrivs", "Seccomp", "Groups", "Uid"):
                out.append(("status." + key, value.strip().replace("\t", ",") or "none"))
    with open("/proc/self/uid_map") as ids:
        out.append(("uid-map", ids.read().split()[1]))
    out += [("call." + name, call(CALLS, name)) for name in CALLS]
    out += [("argument." + name, call(ARGUMENTS, name)) for name in ARGUMENTS]
    out += [("huge." + name, call(HUGE, name)) for name in HUGE]
    out.append(("landlock-layers", landlock_layers()))
    out += [("merged." + name, call(MERGED, name)) for name in MERGED]
    out += [("need." + name, call(NEEDED, name)) for name in NEEDED]
    out += [("ahead." + name, call(AHEAD, name)) for name in AHEAD]
    out += [("core." + name, call(LOWERED, name, with_core_limit)) for name in LOWERED]
    for name, family in FAMILIES.items():
        kind = (socket.SOCK_RAW if name in ("packet", "key", "xdp") else socket.SOCK_SEQPACKET if name == "alg" else
                socket.SOCK_STREAM)
        out.append(("socket." + name, opened(family, kind)))
    for name in ("unix", "vsock"):
        out.append(("pair." + name, opened(FAMILIES[name], socket.SOCK_STREAM, make=socket.socketpair)))
    for name, (kind, protocol) in PROTOCOLS.items():
        out.append(("protocol." + name, opened(socket.AF_INET, kind, protocol)))
    out += [("proc." + name, look("/proc/" + name)) for name in PATHS]
    out += [("knob." + name, writable("/proc/" + name)) for name in KNOBS]
    out += [("host." + path, look(path)) for path in HOST]
    out.append(("own-socket", look_at_own_socket()))
    for name in sorted(os.listdir("/dev")):
        out.append(("dev." + name, "link" if os.path.islink("/dev/" + name) else "present"))
    with open("/proc/self/mountinfo") as mounts:
        for line in mounts:
            words = line.split()
            out.append(("mount." + words[4], words[5]))
    for name in ("NOFILE", "CORE", "MEMLOCK", "NPROC", "MSGQUEUE", "RTPRIO", "NICE", "SIGPENDING"):
        out.append(("limit." + name, str(resource.getrlimit(getattr(resource, "RLIMIT_" + name))[1])))
    out.append(("fds", ",".join(sorted(fd for fd in os.listdir("/proc/self/fd") if int(fd) > 2 and os.path.exists("/proc/self/fd/" + fd)))
                or "none"))
    with open("/proc/net/dev") as devices:
        out.append(("links", ",".join(line.split(":")[0].strip() for line in devices.readlines()[2:])))
    sys.stdout.write("".join(f"{key} {value}\n" for key, value in out))


main()
