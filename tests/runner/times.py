"""How long tests took, as the logs of the last run have it."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

TOOK = re.compile(r"^# took (\d+) ms$", re.MULTILINE)
SHOWN = 30


def of_pytest(report: Path) -> list[tuple[float, str]]:
    """Return seconds and name of each test of a JUnit file, fixtures
    included."""
    found = []
    for case in ElementTree.parse(report).iter("testcase"):
        module = case.get("classname", "").replace(".", "/")
        name = f"{module}.py::{case.get('name', '')}"
        found.append((float(case.get("time", "0")), name))
    return found


def of_program(log: Path) -> list[tuple[float, str]]:
    """Return the seconds of a C program, from what cmocka-tap.sh adds."""
    found = TOOK.search(log.read_text(errors="replace"))
    return [(int(found[1]) / 1000, str(log.with_suffix("")))] if found else []


def slowest(build: Path, since: float) -> list[tuple[float, str]]:
    """Return the slowest tests that ended after that time of the clock."""
    found: list[tuple[float, str]] = []
    for report in (build / "logs").glob("*.xml"):
        if report.stat().st_mtime >= since:
            found += of_pytest(report)
    for log in (build / "tests").rglob("test_*.log"):
        if log.stat().st_mtime >= since:
            found += of_program(log)
    return sorted(found, reverse=True)[:SHOWN]
