"""What forks of one zygote must not share (carrel_kernel/unique.py), that they would share it, and what each has of its own."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

from driver import HERE, KERNELS

LIBRARY = os.path.join(HERE, "..", "..", "guest", "build", "preload", "heir.so")

FORKS = 20
PROGRAM = """
import ctypes, json, multiprocessing, os, random, sys, tempfile, uuid
sys.path.insert(0, sys.argv[1])
from carrel_kernel import unique
try:
    import numpy
except ImportError:
    numpy = None

# As modules make them while they are imported.
own = random.Random()
names = tempfile._get_candidate_names()
next(names)
uuid._node = 1
if numpy is not None:
    generator, state, twister = numpy.random.default_rng(), numpy.random.RandomState(), numpy.random.MT19937()
    numpy.random.standard_normal()  # makes two, and keeps one for the next time
    other = numpy.random.RandomState(numpy.random.PCG64())

generators = unique.remember()
for _ in range(int(sys.argv[3])):
    if ctypes.pythonapi.fork() == 0:  # as the zygote does
        if sys.argv[2] == "reseed":
            unique.reseed(generators)
        seen = {
            "random": random.random(),
            "a module's own": own.random(),
            "tempfile": next(tempfile._get_candidate_names()),
            "uuid's node": uuid._node or os.urandom(8).hex(),
            "multiprocessing": multiprocessing.current_process().authkey.hex(),
        }
        if numpy is not None:
            seen["numpy's stored"] = numpy.random.standard_normal()
            seen["numpy"] = numpy.random.random()
            seen["numpy's generator"] = generator.random()
            seen["numpy's state"] = state.random_sample()
            seen["numpy's state of another kind"] = other.random_sample()
            seen["numpy's twister"] = int(twister.random_raw())
        os.write(1, json.dumps(seen).encode() + b"\\n")
        os._exit(0)
    os.wait()
"""


PACKAGES = """
import os, site, sys
sys.path.insert(0, sys.argv[1])
homes = sys.argv[2:]
from carrel_kernel import imports, session, zygote
session.prepare_interpreter()
imports.complete_site()
site.ENABLE_USER_SITE = True
for home in homes:
    zygote.set_environment([b"HOME=" + os.fsencode(home)])
    zygote.follow_environment()
    print(home in os.environ.values(), sum(entry.startswith(home + "/") for entry in sys.path))
"""


class Unique(unittest.TestCase):
    def distinct(self, mode):
        """How many different values each source gave in all forks."""
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, os.path.join(KERNELS, "python"), mode, str(FORKS)],
            stdout=subprocess.PIPE,
            check=True,
            timeout=60,
        )
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual(len(rows), FORKS)
        return {source: len({row[source] for row in rows}) for source in rows[0]}

    def test_every_source_is_of_one_fork_alone(self):
        for source, values in self.distinct("reseed").items():
            self.assertEqual(values, FORKS, source)

    def test_without_it_all_would_be_shared(self):
        for source, count in self.distinct("leave").items():
            if source != "tempfile":  # Python looks at the pid, which here differs
                self.assertEqual(count, 1, source)

    def test_a_fork_has_its_own_home_and_the_packages_there(self):
        with tempfile.TemporaryDirectory() as with_packages, tempfile.TemporaryDirectory() as without:
            version = "python%d.%d" % sys.version_info[:2]
            os.makedirs(os.path.join(with_packages, ".local", "lib", version, "site-packages"))
            command = [sys.executable, "-S", "-c", PACKAGES, os.path.join(KERNELS, "python"), without, with_packages]
            done = subprocess.run(command, stdout=subprocess.PIPE, check=True, timeout=60, text=True)
        self.assertEqual(done.stdout, "True 0\nTrue 1\n")

    def test_a_fork_joins_nothing_unless_all_that_it_was_sent_came(self):
        # One stream that stands for five, two namespaces, rules and three groups. It ends before the first of them is written
        # to, or at a namespace that is none, with all groups written to.
        program = """if True:
            import array, os, resource, socket, sys
            sys.path.insert(0, sys.argv[1])
            from carrel_kernel import zygote
            case, library = sys.argv[2], zygote.load_library(sys.argv[3])
            here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            read, write = os.pipe()
            os.set_blocking(read, False)
            sent = [0] * 5 + [read] * 2 + [0] + [write] * 3
            values = ((11, b"uts ipc"), (12, (3).to_bytes(8, "little")), (13, (1).to_bytes(8, "little")))
            request = bytes(5) + b"".join(zygote.field(tag, value) for tag, value in values)
            if case == "fewer":
                del sent[-1]
            if case == "cut":
                resource.setrlimit(resource.RLIMIT_NOFILE, (max(here.fileno(), there.fileno(), read, write) + len(sent),) * 2)
            there.sendmsg([request], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", sent))])
            message, passed, whole = zygote.receive(here)
            request = zygote.fields(message)
            request.update({14: [bytes(8)], 15: [bytes(8)]})
            try:
                zygote.enter(request, passed, whole, {10: [b""]}, library)
            except OSError as failure:
                problem = str(failure)
            try:
                written = os.read(read, 9)
            except BlockingIOError:
                written = b""
            print(len(passed), whole, written, problem)
        """
        for case, outcome in (
            ("all", "11 True b'000' [Errno 22] Invalid argument (namespaces)\n"),
            ("fewer", "10 True b'' 10 of 11 descriptors came\n"),
            ("cut", "10 False b'' 10 of 11 descriptors came\n"),
        ):
            command = [sys.executable, "-c", program, os.path.join(KERNELS, "python"), case, LIBRARY]
            done = subprocess.run(command, stdout=subprocess.PIPE, check=True, timeout=60, text=True)
            self.assertEqual(done.stdout, outcome, case)

    def test_a_kernel_without_a_keeper_ends_before_it_runs_anything(self):
        program = """if True:
            import ctypes, os, sys
            sys.path.insert(0, sys.argv[1])
            from carrel_kernel import zygote
            library = zygote.load_library(sys.argv[2])
            zygote.KEEPER = sys.argv[3].encode()
            zygote.prctl(zygote.PR_SET_CHILD_SUBREAPER, 1)
            if zygote.fork() == 0:
                heritage = zygote.Heritage(library)
                gone, alive = os.pipe()
                alone, shared = os.pipe()
                heritage.pass_on(1, gone, alive)
                os.close(shared)
                os.read(alone, 1)
                heritage.settle(100, -1)
                os.write(1, b"kernel, ")
                os._exit(7)
            ends = sorted(os.waitstatus_to_exitcode(os.wait()[1]) for _ in range(2))
            print(ends)
        """
        for keeper, outcome in (("/usr/bin/true", "kernel, [0, 7]\n"), ("/none", "[-9, 127]\n")):
            command = [sys.executable, "-c", program, os.path.join(KERNELS, "python"), LIBRARY, keeper]
            done = subprocess.run(command, stdout=subprocess.PIPE, check=True, timeout=60, text=True)
            self.assertEqual(done.stdout, outcome, keeper)

    def test_what_a_first_cell_writes_to_is_copied_before_it(self):
        program = """if True:
            import gc, os, resource, sys
            sys.path.insert(0, sys.argv[1])
            from carrel_kernel import session, zygote
            gc.disable()
            heritage = zygote.Heritage(zygote.load_library(sys.argv[2]))
            zygote.prepare("plain")
            blocks = zygote.blocks_of_objects()
            heritage.pages = zygote.pages_of_first_cell(blocks, {10: [b""]}, [], heritage.library)
            for pages in (b"", heritage.pages):
                one = zygote.fork()
                if one == 0:
                    heritage.pages = pages
                    heritage.copy_ahead()
                    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
                    value = session.run("6 * 7")
                    faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
                    os.write(1, b"%d %d\\n" % (value, faults))
                    os._exit(0)
                os.waitpid(one, 0)
        """
        if tuple(map(int, os.uname().release.split("-")[0].split(".")[:2])) < (5, 14):
            self.skipTest("this kernel cannot copy pages ahead: it is older than 5.14")
        command = [sys.executable, "-S", "-c", program, os.path.join(KERNELS, "python"), LIBRARY]
        done = subprocess.run(command, stdout=subprocess.PIPE, check=True, timeout=60, text=True)
        (value, faults), (value_ahead, faults_ahead) = (map(int, line.split()) for line in done.stdout.splitlines())
        self.assertEqual((value, value_ahead), (42, 42))
        self.assertLess(2 * faults_ahead, faults)

    def test_cells_that_warmed_the_zygote_are_not_taken_for_those_of_a_fork(self):
        program = """if True:
            import os, sys
            sys.path.insert(0, sys.argv[1])
            from carrel_kernel import session, zygote
            zygote.prepare("plain")
            session.run("def first():\\n  return 'mine'")
            import inspect
            print(inspect.getsource(session.main.first))
        """
        command = [sys.executable, "-S", "-c", program, os.path.join(KERNELS, "python")]
        done = subprocess.run(command, stdout=subprocess.PIPE, check=True, timeout=60, text=True)
        self.assertIn("return 'mine'", done.stdout)
