"""How long tests wait, and for what."""

from __future__ import annotations

import os
import time
from typing import Callable, Literal, TypeVar, Union

# Generous: it only says that nothing will come any more.
DEADLINE = float(os.environ.get("HEARTH_DEADLINE", "120"))

T = TypeVar("T")


def wait_for(
    condition: Callable[[], Union[T, Literal[False], None]],
    what: str,
    deadline: float = DEADLINE,
) -> T:
    """The condition's first true value."""
    end = time.monotonic() + deadline
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"not within {deadline:g} s: {what}")
        time.sleep(0.02)
