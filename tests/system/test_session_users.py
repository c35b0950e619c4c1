"""An ordinary user's sessions with users of their own, out of a range that
/etc/subuid lends; in a mount namespace where it does, for a user of these
tests'."""

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Optional

import pytest
from deadline import DEADLINE, wait_for
from harness import HEARTH, Gateway, Session
from processes import children, start_time

USER = 64996
FIRST = 700000
COUNT = 300
INIT = FIRST + COUNT - 1
# Binds the files over those of /etc and becomes the user.
BECOME = """
for name in passwd subuid subgid; do
    mount --bind "$0/$name" "/etc/$name" || exit 1
done
exec setpriv --reuid "$1" --regid "$1" --clear-groups "${@:2}"
"""

pytestmark = [
    pytest.mark.skipif(
        os.getuid() != 0, reason="only root can lend a user numbers"
    ),
    pytest.mark.skipif(
        shutil.which("newuidmap") is None, reason="there is no newuidmap"
    ),
]


def begin(
    *settings: str, users: Optional[str] = None, groups: Optional[str] = None
) -> Gateway:
    words = [
        "profile/python3/pool/min=0",
        "profile/python3/pool/max=0",
        "gateway/cgroups=none",
    ]
    running = Gateway(
        *(
            word
            for setting in [*words, *settings]
            for word in ("--set", setting)
        )
    )
    lent = f"lent:{FIRST}:{COUNT}\n"
    etc = running.folder / "etc"
    etc.mkdir()
    (etc / "passwd").write_text(
        Path("/etc/passwd").read_text()
        + f"lent:x:{USER}:{USER}::{running.folder / 'h'}:/bin/sh\n"
    )
    (etc / "subuid").write_text(lent if users is None else users)
    (etc / "subgid").write_text(lent if groups is None else groups)
    for path in (running.folder, running.folder / "h"):
        os.chown(path, USER, USER)
    running.prefix = [
        "unshare", "--mount", "--propagation", "private",
        "bash", "-c", BECOME, str(etc), str(USER),
    ]  # fmt: skip
    return running


@pytest.fixture
def gateway() -> Iterator[Gateway]:
    running = begin("gateway/session_users=own")
    try:
        running.start()
        yield running
    finally:
        running.end()


def refused(*settings: str, **files: str) -> str:
    running = begin(*settings, **files)
    try:
        return running.refused()
    finally:
        running.sweep()


def ids(pid: int) -> set[int]:
    text = Path(f"/proc/{pid}/status").read_text()
    fields = dict(line.split(":\t", 1) for line in text.splitlines())
    return {int(n) for key in ("Uid", "Gid") for n in fields[key].split()}


def payload(session: Session) -> int:
    (pid,) = children(session.show()["pid"])
    return pid


def user(session: Session) -> int:
    (number,) = ids(payload(session))
    return number


def value(session: Session, expression: str, code: str = "pass") -> object:
    with session.client() as client:
        assert client.run(code).status == "ok"
        return client.value(expression)


def test_each_session_has_its_own(gateway: Gateway) -> None:
    sessions = [gateway.create() for _ in range(2)]
    users = {user(session) for session in sessions}
    assert len(users) == 2
    assert all(FIRST <= number < INIT for number in users)
    for session in sessions:
        assert value(session, "__import__('os').getuid()") == 1000
        assert ids(session.show()["pid"]) == {INIT}
        assert session.show()["host_uid"] == user(session)
        status = Path(f"/proc/{payload(session)}/status").read_text()
        assert "Groups:\t \n" in status


def test_files_go_both_ways(gateway: Gateway) -> None:
    """Files of each are usable by the other, also those that a session has
    closed."""
    session = gateway.create()
    done = gateway.run("files", "put", session.id, "-", "a", stdin="abc")
    assert done.returncode == 0, done.stderr
    code = (
        "import os; open('a', 'a').write('d'); os.mkdir('shut');"
        "open('shut/b', 'w').write('secret'); os.chmod('shut', 0o700)"
    )
    assert session.exec(code).returncode == 0
    for path, text in (("a", "abcd"), ("shut/b", "secret")):
        done = gateway.run("files", "get", session.id, path, "-")
        assert (done.returncode, done.stdout) == (0, text), done.stderr
    workspace = gateway.state / "sessions" / session.id / "workspace"
    number = user(session)
    for path in ("a", "shut", "shut/b", "."):
        about = (workspace / path).stat()
        assert (about.st_uid, about.st_gid) == (number, number)


def end(gateway: Gateway, session: Session) -> Path:
    session.delete()
    session.wait_state("gone")
    return gateway.state / "sessions" / session.id / "workspace"


def test_workspaces_belong_to_the_user_afterwards(gateway: Gateway) -> None:
    session = gateway.create()
    made = (
        "import os; os.makedirs('a/b', exist_ok=True)\n"
        "open('a/b/c', 'a').write('kept')\n"
        "if not os.path.lexists('a/link'):\n"
        "    os.symlink('/etc/passwd', 'a/link'); os.mkfifo('a/fifo')\n"
        "os.chmod('a/b', 0o700); os.chmod('a/b/c', 0o600)"
    )
    assert session.exec(made).returncode == 0
    former = user(session)
    workspace = end(gateway, session)
    for path in (workspace, *workspace.rglob("*")):
        assert path.lstat().st_uid == path.lstat().st_gid == USER, path
    assert os.stat("/etc/passwd").st_uid == 0
    # A session that starts again has one of its own, and the files with it,
    # those too that could not be given back in time.
    os.chown(workspace / "a/b/c", former, former)
    done = gateway.run("session", "revive", session.id)
    assert done.returncode == 0, done.stdout + done.stderr
    assert user(session) != USER
    assert FIRST <= user(session) < INIT
    assert value(session, "open('a/b/c').read()") == "keptkept"


def test_a_folder_of_the_users_has_the_users_session(
    gateway: Gateway,
) -> None:
    folder = gateway.folder / "h" / "work"
    folder.mkdir(mode=0o700)
    os.chown(folder, USER, USER)
    session = gateway.create("--workspace", str(folder))
    assert ids(payload(session)) == {USER}
    assert ids(session.show()["pid"]) == {INIT}
    assert session.exec("open('made', 'w').write('x')").returncode == 0
    about = (folder / "made").stat()
    assert (about.st_uid, about.st_gid) == (USER, USER)
    # As any other: it ends, and its files stay the user's.
    end(gateway, session)
    assert (folder / "made").stat().st_uid == USER


def test_expired_users_are_removed() -> None:
    running = begin(
        "gateway/session_users=own",
        "sessions/journal_keep=1s",
        "sessions/gone_keep=0",
    )
    try:
        running.start()
        session = running.create()
        made = (
            "import os; os.makedirs('a/b'); open('a/b/c', 'w').close();"
            "os.chmod('a/b', 0); os.chmod('.', 0)"
        )
        assert session.exec(made).returncode == 0
        folder = running.state / "sessions" / session.id
        session.delete()
        wait_for(lambda: not folder.exists(), "its folder's removal")
        aside = running.state / "discarded"
        wait_for(lambda: not aside.exists(), "the end of what lay aside")
    finally:
        running.end()


# Pipes, each as big as may be, until a new one gets less than its due.
TAKES = """
import fcntl, os
GROW, SIZE = 1031, 1032  # F_SETPIPE_SZ, F_GETPIPE_SZ
pipes = [os.pipe()]
while fcntl.fcntl(pipes[-1][0], SIZE) == 65536:
    try:
        fcntl.fcntl(pipes[-1][0], GROW, 1 << 20)
    except PermissionError:
        pass
    pipes.append(os.pipe())
"""


@pytest.mark.parametrize(
    ("choice", "is_shared"), [("own", False), ("gateway", True)]
)
def test_a_session_takes_no_pipe_from_another(
    choice: str, is_shared: bool
) -> None:
    """The kernel counts the buffers of pipes by user of the host."""
    running = begin(f"gateway/session_users={choice}")
    size = "__import__('fcntl').fcntl(__import__('os').pipe()[0], 1032)"
    try:
        running.start()
        one, other = running.create(), running.create()
        assert value(other, size) == 65536
        with one.client() as client:
            assert client.run(TAKES).status == "ok"
            assert client.value(size) < 65536
            assert (value(other, size) != 65536) is is_shared
    finally:
        running.end()


def test_the_next_gateway_controls_the_users(gateway: Gateway) -> None:
    """It joins the namespace that the living keep: what takes privilege over
    them works, and so do sessions of its own."""
    session, other = gateway.create(), gateway.create()
    number = user(session)
    assert value(session, "kept", "kept = 6 * 7") == 42
    namespace = os.readlink(f"/proc/{gateway.pid}/ns/user")
    gateway.kill()
    gateway.start()
    assert os.readlink(f"/proc/{gateway.pid}/ns/user") == namespace
    assert user(session) == number
    assert value(session, "kept") == 42
    assert "cannot be looked at" not in gateway.log.read_text()
    done = gateway.run("files", "put", session.id, "-", "a", stdin="abc")
    assert done.returncode == 0, done.stderr
    assert value(session, "open('a', 'a').write('d')") == 1
    with session.client() as client:
        busy, begun = client.begin_long()
        assert gateway.run("session", "interrupt", session.id).returncode == 0
        turn = client.finish(busy, begun=begun)
        assert turn.content["ename"] == "KeyboardInterrupt"
        assert client.value("kept") == 42
    # Another user, of the new gateway: a number that no live session has.
    third = gateway.create()
    assert user(third) not in {number, user(other), USER}
    # Stopped, pid 1 reads no order: only who may signal it ends it.
    init = other.show()["pid"]
    born = start_time(init)
    os.kill(init, signal.SIGSTOP)
    workspace = end(gateway, other)
    wait_for(lambda: start_time(init) != born, "the end of pid 1")
    assert workspace.stat().st_uid == USER
    # No session is left to keep it: the next one makes its own.
    for each in (session, third):
        end(gateway, each)
    gateway.kill()
    gateway.start()
    assert os.readlink(f"/proc/{gateway.pid}/ns/user") != namespace
    assert user(gateway.create()) != USER


def test_jupyters_programs_find_sessions() -> None:
    """The owners of their folder are looked at before the gateway is in its
    user namespace; the files are written in it."""
    running = begin("gateway/session_users=own", "jupyter/discovery=yes")
    found = running.folder / "h/.local/share/jupyter/runtime"
    try:
        running.start()
        session = running.create()
        running.kill()
        running.start()
        assert {path.name for path in found.iterdir()} == {
            f"kernel-{session.id}.json",
            f"jpserver-{running.pid}.json",
        }
        for path in found.iterdir():
            about = path.lstat()
            assert (about.st_uid, about.st_mode & 0o777) == (USER, 0o600)
    finally:
        running.end()


def test_a_new_range_applies_to_new_sessions_only() -> None:
    """Live sessions keep their range; new ones use the new range."""
    running = begin("gateway/session_users=own")
    try:
        running.start()
        session = running.create()
        number = user(session)
        running.kill()
        for name in ("subuid", "subgid"):
            (running.folder / "etc" / name).write_text("lent:800000:300\n")
        running.start()
        assert user(session) == number
        assert FIRST <= user(running.create()) < INIT
    finally:
        running.end()


def test_users_are_not_turned_off_under_sessions() -> None:
    running = begin("gateway/session_users=own")
    try:
        running.start()
        session = running.create()
        running.kill()
        said = running.refused("--set", "gateway/session_users=gateway")
        assert f"session {session.id} lives as user" in said
        running.start()
        assert value(session, "6 * 7") == 42
    finally:
        running.end()


NONE = f"somebody:{FIRST}:{COUNT}\nlent:{FIRST}:0\nlent\n"


@pytest.mark.parametrize(
    ("users", "groups"),
    [(NONE, None), (None, NONE), (None, "lent:900000:65536\n")],
    ids=["users", "groups", "disjoint"],
)
def test_refuses_without_a_range(
    users: Optional[str], groups: Optional[str]
) -> None:
    files = {"users": users, "groups": groups}
    said = refused(
        "gateway/session_users=own", **{k: v for k, v in files.items() if v}
    )
    assert "gateway/session_users = own" in said
    assert "--add-subuids" in said


def test_shares_the_user_without_a_range() -> None:
    running = begin(users=NONE)
    try:
        running.start()
        session = running.create()
        assert user(session) == USER
        assert value(session, "6 * 7") == 42
        assert "sessions share this user" in running.log.read_text()
    finally:
        running.end()


def test_needs_places_that_others_can_read() -> None:
    """Its sessions are others."""
    for choice in ("own", "auto"):
        running = begin(f"gateway/session_users={choice}")
        private = running.folder / "data"
        private.mkdir(mode=0o700)
        os.chown(private, USER, USER)
        running.options += ["--set", f"profile/python3/readonly={private}"]
        try:
            if choice == "auto":
                running.start()
                assert user(running.create()) == USER
                said = running.log.read_text()
            else:
                said = running.refused()
            assert f"could not read {private}" in said
        finally:
            running.end() if choice == "auto" else running.sweep()


def examined(
    running: Gateway, *words: str, path: str = os.environ["PATH"]
) -> tuple[dict[str, str], int]:
    """The doctor's row about sessions' users, asked as the gateway would be
    started, and its exit status."""
    config = running.folder / "doctor.cfg"
    lines = "".join(f"    {word}\n" for word in words)
    config.write_text(f"gateway\n{lines}")
    config.chmod(0o644)
    command = [*running.prefix, "env", f"PATH={path}", HEARTH, "doctor"]
    done = subprocess.run(
        [*command, "--json", "--config", str(config)],
        env=running.env,
        capture_output=True,
        text=True,
        timeout=DEADLINE,
    )
    checks = json.loads(done.stdout)["checks"]
    rows = {row["name"]: row for row in checks}
    others = {row["state"] for row in checks if row["name"] != "users"}
    assert "missing" not in others, checks
    return rows["users"], done.returncode


LENT = f"a user of {COUNT} that /etc/subuid lends, from {FIRST} on"
SHARED = "sessions share this user: one can take"


@pytest.mark.parametrize(
    ("choice", "users", "state", "found", "advice"),
    [
        ("auto", None, "ok", [LENT], ""),
        ("own", None, "ok", [LENT], ""),
        ("auto", NONE, "warning", [SHARED, "--add-subuids"], "as a service"),
        ("own", NONE, "missing", [SHARED, "--add-subuids"], "as a service"),
        (
            "gateway",
            None,
            "warning",
            [SHARED, "set by gateway/session_users"],
            "= auto",
        ),
    ],
    ids=["auto", "own", "auto, none", "own, none", "gateway"],
)
def test_the_doctor_names_the_users_of_sessions(
    choice: str,
    users: Optional[str],
    state: str,
    found: list[str],
    advice: str,
) -> None:
    running = begin(users=users)
    try:
        row, status = examined(running, f"session_users = {choice}")
        assert row["state"] == state, row
        for said in found:
            assert said in row["found"]
        assert advice in row.get("advice", "")
        assert (state == "ok") is ("advice" not in row)
        assert status == (5 if state == "missing" else 0)
    finally:
        running.sweep()


def test_the_doctor_misses_the_program_that_lends() -> None:
    running = begin()
    try:
        row, status = examined(running, path=str(running.folder))
        assert row["state"] == "warning"
        assert "there is no newuidmap" in row["found"]
        assert "Debian: uidmap" in row["advice"]
        assert status == 0
        row, status = examined(
            running, "session_users = own", path=str(running.folder)
        )
        assert (row["state"], status) == ("missing", 5)
    finally:
        running.sweep()


def test_the_doctor_names_a_place_that_sessions_could_not_read() -> None:
    running = begin()
    private = running.folder / "data"
    private.mkdir(mode=0o700)
    os.chown(private, USER, USER)
    shown = f"\nprofile\n    python3\n        readonly = {private}\n"
    try:
        row, status = examined(running, "session_users = auto" + shown)
        assert (row["state"], status) == ("warning", 0)
        assert f"could not read {private}" in row["found"]
    finally:
        running.sweep()


def test_the_doctor_warns_root_of_failing_starts() -> None:
    running = begin()
    running.prefix = []
    try:
        row, status = examined(running, "session_users = gateway")
        assert (row["state"], status) == ("missing", 5)
        assert "the gateway does not start with it" in row["advice"]
    finally:
        running.sweep()


@pytest.mark.parametrize(("count", "state"), [(1, "warning"), (900, "ok")])
def test_the_doctor_reports_it_to_root(count: int, state: str) -> None:
    """All sessions have the one number."""
    running = begin()
    running.prefix = []
    try:
        row, status = examined(
            running, "uid_first = 3000000", f"uid_count = {count}"
        )
        assert (row["state"], status) == (state, 0)
        assert f"a user of {count}, from 3000000 on" in row["found"]
        assert ("uid_count" in row.get("advice", "")) is (count == 1)
    finally:
        running.sweep()


def test_root_cannot_do_without() -> None:
    running = begin("gateway/session_users=gateway")
    running.prefix = []
    try:
        assert "gateway/session_users = gateway" in running.refused()
    finally:
        running.sweep()


def test_has_no_more_than_the_service(gateway: Gateway) -> None:
    """Over the range alone, and not over what is root's."""
    zygote = next(iter(children(gateway.pid)))
    for pid, sets in ((gateway.pid, "00000000000800eb"), (zygote, "0" * 16)):
        text = Path(f"/proc/{pid}/status").read_text()
        fields = dict(line.split(":\t", 1) for line in text.splitlines())
        assert fields["CapPrm"] == fields["CapEff"] == sets
        assert ids(pid) == {USER}
    lines = Path(f"/proc/{gateway.pid}/uid_map").read_text().splitlines()
    extents = sorted(tuple(map(int, line.split())) for line in lines)
    assert extents == [(USER, USER, 1), (FIRST, FIRST, COUNT)]


def test_a_mount_may_come_from_a_private_folder() -> None:
    """The user's zygote opens it; sessions need not find the way."""
    running = begin("gateway/session_users=own")
    home = running.folder / "h"
    home.chmod(0o700)
    (home / "data").mkdir(mode=0o755)
    (home / "data" / "a").write_text("abc")
    running.options += ["--set", f"profile/python3/readonly={home / 'data'}"]
    try:
        running.start()
        session = running.create()
        assert FIRST <= user(session) < INIT
        text = value(session, f"open({str(home / 'data' / 'a')!r}).read()")
        assert text == "abc"
    finally:
        running.end()
