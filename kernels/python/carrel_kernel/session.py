"""One loop that reads a request, runs it and writes its events.

Only modules that the interpreter has loaded by itself are used before the first cell: each further import would cost
more than the cell.

Interrupts never strike between two lines of this module. The handler looks at the frame it interrupts: code of the user or
of a library gets the KeyboardInterrupt, a frame of this module only has it noted and raises it at a place of its own choice
(`checkpoint`). So a frame is written whole or not at all, and a second SIGINT at the worst moment changes nothing.
"""

import _signal
import _thread
import builtins
import faulthandler
import posix
import sys

EXECUTE, PING, COMPLETE, SHUTDOWN, BIND = 0x01, 0x02, 0x03, 0x04, 0x05
READY, RESULT, DISPLAY, ERROR, DONE, COMPLETIONS, PONG = range(0x81, 0x88)
OK, FAILED, INTERRUPTED = 0, 1, 2
SILENT = 1
MAX_FRAME = 64 << 20
MAX_SOURCES = 10_000
MAX_TYPE_NAME = 1000

# The functions of this module have their own: a cell may put anything in the place of `len`.
__builtins__ = dict(vars(builtins))

# Out of the way of user code that closes or renumbers the small descriptors; see fit_channel.
REQUESTS, EVENTS = 602, 603

ONLY_AST, ALLOW_AWAIT, FUTURE_FEATURES, IS_COROUTINE = 0x400, 0x2000, 0x1FE0000, 0x80
OWN_FRAMES = globals()
PLAIN_TYPES = {bool, int, float}


async def _coroutine():
    pass


_sample = _coroutine()
COROUTINE = type(_sample)
_sample.close()


class ProtocolError(Exception):
    """The host broke the protocol; there is nobody left to tell but stderr."""


class State:
    """What the handler, the loop and display() share."""

    armed = False  # a request is being served: SIGINT concerns it
    pending = False  # SIGINT arrived while a frame of this module ran
    forked = False  # this is a child of the kernel: it must not speak
    unread = b""  # of a request that came together with the one before
    request = 0
    silent = False
    cells = 0
    futures = 0  # `from __future__` lasts for the cells after it too
    last = None  # what `_` is, where it is the kernel's
    sources = {}  # file name -> source, newest last, for tracebacks and inspect.getsource
    source_bytes = 0
    trace = profile = None  # of sys.settrace and sys.setprofile, while no cell runs
    write_lock = _thread.allocate_lock()


state = State()
main = type(sys)("__main__")
main.__builtins__ = builtins


def on_interrupt(_signum, frame):
    if not state.armed:
        return
    if frame.f_globals is OWN_FRAMES:
        state.pending = True
        return
    raise KeyboardInterrupt


def checkpoint():
    if state.pending:
        state.pending = False
        raise KeyboardInterrupt


# ---- frames


def u32(number):
    return number.to_bytes(4, "little")


def text(value):
    data = value.encode("utf-8", "backslashreplace")
    return u32(len(data)) + data


def bundle_bytes(bundle):
    parts = [u32(len(bundle))]
    for mime, data in bundle:
        parts.append(text(mime))
        parts.append(u32(len(data)))
        parts.append(data)
    return b"".join(parts)


def frame(kind, *parts):
    return b"".join((u32(sum(map(len, parts))), bytes((kind,)), *parts))


def write(data):
    """Writes whole frames, from whichever thread; a forked child writes nothing."""
    if state.forked:
        return
    with state.write_lock:
        written = posix.write(EVENTS, data)
        if written < len(data):
            rest = memoryview(data)[written:]
            while rest:
                rest = rest[posix.write(EVENTS, rest) :]


def display_event(bundle):
    """Called by display() in user code, and for figures."""
    if not state.silent:
        write(frame(DISPLAY, u32(state.request), bundle_bytes(bundle)))
    checkpoint()


def read_some(size):
    """The next bytes of the channel. A handler that a cell has set for some signal (an alarm that it did not take back) may raise here,
    where no cell is to blame: that is shown, and waiting goes on. `extend` keeps what was read in that moment."""
    parts = []
    while not parts:
        try:
            parts.extend(map(posix.read, (REQUESTS,), (size,)))
        except BaseException as failure:
            if isinstance(failure, OSError) and failure.__traceback__.tb_next is None:
                raise  # no handler's, but that of read() itself
            show_late_failure(failure)
    return parts[0]


def show_late_failure(failure):
    try:
        sys.excepthook(type(failure), failure, failure.__traceback__.tb_next)
    except BaseException:
        return


def read_request():
    """The next request as (type, id, rest), or None at the end of the channel."""
    data, state.unread = state.unread, b""
    while len(data) < 5:
        more = read_some(16384)
        if not more:
            return None
        data += more
    size = 5 + int.from_bytes(data[:4], "little")
    if not 9 <= size <= MAX_FRAME + 5:
        raise ProtocolError("a request of %d bytes" % (size - 5))
    if len(data) < size:
        parts, missing = [data], size - len(data)
        while missing:
            part = read_some(min(missing, 1 << 20))
            if not part:
                return None
            parts.append(part)
            missing -= len(part)
        data = b"".join(parts)
    elif len(data) > size:
        data, state.unread = data[:size], data[size:]
    return data[4], int.from_bytes(data[5:9], "little"), data[9:]


# ---- a cell


def load(name):
    """A module of this package, on first use; a traceback.py that lies in the user's folder must not be taken for Python's."""
    module = sys.modules.get(__package__ + "." + name)
    if module is None:
        path = sys.path[:]
        sys.path[:] = [entry for entry in path if entry]
        try:
            module = getattr(__import__(__package__, fromlist=(name,)), name)
        finally:
            sys.path[:] = path
    return module


def remember(name, source):
    """Keeps sources for tracebacks; the oldest go when they are many."""
    state.sources[name] = source
    state.source_bytes += len(source)
    while len(state.sources) > 1 and (state.source_bytes > 8 << 20 or len(state.sources) > MAX_SOURCES):
        forget_source(next(iter(state.sources)))
    linecache = sys.modules.get("linecache")
    if linecache is not None:
        load("imports").publish_sources(linecache)


def forget_source(name):
    state.source_bytes -= len(state.sources.pop(name))
    linecache = sys.modules.get("linecache")
    if linecache is not None:
        linecache.cache.pop(name, None)


def parse(source, name):
    flags = ONLY_AST | ALLOW_AWAIT | state.futures
    try:
        return compile(source, name, "exec", flags, True)
    except SyntaxError as error:
        translated = load("magics").translate(source, error)
        if translated is None:
            raise
        return compile(translated, name, "exec", flags, True)


def evaluate(codes):
    """Runs one after the other; the value is the last one's. One that awaits takes the others into the event loop with it."""
    if any(code.co_flags & IS_COROUTINE for code in codes):
        return load("aio").run(awaited(codes))
    value = None
    for code in codes:
        checkpoint()
        value = eval_traced(code)
    return value


def eval_traced(code):
    """With the functions that cells trace and profile with; they see nothing of the kernel, and cannot raise there."""
    try:
        sys.settrace(state.trace)
        sys.setprofile(state.profile)
        return eval(code, main.__dict__)
    finally:
        try:
            state.profile = sys.getprofile()
            sys.setprofile(None)
        finally:
            state.trace = sys.gettrace()
            sys.settrace(None)


async def awaited(codes):
    value = None
    for code in codes:
        checkpoint()
        value = eval_traced(code)
        if code.co_flags & IS_COROUTINE:
            value = await value
    return value


def run(source):
    """Runs a cell; its value is that of its last expression."""
    import _ast

    state.cells += 1
    name = "<cell %d>" % state.cells
    remember(name, source)
    if "sys.path" in source:
        # site-packages join sys.path on the first import that needs them; who looks at the list wants to see them.
        load("imports").complete_site()
    tree = parse(source, name)
    flags = ALLOW_AWAIT | state.futures
    last = tree.body.pop() if tree.body and type(tree.body[-1]) is _ast.Expr else None
    codes = []
    if tree.body:
        codes.append(compile(tree, name, "exec", flags, True))
        state.futures |= codes[0].co_flags & FUTURE_FEATURES
    if last is not None:
        codes.append(compile(_ast.Expression(last.value), name, "eval", flags | state.futures, True))
    value = evaluate(codes)
    if last is None:
        return None
    if type(value) is COROUTINE:
        value = load("aio").run(value)
    return None if source.rstrip().endswith(";") else value


def result_bundle(value):
    if type(value) in PLAIN_TYPES:
        try:
            return (("text/plain", repr(value).encode()),)
        except ValueError:
            pass  # an int with more digits than Python is willing to print
    return load("rich").result(value)


def flush_streams():
    for name in ("stdout", "stderr", "__stdout__", "__stderr__"):
        try:
            getattr(sys, name).flush()
        except BaseException:
            # Closed, deleted, replaced by something that cannot flush, or interrupted: the cell's own outcome stands.
            continue


def failure_event(failure):
    """The status and ERROR event for an exception that ended a cell. What it says of itself may be code of the user."""
    own = type(failure)
    if issubclass(own, SystemExit):
        code = SystemExit.code.__get__(failure)
        if code is None or (issubclass(type(code), int) and int.__eq__(code, 0)):
            return OK, b""
    try:
        kind, message, trace = map(text, load("failures").describe(failure))
    except BaseException as second:
        said = "(describing it failed with %s)" % type_name(type(second))
        kind, message, trace = text(type_name(own)), text(said), text("%s: %s" % (type_name(own), said))
    event = frame(ERROR, u32(state.request), kind, message, trace)
    return INTERRUPTED if issubclass(own, KeyboardInterrupt) else FAILED, event


def type_name(kind):
    """The name of a type, also where its metaclass has another idea of it."""
    return type.__dict__["__name__"].__get__(kind)[:MAX_TYPE_NAME]


def flush_figures():
    """Shows and closes the figures that a cell left open; None, or what went wrong."""
    if "matplotlib.pyplot" not in sys.modules:
        return None
    try:
        load("rich").flush_figures()
    except BaseException as failure:
        return failure
    return None


def execute(flags, source):
    status, last_event, failure = OK, b"", None
    state.silent = bool(flags & SILENT)
    state.pending, state.armed = False, True
    try:
        value = run(source)
        if value is not None and not state.silent:
            bundle = result_bundle(value)
            last_event = frame(RESULT, u32(state.request), bundle_bytes(bundle))
            keep_value(value)
        del value
    except BaseException as problem:
        failure = problem
    if state.forked:
        leave_fork(failure)
    figures_failure = flush_figures()
    failure = figures_failure if failure is None else failure
    if failure is not None:
        status, last_event = failure_event(failure)
        forget(failure)
    flush_streams()
    end_request(status, last_event)


def keep_value(value):
    """The last value is `_`, as in Python's own console, unless code has put something of its own there (gettext does)."""
    if builtins.__dict__.get("_", state.last) is state.last:
        builtins.__dict__["_"] = state.last = value


def forget(failure):
    """Lets go of the frames of an error, and with them of everything the cell had in local variables."""
    try:
        failure.__traceback__ = None
    except BaseException:
        return


def end_request(status, last_event=b""):
    state.armed = False
    if _signal.getsignal(_signal.SIGINT) is not on_interrupt:
        _signal.signal(_signal.SIGINT, on_interrupt)
    write(last_event + frame(DONE, u32(state.request), bytes((status,))))


# ---- other requests


def rehearse():
    """Touches what the first cell will: a fork's memory is copied page by page, and here nobody waits for it."""
    import _ast

    tree = compile("0", "<rehearsal>", "exec", ONLY_AST | ALLOW_AWAIT, True)
    code = compile(_ast.Expression(tree.body[0].value), "<rehearsal>", "eval", ALLOW_AWAIT, True)
    frame(RESULT, u32(0), bundle_bytes(result_bundle(evaluate([code]))))


def ping():
    if state.cells == 0:
        rehearse()
    end_request(OK, frame(PONG, u32(state.request)))


def complete(payload):
    cursor = int.from_bytes(payload[:4], "little")
    code = payload[8:]
    status, event = OK, frame(COMPLETIONS, u32(state.request), u32(cursor), u32(cursor), u32(0))
    state.pending, state.armed = False, True
    try:
        start, end, words = load("complete").matches(code, cursor, main.__dict__)
        event = frame(
            COMPLETIONS, u32(state.request), u32(start), u32(end), u32(len(words)), b"".join(map(text, words))
        )
    except KeyboardInterrupt:
        status = INTERRUPTED
    except BaseException:
        status = FAILED  # a property of the user's object failed: no completions, and the kernel lives on
    end_request(status, event)


def set_variable(name, value):
    # os, loaded or not, keeps its environment in this very dictionary.
    posix.environ[name] = value
    posix.putenv(name, value)


def bind(payload):
    """The environment of a user who came after the start."""
    count, at, strings = int.from_bytes(payload[:4], "little"), 4, []
    while at < len(payload):
        end = at + 4 + int.from_bytes(payload[at : at + 4], "little")
        strings.append(payload[at + 4 : end])
        at = end
    names, values = strings[::2], strings[1::2]
    if at != len(payload) or len(strings) != 2 * count or b"" in names or b"=" in b"".join(names) or b"\0" in b"".join(strings):
        raise ProtocolError("a malformed BIND")
    for name, value in zip(names, values):
        set_variable(name, value)
    end_request(OK)


def shutdown():
    """Ends the kernel as a script ends: exit handlers run, but a thread that never ends is not waited for."""
    import atexit

    try:
        atexit._run_exitfuncs()
    except BaseException:
        pass  # already printed by atexit
    flush_streams()


def after_fork_in_child():
    state.forked = True
    state.write_lock = _thread.allocate_lock()
    posix.close(REQUESTS)
    posix.close(EVENTS)
    _signal.signal(_signal.SIGINT, _signal.default_int_handler)


def leave_fork(failure):
    """A forked child that comes to the end of its cell ends there, as at the end of a script."""
    code = 0
    if isinstance(failure, SystemExit):
        code = failure.code if isinstance(failure.code, int) else int(failure.code is not None)
    elif failure is not None:
        sys.excepthook(type(failure), failure, failure.__traceback__)
        code = 1
    flush_streams()
    posix._exit(code & 0xFF)


# ---- start


def prepare_process():
    """What belongs to this process: descriptors and signals. A zygote's fork is given its own."""
    fit_channel(posix.sysconf("SC_OPEN_MAX"))
    posix.dup2(3, REQUESTS, False)
    posix.dup2(4, EVENTS, False)
    posix.close(3)
    posix.close(4)
    prepare_signals()
    # os is not loaded yet and will copy this; figures must not look for a screen, in child processes either.
    if b"MPLBACKEND" not in posix.environ:
        set_variable(b"MPLBACKEND", b"agg")


def fit_channel(files):
    """A process that may have so few files open has its channel at the last two of them."""
    global REQUESTS, EVENTS
    if 0 < files <= EVENTS:
        REQUESTS, EVENTS = files - 2, files - 1


def prepare_signals():
    _signal.signal(_signal.SIGINT, on_interrupt)
    posix.register_at_fork(after_in_child=after_fork_in_child)


def prepare_interpreter():
    """Makes the interpreter look to user code as if it ran a script from standard input."""
    sys.argv = [""]
    sys.modules["__main__"] = main
    faulthandler.enable()
    sys.stdout.reconfigure(line_buffering=True)
    sys.stderr.reconfigure(line_buffering=True)
    load("imports").install()
    builtins.display = display
    builtins.input = no_input
    builtins.exit = builtins.quit = leave_cell
    builtins.help = show_help
    builtins.get_ipython = get_ipython


def display(*objects, **options):
    """Shows each object in its richest form."""
    return load("rich").display(*objects, **options)


def get_ipython():
    return load("magics").get_ipython()


def no_input(prompt=""):
    raise EOFError("input() has nothing to read: a context has no standard input. Put the value into the code.")


def leave_cell(code=None):
    """Ends the cell; the context and its variables live on."""
    raise SystemExit(code)


def show_help(*arguments):
    import pydoc

    return pydoc.help(*arguments) if arguments else print("help(object) shows its documentation.")


def serve():
    kernel_module = sys.modules["__main__"]  # kept alive: replacing it must not empty the starter's globals
    prepare_process()
    prepare_interpreter()
    answer_requests(greeting())
    del kernel_module


def greeting():
    return frame(READY, text("python"), text("%d.%d.%d" % sys.version_info[:3]), text("plain"))


def answer_requests(ready):
    """From READY to the end of the process."""
    write(ready)
    while True:
        request = read_request()
        if request is None:
            shutdown()
            break
        kind, state.request, payload = request
        if kind == EXECUTE:
            execute(int.from_bytes(payload[:4], "little"), payload[8:].decode("utf-8", "replace"))
        elif kind == PING:
            ping()
        elif kind == COMPLETE:
            complete(payload)
        elif kind == BIND:
            bind(payload)
        elif kind == SHUTDOWN:
            shutdown()
            end_request(OK)
            break
        else:
            raise ProtocolError("request of unknown type 0x%02x" % kind)
    posix._exit(0)
