"""An index, a gateway's folder of packages, and the worker's package."""

from __future__ import annotations

import shutil
import socket
import sys
from pathlib import Path
from typing import Callable, Iterator

import pytest

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "lib"))
pytest.register_assert_rewrite("fake_index", "worker")

from fake_index import FakeIndex  # noqa: E402
from worker import KINDS, PACKAGE, Folder, open_place  # noqa: E402

sys.path.insert(0, PACKAGE)

from accepting import Accepting, Serve  # noqa: E402
from hearth_downloads.core.gateway import Gateway  # noqa: E402
from hearth_downloads.core.proxy import Bounds  # noqa: E402
from hearth_downloads.packages.rules import Rules  # noqa: E402
from proxying import LONG, RunningProxy, answer_plainly  # noqa: E402


@pytest.fixture
def index() -> Iterator[FakeIndex]:
    with FakeIndex() as made:
        yield made


@pytest.fixture
def place() -> Iterator[Path]:
    with open_place() as path:
        yield path


@pytest.fixture
def gateway() -> Iterator[Gateway]:
    mine, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with mine, theirs:
        yield Gateway(theirs)


@pytest.fixture(scope="session")
def uv() -> None:
    """Skip where there is none (tests/requirements/tests.lock)."""
    beside = Path(sys.executable).parent / "uv"
    if not beside.exists() and shutil.which("uv") is None:
        pytest.skip(f"no uv beside {sys.executable} nor in PATH")


@pytest.fixture
def folder(uv: None, place: Path, index: FakeIndex) -> Folder:
    made = Folder(place / "packages")
    made.settings["index"] = index.url
    return made


@pytest.fixture(params=KINDS)
def any_folder(
    uv: None, request: pytest.FixtureRequest, place: Path, index: FakeIndex
) -> Folder:
    """Make one for each way in which a worker runs.

    It is for what that changes: who owns a folder, who may end a process. What
    is resolved, judged and said is the same in all of them.
    """
    made = Folder(place / "packages", request.param)
    made.settings["index"] = index.url
    return made


@pytest.fixture
def servers() -> Iterator[Callable[..., Accepting]]:
    made: list[Accepting] = []

    def make(serve: Serve = answer_plainly) -> Accepting:
        made.append(Accepting(serve))
        return made[-1]

    yield make
    for server in made:
        server.close()


@pytest.fixture
def proxies() -> Iterator[Callable[..., RunningProxy]]:
    made: list[RunningProxy] = []

    def make(
        rules: Rules,
        max_bytes: int = 1 << 20,
        silence: float = LONG,
        takes_posts: bool = False,
    ) -> RunningProxy:
        made.append(
            RunningProxy(rules, Bounds(max_bytes, silence, takes_posts))
        )
        return made[-1]

    yield make
    for running in made:
        running.close()
