"""What the mutants are counted with."""

from __future__ import annotations

from pathlib import Path

import pytest
from changes import mutants
from mutate import find_tests, known, list_of, mutants_of
from trial import ROOT

CODE = """\
/* a == b */
#define EQUAL(a, b) ((a) == (b))
static bool f(int a, const struct s *s)
{
    if (a < 1 && !s->b && "a == b" != 0)
        return true; // a || b
    return s->c >= 'a' << 2;
}
"""


def test_each_operator_is_turned_once() -> None:
    made = list(mutants(CODE))
    assert [(m.line, m.change) for m in made] == [
        (5, "!= -> =="),
        (7, ">= -> >"),
        (5, "< -> <="),
        (5, "&& -> ||"),
        (5, "&& -> || 2"),
        (5, "! -> nothing"),
        (6, "true -> false"),
    ]
    assert len({m.text for m in made}) == len(made)
    first = next(m for m in made if m.change == "&& -> || 2")
    assert '!s->b || "a == b" != 0' in first.text
    assert first.name == ('if (a < 1 && !s->b && "a == b" != 0)  [&& -> || 2]')


def test_tests_are_found_by_the_name_of_a_file(tmp_path: Path) -> None:
    unit = tmp_path / "tests" / "unit"
    (unit / "http").mkdir(parents=True)
    (unit / "http" / "test_range.c").touch()
    (tmp_path / "tests" / "test_range.py").touch()
    of = {name: find_tests(Path(name), tmp_path) for name in ("range.c", "a.c")}
    assert of == {"range.c": ["http/test_range"], "a.c": []}
    assert find_tests(Path("range.py"), tmp_path) == ["tests/test_range.py"]


def test_files_of_the_same_name_have_their_own_tests(tmp_path: Path) -> None:
    for folder in ("session/core", "notebooks"):
        path = tmp_path / "tests" / "unit" / folder
        path.mkdir(parents=True)
        (path / "test_replay.c").touch()
    for file, test in (
        ("gateway/session/core/replay.c", "session/core/test_replay"),
        ("notebooks/replay/replay.c", "notebooks/test_replay"),
    ):
        assert find_tests(Path(file), tmp_path) == [test]


PRODUCT = (
    *("base", "protocol", "workspace", "sandbox", "notebooks"),
    *("kernels", "gateway"),
)
LISTS = sorted(Path(__file__).parent.glob("*.txt"))


@pytest.mark.parametrize("path", LISTS, ids=lambda path: path.stem)
def test_permitted_mutants_exist_and_have_reasons(path: Path) -> None:
    name = path.stem if path.stem.endswith(".py") else f"{path.stem}.c"
    files = [file for folder in PRODUCT for file in (ROOT / folder).rglob(name)]
    assert {list_of(file) for file in files} == {path}
    names = {
        m.name for file in files for m in mutants_of(file)(file.read_text())
    }
    reasons = known(path)
    assert reasons
    for name, reason in reasons.items():
        assert name in names, f"{name}: no such change in {files} any more"
        assert reason, name
