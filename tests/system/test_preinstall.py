"""Packages that all sessions of a profile have (packages/preinstall): what a
session finds of them, and what is refused."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from deadline import wait_for
from fake_index import FakeIndex
from harness import Gateway, Session
from packages_gateway import open_place, printed
from preinstalling import (  # noqa: F401
    OTHER,
    environments,
    fault,
    gateway_of,
    has,
    index_of_all,
    place_of_one,
    refused,
    reload_with,
    state,
    write,
)

FRESH = """
profile
    fresh
        fresh = yes
        preload = humane
        packages
            index = {url}
            preinstall = humane
"""
PREINSTALLED = {
    "humane": "4.1",
    "later": "1.0",
    "timely": "1.5",
    "tooled": "1.0",
}


@pytest.fixture(scope="module")
def gateway(index: FakeIndex) -> Iterator[Gateway]:
    preload = "profile/python3/preload=humane, nowhere"
    names = ("humane>=4, <5", "tooled", "later")
    with open_place() as made, gateway_of(made, index, *names) as running:
        running.options += ["--set", preload]
        running.configure(FRESH.format(url=index.url))
        running.start()
        yield running


@pytest.fixture
def session(gateway: Gateway) -> Iterator[Session]:
    made = gateway.create()
    yield made
    made.delete()


# ---- in a session ----


def test_every_session_has_them(session: Session) -> None:
    code = "import humane, timely; print(humane.VERSION, timely.VERSION)"
    assert printed(session, code) == "4.1 1.5"
    assert printed(session, "!tooled; python -m tooled; echo $?").endswith("0")
    done = session.gateway.run("run", session.id, "--", "tooled")
    assert done.stdout == "tooled runs\n", done


def test_the_recording_lists_them(
    gateway: Gateway, session: Session, index: FakeIndex
) -> None:
    listed = session.notebook()["metadata"]["hearth"]["preinstalled"]
    assert {one["name"]: one["version"] for one in listed} == PREINSTALLED
    hashes = {one.sha256 for all_ in index.releases.values() for one in all_}
    assert {one["sha256"] for one in listed} <= hashes


def test_only_what_preload_names_is_warm(session: Session) -> None:
    code = "import sys; print(*(n in sys.modules for n in ('humane', 'later')))"
    assert printed(session, code) == "True False"


def test_they_are_read_only(session: Session) -> None:
    code = (
        "import errno, os, humane\n"
        "for call in (os.unlink, os.rmdir, lambda p: open(p, 'a')):\n"
        "    try:\n        call(humane.__file__)\n"
        "    except OSError as error:\n"
        "        print(errno.errorcode[error.errno], end=' ')\n"
    )
    codes = printed(session, code).split()
    assert len(codes) == 3
    assert set(codes) <= {"EROFS", "EACCES", "ENOTDIR"}


def test_they_are_the_profiles(session: Session) -> None:
    assert re.search(r"humane +4\.1", printed(session, "%pip list"))
    gateway = session.gateway
    done = gateway.run("packages", "add", session.id, "humane")
    assert done.stdout == "humane 4.1 is there already (profile)\n", done
    for name in ("humane==4.0", "humane>=5"):
        done = gateway.run("packages", "add", session.id, name)
        assert done.returncode == 1, done
        assert "humane" in done.stderr
    gateway.run("packages", "remove", session.id, "humane")
    assert has(session, "humane")


def test_a_fresh_kernel_has_them(gateway: Gateway) -> None:
    session = gateway.create("--profile", "fresh")
    code = "import sys; print('humane' in sys.modules)"
    assert printed(session, code) == "True"
    assert has(session, "timely")
    session.delete()


def test_doctor_says_that_they_are_there(gateway: Gateway) -> None:
    line = r"ok +preinstall python3 +sessions have humane"
    wait_for(lambda: re.search(line, gateway.run("doctor").stdout), "its word")


@pytest.mark.warm
def test_the_zygote_imports_nothing_else(place: Path, index: FakeIndex) -> None:
    """pandas looks for this module, and the zygote is in no sandbox."""
    marker = place / "imported"
    code = f"try:\n    open({str(marker)!r}, 'w')\nexcept OSError:\n    pass\n"
    index.add("bottleneck", "1.4.2", {"bottleneck.py": code})
    with gateway_of(place, index, "bottleneck", warm=True) as gateway:
        place.chmod(0o777)
        gateway.start()
        session = gateway.create()
        assert printed(session, "import sys; print('pandas' in sys.modules)")
        assert has(session, "bottleneck")
        assert not marker.exists()
        session.delete()


# ---- what is refused ----


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("barred", "barred is not permitted here: profile/python3/packages"),
        ("humane>=5", "7 days"),
        ("hostile", "hostile.pth"),
        ("missing-one", "missing-one"),
    ],
)
def test_a_refusal_is_reported(
    place: Path, index: FakeIndex, name: str, sentence: str
) -> None:
    with gateway_of(place, index, name) as gateway:
        gateway.configure(OTHER)
        gateway.start()
        wait_for(lambda: state(gateway) == "failed", "the refusal")
        done = gateway.run("doctor")
        for text in (
            refused(gateway),
            fault(gateway) or "",
            gateway.log.read_text(),
            done.stdout,
        ):
            assert "packages/preinstall: " in text
            assert sentence in text
        assert done.returncode == 5
        # Of the section a reload applies `preinstall` alone.
        assert "then `hearth gateway restart`" in " ".join(done.stdout.split())
        gateway.create("--profile", "other").delete()
        before = index.count()
        reload_with(gateway, index, "humane")
        session = gateway.create()
        assert has(session, "humane")
        assert index.count() > before
        session.delete()


def test_a_restart_leaves_the_kernel_if_none_can_start(
    place: Path, index: FakeIndex
) -> None:
    with gateway_of(place, index, "humane") as gateway:
        gateway.start()
        session = gateway.create()
        session.exec("x = 41")
        reload_with(gateway, index, "barred")
        wait_for(lambda: state(gateway) == "failed", "the refusal")
        done = gateway.run("session", "restart", session.id)
        assert done.returncode == 1, done
        assert "barred is not permitted here" in done.stderr
        assert printed(session, "print(x)") == "41"
        reload_with(gateway, index, "humane")
        assert gateway.run("session", "restart", session.id).returncode == 0
        assert printed(session, "print('x' in vars())") == "False"
        session.delete()


def test_a_package_that_is_there_twice_is_not_loaded(
    place: Path, index: FakeIndex
) -> None:
    with gateway_of(place, index, "humane") as gateway:
        gateway.start()
        gateway.create().delete()
        done = reload_with(gateway, index, "humane==4.0", "Humane==4.1")
        assert done.returncode != 0, done
        assert '"Humane==4.1" names a package' in done.stderr
        session = gateway.create()
        assert has(session, "humane")
        session.delete()


def test_no_index_is_an_error(place: Path, index: FakeIndex) -> None:
    with gateway_of(place, index) as gateway:
        text = gateway.refused(
            "--set", "profile/python3/packages/index=",
            "--set", "profile/python3/packages/preinstall=humane",
        )  # fmt: skip
        assert "set profile/python3/packages/index" in text


# ---- with other users of zygotes ----

UNIT_USER = 64995
USER = 64994


def kinds() -> list[str]:
    return ["own", "service", "user"] if os.geteuid() == 0 else ["user"]


@pytest.mark.parametrize("kind", kinds())
def test_with_other_users(place: Path, index: FakeIndex, kind: str) -> None:
    """Sessions that cannot read what the gateway alone can."""
    is_other = kind == "user" and os.geteuid() == 0
    with gateway_of(
        place, index, "humane", user=USER if is_other else None
    ) as gateway:
        gateway.folder.chmod(0o711)
        place.chmod(0o777)
        settings = {"own": "zygote_user=own", "service": "cgroups=none"}
        if kind in settings:
            gateway.options += ["--set", f"gateway/{settings[kind]}"]
        if kind == "service":
            gateway.be_service(UNIT_USER)
        gateway.start()
        session = gateway.create()
        assert has(session, "humane")
        code = "import humane; print(open(humane.__file__).read())"
        assert "VERSION" in printed(session, code)
        reload_with(gateway, index, "tooled")
        other = gateway.create()
        assert has(other, "tooled")
        assert len(environments(place)) == 2
        session.delete()
        wait_for(lambda: len(environments(place)) == 1, "what is used alone")
        other.delete()
