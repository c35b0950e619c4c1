"""Sessions with and without packages whose next gateway has another
configuration: what is refused, and that a restart of the kernel mends it."""

from __future__ import annotations

from pathlib import Path
from typing import Iterator, Optional

import pytest
from harness import Session
from packages_gateway import KEY, Packaged

INDEX = ("--set", f"{KEY}=http://127.0.0.1:9/simple/")
NO_INDEX = ("--set", f"{KEY}=")


@pytest.fixture
def gateway() -> Iterator[Packaged]:
    """Not started yet."""
    made = Packaged()
    try:
        yield made
    finally:
        made.end()


def restart(gateway: Packaged, session: Session) -> None:
    done = gateway.run("session", "restart", session.id)
    assert done.returncode == 0, done.stderr


def place(session: Session) -> Optional[str]:
    """Where its kernel looks for packages."""
    with session.client() as client:
        found: list[Optional[str]] = client.value(
            "[__import__('os').environ.get('HEARTH_PACKAGES')]"
        )
    return found[0]


def put(gateway: Packaged, session: Session, top: Path) -> None:
    """Put a module there, as the real worker does; the kernel says where."""
    where = place(session)
    assert where is not None
    token = where.split("/")[2]
    generation = top / "sessions" / token / "1"
    generation.mkdir(parents=True)
    (generation / "found.py").write_text("WORD = 'found'\n")
    (generation.parent / "current").symlink_to("1")
    for path in (generation.parent, generation):
        path.chmod(0o755)


def can_import(session: Session) -> bool:
    with session.client() as client:
        turn = client.run("import found; found.WORD")
    assert turn.status == "ok" or turn.content["ename"] == (
        "ModuleNotFoundError"
    )
    return bool(turn.result == "'found'")


def check_added(gateway: Packaged, session: Session, name: str) -> None:
    done = gateway.run("packages", "add", session.id, name)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"added {name} 1.0\n"


def check_restart_wanted(gateway: Packaged, session: Session) -> None:
    for words in (("add", session.id, "six"), ("list", session.id)):
        done = gateway.run("packages", *words)
        assert done.returncode == 1
        assert done.stderr == (
            f"hearth: the kernel of session {session.id} was started without "
            "the packages folder of profile python3: restart it (hearth "
            f"session restart {session.id}), then ask again\n"
        )
    assert ("began", "six") not in gateway.order()


def check_off(gateway: Packaged, session: Session) -> None:
    done = gateway.run("packages", "add", session.id, "six")
    assert done.returncode == 5
    assert done.stderr == (
        "hearth: profile python3 has no package index: set "
        "profile/python3/packages/index\n"
    )


@pytest.mark.parametrize("is_killed", [False, True])
def test_the_index_comes_after_the_kernel(
    gateway: Packaged, is_killed: bool
) -> None:
    gateway.start(*NO_INDEX)
    session = gateway.create()
    assert place(session) is None
    # The second finds the name that the first has given the session's folder.
    for _ in range(2):
        gateway.kill() if is_killed else gateway.terminate()
        gateway.start()
        check_restart_wanted(gateway, session)
    check_added(gateway, gateway.create(), "six2")
    restart(gateway, session)
    check_added(gateway, session, "six3")
    put(gateway, session, gateway.packages)
    assert can_import(session)
    gateway.terminate()
    gateway.start()
    check_added(gateway, session, "six4")


def test_the_index_goes_and_comes_back(gateway: Packaged) -> None:
    gateway.start()
    session = gateway.create()
    put(gateway, session, gateway.packages)
    gateway.terminate()
    gateway.start(*NO_INDEX)
    check_off(gateway, session)
    assert can_import(session)  # its kernel runs on
    gateway.terminate()
    gateway.start(*INDEX)
    check_added(gateway, session, "one")
    gateway.terminate()
    gateway.start(*NO_INDEX)
    restart(gateway, session)
    check_off(gateway, session)
    assert place(session) is None
    assert not can_import(session)
    gateway.terminate()
    gateway.start(*INDEX)
    check_restart_wanted(gateway, session)
    restart(gateway, session)
    check_added(gateway, session, "two")
    assert can_import(session)


def test_the_folder_has_moved(gateway: Packaged) -> None:
    gateway.start()
    session = gateway.create()
    gateway.terminate()
    other = gateway.folder / "q"
    gateway.start("--set", f"packages/dir={other}")
    check_restart_wanted(gateway, session)
    restart(gateway, session)
    put(gateway, session, other)
    assert can_import(session)
