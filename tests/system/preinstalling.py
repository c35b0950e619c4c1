"""Gateways whose profile has packages for all its sessions, and an index."""

from __future__ import annotations

import fcntl
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Optional

import pytest
from deadline import wait_for
from fake_index import FakeIndex
from harness import Gateway, Session
from packages_gateway import open_place, printed
from records import records

OTHER = """
profile
    other
        preload = ""
"""


@pytest.fixture(scope="module", name="index")
def index_of_all() -> Iterator[FakeIndex]:
    with FakeIndex() as made:
        made.add("timely", "1.5")
        made.add("humane", "4.0", requires=["timely>=1"])
        made.add("humane", "4.1", requires=["timely>=1"])
        made.add("humane", "5.0", age_days=1)
        made.add("barred", "1.0")
        made.add("later", "1.0")
        made.add_program("tooled")
        made.add("hostile", "1.0", {"hostile.pth": "import os\n"})
        yield made


@pytest.fixture(name="place")
def place_of_one() -> Iterator[Path]:
    with open_place() as made:
        yield made


def write(gateway: Gateway, index: FakeIndex, *names: str) -> None:
    """Write the configuration anew, with these packages."""
    folder = gateway.folder / "h/.config/hearth"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "hearth.cfg").unlink(missing_ok=True)
    if os.geteuid() != 0:
        gateway.share_user()
    listed = f"preinstall = {', '.join(names)}" if names else ""
    gateway.configure(
        "profile\n    python3\n        packages\n"
        f"            index = {index.url}\n"
        "            deny = barred\n"
        f"            {listed}\n"
    )


def reload_with(
    gateway: Gateway, index: FakeIndex, *names: str
) -> subprocess.CompletedProcess[str]:
    """Give a gateway that runs these packages instead."""
    write(gateway, index, *names)
    return gateway.run("gateway", "reload")


@contextmanager
def gateway_of(
    place: Path, index: FakeIndex, *names: str, **settings: Any
) -> Iterator[Gateway]:
    made = Gateway("--set", f"packages/dir={place / 'packages'}", **settings)
    write(made, index, *names)
    try:
        yield made
    finally:
        made.end()


def has(session: Session, module: str) -> bool:
    code = f"import importlib.util as u; print(bool(u.find_spec('{module}')))"
    return printed(session, code) == "True"


def environments(place: Path) -> list[Path]:
    """Return the folders that were made and not removed."""
    return sorted((place / "packages/profiles").glob("*/*"))


def refused(gateway: Gateway, *options: str) -> str:
    """Return why no session is created."""
    done = gateway.run("session", "create", "--no-start", *options)
    assert done.returncode == 1, (done.stdout, done.stderr)
    return done.stderr


def fault(gateway: Gateway) -> Optional[str]:
    found: Optional[str] = gateway.info()["profiles"][0].get("fault")
    return found


def state(gateway: Gateway) -> str:
    found: str = gateway.info()["profiles"][0]["state"]
    return found


@contextmanager
def stopped(place: Path) -> Iterator[None]:
    """Let no worker go on: as another one that writes."""
    work = place / "packages/work"
    work.mkdir(parents=True, exist_ok=True)
    for folder in (work.parent, work):
        folder.chmod(0o711 if folder == work.parent else 0o700)
    with (work / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def ask(gateway: Gateway, *options: str) -> subprocess.Popen[str]:
    return gateway.begin("session", "create", "--no-start", *options)


@contextmanager
def arriving(gateway: Gateway, what: str) -> Iterator[None]:
    """Leave when the gateway has got a request to create or restart."""
    wanted = {"event": "order", "request": f"session_{what}_request"}
    before = len(records(gateway, **wanted))
    yield
    wait_for(lambda: len(records(gateway, **wanted)) > before, "the request")


def restart(gateway: Gateway, session: Session) -> subprocess.Popen[str]:
    with arriving(gateway, "restart"):
        return gateway.begin("session", "restart", session.id)
