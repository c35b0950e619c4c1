"""A gateway that has ended: its file is still there, and another program may
have its port. It gets no token and no code."""

from __future__ import annotations

import asyncio
import errno
import http.server
import json
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, Callable, Iterator, Optional

import hearth
import pytest
from deadline import DEADLINE
from harness import Gateway
from hearth import _address

ENDED = "has ended.*hearth gateway start"


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.server.asked.append(  # type: ignore[attr-defined]
            self.headers["Authorization"]
        )
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(b"[]")

    do_POST = do_GET

    def log_message(self, *_: object) -> None:
        pass


class Server(http.server.ThreadingHTTPServer):
    """Answers like a gateway without sessions, and keeps the tokens."""

    def __init__(self, port: int = 0) -> None:
        self.asked: list[str] = []
        super().__init__(("127.0.0.1", port), Handler)
        self.thread = threading.Thread(target=self.serve_forever)
        self.thread.start()

    def end(self) -> None:
        self.shutdown()
        self.thread.join()
        self.server_close()


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.end()


class Folder:
    """The runtime folder of a gateway: this process, until it ends."""

    def __init__(self, path: Path, port: int) -> None:
        self.path = path
        self.port = port
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(path / "management.sock"))
        self.listener.listen(64)  # more than a test makes
        self.write(os.getpid())

    def write(self, pid: int, token: str = "s3cret") -> None:
        file = self.path / "http.json"
        url = f"http://127.0.0.1:{self.port}/"
        file.write_text(json.dumps({"url": url, "token": token, "pid": pid}))
        file.chmod(0o600)


@pytest.fixture
def folder(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Folder]:
    monkeypatch.setenv("HEARTH_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.delenv("HEARTH_URL", raising=False)
    made = Folder(tmp_path, server.server_port)
    yield made
    made.listener.close()


def _ask_sync(change: Callable[[], Any]) -> None:
    with hearth.connect(retry_seconds=0.1) as gateway:
        assert gateway.sessions() == []
        change()
        gateway.sessions()


def _ask_async(change: Callable[[], Any]) -> None:
    async def work() -> None:
        async with hearth.aio.connect(retry_seconds=0.1) as gateway:
            assert await gateway.sessions() == []
            change()
            await gateway.sessions()

    asyncio.run(work())


either = pytest.mark.parametrize(
    "ask", [_ask_sync, _ask_async], ids=["sync", "async"]
)
Ask = Callable[[Callable[[], Any]], None]


@either
def test_one_that_ends_gets_nothing_more(
    folder: Folder, server: Server, ask: Ask
) -> None:
    with pytest.raises(hearth.GatewayNotFound, match=ENDED):
        ask(folder.listener.close)
    assert server.asked == ["Bearer s3cret"]


@either
def test_a_file_of_another_process(
    folder: Folder, server: Server, ask: Ask
) -> None:
    """One listens, but it has not written this file."""
    with pytest.raises(hearth.GatewayNotFound, match=ENDED):
        ask(lambda: folder.write(os.getppid()))
    assert server.asked == ["Bearer s3cret"]


@either
def test_the_next_one_is_found(
    folder: Folder, server: Server, ask: Ask
) -> None:
    ask(lambda: folder.write(os.getpid(), "next"))
    assert server.asked == ["Bearer s3cret", "Bearer next"]


@either
def test_one_that_ends_while_it_is_connected_to(
    folder: Folder, server: Server, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anything is sent it is looked for once more, and found anew."""
    looks: list[bool] = []

    def look(_: Path, pid: int) -> Optional[int]:
        # Found, connected; looked for, ended, found, connected.
        looks.append(len(looks) != 3)
        return pid if looks[-1] else None

    monkeypatch.setattr(_address, "_listener", look)
    ask(lambda: None)
    assert looks == [True, True, True, False, True, True]
    assert len(server.asked) == 2


def test_a_full_backlog_is_no_end(folder: Folder, server: Server) -> None:
    waiting, full = [], 0
    while full == 0:
        waiting.append(socket.socket(socket.AF_UNIX))
        waiting[-1].setblocking(False)
        full = waiting[-1].connect_ex(str(folder.path / "management.sock"))
    _ask_sync(lambda: None)
    for one in waiting:
        one.close()
    assert full == errno.EAGAIN
    assert len(server.asked) == 2


def test_a_url_is_used_as_it_is(
    folder: Folder, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.listener.close()
    url = f"http://127.0.0.1:{server.server_port}"
    with hearth.connect(url, "given") as gateway:
        assert gateway.sessions() == []
    monkeypatch.setenv("HEARTH_URL", url)
    monkeypatch.setenv("HEARTH_TOKEN", "of the environment")
    _ask_sync(lambda: None)
    assert server.asked[0] == "Bearer given"
    assert set(server.asked[1:]) == {"Bearer of the environment"}


def take_port(alone: Gateway, gateway: hearth.Gateway) -> Server:
    """Kill the gateway, and serve in its place. Programs of other tests get
    ports from the system, too, and may be faster."""
    while True:
        assert gateway.sessions() == []
        port = int(gateway.url().rstrip("/").rpartition(":")[2])
        alone.kill()
        try:
            return Server(port)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
        alone.start()


def test_another_program_has_its_port(alone: Gateway) -> None:
    """A gateway that was killed, found by the program."""
    with hearth.connect(retry_seconds=0.1) as gateway:
        thief = take_port(alone, gateway)
        try:
            with pytest.raises(hearth.GatewayNotFound):
                gateway.session()
        finally:
            thief.end()
        assert thief.asked == []
        alone.start()
        assert gateway.sessions() == []


def test_one_of_another_pid_namespace(folder: Folder, server: Server) -> None:
    """As a container sees the gateway outside, whose folder it mounts. It says
    what helps, and not that the gateway has ended."""
    program = (
        "import hearth\n"
        "try: hearth.connect(retry_seconds=0.1).sessions()\n"
        "except hearth.GatewayNotFound as error: print(error)"
    )
    own = ("--user", "--map-root-user", "--pid", "--fork", "--kill-child")
    done = subprocess.run(
        ("/usr/bin/unshare", *own, "--", sys.executable, "-c", program),
        env={**os.environ, "PYTHONPATH": str(Path(hearth.__file__).parents[1])},
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        check=False,
    )
    assert "runs in another PID namespace" in done.stdout, done
    assert "HEARTH_URL and HEARTH_TOKEN" in done.stdout, done
    assert "ended" not in done.stdout
    assert server.asked == []
