# Written by sdks/generate.py from the file of this name in _async. Change that one.
"""Files on their way into a sandbox and out of it."""

from __future__ import annotations

from os import PathLike
from typing import Any

from .._wire import segment
from ..generated.types import ExportInfo, ExportResult, ImportResult, ImportSource
from .platform import chunks
from .transport import Transport


class Transfers:
    """Files on their way into one sandbox and out of it."""

    def __init__(self, transport: Transport, sandbox_path: str) -> None:
        self._transport, self._path = transport, sandbox_path

    def import_files(self, *files: ImportSource) -> ImportResult:
        """Brings files in, each for itself: `file_content`, `url`, `sandbox_id` with `path`, or `source` says from where."""
        return ImportResult.from_wire(self._transport.send("POST", f"{self._path}/imports", {"files": list(files)}))

    def upload(self, file: str | PathLike[str], destination: str, *, unpack: bool = False) -> ImportResult:
        """Uploads a file of this machine; with `unpack` the files of a zip or tar, to a folder."""
        params = {"path": destination, "unpack": "true" if unpack else "false"}
        return ImportResult.from_wire(self._transport.post(f"{self._path}/imports", chunks(file), params))

    def export(self, *paths: str, expires_in_seconds: int | None = None) -> ExportResult:
        """Lets files and folders out, with a link to each that anybody can fetch it by for a while."""
        wire: dict[str, Any] = {"paths": list(paths)}
        if expires_in_seconds is not None:
            wire["expires_in_seconds"] = expires_in_seconds
        return ExportResult.from_wire(self._transport.send("POST", f"{self._path}/exports", wire))

    def exports(self) -> list[ExportInfo]:
        """What may leave, by path."""
        return [ExportInfo.from_wire(one) for one in (self._transport.get(f"{self._path}/exports"))["items"]]

    def remove_export(self, id: str) -> None:
        """Takes an export back; its links are good for nothing then."""
        self._transport.send("DELETE", f"{self._path}/exports/{segment(id, 'id')}")
