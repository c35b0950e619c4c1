"""What a fork would share and no two sessions may: random state.

Called in every child of a zygote before anything else runs. Modules that are
not loaded are left alone: they seed themselves when they are.
"""

from __future__ import annotations

import os
import sys
from typing import Any


def _module(name: str) -> Any:
    return sys.modules.get(name)


def reseed() -> None:
    """Draw everything anew."""
    random = _module("random")
    if random:
        random.seed()
    numpy_random = _module("numpy.random")
    if numpy_random:
        words = memoryview(os.urandom(64)).cast("I").tolist()
        numpy_random.seed(words)
    multiprocessing = _module("multiprocessing.process")
    if multiprocessing:
        multiprocessing.current_process().authkey = os.urandom(32)
    uuid = _module("uuid")
    if uuid:
        uuid._node = None
        uuid._last_timestamp = None
    # Reseeds itself when the pid changes; inside, every kernel has the same.
    tempfile = _module("tempfile")
    if tempfile:
        tempfile._name_sequence = None
        tempfile.tempdir = None
    ssl = _module("ssl")
    if ssl:
        ssl.RAND_add(os.urandom(32), 32.0)
    torch = _module("torch")
    if torch:
        torch.seed()
