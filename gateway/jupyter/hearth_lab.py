"""What JupyterLab's server needs to show sessions that others started.

`hearth lab` names these classes on jupyter_server's command line. Without
them a server with a gateway shows only kernels that it started itself, and
ends them all when it ends.
"""

from __future__ import annotations

import asyncio
import json
import os
from typing import Any

from jupyter_server.gateway.gateway_client import gateway_request
from jupyter_server.gateway.managers import (
    GatewayMappingKernelManager,
    GatewaySessionManager,
)

# {"name.ipynb": a session's id}: what is connected from the start.
NOTEBOOKS = "HEARTH_LAB_NOTEBOOKS"


class Kernels(GatewayMappingKernelManager):
    """Every session of the gateway. Those that were there before are not this
    server's to end, unless a person says so."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._others: set[str] = set()

    async def list_kernels(self, **kwargs: Any) -> list[dict[str, Any]]:
        response = await gateway_request(self.kernels_url, method="GET")
        for model in json.loads(response.body):
            if model["id"] not in self._kernels:
                await self._adopt(model["id"])
        return await super().list_kernels(**kwargs)

    async def _adopt(self, kernel_id: str) -> None:
        manager = self.kernel_manager_factory(parent=self, log=self.log)
        await manager.start_kernel(kernel_id=kernel_id)
        # It may have gone, or been started here, while that was awaited.
        if manager.has_kernel and kernel_id not in self._kernels:
            self._others.add(kernel_id)
            self._kernels[kernel_id] = manager

    async def cull_kernel_if_idle(self, kernel_id: str) -> None:
        if kernel_id not in self._others:
            await super().cull_kernel_if_idle(kernel_id)

    async def shutdown_all(self, now: bool = False) -> None:
        for kernel_id in self._others:
            self.remove_kernel(kernel_id)
        await super().shutdown_all(now=now)


class Sessions(GatewaySessionManager):
    """Connects the notebooks that `hearth lab` wrote to their kernels."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._waiting = json.loads(os.environ.pop(NOTEBOOKS, "{}"))
        self._lock = asyncio.Lock()

    async def list_sessions(self) -> list[dict[str, Any]]:
        async with self._lock:
            if self._waiting:
                await self._connect()
        return await super().list_sessions()

    async def _connect(self) -> None:
        # Makes them known.
        await self.kernel_manager.list_kernels()
        for path, kernel_id in self._waiting.items():
            if kernel_id in self.kernel_manager:
                await self.create_session(
                    path=path, name=path, type="notebook", kernel_id=kernel_id
                )
        self._waiting = {}
