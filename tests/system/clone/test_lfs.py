"""Contents of Git LFS: what comes, what is kept, and what git says of it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from cloning import Folder
from git_server import GitServer, Repository, git
from lfs_server import LfsServer, pointer_of

ATTRIBUTES = "*.bin filter=lfs diff=lfs merge=lfs -text\n"
BIG = os.urandom(300_000)


@pytest.fixture
def lfs(server: GitServer) -> LfsServer:
    return LfsServer(server)


@pytest.fixture
def made(server: GitServer, lfs: LfsServer) -> Repository:
    repository = server.make()
    repository.commit(
        {
            ".gitattributes": ATTRIBUTES,
            "a.bin": lfs.put(b"one"),
            "deep/b.bin": ("100755", lfs.put(BIG)),
            "deep/again.bin": lfs.put(b"one"),
            "readme": "text",
        }
    )
    lfs.serve(repository)
    return repository


def test_contents_come_for_pointers(
    any_folder: Folder, made: Repository, lfs: LfsServer, place: Path
) -> None:
    got = any_folder.clone(made.url, lfs=True)
    assert (got.lfs, got.cached) == (0, False)
    assert got.work[b"a.bin"].content == b"one"
    assert got.work[b"deep/again.bin"].content == b"one"
    assert got.work[b"deep/b.bin"].content == BIG
    assert [got.work[name].kind for name in (b"a.bin", b"deep/b.bin")] == [
        *("F", "X")
    ]
    (asked,) = lfs.batches
    assert (asked["operation"], asked["transfers"]) == ("download", ["basic"])
    assert len(asked["objects"]) == 2
    path = got.unpack(place / "look")
    git(path, "fsck", "--strict")
    assert git(path, "status", "--porcelain") == ""


def test_without_it_pointers_stay(
    folder: Folder, made: Repository, lfs: LfsServer
) -> None:
    got = folder.clone(made.url)
    assert got.lfs == 3
    assert got.text("a.bin") == pointer_of(b"one")
    assert lfs.batches == []
    assert "checkstat" not in got.text(".git/config")


def test_git_sees_what_is_changed(
    folder: Folder, made: Repository, place: Path
) -> None:
    """A content is taken for its pointer until code changes it."""
    path = folder.clone(made.url, lfs=True).unpack(place / "look")
    git(path, "checkout", ".")
    assert (path / "a.bin").read_bytes() == b"one"
    (path / "readme").write_text("other")
    git(path, "commit", "-qam", "mine")
    assert git(path, "show", "--stat", "--format=").count("|") == 1
    assert git(path, "cat-file", "-p", "HEAD:a.bin").startswith("version")
    (path / "a.bin").write_bytes(b"two")
    assert git(path, "status", "--porcelain") == "M a.bin"


@pytest.mark.parametrize("depth", [0, 1])
def test_kept_contents_need_no_server(
    folder: Folder,
    server: GitServer,
    made: Repository,
    lfs: LfsServer,
    depth: int,
) -> None:
    got = folder.clone(made.url, lfs=True, depth=depth)
    folder.clone(made.url, got.commit, depth=depth)
    asked = len(server.asked)
    again = folder.clone(
        made.url, got.commit, lfs=True, depth=depth, branch="main"
    )
    assert (again.work, again.cached) == (got.work, True)
    assert len(server.asked) == asked
    new = lfs.put(b"three")
    made.commit({".gitattributes": ATTRIBUTES, "a.bin": new, "b.bin": new})
    later = folder.clone(made.url, lfs=True)
    assert (later.text("a.bin"), later.cached) == ("three", False)
    assert len(lfs.batches[-1]["objects"]) == 1


def test_a_hash_alone_gets_nothing(
    folder: Folder, server: GitServer, made: Repository, lfs: LfsServer
) -> None:
    """Another repository that names a kept content is asked for it."""
    folder.clone(made.url, lfs=True)
    other = server.make()
    other.commit({".gitattributes": ATTRIBUTES, "x.bin": pointer_of(b"one")})
    thief = LfsServer(server)
    thief.serve(other)
    fault = folder.refuse(other.url, lfs=True)
    assert fault.ename == "FetchUnreachable"
    assert "404 Object does not exist (1)" in fault.text
    assert len(thief.batches) == 1


@pytest.mark.parametrize(
    "lists", [{"private": ["10.0.0.0/8"]}, {"deny": ["8.8.8.8"]}]
)
def test_other_lists_ask_the_server(
    folder: Folder, made: Repository, lfs: LfsServer, lists: dict[str, Any]
) -> None:
    folder.clone(made.url, lfs=True)
    folder.clone(made.url, lfs=True, **lists)
    assert len(lfs.batches) == 2


def test_what_is_no_pointer_stays(
    folder: Folder, server: GitServer, lfs: LfsServer, place: Path
) -> None:
    made = server.make()
    good, nothing = lfs.put(b"one"), lfs.put(b"")
    made.commit(
        {
            ".gitattributes": ATTRIBUTES,
            ".lfsconfig": "[lfs]\n\turl = https://other.example/lfs\n",
            "good.bin": good,
            "extra.bin": good + "x-note kept\n",
            "text.txt": good,  # .gitattributes does not name it
            "extension.bin": good.replace("oid", "ext-0-a sha256:0\noid"),
            "order.bin": good.replace("oid", "size 3\noid"),
            "cut.bin": good[:-1],
            "nothing.bin": nothing,
            "plain.bin": "no pointer",
            "link.bin": ("120000", "good.bin"),
        }
    )
    lfs.serve(made)
    got = folder.clone(made.url, lfs=True)
    assert (got.text("good.bin"), got.text("extra.bin")) == ("one", "one")
    assert got.text("text.txt") == good
    assert got.text("plain.bin") == "no pointer"
    assert got.text("nothing.bin") == nothing
    assert got.work[b"link.bin"].kind == "l"
    assert got.lfs == 5
    assert git(got.unpack(place / "look"), "status", "--porcelain") == ""


def test_a_pointer_with_crlf(folder: Folder, server: GitServer) -> None:
    """As git checks it out where .gitattributes says `eol=crlf`."""
    lfs = LfsServer(server)
    made = server.make()
    rules = "* text=auto eol=crlf\n*.csv filter=lfs\n"
    made.commit({".gitattributes": rules, "x.csv": lfs.put(b"content")})
    lfs.serve(made)
    assert folder.clone(made.url).lfs == 1
    got = folder.clone(made.url, lfs=True)
    assert (got.text("x.csv"), got.lfs) == ("content", 0)


def test_a_repository_without_pointers_asks_for_nothing(
    folder: Folder, server: GitServer, lfs: LfsServer
) -> None:
    made = server.make()
    made.commit({"a": "one"})
    lfs.serve(made)
    got = folder.clone(made.url, lfs=True)
    assert lfs.batches == []
    assert "checkstat" not in got.text(".git/config")


def test_hashes_of_commits_may_be_longer(
    folder: Folder, server: GitServer, lfs: LfsServer, place: Path
) -> None:
    made = server.make("", "--object-format=sha256")
    made.commit({".gitattributes": ATTRIBUTES, "a.bin": lfs.put(b"one")})
    lfs.serve(made)
    path = folder.clone(made.url, lfs=True).unpack(place / "look")
    assert git(path, "status", "--porcelain") == ""


def test_a_batch_has_a_hundred_objects(
    folder: Folder, server: GitServer, lfs: LfsServer
) -> None:
    made = server.make()
    files = {f"{n}.bin": lfs.put(b"%d" % n) for n in range(101)}
    made.commit({".gitattributes": ATTRIBUTES, **files})
    lfs.serve(made)
    got = folder.clone(made.url, lfs=True)
    assert sorted(len(one["objects"]) for one in lfs.batches) == [1, 100]
    assert got.text("100.bin") == "100"


def test_what_came_before_a_failure_is_kept(
    folder: Folder, server: GitServer, lfs: LfsServer
) -> None:
    made = server.make()
    first, second = sorted([lfs.put(b"one"), lfs.put(b"two")])
    made.commit({".gitattributes": ATTRIBUTES, "a.bin": first, "b.bin": second})
    lfs.serve(made)
    oid = second.partition("sha256:")[2][:64]
    honest = server.scripts.pop(f"/objects/{oid}")
    fault = folder.refuse(made.url, lfs=True)
    assert "answered 404" in fault.text
    server.scripts[f"/objects/{oid}"] = honest
    sent = server.sent
    assert folder.clone(made.url, lfs=True).lfs == 0
    assert [one["oid"] for one in lfs.batches[-1]["objects"]] == [oid]
    assert server.sent - sent < 1000  # the history was kept, too


@pytest.mark.parametrize("suffix", ["", ".git", "/", ".git/"])
def test_where_the_batch_api_is(
    folder: Folder, server: GitServer, lfs: LfsServer, suffix: str
) -> None:
    made = server.make("named.git" if suffix != "" else "named")
    made.commit({".gitattributes": ATTRIBUTES, "a.bin": lfs.put(b"one")})
    path = "/named.git/info/lfs/objects/batch"
    server.scripts[path] = lfs.answer
    name = "named" if suffix == "/" else "named" + suffix
    if suffix == "/":
        (made.path.parent / "named").symlink_to(made.path)
        name = "named/"
    try:
        assert folder.clone(server.url(f"/{name}"), lfs=True).lfs == 0
    finally:
        shutil.rmtree(made.path)
        (made.path.parent / "named").unlink(missing_ok=True)
    assert f"POST {path}" in server.asked


def test_the_server_names_headers(
    folder: Folder, made: Repository, lfs: LfsServer
) -> None:
    lfs.header = {"Authorization": "Basic eA==", "accept": "x/y"}
    folder.clone(made.url, lfs=True)
    for head in lfs.heads:
        assert (head["authorization"], head["accept"]) == ("Basic eA==", "x/y")
        assert head["accept-encoding"] == "identity"
    assert len(lfs.heads) == 2


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        (
            {"max_bytes": 200_000},
            "the repository with its Git LFS contents has 29",
        ),
        ({"room": 200_000}, "and the workspace takes 195.3 KiB more"),
    ],
)
def test_too_much_is_refused_before_it_comes(
    folder: Folder,
    made: Repository,
    lfs: LfsServer,
    settings: dict[str, Any],
    why: str,
) -> None:
    fault = folder.refuse(made.url, lfs=True, **settings)
    assert fault.ename == "FetchRefused"
    assert why in fault.text
    assert lfs.batches == []
    assert folder.clone(made.url, lfs=True, room=1 << 20).lfs == 0
