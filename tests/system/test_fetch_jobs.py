"""`hearth fetch`, by a worker that does what the tests say: what arrives, what
is recorded, and that no worker hangs the gateway or outlives it."""

from __future__ import annotations

import hashlib
import json
import os
import re
import select
import signal
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any, Iterator

import pytest
from deadline import DEADLINE, wait_for
from fetch_gateway import ALLOW, HOST, PLAIN, Fetching
from harness import HEARTH, Session, end, started
from processes import start_time
from records import records, wait_record

HASH = hashlib.sha256(PLAIN).hexdigest()


@pytest.fixture(scope="module")
def gateway() -> Iterator[Fetching]:
    with started(Fetching()) as made:
        yield made


@pytest.fixture
def own() -> Iterator[Fetching]:
    """A gateway that the test ends."""
    with started(Fetching()) as made:
        yield made


def begin(
    gateway: Fetching, session: Session, *words: str
) -> subprocess.Popen[str]:
    """`hearth fetch`, which goes on."""
    return gateway.begin("fetch", session.id, *words)


def fetch(gateway: Fetching, session: Session, *words: str) -> str:
    done = gateway.run("fetch", session.id, *words)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def listed(gateway: Fetching, session: Session) -> Any:
    return gateway.json("fetch", "--list", "--json", session.id)


def line(path: str, after: str = "") -> str:
    return f"{path}  {len(PLAIN)} B  sha256 {HASH}{after}\n"


def is_in_journal(session: Session, text: str) -> bool:
    folder = Path(session.model["journal"])
    return any(
        text.encode() in path.read_bytes()
        for path in folder.glob("journal-*.log")
    )


def test_what_is_printed(gateway: Fetching, session: Session) -> None:
    assert fetch(gateway, session, f"{HOST}/a/plain.csv?x=1#y") == line(
        "plain.csv"
    )
    assert (session.workspace / "plain.csv").read_bytes() == PLAIN
    done = session.exec('print(open("plain.csv").read(), end="")')
    assert done.stdout == PLAIN.decode()
    assert fetch(gateway, session, f"{HOST}/cached") == line(
        "cached", "  (cached)"
    )
    assert fetch(gateway, session, f"{HOST}/zipped") == line(
        "zipped", "  compressed: gzip"
    )
    done = gateway.run("fetch", "--list", session.id)
    assert (done.returncode, done.stdout) == (0, "")


def test_json(gateway: Fetching, session: Session) -> None:
    url = f"{HOST}/plain.csv?key=secret"
    assert gateway.json(
        "fetch", "--json", session.id, url, f"{HOST}/cached"
    ) == [
        {
            "path": "plain.csv",
            "size": len(PLAIN),
            "sha256": HASH,
            "url": url,
            "cached": False,
            "encoding": "",
        },
        {
            "path": "cached",
            "size": len(PLAIN),
            "sha256": HASH,
            "url": f"{HOST}/cached",
            "cached": True,
            "encoding": "",
        },
    ]


def test_into(gateway: Fetching, session: Session) -> None:
    url = f"{HOST}/plain.csv"
    words: tuple[str, ...]
    for words, path in (
        ((url, "--into", "data/people.csv"), "data/people.csv"),
        ((url, "-o", "more/"), "more/plain.csv"),
        ((f"{HOST}/b%C3%A4r.csv", "-o", "."), "bär.csv"),
    ):
        assert fetch(gateway, session, *words) == line(path)
        assert (session.workspace / path).read_bytes() == PLAIN
    for words, text in (
        ((f"{HOST}/",), "the URL has no name for the file"),
        ((url, "-o", "../x"), 'a path has no ".."'),
        ((f"{HOST}/a b",), "url must be a text of 1 to 2000 bytes"),
        ((url, "--sha256", "00"), "sha256 must be 64 hexadecimal digits"),
        ((), "name a URL, or give --list"),
        ((url, "--list"), "--list takes no URL"),
        ((url, url, "--sha256", HASH), "--sha256 is for one URL"),
    ):
        done = gateway.run("fetch", session.id, *words)
        assert (done.returncode, done.stdout) == (2, ""), words
        assert text in done.stderr


def test_several_urls(gateway: Fetching, session: Session) -> None:
    """The others are fetched if one of them fails."""
    done = gateway.run(
        "fetch",
        session.id,
        f"{HOST}/plain-1",
        f"{HOST}/unreachable",
        f"{HOST}/invalid",
        f"{HOST}/plain-2",
        "--into",
        "all",
    )
    assert done.returncode == 1  # of the first that failed
    assert done.stdout == line("all/plain-1") + line("all/plain-2")
    assert done.stderr == (
        "hearth: it is FetchUnreachable\nhearth: it is FetchInvalid\n"
    )


def test_json_has_what_became_of_each_url(
    gateway: Fetching, session: Session
) -> None:
    names = ("plain-1", "unreachable", "invalid", "\udcff", "plain-2")
    urls = [f"{HOST}/{name}" for name in names]
    done = gateway.run("fetch", session.id, *urls, "--json")
    assert done.returncode == 1
    came, *failed, last = json.loads(done.stdout)
    assert (came["url"], came["size"]) == (urls[0], len(PLAIN))
    assert (last["url"], last["path"]) == (urls[4], "plain-2")
    assert failed == [
        {
            "ename": "FetchUnreachable",
            "evalue": "it is FetchUnreachable",
            "url": urls[1],
        },
        {
            "ename": "FetchInvalid",
            "evalue": "it is FetchInvalid",
            "url": urls[2],
        },
        {
            "ename": "",
            "evalue": "its URL, path or hash is not valid",
            "url": f"{HOST}/\\xff",
        },
    ]
    assert "hearth: it is FetchUnreachable" in done.stderr


def test_a_file_is_replaced(gateway: Fetching, session: Session) -> None:
    (session.workspace / "has-new").write_text("old and longer")
    fetch(gateway, session, f"{HOST}/has-new")
    assert (session.workspace / "has-new").read_text() == "new"
    (session.workspace / "has-folder").mkdir()
    done = gateway.run("fetch", session.id, f"{HOST}/has-folder")
    assert (done.returncode, done.stdout) == (1, "")
    assert "has-folder" in done.stderr
    assert (session.workspace / "has-folder").is_dir()


def test_what_the_worker_gets(gateway: Fetching, session: Session) -> None:
    url = f"{HOST}/plain-job?key=secret"
    fetch(gateway, session, url, "-o", "x/", "--sha256", HASH)
    job = gateway.notes()[-1]["job"]
    assert job["order"] == "fetch"
    assert job["url"] == url
    assert job["sha256"] == HASH
    assert job["path"] == "x/plain-job"
    assert job["profile"] == "python3"
    assert (job["allow"], job["deny"]) == (["data.example"], [])
    assert job["private"] == []
    assert job["max_bytes"] == 4 << 30
    assert job["ca_file"] == ""
    assert (job["accept"], job["without"]) == ([], [])
    assert job["work"].startswith("/")
    assert session.id not in json.dumps(job)


@pytest.mark.skipif(
    os.getuid() != 0, reason="only root can give zygotes a user"
)
def test_the_worker_has_the_zygotes_user() -> None:
    gateway = Fetching("--set", "gateway/zygote_user=own")
    try:
        gateway.start()
        session = gateway.create()
        client = begin(gateway, session, f"{HOST}/slow-user")
        note = gateway.wait_note("waits", "slow-user")
        text = Path(f"/proc/{note['pid']}/status").read_text()
        status = dict(row.split(":\t", 1) for row in text.splitlines())
        assert note["job"]["uid"] != 0
        assert status["Uid"].split() == [str(note["job"]["uid"])] * 4
        assert int(status["CapEff"], 16) == 0
        assert note["job"]["mapper"] == 4
        gateway.let("slow-user")
        assert end(client)[1] == line("slow-user")
    finally:
        gateway.end()


def test_what_is_recorded(gateway: Fetching, session: Session) -> None:
    url = f"{HOST}/plain-noted"
    fetch(gateway, session, f"{url}?key=secret", "-o", "d/x")

    def noted() -> bool:
        return (
            f"fetched {url} -> d/x ({len(PLAIN)} bytes, SHA-256 {HASH})"
            in json.dumps(session.notebook())
        )

    wait_for(noted, "a note in the notebook")
    record = wait_record(
        gateway, event="file", what="fetch", session=session.id
    )
    assert record["outcome"] == "ok"
    assert (record["path"], record["url"]) == ("d/x", url)
    assert (record["size"], record["sha256"]) == (len(PLAIN), HASH)
    assert record["who"].startswith("uid=")
    wait_for(
        lambda: is_in_journal(session, f'"url":"{url}?key=secret"'),
        "a record in the journal",
    )
    done = gateway.run("fetch", session.id, f"{HOST}/refused?k=secret")
    assert (done.returncode, done.stdout) == (1, "")
    record = wait_record(
        gateway, event="fetch", outcome="refused", session=session.id
    )
    assert record["ename"] == "FetchRefused"
    assert record["text"] == "it is FetchRefused"
    assert (record["url"], record["path"]) == (f"{HOST}/refused", "refused")
    assert "secret" not in json.dumps(records(gateway, session=session.id))
    assert "secret" not in gateway.log.read_text()


@pytest.mark.parametrize(
    ("name", "status", "text"),
    [
        ("invalid", 2, "it is FetchInvalid"),
        ("refused", 1, "it is FetchRefused"),
        ("unreachable", 1, "it is FetchUnreachable"),
        ("failed", 1, "it is FetchFailed"),
        ("unknown", 1, "an unknown fault"),
        ("dies", 1, "the fetch worker ended without an answer"),
        ("killed", 1, "the fetch worker was killed by signal 9 (Killed)"),
        ("nofile", 1, "the fetch worker answered without the file"),
        ("twofiles", 1, "more descriptors"),
        ("folder", 1, "the fetch worker gave no plain file"),
        ("writable", 1, "gave no plain file"),
        ("device", 1, "gave no plain file"),
        ("size", 1, f"gave a file of {len(PLAIN)} bytes"),
        ("hash", 1, "not valid: sha256"),
        ("more", 1, "not valid: not the four members"),
    ],
)
def test_a_worker_that_fails(
    gateway: Fetching, session: Session, name: str, status: int, text: str
) -> None:
    done = gateway.run("fetch", session.id, f"{HOST}/{name}")
    assert (done.returncode, done.stdout) == (status, "")
    assert done.stderr.startswith("hearth: ")
    assert text in done.stderr
    assert not (session.workspace / name).exists()
    wait_record(gateway, event="fetch", session=session.id, path=name)


def test_a_file_with_a_word_of_progress_is_closed(
    gateway: Fetching, session: Session
) -> None:
    """It comes with the answer."""
    assert fetch(gateway, session, f"{HOST}/early") == line("early")
    folder = Path(f"/proc/{gateway.pid}/fd")

    def held() -> list[str]:
        links = []
        for path in folder.iterdir():
            with suppress(FileNotFoundError):
                links.append(os.readlink(path))
        return [link for link in links if str(gateway.noted) in link]

    wait_for(lambda: not held(), "no file of a worker in the gateway")


def test_the_workspace_is_full(gateway: Fetching) -> None:
    session = gateway.create("--limit", "workspace_bytes=1M")
    done = gateway.run("fetch", session.id, f"{HOST}/big-2000000")
    assert (done.returncode, done.stdout) == (1, "")
    assert "workspace" in done.stderr
    assert os.listdir(session.workspace) == []
    record = wait_record(gateway, event="fetch", session=session.id)
    assert (record["outcome"], record["ename"]) == ("failed", "WorkspaceFull")
    deep = ("fetch", session.id, f"{HOST}/big-2000000", "-o", "a/b/")
    assert gateway.run(*deep).returncode == 1
    assert os.listdir(session.workspace) == []
    assert fetch(gateway, session, f"{HOST}/plain") == line("plain")
    session.delete()


def test_folders_count(gateway: Fetching) -> None:
    """Counts those that a fetch would make: the session would end for them."""
    session = gateway.create("--limit", "workspace_files=5")
    into = ("fetch", session.id, f"{HOST}/plain", "-o")
    done = gateway.run(*into, "a/b/c/d/e/")
    assert done.returncode == 1
    assert "workspace" in done.stderr
    assert os.listdir(session.workspace) == []
    assert gateway.run(*into, "a/b/").returncode == 0
    assert gateway.run(*into, "a/b/c/d/").returncode == 1
    assert os.listdir(session.workspace / "a" / "b") == ["plain"]
    session.delete()


def test_a_path_that_cannot_be(gateway: Fetching, session: Session) -> None:
    (session.workspace / "folder").mkdir()
    (session.workspace / "file").touch()
    into = ("fetch", session.id, f"{HOST}/plain", "-o")
    done = gateway.run(*into, "folder")
    assert done.returncode == 1
    assert "folder is a folder: end it with a slash (folder/)" in done.stderr
    for path in ("file/", "file/x", "file/x/y"):
        done = gateway.run(*into, path)
        assert done.returncode == 1
        assert "is not a folder, or has a file" in done.stderr
    assert gateway.run(*into, "folder/").returncode == 0
    assert (session.workspace / "folder" / "plain").read_bytes() == PLAIN


def test_a_list_while_one_is_slow(gateway: Fetching, session: Session) -> None:
    clients = []
    for at in range(3):
        clients.append(
            begin(gateway, session, f"{HOST}/slow-list{at}?k=v", "-o", "d/")
        )
        wait_for(
            lambda at=at: len(listed(gateway, session)) == at + 1,  # type: ignore[misc]
            "a fetch in the list",
        )
    for at in (0, 1):
        gateway.wait_note("waits", f"slow-list{at}")

    def running() -> Any:
        found = listed(gateway, session)
        return found if found[1]["bytes"] == 5 else None

    found = wait_for(running, "bytes in the list")
    numbers = [one.pop("number") for one in found]
    assert len({one.pop("tag") for one in found}) == 3
    assert numbers == sorted(set(numbers))
    assert found[0] == {
        "kind": "file",
        "url": f"{HOST}/slow-list0",
        "path": "d/slow-list0",
        "state": "running",
        "bytes": 5,
        "total": 10,
        "doing": "receiving",
    }
    assert found[2] == {
        "kind": "file",
        "url": f"{HOST}/slow-list2",
        "path": "d/slow-list2",
        "state": "waiting",
        "bytes": 0,
        "total": None,
        "doing": "",
    }
    done = gateway.run("fetch", "--list", session.id)
    rows = [row.split() for row in done.stdout.splitlines()]
    assert rows == [
        ["STATE", "HAS", "OF", "URL", "PATH"],
        ["running", "5", "B", "10", "B", f"{HOST}/slow-list0", "d/slow-list0"],
        ["receiving"],
        ["running", "5", "B", "10", "B", f"{HOST}/slow-list1", "d/slow-list1"],
        ["receiving"],
        ["waiting", "0", "B", "?", f"{HOST}/slow-list2", "d/slow-list2"],
    ]
    for at in (0, 1, 2):
        gateway.let(f"slow-list{at}")
    assert [end(client)[1] for client in clients] == [
        line(f"d/slow-list{at}") for at in range(3)
    ]
    assert listed(gateway, session) == []


@pytest.mark.parametrize("command", ["fetch", "clone"])
def test_it_says_how_far_it_has_come(
    gateway: Fetching, session: Session, command: str
) -> None:
    name = f"slow-{command}ed"
    client = subprocess.Popen(
        [HEARTH, command, session.id, f"{HOST}/{name}", "-o", "came"],
        env=gateway.env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert client.stderr
    is_said, _, _ = select.select([client.stderr], [], [], DEADLINE)
    said = client.stderr.readline() if is_said else ""
    assert re.fullmatch(r"hearth: came: 5 B of 10 B, \d+ B/s\n", said), said
    gateway.let(name)
    assert end(client)[0] == 0


def test_too_many_wait(gateway: Fetching, session: Session) -> None:
    clients = [begin(gateway, session, f"{HOST}/slow-many") for _ in range(9)]
    wait_for(lambda: len(listed(gateway, session)) == 9, "nine fetches")
    done = gateway.run("fetch", session.id, f"{HOST}/plain")
    assert done.returncode == 1
    assert done.stderr == (
        "hearth: 8 fetches of this session wait already; try again in 10 s\n"
    )
    gateway.let("slow-many")
    assert [end(client)[0] for client in clients] == [0] * 9


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_cancels(
    gateway: Fetching, session: Session, number: signal.Signals
) -> None:
    name = f"slow-{number.name}"
    client = begin(gateway, session, f"{HOST}/{name}?k=v", f"{HOST}/never")
    gateway.wait_note("waits", name)
    client.send_signal(number)
    code, out, err = end(client)
    assert (code, out) == (128 + signal.SIGINT, "")
    assert "the fetch was cancelled; what has come is kept" in err
    gateway.wait_note("given up", name)
    assert listed(gateway, session) == []
    assert "never" not in gateway.order("began")
    assert os.listdir(session.workspace) == []
    record = wait_record(gateway, event="fetch", session=session.id)
    assert record["ename"] == "FetchCancelled"


def test_an_interrupt_cancels_the_own_fetch(
    gateway: Fetching, session: Session
) -> None:
    """Not that of a client that came later with the same URL."""
    first = begin(gateway, session, f"{HOST}/slow-own", "-o", "first")
    gateway.wait_note("waits", "slow-own")
    second = begin(gateway, session, f"{HOST}/slow-own", "-o", "second")
    wait_for(lambda: len(listed(gateway, session)) == 2, "both fetches")
    first.send_signal(signal.SIGINT)
    assert end(first)[0] == 128 + signal.SIGINT
    assert [one["path"] for one in listed(gateway, session)] == ["second"]
    gateway.let("slow-own")
    assert end(second)[1] == line("second")


def test_one_interrupt_is_enough_while_the_gateway_is_stopped(
    gateway: Fetching, session: Session
) -> None:
    client = begin(gateway, session, f"{HOST}/slow-stopped")
    gateway.wait_note("waits", "slow-stopped")
    os.kill(gateway.pid, signal.SIGSTOP)
    try:
        client.send_signal(signal.SIGINT)
        code, _, err = end(client)
    finally:
        os.kill(gateway.pid, signal.SIGCONT)
    assert code == 128 + signal.SIGINT
    assert err == (
        "hearth: interrupted; the gateway gets 10 s to end what it was asked "
        "for\n"
    )
    gateway.let("slow-stopped")
    wait_for((session.workspace / "slow-stopped").exists, "the file")


def test_the_client_goes_and_the_fetch_does_not(
    gateway: Fetching, session: Session
) -> None:
    client = begin(gateway, session, f"{HOST}/slow-gone")
    gateway.wait_note("waits", "slow-gone")
    client.kill()
    client.communicate()
    gateway.let("slow-gone")
    wait_for((session.workspace / "slow-gone").exists, "the file")


def test_the_session_ends_during_a_fetch(gateway: Fetching) -> None:
    session, other = gateway.create(), gateway.create()
    clients = [
        begin(gateway, session, f"{HOST}/slow-end{at}") for at in range(3)
    ]
    wait_for(lambda: len(listed(gateway, session)) == 3, "three fetches")
    session.delete()
    for client in clients:
        code, out, err = end(client)
        assert (code, out) == (3, "")
        assert f"session {session.id} ended before one of its fetches" in err
    assert fetch(gateway, other, f"{HOST}/plain") == line("plain")
    done = gateway.run("fetch", session.id, f"{HOST}/plain")
    assert done.returncode == 3
    other.delete()


@pytest.mark.parametrize("name", ["slow-stop", "stubborn"])
def test_the_gateway_stops_during_a_fetch(own: Fetching, name: str) -> None:
    session = own.create()
    client = begin(own, session, f"{HOST}/{name}")
    worker = own.wait_note("began", name)["pid"]
    own.terminate()
    assert start_time(worker) is None
    code, out, err = end(client)
    assert (code, out) == (4, ""), err
    own.start()
    assert fetch(own, session, f"{HOST}/plain") == line("plain")


def test_the_gateway_is_killed_during_a_fetch(own: Fetching) -> None:
    session = own.create()
    client = begin(own, session, f"{HOST}/slow-kill")
    worker = own.wait_note("waits", "slow-kill")["pid"]
    own.kill()
    assert end(client)[0] == 4
    own.wait_ended(worker)
    assert own.order("given up") == ["slow-kill"]


def test_a_profile_without_hosts() -> None:
    gateway = Fetching("--set", f"{ALLOW}=")
    try:
        gateway.start()
        session = gateway.create()
        done = gateway.run("fetch", session.id, f"{HOST}/plain")
        assert (done.returncode, done.stdout) == (5, "")
        assert done.stderr == (
            "hearth: sessions of profile python3 fetch nothing: the operator "
            "can name hosts in profile/python3/fetch/allow\n"
        )
        assert gateway.notes() == []
    finally:
        gateway.end()
