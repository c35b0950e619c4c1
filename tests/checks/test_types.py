"""What build-aux/check-types.sh finds: in the tests, and in small trees."""

import os
import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHECK = ROOT / "build-aux/check-types.sh"
HEARTH = os.environ.get("HEARTH", ROOT / "build/hearth")
WITHOUT = 77  # what the check exits with where there is no mypy


def run_check(tree, cache):
    return subprocess.run(
        ["sh", CHECK, tree, cache], capture_output=True, text=True, check=False
    )


def test_the_tests_are_typed():
    done = run_check(ROOT, pathlib.Path(HEARTH).resolve().parent / "mypy")
    if done.returncode == WITHOUT:
        pytest.skip(done.stdout.strip())
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_each_fault_of_each_folder_is_named(tmp_path):
    if not (ROOT / ".venv/bin/mypy").exists():
        pytest.skip("no .venv/bin/mypy")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    (tmp_path / ".venv").symlink_to(ROOT / ".venv")
    (listed,) = re.findall(
        r"^for folder in ((?:.|\\\n)+?); do", CHECK.read_text(), re.MULTILINE
    )
    folders = listed.replace("\\", "").split()
    for number, folder in enumerate(folders):
        path = tmp_path / "tests" / folder / f"module_{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        value = '"wrong"' if folder in ("lib", "system/sdk") else "1"
        path.write_text(f"value: int = {value}\n")
    done = run_check(tmp_path, tmp_path / "cache")
    assert done.returncode == 1
    places = re.findall(r"^tests/(.+)/module_\d+\.py:1: ", done.stdout, re.M)
    assert places == ["lib", "system/sdk"]


def test_without_mypy_nothing_is_found(tmp_path):
    done = run_check(tmp_path, tmp_path / "cache")
    assert done.returncode == WITHOUT
    assert done.stdout.startswith("no .venv/bin/mypy")
