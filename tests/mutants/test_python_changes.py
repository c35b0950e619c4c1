"""The changes of a Python file."""

from __future__ import annotations

import ast

from python_changes import python_mutants

CODE = '''\
def f(a, b=True):
    """Return a == b, and not c."""
    for é in a:  # a is not b
        if é is not None and not (é in b  # in or out
                not in c):
            continue
        if a.b():
            raise ValueError(
                "a < b"
            ) from None
    log("é", "or"); g(x=False)
    return 1 <= len(a)
'''


def test_each_wall_is_turned_or_left_out_once() -> None:
    made = list(python_mutants(CODE))
    assert [(m.line, m.change) for m in made] == [
        (1, "True -> False"),
        (4, "is not -> is"),
        (4, "and -> or"),
        (4, "not -> nothing"),
        (4, "in -> not in"),
        (5, "not in -> in"),
        (6, "continue -> pass"),
        (7, "condition -> not"),
        (8, "raise ValueError( -> pass"),
        (11, 'log("é", "or") -> pass'),
        (11, "g(x=False) -> pass"),
        (11, "False -> True"),
        (12, "<= -> <"),
    ]
    assert len({m.text for m in made}) == len(made)
    for mutant in made:
        ast.parse(mutant.text)
    assert "if (not (a.b())):" in made[7].text
    assert "            pass\n    log(" in made[8].text
    assert 'log("é", "or"); pass\n' in made[10].text


def test_what_a_function_answers_at_its_end_stays() -> None:
    code = "def f(a):\n    if a:\n        return 1\n    return 2\n"
    assert [m.line for m in python_mutants(code)] == [2, 3]


def test_the_same_change_twice_in_a_line_has_two_names() -> None:
    made = list(python_mutants("a == b or c == d\n"))
    assert [m.change for m in made] == ["== -> !=", "or -> and", "== -> != 2"]
    assert [m.text for m in made] == [
        "a != b or c == d\n",
        "a == b and c == d\n",
        "a == b or c != d\n",
    ]
