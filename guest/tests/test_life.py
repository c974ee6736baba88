"""Ends that somebody asked for: signals, timeouts, lost connections, shutdown; and execs that outlive their connection."""

import os
import signal
import time
import unittest

from guestlib import *

# A daemon as daemons are: forked twice, with a session of its own, deaf to polite signals.
DAEMON = """
import os, signal, sys, time
def note(name):
    with open(sys.argv[1] + "/" + name, "w") as file: file.write(str(os.getpid()))
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for number in (1, 2, 15): signal.signal(number, signal.SIG_IGN)
        note("daemon")
        time.sleep(1000)
    os._exit(0)
note("main")
time.sleep(1000)
"""
# Each process starts the next one in a new session and goes: no list of processes stays true for long. It ends by itself,
# for a storm that nobody stops would outlive the test.
STORM = """
import os, sys, time
end = time.monotonic() + 20
for _ in range(8):
    if os.fork() == 0:
        os.setsid()
        while time.monotonic() < end:
            if os.fork() != 0: os._exit(0)
        os._exit(0)
open(sys.argv[1] + "/storm", "w").write("x")
os.wait()
while time.monotonic() < end: pass
"""


class Killing(GuestTest):
    """Timeouts are long enough for a program to come so far as it must, also where others keep the processors busy."""

    def daemon(self, guest, **options):
        connection = guest.start("/usr/bin/python3", "-c", DAEMON, guest.workspace, **options)
        connection.expect(STARTED)
        files = [os.path.join(guest.workspace, name) for name in ("main", "daemon")]
        self.wait(lambda: all(os.path.exists(file) and read(file) for file in files))
        return connection, [int(read(file)) for file in files]

    def assertGone(self, pids):
        self.wait(lambda: not any(alive(pid) for pid in pids))

    def test_a_lost_connection_ends_the_whole_tree(self):
        with self.guest() as guest:
            connection, pids = self.daemon(guest)
            connection.close()
            self.assertGone(pids)
            self.wait(lambda: guest.live() == 0)

    def test_kill_reaches_a_daemon_that_left_the_group(self):
        with self.guest() as guest:
            connection, pids = self.daemon(guest)
            connection.send(SIGNAL, field(10, signal.SIGKILL) + field(11, TREE))
            result = connection.collect()
            self.assertEqual((9, 1, 0), (result.signal, result.number(38), result.number(37)))
            self.assertFalse(any(alive(pid) for pid in pids), "EXITED waits for the tree it was asked to kill")

    def test_a_signal_to_the_group_leaves_the_daemon_alone(self):
        with self.guest() as guest:
            connection, (main, daemon) = self.daemon(guest)
            connection.send(SIGNAL, field(10, signal.SIGTERM))
            result = connection.collect()
            self.assertEqual((15, 1, 1), (result.signal, result.number(38), result.number(37)))
            self.assertEqual((False, True), (alive(main), alive(daemon)))

    def test_the_rest_of_a_tree_can_be_killed_after_the_end(self):
        with self.guest() as guest:
            connection, (main, daemon) = self.daemon(guest, exec_id="rest", retain=100)
            connection.send(SIGNAL, field(10, signal.SIGTERM) + field(11, MAIN))
            self.assertEqual(1, connection.collect().number(37))
            self.assertTrue(alive(daemon))
            self.assertEqual(OK, guest.request(SIGNAL_EXEC, field(10, "rest") + field(11, 9) + field(12, TREE))[0])
            self.assertGone([daemon])

    def test_a_storm_of_forks_is_ended(self):
        with self.guest() as guest, guest.start("/usr/bin/python3", "-c", STORM, guest.workspace) as connection:
            self.wait(lambda: os.path.exists(os.path.join(guest.workspace, "storm")))
            connection.send(SIGNAL, field(10, signal.SIGKILL) + field(11, TREE))
            self.assertEqual(9, connection.collect().signal)
            self.wait(lambda: guest.live() == 0)
            self.wait(lambda: not children_of(guest.process.pid))

    def test_main_and_group_are_different_scopes(self):
        # Bash forgets a signal that comes before the handler of the last one has returned: `on` tells that it has.
        script = "trap 'echo main; m=1' USR1; (trap 'echo child' USR1; echo ready; while :; do sleep 0.01; done) & " \
                 "while :; do sleep 0.01; [ -z \"$m\" ] || { echo on; m=; }; done"
        with self.guest() as guest, guest.start("bash", "-c", script) as connection:
            connection.collect(lambda partial: b"ready" in partial.out)
            connection.send(SIGNAL, field(10, signal.SIGUSR1) + field(11, MAIN))
            result = connection.collect(lambda partial: b"on\n" in partial.out)
            self.assertEqual(b"main\non\n", bytes(result.out))
            connection.send(SIGNAL, field(10, signal.SIGUSR1) + field(11, GROUP))
            connection.collect(lambda partial: b"main" in partial.out and b"child" in partial.out)

    def test_a_timeout_asks_first_and_kills_after_the_grace(self):
        with self.guest() as guest:
            polite = guest.shell("trap 'echo bye; exit 4' TERM; echo hi; while :; do sleep 0.01; done", timeout_ms=1500,
                                 grace_ms=10000)
            self.assertEqual((b"hi\nbye\n", 4, 1), (bytes(polite.out), polite.code, polite.number(32)))
            begin = time.monotonic()
            deaf = guest.shell("trap '' TERM; echo hi; while :; do sleep 0.01; done", timeout_ms=1500, grace_ms=200)
            self.assertEqual((b"hi\n", 9, 1, 0), (bytes(deaf.out), deaf.signal, deaf.number(32), deaf.number(38)))
            self.assertGreater(time.monotonic() - begin, 1.7)

    def test_a_timeout_ends_what_stopped_itself(self):
        with self.guest() as guest:
            result = guest.shell("kill -STOP $$", timeout_ms=1000, grace_ms=100)
            self.assertEqual((9, 1), (result.signal, result.number(32)))

    def test_a_timeout_ends_descendants_too(self):
        with self.guest() as guest:
            connection, pids = self.daemon(guest, timeout_ms=2500, grace_ms=100)
            self.assertEqual(1, connection.collect().number(32))
            self.assertGone(pids)

    def test_a_murdered_keeper_takes_its_command_with_it(self):
        with self.guest() as guest:
            connection, pids = self.daemon(guest)
            keeper = int(read(f"/proc/{pids[0]}/stat").rsplit(")", 1)[1].split()[1])
            self.assertNotEqual(guest.process.pid, keeper)
            os.kill(keeper, signal.SIGKILL)
            self.assertEqual(9, connection.collect().signal)
            self.assertGone(pids)
            self.assertEqual(0, guest.shell("true").code)

    def test_a_stopped_keeper_does_not_stop_the_guest(self):
        with self.guest() as guest:
            connection, pids = self.daemon(guest)
            keeper = int(read(f"/proc/{pids[0]}/stat").rsplit(")", 1)[1].split()[1])
            os.kill(keeper, signal.SIGSTOP)
            for _ in range(2000):
                connection.send(SIGNAL, field(10, signal.SIGURG) + field(11, MAIN))
            self.assertEqual(0, guest.shell("true").code)
            connection.close()
            self.assertGone(pids)

    def test_a_timeout_ends_a_command_whose_keeper_is_stopped(self):
        with self.guest() as guest:
            connection, pids = self.daemon(guest, timeout_ms=2500, grace_ms=0)
            os.kill(int(read(f"/proc/{pids[0]}/stat").rsplit(")", 1)[1].split()[1]), signal.SIGSTOP)
            result = connection.collect()
            self.assertEqual((9, 1), (result.signal, result.number(32)))
            self.assertGone(pids)

    def test_a_timeout_is_reported_when_the_whole_tree_is_gone(self):
        script = "(trap '' TERM; echo $BASHPID > deaf; exec 1>&- 2>&-; while :; do sleep 0.1; done) & wait"
        with self.guest() as guest:
            result = guest.start("bash", "-c", script, timeout_ms=1500, grace_ms=700).collect()
            self.assertEqual((15, 1, 0), (result.signal, result.number(32), result.number(37)))
            self.assertFalse(alive(int(read(os.path.join(guest.workspace, "deaf")))))

    def test_a_shutdown_ends_a_command_whose_keeper_is_stopped(self):
        with self.guest() as guest:
            connection, pids = self.daemon(guest, keep=1)
            os.kill(int(read(f"/proc/{pids[0]}/stat").rsplit(")", 1)[1].split()[1]), signal.SIGSTOP)
            guest.request(SHUTDOWN, field(10, 100))
            self.assertEqual(0, guest.process.wait(TIMEOUT))
            self.assertFalse(any(alive(pid) for pid in pids))

    def test_a_reader_of_an_ended_exec_does_not_kill_what_lives_on(self):
        with self.guest() as guest:
            connection, (main, daemon) = self.daemon(guest, exec_id="rest", retain=100)
            connection.send(SIGNAL, field(10, signal.SIGTERM) + field(11, MAIN))
            connection.collect()
            for _ in range(3):
                guest.attach("rest", 0).close()
            self.assertTrue(guest.answers() and alive(daemon))


class Shutdown(GuestTest):
    def test_it_ends_everything_answers_and_goes(self):
        with self.guest() as guest:
            pids = [number(guest.start("sleep", "1000", keep=1).expect(STARTED)[11]) for _ in range(3)]
            deaf = guest.start("sh", "-c", "trap '' TERM; echo on; while :; do sleep 0.01; done", keep=1)
            pids.append(number(deaf.expect(STARTED)[11]))
            self.assertEqual(b"on\n", deaf.expect(STDOUT))
            kind, _ = guest.request(SHUTDOWN, field(10, 200))
            self.assertEqual((OK, 0), (kind, guest.process.wait(TIMEOUT)))
            self.assertFalse(any(alive(pid) for pid in pids))

    def test_nothing_is_started_meanwhile(self):
        with self.guest() as guest, guest.connect() as stopping:
            deaf = guest.start("sh", "-c", "trap '' TERM; echo on; while :; do sleep 0.01; done")
            deaf.expect(STARTED)
            deaf.expect(STDOUT)
            stopping.send(SHUTDOWN, field(10, 500))
            self.wait(lambda: guest.run("true").error is not None)
            self.assertEqual(b"busy", guest.run("true").error[10])
            stopping.expect(OK)
            self.assertEqual((9, 1), (deaf.collect().signal, 1))

    def test_term_means_shutdown_where_the_guest_is_not_pid_1(self):
        with self.guest() as guest:
            pid = number(guest.start("sleep", "1000", keep=1).expect(STARTED)[11])
            guest.process.terminate()
            self.assertEqual(0, guest.process.wait(TIMEOUT))
            self.assertFalse(alive(pid))
            self.assertFalse(os.path.exists(guest.path))

    def test_when_the_guest_is_killed_its_trees_go_too(self):
        with self.guest() as guest:
            pid = number(guest.start("sh", "-c", "setsid sleep 1000 & sleep 1000", keep=1).expect(STARTED)[11])
            guest.process.kill()
            self.wait(lambda: not alive(pid))


class Attaching(GuestTest):
    def kept(self, guest, script, exec_id="bg", retain=100000, **options):
        """Starts a detached exec."""
        with guest.start("sh", "-c", script, exec_id=exec_id, keep=1, retain=retain, **options) as connection:
            connection.expect(STARTED)

    def ended(self, guest, exec_id="bg"):
        return lambda: any(info[10] == exec_id.encode() and number(info[13]) == 0 for info in guest.list())

    def test_output_is_replayed_from_any_offset(self):
        with self.guest() as guest:
            self.kept(guest, "printf abcghi; printf DEF >&2; exit 6")
            self.wait(self.ended(guest))
            whole = guest.attach("bg", 0).collect()
            self.assertEqual((b"abcghi", b"DEF", 6), (bytes(whole.out), bytes(whole.err), whole.code))
            for start in range(10):
                part = guest.attach("bg", start).collect()
                self.assertEqual((9 - start, start), (len(part.out) + len(part.err), number(part.started[12])))
                self.assertTrue(b"abcghi".endswith(part.out) and b"DEF".endswith(part.err))
            self.assertEqual([STARTED, EXITED], guest.attach("bg").collect().order)
            self.assertEqual([STARTED, EXITED], guest.attach("bg", 10 ** 9).collect().order)

    def test_lost_bytes_are_told(self):
        with self.guest() as guest:
            self.kept(guest, "seq 1 100000", retain=1000)
            self.wait(self.ended(guest))
            total = sum(len(str(n)) + 1 for n in range(1, 100001))
            result = guest.attach("bg", 0).collect()
            self.assertEqual((total - 1000, 1000), (result.gap, len(result.out)))
            self.assertTrue(result.out.endswith(b"\n99999\n100000\n"))
            self.assertEqual((total, total - 1000), tuple(number(guest.list()[0][tag]) for tag in (12, 14)))

    def test_a_replay_flows_into_live_output(self):
        with self.guest() as guest:
            self.kept(guest, "echo one; read -r line; echo $line; cat", stdin=1)
            self.wait(lambda: number(guest.list()[0][12]) == 4)
            with guest.attach("bg", 0) as connection:
                self.assertEqual(b"one\n", bytes(connection.collect(lambda partial: len(partial.out) == 4).out))
                self.assertEqual(1, number(guest.list()[0][15]))
                self.assertEqual(b"busy", guest.attach("bg", 0).collect().error[10])
                connection.send(DATA, b"two\n")
                self.assertEqual(b"two\n", bytes(connection.collect(lambda partial: len(partial.out) == 4).out))
            self.wait(lambda: number(guest.list()[0][15]) == 0)
            with guest.attach("bg", 4) as connection:
                connection.send(DATA, b"three")
                connection.send(DATA_END)
                result = connection.collect()
                self.assertEqual((b"two\nthree", 0), (bytes(result.out), result.code))

    def test_an_attached_reader_that_is_slow_stops_the_program(self):
        with self.guest() as guest:
            self.kept(guest, "read -r go; seq 1 1000000", stdin=1, retain=1 << 20)
            with guest.attach("bg", 0) as connection:
                connection.send(DATA, b"go\n")
                self.wait(lambda: number(guest.list()[0][12]) > 100000)
                self.assertEqual(1, number(guest.list()[0][13]), "it cannot have ended: nobody has read its output")
                result = connection.collect()
                self.assertEqual((6888896, None), (len(result.out), result.gap))

    def test_input_sent_before_the_connection_went_still_arrives(self):
        with self.guest() as guest:
            connection = guest.start("sh", "-c", "sleep 0.3; cksum", exec_id="bg", keep=1, retain=100, stdin=1)
            connection.send(DATA, bytes(150000))
            connection.send(DATA_END)
            connection.close()
            self.wait(self.ended(guest))
            self.assertIn(b" 150000\n", bytes(guest.attach("bg", 0).collect().out))

    def test_detach_keeps_a_command_that_was_not_kept(self):
        with self.guest() as guest:
            connection = guest.start("sh", "-c", "cat; echo end", exec_id="bg", stdin=1, retain=100)
            connection.expect(STARTED)
            connection.send(DETACH)
            self.assertIsNone(connection.receive())
            with guest.attach("bg", 0) as again:
                again.send(DATA_END)
                self.assertEqual(b"end\n", bytes(again.collect().out))

    def test_ended_execs_stay_until_forgotten(self):
        with self.guest() as guest:
            self.kept(guest, "exit 3")
            self.wait(self.ended(guest))
            info = guest.list()[0]
            self.assertEqual((3, 0), (number(info[30]), number(info[13])))
            self.assertEqual(OK, guest.request(FORGET, field(10, "bg"))[0])
            for kind in (FORGET, ATTACH, SIGNAL_EXEC):
                self.assertEqual(b"not_found", guest.request(kind, field(10, "bg"))[1][10])
            self.kept(guest, "sleep 100")
            self.assertEqual(b"busy", guest.request(FORGET, field(10, "bg"))[1][10])

    def test_without_retain_an_ended_exec_is_gone(self):
        with self.guest() as guest:
            guest.shell("true", exec_id="plain")
            self.assertEqual([], guest.list())
            self.assertEqual(b"not_found", guest.attach("plain").collect().error[10])

    def test_only_the_newest_64_ended_execs_stay(self):
        with self.guest() as guest:
            for i in range(70):
                guest.shell(f"echo {i}", exec_id=f"r{i}", retain=10)
            names = {info[10].decode() for info in guest.list()}
            self.assertEqual({f"r{i}" for i in range(6, 70)}, names)
            self.assertEqual(b"69\n", bytes(guest.attach("r69", 0).collect().out))


if __name__ == "__main__":
    unittest.main()
