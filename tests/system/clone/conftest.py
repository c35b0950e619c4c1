"""A server of repositories, a gateway's folder, and the worker's package."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Iterator

import pytest

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "lib"))
pytest.register_assert_rewrite(
    "cloning", "downloading", "git_server", "lfs_server"
)

from cloning import Folder  # noqa: E402
from downloading import KINDS, PACKAGE, open_place  # noqa: E402
from git_server import GitServer  # noqa: E402

sys.path.insert(0, PACKAGE)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GitServer]:
    with GitServer(tmp_path_factory.mktemp("served")) as made:
        yield made


@pytest.fixture
def place() -> Iterator[Path]:
    with open_place() as path:
        yield path


@pytest.fixture
def folder(place: Path, server: GitServer) -> Folder:
    made = Folder(place / "fetch")
    made.settings["allow"] = [server.place]
    return made


@pytest.fixture(params=KINDS)
def any_folder(
    request: pytest.FixtureRequest, place: Path, server: GitServer
) -> Folder:
    """Make one for each way in which a worker runs."""
    made = Folder(place / "fetch", request.param)
    made.settings["allow"] = [server.place]
    return made
