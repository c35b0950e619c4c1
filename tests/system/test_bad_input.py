"""What is wrong is refused with a clear word, and nobody else notices."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import socket
import stat
import struct
import subprocess
import venv
from pathlib import Path
from typing import Any, Iterator, Optional

import pytest
import zmq
from harness import (
    DEADLINE,
    HEARTH,
    Client,
    Gateway,
    Message,
    Session,
    parent_of,
    wait_for,
)

DELIMITER = b"<IDS|MSG>"


class Raw:
    """A peer that can say anything on a session's shell."""

    def __init__(self, session: Session, channel: str = "shell") -> None:
        file = json.loads(Path(session.connection_file).read_text())
        self.key = file["key"].encode()
        self.port: int = file[f"{channel}_port"]
        self.context = zmq.Context()
        self.socket = self.context.socket(zmq.DEALER)
        self.socket.linger = 0
        self.socket.connect(f"tcp://127.0.0.1:{self.port}")
        self.counter = 0

    def __enter__(self) -> Raw:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()
        self.context.term()

    def header(self, msg_type: str = "kernel_info_request") -> dict[str, Any]:
        self.counter += 1
        return {
            "msg_id": f"raw-{id(self)}-{self.counter}",
            "session": "raw",
            "username": "raw",
            "date": "2026-01-01T00:00:00.000000Z",
            "msg_type": msg_type,
            "version": "5.4",
        }

    def frames(
        self,
        header: Any,
        content: Any = None,
        parent: Any = None,
        metadata: Any = None,
    ) -> list[bytes]:
        return [
            part if isinstance(part, bytes) else json.dumps(part).encode()
            for part in (header, parent or {}, metadata or {}, content or {})
        ]

    def sign(self, parts: list[bytes], key: Optional[bytes] = None) -> bytes:
        mac = hmac.new(
            self.key if key is None else key, digestmod=hashlib.sha256
        )
        for part in parts:
            mac.update(part)
        return mac.hexdigest().encode()

    def send(
        self,
        parts: list[bytes],
        signature: Optional[bytes] = None,
        buffers: Optional[list[bytes]] = None,
    ) -> list[bytes]:
        whole = [
            DELIMITER,
            self.sign(parts) if signature is None else signature,
            *parts,
            *(buffers or []),
        ]
        self.socket.send_multipart(whole)
        return whole

    def receive(self, seconds: float) -> Optional[dict[str, Any]]:
        if not self.socket.poll(int(seconds * 1000)):
            return None
        frames = self.socket.recv_multipart()
        at = frames.index(DELIMITER)
        assert frames[at + 1] == self.sign(frames[at + 2 : at + 6])
        return {
            "header": json.loads(frames[at + 2]),
            "parent": json.loads(frames[at + 3]),
            "content": json.loads(frames[at + 5]),
        }

    def is_answered(self) -> bool:
        """A good request on this very connection."""
        header = self.header()
        self.send(self.frames(header))
        while True:
            answer = self.receive(DEADLINE)
            assert answer, "no answer to a good request"
            if answer["parent"].get("msg_id") == header["msg_id"]:
                return answer["content"]["status"] == "ok"


@pytest.fixture
def raw(session: Session) -> Iterator[Raw]:
    with Raw(session) as peer:
        assert peer.is_answered()
        yield peer


def expect_dropped(raw: Raw) -> None:
    """The next answer is that of the next good request."""
    header = raw.header()
    raw.send(raw.frames(header))
    answer = raw.receive(DEADLINE)
    assert answer
    assert answer["parent"]["msg_id"] == header["msg_id"]


EXECUTE = {"code": "open('ran', 'w').write('x')"}


def test_unsigned(raw: Raw, session: Session) -> None:
    raw.send(raw.frames(raw.header("execute_request"), EXECUTE), b"")
    expect_dropped(raw)
    assert not (session.workspace / "ran").exists()


@pytest.mark.parametrize(
    "signature",
    [b"0" * 64, b"g" * 64, b"short", b"0" * 65, b"0" * 100000, b"\xff" * 64],
)
def test_wrong_signature(raw: Raw, session: Session, signature: bytes) -> None:
    raw.send(raw.frames(raw.header("execute_request"), EXECUTE), signature)
    expect_dropped(raw)
    assert not (session.workspace / "ran").exists()


def test_signature_of_another_key(raw: Raw, session: Session) -> None:
    parts = raw.frames(raw.header("execute_request"), EXECUTE)
    raw.send(parts, raw.sign(parts, b"another key"))
    expect_dropped(raw)
    assert not (session.workspace / "ran").exists()


def test_replayed(raw: Raw, client: Client) -> None:
    client.run("n = 0")
    header = raw.header("execute_request")
    whole = raw.send(raw.frames(header, {"code": "n += 1"}))
    answer = raw.receive(DEADLINE)
    assert answer
    assert answer["parent"]["msg_id"] == header["msg_id"]
    for _ in range(3):
        raw.socket.send_multipart(whole)
    expect_dropped(raw)
    assert client.run("n").result == "1"


@pytest.mark.parametrize("count", range(6))
def test_truncated(raw: Raw, count: int) -> None:
    parts = raw.frames(raw.header("execute_request"), EXECUTE)
    whole = [DELIMITER, raw.sign(parts), *parts]
    raw.socket.send_multipart(whole[:count] or [b""])
    expect_dropped(raw)


def test_no_delimiter(raw: Raw) -> None:
    raw.socket.send_multipart([b"x"] * 10)
    expect_dropped(raw)


def test_many_frames(raw: Raw) -> None:
    parts = raw.frames(raw.header())
    raw.send(parts, buffers=[b""] * 100_000)
    raw.socket.send_multipart([b"i"] * 100_000)
    wait_for(raw.is_answered, "an answer behind many frames")


def test_oversized(raw: Raw, client: Client, gateway: Gateway) -> None:
    """Larger than what the limits permit: that connection may be closed, the
    others do not notice."""
    parts = raw.frames(
        raw.header("execute_request"), {"code": "'" + "x" * (300 << 20) + "'"}
    )
    raw.send(parts)
    assert client.run("1").result == "1"
    with Raw(client_session(client, gateway)) as second:
        assert second.is_answered()


def client_session(client: Client, gateway: Gateway) -> Session:
    file = client.kc.connection_file
    for model in gateway.sessions():
        if model["connection_file"] == file:
            return Session(gateway, model)
    raise AssertionError("no such session")


def zmtp_greeting() -> bytes:
    return (
        b"\xff"
        + b"\0" * 8
        + b"\x7f"
        + b"\x03\x00"
        + b"NULL".ljust(20, b"\0")
        + b"\0"
        + b"\0" * 31
    )


def test_a_gigabyte_announced(raw: Raw, client: Client) -> None:
    """By the raw transport: a frame of so many bytes that never come."""
    with socket.create_connection(("127.0.0.1", raw.port)) as peer:
        peer.sendall(zmtp_greeting())
        ready = b"\x05READY\x0bSocket-Type\x00\x00\x00\x06DEALER"
        peer.sendall(b"\x04" + bytes([len(ready)]) + ready)
        peer.sendall(b"\x02" + struct.pack(">Q", 1 << 30) + b"only this")
        assert client.run("1").result == "1"
        assert raw.is_answered()


def test_garbage_by_the_transport(raw: Raw, client: Client) -> None:
    for junk in (b"GET / HTTP/1.1\r\n\r\n", os.urandom(4096), b"\xff" * 64):
        with socket.create_connection(("127.0.0.1", raw.port)) as peer:
            peer.sendall(junk)
    assert client.run("1").result == "1"
    assert raw.is_answered()


@pytest.mark.parametrize(
    "junk",
    [
        b"",
        b"no json",
        b"{",
        b"[]",
        b'"text"',
        b"null",
        b"{}",
        b'{"a": 1} x',
        b'{"msg_type": "\xff\xfe"}',
        b'{"code": "\\ud800"}',
        b'{"code": "\x00"}',
        b"\xef\xbb\xbf{}",
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b'{"a":1,"a":2}',
        b'{"n": 1e999999}',
        b"\x00\x00",
    ],
    ids=range(17),
)
@pytest.mark.parametrize("place", ["header", "parent", "metadata", "content"])
def test_wrong_json(raw: Raw, junk: bytes, place: str) -> None:
    frames = raw.frames(raw.header("execute_request"), {"code": "1"})
    frames[["header", "parent", "metadata", "content"].index(place)] = junk
    raw.send(frames)
    # Dropped or answered with an error, but answered is what follows.
    assert raw.is_answered()


WRONG = [None, True, 7, -1, 1.5, "text", "", [], [1], {}, {"a": 1}, 1 << 70]


@pytest.mark.parametrize(
    ("msg_type", "field"),
    [
        ("execute_request", "code"),
        ("execute_request", "silent"),
        ("execute_request", "store_history"),
        ("execute_request", "user_expressions"),
        ("execute_request", "allow_stdin"),
        ("execute_request", "stop_on_error"),
        ("complete_request", "code"),
        ("complete_request", "cursor_pos"),
        ("inspect_request", "code"),
        ("inspect_request", "cursor_pos"),
        ("inspect_request", "detail_level"),
        ("is_complete_request", "code"),
        ("history_request", "hist_access_type"),
        ("history_request", "output"),
        ("history_request", "raw"),
        ("history_request", "session"),
        ("history_request", "start"),
        ("history_request", "stop"),
        ("history_request", "n"),
        ("history_request", "pattern"),
        ("history_request", "unique"),
        ("comm_info_request", "target_name"),
        ("connect_request", "x"),
        ("kernel_info_request", "x"),
    ],
)
def test_wrong_types(client: Client, msg_type: str, field: str) -> None:
    good: dict[str, dict[str, Any]] = {
        "execute_request": {"code": "1"},
        "complete_request": {"code": "a", "cursor_pos": 1},
        "inspect_request": {"code": "a", "cursor_pos": 1},
        "is_complete_request": {"code": "1"},
        "history_request": {
            "hist_access_type": "tail",
            "n": 3,
            "raw": True,
            "output": False,
        },
    }
    for value in WRONG:
        content = {**good.get(msg_type, {}), field: value}
        turn = client.ask("shell", msg_type, content)
        assert turn.content["status"] in (
            "ok",
            "error",
            "complete",
            "incomplete",
            "invalid",
            "unknown",
        )
    missing = {
        key: value
        for key, value in good.get(msg_type, {}).items()
        if key != field
    }
    client.ask("shell", msg_type, missing)
    assert client.run("'alive'").result == "'alive'"


@pytest.mark.parametrize("field", ["comm_id", "target_name", "data"])
@pytest.mark.parametrize("msg_type", ["comm_open", "comm_msg", "comm_close"])
def test_wrong_comms(client: Client, msg_type: str, field: str) -> None:
    for value in WRONG:
        content = {"comm_id": "c", "target_name": "t", "data": {}}
        client.send("shell", msg_type, {**content, field: value})
    assert client.run("'alive'").result == "'alive'"


@pytest.mark.parametrize(
    "content", [{}, {"restart": 7}, {"restart": "yes"}, {"restart": None}]
)
def test_wrong_interrupt(client: Client, content: dict[str, Any]) -> None:
    assert client.ask("control", "interrupt_request", content).status == "ok"


@pytest.mark.parametrize(
    "field",
    ["msg_id", "session", "username", "date", "msg_type", "version"],
)
def test_wrong_header(raw: Raw, field: str) -> None:
    for value in WRONG:
        raw.send(raw.frames({**raw.header(), field: value}))
    header = raw.header()
    del header[field]
    raw.send(raw.frames(header))
    assert raw.is_answered()


@pytest.mark.parametrize(
    "limit", [None, True, -1, "1", 1e308, [], {"a": 1}, 1 << 70]
)
def test_wrong_time_limit(client: Client, limit: object) -> None:
    turn = client.ask(
        "shell",
        "execute_request",
        {"code": "1"},
        {"hearth": {"time_limit": limit}},
    )
    assert turn.status in ("ok", "error")


def test_unwanted_input_reply(client: Client) -> None:
    client.kc.input("nobody asked")
    assert client.run("1").result == "1"
    msg_id = client.kc.execute("input('? ')", allow_stdin=True)
    client.kc.get_stdin_msg(timeout=DEADLINE)
    client.send("stdin", "input_reply", {"value": ["no", "text"]})
    client.kc.input("right")
    turn = client.finish(msg_id)
    assert turn.status in ("ok", "error")
    assert client.run("1").result == "1"


def test_iopub_writes_are_ignored(session: Session, client: Client) -> None:
    file = json.loads(Path(session.connection_file).read_text())
    context = zmq.Context()
    peer = context.socket(zmq.XSUB)
    peer.linger = 0
    peer.connect(f"tcp://127.0.0.1:{file['iopub_port']}")
    for junk in (b"", b"\x02x", b"\x01" + b"t" * 100_000, os.urandom(64)):
        peer.send(junk)
    assert client.run("1").result == "1"
    peer.close()
    context.term()


def test_management_socket_needs_the_key(gateway: Gateway) -> None:
    context = zmq.Context()
    peer = context.socket(zmq.DEALER)
    peer.linger = 0
    peer.connect(f"ipc://{gateway.runtime}/management.sock")
    for junk in ([b""], [DELIMITER, b"", b"{}", b"{}", b"{}", b"{}"], [b"x"]):
        peer.send_multipart(junk)
    assert gateway.info()["pid"] == gateway.pid
    assert not peer.poll(200)
    peer.close()
    context.term()
    for path in gateway.runtime.rglob("*"):
        try:
            mode = path.stat().st_mode
        except FileNotFoundError:  # of a session that goes
            continue
        assert stat.S_ISDIR(mode) or mode & 0o077 == 0, path


# --- what the machine lacks -------------------------------------------------


def serve(
    gateway: Gateway, *arguments: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [HEARTH, "serve", *arguments],
        env=gateway.env,
        capture_output=True,
        text=True,
        timeout=DEADLINE,
    )


@pytest.fixture
def folders() -> Iterator[Gateway]:
    """Folders of a gateway that is not started, or by the test itself."""
    made = Gateway()
    try:
        yield made
    finally:
        if made.process is not None:
            made.end()
        made.sweep()


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("nonsense\n    key = 1\n", "nonsense"),
        ("sessions\n    idle_timout = 5m\n", "idle_timout"),
        ("sessions\n    idle_timeout = soon\n", "idle_timeout"),
        ("sessions\n    idle_timeout = -5\n", "idle_timeout"),
        ("sessions\n    restart = maybe\n", "restart"),
        ("sessions\n    sessions_max = 0\n", "sessions_max"),
        ("gateway\n    ip = not an address\n", "ip"),
        ("gateway\n    log_level = loud\n", "log_level"),
        ("gateway\n    transport = udp\n", "transport"),
        (
            "profile\n    python3\n        limits\n            colour = 3\n",
            "colour",
        ),
    ],
)
def test_bad_configuration(folders: Gateway, text: str, word: str) -> None:
    file = folders.folder / "hearth.cfg"
    file.write_text(text)
    done = serve(folders, "--config", str(file))

    assert done.returncode == 5, done.stderr
    assert word in done.stderr
    assert str(file) in done.stderr
    assert not (folders.runtime / "management.sock").exists()


def test_missing_configuration(folders: Gateway) -> None:
    done = serve(folders, "--config", "/no/such/hearth.cfg")

    assert done.returncode == 5
    assert "/no/such/hearth.cfg" in done.stderr


def test_runtime_folder_too_long(folders: Gateway) -> None:
    folders.env["HEARTH_RUNTIME_DIR"] = str(folders.folder / ("x" * 100))
    done = serve(folders)

    assert done.returncode == 5
    assert "107" in done.stderr
    assert "shorter" in done.stderr


def test_runtime_folder_of_others(folders: Gateway) -> None:
    folders.runtime.mkdir()
    folders.runtime.chmod(0o777)
    done = serve(folders)

    assert done.returncode == 5
    assert "chmod 700" in done.stderr


def test_python_without_ipython(folders: Gateway) -> None:
    bare = folders.folder / "bare"
    venv.create(bare, with_pip=False, symlinks=True)
    python = bare / "bin" / "python3"
    folders.start("--set", f"profile/python3/python={python}")
    done = folders.run("session", "create")

    assert done.returncode == 1
    assert "IPython" in done.stderr
    assert str(python) in done.stderr


def test_no_python_at_all(folders: Gateway) -> None:
    folders.start("--set", "profile/python3/python=/no/such/python3")
    done = folders.run("session", "create")

    assert done.returncode == 1
    assert "/no/such/python3" in done.stderr


def test_missing_preload_is_left_out(folders: Gateway) -> None:
    folders.start("--set", "profile/python3/preload=no_such_module")
    session = folders.create()
    assert session.exec("1 + 1").stdout == "2\n"


@pytest.fixture
def small_disk(folders: Gateway) -> Iterator[Gateway]:
    if os.geteuid() != 0:
        pytest.skip("a file system of its own needs root")
    folders.state.mkdir(mode=0o700)
    mounted = subprocess.run(
        [
            "mount",
            "-t",
            "tmpfs",
            "-o",
            "size=4m,mode=700",
            "tmpfs",
            str(folders.state),
        ],
        capture_output=True,
        text=True,
    )
    if mounted.returncode != 0:
        pytest.skip(f"no tmpfs here: {mounted.stderr}")
    # Nothing but the test's own session takes of the room, or gives it back.
    for setting in (
        "profile/python3/preload=",
        "profile/python3/pool/max=0",
        "gateway/audit_files=0",
    ):
        folders.options += ["--set", setting]
    try:
        yield folders
    finally:
        if folders.process is not None:
            folders.end()
            folders.process = None
        subprocess.run(["umount", "-l", str(folders.state)])


def test_journal_on_a_full_disk(small_disk: Gateway) -> None:
    small_disk.start()
    session = small_disk.create()
    ballast = small_disk.state / "ballast"
    with session.client() as client:
        client.run("kept = 1")
        fill(ballast)
        # Larger than what is left of the journal's last page.
        code = "print('not to be had') #" + "x" * 8192
        turn = client.run(code, timeout=DEADLINE)
        assert turn.status == "error"
        assert turn.content["ename"] == "JournalError"
        # Told, not lost: with space again the session goes on.
        ballast.unlink()
        assert client.run("kept").result == "1"


def test_disk_fills_while_a_cell_runs(small_disk: Gateway) -> None:
    small_disk.start()
    session = small_disk.create()
    ballast = small_disk.state / "ballast"
    with session.client() as client:
        msg_id = client.kc.execute(
            "import os, time\nprint('go', flush=True)\n"
            "while not os.path.exists('now'): time.sleep(0.01)\n"
            "print('after')\nkept = 2"
        )
        begun = client.stream_until(msg_id, "go")
        fill(ballast)
        make_without_space(session.workspace / "now")
        turn = client.finish(msg_id, begun=begun)
        ballast.unlink()
        assert turn.status in ("ok", "error")
        if turn.status == "error":
            assert turn.content["ename"] == "JournalError"

        def again() -> bool:
            return client.run("kept").result == "2"

        wait_for(again, "the session goes on")


def wait_cell(name: str, then: str) -> str:
    return (
        "import os, time\nprint('go', flush=True)\n"
        f"while not os.path.exists({name!r}): time.sleep(0.01)\n{then}"
    )


def is_idle_again(client: Client) -> bool:
    """Also behind a journal that was stuck."""
    return client.run("1").status == "ok"


def test_aborted_without_a_journal_is_not_run_later(
    small_disk: Gateway,
) -> None:
    """The failed cell's reply still fits on the disk, the aborts do not."""
    small_disk.start()
    session = small_disk.create()
    ballast = small_disk.state / "ballast"
    with session.client() as client:
        first = client.kc.execute(wait_cell("now", "1 / 0"))
        begun = client.stream_until(first, "go")
        waiting = [
            client.kc.session.msg(
                "execute_request", {"code": f"os.mkdir('ran{i}')"}
            )
            for i in range(200)
        ]
        for message in waiting:
            client.kc.shell_channel.send(message)
        session.wait_journaled([m["header"]["msg_id"] for m in waiting])
        fill(ballast)
        os.truncate(ballast, ballast.stat().st_size - 32 * 1024)
        make_without_space(session.workspace / "now")
        turn = client.finish(first, begun=begun)
        assert turn.content["ename"] == "ZeroDivisionError"
        replies = {
            message["header"]["msg_id"]: client.finish(
                message["header"]["msg_id"]
            )
            for message in waiting
        }
        assert {turn.status for turn in replies.values()} == {"aborted"}
        log = small_disk.log.read_text()
        assert "reply not journaled" in log
        small_disk.kill()
        ballast.unlink()
        small_disk.start()
        wait_for(lambda: is_idle_again(client), "the session goes on")
        assert not list(session.workspace.glob("ran*"))
        # Who repeats it is told, and does not wait for ever.
        last = waiting[-1]
        last["metadata"] = {"again": True}
        client.kc.shell_channel.send(last)
        turn = client.finish(last["header"]["msg_id"])
        assert turn.content["ename"] == "JournalError"
        assert not list(session.workspace.glob("ran*"))


def test_failed_without_a_journal_is_not_run_later(small_disk: Gateway) -> None:
    """The kernel dies on a full disk, and a fresh one takes its place."""
    small_disk.start()
    session = small_disk.create("--restart", "auto")
    ballast = small_disk.state / "ballast"
    with session.client() as client:
        first = client.kc.execute(wait_cell("now", "os._exit(7)"))
        client.stream_until(first, "go")
        waiting = [
            client.kc.execute(f"import os; os.mkdir('ran{i}')")
            for i in range(60)
        ]
        session.wait_journaled(waiting)
        fill(ballast)
        make_without_space(session.workspace / "now")
        for msg_id in [first, *waiting]:
            content = client.reply(msg_id)["content"]
            assert content["ename"] == "KernelDied"
        ballast.unlink()
        session.wait_state("idle")
        small_disk.kill()
        small_disk.start()
        wait_for(lambda: is_idle_again(client), "the session goes on")
        assert not list(session.workspace.glob("ran*"))


def make_without_space(path: Path) -> None:
    """An empty file needs an inode and no block."""
    path.touch()


def fill(path: Path) -> None:
    with path.open("wb", buffering=0) as file:
        for size in (65536, 4096, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                pass


def test_unwritable_state(folders: Gateway) -> None:
    """Root may write everywhere; a file in the folder's place stops it too."""
    folders.state.write_text("a file")
    done = serve(folders)

    assert done.returncode == 5
    assert str(folders.state) in done.stderr


def test_broken_session_state(folders: Gateway) -> None:
    """One session's files are junk: the others live, the junk is named."""
    folders.start("--set", "profile/python3/preload=")
    good, bad = folders.create(), folders.create()
    good.exec("x = 1")
    folders.terminate()
    state = folders.state / "sessions" / bad.id
    (state / "session.json").write_text("{junk")
    folders.start("--set", "profile/python3/preload=")
    assert good.exec("x").stdout == "1\n"
    assert bad.id in folders.log.read_text()


def test_others_are_served_meanwhile(gateway: Gateway, client: Client) -> None:
    """One session is flooded; another one's turns go on."""
    flooded = gateway.create()
    with Raw(flooded) as peer:
        for _ in range(2000):
            peer.send(peer.frames(peer.header("junk_request")), b"0" * 64)
        for number in range(20):
            assert client.run(str(number)).result == str(number)
        assert peer.is_answered()
    flooded.delete()


def test_slow_reader_loses_nothing(session: Session, client: Client) -> None:
    """A viewer that reads nothing for a while does not hold up the others,
    and gets the end of the turn."""
    with session.client() as slow:
        msg_id = client.kc.execute("for i in range(30000): print('x' * 100)")
        turn = client.finish(msg_id)
        assert turn.stream().count("\n") == 30000
        seen: list[Message] = []
        while not (
            seen
            and seen[-1]["msg_type"] == "status"
            and seen[-1]["content"]["execution_state"] == "idle"
        ):
            seen.append(slow.iopub(DEADLINE, lambda m: parent_of(m) == msg_id))
        assert (
            sum(
                m["content"]["text"].count("\n")
                for m in seen
                if m["msg_type"] == "stream"
            )
            == 30000
        )
