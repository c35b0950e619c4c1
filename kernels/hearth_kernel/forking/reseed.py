"""Gives each fork its own random state, which no two sessions may share.

Called in every child of a zygote before anything else runs. Modules that are
not loaded are left alone: they seed themselves when they are.
"""

from __future__ import annotations

import ctypes
import os
import sys
from typing import Any, Optional

LOADED = os.getpid()  # the zygote's, when it loaded this
_WORDS = 624  # of a Mersenne twister's state, followed by an index

# Where numpy's global generator has its state, when prepare() found it.
_numpy_state: Optional[int] = None


def _module(name: str) -> Any:
    return sys.modules.get(name)


def _find_numpy_state(numpy_random: Any) -> Optional[int]:
    """The address of the words, if they are where they are expected."""
    generator = numpy_random.mtrand._rand._bit_generator
    found = generator.state
    address = int(generator.ctypes.state_address)
    known = found["state"]["key"].tobytes()
    index = ctypes.c_int.from_address(address + 4 * _WORDS).value
    if (
        found["bit_generator"] != "MT19937"
        or len(known) != 4 * _WORDS
        or ctypes.string_at(address, 4 * _WORDS) != known
        or index != found["state"]["pos"]
    ):
        return None
    return address


def prepare() -> None:
    """Look for what reseed() may then do with less; in the zygote.

    numpy's seed() runs through 400 KB that are written to on the way, and so
    would become each kernel's own: all bits of its state are random as well.
    """
    global _numpy_state
    numpy_random = _module("numpy.random")
    if numpy_random:
        numpy_random.seed()  # drops the second one of a pair of normals
        try:
            _numpy_state = _find_numpy_state(numpy_random)
        except (AttributeError, KeyError, TypeError, ValueError):
            _numpy_state = None


def _reseed_numpy(numpy_random: Any) -> None:
    if _numpy_state is None:
        words = memoryview(os.urandom(64)).cast("I").tolist()
        numpy_random.seed(words)
        return
    ctypes.memmove(_numpy_state, os.urandom(4 * _WORDS), 4 * _WORDS)
    # At the end of its words: the next number makes new ones of them.
    ctypes.c_int.from_address(_numpy_state + 4 * _WORDS).value = _WORDS


def reseed() -> None:
    """Draw anew what does not by itself in a fork, as random does."""
    numpy_random = _module("numpy.random")
    if numpy_random:
        _reseed_numpy(numpy_random)
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
    # From 1.1.1 on OpenSSL reseeds itself after a fork, see RAND_DRBG(7). It
    # recognises a fork by the process id, which can be the same in another
    # namespace.
    if ssl and (ssl.OPENSSL_VERSION_INFO < (1, 1, 1) or os.getpid() == LOADED):
        ssl.RAND_add(os.urandom(32), 32.0)
    torch = _module("torch")
    if torch:
        torch.seed()
