"""The examples of the documents: a list of them, and a shell to run them.

In a Markdown file an example is a fenced or an indented block; in a manual it
is the text between .Bd -literal and .Ed, or after .Dl. Its form decides how it
is tried:

- Lines with a prompt, "$ command", with "> " for further lines, and the output
  below them. An ellipsis matches anything, and all white space is alike.
  Without output nothing is compared. A command succeeds, or ends with the
  status of a comment "# exit status N".
- Lines that begin with a known command (COMMANDS) are commands, too.
- A fenced block of "python" is a program of the tree's environment, with the
  shell's variables in os.environ.
- A section of a configuration is read by the program.
- Everything else (JSON, listings, drawings) is an illustration.

All examples of one document run in one shell, in their order, with a gateway of
their own. NOT_RUN lists those that cannot be run.
"""

from __future__ import annotations

import os
import re
import select
import subprocess
import textwrap
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Iterator

ROOT = Path(__file__).resolve().parents[2]
HEARTH = Path(os.environ.get("HEARTH", str(ROOT / "build" / "hearth")))
DEADLINE = 300.0

COMMANDS = {
    *("./dev", "./configure", "autoreconf", "make", "git", "apt-get", "sudo"),
    *("hearth", "jupyter", "pip", "python", "python3", "curl", "systemctl"),
    *("cp", "mkdir", "export", "docker", "npm"),
}
SECTIONS = ("gateway", "sessions", "jupyter", "profile")
STATUS = re.compile(r"#.*\bexit status (\d+)")

# Commands that are not run here, and why.
NOT_RUN = [
    (
        r"\./dev (demo|test|build|lint|format|bench|soak|hostile)",
        "runs this, or for long",
    ),
    (r"(autoreconf|\./configure|make)\b", "the tree is built: ./dev test"),
    (r"\.\./configure\b", "the same"),
    (r"hearth attach\b", "wants a terminal: test_conformance.test_attach"),
    (
        r"(\w+=\S+ )*hearth tools attach\b",
        "serves until Ctrl-C: test_tools_attach.py",
    ),
    (r"jupyter console\b", "wants a terminal: test_discovery.py"),
    (r"jupyter server\b", "another environment: peers/test_server_list.py"),
    (r"(hearth|jupyter) lab\b", "wants a browser: peers/test_lab.py"),
    (r"python3 -m pip install \S*clients/python", "wants a network"),
    (r"python3 examples/", "wants that folder: sdk/test_examples.py"),
]


@dataclass
class Step:
    """One command and what the document shows of its output."""

    line: int
    command: str
    shown: str = ""
    status: int = 0


@dataclass
class Block:
    """One example."""

    line: int
    language: str
    text: str
    steps: list[Step] = field(default_factory=list)

    @property
    def kind(self) -> str:
        first = self.text.split(maxsplit=1)[0] if self.text.strip() else ""
        if self.language == "python":
            return "python"
        if self.language in ("json", "text", "html", "http", "c"):
            return "illustration"
        if re.match(rf"({'|'.join(SECTIONS)})\n.*=", self.text, re.S):
            return "configuration"
        if first == "$" or first in COMMANDS or self.language == "sh":
            return "commands"
        return "illustration"


def blocks_of(path: Path) -> list[Block]:
    lines = path.read_text().splitlines()
    find = _in_markdown if path.suffix == ".md" else _in_manual
    blocks = [block for block in find(lines) if block.text.strip()]
    for block in blocks:
        if block.kind == "commands":
            block.steps = list(_steps(block))
    return blocks


def _in_markdown(lines: list[str]) -> Iterator[Block]:
    number = 0
    while number < len(lines):
        start, line = number, lines[number]
        number += 1
        fence = re.match(r"( *)```(\w*)", line)
        if fence:
            inside = []
            while number < len(lines) and not re.match(r" *```", lines[number]):
                inside.append(lines[number])
                number += 1
            number += 1
            text = textwrap.dedent("\n".join(inside))
            yield Block(start + 2, fence[2], text)
        elif line.startswith("    ") and not lines[start - 1].strip():
            inside = [line]
            while number < len(lines) and re.match(r"    |\s*$", lines[number]):
                inside.append(lines[number])
                number += 1
            yield Block(start + 1, "", textwrap.dedent("\n".join(inside)))


def _plain(line: str) -> str:
    """A line of a manual without mdoc's escapes."""
    return line.replace(r"\e", "\\").replace(r"\&", "").replace(r"\-", "-")


def _in_manual(lines: list[str]) -> Iterator[Block]:
    inside: list[str] = []
    start = 0
    for number, line in enumerate(lines, 1):
        if line.startswith(".Bd -literal"):
            start = number + 1
        elif line == ".Ed" and start:
            yield Block(start, "", "\n".join(inside))
            inside, start = [], 0
        elif start:
            inside.append(_plain(line))
        elif line.startswith(".Dl "):
            yield Block(number, "", _plain(line[4:]))


def _steps(block: Block) -> Iterator[Step]:
    prompted = block.text.lstrip().startswith("$ ")
    step = None
    for number, line in enumerate(block.text.splitlines(), block.line):
        is_new = line.startswith("$ ") if prompted else line.strip()
        if step and step.command.endswith("\\"):
            step.command += "\n" + line.removeprefix("> ")
        elif is_new:
            if step:
                yield step
            command = line.removeprefix("$ ")
            wanted = STATUS.search(command)
            step = Step(number, command, "", int(wanted[1]) if wanted else 0)
        elif step and prompted and line.startswith("> ") and not step.shown:
            step.command += "\n" + line[2:]
        elif step:
            step.shown += line + "\n"
    if step:
        yield step


def folded(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


def agrees(shown: str, said: str) -> bool:
    """Whether the output is what the document shows."""
    pieces = re.split(r" ?(?:…|\.\.\.) ?", folded(shown))
    pattern = ".*".join(re.escape(piece) for piece in pieces)
    return re.fullmatch(pattern, folded(said), re.S) is not None


def reason_not_to_run(command: str) -> str:
    return next((why for what, why in NOT_RUN if re.match(what, command)), "")


class Shell:
    """bash in a scratch folder, where `hearth` is the program under test."""

    END = "--- end of a command ---"

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.work = folder / "work"
        self.work.mkdir()
        self.env = {
            "PATH": f"{HEARTH.parent}:{ROOT / '.venv' / 'bin'}:/usr/bin:/bin",
            "HOME": str(folder),
            "LANG": "C.UTF-8",
            "NO_COLOR": "1",
            "HEARTH_RUNTIME_DIR": str(folder / "r"),
            "HEARTH_STATE_DIR": str(folder / "s"),
        }
        if "HEARTH_PYTHON" in os.environ:
            self.env["HEARTH_PYTHON"] = os.environ["HEARTH_PYTHON"]
        self.bash = subprocess.Popen(
            ["bash", "--noprofile", "--norc"],
            cwd=self.work,
            env=self.env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        self.run("set -a")

    def run(self, command: str) -> tuple[int, str]:
        """Status and output (both streams)."""
        assert self.bash.stdin
        assert self.bash.stdout
        text = (
            f"{{ {command}\n}} </dev/null\nprintf '\\n%s %d\\n' '{self.END}' $?"
        )
        self.bash.stdin.write(text.encode() + b"\n")
        self.bash.stdin.flush()
        said = b""
        until = time.monotonic() + DEADLINE
        while not (
            found := re.search(rb"\n%s (\d+)\n" % self.END.encode(), said)
        ):
            left = until - time.monotonic()
            assert select.select([self.bash.stdout], [], [], max(left, 0))[0], (
                f"{command!r} does not end; it said {said.decode()!r}"
            )
            read = os.read(self.bash.stdout.fileno(), 65536)
            assert read, f"{command!r} ended the shell: {said.decode()!r}"
            said += read
        return int(found[1]), said[: found.start()].decode()

    def serve(self, command: str) -> tuple[int, str]:
        """A gateway in the foreground: until it answers, then it is ended."""
        self.run("hearth gateway stop --end-sessions")
        log = self.folder / "serve.log"
        command = re.sub(r"\s#.*", "", command)
        self.run(f"{command} >{log} 2>&1 &")
        wait = (
            "until hearth gateway info >/dev/null 2>&1; do"
            " jobs %% >/dev/null 2>&1 || break; read -t 0.1 <> <(:); done"
        )
        self.run(wait)
        self.run("hearth gateway stop")
        status, _ = self.run("wait %%")
        return status, log.read_text()

    def close(self) -> None:
        self.bash.kill()
        self.bash.communicate()
        subprocess.run(
            [HEARTH, "gateway", "stop", "--end-sessions"],
            env=self.env,
            stderr=subprocess.DEVNULL,
        )


def run_commands(shell: Shell, block: Block, place: str) -> None:
    """Try the commands of an example; `place` is the document's path."""
    for step in block.steps:
        if reason_not_to_run(step.command):
            continue
        if step.command.startswith("hearth serve"):
            status, said = shell.serve(step.command)
        else:
            status, said = shell.run(step.command)
        where = f"{place}:{step.line}: {step.command}"
        assert status == step.status, f"{where}\nended with {status}:\n{said}"
        if step.shown.strip():
            assert agrees(step.shown, said), f"{where}\nsays:\n{said}"


def run_python(shell: Shell, block: Block, place: str) -> str:
    """Run the program of an example; returns what it says."""
    (shell.work / "example.py").write_text(block.text)
    # The client, which a reader has installed.
    client = ROOT / "clients" / "python" / "src"
    status, said = shell.run(f"PYTHONPATH={client} python example.py")
    assert status == 0, f"{place}:{block.line}:\n{said}"
    return said
