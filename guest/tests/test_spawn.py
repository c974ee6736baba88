"""The spawn server where its user has less than it would like: see spec/spawn-protocol.md."""

import os
import shutil
import subprocess
import tempfile
import unittest

from guestlib import *

HELLO, SPAWNED = 0x60, 0xE0
ALONE = ["unshare", "--user", "--map-root-user", "--mount"]
# Nothing of the host's control groups is for a test to change.
NONE_LEFT = 'mount -t tmpfs none /sys/fs/cgroup && echo 0 > /proc/sys/user/max_inotify_instances && exec "$@"'


@unittest.skipUnless(subprocess.run([*ALONE, "true"], stderr=subprocess.DEVNULL, check=False).returncode == 0, "no user namespaces here")
class WithoutInotify(GuestTest):
    def test_it_serves_and_still_goes_with_its_folder(self):
        folder = tempfile.mkdtemp(prefix="carrel-spawn-")
        path = os.path.join(folder, "spawn.sock")
        server = subprocess.Popen(
            [*ALONE, "sh", "-c", NONE_LEFT, "sh", os.path.abspath(self.binary), "spawn", "--run", folder, "--lib", "/nonexistent", "--foreground"],
            stdin=subprocess.DEVNULL, env={"ASAN_OPTIONS": "detect_leaks=0:abort_on_error=1", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"})
        try:
            self.wait(lambda: os.path.exists(path) or server.poll() is not None)
            with Connection(path) as connection:
                connection.send(HELLO)
                self.assertEqual(SPAWNED, connection.receive()[0])
                shutil.rmtree(folder)
                connection.send(HELLO)
                self.assertEqual(0, server.wait(TIMEOUT))
        finally:
            server.kill()
            server.wait()
            shutil.rmtree(folder, ignore_errors=True)
