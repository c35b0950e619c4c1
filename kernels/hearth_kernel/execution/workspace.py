"""Which files of the workspace a cell wrote or removed: their names only.

A look costs a call for each file, so it is bounded, and does not slow a quick
cell down: unless the folder itself shows a change, a look is taken only if the
last one was short compared with the cell. A late finding is reported as written
earlier.
"""

from __future__ import annotations

import os
from os import scandir, stat
from time import perf_counter_ns, time_ns
from typing import Any, Optional

BUDGET_NS = 2_000_000  # of a look
ENTRIES_MAX = 1000  # files and folders looked at
NAMES_MAX = 50  # names listed for one cell
_NAME_MAX = 200  # characters
_DEPTH_MAX = 3
_STRIDE = 32  # files between two looks at the clock: few are seen whole
_SHARE = 25  # a look may take this part of the cell's time
_CLOCK_NS = 10_000_000  # a file's time may be late by this much
_SKIPPED = frozenset(("__pycache__",))

State = tuple[int, int]  # time of the last change in ns, size


class Workspace:
    """The files as they were at the last look."""

    def __init__(self) -> None:
        self._folder = ""
        self._files: dict[str, State] = {}
        self._changed_ns = 0  # of the folder itself
        self._cost_ns = 0  # of the last look
        self._is_cut = False
        self._seen = 0  # entries, of this look

    def begin(self, folder: str) -> None:
        """Note the existing files, which are not reported."""
        self._folder = folder
        try:
            self._files = self._look()
        except OSError:
            self._folder = ""

    def _look(self) -> dict[str, State]:
        began = perf_counter_ns()
        found: dict[str, State] = {}
        self._is_cut = False
        self._seen = 0
        self._changed_ns = stat(self._folder).st_mtime_ns
        if time_ns() - self._changed_ns < _CLOCK_NS:
            self._changed_ns = 0  # what follows at once has the same time
        self._walk("", 1, began + BUDGET_NS, found)
        self._cost_ns = perf_counter_ns() - began
        return found

    def _is_enough(self, deadline: int) -> bool:
        self._seen += 1
        return self._seen > ENTRIES_MAX or (
            self._seen % _STRIDE == 0 and perf_counter_ns() > deadline
        )

    def _walk(
        self, prefix: str, depth: int, deadline: int, found: dict[str, State]
    ) -> None:
        with scandir(os.path.join(self._folder, prefix)) as entries:
            for entry in entries:
                if self._is_enough(deadline):
                    self._is_cut = True
                    return
                name = entry.name
                if name[0] == "." or name in _SKIPPED:
                    continue
                if not entry.is_dir(follow_symlinks=False):
                    about = entry.stat(follow_symlinks=False)
                    state = about.st_mtime_ns, about.st_size
                    found[prefix + name] = state
                elif depth < _DEPTH_MAX:
                    self._walk(prefix + name + "/", depth + 1, deadline, found)

    def _is_due(self, cell_ns: int) -> bool:
        return (
            cell_ns >= _SHARE * self._cost_ns
            or stat(self._folder).st_mtime_ns != self._changed_ns
        )

    def _compare(self, now: dict[str, State], began_ns: int) -> dict[str, Any]:
        changes: dict[str, Any] = {"written": [], "earlier": [], "removed": []}
        before = self._files
        for name, state in now.items():
            if before.get(name) != state:
                is_old = state[0] + _CLOCK_NS < began_ns and name in before
                changes["earlier" if is_old else "written"].append(name)
        if self._is_cut:
            # Files that were not reached may still exist.
            self._files = {**before, **now}
        else:
            changes["removed"] = [name for name in before if name not in now]
            self._files = now
        return changes

    def difference(
        self, began_ns: int, cell_ns: int
    ) -> Optional[dict[str, Any]]:
        """Return the changes since the last look; None without any.

        `began_ns` is the time of day when the cell began.
        """
        if not self._folder:
            return None
        try:
            if not self._is_due(cell_ns):
                return None
            changes = self._compare(self._look(), began_ns)
        except Exception:  # a folder that goes meanwhile, no memory
            return None
        return self._shorten(changes)

    def _shorten(self, changes: dict[str, Any]) -> Optional[dict[str, Any]]:
        left, more = NAMES_MAX, 0
        for key in ("written", "removed", "earlier"):
            more += max(0, len(changes[key]) - left)
            changes[key] = [name[:_NAME_MAX] for name in changes[key][:left]]
            left -= len(changes[key])
        found = {key: names for key, names in changes.items() if names}
        if more:
            found["more"] = more
        if self._is_cut and found:
            found["partial"] = True
        return found or None
