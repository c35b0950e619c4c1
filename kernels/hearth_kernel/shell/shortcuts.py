"""Two ways around IPython with the same result, for the commonest cells.

A cell without IPython's own syntax needs no transformation, and a number or a
string has no representation but its text. Each way is used only while
transformers, prefilters and formatters are unchanged.
"""

from __future__ import annotations

import builtins
import re
from typing import Any, Optional

from IPython.core.autocall import IPyAutocall
from IPython.core.macro import Macro

# Possible signs of IPython's syntax: anywhere magics, shell and help; at the
# start of a line prompts and escapes of autocall; before the cell white space.
_SPECIAL = re.compile(
    r"[%!?]|\A\s|\A\Z|^[ \t\f]*(?:[,;/]|>>>|\.\.\.|In ?\[|Out ?\[)|PYTHON-MODE",
    re.MULTILINE,
)
_FIRST_NAME = re.compile(r"[^\W\d]\w*")
_SCALARS = (int, float, str)


class Shortcuts:
    """Made when the shell is whole; remembers how it was."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._transforms = self._list_transforms()
        self._plain = shell.display_formatter.formatters["text/plain"]
        self._printers = self._list_printers()
        self._formatters = self._list_formatters()

    def _list_transforms(self) -> list[Any]:
        manager = self._shell.input_transformer_manager
        return [
            *manager.cleanup_transforms,
            *manager.line_transforms,
            *manager.token_transformers,
            *self._shell.input_transformers_post,
            *self._shell.prefilter_manager.transformers,
        ]

    def _list_printers(self) -> list[Any]:
        """How the text of scalars is made."""
        plain = self._plain
        printers = plain.type_printers
        return [
            plain.float_format,
            plain.pprint,
            *(printers.get(kind) for kind in _SCALARS),
        ]

    def _list_formatters(self) -> list[dict[Any, Any]]:
        """The tables of types of all formatters but the text's."""
        display = self._shell.display_formatter
        return [
            formatter.type_printers
            for formatter in (
                *display.formatters.values(),
                display.ipython_display_formatter,
                display.mimebundle_formatter,
            )
            if formatter is not self._plain
        ]

    def is_plain(self, cell: str) -> bool:
        """Return true if a cell is Python without a transformation."""
        return (
            _SPECIAL.search(cell) is None
            and self._list_transforms() == self._transforms
            and ("\n" in cell.rstrip("\n") or self._is_plain_line(cell))
        )

    def _is_plain_line(self, line: str) -> bool:
        """Whether a single line calls no magic, macro or `exit`."""
        shell = self._shell
        match = _FIRST_NAME.match(line)
        if shell.autocall:
            return False
        if match is None:
            return True
        name = match.group()
        # A name before a dot may be the first half of a magic's alias.
        if shell.find_line_magic(name) or shell.alias_manager.is_alias(name):
            return False
        value = shell.user_ns.get(name, getattr(builtins, name, None))
        return not isinstance(value, (Macro, IPyAutocall))

    def format(self, value: object) -> Optional[tuple[Any, Any]]:
        """The bundle and metadata of a scalar, or None."""
        kind = type(value)
        if kind not in _SCALARS or self._list_printers() != self._printers:
            return None
        # Text that has lines is laid out by IPython.
        if isinstance(value, str) and not value.isprintable():
            return None
        for table in self._formatters:
            if kind in table or object in table:
                return None
        try:
            return {"text/plain": repr(value)}, {}
        except ValueError:  # more digits than Python wants to write
            return None
