"""The last run that was kept, and whether this one is worse.

Ratios are compared, not times: they say the same on a slower machine. Only what
was promised in milliseconds or tokens is judged by that.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from figures import OURS

RECORD = Path(__file__).with_name("last.json")
WORSE = 0.75  # of the ratio that was


def ratios(document: dict[str, Any]) -> dict[str, float]:
    """By figure and side; more is better in each."""
    found = {}
    for figure in document["figures"]:
        for side, ratio in figure["ratios"].items():
            if ratio is not None and math.isfinite(ratio):
                found[f"{figure['name']}: {side}"] = ratio
    return found


def keep(document: dict[str, Any]) -> None:
    """Keep the figures of this run, beside those of earlier ones."""
    kept = ratios(read()) if RECORD.exists() else {}
    kept.update(ratios(document))
    text = json.dumps(
        {"machine": document["machine"], "ratios": kept}, indent=2
    )
    RECORD.write_text(text + "\n")


def read() -> dict[str, Any]:
    """The record in the form of a document."""
    raw = json.loads(RECORD.read_text())
    figures = []
    for key, ratio in raw["ratios"].items():
        name, _, side = key.rpartition(": ")
        figures.append({"name": name, "ratios": {side: ratio}})
    return {"machine": raw["machine"], "figures": figures}


def regressions(document: dict[str, Any]) -> list[str]:
    """A sentence for each ratio that lost more than a quarter, or that is less
    than it must be whatever was kept; raises FileNotFoundError when no run was
    ever kept."""
    before, now = ratios(read()), ratios(document)
    least = {
        figure["name"]: figure.get("least", 0) for figure in document["figures"]
    }
    return [
        f"{name}: {now[name]:.2f}x, the last run had {before[name]:.2f}x"
        for name in sorted(before.keys() & now.keys())
        if now[name] < WORSE * before[name]
    ] + [
        f"{name}: {ratio:.2f}x, it must be {least[figure]:.2f}x"
        for name, ratio in sorted(now.items())
        if ratio < least[figure := name.rpartition(": ")[0]]
    ]


def past_bounds(document: dict[str, Any]) -> list[str]:
    """A sentence for each figure that is more than it may be."""
    found = []
    for figure in document["figures"]:
        name, unit = figure["name"], figure.get("unit", "")
        most, more = figure.get("most"), figure.get("most_more")
        medians = {
            side: values["median"] for side, values in figure["sides"].items()
        }
        if OURS not in medians:
            continue
        ours = medians.pop(OURS)
        if most is not None and ours > most:
            found.append(f"{name}: {ours:.2f} {unit}, at most {most:g}")
        if more is not None:
            found += [
                f"{name}: {ours:.2f} {unit}, {side} {theirs:.2f}: "
                f"at most {more:g} more"
                for side, theirs in medians.items()
                if ours > theirs + more
            ]
    return found
