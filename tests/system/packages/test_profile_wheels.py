"""The wheels by which uv knows the profile's packages, kept for all jobs."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from fake_index import FakeIndex
from hearth_downloads.packages import profile_wheels
from worker import Folder


@pytest.fixture
def used(folder: Folder, index: FakeIndex) -> Folder:
    """Make a folder with a job in the past, and an index that has more."""
    for name in ("a", "b"):
        index.add(name, "1", requires=["numpy"])
    folder.do("add", "a")
    return folder


def find_set(folder: Folder) -> Path:
    (found,) = (folder.path / "work" / "profile-wheels").iterdir()
    return found


def make(folder: Path) -> None:
    """Make a folder of the worker's."""
    folder.mkdir()
    about = folder.parent.stat()
    os.chown(folder, about.st_uid, about.st_gid)


def look(folder: Path) -> dict[str, tuple[int, int]]:
    """Return which file each is, and its size."""
    return {
        path.name: (path.stat().st_ino, path.stat().st_size)
        for path in folder.iterdir()
    }


def test_the_next_job_writes_none(used: Folder) -> None:
    before = look(find_set(used))
    assert any(name.startswith("numpy-") for name in before)
    used.do("add", "b")
    assert look(find_set(used)) == before


@pytest.mark.parametrize(
    "how", ["cut", "zeros", "gone", "more", "file", "link"]
)
def test_a_set_that_is_not_whole_is_made_again(used: Folder, how: str) -> None:
    kept = find_set(used)
    before = {name: size for name, (_, size) in look(kept).items()}
    (wheel,) = kept.glob("numpy-*")
    if how == "cut":
        os.truncate(wheel, 0)
    elif how == "zeros":  # as a power loss leaves them
        wheel.write_bytes(bytes(wheel.stat().st_size))
    elif how == "gone":
        wheel.unlink()
    elif how == "more":
        shutil.copy(wheel, kept / "b-2-py3-none-any.whl")
    else:
        shutil.rmtree(kept)
        kept.symlink_to("/etc") if how == "link" else kept.touch()
    assert used.do("add", "b")["added"] == [{"name": "b", "version": "1"}]
    after = {name: size for name, (_, size) in look(find_set(used)).items()}
    assert after == before
    assert find_set(used) == kept


def test_sets_are_bounded(used: Folder) -> None:
    kept = find_set(used)
    for number in range(1, profile_wheels.FOLDERS_MAX):
        make(kept.parent / f"{number:032x}")
    used.do("add", "b")
    assert len(os.listdir(kept.parent)) == profile_wheels.FOLDERS_MAX
    shutil.rmtree(kept)
    make(kept.parent / "another")
    used.do("add", "a", token="1" * 32)
    assert os.listdir(kept.parent) == [kept.name]


def test_uv_cannot_write_there(used: Folder) -> None:
    """Else it could give other sessions what it likes."""
    program = used.path.parent / "uv"
    program.write_text(
        "#!/bin/sh\n"
        "for one in /profile-wheels/x /profile-wheels/numpy-*; do\n"
        '    echo x > "$one" && echo "error: written" >&2\n'
        "done 2>/workspace/said\n"
        "echo error: $(head -c 300 /workspace/said) >&2; exit 1\n"
    )
    program.chmod(0o755)
    before = look(find_set(used))
    with pytest.raises(Exception, match="Read-only file system"):
        used.do("add", "b", uv=str(program))
    assert look(find_set(used)) == before
