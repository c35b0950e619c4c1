"""pdb in a client: an interrupt leaves it.

At a terminal it would only bring the prompt back; here the cell would wait for
an answer that no client gives any more.
"""

from __future__ import annotations

import pdb
import sys
from typing import Any, Optional

from IPython.core.debugger import InterruptiblePdb


def set_trace(*, header: Optional[str] = None, **_: Any) -> None:
    """Debug from the caller on; breakpoint() comes here too."""
    debugger = InterruptiblePdb()
    if header is not None:
        debugger.message(header)
    debugger.set_trace(sys._getframe().f_back)


def install() -> None:
    """Stand in for what pdb offers."""
    pdb.Pdb = InterruptiblePdb  # type: ignore[misc]
    pdb.set_trace = set_trace
