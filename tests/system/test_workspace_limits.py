"""The limits of a workspace, for writes of a session and of a client."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from deadline import wait_for
from harness import Gateway, Session
from workspaces import files, ls, putting


@contextmanager
def limited(**limits: str) -> Iterator[Gateway]:
    """A gateway whose sessions have these limits."""
    options = [f"profile/python3/limits/{key}={limits[key]}" for key in limits]
    running = Gateway(*(word for one in options for word in ("--set", one)))
    try:
        yield running.start()
    finally:
        running.end()


def test_a_full_workspace_ends_the_session() -> None:
    with limited(workspace_bytes="4M", workspace_files="100") as with_limit:
        session = with_limit.create()
        done = with_limit.run(
            "files", "put", session.id, "-", "big", stdin="x" * 6_000_000
        )
        assert done.returncode == 1
        assert "no room for more" in done.stderr
        assert ls(session) == {}
        session.exec("open('big', 'wb').write(bytes(5_000_000)); None")
        model = session.wait_state("gone")
        assert model["reason"] == "workspace"
        assert "its limit is 4194304" in model["detail"]
        session = with_limit.create()
        session.exec("for i in range(101): open(f'f{i}', 'w').close()")
        model = session.wait_state("gone")
        assert model["reason"] == "workspace"
        assert "holds 101 files, its limit is 100" in model["detail"]


def test_files_that_come_together_share_the_room() -> None:
    """Before any measure: what is on its way, and what has just come."""
    big = "x" * 5_000_000
    with limited(workspace_bytes="8M", workspace_files="3") as narrow:
        session = narrow.create()
        with putting(session, "a", 4 << 20):
            said = files(session, "put", "-", "b", stdin=big, code=1).stderr
            assert "with running transfers" in said
            assert "no room for more" in said
        said = files(session, "put", "-", "b", stdin=big, code=1).stderr
        assert "no room for more" in said
        assert list(ls(session)) == ["a"]
        # What makes room for what replaces it, before any measure.
        for _ in range(4):
            files(session, "put", "-", "a", stdin="y" * 2_000_000)
        files(session, "put", "-", "b", stdin="small")
        files(session, "put", "-", "c", stdin="small")
        said = files(session, "put", "-", "d", stdin="small", code=1).stderr
        assert "holds 3 files" in said
        assert session.show()["state"] == "idle"


BIG = "x" * 3_000_000


@pytest.fixture
def left() -> Iterator[Session]:
    """A session that is gone, with 3 MB of the 4 that it may leave."""
    with limited(workspace_bytes="4M", workspace_files="5") as running:
        made = running.create()
        made.exec("open('big', 'w').write('x' * 3_000_000); None")
        made.delete()
        made.wait_state("gone")
        yield made


def is_refused(session: Session, name: str, text: str) -> bool:
    done = files(session, "put", "-", name, stdin=text, code=1)
    return "there is no room for more" in done.stderr


def test_files_left_by_a_session_count(left: Session) -> None:
    assert is_refused(left, "more", BIG)
    files(left, "put", "-", "small", stdin="a few bytes")
    files(left, "put", "-", "half", stdin="x" * 900_000)
    assert is_refused(left, "more", "x" * 900_000)
    assert set(ls(left)) == {"big", "small", "half"}
    # What is removed makes room, and what replaces it takes it.
    (left.workspace / "big").unlink()
    files(left, "put", "-", "other", stdin=BIG)
    assert is_refused(left, "more", BIG)


def test_files_left_by_a_session_keep_their_project_id(left: Session) -> None:
    for name in ("a", "b", "c", "d"):
        files(left, "put", "-", name, stdin=name)
    done = files(left, "put", "-", "e", stdin="e", code=1)
    assert "holds 5 files" in done.stderr
    assert "big" in ls(left)


def test_the_next_gateway_counts_files_too(left: Session) -> None:
    gateway = left.gateway
    gateway.terminate()
    gateway.start()
    assert is_refused(left, "more", BIG)
    gateway.terminate()
    # Only the files are left of a session that no gateway serves any more.
    gateway.start("--set", "sessions/gone_keep=0")
    assert left.id not in [one["id"] for one in gateway.sessions("--all")]
    assert is_refused(left, "more", BIG)
    files(left, "put", "-", "small", stdin="a few bytes")


def test_files_count_from_the_end_of_the_session() -> None:
    """Running uploads count then, too."""
    with limited(workspace_bytes="8M") as running:
        session = running.create()
        with putting(session, "a", 4 << 20):
            session.delete()
            session.wait_state("gone")
            said = files(session, "put", "-", "b", stdin=2 * BIG, code=1).stderr
            assert "with running transfers" in said
        assert is_refused(session, "b", BIG)
        assert list(ls(session)) == ["a"]


@pytest.mark.deep
def test_many_files_are_counted_before_a_put() -> None:
    with limited(workspace_files="10603") as running:
        session = running.create()
        session.delete()
        session.wait_state("gone")
        for number in range(10_600):
            (session.workspace / str(number)).touch()
        said = files(session, "put", "-", "a", stdin="a", code=1).stderr
        assert "still being counted" in said

        def comes() -> bool:
            put = ("files", "put", session.id, "-", "a")
            return running.run(*put, stdin="a").returncode == 0

        wait_for(comes, "room in what a session has left")
        for name in ("b", "c"):
            files(session, "put", "-", name, stdin=name)

        def is_full() -> bool:
            said = files(session, "put", "-", "d", stdin="d", code=1).stderr
            return "may hold 10603" in said

        wait_for(is_full, "no more room in what a session has left")
        assert not (session.workspace / "d").exists()
