"""HTTP and WebSockets as tests need them: nothing that mends what is wrong."""

from __future__ import annotations

import http.client
import json
import re
import socket
import ssl
import struct
import time
import uuid
from typing import Any, Callable, Optional, Union

import contract
import websocket
from client import execute_content
from deadline import DEADLINE
from harness import Gateway

V1 = "v1.kernel.websocket.jupyter.org"
Message = dict[str, Any]
STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")


class Answer:
    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.status = response.status
        self.reason = response.reason
        self.headers = response.headers
        self.body = response.read()

    @property
    def json(self) -> Any:
        assert self.headers["Content-Type"] == "application/json", self.body
        return json.loads(self.body)

    def __repr__(self) -> str:
        return f"<{self.status} {dict(self.headers)} {self.body[:500]!r}>"


class Web:
    """A client of one gateway with one token. Every answer is compared with the
    gateway's description, unless another server is in between."""

    def __init__(
        self,
        gateway: Gateway,
        url: str,
        token: Optional[str],
        is_ours: bool = True,
    ):
        self.gateway = gateway
        self.url = url
        self.token = token
        self.is_ours = is_ours
        scheme, _, rest = url.partition("://")
        authority, _, base = rest.partition("/")
        self.is_tls = scheme == "https"
        self.host = authority.rpartition(":")[0].strip("[]")
        self.port = int(authority.rpartition(":")[2])
        self.base = "/" + base

    @classmethod
    def of(cls, gateway: Gateway) -> Web:
        info = gateway.info()["http"]
        web = cls(gateway, info["url"], info.get("token"))
        contract.learn(web.connect(), web.base, web.token)
        return web

    def renew(self) -> None:
        """The gateway is another one: with another token, perhaps port."""
        info = self.gateway.info()["http"]
        Web.__init__(self, self.gateway, info["url"], info.get("token"))

    def with_token(self, token: Optional[str]) -> Web:
        return Web(self.gateway, self.url, token, self.is_ours)

    def check(
        self, method: str, path: str, body: Any, answer: contract.Answered
    ) -> None:
        if self.is_ours:
            contract.check(method, path, body, answer)

    def connect(self) -> http.client.HTTPConnection:
        if self.is_tls:
            context = ssl.create_default_context()
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
            return http.client.HTTPSConnection(
                self.host, self.port, timeout=DEADLINE, context=context
            )
        return http.client.HTTPConnection(
            self.host, self.port, timeout=DEADLINE
        )

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        headers: Optional[dict[str, str]] = None,
        raw: Optional[bytes] = None,
    ) -> Answer:
        sent = dict(headers or {})
        if self.token is not None and "Authorization" not in sent:
            sent["Authorization"] = f"token {self.token}"
        data = raw
        if body is not None:
            data = json.dumps(body).encode()
            sent.setdefault("Content-Type", "application/json")
        connection = self.connect()
        try:
            connection.request(method, self.base + path.lstrip("/"), data, sent)
            answer = Answer(connection.getresponse())
        finally:
            connection.close()
        self.check(method, path, body, answer)
        return answer

    def get(self, path: str, **options: Any) -> Answer:
        return self.ask("GET", path, **options)

    def post(self, path: str, body: Any = None, **options: Any) -> Answer:
        return self.ask("POST", path, body, **options)

    def create(self, **options: Any) -> str:
        answer = self.post("/api/kernels", options or None)
        assert answer.status == 201, answer
        kernel: str = answer.json["id"]
        self.gateway.note_namespace(
            self.gateway.json("session", "show", "--json", kernel)["pid"]
        )
        return kernel

    def delete(self, kernel: str) -> None:
        answer = self.ask("DELETE", f"/api/kernels/{kernel}")
        assert answer.status in (204, 404), answer

    def raw(self, data: bytes, until: str = "end") -> bytes:
        """Bytes as they are, and what comes back until the end."""
        found = self.exchange(data, until)
        words = data.partition(b"\r\n")[0].decode("latin-1").split(" ")
        if found.startswith(b"HTTP/1.1 ") and len(words) == 3:
            answer = contract.Read(found)
            if answer.is_whole:
                path = words[1].removeprefix(self.base.rstrip("/"))
                self.check(words[0], path, None, answer)
        return found

    def exchange(self, data: bytes, until: str) -> bytes:
        with socket.create_connection(
            (self.host, self.port), DEADLINE
        ) as connection:
            try:
                connection.sendall(data)
            except (BrokenPipeError, ConnectionResetError):
                pass  # it has read enough; what it says of that is there
            found = b""
            while True:
                try:
                    piece = connection.recv(65536)
                except ConnectionResetError:
                    return found
                found += piece
                if not piece or (until != "end" and until.encode() in found):
                    return found

    def socket_url(self, kernel: str, **query: str) -> str:
        url = self.url.replace("http", "ws", 1).rstrip("/")
        return url + channels(kernel, query)


def channels(kernel: str, query: dict[str, str]) -> str:
    path = f"/api/kernels/{kernel}/channels"
    if query:
        path += "?" + "&".join(f"{k}={v}" for k, v in query.items())
    return path


class Refused:
    """A handshake's answer."""

    def __init__(self, refused: websocket.WebSocketBadStatusException) -> None:
        self.status = refused.status_code
        self.body = refused.resp_body or b""
        self.headers = http.client.HTTPMessage()
        for name, value in (refused.resp_headers or {}).items():
            self.headers[name] = value


class Socket:
    """One WebSocket of a kernel, in one of the three forms."""

    def __init__(
        self,
        web: Web,
        kernel: str,
        *,
        v1: bool = False,
        header: Optional[list[str]] = None,
        query: Optional[dict[str, str]] = None,
        subprotocols: Optional[list[str]] = None,
        receive_buffer: int = 0,
    ) -> None:
        self.v1 = v1
        sent = list(header or [])
        if web.token is not None and not any(
            line.lower().startswith("authorization") for line in sent
        ):
            sent.append(f"Authorization: token {web.token}")
        if v1:
            subprotocols = [V1]
        url = web.socket_url(kernel, **(query or {}))
        try:
            self.ws = websocket.create_connection(
                url,
                timeout=DEADLINE,
                header=sent,
                subprotocols=subprotocols,
                sockopt=(
                    [(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)]
                    if receive_buffer
                    else []
                ),
                suppress_origin=True,
                skip_utf8_validation=True,  # slow; receive() decodes
                sslopt={"cert_reqs": ssl.CERT_NONE, "check_hostname": False},
            )
        except websocket.WebSocketBadStatusException as refused:
            web.check(
                "GET", channels(kernel, query or {}), None, Refused(refused)
            )
            raise
        self.session = uuid.uuid4().hex
        self.seen: list[Message] = []

    def __enter__(self) -> Socket:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.ws.close()

    def drop(self) -> None:
        """As a network does that goes away."""
        plain = self.ws.sock
        assert plain is not None
        plain.setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
        )
        plain.close()

    # -- sending --

    def header(self, msg_type: str) -> Message:
        return {
            "msg_id": uuid.uuid4().hex,
            "username": "test",
            "session": self.session,
            "msg_type": msg_type,
            "version": "5.3",
            "date": "",
        }

    def send(
        self,
        msg_type: str,
        content: Optional[Message] = None,
        channel: Optional[str] = "shell",
        buffers: tuple[bytes, ...] = (),
        metadata: Optional[Message] = None,
        parent: Optional[Message] = None,
        as_text: bool = False,
    ) -> str:
        message: Message = {
            "header": self.header(msg_type),
            "parent_header": parent or {},
            "metadata": metadata or {},
            "content": content or {},
        }
        if channel is not None:
            message["channel"] = channel
        if self.v1:
            frame: Union[str, bytes] = encode_v1(message, buffers)
        elif buffers:
            frame = encode_binary(message, buffers)
        else:
            frame = json.dumps(message)
        opcode = websocket.ABNF.OPCODE_BINARY
        if as_text or isinstance(frame, str):
            opcode = websocket.ABNF.OPCODE_TEXT
        self.ws.send(frame, opcode)
        msg_id: str = message["header"]["msg_id"]
        return msg_id

    def execute(self, code: str, **options: Any) -> str:
        content = {**execute_content(code), **options}
        return self.send("execute_request", content)

    # -- receiving --

    def receive(self, timeout: float = DEADLINE) -> Message:
        opcode, data = self._receive_data(timeout)
        if opcode == websocket.ABNF.OPCODE_CLOSE:
            code = struct.unpack(">H", data[:2])[0] if len(data) > 1 else 1005
            raise Closed(code, data[2:].decode())
        if opcode == websocket.ABNF.OPCODE_TEXT:
            assert not self.v1, "a text frame in v1"
            message = json.loads(data.decode())
            message["frame"] = "text"
        elif self.v1:
            message = decode_v1(data)
        else:
            message = decode_binary(data)
        message["size"] = len(data)
        self.seen.append(message)
        return message

    def _receive_data(self, timeout: float) -> tuple[int, bytes]:
        """A gateway's pings do not make the time longer."""
        end = time.monotonic() + timeout
        while True:
            self.ws.settimeout(max(0.1, end - time.monotonic()))
            opcode, frame = self.ws.recv_data_frame(control_frame=True)
            if opcode not in (
                websocket.ABNF.OPCODE_PING,
                websocket.ABNF.OPCODE_PONG,
            ):
                return opcode, frame.data
            if time.monotonic() >= end:
                raise websocket.WebSocketTimeoutException("nothing but pings")

    def until(
        self,
        wanted: Callable[[Message], bool],
        timeout: float = DEADLINE,
    ) -> list[Message]:
        end = time.monotonic() + timeout
        messages = []
        while True:
            messages.append(self.receive(max(0.1, end - time.monotonic())))
            if wanted(messages[-1]):
                return messages

    def until_idle(self, msg_id: str) -> list[Message]:
        """As who only looks on sees a request: all up to its idle."""
        return self.until(
            lambda m: (
                m["parent_header"].get("msg_id") == msg_id
                and state_of([m]) == "idle"
            )
        )

    def finish(
        self, msg_id: str, timeout: float = DEADLINE, has_reply: bool = True
    ) -> list[Message]:
        """All that belongs to a request, until its reply and its idle."""
        found: list[Message] = []

        def is_over(message: Message) -> bool:
            if message["parent_header"].get("msg_id") == msg_id:
                found.append(message)
            types = [m["header"]["msg_type"] for m in found]
            return state_of(found) == "idle" and (
                not has_reply or any(t.endswith("_reply") for t in types)
            )

        self.until(is_over, timeout)
        return found

    def run(self, code: str, **options: Any) -> list[Message]:
        return self.finish(self.execute(code, **options))

    def value(self, code: str) -> Any:
        messages = self.run(code)
        results = of_type(messages, "execute_result")
        assert results, messages
        return results[0]["content"]["data"]["text/plain"]

    def ready(self) -> Socket:
        self.finish(self.send("kernel_info_request"))
        return self


class Closed(Exception):
    def __init__(self, code: int, text: str) -> None:
        super().__init__(f"{code} {text}")
        self.code = code
        self.text = text


class Kernel:
    def __init__(self, web: Web, kernel: str) -> None:
        self.web = web
        self.id = kernel
        self.sockets: list[Socket] = []

    def socket(self, **options: Any) -> Socket:
        made = Socket(self.web, self.id, **options)
        self.sockets.append(made)
        return made

    def close(self) -> None:
        for made in self.sockets:
            made.close()
        self.web.delete(self.id)


def state_of(messages: list[Message]) -> Optional[str]:
    states = [
        m["content"]["execution_state"] for m in of_type(messages, "status")
    ]
    return states[-1] if states else None


def of_type(messages: list[Message], msg_type: str) -> list[Message]:
    return [m for m in messages if m["header"]["msg_type"] == msg_type]


def types(messages: list[Message]) -> list[str]:
    return [m["header"]["msg_type"] for m in messages]


def text_of(messages: list[Message]) -> str:
    return "".join(m["content"]["text"] for m in of_type(messages, "stream"))


def encode_binary(message: Message, buffers: tuple[bytes, ...]) -> bytes:
    parts = [json.dumps(message).encode(), *buffers]
    offset = 4 * (len(parts) + 1)
    offsets = []
    for part in parts:
        offsets.append(offset)
        offset += len(part)
    head = struct.pack(f">{len(parts) + 1}I", len(parts), *offsets)
    return head + b"".join(parts)


def decode_binary(data: bytes) -> Message:
    (count,) = struct.unpack_from(">I", data)
    offsets = [*struct.unpack_from(f">{count}I", data, 4), len(data)]
    parts = [data[a:b] for a, b in zip(offsets, offsets[1:])]
    message: Message = json.loads(parts[0])
    message["buffers"] = parts[1:]
    message["frame"] = "binary"
    return message


def encode_v1(message: Message, buffers: tuple[bytes, ...]) -> bytes:
    names = ("header", "parent_header", "metadata", "content")
    parts = [message.get("channel", "shell").encode()]
    parts += [json.dumps(message[name]).encode() for name in names]
    parts += buffers
    offset = 8 * (len(parts) + 2)
    offsets = [offset]
    for part in parts:
        offset += len(part)
        offsets.append(offset)
    head = struct.pack(f"<{len(offsets) + 1}Q", len(offsets), *offsets)
    return head + b"".join(parts)


def decode_v1(data: bytes) -> Message:
    (count,) = struct.unpack_from("<Q", data)
    offsets = struct.unpack_from(f"<{count}Q", data, 8)
    assert offsets[0] == 8 * (count + 1)
    assert offsets[-1] == len(data)
    parts = [data[a:b] for a, b in zip(offsets, offsets[1:])]
    names = ("header", "parent_header", "metadata", "content")
    message: Message = {"channel": parts[0].decode(), "frame": "v1"}
    for name, part in zip(names, parts[1:5]):
        message[name] = json.loads(part)
    message["buffers"] = parts[5:]
    return message
