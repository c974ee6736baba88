"""Files of this machine that are there whole or not at all."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import BinaryIO


@contextmanager
def draft(target: str | PathLike[str]) -> Iterator[BinaryIO]:
    """A file beside its place, which it takes when all is written: a broken transfer leaves what was there."""
    # A link stays one: what it leads to is written.
    place = Path(target).resolve()
    if place.exists() and not place.is_file():
        # A device or a pipe, which must not be replaced by a file.
        with place.open("wb") as file:
            yield file
        return
    beside = place.with_name(f".carrel-{uuid.uuid4()}.part")
    try:
        with beside.open("xb") as file:
            yield file
        if place.exists():
            shutil.copymode(place, beside)
        beside.replace(place)
    finally:
        beside.unlink(missing_ok=True)
