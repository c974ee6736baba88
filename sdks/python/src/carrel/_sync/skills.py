# Written by sdks/generate.py from the file of this name in _async. Change that one.
"""What agents are taught."""

from __future__ import annotations

from os import PathLike, fspath
from pathlib import PurePath

from .._wire import file_path, segment
from ..generated.types import SkillDetails, SkillInfo
from .platform import chunks
from .transport import Transport


class Skills:
    """Folders with instructions, kept for you and given to sandboxes by `install_skills`."""

    _PATH = "/api/v1/skills"

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self) -> list[SkillInfo]:
        """By name, without their files."""
        return [SkillInfo.from_wire(one) for one in (self._transport.get(self._PATH))["skills"]]

    def get(self, skill: str) -> SkillDetails:
        """With its files; by its name or its id."""
        return SkillDetails.from_wire(self._transport.get(self._one(skill)))

    def upload(self, source: str | PathLike[str], content: bytes | None = None) -> SkillInfo:
        """Keeps a skill, or its next version: a `.zip`, `.skill` or `.md` of this machine, or what `content` has under that name."""
        sent = chunks(source) if content is None else content
        params = {"filename": PurePath(fspath(source)).name}
        return SkillInfo.from_wire(self._transport.post(f"{self._PATH}/upload", sent, params))

    def read(self, skill: str, path: str) -> bytes:
        """The bytes of one of its files."""
        response = self._transport.open("GET", f"{self._one(skill)}/files/{file_path(path)}")
        try:
            return b"".join([piece for piece in self._transport.pieces(response)])
        finally:
            response.close()

    def delete(self, skill: str) -> None:
        """Sandboxes keep what they have of it."""
        self._transport.send("DELETE", self._one(skill))

    def _one(self, skill: str) -> str:
        return f"{self._PATH}/{segment(skill, 'skill')}"
