"""An index that wants a password gets it, and no other host does."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from fake_index import FakeIndex
from hearth_downloads.packages.job import Job
from hearth_downloads.packages.uv import Uv, encode_netrc, find_uv
from worker import Folder, Run, refuse

PASSWORD = 'pa55 "word\\ #é:@/'
SETTING = "profile/python3/packages/credentials"


def user(host: str = "127.0.0.1", password: str = PASSWORD) -> dict[str, str]:
    return {"host": host, "user": "agents", "password": password}


@pytest.fixture
def closed(folder: Folder, index: FakeIndex) -> FakeIndex:
    """Return an index that wants the password, which the folder's jobs have."""
    index.user = f"agents:{PASSWORD}"
    index.add("a", "1", requires=["b"])
    index.add("b", "1")
    folder.settings["credentials"] = [user(), user("other.example", "0ther")]
    return index


def find(text: bytes, folder: Path) -> list[str]:
    """Return the files below the folder that have the text."""
    return [
        str(path)
        for path in folder.rglob("*")
        if path.is_file() and text in path.read_bytes()
    ]


def test_an_index_gets_its_password(folder: Folder, closed: FakeIndex) -> None:
    answer = folder.do("add", "a")
    assert [one["name"] for one in answer["added"]] == ["a", "b"]
    assert closed.downloads() >= 2
    assert set(closed.users) <= {"", closed.user}
    # It lies nowhere afterwards.
    assert find(b"pa55", folder.path) == []


def test_no_other_process_sees_a_password(
    folder: Folder, closed: FakeIndex
) -> None:
    """While uv runs; nor is it in the folders that it can write to."""
    closed.add("slow", "1", silent=True)
    run: Run = folder.start("add", "slow")
    try:
        while run.await_progress().split()[0] != "installing":
            pass
        said = subprocess.run(
            ["ps", "-eo", "args"], stdout=subprocess.PIPE, text=True, check=True
        ).stdout
        assert "pa55" not in said
        assert find(b"pa55", folder.path) == []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                started = (process / "environ").read_bytes()
            except OSError:
                continue
            assert b"pa55" not in started
    finally:
        run.close()


@pytest.mark.parametrize(
    ("status", "words"), [(401, "401 Unauthorized"), (403, "403 Forbidden")]
)
def test_says_what_a_closed_index_wants(
    folder: Folder, closed: FakeIndex, status: int, words: str
) -> None:
    closed.denies = status
    no = refuse(folder, "a", credentials=[])
    assert no.ename == "PackagesUnreachable"
    assert no.text == (
        f"the index 127.0.0.1 wants a user and a password ({words}): the "
        f"operator can name a file with them in {SETTING}"
    )
    no = refuse(folder, "a", credentials=[user(password="other")])
    assert no.ename == "PackagesUnreachable"
    assert no.text == (
        "the index 127.0.0.1 did not accept the user and the password of "
        f"{SETTING} ({words})"
    )


def test_an_index_cannot_show_a_password(
    folder: Folder, closed: FakeIndex
) -> None:
    """A session would see what it says."""
    folder.settings["credentials"] = [user(password="pa55")]
    closed.user = "agents:pa55"
    closed.statuses["a"] = {"status": "archived", "reason": "it is pa55."}
    (note,) = folder.do("add", "a")["notes"]
    assert note.endswith(": it is ***.")
    closed.add("bad", "1")
    closed.statuses["bad"] = {"status": "quarantined", "reason": "pa55!"}
    assert refuse(folder, "bad").text.endswith("in quarantine: ***!")
    # A word of hearth's own, or of the request, does not show what is one.
    for word in ("index", "unknown"):
        folder.settings["credentials"] = [user(password=word)]
        closed.user = f"agents:{word}"
        assert "***" not in refuse(folder, "unknown").text
    assert "pa55" not in repr(Job(credentials=(user(password="pa55"),)))


def test_uv_sends_a_password_to_its_own_host_alone(
    uv: None, closed: FakeIndex, tmp_path: Path
) -> None:
    """Another host is reached here by its name, without the proxy."""
    job = Job(credentials=(user(),), index=closed.url)
    (tmp_path / "netrc").write_text(encode_netrc(job))
    (tmp_path / "in").write_text("a\n")
    maker = Uv.__new__(Uv)
    maker.job = job
    environment = {
        name: value
        for name, value in maker._environment().items()
        if "proxy" not in name.lower()
    }
    environment["NETRC"] = str(tmp_path / "netrc")
    environment["UV_CACHE_DIR"] = str(tmp_path / "cache")
    with FakeIndex() as other:
        other.releases = closed.releases
        closed.redirect = f"http://localhost:{other.port}/simple/a/"
        for name in ("a", "b"):
            for release in closed.releases[name]:
                release.url = f"http://localhost:{other.port}/files/" + (
                    release.filename
                )
        # It wants a password, and so uv looks for one of this host.
        other.user = closed.user
        done = subprocess.run(
            [
                *(find_uv(job), "pip", "install", "--target"),
                *(str(tmp_path / "to"), "--no-deps", "-r"),
                str(tmp_path / "in"),
            ],
            env=environment,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert done.returncode != 0
        assert "pa55" not in done.stderr
        assert closed.user in closed.users
        assert other.users
        assert set(other.users) == {""}


def test_the_status_is_asked_for_with_its_hosts_password() -> None:
    job = Job(credentials=(user("Index.example"),))
    assert job.find_user("index.example") == f"agents:{PASSWORD}"
    assert job.find_user("files.example") == ""
    assert job.hide(f"a {PASSWORD} b") == "a *** b"
    asks = Job(credentials=job.credentials, names=["b", f"{PASSWORD}>1"])
    assert asks.hide(f"a {PASSWORD} b") == f"a {PASSWORD} b"
