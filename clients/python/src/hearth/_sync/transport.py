# Made by generate.py from _async/transport.py; change that instead.
"""Requests to one gateway, also over its restarts."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Callable, Optional

import httpx

from hearth._address import Address
from hearth._answers import error_of, retry_after
from hearth._background import sync_call, sync_sleep
from hearth.errors import GatewayError, GatewayNotFound, GatewayUnreachable

_PAUSE_FIRST = 0.05  # seconds, then twice as long each time
_PAUSE_MAX = 1.0
_SAFE = ("GET", "PUT", "DELETE")
_NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout)


class _GatewayEnded(GatewayNotFound):
    """It ended after it was found; nothing was sent."""


def _guard(address: Address) -> Callable[..., Any]:
    """Return what looks after the gateway once there is a connection, before
    anything is sent. A gateway that lives now had its port then; a look before
    it connects would leave an instant for another program."""

    def look(event: str, _: Any) -> None:
        is_sending = event.endswith(".send_request_headers.started")
        if is_sending and not address.is_current():
            raise _GatewayEnded(f"The gateway at {address.url} has ended.")

    return look


class Transport:
    """Sends requests. A gateway that restarts is found again: it may have
    another port and another token."""

    def __init__(
        self,
        locate: Callable[[], Address],
        can_move: bool,
        is_local: bool,
        retry_seconds: float,
        request_seconds: float,
    ) -> None:
        self._locate = locate
        self._can_move = can_move
        self.retry_seconds = retry_seconds
        self._request_seconds = request_seconds
        self._address: Optional[Address] = None
        self._was_there = False
        self._is_closed = False
        # A proxy of the environment leads to no gateway of this machine.
        self._client = httpx.Client(trust_env=not is_local)

    def close(self) -> None:
        self._is_closed = True
        self._client.close()

    def address(self) -> Address:
        if self._address is not None and not self._address.is_current():
            self._address = None
        if self._address is None:
            self._address = sync_call(self._locate)
        return self._address

    def _forget(self) -> None:
        """Look for the gateway anew before the next request."""
        if self._can_move:
            self._address = None

    def _build(
        self, method: str, path: str, seconds: float, options: Mapping[str, Any]
    ) -> httpx.Request:
        if self._is_closed:
            raise GatewayUnreachable("This connection was closed.")
        address = self.address()
        request = self._client.build_request(
            method,
            address.url.rstrip("/") + path,
            timeout=httpx.Timeout(seconds, connect=self._request_seconds),
            extensions={"trace": _guard(address)},
            **options,
        )
        if address.token is not None:
            request.headers["Authorization"] = f"Bearer {address.token}"
        return request

    def send(
        self,
        method: str,
        path: str,
        *,
        is_safe: Optional[bool] = None,
        retry_busy: bool = True,
        stream: bool = False,
        seconds: float = 0.0,
        **options: Any,
    ) -> httpx.Response:
        """Send a request until there is an answer, whatever its status.

        A request that does the same when it is sent twice (`is_safe`) is sent
        again when the connection breaks, and (`retry_busy`) when the gateway
        has no room or is stopping; any other only if it was certainly not
        sent. `seconds` is what the answer may take beyond the time of any
        request. Where such an answer was awaited for long when the connection
        broke, the time of retries begins then.

        Raises GatewayUnreachable, GatewayNotFound, TokenRefused.
        """
        safe = method in _SAFE if is_safe is None else is_safe
        until = time.monotonic() + self.retry_seconds
        pause = _PAUSE_FIRST
        has_new_token = False
        while True:
            wait = pause
            asked = time.monotonic()
            is_over = asked + pause > until
            try:
                request = self._build(
                    method, path, self._request_seconds + seconds, options
                )
                response = self._client.send(request, stream=stream)
            except RuntimeError as error:
                if not self._is_closed:
                    raise
                raise GatewayUnreachable(
                    "This connection was closed."
                ) from error
            except (httpx.TransportError, GatewayNotFound) as error:
                if self._was_awaited(error, asked, seconds):
                    until = time.monotonic() + self.retry_seconds
                    is_over = False
                if is_over or not self._may_repeat(error, safe):
                    raise _as_ours(error, f"{method} {path}") from error
                self._forget()
            else:
                self._was_there = True
                status = response.status_code
                if status == 401 and self._can_move and not has_new_token:
                    has_new_token = True  # another gateway has its place
                    response.close()
                    self._forget()
                    continue
                if status == 401:
                    response.read()
                    raise error_of(response)
                if status != 503 or is_over or not (safe and retry_busy):
                    return response
                wait = min(pause, retry_after(response))
                response.close()
            sync_sleep(wait)
            pause = min(pause * 2, _PAUSE_MAX)

    def _was_awaited(
        self, error: Exception, asked: float, seconds: float
    ) -> bool:
        """Return whether an answer that may take long was awaited for longer
        than the client retries."""
        return (
            bool(seconds)
            and not isinstance(error, httpx.TimeoutException)
            and time.monotonic() - asked > self.retry_seconds
        )

    def _may_repeat(self, error: Exception, safe: bool) -> bool:
        if isinstance(error, _GatewayEnded):
            return True  # another may have taken its place
        if isinstance(error, GatewayNotFound):
            return self._was_there  # it is being started again, perhaps
        return safe or isinstance(error, _NOT_SENT)

    @contextmanager
    def streamed(
        self, path: str, seconds: float = 0.0, **options: Any
    ) -> Iterator[httpx.Response]:
        """Open an answer that is read piece by piece."""
        response = self.send(
            "GET", path, stream=True, seconds=seconds, **options
        )
        try:
            yield response
        finally:
            response.close()


def _as_ours(error: Exception, what: str) -> GatewayError:
    if isinstance(error, GatewayError):
        return error
    words = str(error) or type(error).__name__
    if isinstance(error, _NOT_SENT):
        return GatewayUnreachable(f"{what} could not be sent: {words}.")
    return GatewayUnreachable(
        f"{what} was sent and not answered ({words}): whether it was done is"
        " unknown.",
        was_sent=True,
    )
