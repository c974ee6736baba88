"""When to try again after a connection was lost, and when to give up."""

from __future__ import annotations

import time

from ._errors import CarrelError

FIRST, LONGEST, IN_ALL = 0.05, 2.0, 30.0


class Patience:
    def __init__(self) -> None:
        self._next, self._waited = FIRST, 0.0
        self._opened: float | None = None

    def opened(self) -> None:
        """There is a connection."""
        self._opened = time.monotonic()

    def after(self, failure: CarrelError) -> float:
        """How many seconds to wait; raises the failure when trying again is no use."""
        if self._opened is not None and time.monotonic() - self._opened > IN_ALL:
            # It held, though nothing may have come: the next one has all patience again.
            self.reset()
        self._opened = None
        if failure.code not in ("unreachable", "shutting_down") or self._waited > IN_ALL:
            raise failure
        delay, self._next = self._next, min(2 * self._next, LONGEST)
        self._waited += delay
        return delay

    def reset(self) -> None:
        """All is well again."""
        self._next, self._waited = FIRST, 0.0
