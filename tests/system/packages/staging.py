"""The work folder of a job, as one before has left it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from hearth_downloads.packages.job import Job
from hearth_downloads.packages.stage import ARCHIVE


def make_job(
    work: Path, max_files: int = 1000, order: str = "add", **bounds: Any
) -> Job:
    """Return a job whose cache has a page, and two wheels that share a file."""
    cache = work / "uv" / "cache"
    for name in ("page/a", f"{ARCHIVE}/one/a", f"{ARCHIVE}/two/b"):
        (cache / name).parent.mkdir(parents=True, exist_ok=True)
        (cache / name).write_bytes(bytes(10_000))
    os.link(cache / ARCHIVE / "one" / "a", cache / ARCHIVE / "two" / "a")
    user = os.geteuid()
    return Job(
        order, str(work), max_files=max_files, uid=user, gid=user, **bounds
    )


def count_descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))
