"""Runs cases through the sessions of one gateway, or beside the sandbox."""

from __future__ import annotations

import ast
import ctypes
import json
import os
import platform
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

from client import Client, Turn
from deadline import DEADLINE, wait_for
from harness import Gateway, Session
from processes import start_time

from . import (
    descriptors,
    files,
    judges,
    link,
    namespaces,
    neighbours,
    network,
    output,
    privileges,
    processes,
    resources,
    syscalls,
    terminal,
    tokens,
)
from .case import Case
from .host import IPC_RMID, Host, digest, form

TABLES = (
    files,
    namespaces,
    privileges,
    syscalls,
    network,
    processes,
    descriptors,
    tokens,
    link,
    neighbours,
    resources,
    terminal,
    output,
)
CASES: list[Case] = [case for module in TABLES for case in module.CASES]
INSIDE = Path(__file__).with_name("inside.py").read_text()
USER = 64999  # the ordinary user, when root runs this
UNIT_USER = 64998  # the gateway's own, in the mode `unit`
PROFILE = "profile/python3/"
SOON = DEADLINE / 2
# What the cases of two sessions leave where there is no sandbox.
LEFT_OUTSIDE = (
    "/tmp/hostile-left",
    "/var/tmp/hostile-left",
    "/dev/shm/hostile-left",
    "/dev/shm/sem.hostile",
)
SCOPES_ABI = 6  # signals and abstract sockets, since Linux 6.12
SHARED_KEY = 0x68737400


@dataclass(frozen=True)
class Result:
    case: Case
    through: str  # what it managed; empty: it was stopped
    stopped: str = ""  # how
    broken: str = ""  # why it is neither: it did not come to its end

    @property
    def surprise(self) -> str:
        """Return the difference from the table."""
        if self.broken:
            return f"{self.case.id} broke off: {self.broken}"
        if self.through:
            return f"{self.case.id} got through: {self.through}"
        stops = self.case.stops.split()
        if stops and self.stopped not in stops:
            return (
                f"{self.case.id} was stopped by {self.stopped},"
                f" not by {' or '.join(stops)}"
            )
        return ""


def landlock_abi() -> int:
    """Return the version by landlock_create_ruleset(2); below 1 there is none."""
    asked: int = ctypes.CDLL(None).syscall(444, None, 0, 1)
    return asked


def fits(case: Case, mode: str) -> bool:
    """Return true if the case fits the mode: those about the service fit
    always."""
    kind = "service" if mode == "unit" else mode
    if case.scoped and kind == "user" and landlock_abi() < SCOPES_ABI:
        return False
    return kind in case.modes and case.machine in ("", platform.machine())


def said(text: str, word: str) -> Optional[str]:
    """Return the text after the last such word at the start of a line."""
    for line in reversed(text.splitlines()):
        if line.startswith(word + ": "):
            return line[len(word) + 2 :]
    return None


class Member:
    """A session with its client, and all that snippets have at hand."""

    def __init__(self, suite: Suite, *options: str) -> None:
        self.session = suite.gateway.create(*options)
        self.pid = self.session.model["pid"]
        self.born = start_time(self.pid)
        self.client = self.session.client()
        facts = {
            **suite.facts,
            **suite.keys(self.session),
            "connection": self.session.connection_file,
        }
        turn = self.client.run(INSIDE + f"\nHOST.update({facts!r})")
        assert turn.status == "ok", turn.content

    def tell(self, code: str) -> str:
        turn = self.client.run(f"remember({code!r})", timeout=SOON)
        value = said(turn.stream(), "value")
        assert value is not None, (code, turn.content, turn.stream("stderr"))
        return value

    def has_ended(self) -> bool:
        """Whether its kernel is another one now, or none: asked of the system,
        since a command for each of a thousand cases takes longer than most."""
        return start_time(self.pid) != self.born

    def close(self) -> None:
        self.client.close()
        if self.session.gateway.json("session", "list", "--json"):
            self.session.delete()


class Suite:
    def __init__(self, mode: str, without: tuple[str, ...] = ()) -> None:
        self.mode = mode
        root = os.getuid() == 0
        user = USER if root and mode == "user" else None
        self.host = Host(USER if root else os.getuid())
        settings = {
            "preload": "numpy",
            "readonly": str(self.host.shown),
            "limits/memory": "256M",
            "limits/processes": "100",
            "limits/open_files": "256",
            "limits/tmp": "16M",
            "limits/shm": "16M",
        }
        if without:
            settings["accept"] = settings["without"] = ", ".join(without)
        options = [
            word
            for key, value in settings.items()
            for word in ("--set", f"{PROFILE}{key}={value}")
        ]
        # For cases that ignore every signal.
        options += ["--set", "sessions/interrupt_grace=1s"]
        if mode == "service":  # in `unit` they have the gateway's user
            options += ["--set", "gateway/zygote_user=own"]
        self.gateway = Gateway(*options, user=user)
        if mode == "unit":
            self.gateway.be_service(UNIT_USER)
        self.gateway.env["PLANTED"] = self.host.planted
        self.main: Optional[Member] = None
        self.other: Optional[Member] = None
        self.descriptors = 0

    def start(self) -> Suite:
        self.gateway.start()
        self.facts = {
            **self.host.facts(),
            "state": str(self.gateway.state),
            "runtime": str(self.gateway.runtime),
        }
        return self

    def close(self) -> None:
        try:
            for member in (self.main, self.other):
                if member is not None:
                    member.client.close()
            self.gateway.end()
        finally:
            self.host.close()

    def keys(self, session: Session) -> dict[str, Any]:
        key = json.loads(Path(session.connection_file).read_text())["key"]
        inner = (self.gateway.runtime / "management.key").read_text().strip()
        return {
            "key-form": form(key),
            "digests": [digest(k) for k in (key, inner, self.host.planted)],
        }

    def member(self, name: str) -> Member:
        """The one that cases share; a new one when the last has ended."""
        made: Optional[Member] = getattr(self, name)
        if made is not None and made.has_ended():
            made.client.close()
            made = None
        if made is None:
            made = Member(self)
            setattr(self, name, made)
        return made

    def run(self, case: Case) -> Result:
        options = ("--time-limit", "2s") if case.ends == "time" else ()
        if not case.alone:
            return self.run_with(case, self.member("main"))
        own = Member(self, *options)
        try:
            return self.run_with(case, own)
        finally:
            own.client.close()
            self.gateway.run("session", "delete", own.session.id)

    def run_with(self, case: Case, own: Member) -> Result:
        other = self.member("other")
        if case.before:
            value = other.tell(case.before)
            own.client.run(f"VICTIM = {value}")
        self.descriptors = len(os.listdir(f"/proc/{self.gateway.pid}/fd"))
        msg_id = own.client.kc.execute(
            f"attempt({case.code!r})", allow_stdin=False
        )
        if case.alone or case.category == "resources":
            answered(other.client)
        turn = own.client.finish(msg_id, SOON)
        result = self.read(case, own, turn)
        if not result.through and case.after:
            value = other.tell(case.after)
            if ast.literal_eval(value):
                return Result(case, f"the other session: {value}")
        if case.alone or case.category == "resources":
            answered(other.client)
        return result

    def read(self, case: Case, own: Member, turn: Turn) -> Result:
        word = said(turn.stream(), "hostile")
        result = Result(case, "", "nothing")
        if case.ends:
            result = ended(case, own.session, turn, word)
        elif word is not None:
            result = outcome(case, word)
        elif turn.status != "ok":
            result = Result(case, "", turn.content["ename"])
        elif not case.judge:
            result = Result(case, "", "without a word")
        if case.judge and not result.through:
            judge = getattr(judges, case.judge)
            result = Result(
                case,
                judge(self, own.session, turn, case),
                result.stopped if case.ends or word is None else "nothing",
            )
        return result


def answered(client: Client) -> None:
    turn = client.run("1+1", timeout=SOON)
    assert turn.result == "2", "the other session does not answer"


def outcome(case: Case, word: str) -> Result:
    how, _, rest = word.partition(" ")
    if how == "through":
        return Result(case, rest)
    return Result(case, "", rest)


def ended(
    case: Case, session: Session, turn: Turn, word: Optional[str]
) -> Result:
    if word is not None and word.startswith("through"):
        return outcome(case, word)
    if case.ends == "time":
        ename = turn.content.get("ename")
        return Result(case, "" if ename == "TimeLimitExceeded" else str(ename))
    model = wait_for(
        lambda: (m := session.show())["state"] == "gone" and m,
        "the session's end",
        SOON,
    )
    if model["reason"] != case.ends:
        return Result(case, f"the session ended by {model['reason']}")
    return Result(case, "", case.stops.split()[0] if case.stops else "")


class Outside:
    """The control: the same snippets as root, without any wall. What does not
    get through here would prove nothing where it is stopped."""

    LOOP = (
        "import sys, json\n"
        "for line in sys.stdin:\n"
        "    exec(json.loads(line), globals())\n"
        "    print('\\nend', flush=True)\n"
    )

    def __init__(self) -> None:
        self.host = Host(USER if os.getuid() == 0 else os.getuid())
        self.folder = tempfile.TemporaryDirectory(prefix="hx-")
        state = Path(self.folder.name)
        (state / "management.key").write_text("key\n")
        (state / "hearth.lock").write_text("lock\n")
        self.facts = {
            **self.host.facts(),
            "state": str(state),
            "runtime": str(state),
            "connection": str(state / "management.key"),
            "digests": [],
            "key-form": "",
        }
        self.members = [self.make(), self.make()]

    def make(self) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-u", "-c", self.LOOP],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=self.folder.name,
        )
        self.tell(process, INSIDE + f"\nHOST.update({self.facts!r})")
        return process

    def tell(self, process: subprocess.Popen[str], code: str) -> str:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(code) + "\n")
        process.stdin.flush()
        text = ""
        for line in process.stdout:
            if line == "end\n":
                return text
            text += line
        raise AssertionError(f"ended: {text}")

    def run(self, case: Case) -> Result:
        if case.before:
            value = said(
                self.tell(self.members[1], f"remember({case.before!r})"),
                "value",
            )
            self.tell(self.members[0], f"VICTIM = {value}")
        text = self.tell(self.members[0], f"attempt({case.code!r})")
        return outcome(case, said(text, "hostile") or "stopped silent")

    def close(self) -> None:
        for process in self.members:
            process.kill()
            process.wait()
        self.folder.cleanup()
        self.host.close()
        for path in LEFT_OUTSIDE:
            Path(path).unlink(missing_ok=True)
        libc = ctypes.CDLL(None)
        shared = libc.shmget(SHARED_KEY, 0, 0)
        if shared >= 0:
            libc.shmctl(shared, IPC_RMID, None)
