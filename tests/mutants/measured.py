"""The table of what was measured: `measured.tsv`, a row for each file.

A row has the file, the tests that were run, the number of changes that were
tried and the number of those that a test noticed. Changes that no compiler
takes and those without meaning are not counted.
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


def read_table(table: Path = TABLE) -> list[Row]:
    rows = []
    for line in table.read_text().splitlines() if table.exists() else []:
        file, tests, tried, noticed = line.split("\t")
        rows.append(Row(file, tests, int(tried), int(noticed)))
    return rows


def record(row: Row, table: Path = TABLE) -> None:
    """Put the row into the place of the file's one, or add it."""
    rows = [other for other in read_table(table) if other.file != row.file]
    table.write_text(
        "".join("\t".join(map(str, one)) + "\n" for one in sorted([*rows, row]))
    )
