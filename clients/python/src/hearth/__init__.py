"""Sessions of a hearth gateway: code that runs in a sandbox and keeps state.

    import hearth

    with hearth.session() as s:
        print(s.run("1 + 1").text)

hearth.aio is the same, to be awaited.
"""

from __future__ import annotations

import sys
from typing import Any

from hearth import aio, errors
from hearth._records import Event
from hearth._sync.files import Files
from hearth._sync.gateway import Gateway, attach, connect, session
from hearth._sync.packages import Packages
from hearth._sync.processes import Process, Processes
from hearth._sync.run import Run
from hearth._sync.session import Session
from hearth._sync.tools import Tools
from hearth._version import __version__
from hearth.errors import (
    BadRequest,
    CodeError,
    CodeFailed,
    CodeTimedOut,
    FetchCancelled,
    FetchRefused,
    FetchUnreachable,
    FileDenied,
    FileError,
    FileExists,
    FileNotFound,
    GatewayBusy,
    GatewayError,
    GatewayFailed,
    GatewayFull,
    GatewayNotFound,
    GatewayUnreachable,
    HearthError,
    IndexUnreachable,
    KeyConflict,
    NotPermitted,
    OutputUnknown,
    PackagesRefused,
    PathRefused,
    ProcessEnded,
    QueueFull,
    RunForgotten,
    RunRefused,
    SessionError,
    SessionGone,
    SessionUnknown,
    StateLost,
    TokenRefused,
    ToolsRemoved,
    WorkspaceFull,
)
from hearth.process_values import Finished, ProcessInfo, ProcessOutput
from hearth.values import (
    CellError,
    Changes,
    ClonedRepository,
    FetchedFile,
    FileInfo,
    Kept,
    Lost,
    ModelImage,
    ModelView,
    Output,
    Package,
    PackagesChanged,
    Result,
    SessionInfo,
    State,
)

__all__ = [
    "BadRequest",
    "CellError",
    "Changes",
    "ClonedRepository",
    "CodeError",
    "CodeFailed",
    "CodeTimedOut",
    "Event",
    "FetchCancelled",
    "FetchRefused",
    "FetchUnreachable",
    "FetchedFile",
    "FileDenied",
    "FileError",
    "FileExists",
    "FileInfo",
    "FileNotFound",
    "Files",
    "Finished",
    "Gateway",
    "GatewayBusy",
    "GatewayError",
    "GatewayFailed",
    "GatewayFull",
    "GatewayNotFound",
    "GatewayUnreachable",
    "HearthError",
    "IndexUnreachable",
    "Kept",
    "KeyConflict",
    "Lost",
    "ModelImage",
    "ModelView",
    "NotPermitted",
    "Output",
    "OutputUnknown",
    "Package",
    "Packages",
    "PackagesChanged",
    "PackagesRefused",
    "PathRefused",
    "Process",
    "ProcessEnded",
    "ProcessInfo",
    "ProcessOutput",
    "Processes",
    "QueueFull",
    "Result",
    "Run",
    "RunForgotten",
    "RunRefused",
    "Session",
    "SessionError",
    "SessionGone",
    "SessionInfo",
    "SessionUnknown",
    "State",
    "StateLost",
    "TokenRefused",
    "Tools",
    "ToolsRemoved",
    "WorkspaceFull",
    "__version__",
    "aio",
    "attach",
    "connect",
    "errors",
    "session",
]


def __getattr__(name: str) -> Any:
    """Within a session's kernel `from hearth import tools` means its host
    tools, also if this package is installed there."""
    kernel = sys.modules.get("hearth_kernel.tools")
    if kernel is not None and name in ("tools", "ToolError"):
        return getattr(kernel, name)
    raise AttributeError(f"module 'hearth' has no attribute {name!r}")
