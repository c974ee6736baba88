"""Commands over pipes: how they start, what they are given, what is told of their end."""

import os
import signal
import threading
import time
import unittest

from guestlib import *


class Starting(GuestTest):
    def test_every_exit_code_comes_back(self):
        with self.guest() as guest:
            for code in range(256):
                result = guest.shell(f"exit {code}")
                self.assertEqual((code, None), (result.code, result.signal))

    def test_every_fatal_signal_comes_back(self):
        with self.guest() as guest:
            for number in (1, 2, 3, 4, 6, 8, 9, 10, 11, 12, 13, 14, 15, 24, 31, 34, 64):
                result = guest.shell(f"kill -{number} $$")
                self.assertEqual((None, number), (result.code, result.signal))
                self.assertEqual(0, result.number(38), "the host did not ask for it")

    def test_started_names_the_exec_and_a_real_pid(self):
        with self.guest() as guest:
            result = guest.shell("echo $$", exec_id="my-exec_1")
            self.assertEqual(b"my-exec_1", result.started[10])
            self.assertEqual(int(result.out), number(result.started[11]))
            self.assertEqual(0, number(result.started[12]))

    def test_a_missing_program_is_127_and_says_so(self):
        with self.guest() as guest:
            for name in ("no-such-program", "/no/such/program", ""):
                result = guest.run(name)
                self.assertEqual((127, None), (result.code, result.started), name)
                self.assertIn(b"No such file", result.exited[33])

    def test_what_cannot_be_executed_is_126(self):
        with self.guest() as guest:
            plain = os.path.join(guest.workspace, "plain")
            with open(plain, "w") as file:
                file.write("not a program")
            self.assertEqual(126, guest.run("/tmp").code)
            self.assertEqual(126, guest.run(plain).code)
            os.chmod(plain, 0o755)
            result = guest.run(plain)
            self.assertEqual(126, result.code)
            self.assertIn(b"xec format", result.exited[33])

    def test_a_missing_directory_is_126_and_says_so(self):
        with self.guest() as guest:
            result = guest.run("true", cwd="/no/such")
            self.assertEqual(126, result.code)
            self.assertIn(b"working directory", result.exited[33])

    def test_the_program_is_looked_up_in_the_given_path(self):
        with self.guest() as guest:
            folder = os.path.join(guest.workspace, "bin")
            os.mkdir(folder)
            with open(os.path.join(folder, "greet"), "w") as file:
                file.write("#!/bin/sh\necho from $0")
            os.chmod(os.path.join(folder, "greet"), 0o755)
            self.assertEqual(127, guest.run("greet", env={"PATH": "/usr/bin:/bin"}).code)
            result = guest.run("greet", env={"PATH": f"/no/such:{folder}:/bin"})
            self.assertEqual(f"from {folder}/greet\n".encode(), bytes(result.out))
            self.assertEqual(0, guest.run("greet", env={"PATH": "/bin:"}, cwd=folder).code, "empty means here")
            self.assertEqual(0, guest.run("true", env={"A": "b"}).code, "without PATH there is a default")

    def test_the_given_environment_is_the_whole_one(self):
        with self.guest() as guest:
            result = guest.run("env", env={"PATH": "/usr/bin", "X": "a=b c", "EMPTY": ""})
            self.assertEqual({b"PATH=/usr/bin", b"X=a=b c", b"EMPTY="}, set(bytes(result.out).split(b"\n")[:-1]))

    def test_arguments_of_any_bytes_pass(self):
        with self.guest() as guest:
            result = guest.run("printf", "%s|", "", "a b", "\udcff\n'\"$x", "é")
            self.assertEqual(b"|a b|\xff\n'\"$x|\xc3\xa9|", bytes(result.out))
            long = "x" * 100000
            self.assertEqual(long.encode(), bytes(guest.run("printf", "%s", long).out))

    def test_it_starts_in_the_workspace_or_where_told(self):
        with self.guest() as guest:
            self.assertEqual(guest.workspace.encode() + b"\n", bytes(guest.run("pwd").out))
            self.assertEqual(b"/\n", bytes(guest.run("pwd", cwd="/").out))

    def test_nothing_of_the_guest_is_inherited(self):
        with self.guest() as guest:
            connections = [guest.connect() for _ in range(20)]
            result = guest.shell("ls /proc/self/fd; grep ^Sig /proc/self/status; umask; ulimit -c; ulimit -n")
            lines = result.out.decode().split()
            self.assertEqual(["0", "1", "2", "3"], lines[:4], "3 is the folder that ls reads")
            status = dict(zip(lines[4::2], lines[5::2]))
            self.assertEqual(("0" * 16,) * 2, (status["SigBlk:"], status["SigIgn:"]))
            self.assertEqual(["0022", "0"], lines[-3:-1])
            self.assertEqual(str(resource.getrlimit(resource.RLIMIT_NOFILE)[0]), lines[-1])
            for connection in connections:
                connection.close()

    def test_it_leads_a_session_of_its_own(self):
        with self.guest() as guest:
            pid, group, session = guest.shell("read -r a b c d e f g < /proc/self/stat; echo $$ $e $f").out.split()
            self.assertEqual((pid, pid), (group, session))

    def test_limits_are_set_before_it_runs(self):
        with self.guest() as guest:
            result = guest.run("bash", "-c", "ulimit -n; ulimit -u; ulimit -f; ulimit -c", nofile=77, nproc=1234, fsize=1024 * 9)
            self.assertEqual([b"77", b"1234", b"9", b"0"], bytes(result.out).split())
            limits = guest.run("grep", "core", "/proc/self/limits").out.decode().split()
            self.assertEqual(["1", "1", "bytes"], limits[-3:], "in the units of ulimit it is none")

    def test_the_command_is_the_first_to_go_when_memory_is_short(self):
        with self.guest() as guest, guest.start("sleep", "100") as connection:
            pid = number(connection.expect(STARTED)[11])
            self.wait(lambda: read(f"/proc/{pid}/oom_score_adj").strip() == "500")

    @unittest.skipIf(os.geteuid() != 0, "needs root to have two users")
    def test_it_runs_as_the_sandbox_user_without_groups(self):
        with self.guest(arguments=("--uid", "1234", "--gid", "1235")) as guest:
            os.chown(guest.workspace, 1234, 1235)
            result = guest.shell("id -u; id -g; id -G; grep CapEff /proc/self/status; touch x && stat -c %u:%g x")
            self.assertEqual(["1234", "1235", "1235", "CapEff:", "0" * 16, "1234:1235"], result.out.decode().split())
            self.assertEqual(b"77", bytes(guest.shell("printf %s $(id -u)", uid=77).out))
            for options in ({"uid": 0}, {"gid": 0}):
                self.assertEqual(b"denied", guest.shell("id", **options).error[10])
            os.chmod(guest.workspace, 0o700)
            os.chown(guest.workspace, 0, 0)
            self.assertEqual(126, guest.shell("id", cwd=guest.workspace).code, "the kernel checks the folder as that user")

    def test_without_an_id_of_its_own_another_user_is_refused(self):
        with self.guest() as guest:
            self.assertEqual(b"denied", guest.shell("id", uid=os.geteuid() + 1).error[10])
            self.assertEqual(0, guest.shell("id", uid=os.geteuid()).code)

    def test_bad_requests_are_refused_and_named(self):
        with self.guest() as guest:
            for payload, words in (
                (field(11, "true"), b"exec_id"),
                (field(10, "a b") + field(11, "true"), b"exec_id"),
                (field(10, "x" * 65) + field(11, "true"), b"exec_id"),
                (field(10, "x"), b"no arguments"),
                (field(10, "x") + field(11, b"a\0b"), b"NUL"),
                (field(10, "x") + field(11, "true") + field(19, -1), b"out of its range"),
                (field(10, "x") + field(11, "true") + field(24, (1 << 20) + 1), b"out of its range"),
                (field(10, "x") + field(11, "true") + field(16, b"1"), b"8 bytes"),
                (b"\x0a\xff\xff\xff\xff", b"do not fit"),
            ):
                kind, answer = guest.request(EXEC, payload)
                self.assertEqual((ERROR, b"bad_request"), (kind, answer[10]))
                self.assertIn(words, answer[11])

    def test_an_exec_id_is_used_once_at_a_time(self):
        with self.guest() as guest, guest.start("sleep", "100", exec_id="one") as first:
            first.expect(STARTED)
            self.assertEqual(b"exists", guest.run("true", exec_id="one").error[10])
            first.send(SIGNAL, field(10, 9))
            self.assertEqual(9, first.collect().signal)
            self.assertEqual(0, guest.run("true", exec_id="one").code)


class Streams(GuestTest):
    def test_without_the_flag_input_is_empty(self):
        with self.guest() as guest:
            self.assertEqual((b"", 0), (bytes(guest.run("cat").out), guest.run("cat").code))

    def test_input_passes_unchanged_and_ends(self):
        with self.guest() as guest:
            data = os.urandom(300000)
            self.assertEqual(data, bytes(guest.run("cat", input=data).out))

    def test_ten_megabytes_go_through_a_filter(self):
        with self.guest() as guest, guest.start("cat", stdin=1) as connection:
            data = os.urandom(1 << 20)

            def feed():
                for _ in range(10):
                    connection.send(DATA, data)
                connection.send(DATA_END)

            feeder = threading.Thread(target=feed)
            feeder.start()
            result = connection.collect()
            feeder.join()
            self.assertEqual(data * 10, bytes(result.out))

    def test_input_that_nobody_reads_stops_the_sender_not_the_guest(self):
        with self.guest() as guest, guest.start("sleep", "100", stdin=1, exec_id="deaf") as connection:
            connection.expect(STARTED)
            connection.socket.setblocking(False)
            sent = 0
            self.wait(lambda: time.monotonic() > self.begun + 60 or self.stuck(connection.socket))
            while True:
                try:
                    sent += connection.socket.send(frame(DATA, bytes(60000)))
                except BlockingIOError:
                    break
            self.assertLess(sent, 4 << 20)
            self.assertTrue(guest.answers())
            self.assertEqual(OK, guest.request(SIGNAL_EXEC, field(10, "deaf") + field(11, 15))[0])
            connection.socket.settimeout(TIMEOUT)
            result = connection.collect()
            self.assertEqual((15, 1), (result.signal, result.number(38)))

    def stuck(self, socket):
        try:
            socket.send(frame(DATA, bytes(60000)))
            return False
        except BlockingIOError:
            return True

    def test_a_program_that_closes_its_input_early_loses_only_input(self):
        with self.guest() as guest:
            result = guest.run("head", "-c", "3", input=b"abcdef" * 100000)
            self.assertEqual((b"abc", 0), (bytes(result.out), result.code))

    def test_hundred_megabytes_of_output_arrive(self):
        with self.guest() as guest, guest.start("head", "-c", "100000000", "/dev/zero") as connection:
            total, kinds = 0, set()
            while True:
                kind, payload = connection.receive()
                kinds.add(kind)
                if kind == EXITED:
                    break
                total += len(payload) if kind == STDOUT else 0
            self.assertEqual(({STARTED, STDOUT, EXITED}, 100000000), (kinds, total))

    def test_a_slow_reader_stalls_only_its_own_program(self):
        with self.guest() as guest, guest.start("sh", "-c", "yes | head -c 50000000; echo done >&2") as slow:
            slow.expect(STARTED)
            self.assertTrue(all(guest.run("echo", "x").code == 0 for _ in range(20)))
            self.assertLess(guest.memory(), 4 << 20 if self.static else 1 << 40)
            result = slow.collect()
            self.assertEqual((50000000, b"done\n", 0), (len(result.out), bytes(result.err), result.code))

    def test_output_before_the_end_is_never_lost_to_a_slow_reader(self):
        """Past the 100 ms that EXITED waits for the streams, what is in the pipe still counts."""
        with self.guest() as guest, guest.start("sh", "-c", "head -c 1000000 /dev/zero; sleep 100 & echo end") as connection:
            connection.expect(STARTED)
            time.sleep(0.4)
            result = connection.collect()
            self.assertEqual((1000004, 0, 1), (len(result.out), result.code, result.number(37)))

    def test_descendants_that_hold_the_streams_do_not_delay_the_end(self):
        with self.guest() as guest:
            begin = time.monotonic()
            result = guest.shell("(sleep 60; echo late) & echo $!")
            self.assertLess(time.monotonic() - begin, 30)
            self.assertEqual((0, True), (result.code, result.number(37) >= 1))
            self.assertTrue(alive(int(result.out)))

    def test_descendants_that_live_on_may_go_on_writing(self):
        with self.guest() as guest:
            mark = os.path.join(guest.workspace, "mark")
            guest.shell(f"(sleep 0.3; head -c 1000000 /dev/zero && echo well > {mark}) &")
            self.wait(lambda: os.path.exists(mark) and read(mark) == "well\n")

    def test_a_flood_from_a_descendant_does_not_hide_the_end(self):
        with self.guest() as guest:
            result = guest.shell("yes & exit 3")
            self.assertEqual((3, 1), (result.code, result.number(37)))

    def test_usage_is_told(self):
        with self.guest() as guest:
            result = guest.run("/usr/bin/python3", "-c", "x = bytearray(50 << 20); sum(range(3000000))")
            self.assertGreater(result.number(36), 50 << 20)
            self.assertGreater(result.number(35), 10000)
            self.assertGreaterEqual(result.number(34), result.number(35) // 4)


class Control(GuestTest):
    SCRIPT = """
import os
for i in range(200):
    os.write(1, b"o%d;" % i); os.write(2, b"e%d;" % i); os.write(4, b"c%d;" % i)
"""

    def test_control_bytes_come_after_the_output_written_before_them(self):
        with self.guest() as guest, guest.start("/usr/bin/python3", "-c", self.SCRIPT, control=1) as connection:
            out, err, seen = b"", b"", b""
            while True:
                kind, payload = connection.receive()
                if kind == STDOUT:
                    out += payload
                elif kind == STDERR:
                    err += payload
                elif kind == CONTROL_OUT:
                    seen += payload
                    last = seen.count(b";")
                    self.assertGreaterEqual(out.count(b";"), last)
                    self.assertGreaterEqual(err.count(b";"), last)
                elif kind == EXITED:
                    break
            self.assertEqual((200, 200, 200), (out.count(b";"), err.count(b";"), seen.count(b";")))

    def test_control_goes_both_ways_beside_the_streams(self):
        with self.guest() as guest, guest.start("sh", "-c", "cat <&3 >&4; echo over", control=1, stdin=1) as connection:
            data = os.urandom(200000)
            feeder = threading.Thread(target=lambda: [connection.send(CONTROL, data) for _ in range(5)])
            feeder.start()
            result = connection.collect(lambda partial: len(partial.control) == len(data) * 5)
            feeder.join()
            self.assertEqual(data * 5, bytes(result.control))

    def test_control_bytes_wait_for_the_next_listener(self):
        with self.guest() as guest:
            script = ("read -r line <&3; until [ -e unheard ]; do sleep 0.01; done; echo got $line >&4; touch answered; "
                      "read -r line <&3; exit 5")
            first = guest.start("sh", "-c", script, control=1, keep=1, retain=1000, exec_id="ctx")
            first.expect(STARTED)
            self.assertEqual(1, number(guest.list()[0][16]))
            first.send(CONTROL, b"hello\n")
            first.send(DETACH)
            self.assertIsNone(first.receive())
            self.assertEqual(0, guest.shell("touch unheard; until [ -e answered ]; do sleep 0.01; done").code)
            with guest.attach("ctx") as second:
                second.expect(STARTED)
                self.assertEqual(b"got hello\n", second.expect(CONTROL_OUT))
                second.send(CONTROL, b"bye\n")
                self.assertEqual(5, second.collect().code)

    def test_descendants_that_live_on_may_go_on_writing_to_the_control(self):
        with self.guest() as guest:
            mark = os.path.join(guest.workspace, "mark")
            script = (f"(until [ -e over ]; do sleep 0.01; done; for i in 1 2 3 4 5; do head -c 100000 /dev/zero >&4; done && echo well > {mark}; "
                      "sleep 0.3) & exit 3")
            result = guest.shell(script, control=1)
            self.assertEqual((3, b""), (result.code, bytes(result.control)))
            guest.shell("touch over")
            self.wait(lambda: os.path.exists(mark) and read(mark) == "well\n")
            self.wait(lambda: guest.live() == 0)


if __name__ == "__main__":
    unittest.main()
