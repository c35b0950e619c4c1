"""Terminals of JupyterLab's page: the gateway's, inside of sandboxes.

jupyter_server's own terminals are shells of this machine, so `hearth lab`
leaves them out. Here requests go to the gateway's /api/terminals, and each
WebSocket of a page is relayed to one of the gateway, message by message.
Nothing is held here: a page that does not read holds the program, and the
gateway bounds what waits for it.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any, Optional, Union

from hearth_control import gateways_words
from jupyter_server._tz import utcnow
from jupyter_server.auth.decorator import authorized
from jupyter_server.base.handlers import APIHandler, JupyterHandler
from jupyter_server.base.websocket import WebSocketMixin
from jupyter_server.gateway.gateway_client import (
    GatewayClient,
    gateway_request,
)
from jupyter_server.utils import url_path_join
from tornado import web
from tornado.httpclient import HTTPClientError, HTTPRequest
from tornado.websocket import (
    WebSocketClientConnection,
    WebSocketClosedError,
    WebSocketHandler,
    websocket_connect,
)

AUTH_RESOURCE = "terminals"
# Members of a request for a new terminal; the gateway checks the values.
ASKED = ("name", "cwd", "session")
# Bytes of a message, as the gateway's terminal_socket.c has it.
MESSAGE_MAX = 2 << 20
# How a WebSocket is closed whose other side has gone (RFC 6455).
GONE = 1011
SEVERAL = (
    "A terminal is a shell in one session, and several have a notebook here; "
    "open it from a folder where one of them alone has a notebook, or use "
    "'hearth terminal ID'"
)


async def ask(method: str, path: str = "", body: Optional[str] = None) -> bytes:
    """Return the gateway's answer. An error has its status and its words."""
    url = f"{GatewayClient.instance().url}/api/terminals{path}"
    with gateways_words():
        response = await gateway_request(url, method=method, body=body)
    answer: bytes = response.body
    return answer


def choose(
    models: list[dict[str, Any]], place: str, opened: Optional[str]
) -> Optional[str]:
    """Return the session that a terminal belongs to: that of the notebook, or
    of the notebooks in the folder, that `place` names, else of all notebooks.
    Among several it is the one that JupyterLab was opened for. None if there
    is no notebook."""
    place = place.strip("/")
    by_path = [
        (model["path"].strip("/"), model["kernel"]["id"]) for model in models
    ]
    found: set[str] = set()
    for found in (
        {kernel for path, kernel in by_path if path == place},
        {k for path, k in by_path if path.rpartition("/")[0] == place},
        {kernel for _, kernel in by_path},
    ):
        if len(found) == 1:
            return found.pop()
        if opened in found:
            return opened
        if found:
            raise web.HTTPError(409, SEVERAL)
    return None


class Terminals(APIHandler):
    auth_resource = AUTH_RESOURCE

    @web.authenticated
    @authorized
    async def get(self) -> None:
        self.finish(await ask("GET"))

    @web.authenticated
    @authorized
    async def post(self) -> None:
        asked = self.get_json_body() if self.request.body else {}
        if not isinstance(asked, dict):
            raise web.HTTPError(400, "The body must be a JSON object")
        wanted = {name: asked[name] for name in ASKED if name in asked}
        if "session" not in wanted:
            # The page's folder is one of JupyterLab's, not of a workspace.
            place = wanted.pop("cwd", "")
            session = await self._session_at(
                place if isinstance(place, str) else ""
            )
            if session is not None:
                wanted["session"] = session
        self.finish(await ask("POST", body=json.dumps(wanted)))

    async def _session_at(self, place: str) -> Optional[str]:
        sessions: Any = self.session_manager
        models = await sessions.list_sessions()
        return choose(models, place, sessions.opened)


class Terminal(APIHandler):
    auth_resource = AUTH_RESOURCE

    @web.authenticated
    @authorized
    async def get(self, name: str) -> None:
        self.finish(await ask("GET", f"/{name}"))

    @web.authenticated
    @authorized
    async def delete(self, name: str) -> None:
        await ask("DELETE", f"/{name}")
        self.set_status(204)
        self.finish()


class TerminalSocket(WebSocketMixin, WebSocketHandler, JupyterHandler):
    auth_resource = AUTH_RESOURCE
    gateway: WebSocketClientConnection

    # A refusal before the handshake is JSON, as the gateway's.
    write_error = APIHandler.write_error

    def set_default_headers(self) -> None:
        """JupyterHandler's are for pages."""

    @property
    def max_message_size(self) -> int:
        return MESSAGE_MAX

    def get_login_url(self) -> str:
        """Refuse a client without a token; it is no page to be sent to one."""
        raise web.HTTPError(403)

    @web.authenticated
    @authorized("execute")
    async def get(self, name: str) -> None:
        # Tornado checks it, too, but after this side has reached the gateway.
        if not self.check_origin():
            raise web.HTTPError(403, "Cross origin websockets not allowed")
        self.gateway = await reach(name)
        # It returns when the page's connection is over.
        try:
            await super().get(name)
        finally:
            self.gateway.close()

    def open(self, name: str) -> None:
        super().open(name)
        self._relaying = asyncio.ensure_future(self._relay())

    async def _relay(self) -> None:
        try:
            # No faster than the page reads.
            while (message := await self.gateway.read_message()) is not None:
                await self.write_message(message)
        except WebSocketClosedError:
            return
        self.close(self.gateway.close_code or GONE, self.gateway.close_reason)

    # No faster than the gateway reads: Tornado waits for the end of it.
    async def on_message(self, message: Union[str, bytes]) -> None:
        self.settings["terminal_last_activity"] = utcnow()
        try:
            await self.gateway.write_message(
                message, binary=isinstance(message, bytes)
            )
        except WebSocketClosedError:
            pass  # _relay closes the page's side

    def on_close(self) -> None:
        self.gateway.close()


async def reach(name: str) -> WebSocketClientConnection:
    """Connect to a terminal of the gateway."""
    gateway = GatewayClient.instance()
    url = url_path_join(gateway.ws_url or "", "terminals", "websocket", name)
    request = HTTPRequest(url, **gateway.load_connection_args())
    try:
        return await websocket_connect(request, max_message_size=MESSAGE_MAX)
    except HTTPClientError as error:
        raise web.HTTPError(error.code, words_of(error)) from error
    except OSError as error:
        raise web.HTTPError(
            503, f"The gateway is unreachable: {error}"
        ) from error


def words_of(error: HTTPClientError) -> str:
    """Return the gateway's sentence, else Tornado's."""
    try:
        answer = json.loads(error.response.body if error.response else b"")
        return str(answer["message"])
    except (ValueError, TypeError, KeyError):
        return str(error.message)


NAME = "([A-Za-z0-9_-]+)"
handlers = [
    (r"/api/terminals", Terminals),
    (rf"/api/terminals/{NAME}", Terminal),
    (rf"/terminals/websocket/{NAME}", TerminalSocket),
]
