"""What build-aux/check-headers.sh finds, in folders of a few small files."""

import pathlib
import subprocess

import pytest

CHECK = pathlib.Path(__file__).parents[2] / "build-aux" / "check-headers.sh"
FOLDERS = ["base", "protocol", "sandbox", "notebooks", "workspace", "kernels"]
# Each is a file of its own, which defines what it declares.
ONE = "int one(void)\n{\n    return 1;\n}\n"
TWO = "bool two(const char *a,\n         int b)\n{\n    return a && b;\n}\n"
THREE = "static int own(void)\n{\n    return 3;\n}\n\nvoid three(void)\n{\n}\n"
DECLARED = {
    "one": "int one(void);\n",
    "two": "bool two(const char *a,\n         int b); /* Later. */\n",
    "three": "void three(void)\n    __attribute__((format(printf, 1, 2)));\n",
}
EXCEPTED = "gateway/frontends/frontend.h"
EXCEPTIONS = [EXCEPTED, "kernels/hearth_kernel/link/link.h"]


@pytest.fixture
def check(tmp_path):
    """Writes three files and a header of this text, and runs the check."""
    for folder in [*FOLDERS, "gateway"]:
        (tmp_path / folder).mkdir()
    for name in EXCEPTIONS:
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text("".join(DECLARED.values()))
    for name, text in {"one": ONE, "two": TWO, "three": THREE}.items():
        (tmp_path / "base" / f"{name}.c").write_text(text)

    def run(header, name="gateway/family.h"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(header)
        done = subprocess.run(
            [CHECK, tmp_path], capture_output=True, text=True, check=False
        )
        return done.returncode, done.stdout

    return run


def test_refuses_a_header_of_three_files(check):
    assert check("".join(DECLARED.values())) == (
        1,
        "gateway/family.h declares functions of 3 files: "
        "base/one.c base/two.c base/three.c\n",
    )


@pytest.mark.parametrize("left_out", DECLARED)
def test_passes_a_header_of_two_files(check, left_out):
    header = "".join(
        text for name, text in DECLARED.items() if name != left_out
    )
    assert check(header) == (0, "")


@pytest.mark.parametrize(
    "third",
    [
        # A table of functions.
        "typedef struct {\n    void (*three)(void);\n} ops_t;\n",
        # An inline function that calls it.
        "static inline void more(void)\n{\n    three();\n}\n",
        # A table of rows, as that of commands.
        "extern const command_t three[];\n",
        "#define cleanup_three CLEANUP(three)\n",
        "/* Calls\n * three(void); */\n",
    ],
)
def test_does_not_count_what_declares_no_function(check, third):
    assert check(DECLARED["one"] + DECLARED["two"] + third) == (0, "")


def test_does_not_count_a_static_function_of_the_same_name(check):
    header = DECLARED["one"] + DECLARED["two"] + "int own(void);\n"
    assert check(header) == (0, "")


def test_counts_a_file_once(check, tmp_path):
    header = "".join(DECLARED.values()).replace(
        "void three(void)", "int four(void)"
    )
    four = ONE + ONE.replace("one", "four")
    (tmp_path / "base" / "one.c").write_text(four)
    assert check(header) == (0, "")


@pytest.mark.parametrize("name", EXCEPTIONS)
def test_passes_an_exception(check, name):
    assert check("".join(DECLARED.values()), name) == (0, "")


def test_refuses_an_exception_of_two_files(check):
    assert check(DECLARED["one"] + DECLARED["two"], EXCEPTED) == (
        1,
        f"{EXCEPTED} is no exception any more\n",
    )


def test_refuses_an_exception_whose_header_is_gone(check, tmp_path):
    (tmp_path / EXCEPTED).unlink()
    assert check(DECLARED["one"]) == (
        1,
        f"{EXCEPTED} is gone: remove its exception from check-headers.sh\n",
    )
