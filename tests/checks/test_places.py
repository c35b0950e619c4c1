"""`hearth doctor` looks where the workers of downloads look: its C and their
Python name the same places, in one order."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
WORKERS = ROOT / "gateway/downloads/hearth_downloads"
DOCTOR = (ROOT / "gateway/cli/doctor/fetch.c").read_text()


def constant(path: Path, name: str) -> Any:
    """The value of a module's constant."""
    for node in ast.parse(path.read_text()).body:
        if (
            isinstance(node, ast.Assign)
            and ast.unparse(node.targets[0]) == name
        ):
            return ast.literal_eval(node.value)
    raise AssertionError(f"{path} has no {name}")


def places(function: str) -> tuple[str, ...]:
    """The texts of the first table in a function of doctor's."""
    found = re.search(
        rf"^static const char \*{function}\(.*?places\[\] = \{{(.*?)\}};",
        DOCTOR,
        re.DOTALL | re.MULTILINE,
    )
    assert found, f"{function} has no table"
    return tuple(re.findall(r'"([^"]*)"', found[1]))


def test_certificates() -> None:
    paths = constant(WORKERS / "core/certificates.py", "_PATHS")
    assert places("find_certificates") == paths


def test_git() -> None:
    folders = constant(WORKERS / "clone/git.py", "FOLDERS")
    assert places("find_git") == tuple(f"{name}/git" for name in folders)
    sentence = re.sub(r'"\s*"', "", DOCTOR)
    first, second, last = folders
    assert f"there is no git in {first}, {second} or {last}," in sentence
