"""A gateway in a container that has users of its own (hostUsers: false)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Iterator

import pytest
from harness import HEARTH, Gateway

FIRST, COUNT = 400000, 65536
POD = [
    sys.executable, str(Path(__file__).with_name("pod.py")), str(FIRST),
    str(COUNT),
]  # fmt: skip


@pytest.fixture(autouse=True)
def pod() -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can map a pod's users")
    done = subprocess.run([*POD, "true"], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"no such user namespace here: {done.stderr.strip()}")


@pytest.fixture
def gateway() -> Iterator[Gateway]:
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
    """Its root is an ordinary user outside: files of the machine's root have no
    known owner there."""
    session = gateway.create()
    assert session.exec("6 * 7").stdout == "42\n"
    owner = session.workspace.stat().st_uid
    assert FIRST + 2000 <= owner < FIRST + COUNT


@pytest.fixture
def folders() -> Iterator[Gateway]:
    """Return the folders of a gateway that is not started."""
    made = Gateway()
    for path in (made.folder, made.folder / "h"):
        os.chown(path, FIRST, FIRST)
    made.prefix = POD
    try:
        yield made
    finally:
        made.sweep()


def doctor(
    folders: Gateway, *prefix: str, configuration: str = ""
) -> dict[str, dict[str, Any]]:
    """Return the rows of hearth doctor in the pod, by name."""
    file = folders.folder / "doctor.cfg"
    file.write_text(f"gateway\n    zygote_user = auto\n{configuration}")
    done = subprocess.run(
        [*POD, *prefix, HEARTH, "doctor", "--json", "-f", str(file)],
        env=folders.env,
        capture_output=True,
        text=True,
    )
    assert done.returncode in (0, 5), done.stderr
    rows = json.loads(done.stdout)["checks"]
    return {row["name"]: row for row in rows}


IN_THE_POD = "    uid_first = 2000\n    uid_count = 60000\n"


def test_doctor_needs_no_capability_that_sessions_do_not_need(
    folders: Gateway,
) -> None:
    """A process without CAP_SETFCAP may not map root, and no session does."""
    kept = "chown,dac_override,fowner,setuid,setgid,kill,sys_ptrace"
    few = "-all," + ",".join(f"+{name}" for name in kept.split(","))
    rows = doctor(
        folders, "setpriv", f"--bounding-set={few}", configuration=IN_THE_POD
    )
    assert rows["namespaces"]["state"] == "ok", rows["namespaces"]
    assert rows["users"]["state"] == "ok", rows["users"]


def test_doctor_tries_the_change_of_the_root(folders: Gateway) -> None:
    refusing = str(Path(__file__).with_name("refusing.py"))
    rows = doctor(
        folders, sys.executable, refusing, "pivot_root",
        configuration=IN_THE_POD,
    )  # fmt: skip
    assert rows["namespaces"]["state"] == "missing"
    found = "pivot_root: Operation not permitted"
    assert rows["namespaces"]["found"] == found
    assert "pivot_root" in rows["namespaces"]["advice"]


def test_users_missing_in_the_pod(folders: Gateway) -> None:
    users = doctor(folders)["users"]
    assert users["state"] == "missing"
    assert "the longest range there is 64536 from 1000 on" in users["found"]
    said = folders.refused()
    assert "65536 users from 1879048192 on are not all in" in said, said
