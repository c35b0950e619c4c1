"""`!cmd` in a kernel: commands of the system, run by the shell."""

from __future__ import annotations

import re
import subprocess
import sys
from types import TracebackType
from typing import Any, Optional

from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.process import system

from hearth_kernel.magics import NO_PACKAGES

_INSTALLS = re.compile(
    r"\s*(?:\S*python[\d.]*\s+-m\s+)?((?:uv\s+)?pip[\d.]*|conda|mamba)\s+install\b"
)


def leave_out(trace: Optional[TracebackType]) -> None:
    """End a traceback above this module: the cell is what was interrupted."""
    while trace is not None and trace.tb_next is not None:
        if trace.tb_next.tb_frame.f_globals.get("__name__") == __name__:
            trace.tb_next = None
        trace = trace.tb_next


class CommandShell(InteractiveShell):  # type: ignore[misc]
    """IPython's shell as far as it runs programs."""

    def interrupts(self) -> int:
        """How often the request that is served was interrupted."""
        return 0

    def system_piped(self, cmd: str) -> None:
        """Run `!cmd` on a terminal of its own, or without when none is left.

        Its exit code is `_exit_code` of the user's, as in IPython.
        """
        if cmd.rstrip().endswith("&"):
            raise OSError("Background processes not supported.")
        before = self.interrupts()
        words = self.var_expand(cmd, depth=1)
        try:
            code = system(words)
        except OSError as error:
            if error.errno is None:
                raise
            code = subprocess.call(words, shell=True)  # noqa: S602
        self.user_ns["_exit_code"] = code
        # IPython takes the interrupt for itself and goes on behind `!cmd`.
        if self.interrupts() > before:
            raise KeyboardInterrupt
        installs = _INSTALLS.match(words) if code else None
        if installs:
            print(NO_PACKAGES.format(installs[1]), file=sys.stderr)
        if self.system_raise_on_error and code:
            raise subprocess.CalledProcessError(code, cmd)

    system = system_piped

    def getoutput(self, cmd: str, split: bool = True, depth: int = 0) -> Any:
        """Run the `!cmd` of `lines = !cmd`."""
        before = self.interrupts()
        lines = super().getoutput(cmd, split=split, depth=depth + 1)
        if self.interrupts() > before:
            raise KeyboardInterrupt
        return lines
