"""The worker's package."""

from __future__ import annotations

import os
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
PACKAGE = os.environ.get("HEARTH_PYTHON_PATH") or os.environ.get(
    "HEARTH_PYTHON_DIR", str(ROOT / "build" / "python")
)
sys.path.insert(0, PACKAGE)
