"""What a job knows of the cache before uv starts."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest
from hearth_downloads.core.folders import Measure
from hearth_downloads.core.gateway import Gateway
from hearth_downloads.packages.growth import Growth
from hearth_downloads.packages.stage import (
    ARCHIVE,
    CACHE_FACTOR,
    Inventory,
    Stage,
)
from staging import make_job


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
    bounds: dict[str, Any] = {"cache_bytes": 1 << 30, "cache_files": 1000}
    stage = Stage(make_job(tmp_path, max_files=1, max_bytes=1, **bounds))
    stage.open(gateway)
    assert stage.before.wheels == {"one", "two"}
