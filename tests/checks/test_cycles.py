"""What build-aux/check-cycles.sh finds, in trees of a few small files."""

import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHECK = ROOT / "build-aux" / "check-cycles.sh"
LOOP = {
    "low/one.c": "int two(void); int one(void) { return two(); }",
    "low/two.c": "int three(void); int two(void) { return three(); }",
    "high/three.c": "int one(void); int three(void) { return one(); }",
}
LINE = {
    "low/one.c": "int one(void); int one(void) { return 1; }",
    "low/two.c": "int one(void); int (*two)(void) = one;",
}


PASSED = "0 files are in a loop\n0 calls of a later file of the list\n"
MAKEMODULE = """\
libother_la_SOURCES = \\
\t%D%/other.h
liblow_la_SOURCES = \\
\t%D%/{}.c \\
\t%D%/low.h \\
\t%D%/{}.c
"""


@pytest.fixture
def check(tmp_path):
    """Compiles files into a tree, and runs the check over it."""

    def run(files, objects=".libs/"):
        for name, text in files.items():
            source = tmp_path / name
            folder = tmp_path / "build" / source.parent.relative_to(tmp_path)
            target = folder / f"{objects}{source.stem}.o"
            source.parent.mkdir(parents=True, exist_ok=True)
            target.parent.mkdir(parents=True, exist_ok=True)
            source.write_text(text)
            subprocess.run(["cc", "-c", "-o", target, source], check=True)
        return subprocess.run(
            [CHECK, tmp_path, tmp_path / "build"],
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def test_passes_files_in_a_line(check):
    result = check(LINE)
    assert (result.returncode, result.stdout) == (0, PASSED)


def test_names_a_loop_and_what_closes_it(check):
    result = check(LOOP)
    assert result.returncode == 1
    assert result.stdout == (
        "high/three.c is in a loop:\n"
        "    high/three.c needs low/one.c: one\n"
        "    low/one.c needs low/two.c: two\n"
        "    low/two.c needs high/three.c: three\n"
        "3 files are in a loop\n"
        "0 calls of a later file of the list\n"
    )


def test_passes_a_list_in_the_order_of_calls(check, tmp_path):
    (tmp_path / "low").mkdir()
    makemodule = tmp_path / "low" / "Makemodule.am"
    makemodule.write_text(MAKEMODULE.format("one", "two"))
    result = check(LINE)
    assert (result.returncode, result.stdout) == (0, PASSED)


def test_names_a_file_that_needs_a_later_one_of_its_list(check, tmp_path):
    (tmp_path / "low").mkdir()
    makemodule = tmp_path / "low" / "Makemodule.am"
    makemodule.write_text(MAKEMODULE.format("two", "one"))
    result = check(LINE)
    assert result.returncode == 1
    assert result.stdout == (
        "low/two.c is before low/one.c, which it needs: one\n"
        "0 files are in a loop\n"
        "1 calls of a later file of the list\n"
    )


def test_lists_of_one_folder_are_apart(check, tmp_path):
    (tmp_path / "low").mkdir()
    makemodule = tmp_path / "low" / "Makemodule.am"
    high = MAKEMODULE.format("none", "one").replace("low_la", "high_la")
    makemodule.write_text(MAKEMODULE.format("two", "none") + high)
    assert check(LINE).stdout == PASSED


@pytest.mark.parametrize("objects", ["", "low_program-"])
def test_files_of_a_program_count(check, tmp_path, objects):
    """Their objects are not in .libs."""
    assert "\n3 files are in a loop\n" in check(LOOP, objects).stdout
    (tmp_path / "low" / "Makemodule.am").write_text(
        MAKEMODULE.format("two", "one").replace("liblow_la", "%C%_low_program")
    )
    result = check(LINE, objects)
    assert result.returncode == 1
    assert "low/two.c is before low/one.c" in result.stdout


def test_a_table_of_functions_counts(check):
    files = {**LINE, "low/one.c": "extern int (*two)(void);"}
    files["low/one.c"] += " int one(void); int one(void) { return two(); }"
    result = check(files)
    assert result.returncode == 1
    assert "low/two.c needs low/one.c: one" in result.stdout


def test_a_file_between_two_loops_is_not_reported(check):
    files = {
        "a.c": "int b(void); int a(void) { return b(); }",
        "b.c": "int a(void), m(void); int b(void) { return a() + m(); }",
        "m.c": "int c(void); int m(void) { return c(); }",
        "c.c": "int d(void); int c(void) { return d(); }",
        "d.c": "int c(void); int d(void) { return c(); }",
    }
    result = check(files)
    assert "m.c is in a loop" not in result.stdout
    assert "\n4 files are in a loop\n" in result.stdout


def test_objects_of_sources_that_are_gone_do_not_count(check, tmp_path):
    check(LOOP)
    (tmp_path / "high" / "three.c").unlink()
    result = check({})
    assert (result.returncode, result.stdout) == (0, PASSED)


def test_a_build_without_objects_fails(check):
    assert check({}).returncode == 1
