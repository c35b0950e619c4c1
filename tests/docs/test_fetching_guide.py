"""What docs/guide/fetching.md shows, with servers of this test's own."""

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
from git_server import GitServer
from lfs_server import LfsServer

GUIDE = ROOT / "docs" / "guide" / "fetching.md"
TABLE = b"city,people\nOslo,717710\n"
NET = "layer = 'dropout'\n"
URL = "https://data.example/"


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
    assert len(commands) == 6
    programs = [one for one in blocks if one.kind == "python"]
    (folder / "git").mkdir()
    with FakeFiles() as server, GitServer(folder / "git") as repositories:
        server.put("/table.csv", TABLE, etag='"1"')
        model = repositories.make("model.git")
        first = model.commit({"net.py": NET})
        model.git("tag", "v1", first)
        second = model.commit({"net.py": NET, "README.md": "More.\n"})

        weights = repositories.make("weights.git")
        lfs = LfsServer(repositories)
        rule = "*.bin filter=lfs diff=lfs merge=lfs -text\n"
        net = lfs.put(bytes(300_000))
        weights.commit({".gitattributes": rule, "net.bin": net})
        lfs.serve(weights)

        def local(text: str) -> str:
            """The text with the places of the two servers."""
            for made in (model, weights):
                text = text.replace(f"{URL}{made.path.name}", made.url)
            return text.replace(URL, server.url("/"))

        places = f"{server.place}, {repositories.place}"
        text = configuration.text.replace("data.example", places)
        assert places in text
        for step in [step for block in commands for step in block.steps]:
            step.command = local(step.command)
        for program in programs:
            program.text = local(program.text)
        place = folder / ".config" / "hearth" / "hearth.cfg"
        place.parent.mkdir(parents=True)
        place.write_text(f"{text}\nfetch\n    dir = {folder}/fetch\n")
        shell = Shell(folder)
        try:
            for block in commands:
                run_commands(shell, block, "docs/guide/fetching.md")
            files, code = (
                run_python(shell, program, "docs/guide/fetching.md")
                for program in programs
            )
            assert files.startswith("data/table.csv 24 ")
            assert "elsewhere.example is not permitted here" in files
            assert code == f"model main {len(second)}\n{NET!r}\n"
        finally:
            shell.close()
    assert server.count("/table.csv") == 4  # three found no change
