"""The table of what was measured, and what its check finds."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from measured import Row, read_table, record
from mutate import known, list_of, mutants_of, row_of
from trial import ROOT

CHECK = ROOT / "build-aux" / "check-mutants.sh"
GOOD = Row("base/a.c", "base/test_a base/test_b", 10, 8)


def test_a_file_has_one_row_in_its_place(tmp_path: Path) -> None:
    table = tmp_path / "measured.tsv"
    assert read_table(table) == []
    other = Row("base/b.py", "tests/test_b.py", 3, 3)
    for row in (other, GOOD._replace(noticed=1), GOOD):
        record(row, table)
    assert read_table(table) == [GOOD, other]
    assert table.read_text().startswith(
        "base/a.c\tbase/test_a base/test_b\t10\t8\n"
    )
    nothing = GOOD._replace(tried=0, noticed=0, reason="there is no change")
    record(nothing, table)
    assert read_table(table) == [nothing, other]
    assert table.read_text().startswith(
        "base/a.c\tbase/test_a base/test_b\t0\t0\tthere is no change\n"
    )


NOTHING = {"noticed": 0, "known": 0, "missed": 0, "no program": 0}


@pytest.mark.parametrize(
    ("counts", "reason"),
    [
        ({"noticed": 1, "known": 1}, ""),
        ({"missed": 1}, ""),
        ({"known": 2}, "2 changes, all without meaning: a.txt"),
        ({"no program": 1}, "it has nothing to turn around"),
        ({}, "it has nothing to turn around"),
    ],
)
def test_a_row_of_no_change_has_its_reason(
    counts: dict[str, int], reason: str
) -> None:
    row = row_of(Path("base/a.c"), ["base/test_a"], {**NOTHING, **counts})
    assert row.reason == reason


NO_CHANGES = [row for row in read_table() if row.tried == 0]


@pytest.mark.parametrize("row", NO_CHANGES, ids=lambda row: row.file)
def test_a_file_of_0_changes_has_none_but_known_ones(row: Row) -> None:
    """A row that was written by hand is no measurement."""
    file = ROOT / row.file
    names = {mutant.name for mutant in mutants_of(file)(file.read_text())}
    assert names <= set(known(list_of(file)))


# Files of the folders whose files all need a row, and the rows.
FOLDERS = ("gateway/registry/core/r.c", "gateway/session/core/s.c")
ROWS = tuple(f"{name}\tbase/test_a\t4\t4" for name in FOLDERS)


def complaints(tree: Path, *rows: str, also: tuple[str, ...] = ROWS) -> str:
    """Return what is found of these rows; `also` are after them."""
    files = ("base/a.c", "tests/unit/base/test_a.c", "base/b.py", *FOLDERS)
    for name in files:
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).touch()
    table = tree / "tests" / "mutants" / "measured.tsv"
    table.parent.mkdir(exist_ok=True)
    table.write_text("".join(f"{row}\n" for row in (*rows, *also)))
    done = subprocess.run(["sh", CHECK, tree], capture_output=True, text=True)
    assert (done.returncode == 0) == (not done.stdout), done
    return done.stdout


def test_four_of_five_are_enough(tmp_path: Path) -> None:
    rows = ("base/a.c\tbase/test_a\t10\t8", "base/b.py\tbase/b.py\t4\t4")
    assert complaints(tmp_path, *rows) == ""


def test_no_change_with_its_reason_is_enough(tmp_path: Path) -> None:
    assert complaints(tmp_path, "base/a.c\tbase/test_a\t0\t0\tno if") == ""


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        ("base/a.c\tbase/test_a\t100\t79", "notice 79, which is less than 80"),
        ("base/a.c\tbase/test_a\t10\t11", "more changes of base/a.c"),
        ("base/c.c\tbase/test_a\t10\t8", "there is no base/c.c any more"),
        ("base/a.c\tbase/test_c\t10\t8", "no test tests/unit/base/test_c.c"),
        ("base/a.c\tbase/test_a base/x\t10\t8", "no test tests/unit/base/x.c"),
        ("base/b.py\ttests/x.py::t\t10\t8", "there is no test tests/x.py any"),
        ("base/a.c\t\t10\t8", "no test is named"),
        ("base/a.c\tbase/test_a\t10", "a row is: file, tests"),
        ("base/a.c\tbase/test_a\tten\t8", "a row is: file, tests"),
        ("base/a.c\tbase/test_a\t0\t0", "no change of base/a.c was tried"),
        ("base/a.c\tbase/test_a\t0\t0\t", "no change of base/a.c was tried"),
        ("base/a.c\tbase/test_a\t4\t4\twhy", "a reason belongs to a row"),
        ("base/a.c\tbase/test_a\t0\t0\twhy\twhy", "a row is: file, tests"),
    ],
)
def test_a_row_that_is_wrong_is_named(
    tmp_path: Path, row: str, complaint: str
) -> None:
    found = complaints(tmp_path, row)
    assert found.startswith("tests/mutants/measured.tsv:1: ")
    assert complaint in found
    assert found.count("\n") == 1


def test_rows_are_sorted_and_single(tmp_path: Path) -> None:
    good = "base/a.c\tbase/test_a\t10\t8"
    assert "measured.tsv:2: base/a.c is not sorted" in complaints(
        tmp_path, good, good
    )


def test_each_file_of_session_and_registry_has_a_row(tmp_path: Path) -> None:
    assert complaints(tmp_path) == ""
    assert complaints(tmp_path, also=ROWS[1:]) == (
        "tests/mutants/measured.tsv: gateway/registry/core/r.c has no row: "
        "write its unit tests, then ./dev mutants --record "
        "gateway/registry/core/r.c\n"
    )
    assert complaints(tmp_path, also=()).count("has no row") == 2
    (tmp_path / "gateway/session/core/s.h").touch()
    (tmp_path / "gateway/http").mkdir()
    (tmp_path / "gateway/http/h.c").touch()
    assert complaints(tmp_path) == ""
    (tmp_path / "gateway/session/new").mkdir()
    (tmp_path / "gateway/session/new/n.c").touch()
    assert "gateway/session/new/n.c has no row" in complaints(tmp_path)


@pytest.mark.parametrize("gone", ["session", "registry"])
def test_a_folder_that_is_gone_is_named(tmp_path: Path, gone: str) -> None:
    assert complaints(tmp_path) == ""
    shutil.rmtree(tmp_path / "gateway" / gone)
    done = subprocess.run(["sh", CHECK, tmp_path], capture_output=True)
    assert done.returncode
    assert f"gateway/{gone}".encode() in done.stderr


def test_a_tree_without_the_table_is_refused(tmp_path: Path) -> None:
    assert subprocess.run(
        ["sh", CHECK, tmp_path], capture_output=True
    ).returncode
