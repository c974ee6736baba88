"""What agents are taught."""

from __future__ import annotations

from os import PathLike, fspath
from pathlib import PurePath

from .._wire import file_path, segment
from ..generated.types import SkillDetails, SkillInfo
from .platform import chunks
from .transport import AsyncTransport


class AsyncSkills:
    """Folders with instructions, kept for you and given to sandboxes by `install_skills`."""

    _PATH = "/api/v1/skills"

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def list(self) -> list[SkillInfo]:
        """By name, without their files."""
        return [SkillInfo.from_wire(one) for one in (await self._transport.get(self._PATH))["skills"]]

    async def get(self, skill: str) -> SkillDetails:
        """With its files; by its name or its id."""
        return SkillDetails.from_wire(await self._transport.get(self._one(skill)))

    async def upload(self, source: str | PathLike[str], content: bytes | None = None) -> SkillInfo:
        """Keeps a skill, or its next version: a `.zip`, `.skill` or `.md` of this machine, or what `content` has under that name."""
        sent = chunks(source) if content is None else content
        params = {"filename": PurePath(fspath(source)).name}
        return SkillInfo.from_wire(await self._transport.post(f"{self._PATH}/upload", sent, params))

    async def read(self, skill: str, path: str) -> bytes:
        """The bytes of one of its files."""
        response = await self._transport.open("GET", f"{self._one(skill)}/files/{file_path(path)}")
        try:
            return b"".join([piece async for piece in self._transport.pieces(response)])
        finally:
            await response.aclose()

    async def delete(self, skill: str) -> None:
        """Sandboxes keep what they have of it."""
        await self._transport.send("DELETE", self._one(skill))

    def _one(self, skill: str) -> str:
        return f"{self._PATH}/{segment(skill, 'skill')}"
