"""The Dockerfile of the guide, as far as it can be checked without Docker: its
packages, its build, and the command line that its containers run."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from documents import HEARTH, ROOT

TEXT = (ROOT / "docs" / "guide" / "Dockerfile").read_text()
# What a line is after its continuation lines were joined.
LINES = [
    line
    for line in re.sub(r"\\\n\s*", " ", TEXT).splitlines()
    if line and not line.startswith("#")
]
STAGES = [i for i, line in enumerate(LINES) if line.startswith("FROM ")]


def installed(stage: list[str]) -> set[str]:
    """The packages that a stage has from Debian."""
    (line,) = [text for text in stage if " apt-get install " in text]
    words = line.partition("--no-install-recommends")[2].partition("&&")[0]
    return set(words.split())


def listed(group: str) -> set[str]:
    """The packages of a list of build-aux/dev/deps.sh."""
    script = (ROOT / "build-aux" / "dev" / "deps.sh").read_text()
    (found,) = re.findall(rf"readonly {group}=\(\n(.*?)\n\)", script, re.S)
    return set(re.sub(r"#.*", "", found).split())


def test_the_image_has_the_build_dependencies() -> None:
    build = LINES[STAGES[0] : STAGES[1]]
    assert installed(build) == listed("BUILD_PACKAGES")
    operators = (ROOT / "docs" / "guide" / "for-operators.md").read_text()
    (configure,) = re.findall(r"^    \./(configure .*)$", operators, re.M)
    assert f"../{configure} &&" in build[-1]


def test_it_has_the_libraries_that_the_programs_need() -> None:
    """By the names of Debian 12's packages, which builds it."""
    release = Path("/etc/os-release").read_text()
    if "bookworm" not in release or not shutil.which("readelf"):
        pytest.skip("the names of the packages are those of Debian 12")
    programs = [HEARTH, *HEARTH.parent.glob("python/hearth_kernel/*.so")]
    needed = set()
    for program in programs:
        done = subprocess.run(
            ["readelf", "-d", str(program)],
            check=True,
            capture_output=True,
            text=True,
        )
        needed |= set(re.findall(r"NEEDED.*\[(.*)\]", done.stdout))
    # A library's package has its name and number, "libczmq.so.4" libczmq4.
    packages = {
        re.sub(r"\.so\.", "", name)
        for name in needed
        if name.startswith("lib") and not name.startswith(("libc.", "libasan"))
    }
    packages = {"libssl3" if p == "libcrypto3" else p for p in packages}
    missing = packages - installed(LINES[STAGES[1] :])
    assert not missing, missing


def test_its_command_line_is_that_of_the_guide(tmp_path: Path) -> None:
    words = json.loads(LINES[-1].removeprefix("CMD "))
    guide = (ROOT / "docs" / "guide" / "clients.md").read_text()
    said = re.sub(r'\\\n\s*|"', "", guide)
    assert " ".join(words).replace("-kernel", " kernel", 1) in said
    program = tmp_path / words[0]
    program.symlink_to(HEARTH)
    done = subprocess.run(
        [str(program), *words[1:], "--help"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    wrong = subprocess.run(
        [str(program), *words[1:], "--KernelGatewayApp.no_such=1"],
        capture_output=True,
        text=True,
    )
    assert wrong.returncode == 2, wrong.stderr


def test_copied_files_exist() -> None:
    copied = [line.split() for line in LINES if line.startswith("COPY ")]
    assert [words[-2:] for words in copied] == [
        [".", "/src"],
        ["/installed", "/"],
    ]
    assert (ROOT / "configure.ac").exists()
