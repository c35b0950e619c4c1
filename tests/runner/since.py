"""Which layers a change can touch."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Iterable, Optional

from .layers import BY_NAME, Depth, Layer, of_depth

# By the beginning of a path; the first that fits counts. What has no row can
# touch everything.
TOUCHED = (
    ("docs/", "docs examples"),
    ("man/", "docs examples"),
    ("examples/", "system docs examples"),
    ("clients/", "system examples"),
    ("tests/unit/", "unit"),
    ("tests/checks/", "unit"),
    ("tests/bench/", "unit"),
    ("tests/mutants/", "unit"),
    ("tests/runner/", "unit"),
    ("tests/docs/", "examples"),
    ("tests/sandbox/", "sandbox alone deep"),
    ("tests/system/kernel/", "kernel deep"),
    ("tests/system/http/", "http alone deep"),
    ("tests/system/jc7/", "jc7"),
    ("tests/system/peers/", "peers"),
    ("tests/system/test_", "system alone deep"),
    ("tests/system/sdk/", "system"),
    ("tests/fuzz/", "fuzz"),
    ("tests/vm/", ""),
    ("tests/soak/", "deep"),
    ("tests/demo/", "deep"),
    ("gateway/cli/", "unit system http examples alone"),
    ("gateway/http/", "unit system http examples alone"),
    ("gateway/jupyter/", "unit system peers"),
    ("notebooks/", "unit system http examples"),
)
# Always, since they are quick: the form of the tree and of what it says.
ALWAYS = ("checks", "docs")


def changed(root: Path, revision: str) -> Optional[list[str]]:
    """Return the files that differ from a revision, and those that git does
    not know yet; None if git does not know the revision."""
    found: list[str] = []
    for command in (
        ["diff", "--name-only", "--no-renames", revision, "--"],
        ["ls-files", "--others", "--exclude-standard"],
    ):
        done = subprocess.run(
            ["git", *command], cwd=root, capture_output=True, text=True
        )
        if done.returncode != 0:
            return None
        found += done.stdout.splitlines()
    return found


def touched(files: Iterable[str]) -> list[Layer]:
    """Return the layers that a change of these files can touch, in order."""
    names = set(ALWAYS)
    for file in files:
        path = "docs/" if file.endswith(".md") else file
        row = next((row for row in TOUCHED if path.startswith(row[0])), None)
        if row is None:
            names |= {layer.name for layer in of_depth(Depth.FIRST)}
        else:
            names |= set(row[1].split())
    return [layer for layer in BY_NAME.values() if layer.name in names]
