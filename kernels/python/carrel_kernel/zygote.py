"""A kernel that has started, imported and warmed up, and waits to be forked into sandboxes (guest/src/zygote.h).

It runs as a stranger to everybody: an id of its image's own, no capabilities, in namespaces of its own. The kernel lets that
id enter the sandboxes of the image, so a fork joins one with the descriptors that came with the request, gives up what it
gained by that, and then does again what the launcher did to that sandbox's commands. User code runs only after all of it.

    zygote ── spare ──► fork request ──► joins groups and namespaces, confines itself ── keeper (the guest's own program)
       └─ next spare                                                                        └─ kernel

The spare is forked ahead of the request: copying a large process is most of the work. The kernel is no copy of it but has its
memory, which is a step that no Python can take: that, and what it could take slower, is in guest/preload/heir.c, which needs
neither a libc nor Python's headers. So all of this runs on whatever Python an image has.
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
KEEPER = b"/opt/carrel/guest"
LIBRARY = "/opt/carrel/preload/heir.so"
# A spare tells the zygote one of these: the next spare is needed; the server is gone.
TAKEN, ALONE = b"t", b"a"
STAND_BACK = 0.02  # seconds
MAX_REQUEST = 64 << 10
MAX_DESCRIPTORS = 32
NOTES = 8
BLOCK, MAX_BLOCKS, STRETCH = 1 << 20, 256, 16
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
GLIBC = hasattr(libc, "gnu_get_libc_version")
libc.prctl.argtypes = [ctypes.c_int] + [ctypes.c_ulong] * 4
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36


# Making such a type takes longer than what it is for.
Ways = ctypes.c_int * 16


class Entrance(ctypes.Structure):
    """As in guest/preload/heir.c, and so is the next."""

    _fields_ = [
        ("group_count", ctypes.c_int),
        ("space_count", ctypes.c_int),
        ("rules", ctypes.c_int),
        ("filter_length", ctypes.c_int),
        ("groups", Ways),
        ("spaces", Ways),
        ("kinds", Ways),
        ("processes", ctypes.c_uint64),
        ("files", ctypes.c_uint64),
        ("filter", ctypes.c_char_p),
        ("step", ctypes.c_char_p),
    ]


class Estate(ctypes.Structure):
    _fields_ = [
        ("program", ctypes.c_char_p),
        ("rseq", ctypes.c_long),
        ("notes", ctypes.c_void_p * NOTES),
        ("announced", ctypes.c_long),
        ("arguments", ctypes.c_void_p * 5),
        ("numbers", ctypes.c_char * 24),
        ("ends", ctypes.c_long * 2),
        ("robust", ctypes.c_void_p),
        ("robust_size", ctypes.c_size_t),
    ]


def field(tag, value):
    return bytes((tag,)) + len(value).to_bytes(4, "little") + value


# A request as those that come, to rehearse with.
SAMPLE = b"".join(
    (bytes(5), field(11, " ".join(NAMESPACES).encode()), *(field(tag, bytes(8)) for tag in (12, 13, 14, 15)))
    + tuple(field(17, b"VARIABLE_%d=/a/value/of/the/usual/length" % count) for count in range(16))
)


def check(result):
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return result


def prctl(option, first=0, second=0):
    return check(libc.prctl(option, first, second, 0, 0))


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
        heritage = Heritage(load_library())
        generators = unique.remember()
        # Once here, for what is made at first use: OpenSSL alone would cost every fork four megabytes of its own.
        unique.reseed(generators)
        rehearse(settings, heritage.library)
        blocks = blocks_of_objects()
        gc.freeze()
        gc.enable()
        session.prepare_signals()
        heritage.pages = pages_of_first_cell(blocks, settings, generators, heritage.library)
    except BaseException as failure:
        control.send(b"F" + describe(failure))
        os._exit(1)
    # What it forks are nobody's to wait for, except by the pipe that tells when a request is taken.
    _signal.signal(_signal.SIGCHLD, _signal.SIG_IGN)
    heard, tell = os.pipe()
    me = os.getpid()
    control.send(b"R")
    while True:
        if fork() == 0:
            os.close(heard)
            end_with(me)
            spare(control, tell, settings, generators, heritage)
        if os.read(heard, 1) != TAKEN:
            os._exit(0)
        # Not when the fork has got somewhere: how long that takes is up to whoever has the sandbox.
        control.send(b"T")
        # The next spare is as much work as the request that took the last one, and would slow that down; it has time, unless
        # somebody asks already.
        select.select([control], [], [], STAND_BACK)


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


def spare(control, tell, settings, generators, heritage):
    """Waits for one request and becomes what it asks for. Never returns."""
    try:
        # Not after the request: nobody waits yet, and whatever comes of this fork is one kernel.
        heritage.copy_ahead()
        unique.reseed(generators)
        if not select.select([control], [], [], 0)[0]:
            rehearse(settings, heritage.library)
        request, passed, whole = receive(control)
        os.write(tell, TAKEN if request else ALONE)
        if not request:
            os._exit(0)
        asked = fields(request)
        streams = enter(asked, passed, whole, settings, heritage.library)
    except BaseException as failure:
        control.send(b"D" + describe(failure))
        os._exit(1)
    start(control, asked, streams, number(settings[11][0]), heritage)


def blocks_of_objects():
    """Where objects are and their types, by mebibytes, as stretches: what else a fork writes to is near them. None of them where
    they are so many that to try them would take too much memory."""
    places = set()
    for thing in gc.get_objects():
        places.add(id(thing) // BLOCK)
        places.add(id(type(thing)) // BLOCK)
    if len(places) > MAX_BLOCKS:
        return b""
    return b"".join(stretch(place * BLOCK, BLOCK) for place in sorted(places))


def stretch(first, size):
    """As in guest/preload/heir.c."""
    return first.to_bytes(8, sys.byteorder) + size.to_bytes(8, sys.byteorder)


def pages_of_first_cell(blocks, settings, generators, library):
    """Those that every fork writes to until its first cell is over, as stretches: one fork tries it, and tells what it wrote to.
    None with a kernel that cannot say."""
    heard, tell = os.pipe()
    me, page = os.getpid(), os.sysconf("SC_PAGE_SIZE")
    if fork() == 0:
        try:
            end_with(me)
            unique.reseed(generators)
            request = fields(SAMPLE)
            pretend(request, True, request[17], settings, library)
            session.EVENTS = os.open("/dev/null", os.O_WRONLY)
            session.execute(0, "1 + 1")
            library.tell_written(blocks, len(blocks) // STRETCH, page, tell)
        finally:
            os._exit(0)
    os.close(tell)
    told = b"".join(iter(lambda: os.read(heard, 1 << 16), b""))
    os.close(heard)
    return told


def describe(failure):
    return ("%s: %s" % (type(failure).__name__, failure)).encode("ascii", "replace")[:200]


def rehearse(settings, library):
    """Goes the way of a request without effect: the pages that it writes to are copied before somebody waits for it."""
    here, there = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
    one = os.getpid().to_bytes(4, "little")
    there.sendmsg([SAMPLE], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, there.fileno().to_bytes(4, sys.byteorder))])
    message, passed, whole = receive(here)
    pretend(fields(message), whole and bool(passed), variables_now(), settings, library)
    for descriptor in (*passed, *os.pipe(), here.detach(), there.detach()):
        os.close(descriptor)
    try:
        os.write(-1, one)
    except OSError:
        pass
    session.rehearse()
    _signal.signal(_signal.SIGCHLD, _signal.SIG_IGN)


def pretend(request, whole, variables, settings, library):
    """Takes the steps that a request asks for, with no effect but that the environment is set."""
    join(request, (-1,) * (STREAMS + len(NAMESPACES)), whole, settings, library)
    set_environment(variables)
    follow_environment()
    place((0, 0, 0, 0), (0, 0, 0, 0, 0))
    prctl(PR_SET_CHILD_SUBREAPER, 0)


# ---- a fork on its way


def divide(request, passed, whole):
    """What came, by what it is for: streams, namespaces with their names, the rules or -1, groups.

    Raises unless all of it came, before anything is joined: the kernel leaves out what it cannot open here, and a fork without
    one of the groups would run in the sandbox and be held by the zygote's limits.
    """
    names = request[11][0].decode().split()
    rules = STREAMS + len(names)
    groups = rules + number(request[13][0])
    wanted = groups + number(request[12][0])
    if not whole or len(passed) != wanted:
        raise OSError("%d of %d descriptors came" % (len(passed), wanted))
    ruleset = passed[rules] if groups > rules else -1
    return passed[:STREAMS], list(zip(names, passed[STREAMS:rules])), ruleset, passed[groups:]


def join(request, passed, whole, settings, library):
    """Streams of a request, and what came of joining and confining: 0, or an error and where."""
    streams, spaces, ruleset, groups = divide(request, passed, whole)
    rest = settings[10][0]
    entrance = Entrance(len(groups), len(spaces), ruleset, len(rest) // 8)
    entrance.groups[: len(groups)] = groups
    entrance.spaces[: len(spaces)] = [space for _, space in spaces]
    entrance.kinds[: len(spaces)] = [NAMESPACES[name] for name, _ in spaces]
    entrance.processes, entrance.files = number(request[14][0]), number(request[15][0])
    entrance.filter = rest
    return streams, library.enter(ctypes.byref(entrance)), entrance.step


def enter(request, passed, whole, settings, library):
    """Joins the sandbox and confines itself; what remains are the streams."""
    streams, result, step = join(request, passed, whole, settings, library)
    if result < 0:
        raise OSError(-result, "%s (%s)" % (os.strerror(-result), step.decode()))
    session.fit_channel(number(request[15][0]))
    _signal.signal(_signal.SIGCHLD, _signal.SIG_DFL)
    # Here and not in the kernel, as whatever can be: until then nothing of the sandbox's runs.
    set_environment(request.get(17, []))
    return streams


def load_library(path=LIBRARY):
    """Nobody else wants the lock of the interpreter, so it is kept during its calls."""
    library = ctypes.PyDLL(path)
    for function in (library.enter, library.leave, library.heir, library.settle):
        function.restype = ctypes.c_long
    for function in (library.tell_written, library.copy_ahead):
        function.restype = None
    return library


def notes_of_thread():
    """Where libc may keep the number of this thread: somewhere in what it knows of the thread, and it does not say where."""
    libc.pthread_self.restype = ctypes.c_void_p
    thread, own = libc.pthread_self(), os.getpid().to_bytes(4, sys.byteorder)
    # That is over two thousand bytes in glibc; of others as far as there is memory for certain.
    data = ctypes.string_at(thread, 1024 if GLIBC else min(1024, 4096 - thread % 4096))
    found = [thread + at for at in range(0, len(data) - 3, 4) if data[at : at + 4] == own]
    if not 0 < len(found) <= NOTES:
        raise OSError("libc's number of the thread was found at %d places" % len(found))
    return found


def rseq_offset():
    """Where libc keeps what it shares with the kernel for restartable sequences, from the thread pointer on; 0: nowhere."""
    try:
        used = ctypes.c_uint.in_dll(libc, "__rseq_size").value
        return ctypes.c_ssize_t.in_dll(libc, "__rseq_offset").value if used else 0
    except ValueError:
        return 0  # an older glibc, or another libc


class Heritage:
    """What the kernel gets of the spare together with its memory. Made before the forks: whatever one makes costs it pages."""

    def __init__(self, library):
        self.library = library
        self.estate = Estate(KEEPER, rseq_offset(), announced=GLIBC)
        for place, note in enumerate(notes_of_thread()):
            self.estate.notes[place] = note
        self.place = ctypes.byref(self.estate)
        self.pages = b""

    def copy_ahead(self):
        """The pages that the kernel will write to, all at once."""
        self.library.copy_ahead(self.pages, len(self.pages) // STRETCH)

    def leave(self):
        """Returns in the child, which goes on with everything while this process ends, or raises."""
        succeeded(self.library.leave(self.place))

    def pass_on(self, channel, gone, alive):
        """Returns in the child; this process becomes its keeper, or raises."""
        succeeded(self.library.heir(self.place, channel, gone, alive))

    def settle(self, channel, user):
        """Becomes the user's process, when nobody else has the memory; or raises."""
        succeeded(self.library.settle(self.place, channel, user))


def succeeded(result):
    if result < 0:
        raise OSError(-result, os.strerror(-result))


def start(control, request, streams, user, heritage):
    """Makes the keeper-to-be, which is the first in the sandbox's pid namespace, and that the kernel. Never returns.

    Neither is a copy: the keeper-to-be goes on with this process's memory and stack while this one ends, and the kernel with
    the keeper-to-be's, which is in its registers only until its program runs.
    """
    try:
        gone, alive = os.pipe()
        alone, shared = os.pipe()
        faulthandler.disable()
        heritage.leave()
        prctl(PR_SET_CHILD_SUBREAPER, 1)
        place(streams, (0, 1, 2, session.REQUESTS, session.EVENTS))
        os.set_inheritable(streams[4], True)
        heritage.pass_on(streams[4], gone, alive)
        os.close(shared)
    except BaseException as failure:
        control.send(b"D" + describe(failure))
        os._exit(1)
    become_kernel(request, user, heritage, alone)


def become_kernel(request, user, heritage, alone):
    try:
        os.setsid()
        # Until then the keeper-to-be, which has capabilities, has this memory too: nothing of the sandbox's may run on it, and
        # nobody in the sandbox may look at it. So this is no user's process before.
        os.read(alone, 1)
        # Of all that came along the five descriptors that are in their places stay.
        heritage.settle(session.REQUESTS, user)
        faulthandler.enable()
        os.chdir(request.get(16, [b"/workspace"])[0])
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


def variables_now():
    return [b"%s=%s" % variable for variable in sys.modules["posix"].environ.items()]


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
