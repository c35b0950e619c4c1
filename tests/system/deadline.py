"""How long tests wait, and for what."""

from __future__ import annotations

import os
import time
from typing import Callable, Literal, TypeVar, Union

# Generous: it only says that nothing will come any more.
DEADLINE = float(os.environ.get("HEARTH_DEADLINE", "120"))

# Between two looks, in seconds.
PAUSE = 0.02
PAUSE_MAX = 0.2

T = TypeVar("T")


def wait_for(
    condition: Callable[[], Union[T, Literal[False], None]],
    what: str,
    deadline: float = DEADLINE,
) -> T:
    """The condition's first true value.

    A look that takes long, as one that starts a program does, is rare: it
    would take the processor from what the test waits for.
    """
    end = time.monotonic() + deadline
    while True:
        begun = time.monotonic()
        value = condition()
        if value:
            return value
        now = time.monotonic()
        if now > end:
            raise AssertionError(f"not within {deadline:g} s: {what}")
        time.sleep(min(max(PAUSE, 4 * (now - begun)), PAUSE_MAX))
