"""Results that notebooks show as what they are: figures, tables, text."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping
from typing import Any, Protocol

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .generated.types import CodeError, DisplayOutput


def notebook_bundle(bundle: Mapping[str, str]) -> dict[str, Any]:
    """As Jupyter wants it: JSON types as values; text and base64 as they are."""
    shown: dict[str, Any] = {}
    for mime, data in bundle.items():
        is_json = mime == "application/json" or mime.endswith("+json")
        shown[mime] = json.loads(data) if is_json else data
    return shown


def as_html(bundle: Mapping[str, str]) -> str:
    """One output as a piece of a page, from its richest type that a page can hold."""
    for mime in ("text/html", "image/svg+xml"):
        if mime in bundle:
            return bundle[mime]
    for mime in ("image/png", "image/jpeg", "image/gif", "image/webp"):
        if mime in bundle:
            return f'<img src="data:{mime};base64,{bundle[mime]}"/>'
    text = bundle.get("text/plain") or next((data for mime, data in bundle.items() if mime.startswith("text/")), "")
    return f"<pre>{html.escape(text)}</pre>"


class _Display(Protocol):
    @property
    def type(self) -> str: ...
    @property
    def data(self) -> str: ...


class RichDisplay:
    """What a figure or a display call is to a notebook."""

    def _repr_mimebundle_(self: _Display, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return notebook_bundle({self.type: self.data})


class _Result(Protocol):
    @property
    def stdout(self) -> str: ...
    @property
    def stderr(self) -> str: ...
    @property
    def result(self) -> Mapping[str, str] | None: ...
    @property
    def display_outputs(self) -> list[DisplayOutput]: ...
    @property
    def error(self) -> CodeError | None: ...
    @property
    def text(self) -> str: ...


class RichResult:
    """What a run of code is to a notebook: its one output as it is, or all of them one below the other."""

    @property
    def text(self: _Result) -> str:
        """The last expression's value as text; empty when there is none."""
        return (self.result or {}).get("text/plain", "")

    def _repr_mimebundle_(self: _Result, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        outputs: list[Mapping[str, str]] = []
        printed = self.stdout + self.stderr
        if printed:
            outputs.append({"text/plain": printed})
        outputs += [{display.type: display.data} for display in self.display_outputs]
        if self.result:
            outputs.append(self.result)
        if self.error:
            outputs.append({"text/plain": self.error.traceback})
        if not outputs:
            return {"text/plain": ""}
        if len(outputs) == 1:
            return notebook_bundle(outputs[0])
        texts = [output.get("text/plain", "") for output in outputs]
        return {"text/plain": "\n".join(filter(None, texts)), "text/html": "\n".join(map(as_html, outputs))}
