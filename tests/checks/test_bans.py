"""What build-aux/check-bans.sh finds, in trees of one file."""

import pathlib
import subprocess

import pytest

CHECK = pathlib.Path(__file__).resolve().parents[2] / "build-aux/check-bans.sh"


def run_check(tree):
    return subprocess.run(
        ["sh", CHECK, tree], capture_output=True, text=True, check=False
    ).stdout


def complaints(tree, text):
    (tree / "base").mkdir()
    (tree / "base" / "a.c").write_text(text)
    return run_check(tree)


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


@pytest.mark.parametrize(
    "text",
    [
        "import time\ntime.sleep(1)\n",
        "from time import monotonic, sleep\n",
        "from time import sleep as s\ns(1)\n",
        "from time import (\n    monotonic,\n    sleep as s,\n)\n",
        "from time import monotonic, \\\n    sleep\n",
        "import time as t\nt.sleep(1)\n",
        "import os, time as t\nif os.sep:\n    t.sleep(0.1)\n",
        "def f():\n    import time as clock  # late\n    clock.sleep(1)\n",
        "import time\npause = time.sleep\n",
        "__import__('time').sleep(1)\n",
        "import asyncio\nasync def f():\n    await asyncio.sleep(1)\n",
        "import asyncio as a\nasync def f():\n    await a.sleep(0.01)\n",
        "from asyncio import sleep\n",
        "import anyio\nasync def f():\n    await anyio.sleep(1)\n",
    ],
)
def test_python_of_the_product_may_not_sleep(tmp_path, text):
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "a.py").write_text(text)
    assert "wait for an event" in complaints(tmp_path, "")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("kernels/a.py", "# time.sleep(1)\n"),
        ("kernels/a.py", "patched.time.sleep(1)\n"),
        ("clients/python/src/hearth/_background.py", "time.sleep(1)\n"),
        ("tests/a.py", "time.sleep(1)\n"),
        ("kernels/a.py", "import asyncio\nawait asyncio.sleep(0)\n"),
        ("kernels/a.py", "from time import monotonic\nsleep = 1\n"),
        ("kernels/a.py", "from time import (\n    time,\n)\nsleep = 1\n"),
        ("kernels/a.py", "import time as t\nself.t.sleep(1)\n"),
        ("kernels/a.py", "from hearth._background import async_sleep\n"),
    ],
)
def test_other_python_may(tmp_path, name, text):
    (tmp_path / name).parent.mkdir(parents=True)
    (tmp_path / name).write_text(text)
    assert complaints(tmp_path, "") == ""


def members(count, text="    int m{};\n"):
    return "".join(text.format(i) for i in range(count))


@pytest.mark.parametrize(
    "text",
    [
        "struct s {\n" + members(31) + "};\n",
        "typedef struct {\n" + members(31) + "} s_t;\n",
        "static struct {\n" + members(31) + "} rig;\n",
        "union u {\n" + members(31) + "};\n",
        "struct s {\n" + members(30, "    int a{0}, b{0};\n") + "};\n",
        "struct s {\n    struct {\n" + members(31) + "    } inner;\n};\n",
        "struct s {\n    struct {\n        int a;\n    } b;\n"
        + members(30)
        + "};\n",
    ],
)
def test_more_than_30_members_are_too_many(tmp_path, text):
    assert "no more than 30" in complaints(tmp_path, text)


@pytest.mark.parametrize(
    "text",
    [
        "struct s {\n" + members(30) + "};\n",
        "struct s {\n"
        + members(30, "    int m{}; /* of a; b; c */\n")
        + "};\n",
        "struct s {\n" + members(30, "    int (*m{})(int, int);\n") + "};\n",
        "struct s {\n    struct {\n"
        + members(30)
        + "    } inner;\n"
        + members(29)
        + "};\n",
        "enum e {\n" + members(40, "    E{},\n") + "};\n",
        "static const struct s list[] = {\n"
        + members(40, "    {{0}},\n")
        + "};\n",
        "struct s *f(struct s *a)\n{\n" + members(40) + "}\n",
        "struct s {\n    int a;\n};\nvoid f(void)\n{\n" + members(40) + "}\n",
    ],
)
def test_30_members_are_not(tmp_path, text):
    assert "members" not in complaints(tmp_path, text)


def test_a_struct_is_named_with_its_end(tmp_path):
    text = complaints(tmp_path, "struct s {\n" + members(32) + "};\n")
    assert text.startswith("base/a.c:34: a struct of 32 members")


def function(lines, head="static int f(int a)\n"):
    """Returns a function of that length, its head and braces included."""
    body = lines - head.count("\n") - 2
    return f"/* Not its head. */\n{head}{{\n" + "    g();\n" * body + "}\n"


@pytest.mark.parametrize(
    "head", ["int f(int a)\n", "static int\nf(int a,\n  int b)\n"]
)
def test_a_function_has_at_most_62_lines(tmp_path, head):
    text = function(3, head) + "\n" + function(63, head)
    assert "a function of 63 lines" in complaints(tmp_path, text)


@pytest.mark.parametrize(
    "head",
    ["int f(int a) {\n", "int f(int a,\n      int b){\n", "int\nf(void) {\n"],
)
def test_the_brace_of_a_function_has_its_line(tmp_path, head):
    lines = head.count("\n")
    text = f"int x;\n{head}" + "    g();\n" * (61 - lines) + "}\n"
    assert complaints(tmp_path, text) == (
        f"base/a.c:{1 + lines}: the brace of a function has a line of its own\n"
    )


def test_lines_are_counted_from_a_head_with_its_brace(tmp_path):
    text = "int f(int a) {\n" + "    g();\n" * 61 + "}\n"
    assert "a function of 63 lines" in complaints(tmp_path, text)


def test_a_function_in_one_line_has_a_brace_too(tmp_path):
    text = "int f(int a) { return a; }\n" + function(62)
    found = complaints(tmp_path, text)
    assert found.startswith("base/a.c:1: the brace of a function")
    assert found.count("\n") == 1


@pytest.mark.parametrize("name", ["tests/a.c", "tests/unit/test_a.c"])
def test_functions_of_tests_are_counted_too(tmp_path, name):
    (tmp_path / name).parent.mkdir(parents=True)
    (tmp_path / name).write_text(function(63))
    assert complaints(tmp_path, "").startswith(f"{name}:64: a function of 63")


@pytest.mark.parametrize(
    "text",
    [
        function(62),
        "struct s a = {.b = (char[]){1},\n" + "    1,\n" * 70 + "};\n",
        "static s_t *a =\n    (s_t[]){\n" + "    1,\n" * 70 + "};\n",
        "#define A(b)        \\\n    if (b) {        \\\n    }\n"
        + function(62),
        function(40) + "\n" + function(40),
        "static const int a[] = {\n" + "    1,\n" * 100 + "};\n",
        "struct s;\n\n" + function(62, "int f(int a,\n      int b)\n"),
    ],
)
def test_other_lines_are_not_counted(tmp_path, text):
    assert "a function of" not in complaints(tmp_path, text)


@pytest.mark.parametrize(
    "name",
    [
        "base/b.c",
        "gateway/a.h",
        "tests/unit/test_a.c",
        "tests/lib/a.h",
        "kernels/a.py",
        "clients/python/src/hearth/a.py",
        "tests/system/test_a.py",
    ],
)
def test_a_file_has_at_most_600_lines(tmp_path, name):
    assert complaints(tmp_path, "") == ""
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    for count in (600, 601):
        path.write_text("\n" * count)
        found = run_check(tmp_path)
        assert found.startswith(f"{name}:601: a file of more") == (count > 600)
    assert found.count("\n") == 1
