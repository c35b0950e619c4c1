"""The soak (tests/soak/soak.py), shortened; `./dev soak` has the hour."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "soak"))

from soak import Soak

WANTED = os.environ.get("HEARTH_SOAK")
SECONDS = float(WANTED or 20)
SEEDS = [int(time.time())] if WANTED else [1, 20261121]


@pytest.mark.deep
@pytest.mark.timeout(SECONDS + 300)
@pytest.mark.parametrize("seed", SEEDS)
def test_random_agents(seed: int) -> None:
    print(f"seed {seed}:", Soak(seed).run(SECONDS))
