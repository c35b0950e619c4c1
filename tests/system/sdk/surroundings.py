"""The environment of a user's program."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from harness import HEARTH, Gateway


def live_as(gateway: Gateway, patch: pytest.MonkeyPatch) -> None:
    """Have the environment of this gateway's user."""
    for name in ("HOME", "HEARTH_RUNTIME_DIR", "HEARTH_STATE_DIR"):
        patch.setenv(name, gateway.env[name])
    folder = Path(HEARTH).resolve().parent
    patch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    for name in ("HEARTH_URL", "HEARTH_TOKEN", "HEARTH_CONFIG"):
        patch.delenv(name, raising=False)
    # A test that ends a gateway starts the next one itself.
    patch.setenv("HEARTH_AUTOSTART", "no")
