"""Carrel: run untrusted code in isolated sandboxes of your own server.

`Sandbox` and `Carrel` block; `AsyncSandbox` and `AsyncCarrel` are the same with `await`.
"""

from ._async.client import AsyncCarrel
from ._async.sandbox import AsyncSandbox
from ._async.streams import AsyncCodeStream, AsyncEventStream, AsyncExecStream, AsyncFileWatch
from ._errors import CarrelError, Unreachable
from ._listing import FileListing
from ._settings import SettingInfo
from ._sync.client import Carrel
from ._sync.sandbox import Sandbox
from ._sync.streams import CodeStream, EventStream, ExecStream, FileWatch
from .events import Channel, CodeEvent, CodeOutput, Display, ExecEvent, Output, Result
from .generated import errors, types
from .generated.errors import *  # noqa: F403
from .generated.types import *  # noqa: F403

__all__ = [
    "AsyncCarrel",
    "AsyncCodeStream",
    "AsyncEventStream",
    "AsyncExecStream",
    "AsyncFileWatch",
    "AsyncSandbox",
    "Carrel",
    "CarrelError",
    "Channel",
    "CodeEvent",
    "CodeOutput",
    "CodeStream",
    "Display",
    "EventStream",
    "ExecEvent",
    "ExecStream",
    "FileListing",
    "FileWatch",
    "Output",
    "Result",
    "Sandbox",
    "SettingInfo",
    "Unreachable",
]
__all__ += errors.__all__
__all__ += types.__all__

__version__ = "0.1.0"
