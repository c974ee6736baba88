"""Starts a kernel as the guest does and talks to it: requests on descriptor 3, events on 4, the streams apart."""

import collections
import contextlib
import errno
import fcntl
import os
import resource
import selectors
import shutil
import signal
import struct
import subprocess
import tempfile
import threading
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
KERNELS = os.environ.get("CARREL_KERNELS", os.path.join(os.path.dirname(HERE), "build", "kernels"))
COMMANDS = {
    "python": ["/usr/bin/python3", "-S", "-X", "utf8", KERNELS + "/python/kernel.py"],
    "node": ["node", "--no-force-async-hooks-checks", KERNELS + "/node/kernel.cjs"],
    "r": ["R", "--no-echo", "--no-restore", "--no-save", "--no-init-file", "--file=" + KERNELS + "/r/kernel.R"],
    "bash": [KERNELS + "/bash/kernel"],
}
INTERPRETERS = {"python": "/usr/bin/python3", "node": "node", "r": "R", "bash": "bash"}
EXECUTE, PING, COMPLETE, SHUTDOWN, BIND = 1, 2, 3, 4, 5
STATUS = ("ok", "error", "interrupted")
AGAIN = 2  # seconds

Error = collections.namedtuple("Error", "type message traceback")


def missing(language):
    """Why a language cannot be tested here, or None."""
    program = INTERPRETERS[language]
    return None if shutil.which(program) else "%s is not installed" % program


class Died(Exception):
    """The kernel ended while an answer was due; `code` as subprocess has it, `outcome` is what came before."""

    def __init__(self, code, outcome):
        super().__init__("the kernel ended with %s" % code)
        self.code = code
        self.outcome = outcome


class Outcome:
    def __init__(self):
        self.status = None
        self.stdout = b""
        self.stderr = b""
        self.result = None
        self.displays = []
        self.error = None
        self.completions = None
        self.pong = False

    @property
    def out(self):
        return self.stdout.decode()

    @property
    def err(self):
        return self.stderr.decode()

    @property
    def text(self):
        return None if self.result is None else self.result["text/plain"].decode()

    def __repr__(self):
        return "Outcome(%s)" % ", ".join("%s=%r" % item for item in vars(self).items() if item[1])


class Reader:
    """Takes numbers and strings off a payload, and insists that nothing is left."""

    def __init__(self, data):
        self.data = data
        self.at = 0

    def u32(self):
        (number,) = struct.unpack_from("<I", self.data, self.at)
        self.at += 4
        return number

    def blob(self):
        size = self.u32()
        if self.at + size > len(self.data):
            raise ValueError("a string reaches past its frame")
        self.at += size
        return self.data[self.at - size : self.at]

    def string(self):
        return self.blob().decode("utf-8")

    def bundle(self):
        return {self.string(): self.blob() for _ in range(self.u32())}

    def end(self):
        if self.at != len(self.data):
            raise ValueError("%d bytes too many in a frame" % (len(self.data) - self.at))


class KernelCase(unittest.TestCase):
    """Tests of one language: they share a kernel for as long as it answers."""

    language = None
    shared = None

    @classmethod
    def tearDownClass(cls):
        if cls.shared is not None:
            cls.shared.close()
            cls.shared = None

    def setUp(self):
        if self.shared is None:
            type(self).shared = Kernel(self.language)
        self.kernel = self.shared

    def tearDown(self):
        if not self.kernel.idle:
            self.tearDownClass()

    def answers_with(self, files, code):
        """A kernel of a sandbox that may have few files open."""
        with Kernel(self.language, files=files) as kernel:
            outcome = kernel.run(code)
            self.assertEqual(outcome.status, "ok", outcome)
            return outcome.text

    def value(self, code):
        outcome = self.kernel.run(code)
        self.assertEqual(outcome.status, "ok", outcome)
        return outcome.text


class Kernel:
    def __init__(self, language, env=None, user=None, cwd=None, files=None):
        self.language = language
        self.folder = tempfile.mkdtemp(prefix="kernel-test-")
        os.chmod(self.folder, 0o777)
        self.request = 0
        self.idle = True
        self.buffer = bytearray()
        requests, self.requests = self._pipe()
        self.events, events = self._pipe()
        self.stdout, stdout = self._pipe()
        self.stderr, stderr = self._pipe()

        def arrange():
            os.dup2(requests, 3)
            os.dup2(events, 4)
            if files is not None:
                resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
            if user is not None:
                os.setgid(user)
                os.setuid(user)

        self.started = time.monotonic()
        self.process = subprocess.Popen(
            COMMANDS[language],
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            cwd=cwd or self.folder,
            env=dict({name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}, **(env or {})),
            preexec_fn=arrange,
            pass_fds=(3, 4),
            start_new_session=True,
        )
        for fd in (requests, events, stdout, stderr):
            os.close(fd)
        self.selector = selectors.DefaultSelector()
        for fd in (self.events, self.stdout, self.stderr):
            os.set_blocking(fd, False)
            self.selector.register(fd, selectors.EVENT_READ)
        kind, ready = self._next(Outcome(), time.monotonic() + 30)
        assert kind == 0x81, kind
        self.ready = (ready.string(), ready.string(), ready.string())
        ready.end()

    @staticmethod
    def _pipe():
        """Both ends above the numbers that the kernel is given."""
        ends = os.pipe()
        moved = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 20) for fd in ends]
        for fd in ends:
            os.close(fd)
        return moved

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        if self.requests is not None:
            os.close(self.requests)
            self.requests = None
        try:
            self.process.wait(3)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        try:
            os.killpg(self.process.pid, signal.SIGKILL)  # what user code left behind
        except ProcessLookupError:
            pass
        self.selector.close()
        for fd in (self.events, self.stdout, self.stderr):
            os.close(fd)
        shutil.rmtree(self.folder, ignore_errors=True)

    # ---- requests

    def send(self, kind, payload=b""):
        self.request += 1
        self.idle = False
        data = struct.pack("<IBI", len(payload) + 4, kind, self.request) + payload
        while data:
            data = data[os.write(self.requests, data) :]

    def post(self, code, silent=False):
        """Sends a cell without waiting for it."""
        code = code if isinstance(code, bytes) else code.encode()
        self.send(EXECUTE, struct.pack("<II", int(silent), len(code)) + code)

    def run(self, code, silent=False, interrupt_on=None, timeout=10):
        """Runs a cell to its DONE. With `interrupt_on`, SIGINT follows as soon as stdout has shown that text, and again, as hosts do
        it, when there is no answer: one that comes in the very moment before a native wait begins is seen after that wait."""
        self.post(code, silent)
        return self.answer(timeout, interrupt_on)

    def ping(self):
        self.send(PING)
        return self.answer()

    def complete(self, code, cursor=None):
        data = code.encode()
        self.send(COMPLETE, struct.pack("<II", len(data) if cursor is None else cursor, len(data)) + data)
        return self.answer().completions

    def bind(self, variables):
        """Sets environment variables; names and values are text or bytes."""
        strings = [part if isinstance(part, bytes) else part.encode() for pair in variables.items() for part in pair]
        data = b"".join(struct.pack("<I", len(part)) + part for part in strings)
        self.send(BIND, struct.pack("<I", len(variables)) + data)
        return self.answer()

    def interrupt(self):
        self.process.send_signal(signal.SIGINT)

    @contextlib.contextmanager
    def storm(self, pause):
        """Interrupts without end from another thread, with `pause()` seconds between two."""
        ended = threading.Event()

        def blow():
            while not ended.wait(pause()):
                self.interrupt()

        thread = threading.Thread(target=blow)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    # ---- events

    def answer(self, timeout=10, interrupt_on=None):
        outcome = Outcome()
        deadline = time.monotonic() + timeout
        again = None
        while outcome.status is None:
            event = self._next(outcome, deadline, interrupt_on, again)
            if event is None:
                self.interrupt()
                again = time.monotonic() + AGAIN if again is None else deadline
                interrupt_on = None
                continue
            self._take(outcome, *event)
        self._drain(outcome)
        self.idle = True
        return outcome

    def _take(self, outcome, kind, data):
        request = data.u32()
        assert request == self.request, "an event for request %d during %d" % (request, self.request)
        if kind == 0x82:
            assert outcome.result is None, "a second RESULT"
            outcome.result = data.bundle()
            assert next(iter(outcome.result)) == "text/plain", outcome.result
        elif kind == 0x83:
            outcome.displays.append(data.bundle())
        elif kind == 0x84:
            assert outcome.error is None, "a second ERROR"
            outcome.error = Error(data.string(), data.string(), data.string())
        elif kind == 0x85:
            outcome.status = STATUS[data.data[data.at]]
            data.at += 1
        elif kind == 0x86:
            start, end = data.u32(), data.u32()
            outcome.completions = (start, end, [data.string() for _ in range(data.u32())])
        elif kind == 0x87:
            outcome.pong = True
        else:
            raise ValueError("an event of unknown type 0x%02x" % kind)
        data.end()

    def _next(self, outcome, deadline, interrupt_on=None, again=None):
        """The next event; None when `interrupt_on` has appeared, or at the time `again`."""
        while True:
            if len(self.buffer) >= 5:
                size, kind = struct.unpack_from("<IB", self.buffer)
                assert size <= 64 << 20, "a frame of %d bytes" % size
                if len(self.buffer) >= 5 + size:
                    data = bytes(self.buffer[5 : 5 + size])
                    del self.buffer[: 5 + size]
                    return kind, Reader(data)
            now = time.monotonic()
            if now >= deadline:
                raise TimeoutError("no answer in time; so far: %r" % outcome)
            if again is not None and now >= again:
                return None
            for key, _ in self.selector.select((deadline if again is None else min(deadline, again)) - now):
                self._read(key.fd, outcome)
            if interrupt_on is not None and interrupt_on in outcome.stdout:
                return None

    def _read(self, fd, outcome):
        data = os.read(fd, 1 << 20)
        if fd == self.events:
            if not data:
                self._drain(outcome)
                code = self.process.wait()
                # Traps of its exit may have written since.
                self._drain(outcome)
                raise Died(code, outcome)
            self.buffer += data
        elif fd == self.stdout:
            outcome.stdout += data
        else:
            outcome.stderr += data
        if not data:
            self.selector.unregister(fd)

    def _drain(self, outcome):
        """What was written before DONE is in the pipes already."""
        for fd in (self.stdout, self.stderr):
            try:
                while fd in self.selector.get_map():
                    self._read(fd, outcome)
            except OSError as error:
                if error.errno != errno.EAGAIN:
                    raise

    def more_output(self, wanted, timeout=10):
        """Waits for text on either stream after a cell has ended."""
        outcome = Outcome()
        deadline = time.monotonic() + timeout
        while wanted not in outcome.stdout + outcome.stderr:
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError("%r did not appear in %r" % (wanted, outcome))
            for key, _ in self.selector.select(left):
                self._read(key.fd, outcome)
        return outcome

    def exit_code(self, timeout=10):
        return self.process.wait(timeout)
