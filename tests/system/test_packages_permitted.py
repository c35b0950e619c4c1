"""Packages with what is refused unless the operator permits it: files that
Python runs at its start, and modules that hide the profile's."""

from __future__ import annotations

from typing import Iterator

import pytest
from fake_index import FakeIndex
from harness import Gateway, Session
from packages_gateway import PACKAGES, gateway_with_uv, printed
from recordings import revive

PTH = "import os; os.environ['PTH_RAN'] = str(os.getpid())\n"
HIDING = {"this.py": "hides = 1\n", "json.py": "", "IPython.py": "1 / 0\n"}


@pytest.fixture(scope="module")
def index() -> Iterator[FakeIndex]:
    with FakeIndex() as made:
        made.add("starting", "1.0", {"starting.pth": PTH})
        made.add("ending", "1.0", {"ending.pth": "import sys; sys.exit(7)\n"})
        made.add("leaving", "1.0", {"leaving.pth": "import os; os._exit(7)\n"})
        made.add("hiding", "1.0", HIDING)
        made.add("posing", "1.0", {"hearth_kernel/kernel.py": ""})
        yield made


@pytest.fixture(scope="module")
def gateway(index: FakeIndex) -> Iterator[Gateway]:
    with gateway_with_uv(index.url, pth="yes", shadow="yes") as made:
        yield made


@pytest.fixture
def session(gateway: Gateway) -> Iterator[Session]:
    made = gateway.create()
    yield made
    made.delete()


def add(session: Session, name: str) -> None:
    session.gateway.json("packages", "add", "--json", session.id, name)


def restart(session: Session) -> None:
    done = session.gateway.run("session", "restart", session.id)
    assert done.returncode == 0, done.stderr


RAN = "import os; print(os.environ.get('PTH_RAN') == str(os.getpid()))"


def test_a_pth_file_runs_in_the_sessions_kernel(session: Session) -> None:
    assert printed(session, RAN) == "False"
    add(session, "starting")
    assert printed(session, RAN) == "True"
    restart(session)
    assert printed(session, RAN) == "True"


def test_a_pth_file_runs_by_the_next_line_of_a_cell(session: Session) -> None:
    said = printed(session, f"%pip install starting\n{RAN}")
    assert said.splitlines() == ["added starting 1.0", "True"]


def test_a_package_that_ends_its_cell_is_no_end(session: Session) -> None:
    """A restart succeeds, and the package can be removed."""
    add(session, "ending")
    for _ in range(2):
        done = session.exec("print(1)")
        assert (done.returncode, done.stdout) == (1, "")
        assert "SystemExit: 7" in done.stderr
        assert printed(session, "print(2)") == "2"
        restart(session)
    done = session.gateway.run("packages", "remove", session.id, "ending")
    assert done.returncode == 0, done.stderr
    assert printed(session, "print(1)") == "1"


def test_a_package_that_ends_the_kernel_is_removed_from_what_is_gone(
    gateway: Gateway, session: Session
) -> None:
    """No kernel of the session stays alive with it."""
    assert printed(session, "x = 41; print(x)") == "41"
    add(session, "leaving")
    session.exec("print(1)")
    session.wait_state("gone")
    assert gateway.run("session", "revive", session.id).returncode != 0
    session.wait_state("gone")
    found = gateway.json("packages", "list", "--json", session.id)
    assert [one["name"] for one in found["packages"]] == ["leaving"]
    done = gateway.run("packages", "add", session.id, "starting")
    assert done.returncode == 3
    done = gateway.run("packages", "remove", session.id, "leaving")
    assert (done.returncode, done.stdout) == (0, "removed leaving 1.0\n")
    assert revive(gateway, session)["variables"]["back"] == ["x"]
    assert printed(session, "print(x + 1)") == "42"
    # The recording has the request and the removal.
    session.delete()
    assert revive(gateway, session)["missing"] == []
    assert printed(session, "print(x + 1)") == "42"


def test_a_module_may_hide_the_profiles(session: Session) -> None:
    add(session, "hiding")
    assert printed(session, "import this; print(this.hides)") == "1"
    restart(session)
    assert printed(session, "import this; print(this.hides)") == "1"
    # One that the kernel has imported stays.
    assert printed(session, "import json; print(json.dumps([1]))") == "[1]"
    with session.client() as client:
        reply = client.reply(client.kc.complete("im", 2))
        assert reply["content"]["status"] == "ok"


def test_no_package_has_hearths_own_names(session: Session) -> None:
    done = session.gateway.run("packages", "add", session.id, "posing")
    assert done.returncode == 1
    assert "a package has a module hearth_kernel, and the" in done.stderr


@pytest.mark.parametrize(
    ("name", "setting"), [("starting", "pth"), ("hiding", "shadow")]
)
def test_a_session_can_have_neither(
    gateway: Gateway, name: str, setting: str
) -> None:
    session = gateway.create("--packages", f"{setting}=no")
    done = gateway.run("packages", "add", session.id, name)
    assert done.returncode == 1
    said = f"this session was created with packages/{setting} = no"
    assert done.stderr.strip().endswith(said)
    session.delete()


def test_both_are_refused_unless_they_are_permitted(index: FakeIndex) -> None:
    """No session can permit them to itself."""
    with gateway_with_uv(index.url) as gateway:
        session = gateway.create()
        for name, setting in (("starting", "pth"), ("hiding", "shadow")):
            done = gateway.run("packages", "add", session.id, name)
            said = f"can permit it by {PACKAGES}/{setting} = yes"
            assert done.stderr.strip().endswith(said)
            rule = ("--packages", f"{setting}=yes")
            done = gateway.run("session", "create", *rule)
            assert "a session can only have no" in done.stderr
