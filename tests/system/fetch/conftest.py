"""A server of files, a gateway's folder, and the worker's package."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Iterator

import pytest

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "lib"))
pytest.register_assert_rewrite("downloading", "fake_files", "fetching")

from fake_files import FakeFiles  # noqa: E402
from fetching import KINDS, PACKAGE, Folder, open_place  # noqa: E402

sys.path.insert(0, PACKAGE)


@pytest.fixture
def server() -> Iterator[FakeFiles]:
    with FakeFiles() as made:
        yield made


@pytest.fixture
def place() -> Iterator[Path]:
    with open_place() as path:
        yield path


@pytest.fixture
def folder(place: Path, server: FakeFiles) -> Folder:
    made = Folder(place / "fetch")
    made.settings["allow"] = [server.place]
    return made


@pytest.fixture(params=KINDS)
def any_folder(
    request: pytest.FixtureRequest, place: Path, server: FakeFiles
) -> Folder:
    """Make one for each way in which a worker runs.

    It is for what that changes: who owns a file, who may end a process.
    """
    made = Folder(place / "fetch", request.param)
    made.settings["allow"] = [server.place]
    return made
