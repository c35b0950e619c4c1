"""Packages that code in a cell asks for: `%pip install` goes the same way as a
client's request, by the same rules, and the next line imports what came."""

from __future__ import annotations

from typing import Iterator

import pytest
from client import Client
from fake_index import FakeIndex
from harness import Gateway, Session
from packages_gateway import Packaged, gateway_with_uv
from records import wait_record


@pytest.fixture(scope="module")
def index() -> Iterator[FakeIndex]:
    with FakeIndex() as made:
        made.add("timely", "1.5")
        made.add("humane", "4.0", requires=["timely>=1"])
        made.add("humane", "4.1", requires=["timely>=1"])
        made.add("barred", "1.0")
        yield made


@pytest.fixture(scope="module")
def real(index: FakeIndex) -> Iterator[Gateway]:
    with gateway_with_uv(index.url, deny="barred") as made:
        yield made


@pytest.fixture(scope="module")
def played() -> Iterator[Packaged]:
    """One whose worker does what the test says."""
    made = Packaged()
    try:
        made.start()
        yield made
    finally:
        made.end()


def versions(session: Session) -> dict[str, str]:
    found = session.gateway.json("packages", "list", "--json", session.id)
    return {one["name"]: one["version"] for one in found["packages"]}


def test_the_next_line_imports_it(real: Gateway) -> None:
    session = real.create()
    done = session.exec(
        "kept = 1\n%pip install humane==4.0\n"
        "import humane, timely; print(kept, humane.VERSION, timely.VERSION)"
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "added humane 4.0\nadded timely 1.5\n1 4.0 1.5\n"
    assert versions(session) == {"humane": "4.0", "timely": "1.5"}
    done = session.exec("%pip uninstall -y humane")
    assert done.stdout == "removed humane 4.0\nremoved timely 1.5\n"
    assert versions(session) == {}
    # Both are imported still, one of them in another version.
    done = session.exec("%pip install humane==4.1")
    assert done.stdout == (
        "added humane 4.1\nadded timely 1.5\n"
        "humane is imported already: restart the session to get 4.1\n"
    )
    session.delete()


def test_a_refusal_ends_the_cell(real: Gateway) -> None:
    session = real.create()
    done = session.exec("%pip install barred\nprint('went on')")
    assert done.returncode == 1
    assert "went on" not in done.stdout
    assert "barred" in done.stderr
    assert "packages/deny" in done.stderr
    refused = wait_record(
        real, event="package", session=session.id, outcome="refused"
    )
    assert refused["who"] == "kernel"
    assert refused["names"] == ["barred"]
    session.delete()


def test_a_change_has_its_records(real: Gateway) -> None:
    session = real.create()
    assert session.exec("%pip install timely").returncode == 0
    added = wait_record(
        real, event="package", session=session.id, outcome="added"
    )
    assert (added["who"], added["package"]) == ("kernel", "timely")
    call = wait_record(real, event="tool_call", session=session.id)
    assert (call["tool"], call["outcome"]) == ("hearth:packages", "ok")
    session.delete()


def begin(session: Session, client: Client, name: str) -> str:
    """A cell that waits for its package; returns the msg_id."""
    msg_id: str = client.kc.execute(f"kept = 7\n%pip install {name}")
    played_by(session).wait_note("began", name)
    return msg_id


def played_by(session: Session) -> Packaged:
    gateway = session.gateway
    assert isinstance(gateway, Packaged)
    return gateway


def test_a_replay_adds_it_again(real: Gateway) -> None:
    session = real.create()
    for code in ("%pip install humane", "import humane; print(humane.VERSION)"):
        assert session.exec(code).returncode == 0
    done = real.run("notebook", "replay", session.id)
    assert done.returncode == 0, done.stdout + done.stderr
    session.delete()


def test_an_interrupt_ends_the_cell_alone(played: Packaged) -> None:
    """The job goes on, as it does when a client goes."""
    session = played.create()
    with session.client() as client:
        msg_id = begin(session, client, "slow-interrupted")
        played.run("session", "interrupt", session.id)
        turn = client.finish(msg_id)
        assert turn.content["ename"] == "KeyboardInterrupt"
        assert client.value("kept") == 7
        played.let("slow-interrupted")
        played.wait_note("ended", "slow-interrupted")
        assert client.run("%pip install after").stream() == "added after 1.0\n"
    session.delete()


def test_the_kernel_ends_during_a_job(played: Packaged) -> None:
    session = played.create()
    with session.client() as client:
        msg_id = begin(session, client, "slow-killed")
        played.run("session", "restart", session.id)
        turn = client.finish(msg_id)
        assert turn.status == "error"
        played.let("slow-killed")
        played.wait_note("ended", "slow-killed")
        assert client.run("%pip install next").stream() == "added next 1.0\n"
    session.delete()


def test_the_session_ends_during_a_job(played: Packaged) -> None:
    session = played.create()
    with session.client() as client:
        begin(session, client, "slow-session")
        worker = played.wait_note("began", "slow-session")["pid"]
        session.delete()
    played.wait_ended(worker)


def test_the_gateway_ends_during_a_job() -> None:
    """The cell gets the error that it may be done; the session goes on."""
    gateway = Packaged()
    try:
        gateway.start()
        session = gateway.create()
        with session.client() as client:
            msg_id = begin(session, client, "slow-lost")
            gateway.kill()
            gateway.start()
            turn = client.finish(msg_id)
            assert turn.status == "error", turn.content
            assert "the gateway was started again" in turn.content["evalue"]
            assert client.value("kept") == 7
            assert client.run("%pip install after").status == "ok"
    finally:
        gateway.end()


def test_code_waits_its_turn(played: Packaged) -> None:
    first, second = played.create(), played.create()
    with first.client() as one, second.client() as other:
        held = begin(first, one, "slow-turn")
        waits: str = other.kc.execute("%pip install in-turn")
        second.wait_journaled(["tool_call"])
        played.let("slow-turn")
        assert one.finish(held).stream() == "added slow-turn 1.0\n"
        assert other.finish(waits).stream() == "added in-turn 1.0\n"
    played.wait_note("ended", "in-turn")
    assert [one for one in played.order() if "turn" in one[1]] == [
        ("began", "slow-turn"),
        ("ended", "slow-turn"),
        ("began", "in-turn"),
        ("ended", "in-turn"),
    ]
    first.delete()
    second.delete()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("refused", "it is PackagesRefused"),
        ("unreachable", "it is PackagesUnreachable"),
        ("dies", "ended without an answer"),
        ("wrong", "the list added"),
    ],
)
def test_a_failure_is_the_cells(played: Packaged, name: str, text: str) -> None:
    session = played.create()
    done = session.exec(f"%pip install {name}\nprint('went on')")
    assert done.returncode == 1
    assert text in done.stderr
    assert "went on" not in done.stdout
    session.delete()


def test_a_profile_without_host_tools_has_packages() -> None:
    gateway = Packaged("--set", "profile/python3/tools/enabled=no")
    try:
        gateway.start()
        session = gateway.create()
        assert session.exec("%pip install a").stdout == "added a 1.0\n"
    finally:
        gateway.end()


def test_an_import_names_the_list_that_forbids_it(real: Gateway) -> None:
    session = real.create("--packages", "deny=Never_Had")
    for name, of in (
        ("barred", "profile/python3/packages/deny"),
        ("never_had", "this session's own packages/deny"),
    ):
        said = session.exec(f"import {name}").stderr
        assert f"{name} is not permitted here: {of} names it" in said
    assert "`%pip install humane` asks" in session.exec("import humane").stderr
    session.delete()


def test_code_may_be_forbidden_to_ask() -> None:
    gateway = Packaged("--set", "profile/python3/packages/cells=no")
    try:
        gateway.start()
        session = gateway.create()
        done = session.exec("%pip install a")
        assert done.returncode == 1
        assert "profile/python3/packages/cells" in done.stderr
        assert gateway.notes() == []
        refused = wait_record(gateway, event="package", outcome="refused")
        assert (refused["who"], refused["names"]) == ("kernel", ["a"])
        done = session.exec(
            "import os; print(os.environ['HEARTH_PACKAGES_CELLS'])"
        )
        assert done.stdout == "no\n"
        done = gateway.run("packages", "add", session.id, "a")
        assert done.stdout == "added a 1.0\n"
    finally:
        gateway.end()
