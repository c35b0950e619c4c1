"""The machine's disks: Debian's, with states of the machine in it, and ours.

Debian's is made once for a list of packages, and booted once: the state
`booted` is kept in it. Ours holds what `make install` installs and the tests;
it is unpacked there, and the state `installed` kept, from which each part
starts.
"""

from __future__ import annotations

import base64
import hashlib
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from machine import DONE, READY, Machine, MachineError, arguments

TOP = Path(__file__).resolve().parents[2]
PACKAGES = Path(__file__).with_name("packages").read_text().split()
AGENT = f"""\
#!/bin/bash
echo {READY}
while IFS= read -r line; do
    bash -c "$line" </dev/null 2>&1
    echo "{DONE}$?"
done
"""
UNIT = """\
[Unit]
After=multi-user.target systemd-user-sessions.service
[Service]
ExecStartPre=/usr/bin/stty -F /dev/ttyS1 raw -echo
ExecStart=/usr/local/sbin/agent
StandardInput=file:/dev/ttyS1
StandardOutput=file:/dev/ttyS1
StandardError=journal
[Install]
WantedBy=multi-user.target
"""
OURS_BYTES = 128 << 20  # always the same: a kept state knows it
SETUP = Path(__file__).with_name("setup.sh")
INSIDE = Path(__file__).with_name("inside.sh")
BOOT_SECONDS = 900
SETUP_SECONDS = 1800


def run(*command: str, cwd: Path = TOP) -> None:
    done = subprocess.run(
        command, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True
    )
    if done.returncode != 0:
        said = (done.stdout + done.stderr).decode(errors="replace")
        raise MachineError(f"{' '.join(command)}:\n{said[-2000:]}")


def short(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]


def write(path: Path, text: str, mode: int = 0o644) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)


class Image:
    """The disks in a folder, made where they are missing or old."""

    def __init__(
        self, folder: Path, build: Path, say: Callable[[str], None]
    ) -> None:
        self.folder = folder
        self.build = build
        self.say = say
        key = short(*PACKAGES, AGENT, UNIT)
        self.disk = f"debian-{key}.qcow2"
        self.ours = "ours.img"

    def make_debian(self) -> None:
        if (self.folder / self.disk).exists():
            return
        self.say("installing Debian; once for a list of packages")
        for old in self.folder.glob("debian-*"):
            old.unlink()
        root = self.folder / "root"
        shutil.rmtree(root, ignore_errors=True)
        run(
            "mmdebstrap",
            "--variant=minbase",
            "--include=" + ",".join(PACKAGES),
            "bookworm",
            str(root),
        )
        self.add_agent(root)
        for name, pattern in (
            ("vmlinuz", "vmlinuz-*"),
            ("initrd.img", "initrd.img-*"),
        ):
            shutil.copy(max((root / "boot").glob(pattern)), self.folder / name)
        self.make_disk(root, "new.img", 4 << 30)
        run(
            *("qemu-img", "convert", "-O", "qcow2", "new.img", "new.qcow2"),
            cwd=self.folder,
        )
        (self.folder / "new.img").unlink()
        shutil.rmtree(root)
        (self.folder / "new.qcow2").rename(self.folder / self.disk)

    def add_agent(self, root: Path) -> None:
        units = root / "etc/systemd/system"
        write(root / "usr/local/sbin/agent", AGENT, 0o755)
        write(units / "agent.service", UNIT)
        wants = units / "multi-user.target.wants"
        wants.mkdir(parents=True, exist_ok=True)
        (wants / "agent.service").symlink_to("../agent.service")
        # The lines are ours alone: a login there would hang them up.
        for line in ("ttyS0", "ttyS1"):
            (units / f"serial-getty@{line}.service").symlink_to("/dev/null")
        write(root / "etc/hostname", "machine\n")
        write(root / "etc/fstab", "/dev/vda / ext4 rw 0 0\n")

    def make_disk(self, root: Path, name: str, size: int) -> None:
        path = self.folder / name
        path.unlink(missing_ok=True)
        with path.open("wb") as file:
            file.truncate(size)
        run("mke2fs", "-q", "-t", "ext4", "-d", str(root), str(path))

    # -- ours --

    def make_ours(self) -> str:
        """Installs what is built now, the tests too; the key of it all."""
        self.say("make install")
        make = ("flock", str(self.build / ".lock"), "make", "-s", "-C")
        run(*make, str(self.build), "all")
        run(*make, str(self.build), "sandbox-tests")
        root = self.folder / "ours"
        shutil.rmtree(root, ignore_errors=True)
        run(*make, str(self.build), "install", f"DESTDIR={root}")
        for name in ("lib", "sandbox", "system"):
            self.copy(TOP / "tests" / name, root / "hearth/tests" / name)
        shutil.copy(SETUP, root / "hearth")
        for name in ("tests/sandbox", "sandbox"):
            self.copy(self.build / name, root / "hearth/build" / name)
        key = tree_key(root)
        self.make_disk(root, self.ours, OURS_BYTES)
        shutil.rmtree(root)
        return key

    @staticmethod
    def copy(source: Path, target: Path) -> None:
        shutil.copytree(
            source,
            target,
            ignore=shutil.ignore_patterns(
                *("*.o", "*.lo", "*.la", "*.log", "*.trs", ".*"),
                *("__pycache__", "node_modules"),
            ),
        )

    # -- the states --

    def key_of(self, state: str) -> Path:
        return self.folder / f"{state}.key"

    def has(self, state: str, key: str) -> bool:
        path = self.key_of(state)
        return path.exists() and path.read_text() == key

    def machine(self, how: list[str], state: str) -> Machine:
        return Machine(self.folder, how, self.disk, self.ours, state)

    def boot(self, how: list[str], key: str) -> None:
        self.say("booting; the state is kept for later runs")
        self.key_of("installed").unlink(missing_ok=True)
        self.key_of("booted").unlink(missing_ok=True)
        with self.machine(how, "") as machine:
            machine.wait_ready(BOOT_SECONDS, lambda: None)
            machine.run("systemctl is-system-running --wait", BOOT_SECONDS)
            machine.keep("booted")
        self.key_of("booted").write_text(key)

    def install(self, how: list[str], key: str) -> None:
        self.say("installing hearth")
        self.key_of("installed").unlink(missing_ok=True)
        heard: list[str] = []

        def hear(line: str) -> None:
            heard.append(line)
            (self.folder / "setup.log").write_text("\n".join(heard) + "\n")

        with self.machine(how, "booted") as machine:
            status = machine.run(
                "blockdev --flushbufs /dev/vdb && mount -r /dev/vdb /mnt"
                " && cp -a /mnt/. / && umount /mnt"
                " && bash /hearth/setup.sh",
                SETUP_SECONDS,
                hear,
            )
            status = status or self.inside(machine, "warm", SETUP_SECONDS, hear)
            if status != 0:
                raise MachineError("\n".join(["set-up failed:", *heard[-40:]]))
            machine.keep("installed")
        self.key_of("installed").write_text(key)

    @staticmethod
    def inside(
        machine: Machine,
        part: str,
        seconds: float,
        heard: Callable[[str], None],
        idle: Callable[[], None] = lambda: None,
    ) -> int:
        """The script as it is now, whatever the kept state has."""
        script = base64.b64encode(INSIDE.read_bytes()).decode()
        machine.run(f"echo {script} | base64 -d >/hearth/inside.sh", seconds)
        return machine.run(
            f"bash /hearth/inside.sh {part}", seconds, heard, idle
        )

    def prepare(self, how: list[str]) -> str:
        """Up to the state `installed`; the key of it and of the parts."""
        self.make_debian()
        ours = self.make_ours()
        booted = short(self.disk, qemu_version(), *arguments(how))
        installed = short(booted, ours)
        if not self.has("booted", booted):
            self.boot(how, booted)
        if not self.has("installed", installed):
            self.install(how, installed)
        return short(installed, INSIDE.read_text())


def qemu_version() -> str:
    return subprocess.run(
        [arguments(["", ""])[0], "--version"], capture_output=True, text=True
    ).stdout


def tree_key(root: Path) -> str:
    """Return a key of all files' names and contents."""
    found = hashlib.sha256()
    for path in sorted(root.rglob("*")):
        if path.is_file() and not path.is_symlink():
            found.update(str(path.relative_to(root)).encode() + b"\0")
            found.update(hashlib.sha256(path.read_bytes()).digest())
    return found.hexdigest()[:12]
