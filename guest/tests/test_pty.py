"""Commands on a terminal."""

import os
import signal
import time
import unittest

from guestlib import *


class Terminal(GuestTest):
    def until(self, connection, text):
        result = connection.collect(lambda partial: text in partial.out)
        self.assertIn(text, bytes(result.out))
        return bytes(result.out)

    def test_all_three_streams_are_one_controlling_terminal(self):
        with self.guest() as guest:
            result = guest.shell("tty; tty <&1; tty <&2; stty size; echo err >&2; ps -o tty= -p $$ >/dev/null && : </dev/tty "
                                 "&& echo own", pty=1, rows=31, cols=117)
            lines = result.out.decode().split("\r\n")
            self.assertEqual(1, len(set(lines[:3])))
            self.assertRegex(lines[0], "^/dev/pts/[0-9]+$")
            self.assertEqual((["31 117", "err", "own", ""], 0), (lines[3:], result.code))
            self.assertNotIn(STDERR, result.order)

    def test_resize_is_seen_and_signalled(self):
        script = "trap 'stty size; exit 0' WINCH; echo ready; while :; do sleep 0.01; done"
        with self.guest() as guest, guest.start("bash", "-c", script, pty=1) as connection:
            self.until(connection, b"ready")
            connection.send(RESIZE, field(17, 50) + field(18, 132))
            result = connection.collect()
            self.assertEqual((b"50 132", 0), (bytes(result.out).strip(), result.code))

    def test_the_end_of_input_is_an_end_of_file(self):
        with self.guest() as guest:
            for text, expected in ((b"", b""), (b"line\n", b"line\r\nline\r\n"), (b"half", b"halfhalf")):
                with guest.start("cat", pty=1, stdin=1) as connection:
                    connection.expect(STARTED)
                    connection.send(DATA, text)
                    connection.send(DATA_END)
                    result = connection.collect()
                    self.assertEqual((expected, 0), (bytes(result.out).replace(b"^D\b\b", b""), result.code))

    def test_the_interrupt_character_interrupts(self):
        script = "import signal; signal.signal(signal.SIGINT, signal.SIG_DFL); print('ready', flush=True); signal.pause()"
        with self.guest() as guest, guest.start("/usr/bin/python3", "-c", script, pty=1, stdin=1) as connection:
            self.until(connection, b"ready")
            connection.send(DATA, b"\x03")
            self.assertEqual(2, connection.collect().signal)

    def test_a_signal_to_the_group_goes_to_the_foreground(self):
        """An interactive shell puts each job in a group of its own; the shell itself must survive."""
        with self.guest() as guest, guest.start("bash", "--norc", "-i", pty=1, stdin=1,
                                                env={"PATH": "/usr/bin:/bin", "PS1": "> "}) as connection:
            connection.send(DATA, b"echo $((40+2)); sleep 100; echo $?-after\n")
            self.until(connection, b"42")
            self.wait(lambda: b"sleep" in self.foreground(guest))
            connection.send(SIGNAL, field(10, signal.SIGTERM))
            self.until(connection, b"143-after")
            connection.send(DATA, b"exit 9\n")
            self.assertEqual(9, connection.collect().code)

    def foreground(self, guest):
        names = b""
        for keeper in children_of(guest.process.pid):
            for shell in children_of(keeper):
                for job in children_of(shell):
                    names += read(f"/proc/{job}/comm").encode()
        return names

    def test_much_output_comes_whole(self):
        with self.guest() as guest:
            result = guest.shell("stty -opost; seq 1 50000", pty=1)
            self.assertEqual(b"".join(b"%d\n" % n for n in range(1, 50001)), bytes(result.out))

    def test_a_slow_reader_loses_nothing_of_what_came_before_the_end(self):
        """Between the program and a reader that sleeps, more and more is held back until the program itself has to wait."""
        ended = 0
        with self.guest() as guest:
            for size in range(40000, 500000, 20000):
                script = f"stty -opost; yes | head -c {size}; exit 4"
                with guest.start("sh", "-c", script, pty=1, exec_id="slow") as connection:
                    pid = number(connection.expect(STARTED)[11])
                    # Little output is never held back, whatever the machine is busy with; much of it is, and tells by its time.
                    deadline = time.monotonic() + (0.3 if ended > 1 else 10)
                    while alive(pid) and time.monotonic() < deadline:
                        time.sleep(0.005)
                    waits = alive(pid)
                    if not waits:
                        ended += 1
                        time.sleep(0.15)  # longer than EXITED waits for streams that do not end
                    result = connection.collect()
                    self.assertEqual((size, 4), (len(result.out), result.code))
                    if waits:
                        break
        self.assertGreater(ended, 1)

    def test_its_end_hangs_up_the_terminal(self):
        with self.guest() as guest:
            result = guest.shell("sleep 1000 & echo $!", pty=1)
            self.assertEqual(0, result.code)
            pid = int(result.out)
            self.wait(lambda: not alive(pid) or guest.live() == 1)

    @unittest.skipIf(os.geteuid() != 0, "needs root to have two users")
    def test_the_terminal_belongs_to_the_user(self):
        with self.guest(arguments=("--uid", "1234", "--gid", "1235")) as guest:
            result = guest.shell("stat -c %u $(tty); : <$(tty) && echo open", pty=1, cwd="/")
            self.assertEqual([b"1234", b"open"], bytes(result.out).split())


if __name__ == "__main__":
    unittest.main()
