"""A plugin of pytest: leaves out the tests of a suite that a file names, each
with its reason: `MODULE.py::CLASS::NAME: REASON` on each line."""

from __future__ import annotations

from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--left-out", type=Path)


def name_of(item: pytest.Item) -> str:
    return "::".join([item.path.name, *item.nodeid.split("::")[1:]])


def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    lines = config.getoption("--left-out").read_text().splitlines()
    named = {line.split(": ", 1)[0] for line in lines}
    collected = {name_of(item): item for item in items}
    unknown = named - set(collected)
    if unknown:
        raise pytest.UsageError(f"no such tests: {sorted(unknown)}")
    config.hook.pytest_deselected(items=[collected[name] for name in named])
    items[:] = [item for name, item in collected.items() if name not in named]
