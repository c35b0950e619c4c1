"""Fixtures: a gateway's HTTP side, a kernel in it, a WebSocket to that."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Iterator

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
pytest.register_assert_rewrite("contract", "raw_requests", "workspace", "web")

from harness import Gateway, started  # noqa: E402
from web import Kernel, Web  # noqa: E402

from workspace import Workspace  # noqa: E402


@pytest.fixture(scope="module")
def web(gateway: Gateway) -> Web:
    return Web.of(gateway)


@pytest.fixture
def _goes_on(web: Web) -> Iterator[None]:
    """The gateway still serves after the test."""
    yield
    assert web.get("/api/kernels").status == 200


@pytest.fixture
def mortal() -> Iterator[Gateway]:
    """A running gateway that the test may kill and start again."""
    with started(Gateway()) as running:
        yield running


@pytest.fixture
def kernel(web: Web) -> Iterator[Kernel]:
    made = Kernel(web, web.create())
    yield made
    made.close()


@pytest.fixture(scope="module")
def workspace(web: Web) -> Iterator[Workspace]:
    kernel = Kernel(web, web.create())
    yield Workspace(web, kernel)
    kernel.close()


@pytest.fixture
def empty(workspace: Workspace) -> Iterator[None]:
    """Each test finds the workspace empty."""
    yield
    for entry in workspace.folder.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()
