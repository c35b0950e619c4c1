"""Magics that mean something else in a kernel."""

from __future__ import annotations

import os
import shlex
from typing import Any, NoReturn

from IPython.core import page
from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_magic, magics_class
from IPython.core.magics.code import CodeMagics, MacroToEdit

from hearth_kernel.packages import added
from hearth_kernel.packages.pip import serve
from hearth_kernel.packages.pipwords import split
from hearth_kernel.tools import clone, fetch


def _refuse(magic: str, line: str) -> NoReturn:
    action, *names = split(line, magic) or [""]
    if action != "install" or not added.is_for_cells():
        raise UsageError(added.advise(magic))
    wanted = [name for name in names if not name.startswith("-")] or ["NAME"]
    raise UsageError(
        f"{magic}: this kernel has no packages of conda: use `%pip install "
        f"{shlex.join(wanted)}`"
    )


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
    def fetch(self, line: str) -> None:
        """Ask for a file from outside: `%fetch URL [PATH] [--sha256 HASH]`."""
        fetch.serve(line)

    @line_magic
    def clone(self, line: str) -> None:
        """Ask for a repository: `%clone URL [PATH] [--ref REF] [--depth N]
        [--lfs] [--submodules]`."""
        clone.serve(line)

    @line_magic
    def pip(self, line: str) -> None:
        """Ask for packages: `%pip install NAME`, `%pip uninstall NAME`.

        `%pip list`, `%pip freeze` and `%pip show NAME` say what is installed.
        """
        serve(split(line, "%pip"), "%pip")

    @line_magic
    def pip3(self, line: str) -> None:
        """Do what %pip does, under its other name."""
        serve(split(line, "%pip3"), "%pip3")

    @line_magic
    def conda(self, line: str) -> None:
        """Say how to ask for packages instead."""
        _refuse("%conda", line)

    @line_magic
    def mamba(self, line: str) -> None:
        """Say how to ask for packages instead."""
        _refuse("%mamba", line)

    @line_magic
    def uv(self, line: str) -> None:
        """Do what %pip does: `%uv pip install NAME`, `%uv add NAME`."""
        words = split(line, "%uv")
        if words[:1] == ["pip"]:
            del words[0]
        elif words[:1] in (["add"], ["remove"]):
            words[0] = {"add": "install", "remove": "uninstall"}[words[0]]
        elif added.folder():
            raise UsageError(
                "%uv: there are `%uv pip`, `%uv add`, `%uv remove`"
            )
        serve(words, "%uv")
