"""The end of a process that a cell has forked: it gives no reply."""

from __future__ import annotations

import os
import sys
import threading
import traceback
from contextlib import suppress
from typing import NoReturn, Optional


def end(error: Optional[BaseException]) -> NoReturn:
    """End this process as a program ends that is over.

    It has come to the end of the cell's code, or to `error`.
    """
    status = 0
    with suppress(BaseException):
        if isinstance(error, SystemExit):
            code = error.code or 0
            status = code if isinstance(code, int) else 1
            if not isinstance(code, int):
                print(code, file=sys.stderr)
        elif error is not None:
            status = 1
            traceback.print_exception(error)
        for thread in threading.enumerate():
            if thread is not threading.current_thread() and not thread.daemon:
                thread.join()
    for stream in (sys.stdout, sys.stderr):
        with suppress(BaseException):
            stream.flush()
    os._exit(status & 0xFF)
