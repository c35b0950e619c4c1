"""Honest copies: what comes, and what git says of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from cloning import Cloned, Folder
from git_server import GitServer, Repository, git


def look(got: Cloned, place: Path) -> Path:
    """Unpack it, and let git judge it."""
    path = got.unpack(place / f"look-{len(list(place.iterdir()))}")
    assert git(path, "status", "--porcelain") == ""
    git(path, "fsck", "--strict")
    assert git(path, "rev-parse", "HEAD") == got.commit
    return path


@pytest.fixture(scope="module")
def made(server: GitServer) -> Repository:
    """Make a repository with branches and tags, which no test changes."""
    repository = server.make()
    program = ("100755", "#!/bin/sh\n")
    repository.commit({"a": "one", "sub/b": program})
    repository.git("tag", "-a", "v1", "-m", "first", "main")
    repository.commit({"a": "two", "sub/b": program})
    repository.commit({"a": "three", "sub/b": program})
    repository.git("tag", "v2", "main")
    repository.commit({"c": "other"}, "dev/x", repository.find("v1^0"))
    repository.git("tag", "both", "main")
    repository.commit({"c": "both"}, "both")
    return repository


def test_copies_a_repository(
    any_folder: Folder, made: Repository, place: Path
) -> None:
    got = any_folder.clone(made.url)
    assert (got.commit, got.branch) == (made.find("main"), "main")
    assert (got.cached, got.lfs, got.submodules) == (False, 0, 0)
    assert {name: one.kind for name, one in got.work.items()} == {
        b"a": "f",
        b"sub": "d",
        b"sub/b": "x",
    }
    assert got.text("a") == "three"
    path = look(got, place)
    assert git(path, "rev-list", "--count", "HEAD") == "3"
    assert git(path, "status", "-sb") == "## main...origin/main"
    assert git(path, "config", "remote.origin.url") == made.url
    assert git(path, "tag").split() == ["both", "v1", "v2"]
    assert git(path, "describe", "HEAD~2") == "v1"
    assert git(path, "rev-parse", "--abbrev-ref", "origin/HEAD") == (
        "origin/main"
    )
    # What was got is enough to go on: a fetch, a branch of the server's.
    git(path, "fetch", "-q")
    git(path, "switch", "-q", "dev/x")
    assert (path / "c").read_text() == "other"
    again = any_folder.clone(made.url)
    assert (again.tree, again.cached) == (got.tree, True)


def test_copies_with_a_depth(
    folder: Folder, made: Repository, place: Path
) -> None:
    got = folder.clone(made.url, depth=2)
    path = look(got, place)
    assert git(path, "rev-list", "--count", "HEAD") == "2"
    assert git(path, "rev-parse", "--is-shallow-repository") == "true"
    assert git(path, "branch", "-r").split() == [
        *("origin/HEAD", "->", "origin/main", "origin/main")
    ]
    git(path, "fetch", "-q")
    assert git(path, "branch", "-r").count("dev") == 0
    git(path, "fetch", "-q", "--unshallow")
    assert git(path, "rev-list", "--count", "HEAD") == "3"
    assert folder.clone(made.url, depth=2).cached
    assert not folder.clone(made.url, depth=1).cached


@pytest.mark.parametrize("depth", [0, 1])
def test_copies_a_branch(
    folder: Folder, made: Repository, place: Path, depth: int
) -> None:
    got = folder.clone(made.url, "dev/x", depth=depth)
    assert (got.commit, got.branch) == (made.find("dev/x"), "dev/x")
    assert set(got.work) == {b"c"}
    path = look(got, place)
    assert git(path, "status", "-sb") == "## dev/x...origin/dev/x"


@pytest.mark.parametrize("depth", [0, 1])
@pytest.mark.parametrize("tag", ["v1", "v2"])
def test_copies_a_tag(
    folder: Folder, made: Repository, place: Path, tag: str, depth: int
) -> None:
    """A tag may be an object of its own, or only name a commit."""
    got = folder.clone(made.url, tag, depth=depth)
    assert (got.commit, got.branch) == (made.find(f"{tag}^0"), "")
    path = look(got, place)
    assert tag in git(path, "tag", "--points-at", "HEAD").split()
    git(path, "fetch", "-q")


@pytest.mark.parametrize("depth", [0, 1])
def test_copies_a_commit(
    folder: Folder, made: Repository, place: Path, depth: int
) -> None:
    commit = made.find("main~1")
    got = folder.clone(made.url, commit.upper(), depth=depth)
    assert (got.commit, got.branch) == (commit, "")
    assert got.text("a") == "two"
    look(got, place)


@pytest.mark.parametrize("depth", [0, 1])
def test_copies_a_commit_as_its_branch(
    folder: Folder, made: Repository, place: Path, depth: int
) -> None:
    """As a clone of the branch was when it had that commit."""
    commit = made.find("main~1")
    got = folder.clone(made.url, commit, depth=depth, branch="main")
    assert (got.commit, got.branch) == (commit, "main")
    path = look(got, place)
    assert git(path, "status", "-sb") == "## main...origin/main"
    assert git(path, "rev-parse", "HEAD", "origin/main").split() == [commit] * 2
    git(path, "pull", "-q", "--ff-only")
    assert git(path, "rev-parse", "HEAD") == made.find("main")


@pytest.mark.parametrize(
    ("ref", "branch"), [("main", "main"), ("", "main"), ("c0" * 20, "../x")]
)
def test_a_branch_is_for_a_commit(
    folder: Folder, made: Repository, ref: str, branch: str
) -> None:
    refusal = folder.refuse(made.url, ref, branch=branch)
    assert refusal.ename == "FetchInvalid"


def test_a_branch_comes_before_a_tag(folder: Folder, made: Repository) -> None:
    assert folder.clone(made.url, "both").branch == "both"


def test_a_commit_that_no_branch_has(folder: Folder, server: GitServer) -> None:
    """A server gives it out all the same."""
    made = server.make()
    lost = made.commit({"a": "lost"})
    made.git("update-ref", "-d", "refs/heads/main")
    made.commit({"a": "new"})
    assert folder.clone(made.url, lost).text("a") == "lost"
    assert folder.clone(made.url, lost, depth=1).text("a") == "lost"


@pytest.mark.parametrize("depth", [0, 1])
def test_hashes_may_be_longer(
    folder: Folder, server: GitServer, place: Path, depth: int
) -> None:
    made = server.make("", "--object-format=sha256")
    commit = made.commit({"a": "one", "m": ("160000", "1" * 64)})
    got = folder.clone(made.url, depth=depth)
    assert (got.commit, got.submodules, len(commit)) == (commit, 1, 64)
    look(got, place)
    assert folder.clone(made.url, commit, depth=depth).commit == commit


def test_a_head_that_is_no_branch(
    folder: Folder, server: GitServer, place: Path
) -> None:
    made = server.make()
    commit = made.commit({"a": "one"})
    made.git("update-ref", "--no-deref", "HEAD", commit)
    for depth in (0, 1):
        got = folder.clone(made.url, depth=depth)
        assert (got.commit, got.branch) == (commit, "")
        look(got, place)
    made.git("symbolic-ref", "HEAD", "refs/heads/none")
    fault = folder.refuse(made.url)
    assert fault.text == (
        f"{made.url} has no branch of its own that it names: name a branch, a "
        "tag or a commit"
    )
    assert folder.clone(made.url, "main").commit == commit


@pytest.mark.parametrize("ref", ["", "main"])
def test_an_empty_repository_is_refused(
    folder: Folder, server: GitServer, ref: str
) -> None:
    made = server.make()
    fault = folder.refuse(made.url, ref)
    assert fault.ename == "FetchRefused"
    assert fault.text == (
        f"{made.url} has no commit: it is an empty repository, or none"
    )


def test_what_a_repository_has_not(folder: Folder, made: Repository) -> None:
    fault = folder.refuse(made.url, "nothing")
    assert fault.ename == "FetchRefused"
    assert fault.text == (
        f"{made.url} has no branch and no tag 'nothing': write the bare name, "
        "or all digits of a commit's hash"
    )
    fault = folder.refuse(made.url, "0" * 40)
    assert "has no commit '000" in fault.text
    made.git("tag", "blob", made.blob("content"))
    fault = folder.refuse(made.url, "blob")
    assert "has no commit 'blob'" in fault.text
    made.git("tag", "-d", "blob")


@pytest.mark.parametrize(
    ("ref", "depth", "why"),
    [
        ("-x", 0, "is no ref"),
        ("a b", 0, "is no ref"),
        ("a..b", 0, "is no ref"),
        ("a*", 0, "is no ref"),
        ("refs/heads/", 0, "is no ref"),
        ("a\n", 0, "is no ref"),
        ("HEAD:x", 0, "is no ref"),
        ("x" * 201, 0, "more than 200 bytes"),
        ("", -1, "the depth is to be"),
        ("", 1 << 40, "the depth is to be"),
        ("", "1", "the depth is to be"),
        ("", True, "the depth is to be"),
    ],
)
def test_refuses_what_is_no_ref_and_no_depth(
    folder: Folder, made: Repository, ref: str, depth: object, why: str
) -> None:
    fault = folder.refuse(made.url, ref, depth=depth)
    assert fault.ename == "FetchInvalid"
    assert why in fault.text


def test_links_stay_links(
    folder: Folder, server: GitServer, place: Path
) -> None:
    made = server.make()
    links = {"up": "../../etc/passwd", "whole": "/etc/passwd", "dir": "sub"}
    made.commit(
        {
            "sub/a": "content",
            **{name: ("120000", to) for name, to in links.items()},
        }
    )
    got = folder.clone(made.url)
    for name, to in links.items():
        one = got.tree[name.encode()]
        assert (one.kind, one.content) == ("l", to.encode())
    assert {name for name in got.work if name.startswith(b"dir")} == {b"dir"}
    look(got, place)


def test_names_are_bytes(
    folder: Folder, server: GitServer, place: Path
) -> None:
    made = server.make()
    names = [b"a\nb", b"\xff\xfe", b"-rf", "ä".encode(), b" ", b"a\\b"]
    made.commit(dict.fromkeys(names, "content"))
    branch = os.fsdecode(b"\xe4")
    made.git("branch", branch, "main")
    got = folder.clone(made.url)
    assert set(got.work) == set(names)
    path = look(got, place)
    assert git(path, "branch", "-r").endswith("origin/\udce4")
    made.git("branch", "odd%", "main")
    got = folder.clone(made.url, "odd%")
    assert (got.branch, got.text(".git/HEAD")) == ("", "ref: refs/heads/odd%\n")
    look(got, place)
    made.git("branch", 'a"b', "main")
    look(folder.clone(made.url, 'a"b'), place)


def test_counts_pointers_and_submodules(
    folder: Folder, server: GitServer, place: Path
) -> None:
    made = server.make()
    line = b"version https://git-lfs.github.com/spec/v1\n"
    made.commit(
        {
            "pointer": line + b"oid sha256:0\nsize 1\n",
            "deep/pointer": line,
            "long": line.ljust(1024, b"x"),
            "other": b"\n" + line,
            "cut": line[:-1],
            ".gitattributes": "pointer filter=lfs diff=lfs merge=lfs -text\n",
            "module": ("160000", "1" * 40),
            "deep/module": ("160000", "2" * 40),
        }
    )
    got = folder.clone(made.url)
    assert (got.lfs, got.submodules) == (2, 2)
    assert got.tree[b"module"].kind == "d"
    assert got.text("pointer").startswith("version")
    look(got, place)
