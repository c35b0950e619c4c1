"""What docs/guide/fetching.md shows, with a server of this test's own."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Iterator

import pytest
from documents import ROOT, Shell, blocks_of, run_commands, run_python

sys.path.insert(0, str(ROOT / "tests" / "lib"))

from fake_files import FakeFiles

GUIDE = ROOT / "docs" / "guide" / "fetching.md"
TABLE = b"city,people\nOslo,717710\n"


@pytest.fixture
def folder() -> Iterator[Path]:
    """Short, and all users of sessions can reach what is in it."""
    made = Path(tempfile.mkdtemp(prefix="hd-", dir="/tmp"))
    made.chmod(0o711)
    yield made
    shutil.rmtree(made)


def test_the_guide(folder: Path) -> None:
    blocks = blocks_of(GUIDE)
    (configuration,) = [one for one in blocks if one.kind == "configuration"]
    commands = [one for one in blocks if one.kind == "commands"]
    assert len(commands) == 2
    (program,) = [one for one in blocks if one.kind == "python"]
    with FakeFiles() as server:
        server.put("/table.csv", TABLE, etag='"1"')
        text = configuration.text.replace("data.example", server.place)
        assert server.place in text
        for step in [step for block in commands for step in block.steps]:
            step.command = step.command.replace(
                "https://data.example/", server.url("/")
            )
        program.text = program.text.replace(
            "https://data.example/", server.url("/")
        )
        place = folder / ".config" / "hearth" / "hearth.cfg"
        place.parent.mkdir(parents=True)
        place.write_text(f"{text}\nfetch\n    dir = {folder}/fetch\n")
        shell = Shell(folder)
        try:
            for block in commands:
                run_commands(shell, block, "docs/guide/fetching.md")
            said = run_python(shell, program, "docs/guide/fetching.md")
            assert said.startswith("data/table.csv 24 ")
            assert "elsewhere.example is not permitted here" in said
        finally:
            shell.close()
    assert server.count("/table.csv") == 4  # three found no change
