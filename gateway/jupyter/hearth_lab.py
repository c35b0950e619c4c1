"""Classes by which JupyterLab's server shows sessions that others started.

`hearth lab` names this module and its classes on jupyter_server's command
line. Without them a server with a gateway shows only kernels that it started
itself, and ends them all when it ends. Nor would it let a notebook follow what
others run (hearth-follow/static/follow.js). Messages between a page and a
kernel go through hearth_channels.py, those between a page and a terminal
through hearth_terminals.py.
"""

from __future__ import annotations

import asyncio
import json
import os
from datetime import datetime
from typing import Any, Optional
from urllib.parse import quote, urlencode

import hearth_control
import hearth_terminals
from hearth_control import gateways_words
from jupyter_server.auth.decorator import authorized
from jupyter_server.base.handlers import APIHandler
from jupyter_server.gateway.gateway_client import (
    GatewayClient,
    gateway_request,
)
from jupyter_server.gateway.managers import (
    GatewayMappingKernelManager,
    GatewaySessionManager,
)
from jupyter_server.services.contents.largefilemanager import (
    AsyncLargeFileManager,
)
from tornado import web
from tornado.httpclient import HTTPClientError, HTTPRequest
from tornado.ioloop import IOLoop
from tornado.simple_httpclient import SimpleAsyncHTTPClient

# {"name.ipynb": a session's id}: what is connected from the start.
NOTEBOOKS = "HEARTH_LAB_NOTEBOOKS"


def print_address(app: Any) -> None:
    """Print the one line that a person needs of the server's log.

    Jupyter hides a token that it did not make itself.
    """
    address = str(app.public_url).partition("?")[0]
    token = app.identity_provider.token
    query = f"?{urlencode({'token': token})}" if token else ""
    print(f"JupyterLab: {address}{query}", flush=True)


def offer_terminals(app: Any) -> None:
    """Have the page offer terminals, which jupyter_server hides because its own
    are off."""
    app.web_app.settings["terminals_available"] = True


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

    async def interrupt_kernel(self, kernel_id: str, **kwargs: Any) -> None:
        with gateways_words():
            await super().interrupt_kernel(kernel_id, **kwargs)

    async def restart_kernel(
        self, kernel_id: str, now: bool = False, **kwargs: Any
    ) -> None:
        with gateways_words():
            await super().restart_kernel(kernel_id, now, **kwargs)

    async def shutdown_kernel(
        self, kernel_id: str, now: bool = False, restart: bool = False
    ) -> None:
        with gateways_words():
            await super().shutdown_kernel(kernel_id, now, restart)

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
        # The session that JupyterLab was opened for, if it was one.
        shown = list(self._waiting.values())
        self.opened = shown[0] if len(shown) == 1 else None
        self._lock = asyncio.Lock()
        # Once the server listens: its port and its page are known then.
        IOLoop.current().add_callback(print_address, self.parent)
        # Once all extensions are loaded, which have a say in it.
        IOLoop.current().add_callback(offer_terminals, self.parent)

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

    async def create_session(
        self,
        path: Optional[str] = None,
        name: Optional[str] = None,
        type: Optional[str] = None,
        kernel_name: Optional[str] = None,
        kernel_id: Optional[str] = None,
    ) -> dict[str, Any]:
        """A live session's recording is opened on that session. JupyterLab
        makes the path unique; the name is the file's."""
        if path and is_recording(path) and not kernel_id:
            file = name or path.rpartition("/")[2]
            recorded = file.removesuffix(".ipynb")
            await self.kernel_manager.list_kernels()
            if recorded in self.kernel_manager:
                kernel_id = recorded
        elif kernel_id and kernel_id not in self.kernel_manager:
            # A session that was revived: jupyter_server would start another.
            await self.kernel_manager.list_kernels()
            if kernel_id not in self.kernel_manager:
                raise web.HTTPError(404, f"there is no session {kernel_id}")
        model: dict[str, Any] = await super().create_session(
            path, name, type, kernel_name, kernel_id
        )
        return model


RECORDINGS = "recordings"


def is_recording(path: str) -> bool:
    return path.strip("/").split("/")[0] == RECORDINGS


class Contents(AsyncLargeFileManager):
    """The folder of `hearth lab`, and in it one of the gateway's: the recorded
    notebooks of all sessions, as they are now. They are read-only."""

    async def get(
        self,
        path: str,
        content: bool = True,
        type: Optional[str] = None,
        format: Optional[str] = None,
        require_hash: bool = False,
    ) -> dict[str, Any]:
        if is_recording(path):
            query = f"content={int(content)}&hash={int(require_hash)}"
            return await self._ask(path.strip("/"), query)
        model: dict[str, Any] = await super().get(
            path, content, type, format, require_hash
        )
        if content and not path.strip("/") and model["type"] == "directory":
            model["content"].append(await self._ask(RECORDINGS, "content=0"))
        return model

    async def _ask(self, path: str, query: str) -> dict[str, Any]:
        url = f"{GatewayClient.instance().url}/api/contents/{quote(path)}"
        try:
            response = await gateway_request(f"{url}?{query}", method="GET")
        except web.HTTPError as error:
            # Said of a gateway that is away: 500 and more.
            raise web.HTTPError(error.status_code, error.log_message) from error
        model: dict[str, Any] = json.loads(response.body)
        # In the answer's headers it is no text.
        model["last_modified"] = datetime.fromisoformat(
            model["last_modified"].replace("Z", "+00:00")
        )
        return model

    async def _is(self, path: str, wanted: str) -> bool:
        try:
            model = await self._ask(path.strip("/"), "content=0")
        except web.HTTPError as error:
            if error.status_code != 404:
                raise
            return False
        return (model["type"] == "directory") == (wanted == "directory")

    async def dir_exists(self, path: str) -> bool:
        if is_recording(path):
            return await self._is(path, "directory")
        return bool(await super().dir_exists(path))

    async def file_exists(self, path: str) -> bool:
        if is_recording(path):
            return await self._is(path, "file")
        return bool(await super().file_exists(path))

    async def is_hidden(self, path: str) -> bool:
        return not is_recording(path) and bool(await super().is_hidden(path))

    async def save(self, model: dict[str, Any], path: str = "") -> Any:
        refuse_recording(path)
        return await super().save(model, path)

    async def delete_file(self, path: str) -> None:
        refuse_recording(path)
        await super().delete_file(path)

    async def rename_file(self, old_path: str, new_path: str) -> None:
        refuse_recording(old_path)
        refuse_recording(new_path)
        await super().rename_file(old_path, new_path)


def refuse_recording(path: str) -> None:
    if is_recording(path):
        raise web.HTTPError(
            403, "recordings are read-only; save a copy elsewhere"
        )


class Events(APIHandler):
    """Records of a session's journal after a cursor, from the gateway."""

    auth_resource = "kernels"

    @web.authenticated
    @authorized
    async def get(self, session: str) -> None:
        since = self.get_argument("since", "0")
        if not since.isdecimal():
            raise web.HTTPError(400, "since: a number")
        gateway = GatewayClient.instance()
        request = HTTPRequest(
            f"{gateway.url}/hearth/sessions/{session}/events?since={since}",
            streaming_callback=self._pass_on,
            **gateway.load_connection_args(),
        )
        client = SimpleAsyncHTTPClient(
            force_instance=True, max_body_size=BODY_MAX
        )
        try:
            self.set_header("Content-Type", "application/x-ndjson")
            await client.fetch(request)
        except HTTPClientError as error:
            raise web.HTTPError(error.code, reason=error.message) from error
        finally:
            client.close()
        self.finish()

    # No faster than the browser reads.
    async def _pass_on(self, chunk: bytes) -> None:
        self.write(chunk)
        await self.flush()


BODY_MAX = 1 << 40

# Beside jupyter_server's own, and before them: ServerApp.extra_services.
default_handlers = [
    (r"/hearth/sessions/([\w-]+)/events", Events),
    *hearth_control.handlers,
    *hearth_terminals.handlers,
]
