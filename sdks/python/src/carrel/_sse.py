"""Server-sent events out of bytes, whoever reads them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from ._errors import CarrelError


class ServerEvent(NamedTuple):
    name: str
    data: str
    id: int

    def json(self) -> Any:
        try:
            return json.loads(self.data)
        except ValueError as e:
            raise CarrelError.of("unreachable", f"an event that is not JSON: {self.name}") from e


class EventParser:
    """Lines end at a line feed and nowhere else: JSON may hold any other separator of Unicode."""

    def __init__(self) -> None:
        self._rest = b""
        self._name, self._data, self._id = "message", list[str](), 0

    def feed(self, chunk: bytes) -> Iterator[ServerEvent]:
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        for line in lines:
            event = self._line(line.rstrip(b"\r").decode())
            if event is not None:
                yield event

    def _line(self, line: str) -> ServerEvent | None:
        name, _, value = line.partition(":")
        value = value[1:] if value.startswith(" ") else value
        if line == "":
            event = ServerEvent(self._name, "\n".join(self._data), self._id) if self._data else None
            self._name, self._data, self._id = "message", [], 0
            return event
        if name == "event":
            self._name = value
        elif name == "data":
            self._data.append(value)
        elif name == "id":
            self._id = int(value)
        return None
