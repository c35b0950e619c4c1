"""Mirrors: what is asked again, what is kept, and who may have it."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest
from cloning import FOLDERS, Folder
from downloading import LONG, WorkFolder
from git_server import GitServer, Repository

BIG = os.urandom(1 << 20)


@pytest.fixture
def made(server: GitServer) -> Repository:
    repository = server.make()
    repository.commit({"big": BIG, "a": "one"})
    return repository


@pytest.mark.parametrize("depth", [0, 1])
def test_an_update_brings_what_is_new(
    folder: Folder, server: GitServer, made: Repository, depth: int
) -> None:
    folder.clone(made.url, depth=depth)
    new = made.commit({"big": BIG, "a": "two"})
    before = server.sent
    got = folder.clone(made.url, depth=depth)
    assert server.sent - before < 20_000
    assert (got.commit, got.cached) == (new, False)
    assert (got.tree[b"big"].content, got.text("a")) == (BIG, "two")
    assert folder.clone(made.url, depth=depth).cached


def test_an_update_removes_what_is_gone(
    folder: Folder, made: Repository
) -> None:
    made.git("branch", "old/x", "main")
    made.git("tag", "t", "main")
    folder.clone(made.url)
    made.git("branch", "-D", "old/x")
    made.git("branch", "old", "main")
    made.git("tag", "-d", "t")
    got = folder.clone(made.url)
    assert got.cached
    refs = got.text(".git/packed-refs")
    assert "old" in refs
    assert "old/x" not in refs
    assert "refs/tags" not in refs


def test_a_depth_brings_one_branch(folder: Folder, made: Repository) -> None:
    """Not that of an earlier job with the same ref, the server's own."""
    made.git("tag", "first", "main")
    made.git("tag", "-a", "-m", "a message", "noted", "main")
    got = folder.clone(made.url, depth=1)
    assert "refs/tags/first" in got.text(".git/packed-refs")
    made.git("branch", "-m", "main", "trunk")
    made.commit({"a": "two"}, branch="trunk")
    made.git("symbolic-ref", "HEAD", "refs/heads/trunk")
    got = folder.clone(made.url, depth=1)
    refs = got.text(".git/packed-refs")
    assert got.branch == "trunk"
    assert "refs/remotes/origin/trunk" in refs
    assert "main" not in refs
    assert "refs/tags" not in refs


def test_a_changed_history_is_followed(
    folder: Folder, made: Repository
) -> None:
    folder.clone(made.url)
    made.git("update-ref", "-d", "refs/heads/main")
    made.git("tag", "t", made.commit({"a": "anew"}))
    assert folder.clone(made.url).text("a") == "anew"
    made.git("tag", "-f", "t", made.commit({"a": "moved"}))
    assert folder.clone(made.url, "t").text("a") == "moved"


def test_a_known_commit_needs_no_server(
    folder: Folder, server: GitServer, made: Repository
) -> None:
    commit = made.find("main")
    folder.clone(made.url)
    folder.clone(made.url, commit, depth=1)
    asked = len(server.asked)
    for depth in (0, 1):
        got = folder.clone(made.url, commit, depth=depth)
        assert (got.commit, got.cached) == (commit, True)
    assert len(server.asked) == asked
    folder.clone(made.url)  # its HEAD may be another one by now
    assert len(server.asked) > asked


def test_what_is_here_is_judged_too(folder: Folder, made: Repository) -> None:
    folder.clone(made.url)
    commit = made.find("main")
    for lists in ({"allow": ["*"]}, {"deny": folder.settings["allow"]}):
        fault = folder.refuse(made.url, commit, **lists)
        assert fault.ename == "FetchRefused"
        assert "not permitted here" in fault.text
    fault = folder.refuse(made.url, commit, max_bytes=1 << 20)
    assert "more than profile/python3/fetch/max_bytes" in fault.text
    assert folder.clone(made.url, commit).cached


@pytest.mark.parametrize(
    "lists", [{"private": ["10.0.0.0/8"]}, {"deny": ["8.8.8.8"]}]
)
def test_other_lists_ask_the_server(
    folder: Folder,
    server: GitServer,
    made: Repository,
    lists: dict[str, list[str]],
) -> None:
    """A redirect or an address may be forbidden by them."""
    commit = made.find("main")
    folder.clone(made.url)
    asked = len(server.asked)
    assert not folder.clone(made.url, commit, **lists).cached
    assert len(server.asked) > asked


def test_a_commit_of_another_url_is_not_found(
    folder: Folder, server: GitServer, made: Repository
) -> None:
    other = server.make()
    other.commit({"b": "other"})
    folder.clone(made.url)
    fault = folder.refuse(other.url, made.find("main"))
    assert "has no commit" in fault.text


def test_the_least_recently_used_goes_first(
    folder: Folder, server: GitServer
) -> None:
    made = [server.make() for _ in range(3)]
    for one in made:
        one.commit({"big": os.urandom(1 << 20)})
    most: dict[str, Any] = {"cache_bytes": 5 << 19}
    commits = [one.find("main") for one in made]
    folder.clone(made[0].url, **most)
    age(folder)
    folder.clone(made[1].url, **most)
    age(folder)
    assert folder.clone(made[0].url, commits[0], **most).cached
    age(folder)
    folder.clone(made[2].url, **most)
    assert len(folder.names("mirrors")) == 2
    assert folder.clone(made[0].url, commits[0], **most).cached
    assert not folder.clone(made[1].url, commits[1], **most).cached
    assert folder.clone(made[1].url, cache_bytes=1000).text(".git/HEAD")
    assert folder.names("mirrors") == []


def age(folder: Folder) -> None:
    """Let an hour pass since all that was done."""
    for path in (folder.work / "mirrors").iterdir():
        then = path.stat().st_mtime - 3600
        os.utime(path, (then, then))


class FileFolder(WorkFolder):
    """The same folder, for jobs of fetch."""

    order = "fetch"


def test_files_and_repositories_share_a_folder(
    folder: Folder, server: GitServer, made: Repository, place: Path
) -> None:
    files = FileFolder(place / "other")
    files.settings["allow"] = folder.settings["allow"]
    files.work = folder.work
    folder.clone(made.url)
    folder.hook = (
        "import time\n"
        "from hearth_downloads.clone import copy\n"
        f"copy.Copy._write = lambda *_: time.sleep({LONG})"
    )
    run = folder.start(made.url)
    waiting = run.await_progress()  # it reads the files
    run.process.kill()
    run.close()
    folder.hook = ""
    assert waiting
    left = folder.names("jobs")
    assert len(left) == 1
    url = server.url(f"/{made.path.name}/HEAD")
    for number in range(100):
        ok, (got,) = files_reply(files, url)
        assert ok["cached"] is False
        os.close(got)
        if not folder.names("jobs"):
            break
        assert number < 99, "something is left"
        time.sleep(0.1)  # a program of the killed worker is in the way
    assert len(folder.names("objects")) == 1
    assert folder.clone(made.url).text("a") == "one"
    assert len(folder.names("objects")) == len(folder.names("mirrors")) == 1
    assert tuple(sorted(os.listdir(folder.work))) == FOLDERS


def files_reply(files: FileFolder, url: str) -> tuple[dict, list[int]]:  # type: ignore[type-arg]
    from downloading import Worker

    return Worker(*files.spawn(files.job(url, sha256=""))).reply()


@pytest.mark.parametrize(
    ("what", "how"),
    [
        ("pack", "garbage"),
        ("pack", "empty"),
        ("idx", "garbage"),
        ("idx", "link"),
        ("packed-refs", "garbage"),
        ("packed-refs", "gone"),
        ("objects", "link"),
        ("objects", "gone"),
    ],
)
def test_a_spoilt_mirror_is_got_anew(
    folder: Folder, made: Repository, what: str, how: str
) -> None:
    folder.clone(made.url)
    (mirror,) = (folder.work / "mirrors").iterdir()
    (path,) = (
        mirror.glob(f"objects/pack/*.{what}")
        if what in ("pack", "idx")
        else [mirror / what]
    )
    moved = path.with_name("moved")
    path.rename(moved)
    if how == "link":
        path.symlink_to(moved)
    elif how != "gone":
        path.write_bytes(os.urandom(1000) * (how == "garbage"))
    commit = made.find("main")
    for ref in (commit, ""):
        got = folder.clone(made.url, ref)
        assert (got.commit, got.tree[b"big"].content) == (commit, BIG)


TWICE = """\
[submodule "a"]
\tpath = s
\turl = u
[submodule "b"]
\tpath = s
\turl = u
"""


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"max_bytes": 1 << 20}, "fetch/max_bytes"),  # as its files are written
        ({"submodules": True}, "the path of 'b' twice"),
    ],
)
def test_a_first_clone_that_is_refused_leaves_its_mirror(
    folder: Folder, server: GitServer, settings: dict[str, Any], why: str
) -> None:
    made = server.make()
    commit = made.commit({"big": BIG, ".gitmodules": TWICE})
    fault = folder.refuse(made.url, **settings)
    assert fault.ename == "FetchRefused"
    assert why in fault.text
    asked = len(server.asked)
    got = folder.clone(made.url, commit)
    assert (got.tree[b"big"].content, got.cached) == (BIG, True)
    assert len(server.asked) == asked


def test_a_first_clone_that_git_has_spoilt_leaves_none(
    folder: Folder, made: Repository
) -> None:
    folder.hook = (
        "from hearth_downloads.clone import program\n"
        "run = program._Copy.run\n"
        "def spoil(self):\n"
        "    said = run(self)\n"
        "    open('index', 'w').write('x')\n"
        "    return said\n"
        "program._Copy.run = spoil"
    )
    assert folder.refuse(made.url).ename == "FetchFailed"
    assert folder.names("mirrors") == []


@pytest.mark.parametrize("kind", ["link", "file", "fifo"])
def test_a_wrong_kind_in_the_work_folder_does_no_harm(
    folder: Folder, made: Repository, kind: str
) -> None:
    victim = folder.path / "victim"
    victim.mkdir()
    (victim / "kept").touch()
    path = folder.work / "mirrors"
    if kind == "link":
        path.symlink_to(victim)
    elif kind == "file":
        path.touch()
    else:
        os.mkfifo(path)
    folder.clone(made.url)
    assert os.listdir(victim) == ["kept"]
    assert folder.clone(made.url).cached


def test_many_packs_are_got_as_one(folder: Folder, made: Repository) -> None:
    folder.hook = "from hearth_downloads.clone import mirrors as m\n"
    folder.hook += "m.PACKS_MAX = 2"
    packs = []
    for number in range(5):
        made.commit({"a": str(number)})
        got = folder.clone(made.url)
        packs.append(sum(name.endswith(b".pack") for name in got.tree))
    assert packs == [1, 2, 3, 1, 2]
