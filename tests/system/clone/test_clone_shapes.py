"""Repositories of an odd shape: names that are alike, bits in modes, and trees
that name each other so that a small pack has very many files."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from cloning import Folder
from git_server import GitServer, Name, Repository, git

COMMIT = """\
tree {}
author An Author <author@example.org> 1700000000 +0000
committer An Author <author@example.org> 1700000000 +0000

a message
"""
ALIKE = [
    "a",
    "A",
    "stra\u00dfe",
    "STRASSE",
    "\u00e9",
    "e\u0301",
    "\ufb01",
    "fi",
]


def put(made: Repository, tree: str) -> None:
    """Let the branch have a commit of this tree."""
    commit = made.write("commit", COMMIT.format(tree).encode())
    (made.path / "refs" / "heads" / "main").write_text(f"{commit}\n")


def test_names_that_are_alike_are_different_files(
    folder: Folder, server: GitServer, place: Path
) -> None:
    """Each has its own content, and after an update its new one."""
    made = server.make()
    for text in ("first", "second"):
        files = {f"{name}/{name}": name + text for name in ALIKE}
        whole: dict[Name, str] = dict(files.items())
        whole[b"\xff/\xfe"] = text
        made.commit(whole)
        got = folder.clone(made.url)
        for path, content in files.items():
            assert got.text(path) == content
        assert got.tree[b"\xff/\xfe"].content == text.encode()
        assert len(got.work) == 2 * len(ALIKE) + 2
        unpacked = got.unpack(place / "got")
        assert git(unpacked, "status", "--porcelain") == ""
        shutil.rmtree(unpacked)


@pytest.mark.parametrize(
    ("mode", "kind"),
    [
        ("104755", "x"),
        ("102755", "x"),
        ("101777", "x"),
        ("100600", "f"),
        ("120777", "l"),
    ],
)
def test_bits_of_a_trees_mode_do_not_pass(
    folder: Folder, server: GitServer, mode: str, kind: str
) -> None:
    """git makes such modes plain ones; the tree file has no others."""
    made = server.make()
    put(made, made.tree([(mode, made.blob("x"), b"a")]))
    got = folder.clone(made.url)
    assert {name: one.kind for name, one in got.work.items()} == {b"a": kind}


def make_bomb(made: Repository, levels: int) -> None:
    """Put 10 to the power of `levels` files into a few objects."""
    names = [b"%d" % number for number in range(10)]
    here = made.tree([("100644", made.blob(""), name) for name in names])
    for _ in range(levels - 1):
        here = made.tree([("40000", here, name) for name in names])
    put(made, here)


def test_a_small_pack_with_many_files_is_refused(
    folder: Folder, server: GitServer
) -> None:
    """It is while git still makes them, and at the very limit it is not."""
    made = server.make()
    make_bomb(made, 3)
    whole = folder.clone(made.url).files
    folder.hook = (
        "from hearth_downloads.clone import space, tree\n"
        f"tree.ENTRIES_MAX = space.ENTRIES_MAX = {whole}\n"
    )
    assert folder.clone(made.url).files == whole
    make_bomb(made, 5)
    fault = folder.refuse(made.url)
    assert fault.ename == "FetchRefused"
    assert "files, folders and links, which is the most" in fault.text


def test_more_files_than_git_has_memory_for_are_refused(
    folder: Folder, server: GitServer
) -> None:
    made = server.make()
    make_bomb(made, 10)
    fault = folder.refuse(made.url)
    assert fault.ename == "FetchRefused"
    assert "git needed too much memory" in fault.text
