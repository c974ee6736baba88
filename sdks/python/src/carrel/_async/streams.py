"""Live events: read one at a time, and gone on with over broken connections."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Callable
from types import TracebackType
from typing import Any, Generic, Protocol, TypeVar

import httpx

from .._errors import CarrelError
from .._patience import Patience
from .._sse import EventParser, ServerEvent
from .._wire import Self
from ..events import CodeEvent, ExecEvent, ExecEvents, code_event
from ..generated.types import Event, ExecExited, ExecStarted, QueuedEvent, TerminalSize, WatchChange
from .platform import sleep
from .transport import AsyncTransport

E = TypeVar("E")


class Opening(Protocol):
    """Asks for the events after the one with this id; None: nothing came yet."""

    async def __call__(self, seen: int | None) -> httpx.Response: ...


class AsyncResumedEvents:
    """Events of something that outlives its connection. When that breaks, another one goes on after the last event that came."""

    def __init__(self, opening: Opening, *, last: str | None, resumable: bool, seen: int | None = None) -> None:
        self._opening, self._last, self._resumable, self._seen = opening, last, resumable, seen
        self._response: httpx.Response | None = None
        self._chunks: AsyncIterator[bytes] | None = None
        self._parser = EventParser()
        self._ready = deque[ServerEvent]()
        self._patience = Patience()
        self._started = self.over = self._closed = self._reading = False

    async def open(self) -> None:
        while self._response is None:
            try:
                self._response = await self._opening(self._seen)
                self._chunks, self._parser = self._response.aiter_bytes(), EventParser()
                self._ready.clear()
                self._reading = False
                self._patience.opened()
            except CarrelError as e:
                if not self._resumable or self._closed:
                    raise
                await sleep(self._patience.after(e))

    async def next(self) -> ServerEvent | None:
        """Waits for the next event; None after the last one."""
        while not self.over and not self._closed:
            try:
                await self.open()
                event = await self._read()
                if event is None and self._resumable:
                    raise CarrelError.of("unreachable", "the stream ended early")
                if event is None or self._is_new(event):
                    return event
            except CarrelError as e:
                await self._drop()
                if not self._resumable or self._closed:
                    # What was asked for is not asked for twice.
                    self.over = True
                    raise
                await sleep(self._patience.after(e))
        return None

    async def _read(self) -> ServerEvent | None:
        assert self._chunks is not None
        try:
            while not self._ready:
                if self._reading:
                    # Whoever gave up waiting ended the connection with it; that is no end of the events.
                    raise CarrelError.of("unreachable", "the wait for an event was given up, and its connection with it")
                self._reading = True
                chunk = await anext(self._chunks, None)
                self._reading = False
                if chunk is None:
                    return None
                self._ready.extend(self._parser.feed(chunk))
        except (httpx.TransportError, httpx.StreamError) as e:
            raise CarrelError.of("unreachable", f"the stream of events broke off: {e}") from e
        event = self._ready.popleft()
        if event.name == "failure":
            raise CarrelError.of_problem(0, event.json())
        return event

    def _is_new(self, event: ServerEvent) -> bool:
        self._patience.reset()
        self._seen = max(self._seen or 0, event.id) or self._seen
        self.over = event.name == self._last
        # Each connection to a command begins with the same word.
        repeated = self._started and event.name == "started"
        self._started = self._started or event.name == "started"
        return not repeated

    async def _drop(self) -> None:
        response, self._response, self._chunks = self._response, None, None
        if response is not None:
            await response.aclose()

    async def close(self) -> None:
        self._closed = True
        await self._drop()


class AsyncStream(Generic[E]):
    """Events as they come, for one reader: a context manager and an iterator. Leaving the block ends the following."""

    def __init__(self, events: AsyncResumedEvents, read: Callable[[ServerEvent], E]) -> None:
        self._events, self._read_event = events, read
        self._first = deque[E]()

    async def __aenter__(self) -> Self:
        await self._begin()
        return self

    async def _begin(self) -> None:
        await self._events.open()

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> E:
        event = self._first.popleft() if self._first else await self._next()
        if event is None:
            raise StopAsyncIteration
        return event

    async def _next(self) -> E | None:
        event = await self._events.next()
        return None if event is None else self._read_event(event)

    async def close(self) -> None:
        await self._events.close()


class AsyncCodeStream(AsyncStream[CodeEvent]):
    """Running code, event by event. Closing it early interrupts the code, unless it has an idempotency key."""

    def __init__(self, events: AsyncResumedEvents) -> None:
        super().__init__(events, code_event)


class AsyncEventStream(AsyncStream[Event]):
    """What happens to sandboxes, as it happens; goes on by itself after a broken connection."""

    def __init__(self, events: AsyncResumedEvents) -> None:
        super().__init__(events, lambda event: Event.from_wire(event.json()))


class AsyncFileWatch(AsyncStream[WatchChange]):
    """Changes below a directory as they happen. Once the block is entered nothing is missed."""

    def __init__(self, events: AsyncResumedEvents) -> None:
        super().__init__(events, lambda event: WatchChange.from_wire(event.json()))
        self._begun = False

    async def _begin(self) -> None:
        if not self._begun:
            self._begun = True
            if await self._events.next() is None:
                raise CarrelError.of("unreachable", "the watch ended before it began")

    async def _next(self) -> WatchChange | None:
        await self._begin()
        return await super()._next()


class AsyncExecStream(AsyncStream[ExecEvent]):
    """A command that is being followed. Closing it early kills the command, unless it runs in the background or has an
    idempotency key; then it is also followed over broken connections, and nothing is lost or comes twice."""

    def __init__(self, transport: AsyncTransport, sandbox_path: str, events: AsyncResumedEvents, id: str | None = None) -> None:
        super().__init__(events, ExecEvents().read)
        self._transport, self._sandbox_path, self._id = transport, sandbox_path, id
        self.exited: ExecExited | None = None
        """How it ended, once it has."""

    async def _begin(self) -> None:
        # Until the first event with the id, which every other call needs.
        while self._id is None:
            event = await self._next()
            if event is None:
                raise CarrelError.of("unreachable", "the stream ended before the command had an id")
            self._first.append(event)
            if not isinstance(event, QueuedEvent):
                break

    async def _next(self) -> ExecEvent | None:
        event = await super()._next()
        if isinstance(event, (ExecStarted, ExecExited)):
            self._id = event.id
        if isinstance(event, ExecExited):
            self.exited = event
        return event

    @property
    def id(self) -> str:
        if self._id is None:
            raise CarrelError.of("wrong_state", "the command has no id before the block is entered or the first event came")
        return self._id

    async def write(self, data: bytes | str, *, eof: bool = False) -> None:
        """Feeds standard input; returns when the sandbox has taken it."""
        content = data.encode() if isinstance(data, str) else data
        await self._transport.post(f"{self._path()}/stdin", content, {"eof": "true" if eof else None})

    async def close_stdin(self) -> None:
        await self.write(b"", eof=True)

    async def signal(self, name: str, scope: str = "group") -> None:
        """Sends a signal by name, for example `SIGINT`; scope is process, group or tree."""
        await self._transport.send("POST", f"{self._path()}/signal", {"signal": name, "scope": scope})

    async def kill(self) -> None:
        """Kills the command and everything it started."""
        await self.signal("SIGKILL", "tree")

    async def resize(self, rows: int, cols: int) -> None:
        """Tells the command's terminal its new size."""
        await self._transport.send("POST", f"{self._path()}/resize", TerminalSize(rows, cols))

    async def wait(self) -> ExecExited:
        """Reads on to the end and drops the output."""
        async for _ in self:
            pass
        if self.exited is None:
            raise CarrelError.of("unreachable", "the stream ended before the command did")
        return self.exited

    def _path(self) -> str:
        return f"{self._sandbox_path}/execs/{self.id}"


def sse(seen: int | None, key: str | None = None) -> dict[str, str]:
    headers = {"Accept": "text/event-stream"}
    if key is not None:
        headers["Idempotency-Key"] = key
    if seen is not None:
        headers["Last-Event-ID"] = str(seen)
    return headers


def following(
    transport: AsyncTransport,
    path: str,
    *,
    params: dict[str, Any] | None = None,
) -> AsyncResumedEvents:
    """Events by GET that end with their connection."""

    async def opening(seen: int | None) -> httpx.Response:
        return await transport.open("GET", path, headers=sse(seen), params=params)

    return AsyncResumedEvents(opening, last=None, resumable=False)


def news(transport: AsyncTransport, path: str, *, after: int | None, params: dict[str, Any] | None = None) -> AsyncEventStream:
    """Events of sandboxes. The place to go on from is asked for before the first one comes: a connection may break earlier."""
    begin = after

    async def opening(seen: int | None) -> httpx.Response:
        nonlocal begin
        if seen is None and begin is None:
            recent = (await transport.get("/api/v1/events", {"recent": 1}))["events"]
            begin = recent[0]["id"] if recent else None
        return await transport.open("GET", path, headers=sse(begin if seen is None else seen), params=params)

    return AsyncEventStream(AsyncResumedEvents(opening, last=None, resumable=True))


def running(transport: AsyncTransport, path: str, wire: Any, *, key: str | None, last: str) -> AsyncResumedEvents:
    """Events of something that this request starts, or with a key that came before, finds."""

    async def opening(seen: int | None) -> httpx.Response:
        return await transport.open("POST", path, wire, headers=sse(seen if key else None, key))

    return AsyncResumedEvents(opening, last=last, resumable=key is not None)
