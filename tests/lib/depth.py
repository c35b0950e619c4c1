"""Long lists of hostile cases: the first depth of the tests takes some of each
list, `./dev test all` takes the rest."""

from __future__ import annotations

from typing import Any, Sequence

import pytest

EVERY = 3  # one case in three is in the first depth


def spread(cases: Sequence[Any]) -> list[Any]:
    """For parametrize: tuples, or values of one parameter."""
    return [
        case if n % EVERY == 0 else deep(case) for n, case in enumerate(cases)
    ]


def deep(case: Any) -> Any:
    """A case that only `./dev test all` runs."""
    values = case if isinstance(case, tuple) else (case,)
    return pytest.param(*values, marks=pytest.mark.deep)
