"""A gateway with two profiles, whose indexes have different files of one name
and version: each session imports that of its profile."""

from __future__ import annotations

from typing import Iterator

import pytest
from fake_index import FakeIndex
from harness import Gateway, Session, started
from packages_gateway import open_place

CODE = "import shared; print(shared.FROM)"


@pytest.fixture
def gateway() -> Iterator[Gateway]:
    with FakeIndex() as one, FakeIndex() as other, open_place() as place:
        one.add("shared", "1", {"shared.py": "FROM = 'python3'"})
        other.add("shared", "1", {"shared.py": "FROM = 'other'"})
        made = Gateway(
            "--set", f"profile/python3/packages/index={one.url}",
            "--set", f"profile/other/packages/index={other.url}",
            "--set", f"packages/dir={place / 'packages'}",
        )  # fmt: skip
        with started(made):
            yield made


def printed(session: Session) -> str:
    done = session.exec(CODE)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_session_has_the_packages_of_its_profiles_index(
    gateway: Gateway,
) -> None:
    for profile in ("python3", "other"):
        session = gateway.create("--profile", profile)
        gateway.json("packages", "add", "--json", session.id, "shared")
        assert printed(session) == profile
        session.delete()
