"""A gateway: it makes sessions and lists them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any, Optional

import httpx

from hearth import _address
from hearth._address import Address
from hearth._answers import error_of, json_of, sentence_of
from hearth._async.session import AsyncSession
from hearth._async.transport import AsyncTransport
from hearth.errors import BadRequest, GatewayFull
from hearth.values import SessionInfo, session_info


class AsyncGateway:
    """A connection to a gateway. hearth.aio.connect() makes one."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def __aenter__(self) -> AsyncGateway:
        return self

    async def __aexit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections. Sessions live on."""
        await self._transport.aclose()

    async def url(self) -> str:
        """Find the gateway, start it if needed, and return its URL."""
        return (await self._transport.address()).url

    async def session(
        self,
        profile: Optional[str] = None,
        *,
        title: Optional[str] = None,
        idle_timeout: Optional[float] = None,
        lifetime: Optional[float] = None,
        cell_time_limit: Optional[float] = None,
        restart: Optional[str] = None,
        env: Optional[Mapping[str, str]] = None,
        limits: Optional[Mapping[str, Any]] = None,
        packages: Optional[Mapping[str, Any]] = None,
        fetch: Optional[Mapping[str, Any]] = None,
    ) -> AsyncSession:
        """Make a session; its kernel is ready then.

        Parameters:
            profile: the kernel's profile; the gateway's default without one.
            title: a name for people.
            idle_timeout: seconds without work after which it ends.
            lifetime: seconds after which it ends in any case.
            cell_time_limit: seconds that each run may take.
            restart: `auto` or `never`: whether a fresh kernel takes the place
                of one that died.
            env: variables of the kernel; names begin with KERNEL_.
            limits: lower limits than the profile's: `{"memory": "512M"}`.
            packages: stricter rules for packages than the profile's:
                `{"deny": ["torch"]}`; `{"index": ""}` gives no packages.
            fetch: stricter rules for files and repositories:
                `{"max_bytes": "64M"}`; `{"allow": []}` gives no files.

        Raises GatewayFull, GatewayBusy, BadRequest, and what any request may
        raise: GatewayNotFound, GatewayUnreachable, TokenRefused, NotPermitted,
        GatewayFailed.
        """
        given = {
            "name": profile,
            "title": title,
            "idle_timeout": idle_timeout,
            "lifetime": lifetime,
            "cell_time_limit": cell_time_limit,
            "restart": restart,
            "env": dict(env) if env is not None else None,
            "limits": dict(limits) if limits is not None else None,
            "packages": dict(packages) if packages is not None else None,
            "fetch": dict(fetch) if fetch is not None else None,
        }
        body = {
            name: value for name, value in given.items() if value is not None
        }
        response = await self._transport.send("POST", "/api/kernels", json=body)
        if response.status_code != 201:
            raise _creation_error(response)
        return AsyncSession(self._transport, json_of(response)["id"])

    async def attach(self, session: str) -> AsyncSession:
        """Return a session that lives, by its whole id.

        Raises SessionUnknown, SessionGone.
        """
        attached = AsyncSession(self._transport, session)
        await attached.require()
        return attached

    async def sessions(self, gone: bool = False) -> list[SessionInfo]:
        """List the sessions, oldest first; with `gone` also those that ended
        and are still recorded."""
        response = await self._transport.send(
            "GET", "/hearth/sessions", params={"all": int(gone)}
        )
        if response.status_code != 200:
            raise error_of(response)
        return [session_info(model) for model in json_of(response)]


def _creation_error(response: httpx.Response) -> Exception:
    text = sentence_of(response)
    if response.status_code == 500 and text.startswith("No such kernel"):
        return BadRequest(text)
    return error_of(response, {403: GatewayFull})


def connect(
    url: Optional[str] = None,
    token: Optional[str] = None,
    *,
    start: bool = True,
    program: Optional[str] = None,
    retry_seconds: float = 30.0,
    request_seconds: float = 60.0,
) -> AsyncGateway:
    """Connect to a gateway. Nothing is sent before the first request.

    Parameters:
        url, token: of the gateway. Without a URL it is found as the command
            line does: HEARTH_URL and HEARTH_TOKEN, else this user's own
            gateway (HEARTH_CONFIG, HEARTH_RUNTIME_DIR).
        start: start this user's gateway if it does not run.
            HEARTH_AUTOSTART=no forbids that.
        program: the program `hearth`; otherwise the one in PATH.
        retry_seconds: for how long a gateway that is gone is looked for.
        request_seconds: how long a request may take to be answered.
    """
    if url is not None:
        fixed = Address(url, token)
        return AsyncGateway(
            AsyncTransport(
                lambda: fixed,
                False,
                fixed.is_local,
                retry_seconds,
                request_seconds,
            )
        )
    return AsyncGateway(
        AsyncTransport(
            lambda: _address.find(program, start),
            True,
            _address.is_near(),
            retry_seconds,
            request_seconds,
        )
    )


@asynccontextmanager
async def session(
    profile: Optional[str] = None,
    *,
    url: Optional[str] = None,
    token: Optional[str] = None,
    **options: Any,
) -> AsyncIterator[AsyncSession]:
    """Make a session that ends with the `with` block.

    The options are those of AsyncGateway.session().
    """
    async with connect(url, token) as gateway:
        made = await gateway.session(profile, **options)
        try:
            yield made
        finally:
            await made.end()


@asynccontextmanager
async def attach(
    session: str, *, url: Optional[str] = None, token: Optional[str] = None
) -> AsyncIterator[AsyncSession]:
    """Use a session that lives on after the `with` block.

    Raises SessionUnknown, SessionGone.
    """
    async with connect(url, token) as gateway:
        attached = await gateway.attach(session)
        try:
            yield attached
        finally:
            await attached.aclose()
