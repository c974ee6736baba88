"""Replays the golden transcripts of spec/transcripts; their grammar is described in spec/kernel-protocol.md."""

import glob
import os

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FOLDER = os.path.join(ROOT, "spec", "transcripts")


class Step:
    def __init__(self, line):
        self.line = line
        self.code = []
        self.expected = []  # (key, value)
        self.interrupt_on = None
        self.silent = False

    def values(self, key):
        return [value for name, value in self.expected if name == key]


def parse(path):
    """(languages, steps) of a transcript."""
    languages, steps, step = [], [], None
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            line = line.rstrip("\n")
            if line.startswith("#") or not line:
                continue
            if line.startswith("languages:"):
                languages = line.split()[1:]
            elif line.startswith(">>>"):
                step = Step(number)
                steps.append(step)
                step.code.append(line[4:])
            elif line.startswith("..."):
                step.code.append(line[4:])
            else:
                key, colon, value = line.partition(":")
                if not colon or step is None:
                    raise ValueError("%s:%d: neither code nor expectation: %s" % (path, number, line))
                value = value[1:] if value.startswith(" ") else value
                if key == "interrupt-on":
                    step.interrupt_on = value
                elif key == "silent":
                    step.silent = True
                else:
                    step.expected.append((key, value))
    return languages, steps


def all_files():
    return sorted(glob.glob(os.path.join(FOLDER, "*.txt")))


def replay(kernel, steps, check):
    """Runs each step; `check(condition, message)` is told what does not fit."""
    for step in steps:
        on = step.interrupt_on.encode() if step.interrupt_on is not None else None
        outcome = kernel.run("\n".join(step.code), step.silent, on)
        compare(step, outcome, check)


def compare(step, outcome, check):
    where = "line %d: " % step.line
    known = {"stdout", "stderr", "result", "result-mime", "display", "error", "trace", "status"}
    unknown = {key for key, _ in step.expected} - known
    check(not unknown, where + "unknown expectation %s" % unknown)
    status = (step.values("status") or ["error" if step.values("error") else "ok"])[0]
    check(outcome.status == status, "%sstatus %s, not %s: %r" % (where, outcome.status, status, outcome))
    check(outcome.out.splitlines() == step.values("stdout"), "%sstdout was %r" % (where, outcome.out))
    for text in step.values("stderr"):
        check(text in outcome.err, "%sstderr was %r" % (where, outcome.err))
    if step.values("result"):
        check(outcome.text is not None and outcome.text.split("\n") == step.values("result"), "%sresult was %r" % (where, outcome.text))
    elif not step.values("result-mime"):
        check(outcome.result is None, "%sno result expected, got %r" % (where, outcome.text))
    for mime in step.values("result-mime"):
        check(outcome.result is not None and mime in outcome.result, "%sresult was %r" % (where, outcome.result))
    check(len(outcome.displays) == len(step.values("display")), "%sdisplays were %r" % (where, outcome.displays))
    for expected, shown in zip(step.values("display"), outcome.displays):
        mime, _, start = expected.partition(" ")
        check(mime in shown and shown[mime].startswith(start.encode()), "%sdisplay was %r" % (where, shown))
    errors = step.values("error")
    check(bool(errors) == (outcome.error is not None), "%serror was %r" % (where, outcome.error))
    if errors and outcome.error is not None:
        kind, _, message = errors[0].partition(" ")
        check(outcome.error.type == kind and message in outcome.error.message, "%serror was %r" % (where, outcome.error))
        for text in step.values("trace"):
            check(text in outcome.error.traceback, "%straceback was %s" % (where, outcome.error.traceback))
