"""The operation `profile`: packages that all sessions of a profile have.

They are made as a session's are, in a folder for each key. All that decides the
result is in the key, so what is there and whole is used as it is, without the
index. What the operator forbids today is refused, whenever it was made.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import sysconfig
from dataclasses import replace

from hearth_downloads.core.faults import Failed
from hearth_downloads.packages.job import Job
from hearth_downloads.packages.profile import Installed

KEY_LETTERS = 32


def make_key(
    job: Job, requested: dict[str, str], installed: dict[str, Installed]
) -> str:
    """Return the name of the folder for these requirements."""
    decides = [
        job.profile,
        job.index,
        sorted(job.hosts),
        [job.cooldown, job.max_bytes, job.max_files],
        [sys.executable, sys.version, sysconfig.get_config_var("SOABI")],
        sorted(requested.items()),
        sorted((one.name, one.version) for one in installed.values()),
        # A folder that was made without may have what it refuses.
        *["require_hashes"] * job.require_hashes,
    ]
    text = json.dumps(decides)
    return hashlib.sha256(text.encode()).hexdigest()[:KEY_LETTERS]


def place(
    job: Job, requested: dict[str, str], installed: dict[str, Installed]
) -> Job:
    """Return the job with the folder of its key in the place of `session`."""
    key = make_key(job, requested, installed)
    return replace(job, session=os.path.join(job.session, key))


def name_generation(job: Job, number: int) -> str:
    """Return what the gateway shows: the key, and the generation in it."""
    return f"{os.path.basename(job.session)}/{number}"


def sync(folder: int) -> None:
    """Wait until the folder's file system has all on its disk.

    It is cheaper than to wait for one file after the other. Python has no
    function for it.
    """
    import ctypes  # costs a job of a session time

    if ctypes.CDLL(None, use_errno=True).syncfs(folder) < 0:
        code = ctypes.get_errno()
        raise Failed(f"cannot write the packages to disk: {os.strerror(code)}")
