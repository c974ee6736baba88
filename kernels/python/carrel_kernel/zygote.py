"""A kernel that has started, imported and warmed up, and waits to be forked into sandboxes (guest/src/zygote.h).

It runs as a stranger to everybody: an id of its image's own, no capabilities, in namespaces of its own. The kernel lets that
id enter the sandboxes of the image, so a fork joins one with the descriptors that came with the request, gives up what it
gained by that, and then does again what the launcher did to that sandbox's commands. User code runs only after all of it.

    zygote ── spare ──► fork request ──► joins groups and namespaces, confines itself ── keeper (the guest's own program)
       └─ next spare                                                                        └─ kernel

The spare is forked ahead of the request: copying a large process is most of the work. Nothing here needs a compiled module
of ours, so that it runs on whatever Python an image has; the few calls that Python lacks go through ctypes.
"""

import _signal
import _socket
import ctypes
import faulthandler
import gc
import os
import select
import sys
import time

from . import session, unique

CONTROL = 3
KEEPER = "/opt/carrel/guest"
# A spare tells the zygote one of these, with its pid: the next spare is needed; it is to be ended; the server is gone.
TAKEN, OVER, ALONE = b"t", b"o", b"a"
WORD = 5
STAND_BACK = 0.02  # seconds
MAX_REQUEST = 64 << 10
MAX_DESCRIPTORS = 32
NAMESPACES = {
    "user": 0x10000000,
    "pid": 0x20000000,
    "mnt": 0x00020000,
    "net": 0x40000000,
    "ipc": 0x08000000,
    "uts": 0x04000000,
    "cgroup": 0x02000000,
}
PRELOADS = {
    "plain": (),
    "ipython": ("IPython.core.interactiveshell",),
    "data": ("IPython.core.interactiveshell", "numpy", "pandas", "matplotlib.pyplot"),
}

GREETING = session.greeting()
STREAMS = 5  # stdout, stderr, both ways of the channel, the keeper's
libc = ctypes.CDLL(None, use_errno=True)
libc.prctl.argtypes = [ctypes.c_int] + [ctypes.c_ulong] * 4
ARM = os.uname().machine == "aarch64"
SYS_CLONE, SYS_SETNS, SYS_CAPSET, SYS_SECCOMP = (220, 268, 91, 277) if ARM else (56, 308, 126, 317)
VFORK = 0x4000 | 0x100 | 17  # CLONE_VFORK, CLONE_VM, SIGCHLD
SYS_LANDLOCK_RESTRICT_SELF, SYS_CLOSE_RANGE = 446, 436
RLIMIT_NPROC, RLIMIT_NOFILE = 6, 7
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_CAPBSET_DROP, PR_SET_SECUREBITS, PR_SET_CHILD_SUBREAPER, PR_CAP_AMBIENT = 1, 4, 24, 28, 36, 47
AMBIENT_RAISE, AMBIENT_CLEAR_ALL = 2, 4
CAP_KILL, CAP_SETGID, CAP_SETUID = 5, 6, 7
# Of linux/securebits.h: no capabilities for being root, none to be gained by any other way, all of it for good.
SECUREBITS = 1 << 0 | 1 << 1 | 1 << 3 | 1 << 5 | 1 << 6 | 1 << 7


# Making such a type takes longer than the calls it is for.
TwoLongs, Header, Sets = ctypes.c_uint64 * 2, ctypes.c_uint32 * 2, ctypes.c_uint32 * 6


class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]


def field(tag, value):
    return bytes((tag,)) + len(value).to_bytes(4, "little") + value


# A request as those that come, to rehearse with.
SAMPLE = b"".join(
    (bytes(5), field(11, " ".join(NAMESPACES).encode()), *(field(tag, bytes(8)) for tag in (12, 13, 14, 15)))
    + tuple(field(17, b"NAME_OF_A_VARIABLE=%d" % count) for count in range(16))
)


def check(result):
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return result


def call(number, *arguments):
    values = [ctypes.c_long(value) if isinstance(value, int) else value for value in arguments]
    return check(libc.syscall(ctypes.c_long(number), *values))


def prctl(option, first=0, second=0):
    return check(libc.prctl(option, first, second, 0, 0))


def set_capabilities(effective, permitted, inheritable):
    call(SYS_CAPSET, Header(0x20080522, 0), Sets(effective, permitted, inheritable, 0, 0, 0))


# ---- messages


def fields(data):
    """Tag -> values, of a frame as in spec/guest-protocol.md."""
    found, at = {}, 5
    while at < len(data):
        size = int.from_bytes(data[at + 1 : at + 5], "little")
        found.setdefault(data[at], []).append(data[at + 5 : at + 5 + size])
        at += 5 + size
    return found


def number(value):
    return int.from_bytes(value, "little", signed=True)


def receive(control):
    """The next message, its descriptors, and whether all of both came; b"" at the end."""
    data, ancillary, flags, _ = control.recvmsg(
        MAX_REQUEST, _socket.CMSG_SPACE(4 * MAX_DESCRIPTORS), _socket.MSG_CMSG_CLOEXEC
    )
    passed = []
    for level, kind, values in ancillary:
        if level == _socket.SOL_SOCKET and kind == _socket.SCM_RIGHTS:
            passed += [int.from_bytes(values[at : at + 4], sys.byteorder) for at in range(0, len(values) - 3, 4)]
    return data, passed, not flags & (_socket.MSG_TRUNC | _socket.MSG_CTRUNC)


# ---- the zygote itself


def serve(preload):
    control = _socket.socket(fileno=CONTROL)
    # Until everything is frozen: what a collection frees are holes, and each fork that fills one copies the page around it.
    gc.disable()
    try:
        setup, _, _ = receive(control)
        settings = fields(setup)
        prepare(preload)
    except BaseException as failure:
        control.send(b"F" + describe(failure))
        os._exit(1)
    generators = unique.remember()
    # Once here, for what is made at first use: OpenSSL alone would cost every fork four megabytes of its own.
    unique.reseed(generators)
    rehearse(settings)
    gc.freeze()
    gc.enable()
    session.prepare_signals()
    # What it forks are nobody's to wait for, except by the pipe that tells when a request is taken.
    _signal.signal(_signal.SIGCHLD, _signal.SIG_IGN)
    heard, tell = os.pipe()
    waits = select.poll()
    for descriptor in (heard, CONTROL):
        waits.register(descriptor, select.POLLIN)
    me = os.getpid()
    control.send(b"R")
    while True:
        if fork() == 0:
            os.close(heard)
            end_with(me)
            spare(control, tell, settings, generators, me)
        word = hear(heard)
        while word == OVER:
            word = hear(heard)
        if word != TAKEN:
            os._exit(0)
        # Not when the fork has got somewhere: how long that takes is up to whoever has the sandbox.
        control.send(b"T")
        stand_back(waits, heard)


def hear(heard):
    """What a spare has to say; one that is over is ended."""
    word = os.read(heard, WORD)
    if word[:1] == OVER:
        try:
            os.kill(int.from_bytes(word[1:], "little"), 9)
        except ProcessLookupError:
            pass  # the sandbox that it had entered was deleted meanwhile, and it with that
    return word[:1]


def stand_back(waits, heard):
    """The next spare is as much work as the request that took the last one, and would slow that down; it has time, unless
    somebody asks already."""
    end = time.monotonic() + STAND_BACK
    while (left := end - time.monotonic()) > 0:
        for descriptor, _ in waits.poll(left * 1000):
            if descriptor != heard:
                return
            hear(heard)


def fork():
    """A fork without Python's own work after it, which with many modules takes as long as the fork and half a megabyte: it is
    there for locks of other threads, of which there are none, and for `random`, which `unique` sees to."""
    return check(ctypes.pythonapi.fork())


def end_with(parent):
    prctl(PR_SET_PDEATHSIG, 9)
    if os.getppid() != parent:
        os._exit(1)  # it had ended before


def prepare(preload):
    """Imports what the preload names, as far as the image has it, and runs one cell to warm the usual ways."""
    session.prepare_interpreter()
    for name in ("rich", "failures", "imports"):
        session.load(name)
    for name in PRELOADS[preload]:
        try:
            __import__(name)
        except ImportError:
            continue  # an image without it: the kernel says so when code asks for it
    session.result_bundle(session.run("1 + 1"))
    session.result_bundle(session.run("'a' * 2"))
    session.state.cells = 0
    for name in list(session.state.sources):
        session.forget_source(name)


def spare(control, tell, settings, generators, zygote):
    """Waits for one request and becomes what it asks for. Never returns."""
    try:
        # Not after the request: nobody waits yet, and whatever comes of this fork is one kernel.
        unique.reseed(generators)
        rehearse(settings)
        request, passed, whole = receive(control)
        me = os.getpid().to_bytes(WORD - 1, "little")
        os.write(tell, (TAKEN if request else ALONE) + me)
        if not request:
            os._exit(0)
        asked = fields(request)
        streams = enter(asked, passed, whole, settings)
    except BaseException as failure:
        control.send(b"D" + describe(failure))
        os._exit(1)
    start(control, tell, OVER + me, asked, streams, number(settings[11][0]), zygote)


def describe(failure):
    return ("%s: %s" % (type(failure).__name__, failure)).encode("ascii", "replace")[:200]


def rehearse(settings):
    """Goes the way of a request without effect: the pages that it writes to are copied before somebody waits for it."""
    here, there = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
    one = os.getpid().to_bytes(4, "little")
    there.sendmsg([SAMPLE], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, there.fileno().to_bytes(4, sys.byteorder))])
    message, passed, whole = receive(here)
    request = fields(message)
    divide(request, passed * (STREAMS + len(NAMESPACES)), whole)
    for descriptor in (*passed, *os.pipe(), here.detach(), there.detach()):
        os.close(descriptor)
    os.umask(0o022)
    os.setresgid(-1, -1, -1)
    os.setresuid(-1, -1, -1)
    for value in (request[14][0], request[15][0]):
        libc.setrlimit(-1, TwoLongs(number(value), number(value)))
    set_capabilities(0, 0, 0)
    set_environment([b"%s=%s" % variable for variable in sys.modules["posix"].environ.items()])
    follow_environment()
    place((0, 0, 0, 0), (0, 0, 0, 0, 0))
    for option in (PR_SET_DUMPABLE, PR_SET_CHILD_SUBREAPER):
        prctl(option, 0)
    code = settings[10][0]
    program = ctypes.byref(Program(len(code) // 8, code))
    for attempt in (
        lambda: os.write(-1, one),
        lambda: call(SYS_SETNS, -1, NAMESPACES["user"]),
        lambda: call(SYS_CLOSE_RANGE, 1, 0, 0),
        lambda: call(SYS_LANDLOCK_RESTRICT_SELF, -1, 0),
        lambda: call(SYS_SECCOMP, -1, 0, program),
        lambda: prctl(PR_CAPBSET_DROP, 1 << 20),
        lambda: os.setgroups([]),
    ):
        try:
            attempt()
        except OSError:
            continue
    _signal.signal(_signal.SIGCHLD, _signal.SIG_IGN)


# ---- a fork on its way


def divide(request, passed, whole):
    """What came, by what it is for: streams, namespaces with their names, the rules or None, groups.

    Raises unless all of it came, before anything is joined: the kernel leaves out what it cannot open here, and a fork without
    one of the groups would run in the sandbox and be held by the zygote's limits.
    """
    names = request[11][0].decode().split()
    rules = STREAMS + len(names)
    groups = rules + number(request[13][0])
    wanted = groups + number(request[12][0])
    if not whole or len(passed) != wanted:
        raise OSError("%d of %d descriptors came" % (len(passed), wanted))
    ruleset = passed[rules] if groups > rules else None
    return passed[:STREAMS], list(zip(names, passed[STREAMS:rules])), ruleset, passed[groups:]


def enter(request, passed, whole, settings):
    """Joins the sandbox and confines itself; what remains are the streams."""
    streams, spaces, ruleset, groups = divide(request, passed, whole)
    # Groups first: from here on all that is used is the sandbox's.
    for group in groups:
        os.write(group, b"0")
    for name, space in spaces:
        call(SYS_SETNS, space, NAMESPACES[name])
    confine(request, settings, ruleset)
    session.fit_channel(number(request[15][0]))
    _signal.signal(_signal.SIGCHLD, _signal.SIG_DFL)
    # Here and not in the kernel, as whatever can be: that is a fresh copy, which pays for each page that it writes to.
    set_environment(request.get(17, []))
    return streams


def confine(request, settings, ruleset):
    """Does to this process what the launcher did to the guest: the ids, limits and capabilities of guest/src/confine.c."""
    os.umask(0o022)
    os.setgroups([])
    os.setresgid(0, 0, 0)
    os.setresuid(0, 0, 0)
    for resource, value in ((RLIMIT_NPROC, request[14][0]), (RLIMIT_NOFILE, request[15][0])):
        if number(value) > 0:
            check(libc.setrlimit(resource, TwoLongs(number(value), number(value))))
    kept = 1 << CAP_SETUID | 1 << CAP_SETGID | 1 << CAP_KILL
    everything = (1 << 32) - 1
    set_capabilities(everything, everything, kept)
    # The keeper is executed, not forked, and gets its three by the ambient set; the kernel gives them up below.
    for capability in (CAP_SETUID, CAP_SETGID, CAP_KILL):
        prctl(PR_CAP_AMBIENT, AMBIENT_RAISE, capability)
    drop_bounding_set()
    prctl(PR_SET_SECUREBITS, SECUREBITS)
    set_capabilities(kept, kept, kept)
    if ruleset is not None:
        call(SYS_LANDLOCK_RESTRICT_SELF, ruleset, 0)
    code = settings[10][0]
    call(SYS_SECCOMP, 1, 0, ctypes.byref(Program(len(code) // 8, code)))


def drop_bounding_set():
    drop = libc.prctl
    for capability in range(64):
        if drop(PR_CAPBSET_DROP, capability, 0, 0, 0) < 0:
            if ctypes.get_errno() == 22 and capability > 37:
                return  # past the last one of this kernel
            check(-1)


def start(control, tell, over, request, streams, user, zygote):
    """Forks the keeper-to-be, which is the first in the sandbox's pid namespace, and that the kernel. Never returns.

    The keeper-to-be shares this process's memory and its stack, which saves a copy of both, and this process stands still
    until the other executes its program. It could not go on from there: so it is ended by then, by the zygote, or by the
    kernel when the zygote has ended.
    """
    gone, alive = os.pipe()
    try:
        end_with(zygote)  # again: a change of ids forgets it
        # Should it go on all the same, it does so on a stack that is not its own any more: then it has to end.
        faulthandler.disable()
        call(SYS_CLONE, VFORK, 0, 0, 0, 0)
    except OSError as failure:
        control.send(b"D" + describe(failure))
        os._exit(1)
    try:
        os.close(alive)
        kernel, problem = -1, b""
        try:
            prctl(PR_SET_CHILD_SUBREAPER, 1)
            place(streams, (0, 1, 2, session.REQUESTS, session.EVENTS))
            kernel = fork()
        except OSError as failure:
            problem = describe(failure)
        if kernel == 0:
            become_kernel(request, user)
        os.write(tell, over)
        os.read(gone, 1)
        if problem:
            control.send(b"D" + problem)
        if kernel > 0:
            os.set_inheritable(streams[4], True)
            os.execve(KEEPER, ["guest", "keeper", str(streams[4]), str(kernel)], {})
    finally:
        os._exit(127)  # also when the zygote has ended, and nobody hears


def become_kernel(request, user):
    try:
        os.setsid()
        faulthandler.enable()
        # Of all that came along the five that are in their places.
        call(SYS_CLOSE_RANGE, 3, session.REQUESTS - 1, 0)
        call(SYS_CLOSE_RANGE, session.EVENTS + 1, 0xFFFFFFFF, 0)
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
        prctl(PR_CAP_AMBIENT, AMBIENT_CLEAR_ALL)
        set_capabilities(0, 0, 0)
        os.chdir(request.get(16, [b"/workspace"])[0])
        # A process that changed its user belongs to root in /proc; an executed one does not.
        prctl(PR_SET_DUMPABLE, 1)
        prefer_for_oom()
        # Not before: it reads and runs what the sandbox has.
        follow_environment()
        threading = sys.modules.get("threading")
        if threading is not None:
            threading.main_thread()._set_native_id()
        session.answer_requests(GREETING)
    finally:
        os._exit(127)


def place(streams, targets):
    """Descriptors as a kernel has them that has begun. The keeper keeps none of them."""
    nothing = os.open("/dev/null", os.O_RDONLY)
    for stream, target in zip((nothing, *streams), targets):
        os.dup2(stream, target, target < 3)
    os.close(nothing)


def prefer_for_oom():
    """When memory runs out the kernel goes before the guest, as with any command."""
    try:
        file = os.open("/proc/self/oom_score_adj", os.O_WRONLY)
        os.write(file, b"500")
        os.close(file)
    except OSError:
        return  # nothing is lost but preference


def set_environment(variables):
    own = dict(variable.split(b"=", 1) for variable in variables if b"=" in variable)
    own.setdefault(b"MPLBACKEND", b"agg")
    # The dictionary below os.environ: going through that costs pages of its own.
    current = sys.modules["posix"].environ
    for name in current:
        os.unsetenv(name)
    current.clear()
    for name, value in own.items():
        session.set_variable(name, value)


def follow_environment():
    """What was made after the variables of another environment is made again."""
    if b"TZ" in sys.modules["posix"].environ:
        time.tzset()
    imports = session.load("imports")
    if imports.site_complete:
        imports.add_user_site()
    matplotlib = sys.modules.get("matplotlib")
    for name in ("get_configdir", "get_cachedir"):
        forget = getattr(getattr(matplotlib, name, None), "cache_clear", None)
        if forget is not None:
            forget()
