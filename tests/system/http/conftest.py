"""Fixtures: a gateway's HTTP side, a kernel in it, a WebSocket to that."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Iterator

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
pytest.register_assert_rewrite("web")

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
