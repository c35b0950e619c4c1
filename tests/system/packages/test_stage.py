"""What a job knows of the cache before uv starts."""

from __future__ import annotations

import os
import socket
from collections.abc import Collection
from pathlib import Path
from typing import Iterator

import pytest
from hearth_downloads.core.folders import Measure
from hearth_downloads.core.gateway import Gateway
from hearth_downloads.packages.growth import Growth
from hearth_downloads.packages.job import Job
from hearth_downloads.packages.stage import (
    ARCHIVE,
    CACHE_FACTOR,
    Inventory,
    Stage,
)


@pytest.fixture
def gateway() -> Iterator[Gateway]:
    mine, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with mine, theirs:
        yield Gateway(theirs)


def make_job(work: Path, max_files: int = 1000, **bounds: int) -> Job:
    """Return a job whose cache has a page, and two wheels that share a file."""
    cache = work / "uv" / "cache"
    for name in ("page/a", f"{ARCHIVE}/one/a", f"{ARCHIVE}/two/b"):
        (cache / name).parent.mkdir(parents=True, exist_ok=True)
        (cache / name).write_bytes(bytes(10_000))
    os.link(cache / ARCHIVE / "one" / "a", cache / ARCHIVE / "two" / "a")
    user = os.geteuid()
    return Job(
        "add", str(work), max_files=max_files, uid=user, gid=user, **bounds
    )


def test_one_walk_tells_all(
    tmp_path: Path, gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    real = Measure._add_entries

    def look(self: Measure, folder: int, without: Collection[str]) -> list[str]:
        seen.append(os.path.basename(os.readlink(f"/proc/self/fd/{folder}")))
        return real(self, folder, without)

    monkeypatch.setattr(Measure, "_add_entries", look)
    job = make_job(tmp_path)
    stage = Stage(job)
    stage.open(gateway)
    growth = Growth(job, stage)
    assert sorted(seen) == sorted([ARCHIVE, "cache", "one", "page", "two"])
    before = growth.before
    assert before.entries == {ARCHIVE, "page"}
    assert before.wheels == {"one", "two"}
    assert before.rest.count == 2
    assert before.whole.count == 2 + 4  # the shared file counts once
    assert 10_000 <= before.rest.size < before.whole.size


@pytest.mark.parametrize("place", ["page", ARCHIVE])
def test_nothing_is_there_after_too_much_was_emptied(
    tmp_path: Path, gateway: Gateway, place: str
) -> None:
    job = make_job(tmp_path, max_files=10)
    cache = tmp_path / "uv" / "cache"
    for number in range(CACHE_FACTOR * job.max_files):
        (cache / place / f"x{number}").touch()
    stage = Stage(job)
    stage.open(gateway)
    assert stage.before == Inventory()
    assert os.listdir(cache) == []


def test_a_session_with_lower_rules_leaves_the_cache(
    tmp_path: Path, gateway: Gateway
) -> None:
    """Others have filled it by the profile's."""
    bounds = {"cache_bytes": 1 << 30, "cache_files": 1000}
    stage = Stage(make_job(tmp_path, max_files=1, max_bytes=1, **bounds))
    stage.open(gateway)
    assert stage.before.wheels == {"one", "two"}
