"""How the asynchronous surface waits and reads files of this machine."""

import asyncio
from collections.abc import AsyncIterator
from os import PathLike
from pathlib import Path

from .._draft import draft

CHUNK = 256 * 1024

sleep = asyncio.sleep


async def chunks(source: "str | PathLike[str]") -> AsyncIterator[bytes]:
    with await asyncio.to_thread(Path(source).open, "rb") as file:
        while chunk := await asyncio.to_thread(file.read, CHUNK):
            yield chunk


async def save(target: "str | PathLike[str]", content: AsyncIterator[bytes]) -> None:
    with draft(target) as file:
        async for chunk in content:
            await asyncio.to_thread(file.write, chunk)
