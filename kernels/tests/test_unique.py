"""What forks of one zygote must not share (carrel_kernel/unique.py), and that they would share it."""

import json
import os
import subprocess
import sys
import unittest

from driver import KERNELS

FORKS = 20
PROGRAM = """
import json, multiprocessing, os, random, sys, tempfile, uuid
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
    generator, state = numpy.random.default_rng(), numpy.random.RandomState()

generators = unique.remember()
for _ in range(int(sys.argv[3])):
    if os.fork() == 0:
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
            seen["numpy"] = numpy.random.random()
            seen["numpy's generator"] = generator.random()
            seen["numpy's state"] = state.random_sample()
        os.write(1, json.dumps(seen).encode() + b"\\n")
        os._exit(0)
    os.wait()
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

    def test_without_it_all_but_what_python_does_itself_would_be_shared(self):
        values = self.distinct("leave")
        self.assertEqual(values.pop("random"), FORKS)
        for source, count in values.items():
            if source != "tempfile":  # Python looks at the pid, which here differs
                self.assertEqual(count, 1, source)
