"""Where else a kernel can be: beside hearth and a bare ipykernel those that
this machine has. One that is missing is named, and is no failure."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
import urllib.request
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from clients import BenchError, Client
from ending import end_family
from processes import descendants
from sides import (
    LAUNCH,
    WELCOME_MS,
    Context,
    Ipykernel,
    Kernel,
    Side,
    free_ports,
)

ROOT = Path(__file__).resolve().parents[2]
PEERS = ROOT / ".venv-peers/bin"
XEUS = ROOT / ".venv-xeus/bin/python"


class Bubblewrap(Ipykernel):
    """ipykernel in a sandbox that is nearly hearth's."""

    name = "bwrap + ipykernel"

    def wrapper(self) -> list[str]:
        return [
            "bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc",
            "--tmpfs", "/tmp", "--bind", str(self.scratch), str(self.scratch),
            "--unshare-all", "--share-net", "--die-with-parent",
        ]  # fmt: skip


class Runsc(Ipykernel):
    """ipykernel on gVisor's kernel."""

    name = "runsc + ipykernel"

    def wrapper(self) -> list[str]:
        return ["runsc", "--rootless", "--network=host", "do"]


class Xeus(Ipykernel):
    """The native kernel, with IPython's shell; it is not among the peers'
    packages: `python3 -m venv .venv-xeus` and `pip install xeus-python pandas
    matplotlib` there."""

    name = "xeus-python"
    python = XEUS
    launch = ("-m", "xpython_launcher", "-f")


class KernelGateway:
    """Jupyter Kernel Gateway: asked for a kernel by HTTP; then spoken to on
    the kernel's own ports, so that all sides have the same client."""

    name = "kernel gateway"

    def __init__(self, context: Context, scratch: Path) -> None:
        self.context = context
        self.runtime = scratch / "kg-runtime"
        port = free_ports(1)[0]
        self.base = f"http://127.0.0.1:{port}"
        spec = scratch / "kg/kernels/bench"
        spec.mkdir(parents=True)
        (spec / "kernel.json").write_text(
            json.dumps(
                {
                    "argv": [sys.executable, *LAUNCH, "{connection_file}"],
                    "display_name": "bench",
                    "language": "python",
                }
            )
        )
        self.process = subprocess.Popen(
            [
                str(PEERS / "jupyter-kernelgateway"),
                f"--KernelGatewayApp.port={port}",
                "--KernelGatewayApp.auth_token=",
            ],
            env={
                **os.environ,
                "JUPYTER_PATH": str(scratch / "kg"),
                "JUPYTER_RUNTIME_DIR": str(self.runtime),
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.wait_until_up()

    def wait_until_up(self) -> None:
        deadline = time.monotonic() + 60
        while True:
            try:
                urllib.request.urlopen(self.base + "/api", timeout=5).close()
                return
            except OSError:
                if time.monotonic() > deadline or self.process.poll():
                    self.stop()
                    raise BenchError("the kernel gateway is not up") from None
                time.sleep(0.05)

    def ask(self, method: str, path: str = "", body: Any = None) -> Any:
        request = urllib.request.Request(
            f"{self.base}/api/kernels{path}",
            method=method,
            data=json.dumps(body).encode() if body else None,
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.loads(answer.read() or b"null")
        except OSError as error:
            raise BenchError(f"{method} of a kernel: {error}") from None

    def settle(self) -> None:
        """A kernel is gone when that is answered."""

    def start(self) -> Kernel:
        kernel = self.ask("POST", body={"name": "bench"})["id"]
        path = self.runtime / f"kernel-{kernel}.json"
        client = Client(self.context, json.loads(path.read_text()))

        def end() -> None:
            client.close()
            # What does not end like that ends with the gateway.
            with suppress(BenchError):
                self.ask("DELETE", f"/{kernel}")

        try:
            client.wait_for_welcome(WELCOME_MS)
        except BaseException:
            end()
            raise
        return Kernel(client, self.process.pid, end)

    def processes(self, kernels: list[Kernel]) -> list[int]:
        return descendants(self.process.pid)

    def stop(self) -> None:
        end_family(self.process)


def works(side: Ipykernel) -> bool:
    """Whether the wrapper can start anything here."""
    done = subprocess.run([*side.wrapper(), "true"], capture_output=True)
    return done.returncode == 0


def others(context: Context, scratch: Path, stack: ExitStack) -> list[Side]:
    found: list[Side] = []
    missing = []
    if XEUS.exists():
        found.append(Xeus(context, scratch))
    else:
        missing.append("xeus-python in .venv-xeus")
    for kind in (Bubblewrap, Runsc):
        side = kind(context, scratch)
        program = side.wrapper()[0]
        if shutil.which(program) and works(side):
            found.append(side)
        else:
            missing.append(program)
    if (PEERS / "jupyter-kernelgateway").exists():
        gateway = KernelGateway(context, scratch)
        stack.callback(gateway.stop)
        found.append(gateway)
    else:
        missing.append("jupyter-kernelgateway in .venv-peers")
    if missing:
        print(f"not beside it, since not here: {', '.join(missing)}")
    return found
