"""In the place of hearth_downloads.packages.worker: does what the first name of
its job says, and notes in the folder of the work that it began and ended."""

from __future__ import annotations

import json
import os
import re
import socket
import sys
import time
from pathlib import Path
from typing import Any

KINDS = (
    "many",
    "slow",
    "stubborn",
    "dies",
    "killed",
    "lingers",
    "long",
    "nojson",
    "empty",
    "wrong",
    "twice",
    "talks",
    "refused",
    "invalid",
    "conflict",
    "unreachable",
    "unknown",
)


class Worker:
    def __init__(self) -> None:
        self.socket = socket.socket(fileno=3)
        self.job = json.loads(self.socket.recv(65536))
        self.names = self.job["names"]
        self.work = Path(self.job["work"])
        self.note("began")

    def note(self, what: str) -> None:
        line = {"what": what, "pid": os.getpid(), "job": self.job}
        with (self.work / "log").open("a") as log:
            log.write(json.dumps(line) + "\n")

    def send(self, value: Any) -> None:
        text = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.socket.send(text)

    def ok(self, **lists: Any) -> None:
        self.send({"ok": {"packages": [], **lists}})

    def fault(self, ename: str) -> None:
        self.send({"fault": {"ename": ename, "text": f"it is {ename}"}})

    # What each beginning of a name does.

    def add(self, name: str) -> None:
        names = [re.split("[^a-z0-9-]", one)[0] for one in self.names]
        added = [{"name": one, "version": "1.0"} for one in names]
        listed = [{**one, "requested": True} for one in added]
        self.ok(packages=listed, added=added)

    def many(self, name: str) -> None:
        """One of each list."""
        old = {"name": "old", "version": "0.1"}
        here = {"name": "numpy", "version": "2.2.0"}
        changed = {"name": "x", "from": "1.0", "to": "1.1"}
        new = {"name": "humanize", "version": "4.17.0"}
        self.ok(
            packages=[
                {**new, "requested": True},
                {"name": "x", "version": "1.1", "requested": False},
            ],
            added=[{**new, "modules": ["human", "ize"]}],
            changed=[changed],
            removed=[old],
            present=[here],
            notes=["x 1.1 was yanked"],
        )

    def slow(self, name: str) -> None:
        """Until the test has made a file of that name, or its socket ends."""
        self.send({"progress": f"waiting for {name}"})
        self.socket.setblocking(False)
        while not (self.work / name).exists():
            try:
                has_ended = not self.socket.recv(1)
            except ConnectionResetError:  # progress was left unread
                has_ended = True
            except BlockingIOError:
                has_ended = False
                time.sleep(0.02)
            if has_ended:
                self.note("given up")
                sys.exit(0)
        self.add(name)

    def stubborn(self, name: str) -> None:
        """Does not end by itself, and neither does what it has started."""
        if os.fork() == 0:
            self.note("child")
        while True:
            time.sleep(60)

    def dies(self, name: str) -> None:
        sys.exit(1)

    def killed(self, name: str) -> None:
        self.send({"progress": "almost"})
        os.kill(os.getpid(), 9)

    def lingers(self, name: str) -> None:
        """Has ended, while what it has started keeps the socket open."""
        begun, reported = os.pipe()
        if os.fork() == 0:
            self.note("child")
            os.write(reported, b"1")
            while True:
                time.sleep(60)
        os.read(begun, 1)
        os._exit(0)

    def long(self, name: str) -> None:
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        self.send(b'{"progress": "' + b"x" * 70000 + b'"}')
        self.add(name)

    def nojson(self, name: str) -> None:
        self.send(b"\xff{]")
        self.add(name)

    def empty(self, name: str) -> None:
        self.send(b"")
        self.add(name)

    def wrong(self, name: str) -> None:
        self.ok(added=[{"name": "a\x1b[2J", "version": "1"}])

    def twice(self, name: str) -> None:
        self.add(name)
        try:
            self.fault("PackagesFailed")
        except OSError:
            pass

    def talks(self, name: str) -> None:
        while True:
            self.send({"progress": "and on"})

    def refused(self, name: str) -> None:
        fault = {"ename": "PackagesRefused", "text": "it is PackagesRefused"}
        self.send({"fault": {**fault, "rule": "cooldown"}})

    def invalid(self, name: str) -> None:
        self.fault("PackagesInvalid")

    def conflict(self, name: str) -> None:
        self.fault("PackagesConflict")

    def unreachable(self, name: str) -> None:
        self.fault("PackagesUnreachable")

    def unknown(self, name: str) -> None:
        self.fault("SystemExit")

    def run(self) -> None:
        name = self.names[0] if self.names else ""
        kind = name.partition("-")[0]
        if self.job["order"] == "list":
            self.listed()
        elif self.job["order"] == "remove":
            self.ok(removed=[{"name": name, "version": "1.0"}])
        elif kind in KINDS:
            getattr(self, kind)(name)
        else:
            self.add(name)
        self.note("ended")

    def listed(self) -> None:
        """Slow while the test has a file that says so."""
        while (self.work / "hold-lists").exists():
            time.sleep(0.02)
        self.ok(
            packages=[
                {"name": "humanize", "version": "4.17.0", "requested": True},
                {"name": "six", "version": "1.17.0", "requested": False},
            ]
        )


def main() -> None:
    Worker().run()
