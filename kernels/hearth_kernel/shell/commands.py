"""`!cmd` in a kernel: commands of the system, run by the shell."""

from __future__ import annotations

import re
import subprocess
import sys
from types import TracebackType
from typing import Any, Callable, Optional, TypeVar

from IPython.core.interactiveshell import InteractiveShell

from hearth_kernel.errors import limits
from hearth_kernel.packages import added, pip, pipwords
from hearth_kernel.shell import policy, terminal

T = TypeVar("T")

_MAGICS = "hearth_kernel.shell.magics"

# Anywhere in a line: after `cd x &&`, in a loop, in quotes.
_INSTALLS = re.compile(
    r"(?<![\w.-])((?:uv\s+)?pip[\d.]*|conda|mamba)(?:\s+-\S+)*\s+install\b"
)


def _run(words: str) -> int:
    """Run a command on a terminal, or without when none is left."""
    try:
        return terminal.run(words)
    except OSError as error:
        if error.errno is None:
            raise
        return subprocess.call(words, shell=True)  # noqa: S602


def _advise(command: str) -> None:
    """Say once how to get a package, after a line that has tried to."""
    installs = _INSTALLS.search(command)
    if installs:
        print(added.advise(installs[1]), file=sys.stderr)


def leave_out(trace: Optional[TracebackType]) -> None:
    """End a traceback above `!cmd` and %pip: the cell is what was
    interrupted."""
    above = None  # the caller of a magic
    while trace is not None and trace.tb_next is not None:
        frame = trace.tb_next.tb_frame
        if frame.f_code.co_name == "run_line_magic":
            above = trace
        name = frame.f_globals.get("__name__")
        if name == __name__ or (name == _MAGICS and above is not None):
            cut = trace if name == __name__ or above is None else above
            cut.tb_next = None
            return
        trace = trace.tb_next


class CommandShell(InteractiveShell):  # type: ignore[misc]
    """IPython's shell as far as it runs programs."""

    def interrupts(self) -> int:
        """How often the request that is served was interrupted."""
        return 0

    def system_piped(self, cmd: str) -> None:
        """Run `!cmd`.

        Its exit code is `_exit_code` of the user's, as in IPython. `!pip
        install x`, perhaps with less shown, asks as %pip does, and fails as
        that.
        """
        if cmd.rstrip().endswith("&"):
            raise OSError("Background processes not supported.")
        words = self.var_expand(cmd, depth=1)
        is_asked = added.is_for_cells() and not policy.refuses_magic("pip")
        asked = pipwords.find(words) if is_asked else None
        if asked is not None:
            self.user_ns["_exit_code"] = 1
            pip.do(asked, f"pip {asked.action}")
            self.user_ns["_exit_code"] = 0
            return
        code = self.run_command(lambda: _run(words))
        self.user_ns["_exit_code"] = code
        for note in limits.report(limits.of_program(code, words)):
            print(note, file=sys.stderr)
        # Where pip is asked as %pip is, the exit code of a line says nothing:
        # it is that of its last command.
        if code or added.folder():
            _advise(words)
        # Older ones have no such setting.
        if code and getattr(self, "system_raise_on_error", False):
            raise subprocess.CalledProcessError(code, cmd)

    system = system_piped

    def getoutput(self, cmd: str, split: bool = True, depth: int = 0) -> Any:
        """Run the `!cmd` of `lines = !cmd`."""
        # Variables are the caller's, which is three frames above.
        output = self.run_command(
            lambda: super(CommandShell, self).getoutput(
                cmd, split=split, depth=depth + 3
            )
        )
        if added.folder():
            _advise(cmd)
        return output

    def run_command(self, command: Callable[[], T]) -> T:
        """Call it; an interrupt ends the cell.

        IPython's own ways to run a program take KeyboardInterrupt and go on,
        or fail by it where the program has just begun.
        """
        before = self.interrupts()
        try:
            done = command()
        except Exception:
            if self.interrupts() == before:
                raise
            raise KeyboardInterrupt from None
        if self.interrupts() > before:
            raise KeyboardInterrupt
        return done
