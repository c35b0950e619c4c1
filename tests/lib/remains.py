"""A plugin for pytest: what the tests of a module must not leave.

A test's folders and files have names that Python's tempfile gave them, and a
gateway's lie in such folders. So it is known whose each of them is, while other
tests and other people work beside. When a module has ended, nothing may have
one of these names: no folder, no file, no mount, no process that shows it in
its arguments, environment or mounts or has a file there open, no control group
of a session. A lock, as a gateway holds it on its state folder, is such an open
file. Nor may a thread of the module go on: the number of the descriptor that it
waits for may be another module's by then. What is left is an error of the
module's last test, and names the test that made it.

What programs make in /tmp by names of their own is not seen.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Optional

import pytest

from .mounted import root_of

# As the tests' own: it only says that nothing will come any more.
DEADLINE = float(os.environ.get("HEARTH_DEADLINE", "120"))


# What may follow a name where it is whole, as a path or before one.
AFTER = (b"", b"/", b" ", b"\0", b"\n", b":", b"'", b",")


class Names:
    """What tempfile has made, and during which test."""

    def __init__(self) -> None:
        self.test = ""
        self.made: dict[str, str] = {}

    def watch(self) -> None:
        """Note each folder and file from now on."""
        sys.addaudithook(self.hear)

    def hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Take an event of Python's (its library reference, *Audit events*)."""
        if event in ("tempfile.mkdtemp", "tempfile.mkstemp"):
            self.note(arguments[0])

    def note(self, path: object) -> None:
        # What lies in a folder of pytest's goes with it.
        text = os.fsdecode(path)  # type: ignore[arg-type]
        if self.test and "/pytest-of-" not in text:
            self.made[text] = self.test

    def take(self) -> dict[str, str]:
        made, self.made = self.made, {}
        return made


names = Names()


class Threads:
    """Those that run, and during which test they were started."""

    def __init__(self) -> None:
        self.seen: dict[threading.Thread, str] = {}

    def look(self, test: str) -> None:
        """Note the new ones that no library keeps for the whole process.

        A class of its own is a library's, as pyzmq's; jupyter_core keeps one
        thread for each that has called it inside a loop.
        """
        for thread in threading.enumerate():
            if type(thread) is threading.Thread and not thread.name.endswith(
                " - runner"
            ):
                self.seen.setdefault(thread, test)

    def take(self) -> dict[threading.Thread, str]:
        """Return those that tests have started, once."""
        found = {thread: test for thread, test in self.seen.items() if test}
        self.seen = {thread: "" for thread in self.seen if thread.is_alive()}
        return found


threads = Threads()


def has_name(text: bytes, name: bytes) -> bool:
    """Whether the name is there as a whole, or a path below it."""
    end = 0
    while (at := text.find(name, end)) >= 0:
        end = at + len(name)
        if text[end : end + 1] in AFTER:
            return True
    return False


def read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:  # it has ended, or is another user's
        return b""


def open_files(pid: str) -> bytes:
    """Return the paths of what the process has open, whole ones."""
    folder, found = f"/proc/{pid}/fd", []
    try:
        for number in os.listdir(folder):
            with contextlib.suppress(OSError):  # closed meanwhile
                found.append(os.readlink(f"{folder}/{number}"))
    except OSError:
        return b""
    return os.fsencode("\0".join(found))


def own() -> set[int]:
    """Return this process and those above it."""
    found, pid = set(), os.getpid()
    while pid > 0 and pid not in found:
        found.add(pid)
        stat = read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
        pid = int(stat[1]) if stat else 0
    return found


def processes(made: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Find those that have one of the names, with it."""
    skipped = own()
    roots = {name: root_of(name) for name in made}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        if int(entry) in skipped:
            continue
        text = b"\0".join(
            read(f"/proc/{entry}/{part}") for part in ("cmdline", "environ")
        )
        text += b"\0" + open_files(entry)
        mounts = read(f"/proc/{entry}/mountinfo")
        for name in made:
            if has_name(text, os.fsencode(name)) or has_name(
                mounts, os.fsencode(roots[name])
            ):
                words = read(f"/proc/{entry}/cmdline").replace(b"\0", b" ")
                yield (
                    f"process {entry} ({words[:80].decode(errors='replace')})",
                    name,
                )
                break


def groups(made: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Find control groups of gateways: workspace/… names them after the state
    folder (leftovers.py)."""
    wanted = {}
    for name in made:
        state = os.fsencode(f"{name}/s")
        digest = hashlib.blake2b(state, digest_size=16).hexdigest()
        wanted[f"hearth-{digest[:12]}"] = name
    for folder, _, _ in os.walk("/sys/fs/cgroup"):
        found = wanted.get(os.path.basename(folder).partition(".")[0])
        if found is not None:
            yield f"control group {folder}", found


def left(made: dict[str, str]) -> list[str]:
    """Return a line for each thing that is there, with the test's name."""
    found = [(path, path) for path in made if os.path.lexists(path)]
    mounts = read("/proc/self/mountinfo")
    found += [
        (f"a mount below {path}", path)
        for path in made
        if has_name(mounts, os.fsencode(path))
    ]
    found += processes(made)
    found += groups(made)
    return [f"{what}, of {made[name]}" for what, name in found]


def running(started: dict[threading.Thread, str]) -> list[str]:
    """Return a line for each thread that goes on, with the test's name."""
    return [
        f"thread {thread.name}, of {test}"
        for thread, test in started.items()
        if thread.is_alive()
    ]


def await_none(
    made: dict[str, str], started: dict[threading.Thread, str]
) -> list[str]:
    """Return what is left; what is about to end has its time."""
    ends = time.monotonic() + DEADLINE
    while (
        found := running(started) + (left(made) if made else [])
    ) and time.monotonic() < ends:
        if any(os.path.lexists(path) for path in made):
            break  # no test will remove that
        time.sleep(0.05)
    return found


def pytest_configure() -> None:
    names.watch()
    threads.look("")


def module_of(item: Optional[pytest.Item]) -> Optional[Path]:
    return item.path if item is not None else None


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    names.test = item.nodeid
    yield


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_teardown(
    item: pytest.Item, nextitem: Optional[pytest.Item]
) -> Iterator[None]:
    outcome: Any = yield
    threads.look(item.nodeid)
    if module_of(nextitem) == module_of(item):
        return
    found = await_none(names.take(), threads.take())
    if found and outcome.excinfo is None:
        outcome.force_exception(
            AssertionError("left over:\n" + "\n".join(found))
        )
