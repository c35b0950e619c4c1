"""What build-aux/check-bans.sh finds, in trees of one file."""

import pathlib
import subprocess

import pytest

CHECK = pathlib.Path(__file__).resolve().parents[2] / "build-aux/check-bans.sh"


def complaints(tree, text):
    (tree / "base").mkdir()
    (tree / "base" / "a.c").write_text(text)
    return subprocess.run(
        ["sh", CHECK, tree], capture_output=True, text=True, check=False
    ).stdout


@pytest.mark.parametrize(
    "text",
    [
        "int f(int a, int b, int c, int d, int e, int f, int g);\n",
        "static int\nf(int a, int b, int c, int d,\n  int e, int f, int g)\n",
        "typedef int f_fn(int a, int b, int c, int d, int e, int f, int g);\n",
        "int f(int a, void (*b)(int, int), int c, int d, int e, int f, int g);",
    ],
)
def test_seven_parameters_are_too_many(tmp_path, text):
    assert "no more than six parameters" in complaints(tmp_path, text)


@pytest.mark.parametrize(
    "text",
    [
        "int f(int a, int b, int c, int d, int e, int f);\n",
        "int f(void (*fn)(int, int, int, int, int, int), int b);\n",
        "int f(int a, /* of b, c, d */ int b,\n      int c, int d, int e);\n",
        "    g(1, 2, 3, 4, 5, 6, 7);\n",
        'static const char text[] = "(a, b, c, d, e, f, g)";\n',
        "static int a[] = {1, 2, 3, 4, 5, 6, 7, 8};\n",
    ],
)
def test_six_parameters_are_not(tmp_path, text):
    assert "parameters" not in complaints(tmp_path, text)


def test_a_call_that_is_banned_is_named_with_its_place(tmp_path):
    text = complaints(tmp_path, "void f(void)\n{\n    system(0);\n}\n")
    assert text.startswith("base/a.c:3: no shell in between")
