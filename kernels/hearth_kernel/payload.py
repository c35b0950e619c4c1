"""From a process in a sandbox to a session's kernel: the last steps.

A fork of the zygote takes them, and so does the fresh interpreter that it
becomes for profiles with `fresh = true`.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # signal's own makes enums
import os
import signal
import sys
from typing import Any, Callable, Optional

_HANDLED = tuple(map(int, (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD)))


def set_blas_threads(count: int) -> None:
    """Undo the single thread of warming up, where OpenBLAS is loaded."""
    import ctypes

    with open("/proc/self/maps", encoding="utf-8") as maps:
        found = {line.split()[-1] for line in maps if "openblas" in line}
    for path in found:
        library = ctypes.CDLL(path)
        for name in (
            "scipy_openblas_set_num_threads64_",
            "openblas_set_num_threads64_",
            "openblas_set_num_threads",
        ):
            if hasattr(library, name):
                getattr(library, name)(count)
                break


def become_kernel(
    request: dict[str, Any],
    link_fd: int,
    before_ready: Optional[Callable[[], None]] = None,
    when_begun: Optional[Callable[[], None]] = None,
) -> None:
    """Be a session's kernel: in the payload, after the sandbox is entered."""
    # Loaded since the zygote warmed up: their folder may be out of sight here.
    from hearth_kernel import environment, kernel
    from hearth_kernel.forking import forks, reseed
    from hearth_kernel.packages import added

    forks.restore()
    for number in _HANDLED:
        _signal.signal(number, _signal.SIG_DFL)
    reseed.reseed()
    environment.settle(request.get("env") or {})
    added.begin()
    os.chdir("/workspace")
    sys.argv = [""]
    threads = os.environ.get("OPENBLAS_NUM_THREADS", "1")
    if threads.isdigit() and int(threads) > 1:
        set_blas_threads(int(threads))
    kernel.main(
        link_fd,
        int(request["retain"]),
        before_ready=before_ready,
        when_begun=when_begun,
    )
