"""An operator's actions on a running gateway: start, status, restart, a
reloaded configuration, a rotated log, a notified service manager."""

from __future__ import annotations

import fcntl
import json
import os
import re
import signal
import socket
import subprocess
from pathlib import Path
from typing import Callable, Iterator

import pytest
from deadline import DEADLINE, wait_for
from harness import HEARTH, ROOT, Gateway
from processes import children


@pytest.fixture
def started(folders: Gateway) -> Iterator[Gateway]:
    """Return a gateway that a command has started in the background."""
    file = folders.folder / "h/.config/hearth/hearth.cfg"
    file.parent.mkdir(parents=True, exist_ok=True)
    done = folders.run("gateway", "start")
    assert done.returncode == 0, done.stderr
    yield folders
    folders.run("gateway", "stop", "--end-sessions")


def configure(gateway: Gateway, text: str) -> Path:
    file = gateway.folder / "hearth.cfg"
    file.write_text(text)
    return file


def pid_of(gateway: Gateway) -> int:
    return int(gateway.json("gateway", "status", "--json")["pid"])


def idle_timeout(gateway: Gateway) -> float:
    session = gateway.create()
    seconds = session.show()["idle_timeout"]
    session.delete()
    return float(seconds)


def test_start_and_status(started: Gateway) -> None:
    pid = pid_of(started)
    again = started.run("gateway", "start")
    assert again.stdout == f"running, pid {pid}\n"
    line = started.run("gateway", "status").stdout.splitlines()[0]
    assert re.fullmatch(rf"running, pid {pid}, 0 sessions, http://\S+", line)
    started.run("gateway", "stop")
    gone = started.run("gateway", "status", "--json")
    assert gone.returncode == 4
    assert gone.stdout == '{\n  "running": false\n}\n'
    assert "hearth gateway start" in gone.stderr


def test_restart_has_the_same_command_line(folders: Gateway) -> None:
    folders.start("--set", "sessions/idle_timeout=77s")
    session = folders.create()
    session.exec("x = 41")
    assert folders.process is not None
    before = folders.process.pid
    done = folders.run("gateway", "restart")
    assert done.returncode == 0, done.stderr
    folders.process.wait(DEADLINE)
    after = pid_of(folders)
    assert after != before
    assert done.stdout == f"running, pid {after}\n"
    assert session.exec("x + 1").stdout == "42\n"
    assert idle_timeout(folders) == 77
    folders.run("gateway", "stop", "--end-sessions")


@pytest.fixture(params=["command", "signal"])
def reload(
    request: pytest.FixtureRequest,
) -> Callable[[Gateway], None]:
    """Either way to have the configuration read again."""

    def by_command(gateway: Gateway) -> None:
        gateway.run("gateway", "reload")

    def by_signal(gateway: Gateway) -> None:
        before = gateway.log.read_text().count("reload: done")
        assert gateway.process is not None
        gateway.process.send_signal(signal.SIGHUP)
        wait_for(
            lambda: gateway.log.read_text().count("reload: done") > before,
            "a configuration that was read",
        )

    return by_command if request.param == "command" else by_signal


def test_a_new_value_holds_for_new_sessions(
    folders: Gateway, reload: Callable[[Gateway], None]
) -> None:
    file = configure(folders, "sessions\n    idle_timeout = 30m\n")
    folders.start("--config", str(file), "--set", "sessions/lifetime=5h")
    old = folders.create()
    assert idle_timeout(folders) == 1800
    configure(
        folders,
        "sessions\n    idle_timeout = 40m\n    lifetime = 6h\n"
        "http\n    header_max = 16K\n",
    )
    reload(folders)
    assert idle_timeout(folders) == 2400
    assert old.show()["idle_timeout"] == 1800
    assert old.exec("1 + 1").stdout == "2\n"
    log = folders.log.read_text()
    for words in (
        "reload: sessions/idle_timeout = 40m (it was 30m)",
        "reload: http/header_max has another value now, which needs a restart",
        "reload: sessions/lifetime keeps its value from the command line",
    ):
        assert words in log


def test_reload_reports_its_changes(folders: Gateway) -> None:
    file = configure(folders, "")
    folders.start("--config", str(file))
    assert folders.run("gateway", "reload").stdout == "nothing has changed\n"
    configure(
        folders,
        "sessions\n    gone_keep = 2h\nhttp\n    port = 1\n"
        "profile\n    new\n        fresh = yes\n",
    )
    done = folders.run("gateway", "reload")
    assert done.stdout == (
        "sessions/gone_keep = 2h (it was 1h)\n"
        "http/port takes a restart\nprofile/new takes a restart\n"
    )
    configure(folders, "sessions\n    gone_keep = 3h\n")
    assert folders.json("gateway", "reload", "--json") == {
        "changed": [{"key": "sessions/gone_keep", "from": "2h", "to": "3h"}],
        "renewed": [],
        "restart": [],
        "command_line": [],
    }


def test_new_sessions_get_new_limits(folders: Gateway) -> None:
    """Also those of the pool, which were forked under the old limits."""
    files = "import resource; resource.getrlimit(resource.RLIMIT_NOFILE)[0]"
    limits = "profile\n    python3\n        limits\n            open_files = "
    file = configure(folders, f"{limits}500\n")
    folders.start("--config", str(file))
    old = folders.create()
    assert old.exec(files).stdout == "500\n"
    configure(folders, f"{limits}300\n            memory = 256M\n")
    done = folders.run("gateway", "reload")
    assert "profile/python3/limits/open_files = 300 (it was 500)" in done.stdout
    assert folders.create().exec(files).stdout == "300\n"
    assert old.exec(files).stdout == "500\n"
    wide = folders.run("session", "create", "--limit", "memory=512M")
    assert wide.returncode != 0
    assert "256M" in wide.stderr


def test_a_bad_file_changes_nothing(
    folders: Gateway, reload: Callable[[Gateway], None]
) -> None:
    file = configure(folders, "sessions\n    idle_timeout = 30m\n")
    folders.start("--config", str(file))
    configure(folders, "sessions\n    idle_timeout = 40m\n    restart = so\n")
    reload(folders)
    assert idle_timeout(folders) == 1800
    log = folders.log.read_text()
    assert f'{file}:3: sessions/restart = "so": must be one of' in log
    assert "the old configuration stays in force" in log
    reported = folders.run("gateway", "reload")
    assert reported.returncode == 5
    assert f"{file}:3: sessions/restart" in reported.stderr
    file.unlink()
    assert folders.run("gateway", "reload").returncode == 5
    assert idle_timeout(folders) == 1800


def test_a_bad_file_does_not_hide_a_running_gateway(
    folders: Gateway,
) -> None:
    folders.start()
    folders.env["HEARTH_CONFIG"] = str(configure(folders, "nonsense\n"))
    assert folders.run("session", "list").returncode == 0
    folders.terminate()
    refused = folders.run("session", "list")
    assert refused.returncode == 5
    assert "there is no section nonsense" in refused.stderr


def test_the_log_is_reopened(started: Gateway) -> None:
    log, moved = started.state / "gateway.log", started.state / "gateway.log.1"
    log.rename(moved)
    started.run("gateway", "reload")
    assert "reload: done" in log.read_text()
    assert "reload: done" not in moved.read_text()
    assert log.stat().st_mode & 0o777 == 0o600
    started.run("gateway", "stop")
    assert "gateway has stopped" in log.read_text()


def test_a_service_manager_is_notified(folders: Gateway) -> None:
    path = str(folders.folder / "n")
    folders.env["NOTIFY_SOCKET"] = path
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(path)
        manager.settimeout(DEADLINE)
        folders.start()
        assert manager.recv(4096).startswith(b"READY=1\n")
        process = folders.process
        assert process is not None
        for child in children(process.pid):
            variables = Path(f"/proc/{child}/environ").read_bytes()
            assert b"NOTIFY_SOCKET" not in variables
        process.send_signal(signal.SIGHUP)
        reloading = manager.recv(4096)
        assert re.fullmatch(rb"RELOADING=1\nMONOTONIC_USEC=\d+", reloading)
        assert manager.recv(4096).startswith(b"READY=1\n")
        process.send_signal(signal.SIGTERM)
        assert manager.recv(4096) == b"STOPPING=1"
        process.wait(DEADLINE)


def test_no_second_gateway_beside_one_that_comes_up(folders: Gateway) -> None:
    """The process with the lock of the state will listen in a moment."""
    folders.state.mkdir(mode=0o700)
    log = folders.state / "gateway.log"
    with (folders.state / "hearth.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        waiting = subprocess.Popen(
            [HEARTH, "session", "create"],
            env=folders.env,
            stdout=subprocess.PIPE,
            text=True,
        )
        wait_for(
            lambda: log.exists() and "another gateway" in log.read_text(),
            "a gateway that was refused",
        )
    folders.start("--set", "sessions/idle_timeout=77s")
    identity, _ = waiting.communicate(timeout=DEADLINE)
    assert waiting.returncode == 0
    about = folders.json("session", "show", "--json", identity.strip())
    assert about["idle_timeout"] == 77


def test_no_gateway_is_started_when_forbidden(folders: Gateway) -> None:
    folders.env["HEARTH_AUTOSTART"] = "no"
    done = folders.run("session", "create")
    assert done.returncode == 4
    assert "no gateway listens" in done.stderr


def test_the_log_of_a_session(started: Gateway) -> None:
    one, other = started.create(), started.create()
    for session in (one, other):
        os.kill(session.show()["pid"], signal.SIGKILL)
        session.wait_state("gone")
    text = started.run("logs").stdout
    assert one.id in text
    assert other.id in text
    lines = started.run("logs", one.id[:13]).stdout.splitlines()
    assert lines
    assert all(f"session={one.id}" in line for line in lines)


def test_a_log_is_followed_past_its_rotation(started: Gateway) -> None:
    log = started.state / "gateway.log"
    with subprocess.Popen(
        [HEARTH, "logs", "-f"],
        env=started.env,
        stdout=subprocess.PIPE,
        text=True,
    ) as following:
        assert following.stdout is not None
        for _ in log.read_text().splitlines():
            assert following.stdout.readline()
        started.run("gateway", "reload")
        assert "reload: done" in following.stdout.readline()
        log.rename(started.state / "moved")
        started.run("gateway", "reload")
        assert "reload: done" in following.stdout.readline()
        following.kill()


def test_a_gateway_in_the_foreground_has_no_log_file(folders: Gateway) -> None:
    folders.start()
    done = folders.run("logs")
    assert done.returncode == 1
    assert "gateway.log" in done.stderr


def test_version(folders: Gateway) -> None:
    about = folders.json("version", "--json")
    assert folders.run("--version").stdout == f"hearth {about['version']}\n"
    assert set(about["libraries"]) == {
        "libzmq", "czmq", "jansson", "libsodium", "openssl", "libwebsockets",
    }  # fmt: skip
    if (ROOT / ".git").exists() and str(ROOT) in HEARTH:
        head = subprocess.run(
            ["git", "-C", str(ROOT), "rev-parse", "HEAD"],
            capture_output=True,
            text=True,
            check=True,
        )
        assert re.fullmatch("[0-9a-f]{12,40}", about["commit"])
        assert len(head.stdout.strip()) == 40
    text = folders.run("version").stdout
    assert text.startswith(f"hearth {about['version']}")
    assert about["libraries"]["libzmq"] in text


def test_prune(folders: Gateway) -> None:
    folders.start("--set", "sessions/gone_keep=0")
    alive, gone, kept = (folders.create() for _ in range(3))
    for session in (alive, gone, kept):
        session.exec("open('big', 'wb').write(bytes(3_000_000))")
    (folder := folders.folder / "mine").mkdir(mode=0o777)
    folder.chmod(0o777)
    named = folders.create("--workspace", str(folder))
    named.exec("open('mine', 'w').write('1')")
    for session in (gone, kept, named):
        session.delete()
    state = folders.state / "sessions"
    wait_for(
        lambda: (
            len(folders.json("prune", "--dry-run", "--json")["sessions"]) == 3
        ),
        "sessions that are gone",
    )
    dry = folders.json("prune", "-n", "--json")
    assert dry["removed"] is False
    sizes = {row["id"]: row["bytes"] for row in dry["sessions"]}
    assert set(sizes) == {gone.id, kept.id, named.id}
    assert sizes[gone.id] >= 3_000_000 > sizes[named.id]
    assert (
        folders.run("prune", "-o", "1h").stdout == "0 sessions, 0 B removed\n"
    )
    assert (state / gone.id).exists()
    reported = folders.run("prune").stdout
    assert gone.id in reported
    assert "3 sessions, 5.8 MiB removed" in reported
    wait_for(lambda: not (folders.state / "discarded").exists(), "an end")
    names = {path.name for path in state.iterdir()}
    assert alive.id in names
    assert not names & set(sizes)
    assert (folder / "mine").exists()
    assert alive.exec("1 + 1").stdout == "2\n"


def test_a_name_is_as_good_as_an_id(folders: Gateway) -> None:
    folders.start()
    one = folders.create("--name", "births")
    assert folders.run("exec", "births", "-c", "6 * 7").stdout == "42\n"
    assert folders.json("session", "show", "--json", "births")["id"] == one.id
    assert "6 * 7" in folders.run("notebook", "show", "births").stdout
    other = folders.create("--name", "births")
    reported = folders.run("session", "delete", "births")
    assert reported.returncode == 2
    assert one.id in reported.stderr
    assert other.id in reported.stderr
    reported = folders.run("notebook", "show", "births")
    assert reported.returncode == 2
    assert other.id in reported.stderr
    other.delete()
    other.wait_state("gone")
    assert folders.run("session", "delete", "births").returncode == 0
    one.wait_state("gone")
    # The records of the audit log have its id, whatever it was called by.
    single = folders.create("--name", "deaths")
    folders.run("session", "interrupt", "deaths")
    assert folders.run("session", "delete", "deaths").returncode == 0
    single.wait_state("gone")
    lines = folders.run("audit", "show", "--json", "--session", "deaths").stdout
    records = [json.loads(line) for line in lines.splitlines()]
    assert {record["session"] for record in records} == {single.id}
    orders = [r for r in records if r["event"] == "order"]
    assert [r["request"] for r in orders] == [
        "session_interrupt_request",
        "session_delete_request",
    ]
