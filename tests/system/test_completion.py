"""One table per command gives its reading, its --help and its completion; the
manual has the same commands and options."""

from __future__ import annotations

import re
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
    assert done.returncode == 0
    return done.stdout.splitlines()


def in_bash(gateway: Gateway, *words: str, folder: Path = ROOT) -> list[str]:
    """Return the completions of `hearth WORDS` at the end of the line."""
    code = """
        . "$1"; shift
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
        _hearth
        [ "${#COMPREPLY[@]}" -eq 0 ] || printf '%s\\n' "${COMPREPLY[@]}"
    """
    return subprocess.run(
        ["bash", "-c", code, "bash", SCRIPT, HEARTH, *words],
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
    assert (done.returncode, done.stdout) == (0, "")
    assert not list(tmp_path.iterdir())


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
