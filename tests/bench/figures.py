"""The rows of the table: how they are added up, said and kept."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from statistics import median
from typing import Any

OURS = "hearth"
THEIRS = "ipykernel"  # what the ratio is to


@dataclass
class Figure:
    """One row of the table: values in `unit`, by side."""

    name: str
    unit: str
    must: str
    values: dict[str, list[float]] = field(default_factory=dict)
    note: str = ""
    # What `--check` permits, whatever the last run had.
    least: float = 0.0  # of each ratio
    most: float | None = None  # of our median
    most_more: float | None = None  # our median than each other side's

    def add(self, side: str, value: float) -> None:
        self.values.setdefault(side, []).append(value)

    def ratio(self, side: str = THEIRS) -> float:
        """How many times as much as ours; not a number when one lacks."""
        if not self.values.get(OURS) or not self.values.get(side):
            return float("nan")
        return median(self.values[side]) / median(self.values[OURS])

    def as_json(self) -> dict[str, Any]:
        ratios = {
            side: self.ratio(side) for side in self.values if side != OURS
        }
        return {
            "name": self.name,
            "unit": self.unit,
            "must": self.must,
            "note": self.note,
            "least": self.least,
            "most": self.most,
            "most_more": self.most_more,
            "ratios": ratios,
            "sides": {
                side: {
                    "median": median(values),
                    "min": min(values),
                    "max": max(values),
                    "values": values,
                }
                for side, values in self.values.items()
                if values
            },
        }


def percentile(values: list[float], share: float) -> float:
    """The least of the values that is not exceeded by that share of them."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def spread(values: list[float] | None) -> str:
    if not values:
        return f"{'-':>10}"
    return f"{median(values):10.2f} [{min(values):.2f}..{max(values):.2f}]"


def say(figures: list[Figure]) -> None:
    """Print ours and ipykernel's as columns, then others with their ratios."""
    for figure in figures:
        ratio = f"{figure.ratio():.1f}x" if figure.values.get(THEIRS) else "-"
        others = [
            f"{side} {median(values):.2f} ({figure.ratio(side):.1f}x)"
            for side, values in figure.values.items()
            if side not in (OURS, THEIRS)
        ]
        rest = "; ".join([*others, figure.note] if figure.note else others)
        print(
            f"{figure.name:<46} {figure.unit:<3}"
            f" {spread(figure.values.get(OURS)):<32}"
            f" {spread(figure.values.get(THEIRS)):<32}"
            f" {ratio:>8}  {figure.must:<12} {rest}",
            flush=True,
        )
