"""What `!` runs in a shell instead of asking, and what `%pip` shows of what is
installed."""

import json

import pytest
from pip_cells import (  # noqa: F401
    HUMANIZE,
    add,
    do,
    kernel_with_packages,
    printed,
    refused,
)
from test_kernel_packages import folder, show  # noqa: F401

from gateway import kinds, text

# ---- what a shell runs ----


@pytest.mark.parametrize(
    "line",
    [
        "pip install humanize>=4",
        "pip install humanize && true",
        "pip install humanize | cat; false",
        "pip install humanize | grep -c humanize",
        "pip install humanize 3>/dev/null",
        "pip install humanize > lines; false",
        "pip install humanize 2>&1 | tail -1; false",
        "PIP_TARGET=there pip install humanize",
        "pip install `echo humanize`",
        'pip install "$(echo humanize)"',
        "pip install ./humanize",
        "pip install humanize-4-py3-none-any.whl",
        "pip install -e .",
        "pip install --target there humanize",
        "pip install 'humanize; python_version > \"3\"'",
        "X=1 pip install humanize",
        "/other/bin/pip install humanize",
        "python2 -m pip install humanize",
        "pip install 'humanize",
        "pip download humanize",
        "pip list",
        "pip install",
    ],
)
def test_anything_more_runs_in_a_shell(kernel, line):
    kernel.run(
        "import os\nos.environ['PATH'] = os.path.abspath('bin') + ':/bin'\n"
        "os.makedirs('bin')\nfor name in ('pip', 'python2'):\n"
        "    with open(f'bin/{name}', 'w') as file:\n"
        "        _ = file.write('#!/bin/sh\\nexit 3\\n')\n"
        "    os.chmod(f'bin/{name}', 0o755)"
    )
    events = kernel.run(f"!{line}")
    assert "CALL" not in kinds(events)
    assert events[-1].content["status"] == "ok"
    assert kernel.value("_exit_code") != "0"
    if "pip install" in line:
        assert text(events, "stderr").count("`%pip install NAME` asks") == 1


@pytest.mark.parametrize(
    "line",
    [
        "!PATH=; pip install a; true",
        "!PATH=; cd /tmp && pip install a || conda install a; true",
        "!PATH=; for one in a b; do python3 -m pip -q install $one; done; true",
        "lines = !PATH=; pip install a; true",
    ],
)
def test_advice_does_not_wait_for_a_failure(kernel, line):
    events = kernel.run(line)
    assert "CALL" not in kinds(events)
    assert events[-1].content["status"] == "ok"
    assert text(events, "stderr").count("`%pip install NAME` asks") == 1


def test_other_commands_are_not_advised(kernel):
    for line in ("echo pip-install x", "echo pip list install", "true"):
        assert text(kernel.run(f"!{line}"), "stderr") == ""
        assert text(kernel.run(f"lines = !{line}"), "stderr") == ""


# ---- what is installed ----


def test_what_is_installed_is_listed_without_a_call(kernel, folder):  # noqa: F811
    add(folder, "1", **HUMANIZE)
    lines = printed(kernel.run("%pip list"))
    assert lines[0].split() == ["Package", "Version"]
    assert set(lines[1]) == {"-", " "}
    assert lines[1].index(" ") == lines[0].index("Version") - 1
    assert ["humanize", "4.17.0"] in [line.split() for line in lines]
    assert sum(line.split()[0] == "numpy" for line in lines) == 1
    assert "humanize==4.17.0" in printed(kernel.run("%pip freeze"))
    found = printed(kernel.run("%uv pip list --format=json"))
    assert HUMANIZE in json.loads(found[0])
    add(folder, "2", "humanize", "5")
    assert "humanize==5" in printed(kernel.run("!!true\n%pip freeze"))


def test_freeze_leaves_out_pip(kernel, folder):  # noqa: F811
    add(folder, "1", "setuptools", "1")
    names = [line.split("==")[0] for line in printed(kernel.run("%pip freeze"))]
    assert "numpy" in names
    assert not {"pip", "setuptools"} & set(names)


def test_a_package_is_shown(kernel, folder):  # noqa: F811
    add(folder, "1", **HUMANIZE)
    lines = printed(kernel.run("%pip show Humanize"))
    assert "Name: humanize" in lines
    assert "Version: 4.17.0" in lines
    assert "Summary: One for tests" in lines
    assert "Requires: numpy>=1" in lines
    assert f"Location: {folder / 'current'}" in [
        line.rstrip("/") for line in lines
    ]
    assert refused(kernel, "%pip show humanize nothing") == (
        "%pip: not installed: nothing"
    )
    assert text(kernel.run("%pip show nothing")) == ""


def test_what_cannot_be_read_is_passed_over(kernel, folder):  # noqa: F811
    add(folder, "1", **HUMANIZE)
    odd = folder / "1" / "odd-1.dist-info"
    odd.mkdir()
    (odd / "METADATA").write_bytes(b"Name: odd\nVersion: 1\nSummary: \xff\n")
    for line in ("%pip list", "%pip freeze", "%pip show humanize"):
        assert "humanize" in "".join(printed(kernel.run(line)))
    assert refused(kernel, "%pip show odd") == "%pip: not installed: odd"
