"""A plugin of pytest: the fixtures of Kernel Gateway's own suite, by `hearth
kernelgateway` in the place of its server."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Iterator
from typing import Any, Callable, Optional

import pytest
from kernelgateway import KernelGateway
from tornado.httpclient import AsyncHTTPClient, HTTPRequest, HTTPResponse
from tornado.websocket import WebSocketClientConnection, websocket_connect
from traitlets.config import Config


class Server:
    """Starts with the first request, and anew when a test has changed the
    settings, as it could change those of a running Kernel Gateway."""

    def __init__(self, config: Config, argv: list[str], base_url: str) -> None:
        options = {"auth_token": "a-token", **config.KernelGatewayApp}
        self.token = options["auth_token"]
        self.words = [
            *(f"--KernelGatewayApp.{key}={options[key]}" for key in options),
            f"--KernelGatewayApp.base_url={base_url}",
            "--KernelGatewayApp.port=0",
            # Kernel Gateway's default, which is not hearth's.
            "--JupyterWebsocketPersonality.list_kernels=False",
            *argv,
        ]
        self.settings: dict[str, Any] = {}
        self.known: dict[str, Any] = {}
        self.gateway: Optional[KernelGateway] = None

    def make(self) -> KernelGateway:
        changed = [
            f"--{key.removeprefix('kg_')}={value}"
            for key, value in self.settings.items()
        ]
        variables = {k: v for k, v in os.environ.items() if k[:3] == "KG_"}
        made = KernelGateway(*self.words, *changed, **variables)
        folder = made.folder / "h/.config/hearth"
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "hearth.cfg").open("a") as file:
            file.write('profile\n    python3\n        preload = ""\n')
        return made

    def address(self) -> str:
        if self.gateway is None or self.known != self.settings:
            self.end()
            self.known = dict(self.settings)
            self.gateway = self.make()
            self.gateway.start()
        return self.gateway.address

    def end(self) -> None:
        if self.gateway is not None:
            self.gateway.end()
            self.gateway = None

    def request(self, parts: tuple[str, ...], **options: Any) -> HTTPRequest:
        headers = {
            "Authorization": f"token {self.token}",
            **options.pop("headers", {}),
        }
        url = "/".join([self.address(), *filter(None, parts)])
        return HTTPRequest(url, headers=headers, **options)


@pytest.fixture
def jp_argv() -> list[str]:
    return []


@pytest.fixture
def jp_base_url() -> str:
    return "/"


@pytest.fixture
def jp_http_port() -> int:
    return 0


@pytest.fixture
def jp_web_app(
    jp_server_config: Config, jp_argv: list[str], jp_base_url: str
) -> Iterator[Server]:
    server = Server(jp_server_config, jp_argv, jp_base_url)
    yield server
    server.end()


@pytest.fixture
def jp_fetch(jp_web_app: Server) -> Callable[..., Awaitable[HTTPResponse]]:
    def fetch(*parts: str, **options: Any) -> Awaitable[HTTPResponse]:
        request = jp_web_app.request(parts, **options)
        request.allow_nonstandard_methods = True
        return AsyncHTTPClient().fetch(request)

    return fetch


@pytest.fixture
def jp_ws_fetch(
    jp_web_app: Server,
) -> Callable[..., Awaitable[WebSocketClientConnection]]:
    def connect(
        *parts: str, **options: Any
    ) -> Awaitable[WebSocketClientConnection]:
        request = jp_web_app.request(parts, **options)
        request.url = request.url.replace("http", "ws", 1)
        return websocket_connect(request)

    return connect


@pytest.fixture
def jp_configurable_serverapp(
    jp_web_app: Server,
) -> Callable[[], Awaitable[None]]:
    """Raises what Kernel Gateway raises if it is refused."""

    async def start() -> None:
        refused = jp_web_app.make()
        try:
            done = refused.refusal(*refused.options, **refused.variables)
        finally:
            refused.sweep()
        if done.returncode:
            raise ImportError(done.stderr)

    return start
