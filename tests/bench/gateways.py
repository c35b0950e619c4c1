"""hearth beside Jupyter Kernel Gateway, over HTTP and WebSockets.

The same client for both, and the same Python in the kernels. Kernel Gateway
is that of .venv-peers; without it the rows have one side.
"""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import websocket
from clients import BenchError
from figures import THEIRS, Figure, percentile
from measures import IMPORTS

ROOT = Path(__file__).resolve().parents[2]
KERNEL_GATEWAY = ROOT / ".venv-peers/bin/jupyter-kernelgateway"
TOKEN = "of-the-benchmark"
SPEC = "measured"
PATIENCE = 60.0


class Web:
    """One gateway, however it was started."""

    def __init__(self, name: str, port: int, kernel_name: str) -> None:
        self.name = name
        self.port = port
        self.kernel_name = kernel_name

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        connection = http.client.HTTPConnection(
            "127.0.0.1", self.port, timeout=PATIENCE
        )
        try:
            connection.request(
                method,
                path,
                None if body is None else json.dumps(body),
                {"Authorization": f"token {TOKEN}"},
            )
            answer = connection.getresponse()
            text = answer.read()
        finally:
            connection.close()
        if answer.status >= 300:
            raise BenchError(f"{self.name}: {path}: {answer.status} {text!r}")
        return json.loads(text) if text else None

    @contextmanager
    def kernel(self) -> Iterator[Channels]:
        made = self.ask("POST", "/api/kernels", {"name": self.kernel_name})
        channels = Channels(self.port, made["id"])
        try:
            yield channels
        finally:
            channels.ws.close()
            self.ask("DELETE", f"/api/kernels/{made['id']}")


class Channels:
    """A WebSocket in Jupyter's default form, which both sides speak."""

    def __init__(self, port: int, kernel: str) -> None:
        self.ws = websocket.create_connection(
            f"ws://127.0.0.1:{port}/api/kernels/{kernel}/channels",
            timeout=PATIENCE,
            header=[f"Authorization: token {TOKEN}"],
            sockopt=[(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)],
        )

    def execute(self, code: str) -> list[dict[str, Any]]:
        """Until the reply and idle have come; what else came is whole."""
        msg_id = uuid.uuid4().hex
        self.ws.send(
            json.dumps(
                {
                    "channel": "shell",
                    "header": {
                        "msg_id": msg_id,
                        "msg_type": "execute_request",
                        "username": "bench",
                        "session": msg_id,
                        "version": "5.3",
                        "date": "",
                    },
                    "parent_header": {},
                    "metadata": {},
                    "content": {"code": code, "silent": False},
                    "buffers": [],
                }
            )
        )
        found: list[dict[str, Any]] = []
        is_idle = is_replied = False
        while not (is_idle and is_replied):
            message = json.loads(self.ws.recv())
            if message["parent_header"].get("msg_id") != msg_id:
                continue
            found.append(message)
            kind, content = message["msg_type"], message["content"]
            is_idle |= kind == "status" and content["execution_state"] == "idle"
            if kind == "execute_reply":
                is_replied = True
                if content["status"] != "ok":
                    raise BenchError(f"a cell failed: {content}")
        return found


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def write_spec(folder: Path) -> None:
    """A kernel of this Python's ipykernel, as on the other benchmark's side."""
    spec = folder / "kernels" / SPEC
    spec.mkdir(parents=True)
    (spec / "kernel.json").write_text(
        json.dumps(
            {
                "argv": [
                    sys.executable,
                    "-m",
                    "ipykernel_launcher",
                    "-f",
                    "{connection_file}",
                ],
                "display_name": SPEC,
                "language": "python",
            }
        )
    )


@contextmanager
def serving(
    name: str, words: list[str], env: dict[str, str], kernel_name: str
) -> Iterator[Web]:
    """The gateway's process; both take the same options."""
    port = free_port()
    process = subprocess.Popen(
        [*words, f"--KernelGatewayApp.port={port}"],
        env={"PATH": os.environ["PATH"], "KG_AUTH_TOKEN": TOKEN, **env},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    web = Web(name, port, kernel_name)
    end = time.monotonic() + PATIENCE
    try:
        while True:
            try:
                web.ask("GET", "/api/kernelspecs")
                break
            except OSError:
                if process.poll() is not None or time.monotonic() > end:
                    raise BenchError(f"{name} does not serve") from None
                time.sleep(0.05)
        with web.kernel() as warm:  # what is loaded once is loaded
            warm.execute(IMPORTS)
        yield web
    finally:
        process.terminate()
        process.wait(PATIENCE)


@contextmanager
def all_sides(program: Path, scratch: Path) -> Iterator[list[Web]]:
    base = scratch / "gateways"
    write_spec(base / "data")
    with ExitStack() as stack:
        webs = [
            stack.enter_context(
                serving(
                    "hearth",
                    [str(program), "kernelgateway"],
                    {
                        "HOME": str(base),
                        "HEARTH_PYTHON": sys.executable,
                        "HEARTH_RUNTIME_DIR": str(base / "r"),
                        "HEARTH_STATE_DIR": str(base / "s"),
                    },
                    "python3",
                )
            )
        ]
        if KERNEL_GATEWAY.exists():
            env = {
                "HOME": str(base),
                "JUPYTER_DATA_DIR": str(base / "data"),
                "JUPYTER_RUNTIME_DIR": str(base / "jr"),
                "JUPYTER_CONFIG_DIR": str(base / "jc"),
                "IPYTHONDIR": str(base / "ipython"),
            }
            webs.append(
                stack.enter_context(
                    serving(THEIRS, [str(KERNEL_GATEWAY)], env, SPEC)
                )
            )
        yield webs


def trips(channels: Channels, count: int) -> list[float]:
    times = []
    for _ in range(count):
        started = time.perf_counter()
        found = channels.execute("1+1")
        times.append(1000 * (time.perf_counter() - started))
        results = [m for m in found if m["msg_type"] == "execute_result"]
        if results[0]["content"]["data"]["text/plain"] != "2":
            raise BenchError("1+1 is not 2")
    return times


def measure_gateways(program: Path, scratch: Path, rounds: int) -> list[Figure]:
    first = Figure("HTTP: create -> first result, imports", "ms", "30x")
    middle = Figure("HTTP: 1+1 over a WebSocket, p50", "ms", "4x")
    slow = Figure("HTTP: 1+1 over a WebSocket, p99", "ms", "")
    with all_sides(program, scratch) as webs:
        for _ in range(rounds):
            for web in webs:
                started = time.perf_counter()
                with web.kernel() as channels:
                    channels.execute(IMPORTS)
                    seconds = time.perf_counter() - started
                first.add(web.name, 1000 * seconds)
        with ExitStack() as stack:
            kernels = [
                (web.name, stack.enter_context(web.kernel())) for web in webs
            ]
            for _, channels in kernels:
                trips(channels, 20)
            for _ in range(rounds):
                for name, channels in kernels:
                    times = trips(channels, 100)
                    middle.add(name, percentile(times, 0.5))
                    slow.add(name, percentile(times, 0.99))
    for figure in (first, middle, slow):
        figure.note = "theirs: Kernel Gateway with ipykernel"
    return [first, middle, slow]
