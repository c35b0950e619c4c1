"""Interrupts: whether a SIGINT raises, cancels a cell, or is none."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Optional

from hearth_kernel import _link, outlet

if TYPE_CHECKING:
    from hearth_kernel.kernel import Kernel


def _is_below(frame: Optional[FrameType], code: CodeType) -> bool:
    """Whether that code has called what runs."""
    while frame is not None and frame.f_code is not code:
        frame = frame.f_back
    return frame is not None


def _wake() -> None:
    """What a loop that sleeps is woken for."""


class Interrupts:
    """A kernel's, in its main thread."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.are_open = False  # user code runs
        self.is_rehearsing = False  # nobody's code runs
        self.count = 0  # of the request that is served
        # No frame of ours is in a traceback that an agent reads.
        self.handler = _link.interrupter(self.is_to_raise)

    def is_to_raise(self, _: int, frame: Optional[FrameType]) -> bool:
        """Whether SIGINT is a KeyboardInterrupt where the code is now.

        Between cells there is nothing to interrupt.
        """
        if not self.are_open or self.is_rehearsing:
            return False
        self.count += 1
        kernel = self.kernel
        cells = kernel.cells
        if cells.task is None:
            return True
        # The cell's own code is stopped where it is; a cell that waits is
        # cancelled, and so is one whose thread another task has, or asyncio
        # itself: what is raised while it sets the task aside loses the task.
        if asyncio.current_task(kernel.loop) is cells.task and _is_below(
            frame, cells.finish.__code__
        ):
            return True
        kernel.shell.is_cancelled = True
        # At once: its next step may be due already, and take long.
        cells.task.cancel()
        kernel.loop.call_soon_threadsafe(_wake)
        return False

    @contextmanager
    def yielding(self) -> Iterator[None]:
        """Let nothing disturb the traceback of a cell that was interrupted.

        Another interrupt would take its place, and the gateway sends one when
        the reply does not come soon: it is told.
        """
        were_open = self.are_open
        try:
            if self.count and self.kernel.request:
                self.are_open = False
                outlet.emit(_link.YIELDED, {}, request=self.kernel.request)
            yield
        finally:
            self.are_open = were_open
