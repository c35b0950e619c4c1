"""What build-aux/check-links.sh finds, in libraries of a file or two."""

import pathlib
import subprocess

import pytest

CHECK = pathlib.Path(__file__).parents[2] / "build-aux" / "check-links.sh"
LOW = "int low(void); int low(void) { return 1; }"
HIGH = "int low(void); int high(void); int high(void) { return low(); }"


@pytest.fixture
def check(tmp_path):
    """Makes libraries as libtool does, and runs the check over them."""

    def run(*libraries):
        (tmp_path / ".libs").mkdir()
        for name, text, needs in libraries:
            source = tmp_path / f"{name}.c"
            source.write_text(text)
            subprocess.run(
                ["cc", "-fPIC", "-c", source], cwd=tmp_path, check=True
            )
            subprocess.run(
                ["ar", "rc", f".libs/lib{name}.a", f"{name}.o"],
                cwd=tmp_path,
                check=True,
            )
            (tmp_path / f"lib{name}.la").write_text(
                f"dependency_libs='{needs}'\n"
            )
        names = " \\\n\t".join(f"lib{name}.la" for name, _, _ in libraries)
        (tmp_path / "Makefile").write_text(
            f"CC = cc\nnoinst_LTLIBRARIES = {names}\nother = \\\n\t1\n"
        )
        done = subprocess.run(
            [CHECK, ".", tmp_path],
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr

    return run


def test_passes_a_library_that_needs_one_before_it(check):
    assert check(("low", LOW, ""), ("high", HIGH, "")) == (0, "")


def test_refuses_a_library_that_needs_one_after_it(check):
    status, output = check(("high", HIGH, ""), ("low", LOW, ""))
    assert status == 1
    assert output.startswith("libhigh.la needs what comes after it")
    assert "high.c: undefined reference to `low'" in output
    assert "liblow.la" not in output


@pytest.mark.parametrize(("named", "status"), [("", 1), (" -ldl -lm", 0)])
def test_a_library_of_others_has_to_be_named(check, named, status):
    text = "double cos(double); double x; double f(void); "
    text += "double f(void) { return cos(x); }"
    assert check(("low", text, named))[0] == status


def test_transitive_libraries_do_not_count(check):
    text = "double cos(double); double x; double {0}(void); "
    text += "double {0}(void) {{ return cos(x); }}"
    status, output = check(
        ("low", text.format("f"), " -lm"),
        ("high", text.format("g").replace("double x", "extern double x"), ""),
    )
    assert status == 1
    assert "high.c: undefined reference to `cos'" in output
