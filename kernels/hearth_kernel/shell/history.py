"""The history of a session: in memory, without a file, thread or database."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable
from typing import Any, Optional, Union

from IPython.core.history import HistoryManager

from hearth_kernel.shell import traits

Entry = tuple[int, int, Any]


class MemoryHistory(HistoryManager):  # type: ignore[misc]
    """Answers from the lists that IPython keeps anyway."""

    # No code observes these; as traits they would cost every cell its time.
    _i00 = _i = _ii = _iii = ""

    def __init__(self, shell: Any = None, config: Any = None) -> None:
        super().__init__(shell=shell, config=config, enabled=False)
        traits.settle(
            self,
            *("shell", "input_hist_parsed", "input_hist_raw"),
            "output_hist_reprs",
        )

    def store_inputs(
        self, line_num: int, source: str, source_raw: Optional[str] = None
    ) -> None:
        """Keep a cell and make its variables, without a queue for a disk."""
        shell = self.shell
        raw = (source if source_raw is None else source_raw).rstrip("\n")
        if self._exit_re.match(raw.strip()):
            return
        self.input_hist_parsed.append(source.rstrip("\n"))
        self.input_hist_raw.append(raw)
        self._iii, self._ii, self._i = self._ii, self._i, self._i00
        self._i00 = raw
        if shell is not None:
            fresh = {"_i": self._i, "_ii": self._ii, "_iii": self._iii}
            fresh[f"_i{line_num}"] = raw
            shell.push(fresh, interactive=False)

    def forget_all(self) -> None:
        """Be as before the first cell; reset() would write to far more."""
        del self.input_hist_parsed[1:], self.input_hist_raw[1:]
        self._i00 = self._i = self._ii = self._iii = ""

    def writeout_cache(self, conn: Any = None) -> None:
        """There is nowhere to write to."""
        self.db_input_cache.clear()
        self.db_output_cache.clear()

    def store_output(self, line_num: int) -> None:
        """Keep no second copy."""

    def _entries(self, raw: bool, output: bool) -> list[Entry]:
        inputs = self.input_hist_raw if raw else self.input_hist_parsed
        return [
            (0, line, (text, self.output_hist_reprs.get(line)))
            if output
            else (0, line, text)
            for line, text in enumerate(inputs)
            if line > 0
        ]

    def get_tail(
        self,
        n: int = 10,
        raw: bool = True,
        output: bool = False,
        include_latest: bool = False,
    ) -> Iterable[Entry]:
        """The last n entries, the one that runs now only when asked for."""
        entries = self._entries(raw, output)
        if not include_latest and self.shell.is_executing:
            entries = entries[:-1]
        return entries[-n:] if n > 0 else []

    def search(
        self,
        pattern: str = "*",
        raw: bool = True,
        search_raw: bool = True,
        output: bool = False,
        n: Union[int, None] = None,
        unique: bool = False,
    ) -> Iterable[Entry]:
        """The entries whose input matches a shell pattern."""
        inputs = self.input_hist_raw if search_raw else self.input_hist_parsed
        found = [
            entry
            for entry in self._entries(raw, output)
            if fnmatch.fnmatchcase(inputs[entry[1]], pattern)
        ]
        if unique:
            last = {inputs[entry[1]]: entry for entry in found}
            found = sorted(last.values(), key=lambda entry: entry[1])
        return found if n is None else found[-n:]

    def get_range(
        self,
        session: int = 0,
        start: int = 1,
        stop: Union[int, None] = None,
        raw: bool = True,
        output: bool = False,
    ) -> Iterable[Entry]:
        """Lines of this session; there is no other."""
        if session not in (0, self.session_number):
            return []
        return self._get_range_session(start, stop, raw, output)

    def reset(self, new_session: bool = True) -> None:
        """Forget everything, also what newer IPythons record."""
        super().reset(new_session)
        self.output_hist_reprs.clear()
        for name in ("outputs", "exceptions"):
            getattr(self, name, {}).clear()
