"""Every command line and snippet that a document shows does what it says."""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from pathlib import Path
from typing import Iterator

import pytest
from documents import (
    HEARTH,
    NOT_RUN,
    ROOT,
    Shell,
    agrees,
    blocks_of,
    reason_not_to_run,
    run_commands,
    run_python,
)

DOCUMENTS = sorted(
    path.relative_to(ROOT)
    for pattern in ("*.md", "docs/**/*.md", "examples/*.md", "man/*.[1-8]")
    for path in ROOT.glob(pattern)
)

# Documents whose commands have a test of their own, with what they need. A
# fenced block of "sh" is run there, too.
ELSEWHERE = {
    "docs/guide/clients.md": "tests/system/peers/test_agents.py and others",
    "docs/guide/fetching.md": "tests/docs/test_fetching_guide.py",
    "docs/guide/for-people.md": "tests/system/peers/test_lab.py",
    "docs/guide/packages.md": "tests/docs/test_packages_guide.py",
    "docs/reference/notebooks.md": "tests/system/test_notebooks.py",
}
# And those whose programs have.
PROGRAMS_ELSEWHERE = {"docs/guide/fetching.md", "docs/guide/packages.md"}

# What examples find in their folder.
FILES = {
    "plot.py": "import matplotlib.pyplot as plt\nplt.plot([1, 2])\n",
    "analysis.py": "import matplotlib.pyplot as plt\nplt.plot([1, 2])\n",
}


@pytest.fixture(scope="module", params=DOCUMENTS, ids=str)
def document(request: pytest.FixtureRequest) -> Path:
    return ROOT / str(request.param)


@pytest.fixture
def shell() -> Iterator[Shell]:
    # Short: the paths of sockets have at most 107 bytes.
    with tempfile.TemporaryDirectory(prefix="hd-", dir="/tmp") as folder:
        made = Shell(Path(folder))
        subprocess.run(["git", "init", "-q", str(made.work)], check=True)
        for name, text in FILES.items():
            (made.work / name).write_text(text)
        try:
            yield made
        finally:
            made.close()


def read_configuration(shell: Shell, text: str, place: str) -> None:
    """The program takes it; what it names need not be there."""
    (shell.work / "example.cfg").write_text(text)
    _, said = shell.run("hearth doctor --json -f example.cfg")
    assert said.lstrip().startswith("{"), f"{place}:\n{said}"
    assert json.loads(said)["checks"]


def test_examples(document: Path, shell: Shell) -> None:
    """A page is one test, because each example goes on from those before it.

    Guides with many examples take more than 20 s beside other tests: each
    program is a Python of its own, which starts a session or several.
    """
    blocks = blocks_of(document)
    if all(block.kind == "illustration" for block in blocks):
        return
    for block in blocks:
        place = str(document.relative_to(ROOT))
        if block.kind == "commands" and (
            place not in ELSEWHERE or block.language == "sh"
        ):
            run_commands(shell, block, place)
        elif block.kind == "python" and place not in PROGRAMS_ELSEWHERE:
            run_python(shell, block, place)
        elif block.kind == "configuration":
            place = f"{place}:{block.line}"
            read_configuration(shell, block.text, place)


def test_documented_configuration(shell: Shell) -> None:
    """etc/hearth.cfg as it is, and with every key of it in force."""
    text = (ROOT / "etc" / "hearth.cfg").read_text()
    read_configuration(shell, text, "etc/hearth.cfg")
    in_force = re.sub(r"^( *)#(\w+ =)", r"\1\2", text, flags=re.M)
    assert in_force != text
    read_configuration(shell, in_force, "etc/hearth.cfg, every key")


def test_each_exception_is_needed() -> None:
    """Each line of NOT_RUN is about a command that a document shows."""
    commands = [
        step.command
        for path in DOCUMENTS
        for block in blocks_of(ROOT / path)
        for step in block.steps
    ]
    for what, _ in NOT_RUN:
        assert any(re.match(what, command) for command in commands), what
    assert sum(not reason_not_to_run(command) for command in commands) > 10


def test_named_commands_exist() -> None:
    """`hearth COMMAND` in running text names a command that there is."""
    listed = subprocess.run(
        [str(HEARTH), "--help"], check=True, capture_output=True, text=True
    ).stdout
    known = re.findall(r"^  (\w[\w-]*(?: \w[\w-]*)?)  ", listed, re.M)
    groups = {name.split()[0] for name in known if " " in name}
    for path in DOCUMENTS:
        text = (ROOT / path).read_text()
        for words in re.findall(r"`hearth ([a-z]+(?: [a-z]+)?)", text):
            first, _, second = words.partition(" ")
            if first in groups:
                assert not second or words in known, f"{path}: {words}"
            else:
                assert first in known, f"{path}: hearth {first}"


@pytest.mark.parametrize(
    ("shown", "said", "wanted"),
    [
        ("6", "6\n", True),
        ("6", "66", False),
        ("a … z", "a lot until z", True),
        ("a … z", "a lot", False),
        ("a   b", "a b", True),
        ('{"id": "…"}', '{"id": "5f3c"}', True),
    ],
)
def test_comparison(shown: str, said: str, wanted: bool) -> None:
    assert agrees(shown, said) is wanted
