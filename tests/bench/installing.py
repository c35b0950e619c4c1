"""Packages for a session, beside pip and uv in a virtual environment.

All ask one index of the benchmark's own, and each has its own cache. What many
sessions share is counted, and not timed.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import random
import shutil
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Union

from fake_index import FakeIndex
from figures import OURS, Figure
from outside import find, run, timed
from sides import Hearth, Kernel, kernel_of

PAIR = ("first", "second")
TEN = tuple(f"many{number}" for number in range(10))
# Modules, bytes of each, and the least ratio to uv and to pip. uv's 1.2 times
# are reached with a small one alone.
COLD = {"small": (5, 5_000, 1 / 1.2), "large": (1500, 40_000, 0.3)}
SESSIONS = 100
WORDS = [f"word{number}" for number in range(2000)]
PAGE = mmap.PAGESIZE

Content = Union[str, bytes]


def make_text(chance: random.Random, size: int) -> str:
    """Return a module that packs as source code does, to about a third."""
    words = chance.choices(WORDS, k=size // 9)
    lines = (" ".join(words[at : at + 9]) for at in range(0, len(words), 9))
    return "".join(f"# {line}\n" for line in lines)


def make_files(name: str, count: int, size: int) -> dict[str, Content]:
    """Return a package with `count` modules, two of which are imported."""
    chance = random.Random(name)
    files: dict[str, Content] = {
        f"{name}/part{number}.py": make_text(chance, size)
        for number in range(count - 1)
    }
    files[f"{name}/__init__.py"] = f"from {name} import part0\n"
    return files


def fill(index: FakeIndex) -> None:
    for name in (*PAIR, *TEN):
        index.add(name, "1.0", make_files(name, 60, 10_000))
    for name, (count, size, _) in COLD.items():
        index.add(name, "1.0", make_files(name, count, size))


class Installer:
    """pip or uv, with an environment and a cache of its own."""

    def __init__(self, name: str, folder: Path, index: FakeIndex) -> None:
        self.name = name
        self.index = index
        self.cache = folder / f"cache-{name}"
        venv = folder / f"venv-{name}"
        run(sys.executable, "-m", "venv", venv)
        self.python = venv / "bin/python"

    def do(self, order: str, *words: object) -> None:
        start: list[object] = [self.python, "-m", "pip", order]
        if self.name == "uv":
            start = [find("uv"), "pip", order, "--python", self.python]
        run(
            *start,
            "-q",
            *words,
            PIP_CACHE_DIR=str(self.cache),
            PIP_DISABLE_PIP_VERSION_CHECK="1",
            UV_CACHE_DIR=str(self.cache),
        )

    def install(self, *names: str) -> None:
        self.do("install", "--index-url", self.index.url, *names)

    def use(self, *names: str) -> None:
        """Install, and import what was installed."""
        self.install(*names)
        run(self.python, "-c", f"import {', '.join(names)}")

    def remove(self, *names: str) -> None:
        self.do("uninstall", *([] if self.name == "uv" else ["-y"]), *names)

    def forget(self) -> None:
        shutil.rmtree(self.cache, ignore_errors=True)


class Packages:
    """Sessions of a gateway, and the folder of its packages."""

    def __init__(self, side: Hearth, folder: Path) -> None:
        self.side = side
        self.folder = folder

    def add(self, kernel: Kernel, *names: str) -> None:
        about = {"id": kernel.id, "order": "add", "names": names}
        self.side.ask("packages", about)

    def use(self, kernel: Kernel, *names: str) -> None:
        """Add them, and import what was added."""
        self.add(kernel, *names)
        kernel.client.execute(f"import {', '.join(names)}")

    def forget(self) -> None:
        """Remove uv's cache, which no job uses."""
        shutil.rmtree(self.folder / "work" / "uv", ignore_errors=True)


def measure_cached(
    packages: Packages, others: list[Installer], rounds: int
) -> Figure:
    """From the request until two packages are imported that came before."""
    figure = Figure(
        "two cached packages, until imported",
        "ms",
        "300 ms",
        least=0.4,
        most=300,
    )
    for number in range(rounds + 1):
        with kernel_of(packages.side) as kernel:
            times = {OURS: timed(lambda: packages.use(kernel, *PAIR))}
        for other in others:
            times[other.name] = timed(lambda: other.use(*PAIR))
            other.remove(*PAIR)
        if number:  # the first round fills the caches
            for side, took in times.items():
                figure.add(side, took)
    return figure


def measure_cold(
    packages: Packages, others: list[Installer], rounds: int, name: str
) -> Figure:
    """From the request until it is installed; no cache has anything of it."""
    figure = Figure(
        f"a {name} package that is not cached",
        "ms",
        "1.2x of uv",
        least=COLD[name][2],
    )
    for _ in range(rounds):
        with kernel_of(packages.side) as kernel:
            packages.forget()
            figure.add(OURS, timed(lambda: packages.add(kernel, name)))
        for other in others:
            other.forget()
            figure.add(other.name, timed(lambda: other.install(name)))
            other.remove(name)
    return figure


def measure_shared(packages: Packages) -> list[Figure]:
    """Count what a hundred sessions with ten packages have, and one."""
    disk = Figure(
        "disk, 100 sessions with 10 packages",
        "MB",
        "one and names",
        least=0.2,
    )
    memory = Figure(
        "their part of the page cache", "MB", "that of one", least=0.33
    )
    before = count(packages.folder)
    with ExitStack() as stack:
        for number in range(SESSIONS):
            kernel = stack.enter_context(kernel_of(packages.side))
            packages.use(kernel, *TEN)
            if number in (0, SESSIONS - 1):
                side = OURS if number else "one session"
                after = count(packages.folder)
                disk.add(side, (after[0] - before[0]) / 1e6)
                memory.add(side, (after[1] - before[1]) / 1e6)
                disk.note = f"{after[2] - before[2]} files and folders"
    return [disk, memory]


def count(top: Path) -> tuple[int, int, int]:
    """Return bytes on the disk and in the page cache, and the number."""
    found = find_files(top).values()
    sizes, cached = (sum(one[at] for one in found) for at in (0, 1))
    return sizes, cached, len(found)


def find_files(top: Path) -> dict[tuple[int, int], tuple[int, int]]:
    """Return bytes on the disk and in the page cache, by file."""
    found = {}
    for folder, _, names in os.walk(top):
        for path in (folder, *(os.path.join(folder, one) for one in names)):
            about = os.lstat(path)
            key = (about.st_dev, about.st_ino)
            if key not in found:
                found[key] = (512 * about.st_blocks, count_cached(path))
    return found


def count_cached(path: str) -> int:
    """Return how many bytes of a plain file are in memory (mincore(2))."""
    if os.path.islink(path) or not os.path.isfile(path):
        return 0
    size = os.path.getsize(path)
    if size == 0:
        return 0
    with open(path, "rb") as file:
        content = mmap.mmap(file.fileno(), size, mmap.MAP_PRIVATE)
    count = -(-size // PAGE)
    pages = ctypes.create_string_buffer(count)
    address = ctypes.addressof(ctypes.c_char.from_buffer(content))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mincore(ctypes.c_void_p(address), ctypes.c_size_t(size), pages):
        raise OSError(ctypes.get_errno(), "mincore")
    return PAGE * sum(one & 1 for one in pages.raw)


def measure_installing(
    side: Hearth, folder: Path, index: FakeIndex, rounds: int
) -> Iterator[list[Figure]]:
    packages = Packages(side, folder / "packages")
    others = [Installer(name, folder, index) for name in ("uv", "pip")]
    yield [measure_cached(packages, others, rounds)]
    for name in COLD:
        yield [measure_cold(packages, others, rounds, name)]
    yield measure_shared(packages)
