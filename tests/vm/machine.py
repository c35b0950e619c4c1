"""One virtual machine: qemu, its monitor, and the line that commands go over.

What runs in it reads commands from the second serial line and answers with
what they print and their status (image.py installs it). States of the whole
machine, memory included, are kept in its disk by name.
"""

from __future__ import annotations

import json
import re
import select
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Optional

QEMU = "qemu-system-x86_64"
READY = "@ready"
DONE = "@done "
# A serial line that is not read for long is no reason to stop the machine.
KERNEL = (
    "root=/dev/vda rw console=ttyS0 quiet loglevel=3 panic=-1 "
    "systemd.unified_cgroup_hierarchy=1 systemd.show_status=no "
)
# By emulation each branch costs; what guards against other guests is no test.
EMULATED = "mitigations=off tsc=reliable clocksource=tsc"


class MachineError(Exception):
    """The machine did not execute its command."""


KVM = ["-accel", "kvm", "-cpu", "host,-arch-capabilities"]
# 57 bits of addresses would be one more table for each miss.
TCG = ["-accel", "tcg,thread=multi,tb-size=1024", "-cpu", "max,la57=off"]


def accelerate(folder: Path) -> list[str]:
    """KVM where it runs a kernel: it may be there and not do so, in a machine
    that is itself a guest. Asked once for a folder."""
    asked = folder / "accelerator"
    if not asked.exists():
        can = Path("/dev/kvm").exists() and runs_a_kernel(folder, KVM)
        asked.write_text("kvm" if can else "tcg")
    return KVM if asked.read_text() == "kvm" else TCG


def runs_a_kernel(folder: Path, how: list[str]) -> bool:
    command = [QEMU, *how, "-m", "512", "-display", "none", "-nodefaults"]
    command += ["-no-reboot", "-serial", "stdio", "-kernel", "vmlinuz"]
    command += ["-append", "console=ttyS0 panic=-1"]
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=20,
        )
    except subprocess.TimeoutExpired as error:
        return b"Linux version" in (error.stdout or b"")
    return b"Linux version" in done.stdout


def arguments(how: list[str]) -> list[str]:
    """All but the disks: part of what a kept state depends on."""
    emulated = EMULATED if "tcg" in how[1] else ""
    return [
        *(QEMU, *how, "-m", "3072", "-smp", "2"),
        *("-display", "none", "-nodefaults", "-no-reboot"),
        *("-device", "virtio-rng-pci"),
        *("-kernel", "vmlinuz", "-initrd", "initrd.img"),
        *("-append", (KERNEL + emulated).strip()),
    ]


class Machine:
    """From its start to its end; `state`: as it was when that was kept."""

    def __init__(
        self, folder: Path, how: list[str], disk: str, ours: str, state: str
    ) -> None:
        self.sockets = tempfile.TemporaryDirectory(prefix="hv-")
        at = Path(self.sockets.name)
        command = ["nice", "-n", "5", *arguments(how)]
        for name in ("agent", "monitor"):
            place = f"path={at / name},server=on,wait=on"
            command += ["-chardev", f"socket,id={name},{place}"]
        command += ["-serial", "file:console.log", "-serial", "chardev:agent"]
        command += ["-mon", "chardev=monitor,mode=control"]
        command += [
            "-drive",
            f"file={disk},format=qcow2,if=virtio,cache=unsafe",
            "-drive",
            f"file={ours},format=raw,if=virtio,readonly=on",
        ]
        if state:
            command += ["-loadvm", state]
        with (folder / "qemu.log").open("w") as said:
            self.process = subprocess.Popen(
                command, cwd=folder, stdin=subprocess.DEVNULL, stderr=said
            )
        self.pending = b""
        try:
            self.agent = self.connect(at / "agent")
            self.monitor = self.connect(at / "monitor").makefile("rw")
            self.monitor.readline()
            self.ask("qmp_capabilities")
        except BaseException:
            self.close()
            raise

    def connect(self, path: Path) -> socket.socket:
        end = time.monotonic() + 60
        while True:
            made = socket.socket(socket.AF_UNIX)
            try:
                made.connect(str(path))
                return made
            except OSError:
                made.close()
            if self.process.poll() is not None or time.monotonic() > end:
                raise MachineError("qemu does not start")
            time.sleep(0.05)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        self.sockets.cleanup()

    def __enter__(self) -> Machine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- the monitor --

    def ask(self, command: str, **arguments: Any) -> Any:
        self.monitor.write(
            json.dumps({"execute": command, "arguments": arguments}) + "\n"
        )
        self.monitor.flush()
        while True:
            line = self.monitor.readline()
            if not line:
                raise MachineError("qemu has ended")
            answer = json.loads(line)
            if "error" in answer:
                raise MachineError(answer["error"]["desc"])
            if "return" in answer:
                return answer["return"]

    def keep(self, state: str) -> None:
        said = self.ask(
            "human-monitor-command", **{"command-line": f"savevm {state}"}
        )
        if said.strip():
            raise MachineError(said.strip())

    # -- the line of commands --

    def lines(self, seconds: float, idle: Callable[[], None]) -> Iterator[str]:
        """As they come; calls `idle` when a while has passed without one."""
        end = time.monotonic() + seconds
        while True:
            line, found, rest = self.pending.partition(b"\n")
            if found:
                self.pending = rest
                yield line.decode(errors="replace").rstrip("\r")
                continue
            if time.monotonic() > end:
                raise MachineError(f"not within {seconds:.0f} s")
            ready, _, _ = select.select([self.agent], [], [], 5)
            idle()
            if ready:
                data = self.agent.recv(65536)
                if not data:
                    raise MachineError("qemu has ended; see console.log")
                self.pending += data

    def wait_ready(self, seconds: float, idle: Callable[[], None]) -> None:
        for line in self.lines(seconds, idle):
            if line == READY:
                return

    def run(
        self,
        command: str,
        seconds: float,
        heard: Optional[Callable[[str], None]] = None,
        idle: Callable[[], None] = lambda: None,
    ) -> int:
        """A command's status; `heard` gets each line of what it prints."""
        self.agent.sendall(command.encode() + b"\n")
        for line in self.lines(seconds, idle):
            status = re.fullmatch(re.escape(DONE) + r"(\d+)", line)
            if status:
                return int(status[1])
            if heard:
                heard(line)
        raise AssertionError("unreachable")
