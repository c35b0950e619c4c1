"""Files of a workspace, by the gateway, whatever the session made of it."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from deadline import wait_for
from harness import HEARTH, Gateway, Session
from workspaces import files, ls


@pytest.fixture(scope="module")
def session(gateway: Gateway) -> Iterator[Session]:
    made = gateway.create()
    yield made
    made.delete()


def refused(session: Session, path: str, target: Path) -> str:
    """Why a file cannot be had; nothing of it is left here."""
    done = files(session, "get", path, str(target), code=1)
    assert not list(target.parent.glob(target.name + "*"))
    return done.stderr


def test_a_file_goes_in_and_comes_out(session: Session, tmp_path: Path) -> None:
    here = tmp_path / "table.csv"
    here.write_bytes(os.urandom(3_500_000))
    files(session, "put", str(here))
    assert session.exec(
        "import hashlib\n"
        "print(hashlib.sha256(open('table.csv','rb').read()).hexdigest())"
    ).stdout.split() == [hashlib.sha256(here.read_bytes()).hexdigest()]
    session.exec("open('table.csv', 'ab').write(b'more'); None")
    files(session, "get", "table.csv", str(tmp_path / "back"))
    assert (tmp_path / "back").read_bytes() == here.read_bytes() + b"more"
    entry = ls(session)["table.csv"]
    assert (entry["type"], entry["size"]) == ("file", 3_500_004)


def test_a_file_belongs_to_the_session(session: Session) -> None:
    done = session.gateway.run(
        "files", "put", session.id, "-", "mine.txt", stdin="abc"
    )
    assert done.returncode == 0, done.stderr
    ran = session.exec(
        "import os\n"
        "print(os.stat('mine.txt').st_uid == os.getuid())\n"
        "os.remove('mine.txt')"
    )
    assert (ran.returncode, ran.stdout) == (0, "True\n")


def test_a_put_replaces_only_when_it_may(session: Session) -> None:
    def put(text: str, *options: str) -> subprocess.CompletedProcess[str]:
        return session.gateway.run(
            "files", "put", *options, session.id, "-", "one", stdin=text
        )

    assert put("first").returncode == 0
    again = put("second", "--no-replace")
    assert again.returncode == 1
    assert "exists" in again.stderr
    assert files(session, "get", "one", "-").stdout == "first"
    assert put("second").returncode == 0
    assert files(session, "get", "one", "-").stdout == "second"


def test_no_path_leads_out_of_the_workspace(
    session: Session, tmp_path: Path
) -> None:
    session.exec(
        "import os, socket\n"
        "os.makedirs('trap/inner')\n"
        "os.symlink('/etc/passwd', 'trap/absolute')\n"
        "os.symlink('../../../../../../etc/passwd', 'trap/relative')\n"
        "os.symlink('/proc/self/root', 'trap/root')\n"
        "os.symlink('/proc/1/cwd', 'trap/cwd')\n"
        "os.symlink('..', 'trap/up')\n"
        "os.symlink('loop', 'trap/loop')\n"
        "os.mkfifo('trap/fifo')\n"
        "open('trap/plain', 'w').write('x')\n"
        "os.link('trap/plain', 'trap/second')\n"
        "os.mkdir('trap/locked'); os.chmod('trap/locked', 0)\n"
        "s = socket.socket(socket.AF_UNIX); s.bind('trap/socket')\n"
    )
    target = tmp_path / "out"
    for name in ("absolute", "relative", "root/etc/passwd", "cwd", "loop"):
        assert "symbolic link" in refused(session, f"trap/{name}", target)
    assert "symbolic link" in refused(session, "trap/up/trap/plain", target)
    for name in ("fifo", "socket"):
        assert "not a regular file" in refused(session, f"trap/{name}", target)
    assert "links" in refused(session, "trap/second", target)
    assert "directory" in refused(session, "trap/inner", target)
    for path in ("../session.json", "trap/../../x", "/etc/passwd"):
        assert "hearth: a path" in refused(session, path, target)
    # What is put there goes to no other place either.
    for path in ("trap/up/x", "trap/root/tmp/x", "../x", "trap/fifo/x"):
        done = session.gateway.run(
            "files", "put", session.id, "-", path, stdin="x"
        )
        assert done.returncode == 1, path
    assert not (session.workspace.parent / "x").exists()
    types = {
        path.removeprefix("trap/"): entry["type"]
        for path, entry in ls(session, "-r", "trap").items()
    }
    assert types == {
        **dict.fromkeys(
            ("absolute", "relative", "root", "cwd", "up", "loop"), "link"
        ),
        **dict.fromkeys(("inner", "locked"), "folder"),
        **dict.fromkeys(("plain", "second"), "file"),
        "fifo": "fifo",
        "socket": "socket",
    }


@pytest.mark.skipif(os.geteuid() != 0, reason="devices are made by root")
def test_a_device_is_not_opened(session: Session, tmp_path: Path) -> None:
    device = session.workspace / "device"
    try:
        os.mknod(device, 0o600 | 0o020000, os.makedev(1, 9))
    except PermissionError:
        pytest.skip("no devices can be made here")
    assert "not a regular file" in refused(session, "device", tmp_path / "out")
    device.unlink()


NAMES = [
    b"line\nbreak",
    b"\x1b]0;owned\x07\x1b[2J",
    b"\xff\xfe\x80",
    "\u202egpj.exe".encode(),
    "caf\u00e9".encode(),
    b"back\\slash",
    b"-rf",
    b" ",
]


def test_names_survive_and_reach_no_terminal(
    session: Session, tmp_path: Path
) -> None:
    session.exec(
        f"import os\nos.mkdir('names')\nfor name in {NAMES!r}:\n"
        "    open(b'names/' + name, 'wb').write(name)\n"
    )
    shown = files(session, "ls", "names").stdout
    assert len(shown.splitlines()) == len(NAMES)
    assert all(
        character.isprintable() for character in shown if character != "\n"
    )
    listing = ls(session, "names")
    assert len(listing) == len(NAMES)
    for number, path in enumerate(listing):
        target = tmp_path / f"{number}"
        files(session, "get", path, str(target))
    assert {
        (tmp_path / f"{number}").read_bytes() for number in range(len(NAMES))
    } == set(NAMES)
    # And the same name on this side, byte for byte.
    folder = tmp_path / "here"
    folder.mkdir()
    for path in listing:
        files(session, "get", path, str(folder))
    assert set(os.listdir(os.fsencode(folder))) == set(NAMES)
    for name in NAMES:
        done = subprocess.run(
            [
                HEARTH,
                "files",
                "put",
                session.id,
                os.fsencode(folder) + b"/" + name,
                "again/",
            ],
            env=session.gateway.env,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 1
        assert "No such file" in done.stderr
    session.exec("os.mkdir('again')")
    for name in NAMES:
        subprocess.run(
            [
                HEARTH,
                "files",
                "put",
                session.id,
                os.fsencode(folder) + b"/" + name,
                "again/",
            ],
            env=session.gateway.env,
            check=True,
        )
    assert set(os.listdir(os.fsencode(session.workspace / "again"))) == set(
        NAMES
    )


def test_a_terminal_gets_no_escape_sequence(session: Session) -> None:
    session.exec("open('esc\\x1b[31m', 'w').close()")
    master, slave = os.openpty()
    done = subprocess.run(
        [HEARTH, "files", "ls", session.id],
        env=session.gateway.env,
        stdout=slave,
        check=True,
    )
    os.close(slave)
    shown = os.read(master, 65536)
    os.close(master)
    assert done.returncode == 0
    assert b"esc\\x1b[31m" in shown
    assert b"\x1b" not in shown


def test_a_file_that_changes_is_no_mixture(
    session: Session, tmp_path: Path
) -> None:
    victim = session.workspace / "victim"
    victim.write_bytes(b"a" * 40_000_000)
    stop = threading.Event()

    def change() -> None:
        turn = 0
        while not stop.is_set():
            turn += 1
            with victim.open("r+b") as file:
                file.seek(turn * 4096 % 40_000_000)
                file.write(b"b")

    def got() -> subprocess.CompletedProcess[str]:
        return session.gateway.run(
            "files", "get", session.id, "victim", str(tmp_path / "out")
        )

    worker = threading.Thread(target=change)
    worker.start()
    try:
        # On a machine with much to do nothing may change while it is read.
        done = wait_for(
            lambda: (found := got()).returncode == 1 and found, "a refusal"
        )
    finally:
        stop.set()
        worker.join()
    assert "changed while it was read" in done.stderr


def test_a_file_that_grows_or_shrinks(session: Session, tmp_path: Path) -> None:
    """The reader is held up by a pipe, so that the change is in between."""
    for change, option, code, words in (
        (lambda file: file.write(b"x" * 10), [], 1, "grew from"),
        (lambda file: file.write(b"x" * 10), ["--growing"], 0, "earlier size"),
        (lambda file: file.truncate(1000), ["--growing"], 1, "shrank from"),
    ):
        log = session.workspace / "log"
        log.write_bytes(b"l" * 30_000_000)
        getter = subprocess.Popen(
            [HEARTH, "files", "get", *option, session.id, "log", "-"],
            env=session.gateway.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert getter.stdout
        assert getter.stderr
        assert getter.stdout.read(1) == b"l"
        with log.open("ab") as file:
            change(file)
        rest = getter.stdout.read()
        error = getter.stderr.read().decode()
        assert getter.wait() == code, error
        assert words in error
        if code == 0:
            assert len(rest) + 1 == 30_000_000
        getter.stdout.close()
        getter.stderr.close()


def memory_kib(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1])
    raise AssertionError("no VmHWM")


def test_a_large_file_needs_no_large_gateway(
    gateway: Gateway, session: Session, tmp_path: Path
) -> None:
    size = 1 << 30
    here = tmp_path / "sparse"
    with here.open("wb") as file:
        file.truncate(size)
        for place in (0, size // 2 - 3, size - 2_000_000):
            file.seek(place)
            file.write(os.urandom(2_000_000))
    Path(f"/proc/{gateway.pid}/clear_refs").write_text("5")
    before = memory_kib(gateway.pid)
    files(session, "put", str(here), "large")
    files(session, "get", "large", str(tmp_path / "back"))
    # Sessions have megabytes of their own; the file would be a gigabyte.
    assert memory_kib(gateway.pid) - before < 48 << 10
    assert (
        subprocess.run(
            ["cmp", str(here), str(tmp_path / "back")], check=False
        ).returncode
        == 0
    )
    for copy in (session.workspace / "large", tmp_path / "back"):
        assert copy.stat().st_size == size
        assert copy.stat().st_blocks * 512 < 32 << 20
    (session.workspace / "large").unlink()


def test_a_sparse_petabyte(session: Session, tmp_path: Path) -> None:
    big = session.workspace / "petabyte"
    with big.open("wb") as file:
        try:
            file.truncate(1 << 50)
        except OSError:
            file.truncate(1 << 42)
    assert ls(session)["petabyte"]["size"] == big.stat().st_size
    assert ls(session)["petabyte"]["stored"] < 1 << 20
    target = tmp_path / "petabyte"
    files(session, "get", "petabyte", str(target))
    assert target.stat().st_size == big.stat().st_size
    big.unlink()


@pytest.mark.deep
def test_a_hundred_thousand_files_are_listed(session: Session) -> None:
    many = session.workspace / "many"
    many.mkdir()
    fd = os.open(many, os.O_RDONLY)
    for number in range(100_000):
        os.mknod(f"{number:06}", dir_fd=fd)
    os.close(fd)
    client = session.client()
    try:
        listing = subprocess.Popen(
            [HEARTH, "files", "ls", "--json", session.id, "many"],
            env=session.gateway.env,
            stdout=subprocess.PIPE,
        )
        # Requests for other files are served meanwhile.
        assert client.value("1 + 1") == 2
        assert listing.stdout
        paths = [entry["path"] for entry in json.load(listing.stdout)]
        listing.stdout.close()
        assert listing.wait() == 0
    finally:
        client.close()
    assert paths == [f"many/{number:06}" for number in range(100_000)]


def test_a_tree_that_is_too_deep_is_cut(session: Session) -> None:
    session.exec(
        "import os\nos.mkdir('deep'); os.chdir('deep')\n"
        "for i in range(1000):\n    os.mkdir('d'); os.chdir('d')\n"
        "os.chdir('/workspace')\n"
    )
    done = session.gateway.run("files", "ls", "-r", session.id, "deep")
    assert done.returncode == 1
    assert "its limit of depth" in done.stderr
    assert len(done.stdout.splitlines()) == 64
    listing = ls(session, "/".join(["deep"] + ["d"] * 999))
    assert len(listing) == 1
    # The clean-up of the tests does not go so deep.
    subprocess.run(["rm", "-rf", str(session.workspace / "deep")], check=True)


def test_a_swapped_folder_leads_nowhere(
    session: Session, tmp_path: Path
) -> None:
    """While a link and a folder take turns, either the file or a refusal."""
    (session.workspace.parent / "prey").write_text("prey")
    session.exec(
        "import os, threading, ctypes\n"
        "os.mkdir('turn'); open('turn/prey', 'w').write('decoy')\n"
        "os.symlink('..', 'link')\n"
        "libc = ctypes.CDLL(None)\n"
        "going = True\n"
        "def swap():\n"
        "    while going:\n"
        "        libc.renameat2(-100, b'turn', -100, b'link', 2)\n"
        "threading.Thread(target=swap, daemon=True).start()\n"
    )
    seen = set()
    for _ in range(40):
        done = session.gateway.run("files", "get", session.id, "turn/prey", "-")
        seen.add(done.stdout)
    session.exec("going = False")
    assert seen <= {"decoy", ""}


def test_files_are_removed(session: Session) -> None:
    """Each that can be; a folder only when that is said."""
    session.exec(
        "import os\n"
        "os.makedirs('rm/full/deep')\n"
        "for name in ('one', 'two', 'full/deep/three'):\n"
        "    open('rm/' + name, 'w').close()\n"
        "os.makedirs('rm/empty'); open(b'rm/\\xff', 'w').close()"
    )
    done = files(session, "rm", "rm/one", "rm/none", "rm/two", code=1)
    assert "rm/none: No such file" in done.stderr
    assert "not empty" in files(session, "rm", "rm/full", code=1).stderr
    files(session, "rm", "rm/empty", "rm/\\xff")
    assert set(ls(session, "rm")) == {"rm/full"}
    files(session, "rm", "-r", "rm")
    assert "rm" not in ls(session)
    lines = session.gateway.run(
        "audit", "show", "--json", "--session", session.id
    ).stdout.splitlines()
    log = [json.loads(line) for line in lines]
    removed = [row["path"] for row in log if row.get("what") == "delete"]
    assert removed[-2:] == ["rm/\\xff", "rm"]


def test_nothing_is_removed_outside_of_the_workspace(
    session: Session, tmp_path: Path
) -> None:
    (tmp_path / "kept").write_text("x")
    session.exec(
        "import os\n"
        "os.makedirs('lead')\n"
        f"os.symlink({str(tmp_path)!r}, 'lead/out')\n"
        "os.symlink('..', 'lead/up'); open('plain', 'w').close()"
    )
    for path, why in (
        ("lead/out/kept", "symbolic link"),
        ("lead/up/plain", "symbolic link"),
        ("../session.json", "a path"),
        ("lead/../../x", "a path"),
        (str(tmp_path / "kept"), "a path"),
        ("..", "a path"),
        (".", "the workspace itself"),
        ("", "the workspace itself"),
    ):
        assert why in files(session, "rm", "-r", path, code=1).stderr, path
    assert (session.workspace.parent / "session.json").exists()
    assert "plain" in ls(session)
    # The links go, what they lead to stays.
    files(session, "rm", "-r", "lead/out", "lead")
    assert (tmp_path / "kept").read_text() == "x"
    assert "lead" not in ls(session)
    unknown = session.gateway.run("files", "rm", "no-such", "x")
    assert (unknown.returncode, "no session" in unknown.stderr) == (3, True)


def test_files_of_a_session_that_is_gone(
    gateway: Gateway, tmp_path: Path
) -> None:
    made = gateway.create()
    made.exec("open('result', 'w').write('42'); None")
    made.delete()
    made.wait_state("gone")
    assert list(ls(made)) == ["result"]
    assert files(made, "get", "result", "-").stdout == "42"
    files(made, "rm", "result")
    assert not ls(made)


def test_unknown_sessions_and_files(session: Session) -> None:
    unknown = session.gateway.run("files", "ls", "no-such")
    assert (unknown.returncode, "no session" in unknown.stderr) == (3, True)
    assert "No such file" in files(session, "ls", "nothing", code=1).stderr
    assert session.gateway.run("files", "put", session.id, "-").returncode == 2


def test_a_copy_that_is_broken_off_leaves_nothing(session: Session) -> None:
    putter = subprocess.Popen(
        [HEARTH, "files", "put", session.id, "-", "half"],
        env=session.gateway.env,
        stdin=subprocess.PIPE,
    )
    assert putter.stdin
    putter.stdin.write(b"x" * 3_000_000)
    putter.stdin.flush()
    putter.send_signal(signal.SIGTERM)
    putter.wait()
    putter.stdin.close()
    assert "half" not in ls(session)
    assert not list(session.workspace.glob(".hearth*"))
