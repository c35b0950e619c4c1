"""What the benchmark counts of downloads: files, pages in memory, room."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.append(str(Path(__file__).resolve().parents[1] / "lib"))
sys.path.append(str(Path(__file__).resolve().parents[1] / "system"))

import copying
import installing
import outside
from installing import count_cached, find_files


def test_a_file_with_two_names_counts_once(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * 8192)
    found = find_files(tmp_path)
    (tmp_path / "b").mkdir()
    with_folder = find_files(tmp_path)
    os.link(tmp_path / "a", tmp_path / "b" / "a")
    os.symlink(tmp_path / "a", tmp_path / "b" / "c")
    after = find_files(tmp_path)
    assert len(found) == 2
    assert len(with_folder) == 3
    assert len(after) == 4  # the link itself; not what it leads to
    assert sum(size for size, _ in found.values()) >= 8192
    assert sum(size for size, _ in after.values()) < 2 * 8192 + 4 * 4096


def test_pages_in_memory_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(os.urandom(10 * outside_page()))
    assert count_cached(str(path)) == 10 * outside_page()
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
        os.posix_fadvise(number, 0, 0, os.POSIX_FADV_DONTNEED)
        left = count_cached(str(path))
    finally:
        os.close(number)
    # What lies in memory anyway (tmpfs) cannot be forgotten.
    assert left in (0, 10 * outside_page())
    (tmp_path / "empty").touch()
    assert count_cached(str(tmp_path / "empty")) == 0
    assert count_cached(str(tmp_path)) == 0


def outside_page() -> int:
    return os.sysconf("SC_PAGESIZE")


@pytest.mark.parametrize(
    ("memory", "disk", "size", "where"),
    [
        (6_000_000_000, 0, 1_000_000_000, "memory"),
        (5_999_999_999, 60_000_000_000, 1_000_000_000, "disk"),
        (0, 600_999_999, 100_000_000, "disk"),
    ],
)
def test_a_file_has_room(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    memory: int,
    disk: int,
    size: int,
    where: str,
) -> None:
    (tmp_path / "memory").mkdir()
    monkeypatch.setattr(outside, "MEMORY", tmp_path / "memory")
    monkeypatch.setattr(
        outside, "free", lambda top: disk if top == tmp_path else memory
    )
    with outside.open_place(tmp_path) as place:
        assert place.file_bytes == size
        assert place.note.endswith(where)
        assert (place.path.parent == tmp_path) == (where == "disk")
    assert not place.path.exists()


class Side:
    """Takes a time of its own for all that it is asked for."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self.folder = folder
        self.side = self.client = self

    def do(self, *words: object, **named: object) -> None:
        pass

    add = use = remove = forget = install = execute = do


def test_each_figure_has_its_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours: Any = Side("hearth", tmp_path)
    other: Any = Side("uv", tmp_path)
    monkeypatch.setattr(installing, "SESSIONS", 2)
    monkeypatch.setattr(installing, "timed", lambda do: 1.0)
    monkeypatch.setattr(installing, "kernel_of", contextlib.nullcontext)
    found = [
        installing.measure_cached(ours, [other], 1),
        *(
            installing.measure_cold(ours, [other], 1, name)
            for name in installing.COLD
        ),
        *installing.measure_shared(ours),
    ]
    assert all(0 < figure.least < 1 for figure in found)
    assert found[0].most == 300
    assert all(0 < least < 1 for _, least in copying.RATES.values())


def test_a_program_that_fails_is_no_figure() -> None:
    with pytest.raises(Exception, match=r"sh.*reason"):
        outside.run("sh", "-c", "echo reason; exit 1")
    assert outside.timed(lambda: outside.run("true")) > 0
    assert outside.find("no-such-program-of-the-bench") is None
