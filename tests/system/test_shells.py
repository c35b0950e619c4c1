"""Completion of `hearth` in the shells themselves; `hearth complete` says what
there is (test_completion.py)."""

from __future__ import annotations

import os
import pty
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from deadline import DEADLINE, wait_for
from harness import HEARTH, Gateway, Session

ROOT = Path(__file__).resolve().parents[2]
ETC = ROOT / "etc"

# Widgets that report the line and empty it, as soon as it is completed.
ZSHRC = r"""
PS1= PS2= RPS1=
unsetopt beep prompt_cr prompt_sp zle_bracketed_paste 2>/dev/null
fpath=($SCRIPTS $fpath)
autoload -Uz compinit && compinit -u -D
setopt no_auto_menu no_list_beep
zstyle ':completion:*' insert-tab false
complete-and-report() {
    zle complete-word
    print -r -- "$BUFFER" >$REPORT.new && mv $REPORT.new $REPORT
    BUFFER=
}
zle -N complete-and-report
bindkey '^T' complete-and-report
print ready >$REPORT
"""


def needs(shell: str) -> None:
    if not shutil.which(shell):
        pytest.skip(f"no {shell} here")


class Zsh:
    """An interactive zsh, which completes lines at its terminal."""

    def __init__(self, gateway: Gateway, folder: Path):
        needs("zsh")
        self.folder = folder / "zsh"
        self.folder.mkdir()
        self.report = self.folder / "report"
        scripts = self.folder / "scripts"
        scripts.mkdir()
        shutil.copy(ETC / "_hearth", scripts)
        (self.folder / ".zshrc").write_text(ZSHRC)
        (self.folder / "work").mkdir()
        (self.folder / "bin").mkdir()
        (self.folder / "bin" / "hearth").symlink_to(HEARTH)
        self.terminal, theirs = pty.openpty()
        self.process = subprocess.Popen(
            ["zsh", "-d", "-i"],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=self.folder / "work",
            start_new_session=True,
            env={
                **gateway.env,
                "PATH": f"{self.folder}/bin:{os.environ['PATH']}",
                "TERM": "dumb",
                "ZDOTDIR": str(self.folder),
                "REPORT": str(self.report),
                "SCRIPTS": str(scripts),
            },
        )
        os.close(theirs)
        os.set_blocking(self.terminal, False)
        self.reported("zsh is ready")

    def drain(self) -> bool:
        """Read what it prints, so that it never waits for a reader."""
        try:
            while os.read(self.terminal, 65536):
                pass
        except BlockingIOError:
            return True
        except OSError:
            return False
        return True

    def reported(self, what: str) -> str:
        wait_for(lambda: self.drain() and self.report.exists(), what)
        text = self.report.read_text()
        self.report.unlink()
        return text.rstrip("\n")

    def __call__(self, line: str) -> str:
        """Return what the line becomes."""
        os.write(self.terminal, line.encode() + b"\x14")
        return self.reported(f"the completion of {line}")

    def end(self) -> None:
        self.process.kill()
        self.process.wait(DEADLINE)
        os.close(self.terminal)


@pytest.fixture
def zsh(gateway: Gateway, tmp_path: Path) -> Iterator[Zsh]:
    made = Zsh(gateway, tmp_path)
    try:
        yield made
    finally:
        made.end()


def test_zsh(zsh: Zsh, session: Session) -> None:
    for line, whole in (
        ("hearth session cr", "hearth session create "),
        ("hearth se", "hearth se"),
        ("hearth exec --ti", "hearth exec --timeout "),
        ("hearth session create --restart n",
         "hearth session create --restart never "),
        ("hearth session create --restart=n",
         "hearth session create --restart=never "),
        (f"hearth exec {session.id[:8]}", f"hearth exec {session.id} "),
        ("hearth nothing x", "hearth nothing x"),
    ):  # fmt: skip
        assert zsh(line) == whole


def test_zsh_knows_files(zsh: Zsh, session: Session) -> None:
    work = zsh.folder / "work"
    (work / "analysis one.py").touch()
    (work / "plots").mkdir()
    line = f"hearth exec {session.id} "
    assert zsh(line + "an") == line + r"analysis\ one.py "
    assert zsh(line + "pl") == line + "plots/"
    assert zsh("hearth exec --output-dir ") == "hearth exec --output-dir plots/"
    assert (
        zsh("hearth exec --output-dir=p") == "hearth exec --output-dir=plots/"
    )


def in_fish(gateway: Gateway, folder: Path, line: str) -> list[str]:
    """Return what fish offers at the end of the line."""
    needs("fish")
    home = folder / "fish"
    (home / "bin").mkdir(parents=True, exist_ok=True)
    link = home / "bin" / "hearth"
    if not link.exists():
        link.symlink_to(HEARTH)
    code = 'source $argv[1]; complete -C "$argv[2]"'
    done = subprocess.run(
        ["fish", "--no-config", "-c", code, ETC / "hearth.fish", line],
        env={
            **gateway.env,
            "PATH": f"{home}/bin:{os.environ['PATH']}",
            "HOME": str(home),
        },
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
    )
    assert not done.stderr
    return [row.partition("\t")[0] for row in done.stdout.splitlines()]


def test_fish(gateway: Gateway, session: Session, tmp_path: Path) -> None:
    def offered(line: str) -> list[str]:
        return in_fish(gateway, tmp_path, line)

    assert offered("hearth se") == ["serve", "session"]
    assert offered("hearth session cr") == ["create"]
    assert offered("hearth exec --ti") == ["--timeout"]
    restart = "hearth session create --restart"
    assert offered(restart + " ") == ["auto", "never"]
    assert offered(restart + "=n") == ["--restart=never"]
    assert offered(f"hearth exec {session.id[:8]}") == [session.id]
    assert offered("hearth nothing ") == []


def test_fish_knows_files(
    gateway: Gateway, session: Session, tmp_path: Path
) -> None:
    (tmp_path / "analysis one.py").touch()
    (tmp_path / "plots").mkdir()

    def offered(line: str) -> list[str]:
        return in_fish(gateway, tmp_path, line)

    assert offered(f"hearth exec {session.id} an") == ["analysis one.py"]
    assert offered("hearth exec --output-dir p") == ["plots/"]
    assert offered("hearth exec --output-dir=p") == ["--output-dir=plots/"]
