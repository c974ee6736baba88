"""The asynchronous surface: the blocking one is written from it, so here is what is different."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

import carrel as sdk
from carrel import AsyncCarrel, AsyncSandbox, Output


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(work, 120))


def test_everything_is_awaited(tmp_path: Path) -> None:
    async def work() -> None:
        async with AsyncCarrel() as carrel, await AsyncSandbox.create(carrel, memory_mb=256) as sandbox:
            assert (await sandbox.exec("echo out")).stdout == "out\n"
            assert (await sandbox.run_code("6 * 7")).text == "42"
            async with sandbox.exec_stream("echo a; echo b") as process:
                assert "".join([event.text async for event in process if isinstance(event, Output)]) == "a\nb\n"
            async with sandbox.run_code_stream("print(1)") as stream:
                assert [type(event) async for event in stream][-1] is sdk.CodeDone
            await sandbox.files.write("d/f", "text")
            await sandbox.files.download("d/f", tmp_path / "f")
            await sandbox.files.upload(tmp_path / "f", "g")
            assert await sandbox.files.read_text("g") == "text"
            async with sandbox.files.watch("d") as watch:
                await sandbox.files.write("d/new", b"1")
                assert "new" in (await anext(watch)).path
        async with AsyncCarrel() as carrel:
            with pytest.raises(sdk.SandboxNotFound):
                await carrel.sandboxes.get(sandbox.id)

    run(work())


def test_many_run_at_once() -> None:
    async def work() -> None:
        async with await AsyncSandbox.create(memory_mb=256) as sandbox:
            # Each waits for the other, so one after the other would never end.
            both = asyncio.gather(
                sandbox.exec("touch a; until [ -e b ]; do sleep 0.05; done; echo first"),
                sandbox.exec("touch b; until [ -e a ]; do sleep 0.05; done; echo second"),
            )
            assert [result.stdout for result in await both] == ["first\n", "second\n"]

    run(work())


def test_an_event_that_was_not_waited_for_is_no_end() -> None:
    async def work() -> None:
        async with await AsyncSandbox.create(memory_mb=128) as sandbox, sandbox.files.watch() as watch:
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(anext(watch), 0.2)
            with pytest.raises(sdk.Unreachable):
                await anext(watch)

    run(work())


def test_who_stops_waiting_ends_the_command() -> None:
    async def work() -> None:
        async with await AsyncSandbox.create(memory_mb=128) as sandbox:
            waiting = asyncio.create_task(sandbox.exec("echo $$ > pid; sleep 600"))
            while not await sandbox.files.exists("pid"):
                await asyncio.sleep(0.05)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            while any(one.status == "running" for one in await sandbox.execs()):
                await asyncio.sleep(0.05)

    run(work())
