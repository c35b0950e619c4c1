"""Clients that vanish without a word: no FIN, no RST, no answer to a probe.
They are at the other end of a cable that is pulled."""

from __future__ import annotations

import ctypes
import os
import shutil
import socket
import subprocess
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Callable

import pytest
import websocket
from deadline import wait_for
from harness import Gateway
from web import Kernel, Web, text_of

CLONE_NEWNET = 0x40000000
OURS, THEIRS = "10.213.77.1", "10.213.77.2"


def ip(*words: str, check: bool = True) -> bool:
    done = subprocess.run(["ip", *words], capture_output=True, text=True)
    assert done.returncode == 0 or not check, done.stderr
    return done.returncode == 0


class Cable:
    """Another network, and the cable that leads there."""

    def __init__(self) -> None:
        self.name = "hearth-" + uuid.uuid4().hex[:6]
        self.plug = "h" + uuid.uuid4().hex[:8]

    def lay(self) -> bool:
        if not shutil.which("ip") or not ip(
            "netns", "add", self.name, check=False
        ):
            return False
        inside = ("-n", self.name)
        ip("link", "add", self.plug, "type", "veth", "peer", "name", "far0",
           "netns", self.name)  # fmt: skip
        ip("addr", "add", f"{OURS}/30", "dev", self.plug)
        ip("link", "set", self.plug, "up")
        ip(*inside, "addr", "add", f"{THEIRS}/30", "dev", "far0")
        ip(*inside, "link", "set", "far0", "up")
        return True

    def pull(self) -> None:
        ip("-n", self.name, "link", "set", "far0", "down")

    def remove(self) -> None:
        ip("netns", "del", self.name, check=False)
        ip("link", "del", self.plug, check=False)

    def connect(self, web: Web) -> socket.socket:
        """A socket of that network: a thread goes there for it."""
        made: list[socket.socket] = []

        def go() -> None:
            fd = os.open(f"/run/netns/{self.name}", os.O_RDONLY)
            try:
                libc = ctypes.CDLL(None, use_errno=True)
                assert libc.setns(fd, CLONE_NEWNET) == 0, ctypes.get_errno()
                made.append(socket.create_connection((web.host, web.port), 30))
            finally:
                os.close(fd)

        thread = threading.Thread(target=go)
        thread.start()
        thread.join()
        return made[0]


@pytest.fixture(scope="module")
def cable() -> Iterator[Cable]:
    laid = Cable()
    if not laid.lay():
        pytest.skip("no network namespaces: they need root and `ip`")
    yield laid
    laid.remove()


@pytest.fixture(scope="module")
def gateway(cable: Cable) -> Iterator[Gateway]:
    made = Gateway()
    made.start(
        *("--set", f"http/ip={OURS}"),
        *("--set", "http/peer_timeout=2s"),
        *("--set", "http/ping_interval=1s"),
    )
    yield made
    made.end()


def connections(web: Web) -> int:
    """Without the one that asks."""
    for line in web.get("/metrics").body.decode().splitlines():
        if line.startswith("hearth_http_connections "):
            return int(line.split()[1]) - 1
    raise AssertionError("no hearth_http_connections")


def attach(
    web: Web, kernel: str, through: socket.socket
) -> websocket.WebSocket:
    return websocket.create_connection(
        f"ws://{web.host}:{web.port}/api/kernels/{kernel}/channels",
        socket=through,
        header=[f"Authorization: token {web.token}"],
    )


def silent(web: Web, kernel: str, through: socket.socket) -> None:
    """A WebSocket that is pinged."""
    attach(web, kernel, through)


def between_two_requests(web: Web, kernel: str, through: socket.socket) -> None:
    through.sendall(b"GET /api HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert through.recv(9) == b"HTTP/1.1 "


def within_a_request(web: Web, kernel: str, through: socket.socket) -> None:
    through.sendall(b"GET /api HTTP/1.1\r\nHost: loc")


def waiting_for_events(web: Web, kernel: str, through: socket.socket) -> None:
    through.sendall(
        f"GET /hearth/sessions/{kernel}/events?follow=1 HTTP/1.1\r\n"
        f"Host: localhost\r\nAuthorization: token {web.token}\r\n\r\n".encode()
    )
    assert through.recv(9) == b"HTTP/1.1 "


def without_a_word(web: Web, kernel: str, through: socket.socket) -> None:
    pass


def test_a_vanished_client_is_disconnected(cable: Cable, web: Web) -> None:
    kernel = Kernel(web, web.create())
    # One that is as silent, but there: its system answers the probes.
    here = kernel.socket().ready()
    before = connections(web)
    kinds: list[Callable[[Web, str, socket.socket], None]] = [
        silent,
        between_two_requests,
        within_a_request,
        waiting_for_events,
        without_a_word,
    ]
    theirs = []
    for kind in kinds:
        theirs.append(cable.connect(web))
        kind(web, kernel.id, theirs[-1])
    assert connections(web) == before + len(kinds)
    shown = web.get(f"/api/kernels/{kernel.id}").json
    assert shown["connections"] == 2
    cable.pull()
    wait_for(lambda: connections(web) == before, "the others gone")
    shown = web.get(f"/api/kernels/{kernel.id}").json
    assert shown["connections"] == 1
    assert text_of(here.run("print('here')")) == "here\n"
    kernel.close()
    for one in theirs:
        one.close()


def test_the_budget_is_reported(gateway: Gateway, web: Web) -> None:
    reported = gateway.info()["descriptors"]
    limits = Path(f"/proc/{gateway.pid}/limits").read_text().splitlines()
    soft = next(line.split()[3] for line in limits if "open files" in line)
    assert reported["limit"] == int(soft)
    shared = int(soft) - 256
    left = max(shared - 1000 * 19, min(max(shared // 32, 64), shared // 4))
    assert reported["connections"] == min(4096, left)
    assert (
        reported["sessions"]
        == (int(soft) - 256 - reported["connections"]) // 19
    )
    shown = f"hearth_http_connections_max {reported['connections']}\n"
    assert shown in web.get("/metrics").body.decode()


def test_connections_beyond_the_budget_are_refused() -> None:
    gateway = Gateway()
    gateway.prefix = ["prlimit", "--nofile=296:296"]
    clients = []
    try:
        gateway.start()
        web = Web.of(gateway)
        assert gateway.info()["descriptors"] == {
            "limit": 296,
            "sessions": 1,
            "connections": 10,
        }
        for _ in range(10):
            clients.append(socket.create_connection((web.host, web.port)))
        with socket.create_connection((web.host, web.port)) as more:
            more.settimeout(30)
            assert more.recv(12) == b"HTTP/1.1 503"
        clients.pop().close()
        wait_for(lambda: web.get("/api").status == 200, "room again")
    finally:
        for client in clients:
            client.close()
        gateway.end()
