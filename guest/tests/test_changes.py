"""The change report."""

import os
import signal
import time
import unittest

from guestlib import *

CREATED, MODIFIED, DELETED = 0, 1, 2


class Changes(GuestTest):
    def changes(self, guest, script, **options):
        result = guest.shell(script, changes=1, **options)
        self.assertEqual((0, b""), (result.code, bytes(result.err)))
        self.assertIsNone(result.number(39), "truncated")
        return result.changes

    def test_created_modified_deleted(self):
        with self.guest() as guest:
            self.assertEqual({"a": CREATED, "b": CREATED}, self.changes(guest, "echo 1 > a; echo 1 > b"))
            self.assertEqual({"a": MODIFIED, "b": DELETED}, self.changes(guest, "echo 2 >> a; rm b"))
            self.assertEqual({}, self.changes(guest, "cat a; ls -R; : < a"))
            self.assertEqual({}, self.changes(guest, "echo x > tmp; rm tmp; mkdir d; rmdir d"))
            self.assertEqual({"a": MODIFIED}, self.changes(guest, "rm a; echo 3 > a"))
            self.assertEqual({"a": MODIFIED}, self.changes(guest, ": > a"))

    def test_frames_carry_size_and_kind(self):
        with self.guest() as guest, guest.start("sh", "-c", "mkdir d; printf 12345 > d/f", changes=1) as connection:
            connection.expect(STARTED)
            folder, file = connection.expect(CHANGE), connection.expect(CHANGE)
            self.assertEqual((b"d", 1, False), (folder[40], number(folder[43]), 42 in folder))
            self.assertEqual((b"d/f", 0, 5), (file[40], number(file[43]), number(file[42])))
            connection.expect(EXITED)

    def test_an_overwrite_by_rename_is_a_modification(self):
        with self.guest() as guest:
            self.changes(guest, "echo 1 > a")
            self.assertEqual({"a": MODIFIED}, self.changes(guest, "echo 2 > .tmp; mv .tmp a"))

    def test_renames_of_files_and_trees(self):
        with self.guest() as guest:
            self.changes(guest, "mkdir -p d/e; echo 1 > d/e/f; echo 2 > g")
            self.assertEqual({"g": DELETED, "h": CREATED}, self.changes(guest, "mv g h"))
            self.assertEqual({"d": DELETED, "d/e": DELETED, "d/e/f": DELETED, "n": CREATED, "n/e": CREATED,
                              "n/e/f": CREATED}, self.changes(guest, "mv d n"))
            self.assertEqual({"n/e/f": MODIFIED}, self.changes(guest, "echo 3 > n/e/f"), "the moved tree is watched")
            self.assertEqual({"n/e/new": CREATED}, self.changes(guest, "echo 3 > n/e/new"))

    def test_deep_trees_made_at_once_are_seen_whole(self):
        with self.guest() as guest:
            script = "for i in 1 2 3 4 5 6 7 8 9; do mkdir -p t/$i/a/b/c; echo x > t/$i/a/b/c/f; done"
            changes = self.changes(guest, script)
            self.assertEqual({CREATED}, set(changes.values()))
            self.assertEqual(1 + 9 * 5, len(changes))
            self.assertEqual({DELETED}, set(self.changes(guest, "rm -r t").values()))

    def test_a_tree_moved_in_from_outside_is_seen_whole(self):
        with self.guest() as guest:
            outside = os.path.join(guest.folder, "outside")
            self.assertEqual({"in": CREATED, "in/x": CREATED, "in/x/f": CREATED},
                             self.changes(guest, f"mkdir -p {outside}/x; echo 1 > {outside}/x/f; mv {outside} in"))
            self.assertEqual({"in": DELETED, "in/x": DELETED, "in/x/f": DELETED}, self.changes(guest, f"mv in {outside}"))

    def test_what_was_there_before_the_first_command_is_known(self):
        with self.guest() as guest:
            os.makedirs(os.path.join(guest.workspace, "old/dir"))
            with open(os.path.join(guest.workspace, "old/dir/file"), "w") as file:
                file.write("x")
            self.assertEqual({"old/dir/file": MODIFIED, "old/dir/new": CREATED},
                             self.changes(guest, "echo y >> old/dir/file; touch old/dir/new"))

    def test_links_are_named_and_never_followed(self):
        with self.guest() as guest:
            outside = os.path.join(guest.folder, "outside")
            os.mkdir(outside)
            self.assertEqual({"link": CREATED}, self.changes(guest, f"ln -s {outside} link; echo 1 > link/f"))
            self.assertEqual({}, self.changes(guest, "echo 2 > link/g"))

    def test_a_file_becomes_a_directory(self):
        with self.guest() as guest:
            self.changes(guest, "echo 1 > a")
            self.assertEqual({"a": MODIFIED, "a/b": CREATED}, self.changes(guest, "rm a; mkdir a; touch a/b"))
            self.assertEqual({"a": MODIFIED, "a/b": DELETED}, self.changes(guest, "rm -r a; echo 1 > a"))

    def test_writes_through_a_mapping_count(self):
        with self.guest() as guest:
            self.changes(guest, "head -c 8192 /dev/zero > m")
            time.sleep(0.02)  # the clock of files moves in steps of some milliseconds
            script = "import mmap; f = open('m', 'r+b'); m = mmap.mmap(f.fileno(), 8192); m[0] = 7; m.close(); f.close()"
            self.assertEqual({"m": MODIFIED}, self.changes(guest, f'/usr/bin/python3 -c "{script}"'))
            time.sleep(0.02)
            self.assertEqual({}, self.changes(guest, "/usr/bin/python3 -c \"open('m', 'r+b').close()\""))

    def test_each_command_gets_what_happened_while_it_ran(self):
        with self.guest() as guest, guest.start("cat", changes=1, stdin=1) as long:
            long.expect(STARTED)
            self.assertEqual({"a": CREATED}, self.changes(guest, "echo 1 > a"))
            self.assertEqual({"a": MODIFIED}, self.changes(guest, "echo 2 > a"))
            self.assertEqual({"a": DELETED, "b": CREATED}, self.changes(guest, "mv a b"))
            long.send(DATA_END)
            self.assertEqual({"b": CREATED}, long.collect().changes)

    def test_a_detached_command_tells_the_one_who_attaches_later(self):
        with self.guest() as guest:
            guest.start("sh", "-c", "echo 1 > made", changes=1, keep=1, retain=10, exec_id="bg").close()
            self.wait(lambda: any(number(info[13]) == 0 for info in guest.list()))
            for _ in range(2):
                self.assertEqual({"made": CREATED}, guest.attach("bg", 0).collect().changes)

    def test_too_many_changes_are_cut_and_said_so(self):
        with self.guest() as guest:
            result = guest.run("/usr/bin/python3", "-c", "for i in range(12000): open('f%d' % i, 'w').close()", changes=1)
            self.assertEqual((0, 1), (result.code, result.number(39)))
            self.assertGreater(len(result.changes), 1000)
            self.assertEqual({"one": CREATED}, self.changes(guest, "echo > one"))

    def test_a_flood_of_events_is_survived_and_said(self):
        """More events than the kernel queues: created and deleted files are found by looking, and the loss is told."""
        with self.guest() as guest:
            self.changes(guest, "echo > old; echo > kept")
            script = ("import os\nfor i in range(30000):\n open('a', 'w').close(); os.rename('a', 'b'); os.remove('b')\n"
                      "os.remove('old'); open('last', 'w').close()")
            connection = guest.start("/usr/bin/python3", "-c", script, changes=1)
            connection.expect(STARTED)
            # Nobody fetches the events, however quick the guest is.
            os.kill(guest.process.pid, signal.SIGSTOP)
            self.wait(lambda: os.path.exists(os.path.join(guest.workspace, "last")), seconds=60.0)
            os.kill(guest.process.pid, signal.SIGCONT)
            result = connection.collect()
            self.assertEqual(({"old": DELETED, "last": CREATED}, 1), (result.changes, result.number(39)))
            self.assertEqual({"next": CREATED}, self.changes(guest, "echo > next"))

    def test_a_large_folder_that_is_renamed_is_told_whole(self):
        with self.guest() as guest:
            os.mkdir(os.path.join(guest.workspace, "a"))
            for i in range(4000):
                os.mknod(os.path.join(guest.workspace, "a", str(i)))
            changes = self.changes(guest, "mv a b")
            self.assertEqual((4001, 4001), tuple(sum(path.startswith(name) for path in changes) for name in "ab"))

    def test_a_large_folder_that_is_renamed_again_and_again_holds_nobody_up(self):
        """Each rename is every name below it to the guest; what is asked of it in between is answered all the same."""
        script = ("import os, time\nfor i in range(1000): os.rename('a', 'b'); os.rename('b', 'a')\n"
                  "open('done', 'w').close(); time.sleep(60)")
        with self.guest() as guest:
            os.mkdir(os.path.join(guest.workspace, "a"))
            for i in range(10000):
                os.mknod(os.path.join(guest.workspace, "a", str(i)))
            self.changes(guest, "true")
            with guest.start("/usr/bin/python3", "-c", script, changes=1, timeout_ms=1000) as connection:
                begin, longest = time.monotonic(), 0.0
                while not os.path.exists(os.path.join(guest.workspace, "done")) or time.monotonic() < begin + 0.5:
                    asked = time.monotonic()
                    self.assertTrue(guest.answers())
                    longest = max(longest, time.monotonic() - asked)
                result = connection.collect()
                self.assertEqual((1, 1), (result.number(32), result.number(39)))
                self.assertLess(time.monotonic() - begin, 4.0)
            self.assertLess(longest, 2.0)
            self.assertEqual({"a/0": MODIFIED, "a/new": CREATED}, self.changes(guest, "echo 1 > a/0; echo 1 > a/new"))

    def test_directories_too_deep_to_watch_are_told(self):
        with self.guest() as guest:
            script = "import os\nfor i in range(100): os.mkdir('d'); os.chdir('d')\nopen('f', 'w').close()"
            result = guest.run("/usr/bin/python3", "-c", script, changes=1)
            self.assertEqual((0, 1), (result.code, result.number(39)))

    @unittest.skipIf(os.geteuid() != 0, "needs root to have two users")
    def test_private_directories_of_the_user_are_watched(self):
        with self.guest(arguments=("--uid", "1234", "--gid", "1235")) as guest:
            os.chown(guest.workspace, 1234, 1235)
            os.chmod(guest.workspace, 0o700)
            self.assertEqual({"p": CREATED, "p/q": CREATED, "p/q/f": CREATED},
                             self.changes(guest, "umask 077; mkdir -p p/q; echo 1 > p/q/f"))
            self.assertEqual({"p/q/f": MODIFIED}, self.changes(guest, "echo 2 > p/q/f"))

    def test_the_cost_does_not_grow_with_unchanged_files(self):
        with self.guest() as guest:
            def processor():
                """Seconds that the guest had of it, whoever else wants it."""
                return int(read(f"/proc/{guest.process.pid}/schedstat").split()[0]) / 1e9

            def cost():
                times = []
                for _ in range(15):
                    begin = processor()
                    self.changes(guest, "echo x > one")
                    times.append(processor() - begin)
                return min(times)

            before = cost()
            self.changes(guest, "mkdir many; cd many; for d in 1 2 3 4 5 6 7 8; do mkdir $d; done; touch $(seq 1 3000)")
            os.makedirs(os.path.join(guest.workspace, "more"))
            for i in range(20000):
                os.mknod(os.path.join(guest.workspace, "more", str(i)))
            self.changes(guest, "true")
            self.assertLess(cost(), before * 3 + 0.002)


if __name__ == "__main__":
    unittest.main()
