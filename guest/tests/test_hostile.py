"""Whatever comes, the guest answers the next one: garbage, crowds, exhaustion, signals, murder."""

import os
import random
import resource
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest

from guestlib import *


class Garbage(GuestTest):
    def test_random_bytes_end_the_connection_and_nothing_else(self):
        dice = random.Random(2)
        with self.guest() as guest:
            for _ in range(300):
                with guest.connect() as connection:
                    try:
                        connection.socket.sendall(dice.randbytes(dice.randrange(1, 3000)))
                        connection.socket.shutdown(socket.SHUT_WR)
                    except OSError:
                        pass
                    self.drain(connection)
            self.assertEqual(0, guest.shell("true").code)

    def drain(self, connection):
        try:
            while connection.socket.recv(65536):
                pass
        except ConnectionResetError:
            pass

    def test_changed_requests_never_break_it(self):
        dice = random.Random(3)
        with self.guest() as guest:
            good = frame(EXEC, field(10, "fuzz") + field(11, "true") + field(12, "A=b") + field(16, 1) + field(21, 1) +
                         field(24, 1000)) + frame(DATA, b"abc") + frame(SIGNAL, field(10, 15)) + frame(DATA_END)
            for _ in range(300):
                bad = bytearray(good)
                for _ in range(dice.randrange(1, 6)):
                    bad[dice.randrange(len(bad))] = dice.randrange(256)
                with guest.connect() as connection:
                    try:
                        connection.socket.sendall(bad)
                        connection.socket.shutdown(socket.SHUT_WR)
                    except OSError:
                        pass
                    self.drain(connection)
                guest.request(FORGET, field(10, "fuzz"))
            self.assertEqual(0, guest.shell("true").code)
            self.wait(lambda: guest.live() == 0)

    def test_a_length_past_the_limit_is_refused_before_anything_is_allocated(self):
        with self.guest() as guest, guest.connect() as connection:
            connection.socket.sendall(struct.pack("<IB", (1 << 20) + 1, EXEC))
            self.assertEqual(b"bad_request", connection.expect(ERROR)[10])
            self.assertIsNone(connection.receive())

    def test_later_frames_that_make_no_sense_end_the_exec(self):
        with self.guest() as guest:
            for later in (frame(PING), frame(0xEE), frame(SIGNAL, field(10, 65)), frame(SIGNAL, field(10, 9) + field(11, 3)),
                          frame(RESIZE, field(17, 0)), frame(SIGNAL, bytes(5000)), frame(SIGNAL, b"\x0a\x09\0\0\0")):
                with guest.start("sleep", "1000") as connection:
                    pid = number(connection.expect(STARTED)[11])
                    connection.socket.sendall(later)
                    self.assertEqual(b"bad_request", connection.collect().error[10])
                    self.wait(lambda: not alive(pid))

    def test_descriptors_that_nobody_asked_for_are_closed(self):
        with self.guest() as guest:
            for count in (1, 5, 6, 7, 200):
                reader, writer = os.pipe()
                with guest.connect() as connection:
                    socket.send_fds(connection.socket, [frame(PING)], [reader] * count)
                    connection.expect(OK)
                os.close(reader)
                # A pipe says so when its last reader is gone.
                poll = select.poll()
                poll.register(writer, 0)
                self.assertEqual([(writer, select.POLLERR)], poll.poll(TIMEOUT * 1000))
                os.close(writer)

    def test_unknown_requests_and_versions_are_told_apart(self):
        with self.guest() as guest:
            self.assertEqual(b"unsupported", guest.request(0x7F)[1][10])
            self.assertEqual(b"unsupported", guest.request(PING, field(1, 2))[1][10])
            self.assertEqual(b"bad_request", guest.request(PING, field(1, 0))[1][10])
            self.assertEqual(OK, guest.request(PING, field(1, 1) + field(200, "unknown tags are ignored"))[0])

    def test_the_token_is_asked_of_every_request(self):
        with self.guest(token="right-token") as guest:
            self.assertEqual(OK, guest.request(PING)[0])
            guest.token = None
            for payload in (b"", field(2, ""), field(2, "right-toke"), field(2, "right-token2"), field(2, "wrong-token")):
                for kind in (PING, EXEC, LIST, SHUTDOWN, 0x10):
                    self.assertEqual(b"denied", guest.request(kind, payload)[1][10])
            self.assertNotIn("right-token", read(f"/proc/{guest.process.pid}/cmdline"))

    def test_a_connection_that_vanishes_in_the_middle_of_a_frame_costs_nothing(self):
        with self.guest() as guest:
            for cut in range(1, 60):
                with guest.connect() as connection:
                    connection.socket.sendall(frame(EXEC, field(10, "x") + field(11, "true") + bytes(60))[:cut])
            with guest.start("cat", stdin=1) as connection:
                connection.expect(STARTED)
                connection.socket.sendall(struct.pack("<IB", 1 << 20, DATA) + b"part")
            self.wait(lambda: guest.live() == 0)
            self.assertEqual(0, guest.shell("true").code)

    def test_large_unfinished_requests_are_bounded(self):
        with self.guest() as guest:
            held = [guest.connect() for _ in range(40)]
            for connection in held:
                connection.socket.sendall(struct.pack("<IB", 1 << 20, EXEC) + b"x" * 1000)
            answers = [b"busy" in connection.socket.recv(1000) for connection in held[10:]]
            self.assertTrue(all(answers))
            for connection in held:
                connection.close()
            self.wait(lambda: guest.shell("true").code == 0)


class Crowds(GuestTest):
    def test_a_thousand_idle_connections_are_carried(self):
        limit = resource.getrlimit(resource.RLIMIT_NOFILE)
        if limit[0] < 2200:
            resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, limit[1]), limit[1]))
        with self.guest() as guest:
            before = guest.memory()
            idle = [guest.connect() for _ in range(1000)]
            self.assertEqual(0, guest.shell("true").code)
            if self.static:
                self.assertLess(guest.memory() - before, 1 << 20)
            more = [guest.connect() for _ in range(60)]
            refused = sum(self.refused(connection) for connection in more)
            self.assertGreaterEqual(refused, 30)
            for connection in idle + more:
                connection.close()
            self.wait(lambda: guest.answers())
            self.assertEqual(0, guest.shell("true").code)

    def refused(self, connection):
        connection.socket.settimeout(0.02)
        try:
            return b"busy" in connection.socket.recv(1000)
        except TimeoutError:
            return False

    def test_a_connection_every_moment_is_no_burden(self):
        with self.guest() as guest:
            for _ in range(2000):
                guest.connect().close()
            self.assertEqual(0, guest.shell("true").code)
            self.wait(lambda: len(os.listdir(f"/proc/{guest.process.pid}/fd")) < 20)

    def test_without_descriptors_it_refuses_and_recovers(self):
        def few():
            resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))

        with self.guest(preexec=few) as guest:
            crowd = [guest.connect() for _ in range(100)]
            self.assertLess(self.running(guest), 0.5, "it must not spin")
            for connection in crowd:
                connection.close()
            self.wait(guest.answers)
            self.assertEqual(0, guest.shell("true").code)

    def running(self, guest):
        """How often of a hundred looks the guest wants the processor: a share that does not depend on who else does."""
        looks = 0
        for _ in range(100):
            looks += read(f"/proc/{guest.process.pid}/stat").rsplit(")", 1)[1].split()[0] == "R"
            time.sleep(0.004)
        return looks / 100

    def test_many_execs_at_once(self):
        with self.guest() as guest:
            running = [guest.start("sh", "-c", f"read -r x; echo ${{x}}{i}", stdin=1) for i in range(60)]
            for connection in running:
                connection.expect(STARTED)
            self.assertEqual(60, guest.live())
            for connection in running:
                connection.send(DATA, b"n\n")
            self.assertEqual([b"n%d\n" % i for i in range(60)], [bytes(connection.collect().out) for connection in running])
            for connection in running:
                connection.close()

    @unittest.skipIf(os.geteuid() != 0, "needs root to become somebody without processes")
    def test_without_processes_it_says_so_and_recovers(self):
        uid = 61234

        def alone():
            os.setgroups([])
            os.setgid(uid)
            os.setuid(uid)
            resource.setrlimit(resource.RLIMIT_NPROC, (8, 8))

        folder = tempfile.mkdtemp(prefix="carrel-guest-")
        os.chmod(folder, 0o777)
        shutil.copy(self.binary, os.path.join(folder, "guest"))
        try:
            with Guest(os.path.join(folder, "guest"), parent=folder, mode=0o777, preexec=alone) as guest:
                held = [guest.start("sleep", "1000", cwd="/") for _ in range(8)]
                results = [connection.collect(lambda partial: partial.started) for connection in held]
                refused = [result.error[10] for result in results if result.error]
                self.assertEqual({b"no_process"}, set(refused))
                self.assertTrue(guest.answers())
                for connection in held:
                    connection.close()
                self.wait(lambda: guest.live() == 0)
                self.assertEqual(0, guest.run("true", cwd="/").code)
        finally:
            shutil.rmtree(folder)

    def test_without_memory_it_says_so_and_recovers(self):
        if not self.static:
            return  # a sanitizer needs terabytes of address space
        def small():
            resource.setrlimit(resource.RLIMIT_AS, (3 << 20, 3 << 20))

        with self.guest(preexec=small) as guest:
            held = [guest.start("sleep", "1000", retain=1 << 20) for _ in range(6)]
            results = [connection.collect(lambda partial: partial.started or partial.exited) for connection in held]
            self.assertTrue(any(result.error for result in results))
            self.assertTrue(guest.answers())
            for connection in held:
                connection.close()
            self.wait(lambda: guest.live() == 0)


class Signals(GuestTest):
    def test_forged_signals_do_nothing(self):
        with self.guest() as guest:
            for number in range(1, 65):
                if number not in (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, 32, 33, 34):
                    os.kill(guest.process.pid, number)
            self.assertEqual(0, guest.shell("true").code)

    def inside(self, script, *arguments):
        """A guest that is PID 1 of a pid namespace of its own, and a shell script that runs in it."""
        folder = tempfile.mkdtemp(prefix="carrel-guest-")
        path = os.path.join(folder, "s")
        command = ["unshare", *([] if os.geteuid() == 0 else ["-r"]), "--pid", "--fork", "--kill-child", "--mount-proc", "--net",
                   "sh", "-c", 'ip link set lo up; exec "$@"', "sh", os.path.abspath(self.binary), "init", "--socket", path,
                   "--workspace", folder, *arguments]
        process = subprocess.Popen(command, env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
                                                 "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=1"})
        try:
            guest = Guest.__new__(Guest)
            guest.path, guest.token, guest.folder = path, None, folder
            self.wait(guest.answers)
            return script(guest)
        finally:
            process.kill()
            process.wait()
            shutil.rmtree(folder)

    def test_pid_1_cannot_be_signalled_from_inside(self):
        def script(guest):
            result = guest.shell("for n in $(seq 1 64); do kill -$n 1 2>/dev/null; done; echo $PPID; readlink /proc/1/exe")
            self.assertEqual(0, result.code)
            self.assertTrue(guest.answers())

        self.inside(script)

    def test_pid_1_reaps_orphans(self):
        def script(guest):
            guest.shell("for i in 1 2 3 4 5 6 7 8; do (setsid sleep 0.0$i &) ; done; sleep 0.2")
            self.wait(lambda: guest.live() == 0)
            states = guest.shell("cat /proc/[0-9]*/stat 2>/dev/null").out.decode()
            self.assertNotIn(" Z ", states)

        self.inside(script)

    def test_the_relay_carries_connections_to_the_host_proxy(self):
        folder = tempfile.mkdtemp(prefix="carrel-proxy-")
        path = os.path.join(folder, "egress.sock")
        server = socket.socket(socket.AF_UNIX)
        server.bind(path)
        server.listen(64)

        def echo(connection):
            with connection:
                total = 0
                while chunk := connection.recv(1 << 16):
                    total += len(chunk)
                    connection.sendall(chunk)
                connection.sendall(b"|%d" % total)

        def serve():
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                threading.Thread(target=echo, args=(connection,), daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()
        client = """
import socket, sys, threading
def one(size, results):
    s = socket.create_connection(("127.0.0.1", 3128))
    t = threading.Thread(target=lambda: (s.sendall(b"x" * size), s.shutdown(socket.SHUT_WR)))
    t.start()
    got = b""
    while chunk := s.recv(1 << 16): got += chunk
    t.join(); s.close()
    results.append(got == b"x" * size + b"|%d" % size)
results = []
for size in (0, 1, 5000000): one(size, results)
threads = [threading.Thread(target=one, args=(100000, results)) for _ in range(20)]
for t in threads: t.start()
for t in threads: t.join()
print(len(results), all(results))
"""

        def script(guest):
            for _ in range(2):
                result = guest.run("/usr/bin/python3", "-c", client)
                self.assertEqual((b"23 True\n", b""), (bytes(result.out), bytes(result.err)))
            server.close()
            os.unlink(path)
            result = guest.run("/usr/bin/python3", "-c", "import socket; s = socket.create_connection(('127.0.0.1', 3128)); "
                                                         "print(s.recv(10))")
            self.assertIn(b"b''", bytes(result.out) + bytes(result.err).replace(b"ConnectionResetError", b"b''"))
            self.assertTrue(guest.answers())

        try:
            self.inside(script, "--egress", path)
        finally:
            shutil.rmtree(folder)

    @unittest.skipIf(os.geteuid() != 0, "needs root to have two users")
    def test_code_can_neither_signal_nor_read_the_guest_and_its_keepers(self):
        with self.guest(arguments=("--uid", "1234", "--gid", "1235"), token="tok") as guest:
            guest.open_to_all()
            own = guest.process.pid
            result = guest.shell(f"for p in $PPID {own}; do kill -0 $p && echo signalled; cat /proc/$p/environ /proc/$p/maps "
                                 "&& echo read; ls /proc/$p/fd && echo listed; done; :", cwd="/")
            self.assertEqual((b"", 0), (bytes(result.out), result.code))
            attempt = guest.run("/usr/bin/python3", "-c",
                                f"import socket; socket.socket(socket.AF_UNIX).connect('{guest.path}')", cwd="/")
            self.assertIn(b"Permission", bytes(attempt.err))


class Memory(GuestTest):
    def test_an_idle_guest_is_tiny(self):
        if not self.static:
            return
        with self.guest() as guest:
            for _ in range(20):
                guest.shell("head -c 1000000 /dev/zero")
            self.wait(lambda: guest.live() == 0)
            self.assertLess(guest.anonymous(), 64 << 10)

    def test_nothing_grows_with_use(self):
        with self.guest() as guest:
            def use():
                for _ in range(100):
                    guest.shell("echo x > f; rm f", changes=1, retain=100, exec_id="again")
                    guest.request(FORGET, field(10, "again"))

            use()
            before = guest.anonymous()
            use()
            if self.static:
                self.assertLessEqual(guest.anonymous(), before + (16 << 10))
            self.assertLess(len(os.listdir(f"/proc/{guest.process.pid}/fd")), 16)


if __name__ == "__main__":
    unittest.main()
