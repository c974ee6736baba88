"""Settings that change while the server runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class SettingInfo:
    """A setting of the server that can change while it runs."""

    name: str
    value: Any
    """A number, a boolean or a string."""
    configured: Any
    """What it is without a change."""
    changed: bool
    """Whether an administrator changed it."""


def settings_of(wire: Mapping[str, Any]) -> list[SettingInfo]:
    return [
        SettingInfo(name, wire.get(name, configured), configured, name in wire["changed"])
        for name, configured in wire["configured"].items()
    ]
