"""Errors as the user should see them: from their own code on, with its source lines."""

import linecache
import traceback

from . import imports, session

HERE = __file__.rpartition("/")[0] + "/"
MAX_MESSAGE = 64 * 1024
MAX_TRACEBACK = 256 * 1024


def describe(failure):
    """(type, message, traceback) of an exception, each of them bounded."""
    imports.publish_sources(linecache)
    report = traceback.TracebackException(type(failure), failure, failure.__traceback__)
    _leave_out_own_frames(report)
    _start_at_a_cell(report.stack)
    trace = "".join(report.format()).rstrip("\n")
    return session.type_name(type(failure)), _cut(_message(failure), MAX_MESSAGE), _cut(trace, MAX_TRACEBACK)


def _leave_out_own_frames(report):
    """The kernel's frames above the cell, and those of display() and input() below it, are not the user's."""
    waiting, seen = [report], set()
    while waiting:
        part = waiting.pop()
        if part is None or id(part) in seen:
            continue
        seen.add(id(part))
        if part.stack:
            part.stack[:] = [entry for entry in part.stack if not entry.filename.startswith(HERE)]
        waiting += [part.__cause__, part.__context__, *(getattr(part, "exceptions", None) or ())]


def _start_at_a_cell(stack):
    """The event loop's frames above an awaiting cell are not the user's either."""
    for place, entry in enumerate(stack or ()):
        if entry.filename.startswith("<cell "):
            del stack[:place]
            return


def _message(failure):
    try:
        if isinstance(failure, SyntaxError):
            return failure.msg or ""
        return str(failure)
    except Exception as second:
        return "(its text failed with %s)" % type(second).__name__


def _cut(text, limit):
    """Keeps both ends: the cause is at the end, the user's code at the start."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return "%s\n[... %d characters left out ...]\n%s" % (text[:half], len(text) - 2 * half, text[-half:])
