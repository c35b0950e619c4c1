"""All walls stand: no case gets through, and each is stopped as its table
says. `./dev hostile` does the same without pytest, and more."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "system"))

from .case import MODES, Case
from .suite import CASES, Suite, fits


@pytest.fixture(scope="module", params=MODES)
def suite(request: pytest.FixtureRequest) -> Iterator[Suite]:
    if request.param != "user" and os.getuid() != 0:
        pytest.skip("only root can run the gateway as a service")
    made = Suite(request.param)
    try:
        yield made.start()
    finally:
        made.close()


@pytest.mark.parametrize(
    "case", CASES, ids=[f"{case.category}/{case.id}" for case in CASES]
)
def test_is_stopped(suite: Suite, case: Case) -> None:
    if not fits(case, suite.mode):
        pytest.skip("not in this mode, or not on this machine")
    assert not suite.run(case).surprise


def test_there_are_enough() -> None:
    """And each has a name of its own."""
    names = [case.id for case in CASES]
    assert len(set(names)) == len(names) >= 120
