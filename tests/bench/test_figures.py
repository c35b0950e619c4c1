"""What the benchmark counts with: medians, ratios, percentiles, the record."""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from pathlib import Path
from typing import Any

import bench
import pytest
import record
import recordings
import views
from figures import OURS, THEIRS, Figure, percentile


def figure_of(name: str, ours: float, theirs: float, least: float = 0) -> Any:
    figure = Figure(name, "ms", "", least=least)
    figure.add(OURS, ours)
    figure.add(THEIRS, theirs)
    return figure.as_json()


def document_of(*figures: Any) -> dict[str, Any]:
    return {"machine": {"cpus": 2}, "figures": list(figures)}


@pytest.fixture(autouse=True)
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "last.json"
    monkeypatch.setattr(record, "RECORD", path)
    return path


def test_a_ratio_is_how_many_times_our_median_theirs_is() -> None:
    figure = Figure("start", "ms", "")
    for value in (2, 1, 300):
        figure.add(OURS, value)
    for value in (10, 7, 8, 9000):
        figure.add(THEIRS, value)
    assert figure.ratio() == 4.5


def test_without_a_side_there_is_no_ratio() -> None:
    figure = Figure("start", "ms", "")
    figure.add(OURS, 1)
    assert math.isnan(figure.ratio())
    assert figure.as_json()["ratios"] == {}


@pytest.mark.parametrize(
    ("count", "share", "found"),
    [
        (1, 0.5, 1),
        (1, 0.99, 1),
        (2, 0.5, 1),
        (100, 0.5, 50),
        (100, 0.95, 95),
        (100, 0.99, 99),
        (200, 0.99, 198),
        (9, 0.99, 9),
        (9, 0.0, 1),
        (9, 1.0, 9),
    ],
)
def test_a_percentile_is_the_least_value_that_covers_its_share(
    count: int, share: float, found: int
) -> None:
    values = [float(number) for number in range(count, 0, -1)]
    assert percentile(values, share) == found


def test_kept_figures_are_read_again(kept: Path) -> None:
    record.keep(document_of(figure_of("a: b", 1, 4), figure_of("c", 2, 3)))
    assert json.loads(kept.read_text())["ratios"] == {
        "a: b: ipykernel": 4,
        "c: ipykernel": 1.5,
    }
    assert record.ratios(record.read()) == {
        "a: b: ipykernel": 4,
        "c: ipykernel": 1.5,
    }


def test_a_run_of_some_parts_keeps_the_others() -> None:
    record.keep(document_of(figure_of("a", 1, 4), figure_of("b", 1, 5)))
    record.keep(document_of(figure_of("b", 1, 6)))
    assert record.ratios(record.read()) == {
        "a: ipykernel": 4,
        "b: ipykernel": 6,
    }


def test_a_ratio_may_lose_a_quarter_and_no_more() -> None:
    record.keep(document_of(figure_of("a", 1, 100), figure_of("b", 1, 100)))
    assert record.regressions(document_of(figure_of("a", 1, 75))) == []
    assert record.regressions(
        document_of(figure_of("a", 1, 74), figure_of("b", 1, 200))
    ) == ["a: ipykernel: 74.00x, the last run had 100.00x"]


def test_a_figure_that_was_not_kept_is_not_compared() -> None:
    record.keep(document_of(figure_of("a", 1, 100)))
    assert record.regressions(document_of(figure_of("new", 100, 1))) == []


def test_less_than_a_figure_must_have_is_worse_whatever_was_kept() -> None:
    record.keep(document_of(figure_of("hog", 1, 0.4)))
    assert (
        record.regressions(document_of(figure_of("hog", 1, 0.5, least=0.5)))
        == []
    )
    assert record.regressions(
        document_of(figure_of("hog", 1, 0.4, least=0.5))
    ) == ["hog: ipykernel: 0.40x, it must be 0.50x"]


def bounded(ours: float, theirs: float, **bounds: float) -> Any:
    figure = Figure("call", "ms", "", **bounds)  # type: ignore[arg-type]
    for value in (ours, ours - 1, ours + 1000):
        figure.add(OURS, value)
    figure.add("by ZeroMQ", theirs)
    return document_of(figure.as_json())


def test_a_figure_past_its_bound_is_named() -> None:
    assert record.past_bounds(bounded(5, 1, most=5)) == []
    assert record.past_bounds(bounded(6, 1, most=5)) == [
        "call: 6.00 ms, at most 5"
    ]
    assert record.past_bounds(bounded(6, 3, most_more=3)) == []
    assert record.past_bounds(bounded(7, 3, most_more=3)) == [
        "call: 7.00 ms, by ZeroMQ 3.00: at most 3 more"
    ]
    assert record.past_bounds(bounded(7, 3)) == []


def test_check_fails_by_a_bound(kept: Path) -> None:
    record.keep(document_of(figure_of("a", 1, 4)))
    options = argparse.Namespace(json=None, draw=None, check=True, record=False)
    assert bench.judge(bounded(5, 1, most=5), options) == 0
    assert bench.judge(bounded(6, 1, most=5), options) == 1
    assert bench.judge(document_of(figure_of("a", 1, 2)), options) == 1


def test_a_sample_with_more_tokens_than_its_goal_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An id of another length in tokens makes no difference."""

    class Rest:
        kernel = "0123456789"

        def __init__(self, side: object) -> None:
            pass

        def ask(self, *words: str) -> None:
            pass

    samples = [("table", 3, "at 01234567", ""), ("error", 3, "at 01234567", "")]
    monkeypatch.setattr(views, "Rest", Rest)
    monkeypatch.setattr(views, "collect", lambda rest: samples)
    counts = [[3, 4], [0, 0]]
    asked: list[list[str]] = []

    def count_tokens(texts: list[str]) -> list[int]:
        asked.append(texts)
        return counts[-len(asked)]

    monkeypatch.setattr(views, "count_tokens", count_tokens)
    found = views.measure_tokens(None)  # type: ignore[arg-type]
    assert [f"at {views.SESSION}"] * 2 in asked
    document = document_of(*(figure.as_json() for figure in found))
    assert record.past_bounds(document) == [
        "tokens of a view: error: 4.00 , at most 3"
    ]


def test_a_measurement_excludes_its_runner() -> None:
    """The process that measures may have much more."""
    much = b"x" * (200 << 20)
    code = "print('one'); print('two', end='')"
    words = [sys.executable, "-I", "-S", "-c", code]
    seconds, megabytes, printed = recordings.timed(words, dict(os.environ))
    assert seconds > 0
    assert 1 < megabytes < len(much) >> 21
    assert printed == "one\ntwo"
