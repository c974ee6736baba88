"""Runs every test there is and closes with `N passed, M failed`. Called by make test."""

import concurrent.futures
import glob
import os
import re
import subprocess
import sys
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
SLOW = 3.0
COUNTS = re.compile(r"^(\d+) passed, (\d+) failed$", re.MULTILINE)


def run(name, command, environment=None):
    """Returns (passed, failed) and prints what went wrong."""
    begin = time.monotonic()
    try:
        done = subprocess.run(command, cwd=os.path.dirname(HERE), env={**os.environ, **(environment or {})}, timeout=240,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        output, status = done.stdout, done.returncode
    except subprocess.TimeoutExpired as late:
        output, status = (late.stdout or b"").decode(errors="replace") + "\nno end after 240 seconds", 1
    counts = COUNTS.findall(output)
    passed, failed = (int(counts[-1][0]), int(counts[-1][1])) if counts else (0, 1)
    if status != 0 and failed == 0:
        failed = 1
    if failed:
        print(output)
    else:
        print("".join(line + "\n" for line in output.splitlines() if line.startswith(("slow: ", "skipped: "))), end="")
    print(f"{name}: {passed} passed, {failed} failed ({time.monotonic() - begin:.1f} s)", flush=True)
    return passed, failed


class Timed(unittest.TextTestResult):
    """Names the tests that take long."""

    def startTest(self, test):
        self.begin = time.monotonic()
        super().startTest(test)

    def stopTest(self, test):
        taken = time.monotonic() - self.begin
        if taken > SLOW:
            print(f"slow: {test.id()} {taken:.1f} s")
        super().stopTest(test)


def python_suite(module):
    """One module of unittest, in this process; prints the counts."""
    suite = unittest.defaultTestLoader.loadTestsFromName(module)
    result = unittest.TextTestRunner(verbosity=0, warnings="ignore", resultclass=Timed).run(suite)
    failed = len(result.failures) + len(result.errors)
    for test, reason in result.skipped:
        print(f"skipped: {test}: {reason}")
    print(f"{result.testsRun - failed - len(result.skipped)} passed, {failed} failed")
    return 1 if failed else 0


def in_memory(arguments):
    """Starts this program anew with a /tmp of its own in memory: quicker, and nothing can be left behind.
    A checkout below /tmp would be hidden by it, and is tested where it is."""
    mount = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs -o mode=1777 tmpfs /tmp && exec "$@"', "sh"]
    if os.geteuid() == 0 and subprocess.run([*mount, "test", "-e", os.path.abspath(__file__)], stderr=subprocess.DEVNULL, check=False).returncode == 0:
        os.execvp(mount[0], [*mount, sys.executable, __file__, "--here", *arguments])
    return main(*arguments)


def main(build):
    build = os.path.abspath(build)
    jobs = []
    for program in sorted(glob.glob(os.path.join(build, "test", "*_test"))):
        jobs.append((os.path.basename(program), [program], {"GUEST_BINARY": os.path.join(build, "guest")}))
    for binary in ("guest", "guest-sanitized"):
        for path in sorted(glob.glob(os.path.join(HERE, "test_*.py"))):
            module = os.path.basename(path)[:-3]
            jobs.append((f"{module} on {binary}", [sys.executable, __file__, "--suite", module],
                         {"GUEST_BINARY": os.path.join(build, binary), "PYTHONPATH": HERE}))
    jobs.append(("fuzz_frame", [os.path.join(build, "test", "fuzz_frame"), *FUZZ_ARGUMENTS.get(os.environ.get("FUZZER"), ["5"])],
                 None))
    # The longest are among the first. They mostly wait; two at a time is what two cores carry without disturbing the ones that look at the clock.
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda job: run(*job), jobs))
    passed, failed = (sum(column) for column in zip(*results))
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


FUZZ_ARGUMENTS = {"libfuzzer": ["-max_total_time=5", "-max_len=4096", "-seed=1", "-print_final_stats=0"]}

if __name__ == "__main__":
    roles = {"--suite": python_suite, "--here": main}
    role = roles.get(sys.argv[1])
    sys.exit(role(sys.argv[2]) if role else in_memory(sys.argv[1:]))
