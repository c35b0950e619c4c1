"""A session with stricter rules for packages and fetches than its profile's:
they hold on every way, are shown and recorded, and stay with the session."""

from __future__ import annotations

import json
from typing import Any, Iterator

import pytest
from deadline import wait_for
from fake_index import FakeIndex
from fetch_gateway import HOST, Fetching
from harness import Gateway, Session, started
from packages_gateway import Packaged, gateway_with_uv
from records import wait_record

OWN = "this session was created with"


@pytest.fixture(scope="module")
def index() -> Iterator[FakeIndex]:
    with FakeIndex() as made:
        made.add("timely", "1.5")
        made.add("humane", "4.1", requires=["timely>=1"])
        made.add("other", "1.0")
        yield made


@pytest.fixture(scope="module")
def real(index: FakeIndex) -> Iterator[Gateway]:
    with gateway_with_uv(index.url, deny="other") as made:
        yield made


@pytest.fixture(scope="module")
def packaged() -> Iterator[Packaged]:
    """One whose worker notes its job."""
    with started(Packaged()) as made:
        yield made


@pytest.fixture(scope="module")
def fetching() -> Iterator[Fetching]:
    """One whose worker notes its job."""
    with started(Fetching()) as made:
        yield made


def rules(section: str, *pairs: str) -> list[str]:
    return [word for pair in pairs for word in (f"--{section}", pair)]


def add(session: Session, name: str) -> str:
    """Return what a client reads; a cell reads the same."""
    done = session.gateway.run("packages", "add", session.id, name)
    cell = session.exec(f"%pip install {name}")
    if done.returncode == 0:
        assert (cell.returncode, cell.stderr) == (0, "")
        return done.stdout
    assert cell.returncode == 1
    said = done.stderr.removeprefix("hearth: ").strip()
    assert said in cell.stderr
    return said


# What a rule refuses; a session without it gets the package.
@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("deny=humane", f'"humane" refused: {OWN} packages/deny = humane'),
        ("deny=a,HUM*", f'"humane" refused: {OWN} packages/deny = a, HUM*'),
        (
            "deny=timely",
            '"timely", which is needed by humane, refused: '
            f"{OWN} packages/deny = timely",
        ),
        ("allow=timely", f'"humane" refused: {OWN} packages/allow = timely'),
        (
            "cooldown=60d",
            "the cooldown is 60 days (this session's own packages",
        ),
        ("max_files=1", "which this session's own packages/max_files permits"),
    ],
)
def test_a_rule_of_the_session_refuses(
    real: Gateway, rule: str, said: str
) -> None:
    session = real.create(*rules("packages", rule))
    answer = add(session, "humane")
    assert said in answer
    assert "added humane 4.1" in add(real.create(), "humane")


def test_the_cache_alone(real: Gateway, index: FakeIndex) -> None:
    index.add("fresh", "1.0")
    session = real.create(*rules("packages", "offline=yes"))
    assert "this session's own packages/offline is set" in add(session, "fresh")
    assert "added fresh 1.0" in add(real.create(), "fresh")
    assert "added fresh 1.0" in add(session, "fresh")


def test_both_lists_count(real: Gateway) -> None:
    session = real.create(*rules("packages", "allow=other", "deny=humane"))
    assert "profile/python3/packages/deny names it" in add(session, "other")
    assert f"{OWN} packages/deny = humane" in add(session, "humane")
    assert f"{OWN} packages/allow = other" in add(session, "timely")


def test_what_the_worker_gets(packaged: Packaged, fetching: Fetching) -> None:
    session = packaged.create(
        *rules("packages", "deny=torch", "deny=x*", "max_bytes=64M")
    )
    packaged.run("packages", "add", session.id, "first")
    job = packaged.wait_note("began", "first")["job"]
    assert (job["own_deny"], job["own_allow"]) == (["torch", "x*"], [])
    assert job["own_texts"] == {"max_bytes": "64M"}
    assert (job["deny"], job["max_bytes"]) == ([], 64 << 20)
    session = fetching.create(
        *rules("fetch", "allow=data.example", "deny=x.example", "max_bytes=1M")
    )
    for order in ("fetch", "clone"):
        fetching.run(order, session.id, f"{HOST}/{order}d.git")
        job = fetching.wait_note("began", f"{order}d.git")["job"]
        assert job["own_allow"] == ["data.example"]
        assert job["own_deny"] == ["x.example"]
        assert job["own_texts"] == {"max_bytes": "1M"}
        assert job["max_bytes"] == 1 << 20


def hint(session: Session) -> str:
    return session.exec("import humanize").stderr


def test_no_packages_at_all(packaged: Packaged) -> None:
    usual = packaged.create()
    assert "`%pip install humanize` asks for it" in hint(usual)
    session = packaged.create(*rules("packages", "index="))
    before = len(packaged.notes())
    said = packaged.run("packages", "add", session.id, "six")
    assert said.returncode == 5
    assert f'{OWN} packages/index = "": it gets no packages' in said.stderr
    assert session.exec("%pip install six").returncode == 1
    # Its kernel knows of no folder of packages.
    assert "installed into the profile's Python, outside" in hint(session)
    assert len(packaged.notes()) == before


def test_clients_alone_ask(packaged: Packaged, fetching: Fetching) -> None:
    session = packaged.create(*rules("packages", "cells=no"))
    done = session.exec("%pip install six")
    assert f"({OWN} packages/cells = no); a client may" in done.stderr
    assert "a client can add it: `hearth packages add" in hint(session)
    done = packaged.run("packages", "add", session.id, "six")
    assert done.stdout == "added six 1.0\n"
    refused = wait_record(packaged, event="package", outcome="refused")
    assert (refused["who"], refused["names"]) == ("kernel", ["six"])
    session = fetching.create(*rules("fetch", "cells=no"))
    for magic in ("%fetch", "%clone"):
        done = session.exec(f"{magic} {HOST}/plain.csv")
        assert f"({OWN} fetch/cells = no); a client may" in done.stderr
    assert fetching.run("fetch", session.id, f"{HOST}/own").returncode == 0


def test_no_fetches_at_all(fetching: Fetching) -> None:
    session = fetching.create(*rules("fetch", "allow="))
    for order in ("fetch", "clone"):
        done = fetching.run(order, session.id, f"{HOST}/plain.csv")
        assert done.returncode == 5
        assert f'{OWN} fetch/allow = "": it fetches nothing' in done.stderr
        cell = session.exec(f"%{order} {HOST}/plain.csv")
        assert "it fetches nothing" in cell.stderr
    other = fetching.create()
    done = fetching.run("fetch", other.id, f"{HOST}/plain.csv")
    assert done.returncode == 0


def test_the_rules_are_shown_and_recorded(packaged: Packaged) -> None:
    session = packaged.create(
        *rules("packages", "deny=torch", "cooldown=14d", "offline=yes"),
        *rules("fetch", "max_bytes=1M", "allow="),
    )
    packages = {"deny": ["torch"], "cooldown": 1209600, "offline": True}
    fetch = {"max_bytes": 1 << 20, "allow": []}
    listed = next(
        one for one in packaged.sessions("--json") if one["id"] == session.id
    )
    for model in (session.show(), listed):
        assert (model["packages"], model["fetch"]) == (packages, fetch)
    record = wait_record(packaged, event="session_start", session=session.id)
    assert (record["packages"], record["fetch"]) == (packages, fetch)
    assert "packages" not in packaged.create().show()


@pytest.mark.parametrize(
    ("section", "rule", "said"),
    [
        (
            "packages",
            "cooldown=1d",
            "packages/cooldown: 1d is less than the 7d of profile python3",
        ),
        ("packages", "max_bytes=2G", "2G is more than the 1G of profile"),
        ("packages", "index=https://x.example/simple/", "packages/index"),
        ("packages", "hosts=x.example", "packages/hosts"),
        ("packages", "credentials=/x", "packages/credentials"),
        ("packages", "denny=torch", "no such key; did you mean"),
        ("packages", "deny=", "would take nothing away"),
        ("fetch", "max_bytes=8G", "8G is more than the 4G of profile python3"),
        ("fetch", "submodules=yes", "submodules: yes is looser than the no"),
        ("fetch", "private=10.0.0.0/8", "fetch/private"),
        ("fetch", "allow=https://x.example", "fetch/allow"),
    ],
)
def test_what_is_no_lowering(
    packaged: Packaged, section: str, rule: str, said: str
) -> None:
    before = len(packaged.sessions("--all"))
    done = packaged.run("session", "create", f"--{section}", rule)
    assert done.returncode == 1, done
    assert said in done.stderr
    assert len(packaged.sessions("--all")) == before


def deny_torch(gateway: Packaged, session: Session, name: str) -> None:
    """The next job has the session's own rule."""
    done = gateway.run("packages", "add", session.id, name)
    assert done.returncode == 0, done.stderr
    job = gateway.wait_note("began", name)["job"]
    assert job["own_deny"] == ["torch"]


def test_they_stay_with_the_session() -> None:
    """Over a restart of the kernel, of the gateway, and a revival."""
    gateway = Packaged()
    try:
        gateway.start()
        session = gateway.create(
            *rules("packages", "deny=torch", "cells=no"),
        )
        assert gateway.run("session", "restart", session.id).returncode == 0
        deny_torch(gateway, session, "a1")
        gateway.kill()
        gateway.start()
        deny_torch(gateway, session, "a2")
        assert f"{OWN} packages/cells" in session.exec("%pip install b").stderr
        session.delete()
        session.wait_state("gone")
        assert gateway.run("session", "revive", session.id).returncode == 0
        deny_torch(gateway, session, "a3")
        assert f"{OWN} packages/cells" in session.exec("%pip install b").stderr
        assert session.show()["packages"] == {"deny": ["torch"], "cells": False}
    finally:
        gateway.end()


def rewrite(gateway: Gateway, session: Session, **members: Any) -> None:
    """Change the session's file while no gateway runs."""
    gateway.kill()
    (path,) = gateway.folder.glob(f"**/sessions/{session.id}/session.json")
    known = json.loads(path.read_text())
    path.write_text(json.dumps({**known, **members}))
    gateway.start()


@pytest.mark.parametrize("text", ["{", '{"deny": 7}', '{"odd": 1}', ["torch"]])
def test_rules_that_cannot_be_read(text: Any) -> None:
    gateway = Packaged()
    try:
        gateway.start()
        session = gateway.create(*rules("packages", "deny=torch"))
        rewrite(gateway, session, packages_asked=text)
        done = gateway.run("packages", "add", session.id, "six")
        assert done.returncode == 5
        assert "cannot be read any more, so it gets none" in done.stderr
        assert gateway.notes() == []
        other = gateway.run("packages", "add", gateway.create().id, "six")
        assert other.returncode == 0
    finally:
        gateway.end()


def test_todays_configuration_wins() -> None:
    """Where it is stricter; else the session's own rule is."""
    gateway = Packaged()
    try:
        gateway.start()
        session = gateway.create(
            *rules("packages", "cooldown=14d", "max_files=50"),
        )
        gateway.kill()
        gateway.start(
            "--set", "profile/python3/packages/cooldown=30d",
        )  # fmt: skip
        gateway.run("packages", "add", session.id, "now")
        job = gateway.wait_note("began", "now")["job"]
        assert job["cooldown"] == 30 * 86400
        assert (job["max_files"], job["own_texts"]) == (50, {"max_files": "50"})
    finally:
        gateway.end()


def test_a_member_of_the_pool_has_them() -> None:
    """If its kernel need not know of them; else a session is forked."""
    gateway = Packaged("--set", "profile/python3/pool/max=1")

    def pool() -> dict[str, int]:
        found: dict[str, int] = gateway.info()["profiles"][0]["pool"]
        return found

    try:
        gateway.start()
        wait_for(lambda: pool()["ready"], "a session that waits")
        session = gateway.create(*rules("packages", "cells=no"))
        assert "a client can add it" in hint(session)
        session = gateway.create(*rules("packages", "deny=torch"))
        assert pool()["handed_out"] == 0
        deny_torch(gateway, session, "forked")
        session = gateway.create(*rules("packages", "max_files=50"))
        assert pool()["handed_out"] == 1
        for name in ("pooled", "later"):
            gateway.run("packages", "add", session.id, name)
            job = gateway.wait_note("began", name)["job"]
            assert job["own_texts"] == {"max_files": "50"}
            if name == "pooled":
                gateway.kill()
                gateway.start()
    finally:
        gateway.end()
