"""Received bytes that no session has taken yet have one bound for all
connections."""

from __future__ import annotations

import re
import socket
import struct
from typing import Callable, Iterator

import pytest
from deadline import wait_for
from harness import Gateway
from web import Answer, Closed, Kernel, Web

from workspace import Workspace

MIB = 1 << 20


@pytest.fixture(scope="module")
def small() -> Iterator[Kernel]:
    """Two bodies, or messages, of a MiB may lie in memory."""
    gateway = Gateway(
        *("--set", "http/body_max=1M"), *("--set", "http/frame_max=1M")
    )
    gateway.start()
    web = Web.of(gateway)
    kernel = Kernel(web, web.create())
    yield kernel
    kernel.close()
    gateway.end()


def body(kernel: Kernel) -> socket.socket:
    """All but the end of a MiB."""
    made = socket.create_connection((kernel.web.host, kernel.web.port), 30)
    made.sendall(
        f"POST /api/kernels/{kernel.id}/execute HTTP/1.1\r\n"
        f"Host: localhost\r\nAuthorization: token {kernel.web.token}\r\n"
        f"Content-Length: {MIB}\r\n\r\n".encode()
        + b" " * (MIB - 1)
    )
    return made


def frame(kernel: Kernel) -> socket.socket:
    """Send the beginning of such a message to a WebSocket."""
    made = kernel.socket().ws.sock
    assert made is not None
    head = struct.pack(">BBQ4x", 0x81, 0x80 | 127, MIB)
    made.sendall(head + b" " * (MIB - 1))
    return made


def execute(kernel: Kernel, code: str) -> Answer:
    return kernel.web.post(f"/api/kernels/{kernel.id}/execute", {"code": code})


def held_bytes(owner: Kernel | Workspace) -> int:
    """Return the counted bytes that were received and not taken."""
    reported = owner.web.get("/metrics").body.decode()
    found = re.search(r"^hearth_http_held_bytes (\d+)$", reported, re.M)
    assert found
    return int(found[1])


@pytest.mark.parametrize("some", [body, frame])
def test_requests_of_all_clients_together_are_bounded(
    small: Kernel, some: Callable[[Kernel], socket.socket]
) -> None:
    held = [some(small), some(small)]
    try:
        # 64 KiB of each count nothing.
        both = 2 * (MIB - 1 - (64 << 10))
        wait_for(lambda: held_bytes(small) == both, "both of them")
        answer = execute(small, "#" * (MIB // 2))
        assert answer.status == 503, answer
        assert answer.headers["Retry-After"] == "5"
        assert "try again later" in answer.json["message"]
        # What is small is served all the same, here and there.
        assert execute(small, "1").status == 202
        with small.socket() as ws:
            assert ws.value("1 + 1") == "2"
            ws.execute("#" * (MIB // 2))
            with pytest.raises(Closed) as closed:
                ws.until(lambda message: False)
        assert closed.value.code == 1013
        assert "try again later" in closed.value.text
    finally:
        for one in held:
            one.close()
    wait_for(lambda: held_bytes(small) == 0, "room again")
    assert execute(small, "#" * (MIB // 2)).status == 202


def test_taken_bytes_no_longer_count(small: Kernel) -> None:
    """Ten times as much as there is room for, one after the other."""
    code = "#" * (MIB // 2)
    with small.socket() as ws:
        for number in range(20):
            assert execute(small, f"{number}{code}").status == 202
            assert ws.value(f"{number}{code}") == str(number)
