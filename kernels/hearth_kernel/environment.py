"""The environment variables of a kernel and of the programs that it starts."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from hearth_kernel.packages import preinstalled

_SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"
_STANDARD = {
    # The profile's own python and pip come before the system's.
    "PATH": os.path.dirname(sys.executable) + ":" + _SYSTEM_PATH,
    "HOME": "/workspace",
    "LANG": "C.UTF-8",
    "USER": "kernel",
    "LOGNAME": "kernel",
    # Plots are shown also if matplotlib was not imported in advance.
    "MPLBACKEND": "module://matplotlib_inline.backend_inline",
    # `!git log` has a terminal, and no person to turn its pages.
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    # There is no network to ask again.
    "PIP_RETRIES": "0",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
}

_is_standard = False


def have_preinstalled(folder: str) -> None:
    """Let kernels, and the programs that they start, find these packages."""
    preinstalled.configure(folder)
    if folder:
        _STANDARD["PYTHONPATH"] = folder
        _STANDARD["PATH"] += os.pathsep + os.path.join(folder, "bin")


def settle(wanted: Mapping[str, str]) -> None:
    """Have the standard environment and `wanted`, and nothing else.

    Done before the fork as far as it can be: a kernel that finds a name with
    its value writes to no page for it.
    """
    global _is_standard
    if _is_standard and not wanted:
        return
    for name in list(os.environ):
        if name not in _STANDARD and name not in wanted:
            del os.environ[name]
    for texts in (_STANDARD, wanted):
        for name, value in texts.items():
            if os.environ.get(name) != value:
                os.environ[name] = value
    _is_standard = not wanted
