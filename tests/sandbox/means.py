"""What a machine must have for a launch to be possible, asked of the system
alone (as means.h does): a launch that fails although it has that is a
failure, and none of these tests is skipped for it."""

from __future__ import annotations

import ctypes
import functools
import os
import subprocess

import pytest

LANDLOCK_CREATE_RULESET = 444


@functools.cache
def missing() -> str:
    done = subprocess.run(
        [
            "unshare", "--user", "--map-root-user", "--mount", "--pid",
            "--fork", "--net", "--ipc", "--uts", "--cgroup", "--mount-proc",
            "true",
        ],
        capture_output=True,
        text=True,
    )  # fmt: skip
    if done.returncode != 0:
        return done.stderr.strip() or "no namespaces"
    abi: int = ctypes.CDLL(None).syscall(LANDLOCK_CREATE_RULESET, None, 0, 1)
    return "" if abi > 0 else "no Landlock"


def require() -> None:
    if missing():
        if os.environ.get("HEARTH_MUST_WORK"):
            pytest.fail(missing())
        pytest.skip(missing())
