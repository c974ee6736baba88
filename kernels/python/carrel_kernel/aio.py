"""The event loop behind top-level await: one for the life of the context, so tasks go on in later awaiting cells."""

import asyncio

_loop = None


def run(coroutine):
    """Runs a cell's coroutine to its end; an interrupt cancels it and lets its `finally` blocks run."""
    global _loop
    if _loop is None or _loop.is_closed():
        _loop = asyncio.new_event_loop()
    asyncio.set_event_loop(_loop)
    task = _loop.create_task(coroutine)
    try:
        return _loop.run_until_complete(task)
    except KeyboardInterrupt:
        if not task.done():
            task.cancel()
            _loop.run_until_complete(asyncio.wait([task]))
        if task.done() and not task.cancelled():
            task.exception()  # seen: it must not be reported again as "never retrieved"
        raise
