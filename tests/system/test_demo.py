"""`./dev demo`, whose last line says whether all was as it should be."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from harness import HEARTH

DEMO = Path(__file__).parents[1] / "demo" / "run.py"


@pytest.mark.deep  # it leaves a session alone for 15 s
def test_each_step_is_as_it_should_be(tmp_path: Path) -> None:
    words = ["--hearth", HEARTH, "--output", str(tmp_path / "left")]
    done = subprocess.run(
        [sys.executable, str(DEMO), *words],
        capture_output=True,
        text=True,
        check=False,
    )
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    assert "steps were as they should be" in said
