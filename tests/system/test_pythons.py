"""Kernels of other Pythons than the tree's own environment."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Iterator

import pytest
from client import Client
from deadline import DEADLINE
from harness import Gateway

# Debian's own interpreter with Debian's own packages; a newer one, where there
# is one (`./dev install-deps`); more by HEARTH_PYTHONS, paths with colons
# between them (each with IPython and matplotlib).
NEWER = Path(__file__).parents[2] / ".venv-newer/bin/python3"
PYTHONS = [
    "/usr/bin/python3",
    pytest.param(str(NEWER), marks=pytest.mark.deep),
] + [path for path in os.environ.get("HEARTH_PYTHONS", "").split(":") if path]


def version_of(python: str) -> str:
    if not Path(python).exists():
        pytest.skip(f"{python} is not there")
    code = "import IPython, pandas, matplotlib, platform as p;"
    done = subprocess.run(
        [python, "-I", "-c", code + "print(p.python_version())"],
        capture_output=True,
        text=True,
        timeout=DEADLINE,
    )
    if done.returncode != 0:
        pytest.skip(f"{python} lacks packages: {done.stderr.strip()[-80:]}")
    return done.stdout.strip()


@pytest.fixture(scope="module", params=PYTHONS)
def other(request: pytest.FixtureRequest) -> Iterator[tuple[str, Client]]:
    python = str(request.param)
    version = version_of(python)
    gateway = Gateway(
        "--set", f"profile/python3/python={python}",
        "--set", "sessions/interrupt_grace=1s",
        warm=True,
    )  # fmt: skip
    try:
        gateway.start()
        session = gateway.create()
        with session.client() as client:
            yield version, client
        session.delete()
    finally:
        gateway.end()


def test_runs_that_python(other: tuple[str, Client]) -> None:
    version, client = other
    client.run("import platform")
    assert client.value("platform.python_version()") == version


def test_keeps_state_and_prints(other: tuple[str, Client]) -> None:
    _, client = other
    client.run("x = 20")
    turn = client.run("print('hi')\nx + 1")
    assert turn.stream() == "hi\n"
    assert turn.result == "21"


def test_errors_are_reported(other: tuple[str, Client]) -> None:
    _, client = other
    turn = client.run("1 / 0")
    assert turn.status == "error"
    assert turn.reply["content"]["ename"] == "ZeroDivisionError"


def test_shows_tables_and_plots(other: tuple[str, Client]) -> None:
    _, client = other
    turn = client.run(
        "import pandas as pd, matplotlib.pyplot as plt\n"
        "plt.plot([1, 2, 3])\n"
        "pd.DataFrame({'a': [1, 2]})"
    )
    assert turn.status == "ok"
    table = turn.contents("execute_result")[0]["data"]
    assert "<table" in table["text/html"]
    plots = turn.contents("display_data")
    assert any("image/png" in plot["data"] for plot in plots)


def test_has_magics_and_await(other: tuple[str, Client]) -> None:
    _, client = other
    turn = client.run(
        "import asyncio\nawait asyncio.sleep(0)\n!echo from the shell"
    )
    assert turn.status == "ok"
    assert "from the shell" in turn.stream()


# Sleeps on after its handler has returned, for longer than the grace.
OWN_HANDLER = """
import signal, time
caught = []
before = signal.signal(signal.SIGINT, lambda *_: caught.append(1))
print('go', flush=True)
while not caught: time.sleep(0.01)
end = time.monotonic() + 3
while time.monotonic() < end: time.sleep(end - time.monotonic())
signal.signal(signal.SIGINT, before)
len(caught)
"""
# The interpreter drops what a finalizer raises.
FINALIZER = """
import time
class Slow:
    def __del__(self):
        print('go', flush=True)
        time.sleep(600)
slow = Slow()
del slow
time.sleep(600)
"""


def test_an_own_handler_gets_one_signal(other: tuple[str, Client]) -> None:
    """hearth knows by each of these Pythons' `signal` that it got it."""
    _, client = other
    msg_id = client.kc.execute(OWN_HANDLER)
    begun = client.stream_until(msg_id, "go")
    client.send("control", "interrupt_request")
    assert client.finish(msg_id, begun=begun).result == "1"


def test_an_interrupt_in_a_finalizer_is_not_lost(
    other: tuple[str, Client],
) -> None:
    _, client = other
    msg_id = client.kc.execute(FINALIZER)
    begun = client.stream_until(msg_id, "go")
    client.send("control", "interrupt_request")
    turn = client.finish(msg_id, begun=begun)
    assert turn.content["ename"] == "KeyboardInterrupt"
