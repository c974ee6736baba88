"""The event loop behind top-level await: one for the life of the context, so tasks go on in later awaiting cells."""

import asyncio
import types
import warnings

_loop = None


def run(coroutine):
    """Runs a cell's coroutine to its end; an interrupt cancels it and lets its `finally` blocks run."""
    global _loop
    if _loop is None or _loop.is_closed():
        _loop = _current() or asyncio.new_event_loop()
    asyncio.set_event_loop(_loop)
    task = _loop.create_task(coroutine)
    try:
        return _loop.run_until_complete(task)
    except KeyboardInterrupt:
        if task.done():  # it struck in the cell's own code, and knows the place
            if not task.cancelled():
                task.exception()  # seen: it must not be reported again as "never retrieved"
            # One more turn: the end of the task may have asked the loop to stop, which must not hit the next cell.
            _loop.stop()
            _loop.run_forever()
            raise
        place = _place(coroutine)
        task.cancel()
        _loop.run_until_complete(asyncio.wait([task]))
        if not task.cancelled():
            task.exception()
        raise KeyboardInterrupt().with_traceback(place) from None


def _current():
    """The loop that earlier cells may have made tasks for, without awaiting anything."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            loop = asyncio.get_event_loop()
        except RuntimeError:
            return None
    return None if loop.is_closed() else loop


def _place(coroutine):
    """Where a suspended coroutine waits, as a traceback: the interrupt itself struck in the event loop."""
    frames = []
    while coroutine is not None and getattr(coroutine, "cr_frame", None) is not None:
        frames.append(coroutine.cr_frame)
        coroutine = coroutine.cr_await
    trace = None
    for frame in reversed(frames):
        trace = types.TracebackType(trace, frame, frame.f_lasti, frame.f_lineno)
    return trace
