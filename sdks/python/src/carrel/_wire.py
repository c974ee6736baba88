"""Between JSON and Python: times, what may be null, and paths that cannot lead elsewhere."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

from ._errors import CarrelError

if TYPE_CHECKING:
    from typing_extensions import Self as Self, Unpack as Unpack
else:
    # Annotations are never evaluated, so that Python 3.10 needs nothing more.
    Self = Unpack = Any

W = TypeVar("W")
T = TypeVar("T")

_NANOSECONDS = re.compile(r"\.(\d{1,9})")


def time(text: str) -> datetime:
    """RFC 3339 in UTC, with up to nine digits after the second; a datetime keeps six."""
    micros = _NANOSECONDS.sub(lambda m: "." + m[1][:6].ljust(6, "0"), text)
    return datetime.fromisoformat(micros.replace("Z", "+00:00"))


def optional(read: Callable[[W], T], wire: W | None) -> T | None:
    return None if wire is None else read(wire)


def segment(text: str, field: str) -> str:
    """One segment of a URL. HTTP clients resolve dots before they ask, so a dot must not get that far."""
    if text in ("", ".", ".."):
        raise CarrelError.of("invalid_input", f"{field}: {text!r} names nothing", field=field)
    return quote(text, safe="")


def file_path(path: str) -> str:
    """A file's path with each segment made safe; a leading slash stays."""
    if path == "" or any(part in (".", "..") for part in path.split("/")):
        raise CarrelError.of("invalid_input", f"path: no segment may be '.' or '..': {path!r}", field="path")
    return "/".join(quote(part, safe="") for part in path.split("/"))


def body(value: Any) -> Any:
    """What `json.dumps` cannot write by itself."""
    if hasattr(value, "to_wire"):
        return value.to_wire()
    raise TypeError(f"not expressible as JSON: {type(value).__name__}")
