"""Programs that use a client of .venv-clients, in a process of their own. Each
prints what it has seen, a line of JSON at a time, and waits for a line before
it goes on: meanwhile the test looks at what the client has not shown."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

from deadline import DEADLINE, wait_for
from harness import ROOT, Gateway
from processes import children, members, start_time

HERE = Path(__file__).resolve().parent
CLIENTS = ROOT / ".venv-clients" / "bin"


class Program:
    """A file of programs/, in a folder of its own."""

    def __init__(
        self, name: str, folder: Path, env: dict[str, str], *words: str
    ) -> None:
        self.errors = folder / "errors"
        with self.errors.open("wb") as errors:
            self.process = subprocess.Popen(
                [CLIENTS / "python", HERE / "programs" / f"{name}.py", *words],
                cwd=folder,
                env=env,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                bufsize=0,
            )

    def __enter__(self) -> Program:
        return self

    def __exit__(self, *_: object) -> None:
        """A failed test ends what the client has started, too."""
        started = children(self.process.pid)
        self.process.kill()
        self.process.communicate()
        for pid in started:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
        wait_for(
            lambda: (
                not any(
                    start_time(pid) == born for pid, born in started.items()
                )
            ),
            "the end of what the client has started",
        )

    def report(self) -> Any:
        """Return what the program prints next."""
        assert self.process.stdout is not None
        ready, _, _ = select.select([self.process.stdout], [], [], 2 * DEADLINE)
        assert ready, "the program prints nothing\n" + self.errors.read_text()
        line = self.process.stdout.readline()
        assert line, self.errors.read_text()
        return json.loads(line)

    def go_on(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(b"\n")

    def ends(self) -> None:
        """It goes on to its end, without a complaint of Python's."""
        self.go_on()
        assert self.process.wait(DEADLINE) == 0, self.errors.read_text()


class Watched:
    """The sessions that a gateway has now."""

    def __init__(self, gateway: Gateway, count: int = 1) -> None:
        self.gateway = gateway
        models = gateway.sessions()
        assert len(models) == count, models
        self.ids = [model["id"] for model in models]
        self.namespaces = [
            gateway.note_namespace(model["pid"]) for model in models
        ]
        assert all(self.namespaces)

    def expect_gone(self) -> None:
        """Neither the gateway nor the machine has anything of them."""

        def are_gone() -> bool:
            listed = {model["id"] for model in self.gateway.sessions()}
            return not listed.intersection(self.ids) and not any(
                members(namespace) for namespace in self.namespaces if namespace
            )

        wait_for(are_gone, f"the end of {self.ids}")
