"""Memory that cells have used is given back when the session rests.

A figure is a cycle of references, which the collector alone frees, and malloc
keeps the freed memory. After cells that took many pages, and when none has
come for a while, both are asked to let go. A hundred cells of pandas and plots
leave 10 MB like that.
"""

from __future__ import annotations

import gc
import resource
from time import perf_counter

from hearth_kernel.execution.interrupts import Interrupts
from hearth_kernel.execution.state import State
from hearth_kernel.forking import holes

_FAULTS = 2000  # pages taken or copied, since it was last tidy: 8 MB
_REST = 1.0  # seconds without a cell

# The pause before the next time, as a multiple of the time that it took: a
# request that comes meanwhile waits for that long.
_SHARE = 100

# The most KiB that the process may have grown for the collector to run: it
# looks at each object of the session's, and a request would have to wait.
_LARGE = 128 << 10


class Tidying:
    """A kernel's, in its loop."""

    def __init__(self, state: State, interrupts: Interrupts) -> None:
        self.state = state
        self.interrupts = interrupts
        self.trim = holes.trimmer()
        self.faults = 0  # of the process, when it was last tidy
        self.peak = 0  # KiB that it had at its start
        self.cell = 0  # the last one, when it was last looked at
        self.rest = _REST
        self.is_due = False

    def start(self) -> None:
        """Begin to count, in the kernel's own process."""
        usage = resource.getrusage(resource.RUSAGE_SELF)
        self.faults, self.peak = usage.ru_minflt, usage.ru_maxrss

    def note(self, usage: resource.struct_rusage) -> None:
        """A cell has ended, and the process has used that."""
        if self.interrupts.is_rehearsing:
            self.faults = usage.ru_minflt
        elif usage.ru_minflt - self.faults > _FAULTS and not self.is_due:
            self.is_due = True
            self.cell = self.state.last
            self.state.loop.call_later(self.rest, self.look)

    def look(self) -> None:
        """Tidy up, unless the session was busy since the last look."""
        if self.state.request or self.state.last != self.cell:
            self.cell = self.state.last
            self.state.loop.call_later(self.rest, self.look)
            return
        self.is_due = False
        began = perf_counter()
        self.tidy()
        self.rest = max(_REST, _SHARE * (perf_counter() - began))

    def tidy(self) -> None:
        """Collect, where that is quick and wanted, and give back."""
        usage = resource.getrusage(resource.RUSAGE_SELF)
        try:
            # A finalizer of the session's may hang: it can be interrupted.
            self.interrupts.are_open = True
            if gc.isenabled() and usage.ru_maxrss - self.peak < _LARGE:
                gc.collect()
        except KeyboardInterrupt:
            pass
        finally:
            self.interrupts.are_open = False
        self.trim()
        self.faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
