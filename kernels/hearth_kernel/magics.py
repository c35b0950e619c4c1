"""Magics that mean something else in a kernel."""

from __future__ import annotations

import os
from typing import Any, NoReturn

from IPython.core import page
from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_magic, magics_class
from IPython.core.magics.code import CodeMagics, MacroToEdit

from hearth_kernel import packages


def _refuse(magic: str) -> NoReturn:
    raise UsageError(packages.advise(magic))


@magics_class
class KernelMagics(Magics):  # type: ignore[misc]
    """Magics of a kernel."""

    shell: Any

    @line_magic
    def edit(self, parameter_s: str = "", last_call: Any = None) -> None:
        """Ask the front end to open an editor on a file or an object."""
        options, arguments = self.parse_options(parameter_s, "prn:")
        try:
            filename, line, _ = CodeMagics._find_edit_target(
                self.shell, arguments, options, last_call or ["", ""]
            )
        except MacroToEdit:
            raise UsageError("%edit: macros cannot be edited here") from None
        self.shell.payload_manager.write_payload(
            {
                "source": "edit_magic",
                "filename": os.path.abspath(filename),
                "line_number": line,
            }
        )

    @line_magic
    def less(self, parameter_s: str) -> None:
        """Show a file through the front end's pager."""
        if not parameter_s:
            raise UsageError("%less: name a file")
        with open(parameter_s, encoding="utf-8", errors="replace") as file:
            page.page(file.read())

    more = line_magic("more")(less)

    @line_magic
    def pip(self, _: str) -> NoReturn:
        """Say why packages cannot be installed from here."""
        _refuse("%pip")

    @line_magic
    def conda(self, _: str) -> None:
        """Say why packages cannot be installed from here."""
        _refuse("%conda")

    @line_magic
    def mamba(self, _: str) -> None:
        """Say why packages cannot be installed from here."""
        _refuse("%mamba")

    @line_magic
    def uv(self, _: str) -> None:
        """Say why packages cannot be installed from here."""
        _refuse("%uv")
