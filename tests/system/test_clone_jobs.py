"""`hearth clone`, by a worker that does what the tests say: what arrives, what
is recorded, and that a repository is there whole or not at all."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
from pathlib import Path
from typing import Any, Iterator

import pytest
from deadline import wait_for
from fetch_gateway import (
    ALLOW,
    AWAY,
    COMMIT,
    HOST,
    README,
    REPOSITORY,
    Fetching,
)
from harness import HEARTH, Session, end, started
from records import records, wait_record

BYTES = len(README) + sum(
    len(content) for kind, _, content in REPOSITORY if kind != b"l"
)
ENTRIES = 1 + len(REPOSITORY)


@pytest.fixture(scope="module")
def gateway() -> Iterator[Fetching]:
    with started(Fetching()) as made:
        yield made


def begin(
    gateway: Fetching, session: Session, *words: str
) -> subprocess.Popen[str]:
    """`hearth clone`, which goes on."""
    return gateway.begin("clone", session.id, *words)


def clone(gateway: Fetching, session: Session, *words: str) -> str:
    done = gateway.run("clone", session.id, *words)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def line(path: str, branch: str = "  branch main", after: str = "") -> str:
    return f"{path}  {BYTES} B  commit {COMMIT}{branch}{after}\n"


def tree_of(top: Path) -> dict[str, Any]:
    """Return what is below a folder: a content, a link's target, or None."""
    found: dict[str, Any] = {}
    for path in sorted(top.rglob("*")):
        name = str(path.relative_to(top))
        if path.is_symlink():
            found[name] = f"-> {os.readlink(path)}"
        else:
            found[name] = None if path.is_dir() else path.read_bytes()
    return found


WHOLE: dict[str, Any] = {
    "README.md": README,
    **{
        name.decode(): {b"d": None, b"l": f"-> {content.decode()}"}.get(
            kind, content
        )
        for kind, name, content in REPOSITORY
    },
}


def test_what_is_printed(gateway: Fetching, session: Session) -> None:
    assert clone(gateway, session, f"{HOST}/a/model.git?x=1#y") == line("model")
    assert tree_of(session.workspace / "model") == WHOLE
    done = session.exec('print(open("model/README.md").read(), end="")')
    assert done.stdout == README.decode()
    done = session.exec("import os; os.remove('model/src/run'); print('mine')")
    assert done.stdout == "mine\n"
    assert clone(gateway, session, f"{HOST}/cached") == line(
        "cached", after="  (cached)"
    )
    assert clone(gateway, session, f"{HOST}/detached") == line("detached", "")


def test_modes_and_owner(gateway: Fetching, session: Session) -> None:
    clone(gateway, session, f"{HOST}/model")
    top = session.workspace
    owner = (top.stat().st_uid, top.stat().st_gid)
    for name, mode in (
        ("model", 0o755),
        ("model/README.md", 0o644),
        ("model/src", 0o755),
        ("model/src/run", 0o755),
        ("model/src/about", None),
        ("model/.git/HEAD", 0o644),
    ):
        about = (top / name).lstat()
        assert (about.st_uid, about.st_gid) == owner, name
        if mode is not None:
            assert stat.S_IMODE(about.st_mode) == mode, name
    done = session.exec(
        "import subprocess; print(subprocess.run('model/src/run', "
        "capture_output=True, text=True).stdout, end='')"
    )
    assert done.stdout == "it runs\n"


def test_what_is_missing_is_said(gateway: Fetching, session: Session) -> None:
    done = gateway.run("clone", session.id, f"{HOST}/lacks-1-2")
    assert (done.returncode, done.stdout) == (0, line("lacks-1-2"))
    assert done.stderr == (
        "hearth: 1 file is a Git LFS pointer: --lfs brings its content\n"
        "hearth: 2 submodules are empty folders\n"
    )
    done = gateway.run("clone", session.id, f"{HOST}/lacks-2-1")
    assert done.stderr == (
        "hearth: 2 files are Git LFS pointers: --lfs brings their contents\n"
        "hearth: 1 submodule is an empty folder\n"
    )
    for name, text in (
        ("lacks-1-0", "1 file looks like a Git LFS pointer, and stays"),
        ("lacks-3-0", "3 files look like Git LFS pointers, and stay"),
    ):
        done = gateway.run("clone", session.id, "--lfs", f"{HOST}/{name}")
        assert (done.returncode, done.stderr) == (0, f"hearth: {text}\n")


def test_a_note_is_said(gateway: Fetching, session: Session) -> None:
    """And is no part of the recording."""
    done = gateway.run("clone", session.id, f"{HOST}/away")
    said = line("away", after="  (cached)")
    assert (done.returncode, done.stdout) == (0, said)
    assert done.stderr == f"hearth: {AWAY}\n"

    def read_journal() -> bytes:
        paths = Path(session.model["journal"]).glob("journal-*.log")
        return b"".join(path.read_bytes() for path in paths)

    wait_for(lambda: f"{HOST}/away".encode() in read_journal(), "a record")
    assert b"cannot be reached" not in read_journal()
    assert COMMIT in json.dumps(session.notebook())


def test_json(gateway: Fetching, session: Session) -> None:
    url = f"{HOST}/lacks-3-4.git?key=secret"
    assert gateway.json("clone", "--json", session.id, url) == {
        "path": "lacks-3-4",
        "url": url,
        "commit": COMMIT,
        "branch": "main",
        "bytes": BYTES,
        "files": ENTRIES,
        "lfs": 3,
        "submodules": 4,
        "cached": False,
    }


def test_into(gateway: Fetching, session: Session) -> None:
    url = f"{HOST}/model.git"
    (session.workspace / "empty").mkdir()
    words: tuple[str, ...]
    for words, path in (
        ((url, "--into", "a/b/code"), "a/b/code"),
        ((url, "-o", "a/"), "a/model"),
        ((f"{url}/", "-o", "empty"), "empty"),
    ):
        assert clone(gateway, session, *words) == line(path)
        assert tree_of(session.workspace / path) == WHOLE
    for words, text in (
        ((f"{HOST}/.git",), "the URL has no name for the folder"),
        ((url, "-o", "."), "names the workspace itself"),
        ((url, "-o", "../x"), 'a path has no ".."'),
        ((f"{HOST}/a b",), "url must be a text of 1 to 2000 bytes"),
        ((url, "--depth", "0"), "depth must be a number of commits"),
        ((url, "--depth", "-1"), "--depth takes a number of commits"),
        ((url, "--depth", "99999999999"), "--depth takes a number of commits"),
        ((url, "--ref", "--upload-pack=x"), "ref must be the name of"),
        ((url, "--ref", ""), "ref must be the name of"),
        ((), "clone"),
        ((url, url), "clone"),
    ):
        done = gateway.run("clone", session.id, *words)
        assert (done.returncode, done.stdout) == (2, ""), words
        assert text in done.stderr, words


def test_words_that_are_no_text(gateway: Fetching, session: Session) -> None:
    for words in (
        [f"{HOST}/x".encode() + b"\xff"],
        [f"{HOST}/x".encode(), b"--ref", b"\xff"],
    ):
        done = subprocess.run(
            [HEARTH.encode(), b"clone", session.id.encode(), *words],
            env=gateway.env,
            capture_output=True,
            check=False,
        )
        assert (done.returncode, done.stdout) == (2, b"")
        assert b"is not UTF-8 text" in done.stderr


def test_what_is_there_is_kept(gateway: Fetching, session: Session) -> None:
    top = session.workspace
    (top / "file").write_text("mine")
    (top / "folder").mkdir()
    (top / "folder" / "x").write_text("mine")
    (top / "link").symlink_to("folder")
    before = tree_of(top)
    for path in ("file", "folder", "link"):
        done = gateway.run("clone", session.id, f"{HOST}/model", "-o", path)
        assert (done.returncode, done.stdout) == (1, ""), path
        assert path in done.stderr
        assert "another `path` (--into)" in done.stderr
    done = gateway.run("clone", session.id, f"{HOST}/model", "-o", "file/")
    assert done.returncode == 1
    assert "is not a folder, or has a file" in done.stderr
    assert tree_of(top) == before


def test_what_the_worker_gets(gateway: Fetching, session: Session) -> None:
    url = f"{HOST}/model-job.git?key=secret"
    clone(gateway, session, url, "-o", "x/", "--ref", "v1", "--depth", "3")
    job = gateway.notes()[-1]["job"]
    assert job["order"] == "clone"
    assert job["url"] == url
    assert (job["ref"], job["depth"]) == ("v1", 3)
    assert job["path"] == "x/model-job"
    assert job["allow"] == ["data.example"]
    assert job["max_bytes"] == 4 << 30
    assert job["lfs"] is False
    assert "sha256" not in job
    assert session.id not in json.dumps(job)
    clone(gateway, session, url)
    job = gateway.notes()[-1]["job"]
    assert (job["ref"], job["depth"]) == ("", 0)
    assert "room" not in job
    clone(gateway, session, url, "-o", "z/", "--lfs")
    assert gateway.notes()[-1]["job"]["lfs"] is True
    limited = gateway.create("--limit", "workspace_bytes=1M")
    clone(gateway, limited, url)
    room = gateway.notes()[-1]["job"]["room"]
    assert 1 << 19 < room <= 1 << 20
    limited.delete()


def test_what_is_recorded(gateway: Fetching, session: Session) -> None:
    url = f"{HOST}/model-noted"
    words = ("-o", "d/x", "--depth", "1", "--lfs")
    clone(gateway, session, f"{url}?key=secret", *words)

    def noted() -> bool:
        about = f"commit {COMMIT}, branch main, with Git LFS"
        text = f"cloned {url} -> d/x ({about})"
        return text in json.dumps(session.notebook())

    wait_for(noted, "a note in the notebook")
    record = wait_record(
        gateway, event="file", what="clone", session=session.id
    )
    assert record["outcome"] == "ok"
    assert (record["path"], record["url"]) == ("d/x", url)
    assert (record["commit"], record["branch"]) == (COMMIT, "main")
    assert record["lfs"] is True
    assert record["who"].startswith("uid=")

    def is_in_journal() -> bool:
        return any(
            f'"url":"{url}?key=secret"'.encode() in path.read_bytes()
            for path in Path(session.model["journal"]).glob("journal-*.log")
        )

    wait_for(is_in_journal, "a record in the journal")
    done = gateway.run("clone", session.id, f"{HOST}/refused?k=secret")
    assert (done.returncode, done.stdout) == (1, "")
    record = wait_record(
        gateway, event="fetch", outcome="refused", session=session.id
    )
    assert record["kind"] == "repository"
    assert (record["ename"], record["text"]) == (
        "FetchRefused",
        "it is FetchRefused",
    )
    assert (record["url"], record["path"]) == (f"{HOST}/refused", "refused")
    assert "secret" not in json.dumps(records(gateway, session=session.id))
    assert "secret" not in gateway.log.read_text()


@pytest.mark.parametrize(
    ("name", "status", "text"),
    [
        ("invalid", 2, "it is FetchInvalid"),
        ("refused", 1, "it is FetchRefused"),
        ("unreachable", 1, "it is FetchUnreachable"),
        ("dies", 1, "the clone worker ended without an answer"),
        ("nofile", 1, "the clone worker answered without the file"),
        ("folder", 1, "the clone worker gave no plain file"),
        ("size", 1, "gave a file of "),
        ("hash", 1, "not valid: commit"),
        ("more", 1, "not valid: not the eight members"),
    ],
)
def test_a_worker_that_fails(
    gateway: Fetching, session: Session, name: str, status: int, text: str
) -> None:
    done = gateway.run("clone", session.id, f"{HOST}/{name}")
    assert (done.returncode, done.stdout) == (status, "")
    assert done.stderr.startswith("hearth: ")
    assert text in done.stderr
    assert os.listdir(session.workspace) == []
    wait_record(gateway, event="fetch", session=session.id, path=name)


def test_the_workspace_is_full(gateway: Fetching) -> None:
    for limit, name in (
        ("workspace_bytes=1M", "big-2000000"),
        (f"workspace_files={ENTRIES}", "model"),
    ):
        session = gateway.create("--limit", limit)
        done = gateway.run("clone", session.id, f"{HOST}/{name}", "-o", "a/b/")
        assert (done.returncode, done.stdout) == (1, "")
        assert "workspace" in done.stderr
        assert os.listdir(session.workspace) == []
        record = wait_record(gateway, event="fetch", session=session.id)
        assert (record["outcome"], record["ename"]) == (
            "failed",
            "WorkspaceFull",
        )
        assert records(gateway, event="file", session=session.id) == []
        session.delete()


def test_lists_have_both_kinds(gateway: Fetching, session: Session) -> None:
    first = begin(gateway, session, f"{HOST}/slow-list")
    gateway.wait_note("waits", "slow-list")
    (one,) = gateway.json("fetch", "--list", "--json", session.id)
    assert (one["kind"], one["path"]) == ("repository", "slow-list")
    done = gateway.run("fetch", "--list", session.id)
    assert f"{HOST}/slow-list" in done.stdout
    gateway.let("slow-list")
    assert end(first)[1] == line("slow-list")


def test_an_interrupt_cancels(gateway: Fetching, session: Session) -> None:
    client = begin(gateway, session, f"{HOST}/slow-interrupt")
    gateway.wait_note("waits", "slow-interrupt")
    client.send_signal(signal.SIGINT)
    code, out, err = end(client)
    assert (code, out) == (128 + signal.SIGINT, "")
    assert err == "hearth: the fetch was cancelled\n"
    gateway.wait_note("given up", "slow-interrupt")
    assert os.listdir(session.workspace) == []
    record = wait_record(gateway, event="fetch", session=session.id)
    assert (record["ename"], record["kind"]) == (
        "FetchCancelled",
        "repository",
    )


def test_submodules_are_the_operators_choice(
    gateway: Fetching, session: Session
) -> None:
    words = ("clone", "--submodules")
    done = gateway.run(*words, session.id, f"{HOST}/model")
    assert (done.returncode, done.stdout) == (5, "")
    assert "profile/python3/fetch/submodules = yes" in done.stderr
    record = wait_record(gateway, event="fetch", session=session.id)
    assert (record["outcome"], record["ename"]) == ("refused", "FetchOff")
    permitting = Fetching("--set", "profile/python3/fetch/submodules=yes")
    try:
        permitting.start()
        other = permitting.create()
        done = permitting.run(*words, other.id, f"{HOST}/model")
        assert done.returncode == 0, done.stderr
        assert permitting.notes()[0]["job"]["submodules"] is True
        record = wait_record(
            permitting, event="file", what="clone", session=other.id
        )
        assert record["submodules"] is True
        about = f"commit {COMMIT}, branch main, with submodules"
        wait_for(lambda: about in json.dumps(other.notebook()), "a note of it")
    finally:
        permitting.end()


def test_a_profile_without_hosts() -> None:
    gateway = Fetching("--set", f"{ALLOW}=")
    try:
        gateway.start()
        session = gateway.create()
        done = gateway.run("clone", session.id, f"{HOST}/model")
        assert (done.returncode, done.stdout) == (5, "")
        assert "profile/python3/fetch/allow" in done.stderr
        assert gateway.notes() == []
    finally:
        gateway.end()
