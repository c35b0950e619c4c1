"""The `.git` of a copy, made of a mirror and a report of the test's."""

from __future__ import annotations

import hashlib
import io
import os
import struct
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Optional, cast

import pytest
from cloning import Record, read_tree
from hearth_downloads.clone import dotgit as module
from hearth_downloads.clone.dotgit import DotGit, Head, parse_head
from hearth_downloads.clone.job import Job
from hearth_downloads.clone.space import Space
from hearth_downloads.clone.tree import TreeFile
from hearth_downloads.core.faults import Failed, Refused
from hearth_downloads.core.gateway import Gateway

COMMIT, OTHER = "1" * 40, "2" * 40
LONG = "3" * 64
MAIN = "refs/remotes/origin/main"
REFS = f"{COMMIT} {MAIN}\n{OTHER} refs/remotes/origin/next\n"
HEADER = "# pack-refs with: peeled fully-peeled sorted \n"
PACK = f"pack-{COMMIT}"
URL = "https://example.org/a.git"


def index_of(digits: int, *links: bytes) -> bytes:
    """Return an index with these submodules."""
    made = b"DIRC" + struct.pack(">II", 2, len(links))
    for name in links:
        entry = bytes(24) + struct.pack(">I", 0o160000) + bytes(12)
        entry += bytes(digits // 2) + struct.pack(">H", len(name)) + name
        made += entry + bytes(8 - len(entry) % 8)
    digest = hashlib.sha1 if digits == 40 else hashlib.sha256
    return made + digest(made).digest()


class Mirror:
    """A folder as git has left it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.index: bytes = b""
        (path / "objects" / "pack").mkdir(parents=True)
        self.put("packed-refs", REFS)
        for ending in ("idx", "pack"):
            self.put(f"objects/pack/{PACK}.{ending}", ending)

    def put(self, name: str, text: str) -> None:
        (self.path / name).write_text(text)

    def open_mirror(self) -> int:
        return os.open(self.path, os.O_RDONLY)

    def read_index(self, limit: int) -> bytes:
        return self.index

    def add(
        self, head: Head, source: str = "", **about: Any
    ) -> dict[str, Record]:
        """Return what is in `.git`."""
        self.index = self.index or index_of(head.digits)
        made = DotGit(cast(Space, self), head, URL, source)
        for name, value in about.items():
            setattr(made, name, value)
        number = os.open(self.path, os.O_RDWR | os.O_TMPFILE)
        gateway = cast(Gateway, SimpleNamespace(check=lambda: None))
        tree = TreeFile(Job(max_bytes=1 << 20), gateway, number)
        before = len(os.listdir("/proc/self/fd"))
        try:
            made.add(tree)
            tree.end()
            os.lseek(number, 0, os.SEEK_SET)
            with open(number, "rb", closefd=False) as file:
                found = read_tree(io.BytesIO(file.read()))
            self.submodules = made.submodules
        finally:
            assert len(os.listdir("/proc/self/fd")) == before
            os.close(number)
        return {
            name.decode().replace(".git/", ""): one
            for name, one in found.items()
        }


@pytest.fixture
def mirror(tmp_path: Path) -> Mirror:
    return Mirror(tmp_path / "mirror")


def text(found: dict[str, Record], name: str) -> Optional[str]:
    return found[name].content.decode() if name in found else None


ON_MAIN = Head(COMMIT, "main", "main")
DETACHED = Head(COMMIT, "", "")


def test_a_branch_is_checked_out(mirror: Mirror) -> None:
    found = mirror.add(ON_MAIN)
    assert text(found, "HEAD") == "ref: refs/heads/main\n"
    assert text(found, "packed-refs") == (
        f"{HEADER}{COMMIT} refs/heads/main\n{REFS}"
    )
    assert text(found, "refs/remotes/origin/HEAD") == f"ref: {MAIN}\n"
    assert "shallow" not in found
    assert {name for name, one in found.items() if one.kind == "d"} == {
        *(".git", "objects", "objects/info", "objects/pack", "refs"),
        *("refs/heads", "refs/tags", "refs/remotes", "refs/remotes/origin"),
    }
    assert found["index"].content == index_of(40)
    for ending in ("idx", "pack"):
        assert text(found, f"objects/pack/{PACK}.{ending}") == ending
    assert text(found, "config") == (
        "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n"
        "\tbare = false\n\tlogallrefupdates = true\n"
        f'[remote "origin"]\n\turl = "{URL}"\n'
        '\tfetch = "+refs/heads/*:refs/remotes/origin/*"\n'
        '[branch "main"]\n\tremote = origin\n\tmerge = "refs/heads/main"\n'
    )


def test_a_commit_is_checked_out(mirror: Mirror) -> None:
    found = mirror.add(DETACHED)
    assert text(found, "HEAD") == f"{COMMIT}\n"
    assert text(found, "packed-refs") == HEADER + REFS
    assert "refs/remotes/origin/HEAD" not in found
    assert "[branch" not in str(text(found, "config"))


@pytest.mark.parametrize("default", ["HEAD", "missing", ""])
def test_a_default_that_is_no_branch_is_left_out(
    mirror: Mirror, default: str
) -> None:
    mirror.put("packed-refs", f"{OTHER} refs/remotes/origin/HEAD\n{REFS}")
    found = mirror.add(Head(COMMIT, "main", default))
    assert "refs/remotes/origin/HEAD" not in found
    assert "refs/remotes" not in found


def test_hashes_of_64_digits_need_an_extension(mirror: Mirror) -> None:
    mirror.put("packed-refs", f"{LONG} {MAIN}\n")
    mirror.put("shallow", f"{LONG}\n")
    found = mirror.add(Head(LONG, "main", ""))
    config = str(text(found, "config"))
    assert "repositoryformatversion = 1\n" in config
    assert "[extensions]\n\tobjectformat = sha256\n" in config
    assert text(found, "shallow") == f"{LONG}\n"


def test_a_copy_with_a_depth_follows_one_branch(mirror: Mirror) -> None:
    mirror.put("shallow", f"{COMMIT}\n")
    found = mirror.add(ON_MAIN, "refs/heads/main")
    assert text(found, "packed-refs") == (
        f"{HEADER}{COMMIT} refs/heads/main\n{COMMIT} {MAIN}\n"
    )
    assert '"+refs/heads/main:refs/remotes/origin/main"' in str(
        text(found, "config")
    )


def test_a_copy_with_a_depth_follows_one_tag(mirror: Mirror) -> None:
    mirror.put("packed-refs", f"{REFS}{COMMIT} refs/tags/v1\n")
    found = mirror.add(DETACHED, "refs/tags/v1")
    assert text(found, "packed-refs") == f"{HEADER}{COMMIT} refs/tags/v1\n"
    assert '"+refs/tags/v1:refs/tags/v1"' in str(text(found, "config"))


def test_a_branch_may_be_moved_to_a_commit(mirror: Mirror) -> None:
    other = Head(COMMIT, "next", "")
    with pytest.raises(Failed, match="another commit than that of the branch"):
        mirror.add(other)
    with pytest.raises(Failed, match="another commit than that of the branch"):
        mirror.add(Head(COMMIT, "missing", ""))
    found = mirror.add(other, moves_branch=True)
    assert f"{COMMIT} refs/remotes/origin/next\n" in str(
        text(found, "packed-refs")
    )
    # Without a branch nothing is moved.
    found = mirror.add(DETACHED, moves_branch=True)
    assert text(found, "packed-refs") == HEADER + REFS


def test_contents_of_lfs_and_submodules_are_configured(mirror: Mirror) -> None:
    mirror.index = index_of(40, b"a", b"b")
    found = mirror.add(ON_MAIN, sizes={b"x": 1}, urls={"m": "https://b/"})
    config = str(text(found, "config"))
    assert "\tcheckstat = minimal\n" in config
    assert '[submodule "m"]\n\tactive = true\n\turl = "https://b/"\n' in config
    assert mirror.submodules == 2


def test_a_repository_without_refs_has_a_commit(mirror: Mirror) -> None:
    os.remove(mirror.path / "packed-refs")
    assert text(mirror.add(DETACHED), "packed-refs") == HEADER


def test_too_many_refs_are_refused(
    mirror: Mirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "REFS_BYTES_MAX", len(REFS))
    mirror.add(ON_MAIN)
    monkeypatch.setattr(module, "REFS_BYTES_MAX", len(REFS) - 1)
    with pytest.raises(Refused, match="MiB of branches and tags"):
        mirror.add(ON_MAIN)


@pytest.mark.parametrize(
    "name", ["pack-1.pack", f"{PACK}.keep", f"x{PACK}.idx", "a"]
)
def test_what_is_no_pack_is_refused(mirror: Mirror, name: str) -> None:
    mirror.put(f"objects/pack/{name}", "")
    with pytest.raises(Failed, match="which is no pack"):
        mirror.add(ON_MAIN)


def test_a_pack_that_is_a_link_is_refused(mirror: Mirror) -> None:
    (mirror.path / "objects" / "pack" / f"pack-{OTHER}.idx").symlink_to("/x")
    with pytest.raises(Failed, match="where a plain file is to be"):
        mirror.add(ON_MAIN)


def test_a_mirror_without_packs_is_no_mirror(mirror: Mirror) -> None:
    for path in (mirror.path / "objects" / "pack").iterdir():
        path.unlink()
    mirror.add(ON_MAIN)
    (mirror.path / "objects" / "pack").rmdir()
    with pytest.raises(FileNotFoundError):
        mirror.add(ON_MAIN)


def test_a_report_is_read_strictly() -> None:
    good = {"commit": COMMIT, "branch": "a/b", "head": ""}
    assert parse_head(good) == Head(COMMIT, "a/b", "")
    assert parse_head({**good, "commit": LONG}).digits == 64
    no_reports: tuple[object, ...] = (None, [], "x")
    for wrong in no_reports:
        with pytest.raises(Failed, match="no report"):
            parse_head(wrong)
    for name in ("branch", "head"):
        for value in (None, 7, "a..b", "-a"):
            with pytest.raises(Failed, match="a branch that cannot be read"):
                parse_head({**good, name: value})
    for value in (None, 7, "", COMMIT[1:]):
        with pytest.raises(Failed, match="no commit"):
            parse_head({**good, "commit": value})
