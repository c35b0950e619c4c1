"""Names of packages, and the lists by which they are permitted."""

from __future__ import annotations

import re
from collections.abc import Iterable


def normalise(name: str) -> str:
    """Return the name as PEP 503 has it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def matches(name: str, patterns: Iterable[str]) -> bool:
    """Return true if a pattern is the name, or its beginning and `*`."""
    for pattern in patterns:
        if pattern.endswith("*"):
            if name.startswith(normalise(pattern[:-1])):
                return True
        elif normalise(pattern) == name:
            return True
    return False
