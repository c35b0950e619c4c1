"""Fixtures: a gateway's HTTP side, a kernel in it, a WebSocket to that."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Iterator

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
pytest.register_assert_rewrite("contract", "desk", "web")

from desk import Desk  # noqa: E402
from harness import Gateway  # noqa: E402
from web import Kernel, Web  # noqa: E402


@pytest.fixture(scope="module")
def web(gateway: Gateway) -> Web:
    return Web.of(gateway)


@pytest.fixture
def kernel(web: Web) -> Iterator[Kernel]:
    made = Kernel(web, web.create())
    yield made
    made.close()


@pytest.fixture(scope="module")
def desk(web: Web) -> Iterator[Desk]:
    kernel = Kernel(web, web.create())
    yield Desk(web, kernel)
    kernel.close()


@pytest.fixture
def empty(desk: Desk) -> Iterator[None]:
    """Each test finds the workspace empty."""
    yield
    for entry in desk.folder.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()
