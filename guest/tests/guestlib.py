"""Starts the real guest in `init` mode and speaks its protocol: see spec/guest-protocol.md. Standard library only."""

import errno
import os
import resource
import shutil
import socket
import struct
import subprocess
import tempfile
import time
import unittest

PING, EXEC, ATTACH, LIST, FORGET, SIGNAL_EXEC, SHUTDOWN = 1, 2, 3, 4, 5, 6, 8
DATA, DATA_END, SIGNAL, RESIZE, CONTROL, DETACH = 0x40, 0x41, 0x42, 0x43, 0x44, 0x45
OK, ERROR, STARTED, STDOUT, STDERR, EXITED, CHANGE, CONTROL_OUT, EXEC_INFO, GAP = (
    0x80, 0x81, 0x82, 0x83, 0x84, 0x85, 0x86, 0x87, 0x8C, 0x8D)
MAIN, GROUP, TREE = 0, 1, 2
RAW = {STDOUT, STDERR, CONTROL_OUT}
EXEC_TAGS = {
    "exec_id": 10, "cwd": 13, "uid": 14, "gid": 15, "pty": 16, "rows": 17, "cols": 18, "timeout_ms": 19,
    "grace_ms": 20, "stdin": 21, "control": 22, "keep": 23, "retain": 24, "nofile": 25, "nproc": 26,
    "fsize": 27, "changes": 28,
}
TIMEOUT = 20.0


def field(tag, value):
    if isinstance(value, (int, bool)):
        value = struct.pack("<q", value)
    elif isinstance(value, str):
        value = os.fsencode(value)
    return struct.pack("<BI", tag, len(value)) + value


def frame(kind, payload=b""):
    return struct.pack("<IB", len(payload), kind) + payload


def fields(payload):
    result, at = {}, 0
    while at < len(payload):
        tag, size = struct.unpack_from("<BI", payload, at)
        result[tag] = payload[at + 5:at + 5 + size]
        at += 5 + size
    return result


def number(value):
    return struct.unpack("<q", value)[0]


class Result:
    """What one exec told, folded."""

    def __init__(self):
        self.out, self.err, self.control = bytearray(), bytearray(), bytearray()
        self.changes, self.order = {}, []
        self.started = self.exited = self.error = self.gap = None
        self.ended = False

    def number(self, tag, fallback=None):
        return number(self.exited[tag]) if self.exited and tag in self.exited else fallback

    @property
    def code(self):
        return self.number(30)

    @property
    def signal(self):
        return self.number(31)


class Connection:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(TIMEOUT)
        self.buffer = bytearray()
        end = time.monotonic() + TIMEOUT
        try:
            # A full queue answers "try again" to a socket with a time limit instead of letting it wait.
            while (error := self.socket.connect_ex(path)) == errno.EAGAIN and time.monotonic() < end:
                time.sleep(0.001)
            if error:
                raise OSError(error, os.strerror(error), path)
        except OSError:
            self.socket.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *ignored):
        self.close()

    def close(self):
        self.socket.close()

    def send(self, kind, payload=b""):
        self.socket.sendall(frame(kind, payload))

    def receive(self):
        """The next frame as (type, payload), or None at the end."""
        while True:
            if len(self.buffer) >= 5:
                size, kind = struct.unpack_from("<IB", self.buffer)
                if len(self.buffer) >= 5 + size:
                    payload = bytes(self.buffer[5:5 + size])
                    del self.buffer[:5 + size]
                    return kind, payload
            chunk = self.socket.recv(1 << 18)
            if not chunk:
                return None
            self.buffer += chunk

    def expect(self, kind):
        got = self.receive()
        assert got is not None and got[0] == kind, f"expected frame {kind:#x}, got {got!r:.300}"
        return fields(got[1]) if kind not in RAW else got[1]

    def collect(self, until=lambda result: False):
        """Reads until EXITED, ERROR or the end, or until the condition holds."""
        result = Result()
        while not until(result):
            got = self.receive()
            if got is None:
                result.ended = True
                break
            kind, payload = got
            result.order.append(kind)
            if kind == STDOUT:
                result.out += payload
            elif kind == STDERR:
                result.err += payload
            elif kind == CONTROL_OUT:
                result.control += payload
            elif kind == STARTED:
                result.started = fields(payload)
            elif kind == GAP:
                result.gap = number(fields(payload)[10])
            elif kind == CHANGE:
                change = fields(payload)
                result.changes[os.fsdecode(change[40])] = number(change[41])
            elif kind == EXITED:
                result.exited = fields(payload)
                break
            elif kind == ERROR:
                result.error = fields(payload)
                break
        return result


class Guest:
    """A guest of its own for one test, in a folder that goes with it."""

    counter = 0

    def __init__(self, binary, token=None, workspace=None, arguments=(), preexec=None, parent=None, mode=0o755):
        self.folder = tempfile.mkdtemp(prefix="carrel-guest-", dir=parent)
        os.chmod(self.folder, mode)
        self.path = os.path.join(self.folder, "s")
        self.workspace = workspace or os.path.join(self.folder, "workspace")
        os.makedirs(self.workspace, exist_ok=True)
        command = [binary, "init", "--socket", self.path, "--workspace", self.workspace, *arguments]
        self.token = token
        if token is not None:
            file = os.path.join(self.folder, "token")
            with open(file, "w", opener=lambda name, flags: os.open(name, flags, 0o600)) as stream:
                stream.write(token + "\n")
            command += ["--token-file", file]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, preexec_fn=preexec,
                                        env={"ASAN_OPTIONS": "detect_leaks=0:abort_on_error=1", "PATH": "/usr/bin:/bin"})
        deadline = time.monotonic() + TIMEOUT
        while not self.answers():
            assert self.process.poll() is None, "the guest ended at once"
            assert time.monotonic() < deadline, "the guest does not answer"
            time.sleep(0.002)

    def __enter__(self):
        return self

    def __exit__(self, *ignored):
        if self.process.poll() is None:
            self.process.terminate()
        try:
            self.process.wait(TIMEOUT)
        finally:
            self.process.kill()
            self.process.wait()
            shutil.rmtree(self.folder, ignore_errors=True)

    def answers(self):
        try:
            with self.connect() as connection:
                connection.send(PING, self.credentials())
                got = connection.receive()
                return got is not None and got[0] == OK
        except OSError:
            return False

    def credentials(self):
        return b"" if self.token is None else field(2, self.token)

    def connect(self):
        return Connection(self.path)

    def request(self, kind, payload=b""):
        """One request with one answer: (type, fields)."""
        with self.connect() as connection:
            connection.send(kind, self.credentials() + payload)
            got = connection.receive()
            assert got is not None, "the connection ended without an answer"
            return got[0], fields(got[1])

    def start(self, *arguments, env=None, **options):
        """Sends EXEC on a new connection and returns it."""
        Guest.counter += 1
        options.setdefault("exec_id", f"ex{Guest.counter}")
        payload = self.credentials()
        for argument in arguments:
            payload += field(11, argument)
        for name, value in (env or {"PATH": "/usr/bin:/bin"}).items():
            payload += field(12, f"{name}={value}")
        for name, value in options.items():
            payload += field(EXEC_TAGS[name], value)
        connection = self.connect()
        connection.send(EXEC, payload)
        return connection

    def run(self, *arguments, input=None, **options):
        """Runs a command to its end."""
        with self.start(*arguments, stdin=int(input is not None), **options) as connection:
            if input is not None:
                try:
                    connection.send(DATA, input)
                    connection.send(DATA_END)
                except BrokenPipeError:
                    pass  # it has ended without reading all of it
            return connection.collect()

    def shell(self, script, **options):
        return self.run("sh", "-c", script, **options)

    def attach(self, exec_id, start=None):
        connection = self.connect()
        payload = self.credentials() + field(10, exec_id)
        connection.send(ATTACH, payload + (b"" if start is None else field(11, start)))
        return connection

    def list(self):
        """The fields of each listed exec."""
        infos = []
        with self.connect() as connection:
            connection.send(LIST, self.credentials())
            while True:
                kind, payload = connection.receive()
                if kind == OK:
                    return infos
                infos.append(fields(payload))

    def live(self):
        return number(self.request(PING)[1][12])

    def open_to_all(self):
        """Lets other users reach the folder, so that only the guest's own protection is left."""
        os.chmod(self.folder, 0o777)

    def anonymous(self):
        """Memory of the guest that no other process and no file has, in bytes."""
        return next(int(line.split()[1]) * 1024 for line in read(f"/proc/{self.process.pid}/smaps_rollup").splitlines()
                    if line.startswith("Anonymous:"))

    def memory(self):
        """Private memory of the guest itself, in bytes."""
        return sum(int(line.split()[1]) * 1024 for line in read(f"/proc/{self.process.pid}/smaps_rollup").splitlines()
                   if line.startswith(("Private_Dirty:", "Private_Clean:")))


def read(path):
    with open(path) as file:
        return file.read()


def alive(pid):
    """True while the process exists and is not a zombie."""
    try:
        return read(f"/proc/{pid}/stat").rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def children_of(parent):
    """Live children."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                state, ppid = read(f"/proc/{name}/stat").rsplit(")", 1)[1].split()[:2]
            except (FileNotFoundError, ProcessLookupError):
                continue
            if int(ppid) == parent and state != "Z":
                found.append(int(name))
    return found


class GuestTest(unittest.TestCase):
    """Each test starts guests of its own: the binary is GUEST_BINARY."""

    binary = os.environ.get("GUEST_BINARY", os.path.join(os.path.dirname(__file__), "..", "build", "guest"))
    static = "sanitized" not in binary

    def setUp(self):
        self.begun = time.monotonic()

    def guest(self, **options):
        return Guest(self.binary, **options)

    def wait(self, condition, seconds=10.0):
        """Looks until the condition holds."""
        deadline = time.monotonic() + seconds
        while not condition():
            self.assertLess(time.monotonic(), deadline, "the condition never came true")
            time.sleep(0.005)
