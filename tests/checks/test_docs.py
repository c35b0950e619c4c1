"""What build-aux/check-docs.sh finds, in trees of one document."""

import pathlib
import subprocess

import pytest

CHECK = pathlib.Path(__file__).resolve().parents[2] / "build-aux/check-docs.sh"
FOLDERS = (
    *("base", "protocol", "sandbox", "notebooks", "workspace", "kernels"),
    *("gateway", "tests", "docs/guide", "etc", "man", "build-aux", "clients"),
    "examples",
)
WORDS = "word " * 20  # a line of 100 columns, with its last space


def complaints(tree, name, text):
    for folder in FOLDERS:
        (tree / folder).mkdir(parents=True)
    (tree / "README.md").write_text("It is read first.\n")
    (tree / name).write_text(text)
    done = subprocess.run(
        ["sh", CHECK, tree], capture_output=True, text=True, check=False
    )
    assert (done.returncode == 0) == (not done.stdout), done
    return done.stdout


@pytest.mark.parametrize("name", ["a.md", "docs/a.md", "docs/guide/a.md"])
def test_a_line_has_at_most_100_columns(tmp_path, name):
    text = f"A line.\n{WORDS}x\n"
    found = complaints(tmp_path, name, text)
    where = name if "/" in name else f"./{name}"
    assert found == f"{where}:2: a line of 101 columns: no more than 100\n"


@pytest.mark.parametrize(
    "text",
    [
        f"- {WORDS}x\n",
        f"```\nx\n```\n{WORDS}x\n",
        f"<!-- end of what is written -->\n{WORDS}x\n",
    ],
)
def test_lines_of_lists_and_after_code_are_read(tmp_path, text):
    assert "no more than 100" in complaints(tmp_path, "a.md", text)


@pytest.mark.parametrize(
    "text",
    [
        f"{WORDS}\n",
        "\N{LATIN SMALL LETTER E WITH ACUTE}" * 100 + "\n",
        f"| {WORDS}x |\n",
        f"It is so:\n\n    {WORDS}x\n",
        f"```\n{WORDS}x\n```\n",
        f"{WORDS}[a](README.md)\n",
        f"<!-- written by a program -->\n{WORDS}x\n",
    ],
)
def test_other_lines_may_be_longer(tmp_path, text):
    assert complaints(tmp_path, "a.md", text) == ""


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("See `base/none.c`.\n", "a.md: there is no base/none.c"),
        ("See [a](none.md).\n", "a.md: the link to none.md leads nowhere"),
    ],
)
def test_what_is_not_there_is_named(tmp_path, text, what):
    assert what in complaints(tmp_path, "a.md", text)
