"""How the blocking surface waits and reads files of this machine."""

import time
from collections.abc import Iterator
from os import PathLike
from pathlib import Path

from .._draft import draft

CHUNK = 256 * 1024

sleep = time.sleep


def chunks(source: "str | PathLike[str]") -> Iterator[bytes]:
    with Path(source).open("rb") as file:
        while chunk := file.read(CHUNK):
            yield chunk


def save(target: "str | PathLike[str]", content: Iterator[bytes]) -> None:
    with draft(target) as file:
        for chunk in content:
            file.write(chunk)
