"""A profile's seed: a notebook that each new kernel runs before any client's
code."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Iterator

import pytest
from client import Client
from deadline import wait_for
from harness import Gateway
from recordings import revive

CELLS = (
    "import threading\nprint('seeded')\nstarted = threading.Event()",
    "def double(x):\n    return 2 * x",
    " \n",
    "count = 21",
)


def write(path: Path, *cells: str, name: str = "python3") -> Path:
    def cell(number: int, kind: str, source: str) -> dict[str, Any]:
        made: dict[str, Any] = {
            "cell_type": kind,
            "id": f"c{number}",
            "metadata": {},
        }
        made["source"] = source
        if kind == "code":
            made.update(execution_count=None, outputs=[])
        return made

    made = [cell(0, "markdown", "# What everybody needs")]
    made += [cell(i, "code", text) for i, text in enumerate(cells, 1)]
    spec = {"name": name, "display_name": name, "language": "python"}
    document = {
        "cells": made,
        "metadata": {"kernelspec": spec},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    path.write_text(json.dumps(document))
    return path


class Seeded(Gateway):
    """One that is not started yet."""

    def seed(self, *cells: str, **keys: str) -> Seeded:
        path = write(self.folder / "seed.ipynb", *cells)
        for key, value in {"seed": path, "preload": "", **keys}.items():
            self.options.append(f"--set=profile/python3/{key}={value}")
        return self

    def make(self, *options: str) -> str:
        """A session that must not come up: why."""
        done = self.run("session", "create", "--no-start", *options)
        assert done.returncode == 1, (done.stdout, done.stderr)
        return done.stderr

    def pool(self) -> dict[str, int]:
        found: dict[str, int] = self.info()["profiles"][0]["pool"]
        return found


@pytest.fixture
def seeded() -> Iterator[Seeded]:
    gateway = Seeded()
    yield gateway
    if gateway.process is not None:
        gateway.end()
    else:
        gateway.sweep()


def check(client: Client) -> None:
    turn = client.run("double(count), started.is_set()")
    assert turn.result == "(42, False)"
    # As the cells of a notebook count.
    assert turn.reply["content"]["execution_count"] == 4


def test_each_new_kernel_has_run_the_seed(seeded: Seeded) -> None:
    """Out of the pool, forked, and after a restart."""
    seeded.seed(*CELLS).start()
    wait_for(lambda: seeded.pool()["ready"] >= 1, "a member of the pool")
    forked = seeded.create("--workspace", str(seeded.folder / "h"))
    for session in (seeded.create(), forked):
        with session.client() as client:
            check(client)
            client.run("count = 1")
            seeded.run("session", "restart", session.id)
            # Possibly asked during the seed: the request waits for its end.
            check(client)
    assert seeded.pool()["handed_out"] == 1


def test_the_seed_is_in_the_recording(seeded: Seeded) -> None:
    session = seeded.seed(*CELLS).start().create()
    assert session.exec("count").stdout == "21\n"
    cells = session.notebook()["cells"]
    sources = ["".join(cell["source"]) for cell in cells]
    assert sources == [CELLS[0], CELLS[1], CELLS[3], "count"]
    notes = [cell["metadata"]["hearth"] for cell in cells]
    assert [note.get("seed", False) for note in notes] == [True] * 3 + [False]
    assert [note["status"] for note in notes] == ["ok"] * 4
    assert "".join(cells[0]["outputs"][0]["text"]) == "seeded\n"


def test_a_client_cannot_mark_its_cell_as_a_seed(seeded: Seeded) -> None:
    session = seeded.seed("a = 1").start().create()
    with session.client() as client:
        content = {"code": "b = 2", "allow_stdin": False}
        own = {"hearth": {"seed": True}}
        client.finish(client.send("shell", "execute_request", content, own))
    cells = session.notebook()["cells"]
    assert [c["metadata"]["hearth"].get("seed") for c in cells] == [True, None]
    log = seeded.run("audit", "show", "--json", "--session", session.id).stdout
    events = [json.loads(line)["event"] for line in log.splitlines()]
    assert events.count("cell_start") == events.count("cell_end") == 1


def test_a_revival_leaves_the_seed_to_the_fresh_kernel(seeded: Seeded) -> None:
    session = seeded.seed("runs = globals().get('runs', 0) + 1").start()
    made = session.create()
    made.exec("own = 5")
    made.delete()
    made.wait_state("gone")
    report = revive(seeded, made)
    assert (report["ran"], report["skipped"]) == (1, 1)
    assert made.exec("runs, own").stdout == "(1, 5)\n"


# Cells, and what the session says that does not come up.
FAILURES = {
    "raises": (
        ("good = 1", "1 / 0"),
        r"cell 2 of the seed failed: ZeroDivisionError: division by zero",
    ),
    "asks": (("input('?')",), r"cell 1 of the seed failed: StdinNot"),
    "ends": (("import os; os._exit(3)",), r"exited with code 3"),
    "hangs": (
        ("while True: pass",),
        r"cell 1 of the seed still ran after 2 s \(profile/python3/seed_time",
    ),
    "lies": (
        (
            "name = '\\x1b[31m' + '\xe9' * 99",
            "raise type(name, (Exception,), {})('\\x1b[0m\\n')",
        ),
        r"cell 2 of the seed failed: \?\[31m\?{55}: ",
    ),
}


@pytest.mark.parametrize("restart", ["never", "auto"])
@pytest.mark.parametrize("how", FAILURES)
def test_a_failing_seed_ends_the_session(
    seeded: Seeded, how: str, restart: str
) -> None:
    cells, why = FAILURES[how]
    options = {
        "pool/max": "0",
        "seed_timeout": "2s" if how == "hangs" else "60s",
    }
    seeded.seed(*cells, **options).start()
    said = seeded.make("--restart", restart)
    assert re.search(why, said), said
    assert said.rstrip("\n").isprintable()
    (tombstone,) = seeded.sessions("--all")
    assert tombstone["state"] == "gone"
    assert tombstone["reason"] == ("exit" if how == "ends" else "launch")


def test_a_pool_without_a_seed_that_works(seeded: Seeded) -> None:
    """It is not tried again at once and for ever; who asks hears why."""
    seeded.seed("1 / 0").start()
    assert "ZeroDivisionError" in seeded.make()
    assert seeded.pool()["ready"] == 0


def test_a_gateway_that_is_killed_meanwhile(seeded: Seeded) -> None:
    """The next one does not take it for ready: a fresh kernel runs it all."""
    cell = (
        "import os, time\n"
        "while os.path.exists('slow'):\n"
        "    open('waits', 'w').close()\n"
        "    time.sleep(0.01)\n"
    )
    seeded.seed(cell, "whole = True").start()
    session = seeded.create()
    (session.workspace / "slow").touch()
    seeded.run("session", "restart", session.id)
    wait_for((session.workspace / "waits").exists, "a seed that runs")
    assert session.show()["state"] == "starting"
    seeded.kill()
    (session.workspace / "slow").unlink()
    seeded.start()
    session.wait_state("idle")
    with session.client() as client:
        assert client.value("whole") is True


NOT_READ = {
    "no notebook": ("{}", "nbformat"),
    "no file": (None, "No such file"),
    "too long": ("a = 1\n" * 200000, "bytes, 1048576 are the limit"),
    "a NUL": ("a = 1\0", "cell 2 has a NUL"),
}


@pytest.mark.parametrize("what", NOT_READ)
def test_an_unreadable_seed_is_refused(seeded: Seeded, what: str) -> None:
    text, why = NOT_READ[what]
    seeded.seed(text or "")
    path = seeded.folder / "seed.ipynb"
    if text is None:
        path.unlink()
    elif text == "{}":
        path.write_text(text)
    said = seeded.refused()
    assert "profile/python3/seed: " in said
    assert str(path) in said
    assert why in said
