"""What commands and code report while they run."""

from __future__ import annotations

import base64
import codecs
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Union

from ._errors import CarrelError
from ._rich import notebook_bundle
from ._sse import ServerEvent
from .generated.types import CodeDone, CodeError, CodeGap, CodeStarted, ExecExited, ExecStarted, GapEvent, QueuedEvent

Channel = Literal["stdout", "stderr"]


@dataclass(frozen=True)
class Output:
    """Bytes as a command wrote them."""

    channel: Channel
    data: bytes
    next: int
    """The offset to resume from, with `Sandbox.attach`."""
    text: str
    """Whole characters: one that is split comes with its last byte."""


@dataclass(frozen=True)
class CodeOutput:
    """Text that code printed."""

    channel: Channel
    text: str


@dataclass(frozen=True)
class Display:
    """A figure or a display call, by MIME type; text types hold text, all others base64."""

    bundle: Mapping[str, str] = field(repr=False)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return notebook_bundle(self.bundle)


@dataclass(frozen=True)
class Result(Display):
    """The last expression's value."""


ExecEvent = Union[QueuedEvent, ExecStarted, Output, GapEvent, ExecExited]
"""In order: any queued, one started, any output and gap, one exited. A command that could not be started is an exited alone."""

CodeEvent = Union[QueuedEvent, CodeStarted, CodeOutput, Display, Result, CodeError, CodeGap, CodeDone]
"""In order: any queued, one started, any output, display and gap, at most one result and one error, one done."""


class ExecEvents:
    """Reads the events of one command."""

    def __init__(self) -> None:
        self._decoders: dict[str, codecs.IncrementalDecoder] = {}

    def read(self, event: ServerEvent) -> ExecEvent:
        wire = event.json()
        if event.name == "stdout" or event.name == "stderr":
            return self._output("stdout" if event.name == "stdout" else "stderr", base64.b64decode(wire["base64"]), event.id)
        if event.name == "started":
            return ExecStarted.from_wire(wire)
        if event.name == "queued":
            return QueuedEvent.from_wire(wire)
        if event.name == "gap":
            # What comes next does not end what came last.
            self._decoders.clear()
            return GapEvent.from_wire(wire)
        if event.name == "exited":
            return ExecExited.from_wire(wire)
        raise unknown(event)

    def _output(self, channel: Channel, data: bytes, next: int) -> Output:
        if channel not in self._decoders:
            self._decoders[channel] = codecs.getincrementaldecoder("utf-8")(errors="replace")
        return Output(channel, data, next, self._decoders[channel].decode(data))


def code_event(event: ServerEvent) -> CodeEvent:
    wire = event.json()
    if event.name == "stdout" or event.name == "stderr":
        return CodeOutput("stdout" if event.name == "stdout" else "stderr", wire["text"])
    if event.name == "display":
        return Display(wire)
    if event.name == "result":
        return Result(wire)
    readers: dict[str, Any] = {
        "started": CodeStarted.from_wire,
        "queued": QueuedEvent.from_wire,
        "gap": CodeGap.from_wire,
        "error": CodeError.from_wire,
        "done": CodeDone.from_wire,
    }
    if event.name not in readers:
        raise unknown(event)
    read: CodeEvent = readers[event.name](wire)
    return read


def unknown(event: ServerEvent) -> CarrelError:
    return CarrelError.of("unreachable", f"an event that this client does not know: {event.name}")
