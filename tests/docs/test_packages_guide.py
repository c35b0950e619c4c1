"""What docs/guide/packages.md shows, with an index of this test's own."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Iterator

import pytest
from documents import ROOT, Shell, blocks_of, run_commands, run_python

sys.path.insert(0, str(ROOT / "tests" / "lib"))

from fake_index import FakeIndex

GUIDE = ROOT / "docs" / "guide" / "packages.md"
HUMANIZE = "def intcomma(number):\n    return f'{number:,}'\n"


@pytest.fixture
def folder() -> Iterator[Path]:
    """Short, and all users of sessions can reach what is in it."""
    made = Path(tempfile.mkdtemp(prefix="hd-", dir="/tmp"))
    made.chmod(0o711)
    yield made
    shutil.rmtree(made)


def configure(folder: Path, text: str, index: FakeIndex) -> None:
    text = text.replace("https://pypi.org/simple/", index.url)
    assert index.url in text
    place = folder / ".config" / "hearth" / "hearth.cfg"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(f"{text}\npackages\n    dir = {folder}/packages\n")


def test_the_guide(folder: Path) -> None:
    blocks = blocks_of(GUIDE)
    # The others are read by test_documents.py.
    configurations = [one for one in blocks if one.kind == "configuration"]
    of_all = next(one for one in configurations if "preinstall" in one.text)
    commands = [one for one in blocks if one.kind == "commands"]
    programs = [one for one in blocks if one.kind == "python"]
    assert (len(commands), len(programs)) == (4, 1)
    with FakeIndex() as index:
        index.add("humanize", "4.9", {"humanize/__init__.py": HUMANIZE})
        configure(folder, configurations[0].text, index)
        shell = Shell(folder)
        try:
            for block in (*commands[:2], commands[3]):
                run_commands(shell, block, "docs/guide/packages.md")
            said = run_python(shell, programs[0], "docs/guide/packages.md")
            assert "humanize" in said
        finally:
            shell.close()
        other = folder / "2"
        other.mkdir(mode=0o711)
        configure(other, of_all.text, index)
        shell = Shell(other)
        try:
            run_commands(shell, commands[2], "docs/guide/packages.md")
        finally:
            shell.close()
    assert index.count("/files/") > 0
