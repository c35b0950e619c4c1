"""The asynchronous client: the same as `hearth`, to be awaited."""

from __future__ import annotations

from hearth._async.files import AsyncFiles
from hearth._async.gateway import AsyncGateway, attach, connect, session
from hearth._async.packages import AsyncPackages
from hearth._async.processes import AsyncProcess, AsyncProcesses
from hearth._async.run import AsyncRun
from hearth._async.session import AsyncSession
from hearth._async.tools import AsyncTools

__all__ = [
    "AsyncFiles",
    "AsyncGateway",
    "AsyncPackages",
    "AsyncProcess",
    "AsyncProcesses",
    "AsyncRun",
    "AsyncSession",
    "AsyncTools",
    "attach",
    "connect",
    "session",
]
