"""Profiles with different indexes that share one folder of packages.

Both have a wheel of the same name and version, with other content. No session
gets that of the other's index: not out of the cache, nor by its hash. They are
kept apart by uv's cache, and by the name of a profile's folder. Without these
one has the wheel of the other.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Iterator

import pytest
from fake_index import FakeIndex
from worker import Folder, Refusal, names, refuse

MINE, THEIRS = "1" * 32, "2" * 32
# Do what uv does, with the pages of one index for both, or with one folder of
# wheels.
ONE_PAGE = """#!/bin/sh
export UV_DEFAULT_INDEX={mine}
exec {uv} "$@"
"""
ONE_FOLDER = """#!/bin/sh
for one in /workspace/cache/*/index/*; do
    for other in "${{one%/*}}"/*; do
        [ "$one" = "$other" ] || cp -an "$one/." "$other"
    done
done
exec {uv} "$@"
"""


@pytest.fixture
def other(index: FakeIndex) -> Iterator[FakeIndex]:
    """Return a second index; each has its own file of a 1."""
    index.add("a", "1", {"a.py": "mine"}, requires=["b"])
    with FakeIndex() as made:
        made.add("a", "1", {"a.py": "theirs"}, requires=["b"])
        for one in (index, made):
            one.add("b", "1")
            one.add("c", "1")
        yield made


def of(other: FakeIndex, **settings: Any) -> dict[str, Any]:
    """Return the settings of a session whose profile has the other index."""
    return {"index": other.url, "profile": "other", **settings}


def mix(folder: Folder, script: str, mine: FakeIndex) -> str:
    """Return the path of a uv that mixes up the indexes."""
    program = folder.path.parent / "uv"
    real = Path(sys.executable).parent / "uv"
    program.write_text(script.format(uv=real, mine=mine.url))
    program.chmod(0o755)
    return str(program)


def has(folder: Folder, token: str) -> str:
    return folder.read("a.py", token)


def test_each_has_the_wheel_of_its_index(
    folder: Folder, index: FakeIndex, other: FakeIndex
) -> None:
    for round_ in range(2):  # the second time they are in the cache
        mine, theirs = f"{round_}" + MINE[1:], f"{round_}" + THEIRS[1:]
        folder.do("add", "a", token=mine)
        folder.do("add", "a", token=theirs, **of(other))
        assert (has(folder, mine), has(folder, theirs)) == ("mine", "theirs")
    assert (index.downloads("a-1"), other.downloads("a-1")) == (1, 1)
    # With a package that goes the others are installed anew, from the cache.
    for token, settings in ((mine, {}), (theirs, of(other))):
        folder.do("add", "c", token=token, **settings)
        folder.do("remove", "c", token=token, **settings)
    assert (has(folder, mine), has(folder, theirs)) == ("mine", "theirs")
    assert (index.downloads("a-1"), other.downloads("a-1")) == (1, 1)


def test_offline_it_has_nothing_of_the_other(
    folder: Folder, other: FakeIndex
) -> None:
    folder.do("add", "a", token=MINE)
    refusal = refuse(folder, "a", **of(other, offline=True))
    assert refusal.ename == "PackagesRefused"
    assert '"a" refused: it is not in the cache of packages' in refusal.text


def test_offline_it_has_that_of_the_other_if_uv_mixes_their_pages(
    folder: Folder, index: FakeIndex, other: FakeIndex
) -> None:
    folder.do("add", "a", token=MINE)
    uv = mix(folder, ONE_PAGE, index)
    folder.do("add", "a", token=THEIRS, **of(other, offline=True, uv=uv))
    assert has(folder, THEIRS) == "mine"


def test_an_index_gets_nothing_by_the_others_hash(
    folder: Folder, index: FakeIndex, other: FakeIndex
) -> None:
    """It says that its file is the one that is in the cache."""
    folder.do("add", "a", token=MINE)
    (known,), (lie,) = index.releases["a"], other.releases["a"]
    lie.sha256 = known.sha256
    for asked in ("a", f"a==1 --hash=sha256:{known.sha256}"):
        refusal = refuse(folder, asked, **of(other))
        assert "its hash differs" in refusal.text
    pins = {"a": ["1", known.sha256]}
    assert (
        "its hash differs" in refuse(folder, "a", **of(other, pins=pins)).text
    )
    assert index.downloads("a-1") == 1


def test_it_gets_that_by_its_hash_if_uv_mixes_their_folders(
    folder: Folder, index: FakeIndex, other: FakeIndex
) -> None:
    folder.do("add", "a", token=MINE)
    folder.do("add", "c", token=THEIRS, **of(other))  # makes its folder
    other.releases["a"][0].sha256 = index.releases["a"][0].sha256
    uv = mix(folder, ONE_FOLDER, index)
    folder.do("add", "a", token=THEIRS, **of(other, uv=uv))
    assert has(folder, THEIRS) == "mine"
    assert other.downloads("a-1") == 0


def test_a_pin_of_the_others_wheel_is_refused(
    folder: Folder, index: FakeIndex, other: FakeIndex
) -> None:
    """As a recording that is replayed under the other profile has it."""
    folder.do("add", "a", token=MINE)
    pins = {"a": ["1", index.releases["a"][0].sha256]}
    refusal = refuse(folder, "a", **of(other, pins=pins))
    assert "the index has another file of a 1: its SHA-256" in refusal.text


def test_a_page_is_not_the_others(
    folder: Folder, index: FakeIndex, other: FakeIndex
) -> None:
    """A page that only one index has is not found in the other."""
    index.add("a", "2", {"a.py": "mine 2"})
    index.add("own", "1")
    assert names(folder.do("add", "a", token=MINE))["a"] == "2"
    folder.do("add", "own", token=MINE)
    assert names(folder.do("add", "a", token=THEIRS, **of(other)))["a"] == "1"
    with pytest.raises(Refusal, match="the index has no package own"):
        folder.do("add", "own", token=THEIRS, **of(other))


# The index is no part of the name of a profile's folder.
NAMELESS = """
from dataclasses import replace
from hearth_downloads.packages import kept
make_key = kept.make_key
kept.make_key = lambda job, *rest: make_key(replace(job, index=""), *rest)
"""


@pytest.mark.parametrize("is_out", [False, True])
def test_what_all_sessions_have_is_of_the_profiles_index(
    folder: Folder, index: FakeIndex, other: FakeIndex, is_out: bool
) -> None:
    """Also where both profiles want the same, and another index is named."""
    folder.hook = NAMELESS if is_out else ""
    profiles = folder.profiles()
    made = {
        name: folder.do(
            "profile",
            "a",
            session=str(profiles),
            **{"index": one.url, "profile": name},
        )["environment"]
        for name, one in (("mine", index), ("theirs", other))
    }
    moved = folder.do(
        "profile", "a", session=str(profiles), index=other.url, profile="mine"
    )["environment"]
    for path, text in (
        (made["mine"], "mine"),
        (made["theirs"], "theirs"),
        (moved, "mine" if is_out else "theirs"),
    ):
        assert (profiles / path / "a.py").read_text() == text
