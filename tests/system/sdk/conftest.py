"""The Python client, on a gateway that it finds as a user's program would."""

from __future__ import annotations

import sys
from typing import Iterator

import pytest
from harness import ROOT, Gateway

sys.path.insert(0, str(ROOT / "clients" / "python" / "src"))

import hearth
from surroundings import live_as


@pytest.fixture
def user(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> Gateway:
    live_as(gateway, monkeypatch)
    return gateway


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gateway]:
    """A gateway that the test may end."""
    gateway = Gateway()
    live_as(gateway, monkeypatch)
    try:
        yield gateway.start()
    finally:
        gateway.end()


@pytest.fixture
def sync_session(user: Gateway) -> Iterator[hearth.Session]:
    with hearth.session() as made:
        yield made
