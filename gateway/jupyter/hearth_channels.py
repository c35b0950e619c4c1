"""A page's WebSocket through JupyterLab's server to the gateway.

jupyter_server's own relay reads every frame as text, so that widgets with
buffers stay empty. It also holds messages that a slow page has not read. This
one passes frames on as they are, one by one. Their form is the one that the
page asked for: v1.kernel.websocket.jupyter.org, or the older one. It names the
person as the author of the cells. Messages of a page wait while the gateway is
unreachable; if they cannot be sent, the person is warned.
"""

from __future__ import annotations

import getpass
import json
import os
from datetime import datetime, timezone
from typing import Any, Optional, Union
from uuid import uuid4

from jupyter_server.gateway.connections import GatewayWebSocketConnection
from jupyter_server.gateway.gateway_client import GatewayClient
from jupyter_server.services.kernels.connection.base import (
    deserialize_msg_from_ws_v1,
    serialize_msg_to_ws_v1,
)
from jupyter_server.utils import url_path_join
from tornado.escape import url_escape
from tornado.httpclient import HTTPRequest
from tornado.ioloop import IOLoop
from tornado.websocket import WebSocketClosedError, websocket_connect
from traitlets import Unicode

# Bytes of a message: the most that http/frame_max can be. Tornado's own limit
# of 10 MiB closes the connection on a FileUpload of more.
MESSAGE_MAX = 256 << 20
# How a WebSocket is closed that sent more than its peer takes (RFC 6455).
TOO_BIG = 1009
# Bounds of what waits for the gateway, in messages and in bytes.
HELD_MAX = 1000
HELD_BYTES = MESSAGE_MAX


class Channels(GatewayWebSocketConnection):
    # None: the newest form that the page offers.
    kernel_ws_protocol = Unicode(None, allow_none=True, config=True)

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._held: list[Union[str, bytes]] = []
        self._is_given_up = False
        # Read when the page's handshake is answered, which is after this.
        self.websocket_handler.settings.setdefault(
            "websocket_max_message_size", MESSAGE_MAX
        )

    @property
    def _form(self) -> Optional[str]:
        form: Optional[str] = self.websocket_handler.selected_subprotocol
        return form

    async def connect(self) -> None:
        gateway = GatewayClient.instance()
        url = url_path_join(
            gateway.ws_url or "",
            gateway.kernels_endpoint,
            url_escape(self.kernel_id),
            "channels",
        )
        # By its own name it gets what Tornado by itself could not read.
        arguments = gateway.load_connection_args(
            headers={"User-Agent": "hearth-lab"}
        )
        self.ws = None
        connecting: Any = websocket_connect(
            HTTPRequest(
                f"{url}?session_id={url_escape(self.session_id)}", **arguments
            ),
            max_message_size=MESSAGE_MAX,
            subprotocols=[self._form] if self._form else None,
        )
        connecting.add_done_callback(self._connection_done)
        self.ws_future = connecting
        loop: Any = IOLoop.current()
        loop.add_future(connecting, lambda _: self._read_messages())

    def _connection_done(self, fut: Any) -> None:
        super()._connection_done(fut)
        if self.ws is not None:
            held, self._held = self._held, []
            for message in held:
                self._write_message(message)

    async def _read_messages(self) -> None:
        while self.ws is not None and not self.disconnected:
            message = await self.ws.read_message()
            if message is None:
                code, reason = self.ws.close_code, self.ws.close_reason
                self.log.warning(
                    "Lost the gateway: %s (%s: %s)",
                    self.kernel_id,
                    code or "no code",
                    reason or "no reason",
                )
                self.ws = self.ws_future = None
                if code == TOO_BIG:
                    await self._show(self._refusal(reason))
                break
            await self._show(message)
        # Tries again, unless it is the page that went.
        if self.ws is None and not self.disconnected:
            if self.retry >= GatewayClient.instance().gateway_retry_max:
                self._is_given_up = True
                if self._held:
                    self._held.clear()
                    await self._show(
                        self._refusal("the gateway is unreachable")
                    )
            await super()._read_messages()

    # No faster than the page reads: the gateway has the journal to wait in.
    async def _show(self, message: Union[str, bytes]) -> None:
        try:
            await self.websocket_handler.write_message(
                message, binary=isinstance(message, bytes)
            )
        except WebSocketClosedError:
            self.log.debug(
                "The page was closed before a message: %s", self.kernel_id
            )

    def _refusal(self, reason: Optional[str]) -> Union[str, bytes]:
        """Return the message that reports a lost message to the page."""
        return notice(
            "A message to the kernel did not arrive: "
            f"{reason or 'it is too big for the gateway'}",
            self.kernel_id,
            bool(self._form),
        )

    def handle_incoming_message(self, message: Union[str, bytes]) -> None:
        if isinstance(message, str):
            message = sign_text(message, self._person())
        elif self._form:
            message = sign_v1(message, self._person())
        # Else it is the older form with buffers: no execute_request.
        if self.ws is None:
            self._hold(message)
        else:
            self._write_message(message)

    def _write_message(self, message: Union[str, bytes]) -> None:
        if self.disconnected:
            return
        try:
            self.ws.write_message(message, binary=isinstance(message, bytes))
        except WebSocketClosedError:
            self._hold(message)

    def _hold(self, message: Union[str, bytes]) -> None:
        """Until the gateway is back; it is tried again and again."""
        size = len(message) + sum(map(len, self._held))
        if not (
            self._is_given_up
            or len(self._held) == HELD_MAX
            or size > HELD_BYTES
        ):
            self._held.append(message)
            return
        self.log.error("The gateway is unreachable, a message is lost")
        loop: Any = IOLoop.current()
        loop.spawn_callback(
            self._show, self._refusal("the gateway is unreachable")
        )

    def _person(self) -> str:
        return person(self.websocket_handler.current_user)


def person(user: Any) -> str:
    """Name the person; Jupyter's own login has no names, so it is the server's
    user."""
    if user is None or str(user.name).startswith("Anonymous "):
        return starter()
    return str(user.username)


def starter() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a user without a name
        return str(os.getuid())


def notice(text: str, kernel_id: str, v1: bool) -> Union[str, bytes]:
    """For hearth-follow, which shows it to the person; a stream to others."""
    header = {
        "msg_id": uuid4().hex,
        "msg_type": "stream",
        "username": "hearth",
        "session": kernel_id,
        "date": datetime.now(timezone.utc).isoformat(),
        "version": "5.3",
    }
    content = {"name": "stderr", "text": text + "\n"}
    parts = [header, {}, {"hearth": {"notice": text}}, content]
    if v1:
        dumped = [json.dumps(part).encode() for part in parts]
        framed: bytes = serialize_msg_to_ws_v1(dumped, "iopub")
        return framed
    names = ("header", "parent_header", "metadata", "content")
    return json.dumps(
        {
            **dict(zip(names, parts)),
            "msg_id": header["msg_id"],
            "msg_type": "stream",
            "channel": "iopub",
            "buffers": [],
        }
    )


def sign_text(message: str, person: str) -> str:
    """Return the message; an execute_request names the person as its author."""
    if '"execute_request"' not in message:
        return message
    try:
        parsed = json.loads(message)
        if not sign(parsed["header"], parsed["metadata"], person):
            return message
    except (ValueError, TypeError, KeyError, AttributeError):
        return message  # the gateway says what is wrong with it
    return json.dumps(parsed)


def sign_v1(message: bytes, person: str) -> bytes:
    if b'"execute_request"' not in message:
        return message
    try:
        channel, parts = deserialize_msg_from_ws_v1(message)
        header, metadata = json.loads(parts[0]), json.loads(parts[2])
        if not sign(header, metadata, person):
            return message
    except (ValueError, TypeError, KeyError, AttributeError, IndexError):
        return message
    parts[0] = json.dumps(header).encode()
    parts[2] = json.dumps(metadata).encode()
    signed: bytes = serialize_msg_to_ws_v1(parts, channel)
    return signed


def sign(header: dict[str, Any], metadata: dict[str, Any], person: str) -> bool:
    """Whether there was something to sign."""
    if header["msg_type"] != "execute_request":
        return False
    header["username"] = header.get("username") or person
    own = metadata.get("hearth", {})
    # Members of the cell's metadata, which JupyterLab sends along.
    metadata["hearth"] = {
        **{name: own[name] for name in ASKED if name in own},
        "client": "JupyterLab",
    }
    return True


# Metadata that a request may have; the other members of a recorded cell are
# results.
ASKED = ("namespace", "outside_effects")
