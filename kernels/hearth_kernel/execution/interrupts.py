"""Interrupts: whether a SIGINT raises, cancels a cell, or has no effect."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Optional

from hearth_kernel import _link
from hearth_kernel.execution.state import State
from hearth_kernel.messaging import outlet


def _is_below(frame: Optional[FrameType], code: Optional[CodeType]) -> bool:
    """Whether that code has called what runs."""
    while frame is not None and frame.f_code is not code:
        frame = frame.f_back
    return frame is not None


def _wake() -> None:
    """Do nothing: a sleeping loop only has to wake up."""


class Interrupts:
    """A kernel's, in its main thread."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.awaiting: Optional[CodeType] = None  # what awaits a cell
        self.are_open = False  # user code runs
        self.are_beside = False  # a comm message's, while a cell awaits
        self.is_rehearsing = False  # no foreign code runs
        self.count = 0  # of the request that is served
        # No frame of ours is in a traceback that an agent reads.
        self.handler = _link.interrupter(self.is_to_raise)

    def install(self) -> None:
        """Notice also the signals that user code handles."""
        _link.note_interrupts(self.note)

    def note(self, _: int, __: Optional[FrameType]) -> bool:
        """Report SIGINT to the gateway, before anything handles it.

        Return whether there is something to interrupt: there is not between
        cells.
        """
        is_taken = self.are_open and not self.is_rehearsing
        _link.strike(is_taken)
        return is_taken

    def is_to_raise(self, number: int, frame: Optional[FrameType]) -> bool:
        """Whether SIGINT is a KeyboardInterrupt where the code is now."""
        if not self.note(number, frame):
            return False
        self.count += 1
        state = self.state
        if state.task is None or self.are_beside:
            return True
        # The cell's own code is stopped where it is. A cell that waits is
        # cancelled. So is one if another task has the thread, or asyncio
        # itself: an exception that is raised while asyncio sets the task aside
        # loses the task.
        if asyncio.current_task(state.loop) is state.task and _is_below(
            frame, self.awaiting
        ):
            return True
        state.shell.is_cancelled = True
        # At once: its next step may be due already, and take long.
        state.task.cancel()
        state.loop.call_soon_threadsafe(_wake)
        return False

    @contextmanager
    def yielding(self) -> Iterator[None]:
        """Let nothing disturb the traceback of a cell that was interrupted.

        Another interrupt would replace it. The gateway is notified, because it
        ends a kernel that reaches a limit and does not reply soon.
        """
        were_open = self.are_open
        try:
            if self.count and self.state.request:
                self.are_open = False
                outlet.emit(_link.YIELDED, {}, request=self.state.request)
            yield
        finally:
            self.are_open = were_open
