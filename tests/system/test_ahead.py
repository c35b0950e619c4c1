"""Resources of the next session are made in advance, and belong to it alone."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from deadline import wait_for
from harness import Gateway
from leftovers import Groups, groups
from test_limits import has_groups


@contextmanager
def gateway_without_pool() -> Iterator[tuple[Gateway, Groups]]:
    if not has_groups():
        pytest.skip("no control groups can be made here")
    running = Gateway(
        *("--set", "profile/python3/pool/max=0"),
        *("--set", "sessions/gone_keep=0"),
    )
    try:
        running.start()
        own = Groups(running)
        yield running, own
    finally:
        running.end()
    assert own.ids() == []


def next_id(gateway: Gateway, own: Groups) -> str:
    """The one that has a group and is no session yet."""
    made = gateway.runtime / "next/init.sock"

    def look() -> set[str]:
        known = {model["id"] for model in gateway.sessions("--all")}
        return set(own.ids()) - known if made.exists() else set()

    (found,) = wait_for(look, "what comes next")
    return str(found)


def memory_of(session: str) -> int:
    """Bytes, the limit of its group."""
    for folder in groups({session}):
        for name in ("memory.max", "memory.limit_in_bytes"):
            path = Path(folder) / name
            if path.exists():
                return int(path.read_text())
    raise AssertionError("no limit of memory")


def test_each_session_has_another() -> None:
    with gateway_without_pool() as (gateway, own):
        for _ in range(3):
            expected = next_id(gateway, own)
            folder = (gateway.runtime / "next").stat().st_ino
            session = gateway.create()
            assert session.id == expected
            taken = gateway.runtime / "sessions" / session.id
            assert taken.stat().st_ino == folder
            assert session.exec("print(6 * 7)").stdout == "42\n"


def test_a_group_with_other_limits_is_not_used() -> None:
    with gateway_without_pool() as (gateway, own):
        expected = next_id(gateway, own)
        session = gateway.create("--limit", "memory=300M")
        assert session.id == expected
        assert memory_of(session.id) == 300 << 20
        assert session.exec("print(6 * 7)").stdout == "42\n"


def test_a_session_with_its_own_folder_does_not_use_the_preallocation(
    tmp_path: Path,
) -> None:
    tmp_path.chmod(0o777)
    with gateway_without_pool() as (gateway, own):
        expected = next_id(gateway, own)
        session = gateway.create("--workspace", str(tmp_path))
        assert session.id != expected
        assert gateway.create().id == expected


def test_a_gateway_that_was_killed_leaves_none() -> None:
    with gateway_without_pool() as (gateway, own):
        left = next_id(gateway, own)
        gateway.kill()
        gateway.start()
        wait_for(lambda: left not in own.ids(), "a group that is removed")
        assert next_id(gateway, own) != left


def test_the_preallocation_survives_a_sweep_of_groups() -> None:
    with gateway_without_pool() as (gateway, own):
        session = gateway.create()
        expected = next_id(gateway, own)
        stray = Path(own.where) / f"{own.prefix}{uuid.uuid4()}.1"
        stray.mkdir()
        session.delete()
        wait_for(lambda: not stray.exists(), "a sweep")
        assert gateway.create().id == expected
