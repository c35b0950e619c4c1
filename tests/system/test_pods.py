"""A gateway in a container that has users of its own (hostUsers: false)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Iterator

import pytest
from harness import Gateway

FIRST, COUNT = 400000, 65536
POD = [
    sys.executable, str(Path(__file__).with_name("pod.py")), str(FIRST),
    str(COUNT),
]  # fmt: skip


@pytest.fixture
def gateway() -> Iterator[Gateway]:
    if os.geteuid() != 0:
        pytest.skip("only root can map a pod's users")
    done = subprocess.run([*POD, "true"], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"no such user namespace here: {done.stderr.strip()}")
    made = Gateway(
        "--set", "gateway/uid_first=2000", "--set", "gateway/uid_count=60000"
    )
    for path in (made.folder, made.folder / "h"):
        os.chown(path, FIRST, FIRST)
    made.prefix = POD
    try:
        yield made.start()
    finally:
        made.end()


def test_a_session_in_a_pod(gateway: Gateway) -> None:
    """Its root is an ordinary user outside: what belongs to the machine's root
    belongs to nobody there."""
    session = gateway.create()
    assert session.exec("6 * 7").stdout == "42\n"
    owner = session.workspace.stat().st_uid
    assert FIRST + 2000 <= owner < FIRST + COUNT
