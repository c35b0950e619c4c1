"""Fixtures: a running gateway, a session in it, a client of that."""

from __future__ import annotations

from typing import Iterator

import pytest

pytest.register_assert_rewrite("harness")

from harness import Client, Gateway, Session  # noqa: E402


@pytest.fixture(scope="module")
def gateway() -> Iterator[Gateway]:
    """One for a module; modules that end theirs make it one for each test."""
    running = Gateway()
    try:
        running.start()
        yield running
    finally:
        running.end()


@pytest.fixture
def session(gateway: Gateway) -> Iterator[Session]:
    made = gateway.create()
    yield made
    made.delete()


@pytest.fixture
def client(session: Session) -> Iterator[Client]:
    with session.client() as made:
        yield made
