"""What `make dist` packs is whole: it builds without the checkout."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from harness import HEARTH

BUILD = Path(HEARTH).parent


@pytest.mark.deep
@pytest.mark.timeout(3600)
def test_distcheck_passes(tmp_path: Path) -> None:
    """From a source that cannot be written; installs, uninstalls, cleans.

    The tests themselves are left out: they are those of the checkout.
    """
    if not (BUILD / "Makefile").exists():
        pytest.skip("the program was not built here")
    log = tmp_path / "distcheck.log"
    with log.open("w") as out:
        done = subprocess.run(
            [
                *("make", "-C", str(BUILD), "distcheck"),
                *("TESTS=", "check_PROGRAMS="),
            ],
            stdout=out,
            stderr=subprocess.STDOUT,
            check=False,
        )
    assert done.returncode == 0, log.read_text()[-4000:]
    made = list(BUILD.glob("hearth-*.tar.gz"))
    assert len(made) == 1
    made[0].unlink()
