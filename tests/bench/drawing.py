"""The table as a picture: what a session costs, by how many there are."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot
from matplotlib.axes import Axes

PANELS = (
    ("start_ms", "create → first result", "ms"),
    ("trip_ms", "round trip of 1+1, p50", "ms"),
    ("memory_mb", "memory of all, a session", "MB"),
)


Series = dict[str, list[dict[str, float]]]


def draw_panel(axes: Axes, series: Series, key: str) -> None:
    for side, points in series.items():
        known = [point for point in points if math.isfinite(point[key])]
        axes.plot(
            [point["sessions"] for point in known],
            [point[key] for point in known],
            marker="o",
            label=side,
        )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("sessions alive")
    axes.grid(True, which="both", alpha=0.25)


def known_panels(series: Series) -> list[tuple[str, str, str]]:
    """Memory is not known where others' processes may not be looked at."""
    return [
        panel
        for panel in PANELS
        if all(
            any(math.isfinite(point[panel[0]]) for point in points)
            for points in series.values()
        )
    ]


def draw(document: dict[str, Any], path: Path) -> None:
    """Needs the part `scale`; of every other side one or two points do."""
    wanted = known_panels(document["series"])
    figure, panels = pyplot.subplots(
        1, len(wanted), figsize=(4.4 * len(wanted), 4.2), squeeze=False
    )
    for axes, (key, title, unit) in zip(panels[0], wanted, strict=True):
        draw_panel(axes, document["series"], key)
        axes.set_title(f"{title}, {unit}")
    panels[0][0].legend()
    about = document["machine"]
    figure.suptitle(
        f"{about['cpu']}, {about['cpus']} processors, Linux"
        f" {about['kernel']}, Python {about['python']}",
        fontsize=9,
    )
    figure.tight_layout()
    figure.savefig(path, dpi=110, metadata={"Software": None})
    pyplot.close(figure)
