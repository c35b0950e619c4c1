"""The rows of the table: how they are added up, said and kept."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import median
from typing import Any


@dataclass
class Figure:
    """One row of the table; values in `unit`, hearth first."""

    name: str
    unit: str
    must: str
    hearth: list[float] = field(default_factory=list)
    ipykernel: list[float] = field(default_factory=list)
    note: str = ""

    def add(self, side: str, value: float) -> None:
        (self.hearth if side == "hearth" else self.ipykernel).append(value)

    def ratio(self) -> float:
        if not self.hearth or not self.ipykernel:
            return float("nan")
        return median(self.ipykernel) / median(self.hearth)

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "unit": self.unit,
            "must": self.must,
            "note": self.note,
            "ratio": self.ratio(),
            **{
                side: {
                    "median": median(values),
                    "min": min(values),
                    "max": max(values),
                    "values": values,
                }
                for side, values in (
                    ("hearth", self.hearth),
                    ("ipykernel", self.ipykernel),
                )
                if values
            },
        }


def percentile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def say(figures: list[Figure]) -> None:
    for figure in figures:
        cells = [
            f"{median(values):10.2f} [{min(values):.2f}..{max(values):.2f}]"
            if values
            else f"{'-':>10}"
            for values in (figure.hearth, figure.ipykernel)
        ]
        ratio = f"{figure.ratio():.1f}x" if figure.ipykernel else "-"
        print(
            f"{figure.name:<46} {figure.unit:<3} {cells[0]:<32}"
            f" {cells[1]:<32} {ratio:>8}  {figure.must:<12} {figure.note}",
            flush=True,
        )
