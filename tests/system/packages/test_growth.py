"""How much uv may add to its folder, and what of it is taken back."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Callable

import pytest
from hearth_downloads.core.faults import Refused
from hearth_downloads.core.folders import Size
from hearth_downloads.core.gateway import Gateway
from hearth_downloads.packages import growth as module
from hearth_downloads.packages.growth import Growth
from hearth_downloads.packages.stage import ARCHIVE, Stage
from staging import count_descriptors, make_job

Make = Callable[..., Growth]
LARGE = bytes(100_000)


@pytest.fixture
def make(
    tmp_path: Path, gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> Make:
    """Return a function that begins a job; nothing of uv's own is spared."""
    monkeypatch.setattr(module, "SPARE_BYTES", 0)
    monkeypatch.setattr(module, "SPARE_FILES", 0)

    def begin(**about: Any) -> Growth:
        job = make_job(tmp_path, **about)
        stage = Stage(job)
        stage.open(gateway)
        return Growth(job, stage)

    return begin


def put(work: Path, name: str, content: bytes = LARGE) -> Path:
    path = work / "uv" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def added(growth: Growth) -> Size:
    """Return what is more than before, as `du` would count it."""
    found, before = growth._measure(()).found, growth.before.whole
    return Size(found.size - before.size, found.count - before.count)


def permit(growth: Growth, size: int, count: int) -> None:
    growth.job = replace(growth.job, max_bytes=size, max_files=count)


@pytest.mark.parametrize("place", ["stage", "cache/page", "cache/new"])
def test_as_much_as_is_permitted_is_not_refused(
    make: Make, tmp_path: Path, place: str
) -> None:
    growth = make()
    put(tmp_path, f"{place}/b")
    most = added(growth)
    assert most.size >= len(LARGE)
    permit(growth, most.size, most.count)
    growth.measure()
    permit(growth, most.size - 1, most.count)
    with pytest.raises(Refused, match=f"than {most.size - 1} bytes, which"):
        growth.measure()
    permit(growth, most.size, most.count - 1)
    with pytest.raises(Refused, match=f"than {most.count - 1} files, which"):
        growth.measure()


def test_a_copied_profile_may_have_twice_as_much(
    make: Make, tmp_path: Path
) -> None:
    growth = make(order="profile")
    put(tmp_path, "stage/b")
    half = (added(growth).size + 1) // 2
    permit(growth, half, 100)
    growth.measure()
    permit(growth, half - 1, 100)
    with pytest.raises(Refused, match="the profile's packages would have"):
        growth.measure()


def test_folders_that_are_too_deep_are_refused(
    make: Make, tmp_path: Path
) -> None:
    put(tmp_path, "stage/" + "d/" * 102 + "a")
    growth = make()
    put(tmp_path, "stage/" + "d/" * 102 + "a")
    with pytest.raises(Refused, match="folders that are too deep"):
        growth.measure()


def test_a_whole_look_notes_the_wheels(make: Make, tmp_path: Path) -> None:
    growth = make()
    put(tmp_path, f"cache/{ARCHIVE}/three/a", b"1234")
    growth.measure()
    wheels = growth.stage.wheels
    assert wheels["three"] == [1, 4]
    assert set(wheels) == {"one", "two", "three"}
    os.remove(tmp_path / "uv" / "cache" / ARCHIVE / "three" / "a")
    growth._refuse(growth.before.wheels, growth.before.rest)
    assert growth.stage.wheels is wheels
    permit(growth, -1_000_000, 100)
    with pytest.raises(Refused):
        growth.measure()
    assert growth.stage.wheels is wheels


def test_a_look_that_is_cheap_leaves_out_old_wheels(
    make: Make, tmp_path: Path
) -> None:
    growth = make()
    put(tmp_path, f"cache/{ARCHIVE}/one/b")
    size = growth.before.rest.size
    least = growth._measure(growth.before.wheels).found.size
    assert least - size < len(LARGE)
    put(tmp_path, f"cache/{ARCHIVE}/three/b")
    new = growth._measure(growth.before.wheels).found.size
    assert new - least >= len(LARGE)


def test_looks_take_a_tenth_of_the_time_at_most(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    growth = make()
    clock = SimpleNamespace(now=0.0, takes=1.0)
    done: list[str] = []

    def refuse(without: Collection[str], before: Size) -> None:
        is_whole = not without
        known = growth.before
        assert before == (known.whole if is_whole else known.rest)
        done.append("whole" if is_whole else "new")
        clock.now += clock.takes

    def look_at(now: float) -> list[str]:
        clock.now = now
        growth.look()
        taken = list(done)
        done.clear()
        return taken

    fake = SimpleNamespace(monotonic=lambda: clock.now)
    monkeypatch.setattr(module, "time", fake)
    monkeypatch.setattr(growth, "_refuse", refuse)
    assert look_at(0.0) == ["whole"]  # the next whole one is at 20
    assert look_at(1.24) == []
    assert look_at(1.25) == ["new"]  # until 2.25, and the next 10 later
    assert look_at(12.24) == []
    assert look_at(12.25) == ["new"]
    clock.takes = 0.0
    assert look_at(23.25) == ["whole"]
    assert look_at(23.25) == []
    assert look_at(23.5) == ["whole"]
    clock.takes = 1.0
    assert look_at(23.75) == ["whole"]  # until 43.75
    clock.takes = 0.0
    assert look_at(43.5) == ["new"]
    assert look_at(43.75) == ["whole"]


def test_what_a_job_has_added_is_taken_back(make: Make, tmp_path: Path) -> None:
    growth = make()
    cache = tmp_path / "uv" / "cache"
    put(tmp_path, "stage/new/a")
    put(tmp_path, "cache/page-2/a")
    put(tmp_path, f"cache/{ARCHIVE}/three/a")
    before = count_descriptors()
    growth.take_back()
    assert count_descriptors() == before
    assert os.listdir(tmp_path / "uv") == ["cache"]
    assert set(os.listdir(cache)) == {ARCHIVE, "page"}
    assert set(os.listdir(cache / ARCHIVE)) == {"one", "two"}
    assert os.listdir(cache / "page") == ["a"]


def test_a_folder_of_the_cache_that_has_grown_takes_all_with_it(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    growth = make()
    cache = tmp_path / "uv" / "cache"
    put(tmp_path, "cache/page/b")
    growth.stage.clear()  # of the stage, whose folder counts
    grown = added(growth).size
    monkeypatch.setattr(module, "SPARE_BYTES", grown)
    growth.take_back()
    assert set(os.listdir(cache)) == {ARCHIVE, "page"}
    monkeypatch.setattr(module, "SPARE_BYTES", grown - 1)
    growth.take_back()
    assert os.listdir(cache) == []


def test_a_folder_that_is_too_deep_takes_all_with_it(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    growth = make()
    monkeypatch.setattr(module, "SPARE_BYTES", 1 << 30)
    put(tmp_path, "cache/page/" + "d/" * 102 + "a", b"")
    growth.take_back()
    assert os.listdir(tmp_path / "uv" / "cache") == []


def test_a_cache_without_wheels_is_measured(make: Make, tmp_path: Path) -> None:
    growth = make()
    growth.stage.empty_cache()
    put(tmp_path, "cache/new/a")
    assert added(growth).count < 0
    growth.measure()
    growth.take_back()
    assert os.listdir(tmp_path / "uv" / "cache") == []


def test_measuring_leaves_no_descriptor_open(make: Make) -> None:
    growth = make()
    before = count_descriptors()
    growth.measure()
    assert count_descriptors() == before
