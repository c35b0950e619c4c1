"""The changes of a C file: each turns around one operator or answer."""

from __future__ import annotations

import re
from typing import Iterator, NamedTuple

# Comments, texts and characters hold nothing to be changed; nor does an arrow.
SKIPPED = re.compile(
    r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])+'"
    r"|->|<<|>>|^[ \t]*#(?:\\\n|[^\n])*",
    re.S | re.M,
)
CHANGES = [
    (re.compile(r"=="), "!="),
    (re.compile(r"!="), "=="),
    (re.compile(r"<="), "<"),
    (re.compile(r">="), ">"),
    (re.compile(r"<(?!=)"), "<="),
    (re.compile(r">(?!=)"), ">="),
    (re.compile(r"&&"), "||"),
    (re.compile(r"\|\|"), "&&"),
    (re.compile(r"!(?!=)"), ""),
    (re.compile(r"(?<=return )true(?=;)"), "false"),
    (re.compile(r"(?<=return )false(?=;)"), "true"),
]


class Mutant(NamedTuple):
    line: int
    row: str  # the line as it is
    change: str  # "|| -> &&", the second one in its line: "|| -> && 2"
    text: str  # of the whole file

    @property
    def name(self) -> str:
        return f"{self.row}  [{self.change}]"


def blank(found: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", found[0])


def mutants(text: str) -> Iterator[Mutant]:
    bare = SKIPPED.sub(blank, text)
    rows = text.split("\n")
    for pattern, new in CHANGES:
        seen: dict[tuple[int, str], int] = {}
        for found in pattern.finditer(bare):
            line = bare.count("\n", 0, found.start())
            key = (line, found[0])
            seen[key] = seen.get(key, 0) + 1
            change = f"{found[0]} -> {new or 'nothing'}"
            if seen[key] > 1:
                change += f" {seen[key]}"
            yield Mutant(
                line + 1,
                rows[line].strip(),
                change,
                text[: found.start()] + new + text[found.end() :],
            )
