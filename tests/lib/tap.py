"""A plugin for pytest: its results as TAP on descriptor 3, for automake.

`pytest -p tests.lib.tap 3>&1 >log`; the descriptor is not inherited.
"""

from __future__ import annotations

import os
from typing import TextIO

import pytest


class Tap:
    """Prints a line for each test, and their number at the end."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.count = 0

    def write(self, text: str) -> None:
        print(text, file=self.stream, flush=True)

    def result(self, word: str, name: str, reason: str = "") -> None:
        self.count += 1
        plain = name.replace("#", "")
        self.write(f"{word} {self.count} - {plain}{reason}")

    def failure(self, name: str, text: str) -> None:
        self.result("not ok", name)
        for line in text.splitlines():
            self.write(f"# {line}")

    def skip(
        self, name: str, report: pytest.TestReport | pytest.CollectReport
    ) -> None:
        # A fault that is known (xfail) has its reason in the mark.
        reason = getattr(report, "wasxfail", report.longrepr)
        if isinstance(reason, tuple):
            reason = reason[2]
        line = " ".join(str(reason).split())[-200:]
        self.result("ok", name, f" # SKIP {line}")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            when = "" if report.when == "call" else f" ({report.when})"
            self.failure(report.nodeid + when, report.longreprtext)
        elif report.skipped:
            self.skip(report.nodeid, report)
        elif report.when == "call":
            self.result("ok", report.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.failure(report.nodeid, report.longreprtext)
        elif report.skipped:
            self.skip(report.nodeid, report)

    def pytest_sessionfinish(self) -> None:
        nothing = "" if self.count else " # SKIP there is nothing to run"
        self.write(f"1..{self.count}{nothing}")


def pytest_configure(config: pytest.Config) -> None:
    if hasattr(config, "workerinput"):
        return  # one of several beside each other, which report to the first
    os.set_inheritable(3, False)
    config.pluginmanager.register(Tap(os.fdopen(3, "w")))
