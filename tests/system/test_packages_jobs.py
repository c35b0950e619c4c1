"""Jobs with the packages of sessions, by a worker that does what the tests say:
what waits, what is refused, and that no worker hangs the gateway or outlives
it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Iterator

import pytest
from deadline import wait_for
from harness import Session, end
from packages_gateway import KEY, Packaged
from processes import children, start_time
from records import records, wait_record


@pytest.fixture(scope="module")
def gateway() -> Iterator[Packaged]:
    made = Packaged()
    try:
        made.start()
        yield made
    finally:
        made.end()


@pytest.fixture
def own() -> Iterator[Packaged]:
    """A gateway that the test ends."""
    made = Packaged()
    try:
        made.start()
        yield made
    finally:
        made.end()


def begin(
    gateway: Packaged, session: Session, *words: str
) -> subprocess.Popen[str]:
    """`hearth packages`, which goes on."""
    return gateway.begin("packages", words[0], session.id, *words[1:])


def add(gateway: Packaged, session: Session, *names: str) -> str:
    done = gateway.run("packages", "add", session.id, *names)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def fail(gateway: Packaged, session: Session, *names: str) -> str:
    done = gateway.run("packages", "add", session.id, *names)
    assert done.returncode != 0
    assert done.stdout == ""
    return done.stderr


def test_what_is_printed(gateway: Packaged, session: Session) -> None:
    assert add(gateway, session, "humanize", "six") == (
        "added humanize 1.0\nadded six 1.0\n"
    )
    assert add(gateway, session, "many") == (
        "added humanize 4.17.0 (import human, ize)\n"
        "changed x 1.0 -> 1.1\n"
        "removed old 0.1\n"
        "numpy 2.2.0 is there already (profile)\n"
        "note: x 1.1 was yanked\n"
    )
    done = gateway.run("packages", "remove", session.id, "six")
    assert (done.returncode, done.stdout) == (0, "removed six 1.0\n")
    done = gateway.run("packages", "list", session.id)
    assert [line.split() for line in done.stdout.splitlines()] == [
        ["PACKAGE", "VERSION", "BECAUSE"],
        ["humanize", "4.17.0", "requested"],
        ["six", "1.17.0", "another", "needs", "it"],
    ]
    assert gateway.json("packages", "list", "--json", session.id) == {
        "packages": [
            {"name": "humanize", "version": "4.17.0", "requested": True},
            {"name": "six", "version": "1.17.0", "requested": False},
        ],
        "added": [],
        "changed": [],
        "removed": [],
        "present": [],
        "notes": [],
        "restart": [],
    }


def test_what_the_worker_gets(gateway: Packaged, session: Session) -> None:
    add(gateway, session, "gets>=4 ; python_version > '3'")
    note = gateway.notes()[-1]
    job = note["job"]
    assert job["order"] == "add"
    assert job["names"] == ["gets>=4 ; python_version > '3'"]
    assert job["profile"] == "python3"
    assert job["index"] == "http://127.0.0.1:9/simple/"
    assert job["hosts"] == ["files.pythonhosted.org"]
    assert (job["allow"], job["deny"]) == ([], [])
    assert job["cooldown"] == 7 * 86400
    assert (job["max_bytes"], job["max_files"]) == (1 << 30, 100000)
    assert job["uv"] == "" or job["uv"].startswith("/")
    assert (job["accept"], job["without"]) == ([], [])
    assert job["work"] == str(gateway.work)
    folder, _, token = job["session"].rpartition("/")
    assert folder == str(gateway.packages / "sessions")
    assert len(token) == 32
    assert session.id not in job["session"]


@pytest.mark.skipif(
    os.getuid() != 0, reason="only root can give zygotes a user"
)
def test_the_worker_has_the_zygotes_user() -> None:
    gateway = Packaged("--set", "gateway/zygote_user=own")
    try:
        gateway.start()
        session = gateway.create()
        client = begin(gateway, session, "add", "slow-user")
        note = gateway.wait_note("began", "slow-user")
        worker, job = note["pid"], note["job"]
        text = Path(f"/proc/{worker}/status").read_text()
        status = dict(line.split(":\t", 1) for line in text.splitlines())
        assert status["Uid"].split() == [str(job["uid"])] * 4
        assert status["Gid"].split() == [str(job["gid"])] * 4
        assert job["uid"] != 0
        assert int(status["CapEff"], 16) == 0
        assert job["mapper"] == 4
        links = os.listdir(f"/proc/{worker}/fd")
        assert {"0", "1", "2", "3", "4"} <= set(links)
        mapper = next(iter(children(worker)))
        gateway.let("slow-user")
        assert end(client)[1] == "added slow-user 1.0\n"
        gateway.wait_ended(mapper)
        # One of another user can be killed, too.
        client = begin(gateway, session, "add", "stubborn-user")
        worker = gateway.wait_note("child", "stubborn-user")["pid"]
        session.delete()
        assert end(client)[0] == 3
        gateway.wait_ended(worker)
    finally:
        gateway.end()


def test_a_session_by_its_name(gateway: Packaged) -> None:
    session = gateway.create("--name", "by-name")
    done = gateway.run("packages", "add", "by-name", "humanize")
    assert done.stdout == "added humanize 1.0\n"
    session.delete()
    done = gateway.run("packages", "add", session.id, "humanize")
    assert done.returncode == 3
    assert "is gone" in done.stderr
    done = gateway.run("packages", "list", "nothing")
    assert done.returncode == 3


def test_the_notebook_and_the_audit_log_have_it(gateway: Packaged) -> None:
    session = gateway.create()
    add(gateway, session, "many")

    def noted() -> bool:
        return (
            "packages: added humanize 4.17.0, changed x 1.0 -> 1.1, removed "
            "old 0.1" in json.dumps(session.notebook())
        )

    wait_for(noted, "a note in the notebook")
    wait_record(gateway, event="package", outcome="removed")
    found = records(gateway, event="package", session=session.id)
    assert [
        (one["outcome"], one["package"], one["version"], one.get("from"))
        for one in found
    ] == [
        ("added", "humanize", "4.17.0", None),
        ("changed", "x", "1.1", "1.0"),
        ("removed", "old", "0.1", None),
    ]
    assert all(one["who"].startswith("uid=") for one in found)
    assert [(one.get("rule"), "index" in one) for one in found] == [
        ("cooldown", True),
        ("cooldown", True),
        (None, False),
    ]
    fail(gateway, session, "refused")
    record = wait_record(
        gateway, event="package", outcome="refused", session=session.id
    )
    assert record["ename"] == "PackagesRefused"
    assert record["names"] == ["refused"]
    assert record["text"] == "it is PackagesRefused"
    assert record["rule"] == "cooldown"
    session.delete()


@pytest.mark.parametrize(
    ("name", "status", "text"),
    [
        ("invalid", 2, "it is PackagesInvalid"),
        ("refused", 1, "it is PackagesRefused"),
        ("conflict", 1, "it is PackagesConflict"),
        ("unreachable", 1, "it is PackagesUnreachable"),
        ("unknown", 1, "an unknown fault"),
        ("dies", 1, "ended without an answer"),
        ("killed", 1, "was killed by signal 9 (Killed) before it answered"),
        ("lingers", 1, "ended without an answer"),
        ("empty", 1, "ended without an answer"),
        ("long", 1, "a datagram of more than 65536 bytes"),
        ("nojson", 1, "no JSON object"),
        ("wrong", 1, "the list added"),
        ("talks", 1, "more than 10000 words"),
    ],
)
def test_a_worker_that_fails(
    gateway: Packaged, session: Session, name: str, status: int, text: str
) -> None:
    done = gateway.run("packages", "add", session.id, name)
    assert done.returncode == status
    assert done.stderr.startswith("hearth: ")
    assert text in done.stderr
    assert "\x1b" not in done.stderr
    assert add(gateway, session, "humanize") == "added humanize 1.0\n"


def test_the_first_answer_counts(gateway: Packaged, session: Session) -> None:
    assert add(gateway, session, "twice") == "added twice 1.0\n"


def test_what_a_dead_worker_has_started_ends(
    gateway: Packaged, session: Session
) -> None:
    fail(gateway, session, "lingers-on")
    gateway.wait_ended(gateway.wait_note("child", "lingers-on")["pid"])


def slow_ones(gateway: Packaged) -> list[tuple[str, str]]:
    return [one for one in gateway.order() if one[1].startswith("slow-n")]


def test_one_changes_at_a_time_and_lists_do_not_wait(
    gateway: Packaged, session: Session
) -> None:
    other = gateway.create()
    clients = []
    for number in (1, 2, 3, 4):
        chosen = other if number % 2 else session
        clients.append(begin(gateway, chosen, "add", f"slow-n{number}"))
    wait_for(lambda: slow_ones(gateway), "a job that runs")
    done = gateway.run("packages", "list", other.id)
    assert "humanize" in done.stdout
    for number in (4, 3, 2, 1):
        gateway.let(f"slow-n{number}")
    assert sorted(end(client)[1] for client in clients) == [
        f"added slow-n{number} 1.0\n" for number in (1, 2, 3, 4)
    ]
    wait_for(lambda: len(slow_ones(gateway)) == 8, "all notes")
    names = [name for _, name in slow_ones(gateway)]
    whats = [what for what, _ in slow_ones(gateway)]
    assert whats == ["began", "ended"] * 4
    assert names[::2] == names[1::2]
    other.delete()


def test_too_many_wait(own: Packaged) -> None:
    session = own.create()
    clients = [begin(own, session, "add", "slow-first")]
    own.wait_note("began", "slow-first")
    clients += [begin(own, session, "add", f"n{at}") for at in range(3)]
    refused = wait_for(
        lambda: [one for one in clients if one.poll() is not None],
        "a client that is sent away",
    )
    code, out, err = end(refused[0])
    assert (code, out) == (1, "")
    assert (
        "2 jobs with packages of this session wait already; try again in 10 s"
        in err
    )
    own.let("slow-first")
    left = [end(one) for one in clients if one not in refused]
    assert [code for code, _, _ in left] == [0] * 3


def test_lists_wait_for_lists(own: Packaged) -> None:
    session = own.create()
    add(own, session, "humanize")
    (own.work / "hold-lists").touch()
    clients = [begin(own, session, "list") for _ in range(6)]

    def begun() -> int:
        return sum(
            note["what"] == "began" and note["job"]["order"] == "list"
            for note in own.notes()
        )

    wait_for(lambda: begun() == 4, "four lists")
    assert add(own, session, "six") == "added six 1.0\n"
    assert begun() == 4
    (own.work / "hold-lists").unlink()
    assert all("humanize" in end(client)[1] for client in clients)
    assert begun() == 6


def test_the_client_goes_and_the_job_does_not(
    gateway: Packaged, session: Session
) -> None:
    client = begin(gateway, session, "add", "slow-gone")
    gateway.wait_note("began", "slow-gone")
    client.kill()
    client.communicate()
    gateway.let("slow-gone")
    gateway.wait_note("ended", "slow-gone")
    wait_record(gateway, event="package", outcome="added", package="slow-gone")


def test_the_session_ends_during_a_job(gateway: Packaged) -> None:
    session, other = gateway.create(), gateway.create()
    client = begin(gateway, session, "add", "slow-end")
    gateway.wait_note("began", "slow-end")
    waiting = begin(gateway, session, "add", "never")
    third = begin(gateway, other, "add", "after")
    session.delete()
    code, out, err = end(client)
    assert (code, out) == (3, "")
    assert f"session {session.id} ended before" in err
    assert end(waiting)[0] == 3
    assert end(third)[1] == "added after 1.0\n"
    gateway.wait_note("given up", "slow-end")
    assert ("began", "never") not in gateway.order()
    other.delete()


def test_a_session_is_not_forgotten_during_a_job() -> None:
    """Neither one whose tombstone expires, nor one with files alone."""
    gateway = Packaged("--set", "sessions/gone_keep=0")
    try:
        gateway.start()
        session = gateway.create()
        add(gateway, session, "humanize")
        runtime = gateway.runtime / "sessions" / session.id
        session.delete()
        wait_for(lambda: not runtime.exists(), "a session of files alone")
        (gateway.work / "hold-lists").touch()
        client = begin(gateway, session, "list")
        wait_for(
            lambda: gateway.notes()[-1]["job"]["order"] == "list", "a list"
        )
        done = gateway.run("packages", "remove", session.id, "humanize")
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout == "removed humanize 1.0\n"
        assert client.poll() is None
        assert runtime.exists()
        (gateway.work / "hold-lists").unlink()
        assert "humanize" in end(client)[1]
        wait_for(lambda: not runtime.exists(), "its end")
        assert "packages: removed humanize 1.0" in json.dumps(
            session.notebook()
        )
        assert session.show()["state"] == "gone"
    finally:
        gateway.end()


def test_a_worker_that_does_not_end_is_killed(gateway: Packaged) -> None:
    session, other = gateway.create(), gateway.create()
    client = begin(gateway, session, "add", "stubborn")
    child = gateway.wait_note("child", "stubborn")["pid"]
    worker = gateway.wait_note("began", "stubborn")["pid"]
    session.delete()
    assert end(client)[0] == 3
    assert add(gateway, other, "humanize") == "added humanize 1.0\n"
    assert start_time(worker) is None
    gateway.wait_ended(child)
    other.delete()


@pytest.mark.parametrize("name", ["slow-stop", "stubborn-stop"])
def test_the_gateway_stops_during_a_job(own: Packaged, name: str) -> None:
    session = own.create()
    client = begin(own, session, "add", name)
    worker = own.wait_note("began", name)["pid"]
    own.terminate()
    assert start_time(worker) is None
    code, out, err = end(client)
    assert out == ""
    assert code == 4, err
    own.start()
    assert add(own, session, "humanize") == "added humanize 1.0\n"


def test_the_gateway_is_killed_during_a_job(own: Packaged) -> None:
    session = own.create()
    client = begin(own, session, "add", "slow-kill")
    worker = own.wait_note("began", "slow-kill")["pid"]
    own.kill()
    assert end(client)[0] == 4
    own.wait_ended(worker)
    assert ("given up", "slow-kill") in own.order()


def test_a_profile_without_an_index() -> None:
    gateway = Packaged("--set", f"{KEY}=")
    try:
        gateway.start()
        session = gateway.create()
        done = gateway.run("packages", "list", session.id)
        assert done.returncode == 5
        assert done.stderr == (
            "hearth: profile python3 has no package index: set "
            "profile/python3/packages/index\n"
        )
    finally:
        gateway.end()


def test_names_that_are_none(gateway: Packaged, session: Session) -> None:
    for names in (["a\nb"], ["x" * 20001], ["a"] * 101, [""]):
        done = gateway.run("packages", "add", session.id, *names)
        assert done.returncode == 2
        assert "packages must be an array of 1 to 100 texts" in done.stderr
    done = gateway.run("packages", "add", session.id)
    assert done.returncode == 2
    assert "PACKAGE is missing" in done.stderr


def test_the_password_of_an_index_goes_to_the_worker_alone() -> None:
    gateway = Packaged()
    file = gateway.folder / "netrc"
    file.write_text("machine 127.0.0.1 login agents password pa55word\n")
    file.chmod(0o640)
    setting = "profile/python3/packages/credentials"
    gateway.options += ["--set", f"{setting}={file}"]
    try:
        said = gateway.refused()
        assert f"{setting}: other users may read or write {file}" in said
        file.chmod(0o600)
        gateway.start()
        session = gateway.create()
        add(gateway, session, "humanize")
        assert gateway.notes()[-1]["job"]["credentials"] == [
            {"host": "127.0.0.1", "user": "agents", "password": "pa55word"}
        ]
        gateway.run("packages", "list", session.id)
        assert "credentials" not in gateway.notes()[-1]["job"]
        fail(gateway, session, "refused")
        file.chmod(0o644)
        said = fail(gateway, session, "humanize")
        assert f"{setting}: other users may read or write {file}" in said
        # What is no longer wanted goes nevertheless.
        gateway.json("packages", "remove", "--json", session.id, "humanize")
        assert "credentials" not in gateway.notes()[-1]["job"]
        seen = [
            path
            for path in gateway.folder.rglob("*")
            if path.is_file() and b"pa55word" in path.read_bytes()
        ]
        # The worker of this test notes all that it gets.
        assert sorted(seen) == sorted([file, gateway.work / "log"])
    finally:
        gateway.end()
