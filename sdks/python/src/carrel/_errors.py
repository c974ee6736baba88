"""Failures of calls."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any


class CarrelError(Exception):
    """A call that failed: the server refused it, or could not be reached. The message is meant for people; match on the class or
    on `code`. A command or code that fails is a result, not an error."""

    def __init__(
        self,
        code: str,
        message: str,
        *,
        status: int = 0,
        hint: str | None = None,
        field: str | None = None,
        cause: str | None = None,
        request_id: str | None = None,
    ) -> None:
        super().__init__(message if hint is None else f"{message} ({hint})")
        self.code = code
        """As the server names it; `unreachable` when there was no answer or one that broke off."""
        self.message = message
        self.status = status
        """Of HTTP; 0 without an answer."""
        self.hint = hint
        """What to do about it."""
        self.field = field
        """The input at fault."""
        self.cause = cause
        """How a sandbox died."""
        self.request_id = request_id

    def __reduce__(self) -> tuple[Any, ...]:
        # Another process makes it anew from what it takes, which is more than what it says.
        names = ("status", "hint", "field", "cause", "request_id")
        return partial(type(self), **{name: getattr(self, name) for name in names}), (self.code, self.message)

    @staticmethod
    def of(code: str, message: str, **details: Any) -> CarrelError:
        """An error of the class for its code; of `CarrelError` itself when a newer server has a new code."""
        from .generated.errors import BY_CODE

        kind = Unreachable if code == "unreachable" else BY_CODE.get(code, CarrelError)
        return kind(code, message, **details)

    @staticmethod
    def of_problem(status: int, problem: Mapping[str, Any]) -> CarrelError:
        """From the server's `application/problem+json`."""
        return CarrelError.of(
            str(problem.get("code", "unknown")),
            str(problem.get("detail") or problem.get("title") or f"HTTP status {status}"),
            status=problem.get("status", status),
            hint=problem.get("hint"),
            field=problem.get("field"),
            cause=problem.get("cause"),
            request_id=problem.get("request_id"),
        )


class Unreachable(CarrelError):
    """No answer, or one that broke off."""
