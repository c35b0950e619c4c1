"""One table per command gives its reading, its --help and its completion; the
manual has the same commands and options."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from pathlib import Path

import pytest
from harness import HEARTH, Gateway, Session

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "etc" / "hearth.bash"
MANUAL = ROOT / "man" / "hearth.1"


def said(*arguments: str) -> str:
    return subprocess.run(
        [HEARTH, *arguments], check=True, capture_output=True, text=True
    ).stdout


def commands() -> list[str]:
    """The commands that --help lists."""
    return re.findall(r"^  (\w[\w-]*(?: \w[\w-]*)?)  ", said("--help"), re.M)


def options(command: str) -> list[str]:
    """The long options that a command's --help lists, in its order."""
    text = said(*command.split(), "--help")
    return re.findall(r"^  (?:-\w,|   ) (--[\w-]+)", text, re.M)


def candidates(gateway: Gateway, *words: str) -> list[str]:
    done = gateway.run("complete", "--", *words)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


def in_bash(gateway: Gateway, *words: str, folder: Path = ROOT) -> list[str]:
    """Return the completions of `hearth WORDS` at the end of the line."""
    # bash takes colons for words of their own, but where they are quoted.
    line = " ".join((str(HEARTH), *words))
    piece = r""":+|(?:["'].*|\\.|[^:])+"""
    pieces = [p for w in words for p in re.findall(piece, w) or [""]]
    code = """
        . "$1"; COMP_LINE="$2"; shift 2
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
        _hearth
        [ "${#COMPREPLY[@]}" -eq 0 ] || printf '%s\\n' "${COMPREPLY[@]}"
    """
    return subprocess.run(
        ["bash", "-c", code, "bash", SCRIPT, line, HEARTH, *pieces],
        env=gateway.env,
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.splitlines()


def test_names(gateway: Gateway) -> None:
    first = list(dict.fromkeys(name.split()[0] for name in commands()))
    assert candidates(gateway, "") == [*first, "--help", "--version"]
    groups = {name.split()[0] for name in commands() if " " in name}
    assert "session" in groups
    for group in groups:
        second = [n.split()[1] for n in commands() if n.split()[0] == group]
        assert candidates(gateway, group, "") == [*second, "--help"]
    assert "complete" not in first


# Jupyter Kernel Gateway's own way to write options, which is not ours.
FOREIGN = {"kernelgateway"}


@pytest.mark.parametrize("command", sorted(set(commands()) - FOREIGN))
def test_options(gateway: Gateway, command: str) -> None:
    listed = options(command)
    assert listed[-1] == "--help"
    assert candidates(gateway, *command.split(), "-") == listed
    # None after --, which ends the options.
    assert candidates(gateway, *command.split(), "--", "-") == []


@pytest.mark.parametrize("command", commands())
def test_manual(command: str) -> None:
    """Every command has its paragraph, and it names every option."""
    text = MANUAL.read_text()
    found = re.search(
        rf"^\.It Cm {command}\b.*?(?=^\.It Cm |^\.Sh )", text, re.M | re.S
    )
    assert found, "no paragraph"
    # What the synopsis says of it, and what is said of all of them.
    synopsis = re.search(rf"^\.Cm {command}\n.*?(?=^\.Nm)", text, re.M | re.S)
    assert synopsis, "not in the synopsis"
    known = found[0] + synopsis[0]
    for option in options(command)[:-1]:
        assert f"Fl -{option[2:]}" in known, option


def test_words(gateway: Gateway) -> None:
    restart = ("session", "create", "--restart")
    assert candidates(gateway, *restart, "") == ["auto", "never"]
    assert candidates(gateway, *restart, "n") == ["never"]
    assert candidates(gateway, *restart, "=", "a") == ["auto"]
    assert candidates(gateway, "serve", "-l", "d") == ["debug"]
    assert candidates(gateway, "session", "create", "--name", "") == []


def test_sessions(gateway: Gateway, session: Session) -> None:
    for command in ("exec", "attach", "session show"):
        words = (*command.split(), session.id[:8])
        assert candidates(gateway, *words) == [session.id]
        assert in_bash(gateway, *words) == [session.id]
    assert session.id in candidates(gateway, "exec", "--timeout", "5", "")
    # The second operand is another thing.
    assert session.id not in candidates(gateway, "exec", session.id, "")


def test_sessions_without_a_gateway(tmp_path: Path) -> None:
    done = subprocess.run(
        [HEARTH, "complete", "--", "exec", ""],
        env={
            "HEARTH_RUNTIME_DIR": str(tmp_path),
            "HEARTH_STATE_DIR": str(tmp_path),
        },
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert not list(tmp_path.iterdir())


def test_outputs(session: Session, tmp_path: Path) -> None:
    gateway = session.gateway
    output = ("output", session.id)
    session.exec("print(1)\ndisplay(2)\nprint(3)")
    session.exec("x = 1")
    session.exec("1 / 0")
    gateway.run("run", session.id, "--", "true")
    cells = {"out:1.1", "out:1.2", "out:1.3", "out:3.1"}
    assert set(candidates(gateway, *output, "")) == {*cells, "process:1"}
    assert set(candidates(gateway, *output, "o")) == cells
    assert candidates(gateway, *output, "out:3") == ["out:3.1"]
    assert candidates(gateway, *output, "out:1.2") == ["out:1.2"]
    assert candidates(gateway, *output, "3") == ["3.1"]
    assert candidates(gateway, *output, "p") == ["process:1"]
    assert candidates(gateway, *output, "x") == []
    assert candidates(gateway, *output, "out:3.1", "") == []
    words = ("output", "--lines", "2", session.id[:8], "process:")
    assert candidates(gateway, *words) == ["process:1"]
    # Each is one that the command takes.
    for ref in (*cells, "process:1"):
        assert gateway.run(*output, ref).returncode == 0, ref
    # It needs no gateway.
    env = {"HEARTH_RUNTIME_DIR": str(tmp_path)}
    done = gateway.run("complete", "--", *output, "p", env=env)
    assert (done.returncode, done.stdout, done.stderr) == (0, "process:1\n", "")
    assert not list(tmp_path.iterdir())


def test_cells_after_a_restart_and_of_a_number_that_is_long(
    session: Session,
) -> None:
    for _ in range(12):
        session.exec("1")
    gateway = session.gateway
    assert set(candidates(gateway, "output", session.id, "out:1")) == {
        f"out:{number}.1" for number in (1, 10, 11, 12)
    }
    assert gateway.run("session", "restart", session.id).returncode == 0
    session.exec("print(1); display(2)")
    assert candidates(gateway, "output", session.id, "out:1.") == [
        "out:1.1",
        "out:1.2",
    ]


def test_programs_that_run(session: Session) -> None:
    gateway = session.gateway
    gateway.run("run", session.id, "--", "true")
    for _ in range(2):
        started = ("run", "--detach", session.id, "--", "sleep", "600")
        assert gateway.run(*started).returncode == 0
    kill = ("kill", session.id)
    assert candidates(gateway, *kill, "") == ["2", "3"]
    assert candidates(gateway, *kill, "3") == ["3"]
    assert candidates(gateway, *kill, "p") == ["process:2", "process:3"]
    assert candidates(gateway, "kill", "-s", "INT", session.id, "2") == ["2"]
    assert in_bash(gateway, *kill, "") == ["2", "3"]
    assert in_bash(gateway, *kill, "pro") == ["process:2", "process:3"]
    # What bash replaces begins after the colon.
    for command in ("kill", "output"):
        assert in_bash(gateway, command, session.id, "process:3") == ["3"]
    assert in_bash(gateway, *kill, "process:") == ["2", "3"]
    assert in_bash(gateway, "output", "--grep", ":", session.id, "out:") == []
    assert in_bash(gateway, "output", "--grep", ":", session.id, "pr") == [
        "process:3",
        "process:2",
        "process:1",
    ]


def test_a_name_that_is_quoted(gateway: Gateway) -> None:
    session = gateway.create("--name", "its: * job")
    run = ("run", "--detach", session.id, "--", "sleep", "600")
    assert gateway.run(*run).returncode == 0
    for name in ('"its: * job"', "'its: * job'", r"its:\ \*\ job"):
        assert in_bash(gateway, "kill", name, "") == ["1"], name
        assert in_bash(gateway, "kill", name, '"p') == ["process:1"], name
        assert in_bash(gateway, "output", name, "process:") == ["1"], name
    session.delete()


@pytest.mark.parametrize("command", ["output", "kill"])
def test_of_a_session_that_is_not_there(
    gateway: Gateway, command: str, tmp_path: Path
) -> None:
    assert candidates(gateway, command, "nowhere", "") == []
    assert candidates(gateway, command, "", "") == []
    env = {
        "HEARTH_RUNTIME_DIR": str(tmp_path),
        "HEARTH_STATE_DIR": str(tmp_path),
    }
    done = gateway.run("complete", "--", command, "nowhere", "", env=env)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert not list(tmp_path.iterdir())


def test_a_gateway_that_does_not_answer(session: Session) -> None:
    gateway = session.gateway
    session.exec("1")
    os.kill(gateway.pid, signal.SIGSTOP)
    try:
        assert candidates(gateway, "exec", "") == []
        assert candidates(gateway, "kill", session.id, "") == []
        assert candidates(gateway, "output", session.id, "") == ["out:1.1"]
    finally:
        os.kill(gateway.pid, signal.SIGCONT)


def test_files(gateway: Gateway, session: Session, tmp_path: Path) -> None:
    (tmp_path / "analysis.py").touch()
    (tmp_path / "plots").mkdir()

    def offered(*words: str) -> list[str]:
        return sorted(in_bash(gateway, *words, folder=tmp_path))

    assert offered("exec", session.id, "") == ["analysis.py", "plots"]
    assert offered("exec", session.id, "an") == ["analysis.py"]
    assert offered("exec", "--output-dir", "") == ["plots"]
    assert offered("exec", "--output-dir", "=") == ["plots"]


def test_in_bash(gateway: Gateway) -> None:
    assert in_bash(gateway, "se") == ["session", "serve"]
    assert in_bash(gateway, "session", "cr") == ["create"]
    assert in_bash(gateway, "nothing", "") == []
