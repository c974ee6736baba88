"""The same command through E2B's package and through Carrel's own, in turns."""

import statistics
import time

import carrel
from e2b import Sandbox

ROUNDS = 3
CALLS = 40


def timed(call):
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


with carrel.Sandbox.create() as own:
    theirs = Sandbox.create()
    try:
        pair = (lambda: own.exec(["true"]), lambda: theirs.commands.run("true"))
        ratios = []
        for _ in range(ROUNDS):
            for call in pair * 10:
                call()
            times = [[timed(call) for call in pair] for _ in range(CALLS)]
            native, e2b = (statistics.median(column) for column in zip(*times))
            ratios.append(e2b / native)
            print(f"own {native * 1e3:.2f} ms, E2B {e2b * 1e3:.2f} ms: {e2b / native:.2f}")
        # The best of some: what else the machine does in one of them is not ours.
        print(f"ratio {min(ratios):.2f}")
    finally:
        theirs.kill()
