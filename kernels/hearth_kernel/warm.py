"""Warming an interpreter up: everything that is slow happens once, here."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import importlib
import logging
import os
import stat
import sys
import tempfile
import warnings
from typing import TYPE_CHECKING, Any

from traitlets.config import Config

from hearth_kernel import _sandbox
from hearth_kernel.errors import tracebacks
from hearth_kernel.forking import codes, holes, immortal
from hearth_kernel.messaging import comms, streams
from hearth_kernel.packages import preinstalled
from hearth_kernel.shell.interactive import ZMQInteractiveShell

if TYPE_CHECKING:
    from hearth_kernel.kernel import Kernel

_MADV_COLLAPSE = 25  # Linux 6.1
_LARGE_PAGE = 2 << 20
_CACHES = 8  # names of cache folders that are tried

_CELLS = (
    "1 + 1",
    "x = [1]\nfor i in x:\n    print(i)\nx",
    "1 / 0",
    "import json\njson.loads('{')",
    "def f(:",
    "%timeit -n1 -r1 pass",
    "await __import__('asyncio').sleep(0)",
    "from IPython.display import display, HTML, clear_output\n"
    "display(HTML('<b>x</b>'), display_id='x').update(HTML(''))",
    "!:",
    "print?",
)
_PLOT = """
import matplotlib.pyplot as plt
import numpy as np
plt.figure()
plt.plot(np.arange(3), label='a')
plt.title('title')
plt.legend()
plt.show()
plt.figure()
plt.hist([1, 2, 3])
"""
_FRAME = """
import pandas as pd
frame = pd.DataFrame({'a': [1, 2], 'b': ['x', 'y']})
frame.describe()
frame.groupby('b').sum()
frame
"""
# A session's first error is common, and pandas' are the longest. The functions
# that they pass through are parsed here, for all sessions.
_FRAME_ERRORS = (
    "frame['c']",
    "frame.groupby('c')",
    "frame.loc[7]",
    "frame.iloc[7]",
    "frame.c",
    "frame.sort_values('c')",
    "frame.merge(frame, on='c')",
    "frame.groupby('b').agg({'c': 'sum'})",
    "frame['b'].astype(int)",
    "pd.to_datetime('c')",
    "pd.read_csv('')",
)
_PLOT_ERRORS = ("plt.plot([1, 2], [1])",)


def preload(names: list[str]) -> tuple[list[str], list[dict[str, str]]]:
    """Import modules; return those that came and those that did not."""
    others = [name for name in names if preinstalled.has(name)]
    found = _import([name for name in names if name not in others])
    if not others:
        return found
    # Nothing else of the zygote's finds them.
    with preinstalled.visible():
        more = _import(others)
    return found[0] + more[0], found[1] + more[1]


def _import(names: list[str]) -> tuple[list[str], list[dict[str, str]]]:
    loaded, missing = [], []
    for name in names:
        try:
            importlib.import_module(name)
            loaded.append(name)
        except BaseException as error:
            missing.append({"name": name, "error": f"{error}"[:500]})
    return loaded, missing


def make_shell(folder: str) -> ZMQInteractiveShell:
    """IPython's shell, configured, with an empty user namespace.

    IPython makes empty folders in `folder`, where they stay: a zygote that is
    killed could not remove them.
    """
    config: Any = Config()
    config.IPKernelApp = Config()
    config.InteractiveShell.enable_html_pager = False
    config.InteractiveShell.banner2 = ""
    place = os.path.join(folder, "ipython")
    os.makedirs(place, mode=0o700, exist_ok=True)
    shell: ZMQInteractiveShell = ZMQInteractiveShell.instance(
        ipython_dir=place, config=config
    )
    return shell


def _run(shell: ZMQInteractiveShell, cell: str) -> None:
    if "await" in cell:
        loop = asyncio.new_event_loop()
        text = shell.transform_cell(cell)
        loop.run_until_complete(
            shell.run_cell_async(cell, transformed_cell=text)
        )
        loop.close()
    else:
        shell.run_cell(cell, store_history=True)


def run_cells(shell: ZMQInteractiveShell, completes: bool) -> None:
    """Run what most sessions run, so that its code is loaded; a completion only
    if it `completes`: jedi's stubs take longer than all the rest."""
    quiet = streams.SilentStream()
    kept = sys.stdout, sys.stderr
    sys.stdout = sys.stderr = quiet  # type: ignore[assignment]
    cells = list(_CELLS)
    if "matplotlib.pyplot" in sys.modules:
        cells += (_PLOT, *_PLOT_ERRORS)
    if "pandas" in sys.modules:
        cells += (_FRAME, *_FRAME_ERRORS)
        if _PLOT in cells:
            cells.append("frame.plot(x='c')")
    try:
        for cell in cells:
            _run(shell, cell)
        _introspect(shell, completes)
    finally:
        sys.stdout, sys.stderr = kept
    shell.forget_warming()


def _introspect(shell: ZMQInteractiveShell, completes: bool) -> None:
    from hearth_kernel.shell import introspection

    # Both names are in the namespace. If the code only named a module, jedi
    # would read the module's whole stub, which takes half a second more.
    if completes:
        introspection.complete(shell, {"code": "pri"})
    if completes and "pandas" in sys.modules:
        introspection.complete(shell, {"code": "frame.he"})
    introspection.inspect(shell, {"code": "print"})
    introspection.is_complete(shell, {"code": "for i in x:"})


def _prepare(shell: ZMQInteractiveShell) -> Kernel:
    """Do once what each kernel does at its start, and what it need not do."""
    from hearth_kernel import kernel
    from hearth_kernel.forking import reseed

    reseed.prepare()
    reseed.reseed()
    asyncio.new_event_loop().close()
    return kernel.prepare(shell)


def forget_files() -> None:
    """Let go of cached objects that hold descriptors: kernels close them."""
    fonts = sys.modules.get("matplotlib.font_manager")
    if fonts is not None:
        cached = getattr(fonts, "_get_font", None)
        if cached is not None:
            cached.cache_clear()


def _is_own(path: str) -> bool:
    """Make the folder, or look whether it is this user's alone."""
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        found = os.lstat(path)
        return (
            stat.S_ISDIR(found.st_mode)
            and found.st_uid == os.geteuid()
            and not found.st_mode & 0o077
        )
    return True


def cache_folder(place: str = "/tmp") -> str:
    """Return a folder that no other user can write to: it has pickles in it.

    It stays, for the next zygote. Another user may have the same number: in a
    user namespace it has another meaning.
    """
    path = os.path.join(place, f"hearth-cache-{os.geteuid()}")
    for candidate in (path, *(f"{path}-{n}" for n in range(1, _CACHES))):
        if _is_own(candidate):
            return candidate
    return tempfile.mkdtemp(prefix="hearth-cache-", dir=place)


def start_openssl() -> None:
    """Let OpenSSL set itself up: each kernel would, and it takes 4 MB."""
    ssl = sys.modules.get("ssl")
    if ssl is not None:
        ssl.RAND_bytes(1)


def settle() -> None:
    """Make this memory cheap to fork: its holes filled, and in large pages.

    A fork copies an entry for each page; with large pages that takes 2 ms
    instead of 6.6. What a kernel writes to is copied in small ones all the
    same, and it writes less where there are no holes to be filled. A system
    that cannot do this leaves everything as it was.
    """
    libc = ctypes.CDLL(None)
    holes.fill(libc)
    _sandbox.close_region()
    with open("/proc/self/maps", encoding="utf-8") as maps:
        lines = maps.readlines()
    for line in lines:
        span, access, _, _, inode, *name = line.split()
        if access != "rw-p" or inode != "0" or name == ["[stack]"]:
            continue
        start, end = (int(address, 16) for address in span.split("-"))
        start = -(-start // _LARGE_PAGE) * _LARGE_PAGE
        end = end // _LARGE_PAGE * _LARGE_PAGE
        if start < end:
            libc.madvise(
                ctypes.c_void_p(start),
                ctypes.c_size_t(end - start),
                _MADV_COLLAPSE,
            )


def warm(
    names: list[str], is_zygote: bool = True
) -> tuple[ZMQInteractiveShell, list[str], list[dict[str, str]]]:
    """Do it all; return the shell, what is loaded and what is missing.

    A profile without modules in advance asks for a quick start and little
    memory. A kernel that warms up for itself alone may never complete
    anything. In both cases the first completion is slow instead.
    """
    # Completion would keep its caches below the session's workspace.
    os.environ["XDG_CACHE_HOME"] = folder = cache_folder()
    os.environ["MPLCONFIGDIR"] = os.path.join(folder, "matplotlib")
    logging.getLogger("Comm").addHandler(logging.NullHandler())
    comms.install()
    tracebacks.install()
    shell = make_shell(folder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loaded, missing = preload(names)
        run_cells(shell, completes=is_zygote and bool(names))
    kernel = _prepare(shell)
    forget_files()
    start_openssl()
    if is_zygote:
        kernel.rehearse_in_zygote(1)
        codes.gather(lambda: kernel.rehearse_in_zygote(1))
        kernel.rehearse_in_zygote()
    gc.collect()
    if is_zygote:
        immortal.make()
    gc.freeze()
    if is_zygote:
        settle()
        # Free memory is now where it will be in each kernel.
        kernel.rehearse_in_zygote()
    return shell, loaded, missing
