"""The wheels in uv's cache, of which some are not as uv has unpacked them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from fake_index import FakeIndex
from hearth_downloads.packages.unpacked import UNPACKED
from worker import Folder


@pytest.fixture
def used(folder: Folder, index: FakeIndex) -> Folder:
    """Make a folder with a job in the past."""
    index.add("a", "1", {"a/x.py": "X = 1"})
    index.add("b", "1")
    folder.do("add", "a")
    return folder


def find(folder: Folder, name: str) -> Path:
    """Return that file of a wheel in the cache."""
    cache = folder.path / "work" / "uv" / "cache" / "archive-v0"
    (found,) = cache.glob(f"*/{name}")
    return found


def restart(folder: Folder) -> None:
    """Have the note be of another start of the machine."""
    note = folder.path / "work" / UNPACKED
    note.write_text(json.dumps({**json.loads(note.read_text()), "boot": "x"}))


def see_again(folder: Folder) -> str:
    folder.do("add", "a", token="1" * 32)
    return folder.read("a/x.py", token="1" * 32)


@pytest.mark.parametrize("how", ["cut", "gone", "longer"])
def test_a_damaged_wheel_is_unpacked_again(
    used: Folder, index: FakeIndex, how: str
) -> None:
    file = find(used, "a/x.py")
    if how == "gone":
        file.unlink()
    else:
        file.write_text("X = 2\n" * 9 if how == "longer" else "")
    assert see_again(used) == "X = 1"
    assert find(used, "a/x.py").read_text() == "X = 1"
    assert index.downloads("a") == 2


def test_others_are_used_as_they_are(used: Folder, index: FakeIndex) -> None:
    restart(used)
    os.truncate(find(used, "a/x.py"), 0)
    used.do("add", "b", token="1" * 32)
    assert used.do("add", "b", token="2" * 32)["added"]
    restart(used)
    assert used.do("add", "b", token="3" * 32)["added"]
    assert index.downloads("b") == 1


@pytest.mark.parametrize("text", ["", "[1]", '{"boot": "x", "wheels": {}}'])
def test_what_was_not_noted_before_a_restart_is_not_used(
    used: Folder, index: FakeIndex, text: str
) -> None:
    """A worker was killed, and then the power failed."""
    (used.path / "work" / UNPACKED).write_text(text)
    assert see_again(used) == "X = 1"
    assert index.downloads("a") == 2


def test_what_was_not_noted_since_a_restart_is_used(
    used: Folder, index: FakeIndex
) -> None:
    note = used.path / "work" / UNPACKED
    boot = json.loads(note.read_text())["boot"]
    note.write_text(json.dumps({"boot": boot, "wheels": {}}))
    assert see_again(used) == "X = 1"
    # An older hearth has noted nothing.
    note.unlink()
    used.do("add", "a", token="2" * 32)
    assert index.downloads("a") == 1
