"""A uv that was taken over: what it leaves leads the worker nowhere."""

from __future__ import annotations

import itertools
import os
from pathlib import Path
from typing import Iterator

import pytest
from depth import spread
from fake_index import FakeIndex
from worker import (
    ALWAYS,
    KINDS,
    USER,
    Folder,
    open_place,
    refuse,
    see_all,
    size,
)

MISMATCH = "echo 'error: Hash mismatch for `x`' >&2; exit 1"
IN_PLACE = "in the place of its folder"


class Used:
    """A folder that has had a job, and its index. Tests share it, each with a
    package of its own."""

    def __init__(self, folder: Folder, index: FakeIndex) -> None:
        self.folder = folder
        self.index = index
        self.numbers = itertools.count()
        folder.settings["index"] = index.url
        index.add("b", "1")
        folder.do("add", "b")

    def add(self) -> str:
        """Add a package to the index; return its name."""
        name = f"a{next(self.numbers)}"
        self.index.add(name, "1")
        return name


@pytest.fixture(scope="module", params=KINDS)
def used(uv: None, request: pytest.FixtureRequest) -> Iterator[Used]:
    with FakeIndex() as index, open_place() as place:
        yield Used(Folder(place / "packages", request.param), index)


def take_over(folder: Folder, script: str) -> dict[str, str]:
    """Return the setting by which a script is uv."""
    program = folder.path.parent / "uv"
    program.write_text(f"#!/bin/sh\ncd /workspace\n{script}\n")
    program.chmod(0o755)
    return {"uv": str(program)}


def make_victim(folder: Folder, name: str = "") -> Path:
    """Make a folder of the host that uv's user may write to."""
    victim = folder.path.parent / f"victim{name}"
    for name in (".tmpx/a", "precious/a", "archive-v0/a", "new"):
        (victim / name).mkdir(parents=True)
        (victim / name / "file").write_text("x")
    (victim / "resolved.txt").write_text("a==1\n")
    for path in (victim, *victim.rglob("*")):
        path.chmod(0o777)
    return victim


@pytest.mark.parametrize(
    ("script", "why"),
    [
        (f"mv cache old; ln -s {{victim}} cache; {MISMATCH}", IN_PLACE),
        (f"mv cache old; touch cache; {MISMATCH}", IN_PLACE),
        (f"mv cache old; mkdir cache; {MISMATCH}", IN_PLACE),
        (f"mv cache old; {MISMATCH}", IN_PLACE),
        (
            "[ -d cache/archive-v0 ] && mv cache/archive-v0 old; "
            f"ln -s {{victim}} cache/archive-v0; {MISMATCH}",
            IN_PLACE,
        ),
        (f"ln -s {{victim}} cache/.tmpx; {MISMATCH}", "its hash differs"),
        ("mv stage old; ln -s {victim} stage", IN_PLACE),
        ("mv stage old; mkdir stage; touch stage/resolved.txt", IN_PLACE),
        (
            "[ $2 = compile ] && "
            "printf '{name}==1 \\\\\\n    --hash=sha256:{hash}' "
            "> stage/resolved.txt || ln -s {victim} stage/new",
            IN_PLACE,
        ),
        (
            "rm stage/resolved.txt; ln -s {victim}/resolved.txt "
            "stage/resolved.txt",
            "no plain file resolved.txt",
        ),
        (
            "rm -f lock; ln -s {victim}/none lock; ln -s {victim} init-1; "
            f"chmod 0 cache; {MISMATCH}",
            "its hash differs",
        ),
        (f"chmod 0 cache stage .; {MISMATCH}", "its hash differs"),
    ],
)
def test_a_uv_that_was_taken_over_reaches_nothing_else(
    used: Used, script: str, why: str
) -> None:
    """The worker follows no link of uv's, and the next job works."""
    folder, name = used.folder, used.add()
    victim = make_victim(folder, name)
    before = see_all(victim)
    text = script.format(victim=victim, name=name, hash="0" * 64)
    assert why in refuse(folder, name, **take_over(folder, text)).text
    assert see_all(victim) == before
    assert set(os.listdir(folder.path / "work" / "uv")) <= {"cache"}
    folder.do("add", name)
    assert see_all(victim) == before
    assert folder.read(f"{name}.py") == "VERSION = '1'\n"
    assert sorted(os.listdir(folder.path / "work")) == ALWAYS
    assert os.listdir(folder.path / "work" / "uv") == ["cache"]


def test_a_deep_folder_is_removed(folder: Folder, index: FakeIndex) -> None:
    """Deeper than a path can be, and than there may be descriptors."""
    index.add("a", "1")
    deep = "n=0; while [ $n -lt 3000 ]; do mkdir d; cd d; n=$((n+1)); done"
    evil = take_over(folder, f"cd cache; {deep}; {MISMATCH}")
    assert "too deep" in refuse(folder, "a", **evil).text
    folder.do("add", "a")
    assert not (folder.path / "work" / "uv" / "cache" / "d").exists()


@pytest.mark.parametrize(
    "name", spread(["lock", "uv", "cache", "profile-wheels"])
)
@pytest.mark.parametrize("kind", ["link", "dangling", "folder", "fifo"])
def test_a_wrong_kind_in_the_work_folder_is_removed(
    folder: Folder, index: FakeIndex, name: str, kind: str
) -> None:
    index.add("a", "1")
    victim = make_victim(folder)
    before = see_all(victim)
    path = folder.path / "work" / name
    if kind == "link":
        path.symlink_to(victim)
    elif kind == "dangling":
        path.symlink_to(victim / "none")
    elif kind == "folder":
        (path / "a" / "b").mkdir(parents=True)
    else:
        os.mkfifo(path)
    if os.geteuid() == 0:
        os.chown(path, USER, USER, follow_symlinks=False)
        for inner in path.rglob("*") if kind == "folder" else ():
            os.chown(inner, USER, USER)
    folder.do("add", "a")
    folder.do("remove", "a")
    assert see_all(victim) == before
    assert (folder.path / "work" / "lock").is_file()


def test_links_in_the_work_folder_are_not_followed(
    folder: Folder, index: FakeIndex
) -> None:
    """Files that a broken uv has left there are removed, and nothing else."""
    index.add("a", "1")
    target = folder.path.parent / "target"
    target.mkdir()
    (target / "kept").touch()
    (folder.path / "work" / "uv").symlink_to(target)
    folder.do("add", "a")
    assert (target / "kept").exists()
    assert os.listdir(target) == ["kept"]


@pytest.mark.parametrize("inside", ["stage", "cache", "cache/archive-v0/x"])
def test_ends_a_uv_that_fills_the_disk_while_it_works(
    folder: Folder, index: FakeIndex, inside: str
) -> None:
    """This one never ends by itself, and no time of the job is over."""
    piece = f"head -c 60000000 /dev/zero > {inside}/"
    evil = take_over(
        folder, f"mkdir -p {inside}; {piece}x; {piece}y; exec sleep infinity"
    )
    refusal = refuse(folder, "a", max_bytes=1 << 20, **evil)
    assert refusal.ename == "PackagesRefused"
    assert f"more than {1 << 20} bytes" in refusal.text
    assert size(folder.path / "work") < 1 << 20


def test_pages_of_the_index_count(folder: Folder, index: FakeIndex) -> None:
    """uv writes into folders of its cache that were there before."""
    index.add("a", "1")
    folder.do("add", "a")
    cache = folder.path / "work" / "uv" / "cache"
    (page,) = cache.glob("simple-v*")
    bomb = f"head -c 60000000 /dev/zero > cache/{page.name}/"
    evil = take_over(folder, f"{bomb}x; {bomb}y; exec sleep infinity")
    index.add("b", "1")
    refusal = refuse(folder, "b", max_bytes=10 << 20, **evil)
    assert f"more than {10 << 20} bytes" in refusal.text
    assert size(cache) < 1 << 20
    folder.do("add", "b")
    assert folder.current() == [
        "a-1.dist-info",
        "a.py",
        "b-1.dist-info",
        "b.py",
    ]
