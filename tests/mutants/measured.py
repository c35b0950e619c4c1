"""The table of what was measured: `measured.tsv`, a row for each file.

A row has the file, the tests that were run, the number of changes that were
tried and the number of those that a test noticed. Changes that no compiler
takes and those without meaning are not counted. A row of 0 changes ends with
the reason why no change counts.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

TABLE = Path(__file__).with_name("measured.tsv")


class Row(NamedTuple):
    file: str
    tests: str  # with spaces in between
    tried: int
    noticed: int
    reason: str = ""  # of a row of 0 changes

    def line(self) -> str:
        fields = [str(field) for field in self]
        return "\t".join(fields if self.reason else fields[:-1]) + "\n"


def read_table(table: Path = TABLE) -> list[Row]:
    rows = []
    for line in table.read_text().splitlines() if table.exists() else []:
        file, tests, tried, noticed, *reason = line.split("\t")
        rows.append(Row(file, tests, int(tried), int(noticed), *reason))
    return rows


def record(row: Row, table: Path = TABLE) -> None:
    """Put the row into the place of the file's one, or add it."""
    rows = [other for other in read_table(table) if other.file != row.file]
    table.write_text("".join(one.line() for one in sorted([*rows, row])))
