"""What automake's test harness keeps of each test, and what is counted.

A program has a .trs with the word of each of its tests, and a .log in which the
TAP driver repeats them with their names. What make prints is not read for it:
programs that run side by side write to it at the same time.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Iterable, Iterator

WORDS = "PASS|XFAIL|SKIP|FAIL|XPASS|ERROR"
WORD = re.compile(rf"^:test-result: ({WORDS})\b", re.MULTILINE)
LINE = re.compile(rf"^({WORDS}): \S+(?: \d+)?(?: (.*))?$", re.MULTILINE)
# pytest reports the end of a test's fixtures apart from the test, and does not
# know the phase in which a worker died.
PHASE = re.compile(r" \((setup|teardown|\?\?\?)\)$")


@dataclass(frozen=True)
class Result:
    """One test, as one program reported it."""

    word: str  # PASS, SKIP, FAIL or ERROR
    program: str  # a C program, a script, or a .tap that runs pytest
    name: str  # the test's, empty if the program has one result

    @classmethod
    def make(cls, word: str, program: str, text: str) -> Result:
        """Take the text of a line after its number."""
        word = {"XFAIL": "PASS", "XPASS": "FAIL"}.get(word, word)
        name = re.sub(r" ?# SKIP.*", "", text.removeprefix("- "))
        return cls(word, program, PHASE.sub("", name))

    @property
    def failed(self) -> bool:
        return self.word in ("FAIL", "ERROR")

    @property
    def is_pytest(self) -> bool:
        return self.program.endswith(".tap")

    @property
    def title(self) -> str:
        if self.is_pytest:
            return self.name or self.program
        return f"{self.program} {self.name}".strip()

    @property
    def key(self) -> str:
        """Return what runs again after a failure: pytest's own tests one by
        one, of any other program the whole.
        """
        return self.title if self.is_pytest else self.program


@dataclass
class Outcome:
    """The results of one run of a layer."""

    results: list[Result] = field(default_factory=list)
    trouble: str = ""  # why the run as a whole failed, or empty
    seconds: float = 0.0

    def count(self, *words: str) -> int:
        return sum(result.word in words for result in self.results)

    @property
    def failures(self) -> list[Result]:
        return [result for result in self.results if result.failed]

    def passed(self, keys: Iterable[str]) -> set[str]:
        """Return those of the keys that ran, and of which nothing failed."""
        ran = {result.key for result in self.results if result.word == "PASS"}
        failed = {result.key for result in self.failures}
        return (set(keys) & ran) - failed


def of_program(trs: Path, program: str) -> Iterator[Result]:
    """Return the results of a program, with names if its log has as many."""
    words = WORD.findall(trs.read_text(errors="replace"))
    log = trs.with_suffix(".log")
    text = log.read_text(errors="replace") if log.exists() else ""
    lines = LINE.findall(text)
    if [word for word, _ in lines] != words:
        lines = [(word, "") for word in words]
    for word, name in lines:
        yield Result.make(word, program, name)


def files(build: Path) -> list[Path]:
    """Return the .trs files of a build folder."""
    return sorted(
        path
        for folder in ("tests", "build-aux")
        for path in (build / folder).rglob("*.trs")
    )


def forget(build: Path) -> None:
    """Remove the results of earlier runs."""
    for path in files(build):
        path.unlink()


def of_run(build: Path, source: Path) -> list[Result]:
    """Return the results of all programs that ran in a build folder."""
    found: list[Result] = []
    for path in files(build):
        stem = str(path.relative_to(build).with_suffix(""))
        names = (stem + suffix for suffix in (".tap", ".sh"))
        program = next((n for n in names if (source / n).exists()), stem)
        found += of_program(path, program)
    return found
