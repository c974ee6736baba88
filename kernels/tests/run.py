"""Runs the tests of each language that is installed, two languages at a time, and says which are not."""

import concurrent.futures
import os
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True

import driver  # noqa: E402
import transcripts  # noqa: E402

# The slow ones first.
LANGUAGES = ("python", "r", "node", "bash")


class Transcript(unittest.TestCase):
    def __init__(self, language, path):
        super().__init__("replays")
        self.language = language
        self.path = path

    def replays(self):
        _, steps = transcripts.parse(self.path)
        self.assertTrue(steps, "an empty transcript")
        with driver.Kernel(self.language) as kernel:
            transcripts.replay(kernel, steps, lambda fits, message: self.assertTrue(fits, message))

    def __str__(self):
        return "%s replays %s" % (self.language, os.path.basename(self.path))


def run_language(language, verbose):
    """In a process of its own: tests of one language, then a line `passed failed`."""
    suite = unittest.TestSuite()
    for path in transcripts.all_files():
        if language in transcripts.parse(path)[0]:
            suite.addTest(Transcript(language, path))
    suite.addTests(unittest.defaultTestLoader.loadTestsFromName("test_" + language))
    result = unittest.TextTestRunner(verbosity=2 if verbose else 1).run(suite)
    bad = len(result.failures) + len(result.errors)
    for test, reason in result.skipped:
        print("NOT RUN: %s (%s)" % (test, reason), file=sys.stderr)
    print(result.testsRun - bad - len(result.skipped), bad)
    return 0 if result.wasSuccessful() else 1


def main(arguments):
    verbose = "-v" in arguments
    wanted = [name for name in arguments if name != "-v"] or list(LANGUAGES)
    absent = {name: driver.missing(name) for name in wanted if driver.missing(name)}
    present = [name for name in wanted if name not in absent]

    def start(name):
        command = [sys.executable, os.path.abspath(__file__), "--one", name] + ["-v"] * verbose
        return name, subprocess.run(command, capture_output=True, text=True, timeout=300)

    passed = failed = 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for name, run in pool.map(start, present):
            print("== %s\n%s" % (name, run.stderr.strip()))
            counts = run.stdout.strip().splitlines()[-1].split() if run.stdout.strip() else []
            if len(counts) != 2:
                counts = (0, 1)  # it did not even get to counting
                print(run.stdout)
            passed += int(counts[0])
            failed += int(counts[1])
    for name, reason in absent.items():
        print("NOT RUN: %s (%s)" % (name, reason))
    print("%d passed, %d failed; languages: %s" % (passed, failed, " ".join(present)))
    return 1 if failed or not present else 0


if __name__ == "__main__":
    if "--one" in sys.argv:
        sys.exit(run_language(sys.argv[sys.argv.index("--one") + 1], "-v" in sys.argv))
    sys.exit(main(sys.argv[1:]))
