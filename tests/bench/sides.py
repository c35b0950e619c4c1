"""What is measured: gateways and kernels, each with the same `start`."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional, Protocol

import zmq
from clients import PATIENCE_MS, BenchError, Client, Signer
from figures import OURS, THEIRS
from processes import descendants, kill

STARTS = 3
NO_POOL = "profile\n    python3\n        pool\n            max = 0\n"
REST_S = 0.1  # an ended session is removed after the answer
WELCOME_MS = 60_000  # how long a start of other kernels may take
LAUNCH = ("-m", "ipykernel_launcher", "-f")

Context = zmq.Context[zmq.Socket[bytes]]


def free_ports(count: int) -> list[int]:
    """Return TCP ports, all different, that were free a moment ago."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [int(each.getsockname()[1]) for each in sockets]


@dataclass
class Kernel:
    """One running kernel and how to talk to it."""

    client: Client
    pid: int
    end: Callable[[], None]
    id: str = ""  # of a session


class Side(Protocol):
    """One row's column."""

    name: str

    def settle(self) -> None:
        """Returns when a start meets nothing that the one before has left."""

    def start(self) -> Kernel:
        """Returns as soon as it may be asked."""

    def processes(self, kernels: list[Kernel]) -> list[int]:
        """All that there is because of these kernels."""


class Ipykernel:
    """Each kernel is a process of its own."""

    name = "ipykernel"
    python = Path(sys.executable)
    launch = LAUNCH

    def __init__(
        self, context: Context, scratch: Path, transport: str = "tcp"
    ) -> None:
        self.context = context
        self.scratch = scratch
        self.transport = transport

    def settle(self) -> None:
        """Wait until killed processes are gone."""

    def start(self) -> Kernel:
        """Start a kernel; return as soon as it accepts requests."""
        # A free port may be in use by the time it is bound.
        for _ in range(STARTS - 1):
            with suppress(BenchError):
                return self.start_once(WELCOME_MS // STARTS)
        return self.start_once(WELCOME_MS // STARTS)

    def start_once(self, patience_ms: int) -> Kernel:
        connection = self.connection()
        path = self.scratch / f"ipykernel-{uuid.uuid4().hex}.json"
        path.write_text(json.dumps(connection))
        process = subprocess.Popen(
            self.command(path),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        client = Client(self.context, connection)

        def end() -> None:
            client.close()
            kill_descendants(process)
            path.unlink()

        try:
            client.wait_for_welcome(patience_ms)
        except BaseException:
            end()
            raise
        return Kernel(client, process.pid, end)

    def command(self, connection_file: Path) -> list[str]:
        return [
            *self.wrapper(),
            str(self.python),
            *self.launch,
            str(connection_file),
        ]

    def wrapper(self) -> list[str]:
        """Return the command that starts the kernel's command."""
        return []

    def connection(self) -> dict[str, Any]:
        names = ("shell", "iopub", "stdin", "control", "hb")
        if self.transport == "ipc":
            ports = list(range(1, len(names) + 1))
            place = str(self.scratch / uuid.uuid4().hex)
        else:
            ports = free_ports(len(names))
            place = "127.0.0.1"
        return {
            **{f"{name}_port": port for name, port in zip(names, ports)},
            "ip": place,
            "transport": self.transport,
            "key": uuid.uuid4().hex,
            "signature_scheme": "hmac-sha256",
            "kernel_name": "python3",
        }

    def processes(self, kernels: list[Kernel]) -> list[int]:
        """All that there is because of these kernels."""
        return [pid for kernel in kernels for pid in descendants(kernel.pid)]


class Hearth:
    """One gateway; a session is asked for on its management socket."""

    name = "hearth"

    def __init__(
        self,
        context: Context,
        program: Path,
        scratch: Path,
        cgroups: str = "auto",
        has_pool: bool = True,
        transport: str = "tcp",
        settings: str = "",
    ) -> None:
        self.context = context
        self.program = program
        self.cgroups = cgroups
        self.has_pool = has_pool
        self.transport = transport
        self.scratch = scratch
        self.runtime = scratch / "run"
        config = scratch / "hearth.cfg"
        config.write_text(
            f"gateway\n    cgroups = {cgroups}\n    transport = {transport}\n"
            "sessions\n    idle_timeout = 1h\n    sessions_max = 20000\n"
            + ("" if has_pool else NO_POOL)
            + settings
        )
        self.log = (scratch / "gateway.log").open("wb")
        self.process = subprocess.Popen(
            [str(program), "serve"],
            env={
                **os.environ,
                "HEARTH_PYTHON": sys.executable,
                "HEARTH_RUNTIME_DIR": str(self.runtime),
                "HEARTH_STATE_DIR": str(scratch / "state"),
                "HEARTH_CONFIG": str(config),
            },
            stdin=subprocess.DEVNULL,
            stdout=self.log,
            stderr=self.log,
        )
        try:
            self.connect()
            self.wait_until_warm()
        except BaseException:
            self.stop()
            raise

    @contextmanager
    def another(
        self,
        has_pool: bool = True,
        transport: str = "tcp",
        settings: str = "",
        top: Optional[Path] = None,
    ) -> Iterator[Hearth]:
        """Start another gateway; without a pool it forks each session.

        `settings` are more of its configuration, and `top` is where it writes.
        """
        scratch = Path(tempfile.mkdtemp(dir=top or self.scratch))
        other = Hearth(
            self.context,
            self.program,
            scratch,
            self.cgroups,
            has_pool,
            transport,
            settings,
        )
        try:
            yield other
        finally:
            other.stop()

    def connect(self) -> None:
        key = self.runtime / "management.key"
        path = self.runtime / "management.sock"
        deadline = time.monotonic() + 30
        while not (path.exists() and key.exists()):
            if time.monotonic() > deadline or self.process.poll() is not None:
                raise BenchError("the gateway did not start")
            time.sleep(0.02)
        self.signer = Signer(key.read_text().strip())
        self.management = self.context.socket(zmq.DEALER)
        self.management.setsockopt(zmq.LINGER, 0)
        self.management.connect(f"ipc://{path}")

    def ask(self, kind: str, content: dict[str, Any]) -> dict[str, Any]:
        msg_id, frames = self.signer.request(f"{kind}_request", content)
        self.management.send_multipart(frames)
        while True:
            if not self.management.poll(PATIENCE_MS):
                raise BenchError(f"no answer to {kind}")
            _, parent, raw = self.signer.open(self.management.recv_multipart())
            if parent == msg_id:
                break
        answer: dict[str, Any] = json.loads(raw)
        if answer["status"] != "ok":
            raise BenchError(f"{kind}: {answer.get('evalue')}")
        return answer

    def alive(self) -> int:
        return int(self.ask("gateway_info", {})["sessions"])

    def discard_all(self) -> None:
        for session in self.ask("session_list", {})["sessions"]:
            if session["state"] == "stopping":
                continue
            try:
                self.ask("session_delete", {"id": session["id"]})
            except BenchError as error:  # it was ending by itself
                if "is gone" not in str(error):
                    raise
        deadline = time.monotonic() + 120
        while self.alive():
            if time.monotonic() > deadline:
                raise BenchError(f"{self.alive()} sessions did not end")
            time.sleep(0.1)

    def wait_until_warm(self) -> None:
        deadline = time.monotonic() + 60
        while True:
            profile = self.ask("gateway_info", {})["profiles"][0]
            if profile["state"] == "ready":
                return
            if time.monotonic() > deadline:
                raise BenchError(f"no warm Python: {profile}")
            time.sleep(0.05)

    def start(self) -> Kernel:
        session = self.ask("session_create", {})["session"]
        connection = json.loads(Path(session["connection_file"]).read_text())
        client = Client(self.context, connection)

        def end() -> None:
            client.close()
            self.ask("session_delete", {"id": session["id"]})

        client.wait_for_welcome()
        return Kernel(client, session["pid"], end, session["id"])

    def pool(self) -> dict[str, int]:
        answer = self.ask("gateway_info", {})
        return dict(answer["profiles"][0]["pool"])

    def settle(self) -> None:
        """As full as the pool gets: with one that is being filled, some starts
        would come out of it and some by a fork, beside another fork."""
        deadline = time.monotonic() + 60
        while self.has_pool:
            pool = self.pool()
            if pool["ready"] >= pool["target"]:
                break
            if time.monotonic() > deadline:
                raise BenchError(f"the pool is not filled: {pool}")
            time.sleep(0.02)
        time.sleep(REST_S)

    def wait_until_settled(self) -> None:
        """The pool follows the arrivals of the last seconds: what it holds
        for those to come is not what a session takes."""
        deadline = time.monotonic() + 60
        while True:
            pool = self.pool()
            if pool["target"] <= 1 and pool["ready"] == pool["target"]:
                return
            if time.monotonic() > deadline:
                raise BenchError(f"the pool does not settle: {pool}")
            time.sleep(0.2)

    def processes(self, kernels: list[Kernel]) -> list[int]:
        """Gateway, warm Python and sessions; those of no use too."""
        self.wait_until_settled()
        return descendants(self.process.pid)

    def stop(self) -> None:
        if hasattr(self, "management"):
            try:
                self.ask("gateway_stop", {"end_sessions": True})
            except BenchError as error:
                print(f"bench: {error}", file=sys.stderr)
            self.management.close()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
        self.log.close()


def kill_descendants(process: subprocess.Popen[bytes]) -> None:
    """A process of others' and what it has started: none of it stays."""
    pids = descendants(process.pid)[1:] if process.poll() is None else []
    process.kill()
    process.wait()
    for pid in pids:
        kill(pid)


@contextmanager
def kernel_of(side: Side) -> Iterator[Kernel]:
    kernel = side.start()
    try:
        yield kernel
    finally:
        kernel.end()


@contextmanager
def permitted(name: str) -> Iterator[None]:
    """Print failures of other kernels, which are left out of this round.
    Without hearth or ipykernel there is no comparison."""
    try:
        yield
    except BenchError as error:
        if name in (OURS, THEIRS):
            raise
        print(
            f"bench: {name} is left out of this round: {error}",
            file=sys.stderr,
        )


@contextmanager
def kernel_of_each(sides: list[Side]) -> Iterator[list[tuple[str, Kernel]]]:
    with ExitStack() as stack:
        kernels = []
        for side in sides:
            with permitted(side.name):
                kernels.append(
                    (side.name, stack.enter_context(kernel_of(side)))
                )
        yield kernels
