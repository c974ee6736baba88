"""The floor of a first Python result: a warm interpreter forks, and the fork makes itself a sandbox and answers `1+1`.

    floors.py N [MODULE ...]     prints one duration in nanoseconds a line; needs root

As little as does it: the server's own way enters a sandbox that exists, is asked by a client, and has a result to keep.
"""

import ctypes
import gc
import importlib
import os
import signal
import socket
import sys
import time

NEW_USER, NEW_PID, NEW_MOUNTS, NEW_NETWORK, NEW_IPC, NEW_NAMES = 0x10000000, 0x20000000, 0x20000, 0x40000000, 0x8000000, 0x4000000
READ_ONLY, NO_SUID, NO_DEVICES, NO_EXEC, REMOUNT, BIND, RECURSIVE, PRIVATE = 1, 2, 4, 8, 32, 4096, 16384, 1 << 18
NO_NEW_PRIVILEGES, DROP_FROM_BOUNDING_SET = 38, 24
CONTROLLERS = {"memory": ("memory.limit_in_bytes", b"536870912"), "pids": ("pids.max", b"128"), "cpu": ("cpu.cfs_quota_us", b"100000"), "freezer": None}
SINGLE = os.path.exists("/sys/fs/cgroup/cgroup.controllers")
libc = ctypes.CDLL(None, use_errno=True)


def check(result):
    if result != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def put(path, text):
    file = os.open(path, os.O_WRONLY)
    os.write(file, text)
    os.close(file)


def make_groups(number):
    name = "carrel-floor-%d-%d" % (os.getpid(), number)
    if SINGLE:
        os.mkdir("/sys/fs/cgroup/" + name)
        return ["/sys/fs/cgroup/" + name]
    made = []
    for controller, limit in CONTROLLERS.items():
        made.append("/sys/fs/cgroup/%s/%s" % (controller, name))
        os.mkdir(made[-1])
        if limit is not None:
            put(made[-1] + "/" + limit[0], limit[1])
    return made


def mount(source, target, kind, flags, data=None):
    check(libc.mount(source, target, kind, ctypes.c_ulong(flags), data))


def become_a_sandbox(groups):
    for group in groups:
        put(group + ("/cgroup.procs" if SINGLE else "/tasks"), b"0")
    check(libc.unshare(NEW_MOUNTS | NEW_NETWORK | NEW_IPC | NEW_NAMES))
    mount(None, b"/", None, RECURSIVE | PRIVATE)
    mount(b"proc", b"/proc", b"proc", NO_SUID | NO_DEVICES | NO_EXEC)
    mount(b"tmp", b"/tmp", b"tmpfs", NO_SUID | NO_DEVICES, b"size=64m")
    for path in (b"/proc/kcore", b"/proc/keys", b"/proc/timer_list", b"/proc/sysrq-trigger"):
        if os.path.exists(path):
            mount(b"/dev/null", path, None, BIND)
    for path in (b"/proc/bus", b"/proc/fs", b"/proc/irq", b"/proc/sys"):
        if os.path.exists(path):
            mount(path, path, None, BIND)
            mount(None, path, None, REMOUNT | BIND | READ_ONLY | NO_SUID | NO_DEVICES | NO_EXEC)
    check(libc.unshare(NEW_USER))
    put("/proc/self/setgroups", b"deny")
    put("/proc/self/uid_map", b"0 0 1")
    put("/proc/self/gid_map", b"0 0 1")
    for capability in range(64):
        if libc.prctl(DROP_FROM_BOUNDING_SET, capability, 0, 0, 0) != 0:
            break
    check(libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0))


def evaluator():
    """How a cell is run: by IPython where that is loaded."""
    interactive = sys.modules.get("IPython.core.interactiveshell")
    if interactive is None:
        return lambda code: eval(compile(code, "cell", "eval"))
    shell = interactive.InteractiveShell.instance()

    def evaluate(code):
        shell.run_cell("result = " + code, silent=True)  # not silent it would show it
        return shell.user_ns["result"]

    return evaluate


def once(number, pids, evaluate):
    begin = time.monotonic_ns()
    groups = make_groups(number)
    here, there = socket.socketpair()
    check(libc.unshare(NEW_PID))
    child = ctypes.pythonapi.fork()
    if child == 0:
        try:
            become_a_sandbox(groups)
            code = there.recv(100)
            there.send(repr(evaluate(code.decode())).encode())
            signal.pause()
        finally:
            os._exit(1)
    check(libc.setns(pids, NEW_PID))
    there.close()
    here.send(b"1+1")
    answer = here.recv(100)
    took = time.monotonic_ns() - begin
    here.close()
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    for group in groups:
        for _ in range(200):
            try:
                os.rmdir(group)
                break
            except OSError:
                time.sleep(0.0001)
    if answer != b"2":
        sys.exit("the fork did not answer")
    print(took)


def main():
    gc.disable()
    os.environ["IPYTHONDIR"] = os.path.dirname(__file__)
    for name in sys.argv[2:]:
        importlib.import_module(name)
    evaluate = evaluator()
    evaluate("1+1")
    gc.freeze()
    pids = os.open("/proc/self/ns/pid", os.O_RDONLY)
    for number in range(int(sys.argv[1])):
        once(number, pids, evaluate)


main()
