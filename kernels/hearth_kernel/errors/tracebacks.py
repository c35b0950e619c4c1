"""IPython's tracebacks, which look the same and take a twentieth of the time.

stack_data parses the whole file of each frame to find the statement and its
colours. Of pandas/core/frame.py these are 14,000 lines and a second, in a
session's first error. What it shows of a frame is within one function, so it
gets a text in which every other line is empty: line numbers stay. Only the
lines that are shown get colours. And pygments' lexer of Python is made once,
not for each frame; its styles once, not for each error.
"""

from __future__ import annotations

import inspect
import linecache
import os
import re
import sys
from contextlib import suppress
from functools import cache
from types import CodeType, FrameType, TracebackType
from typing import Any, Optional

LONG = 400  # lines of a file that is no longer parsed as a whole

_DEFINES = re.compile(r"(async\s+def|def|class)\s+(\w+)")
_ENCLOSES = re.compile(
    r"(if|elif|else|try|except|finally|with|for|while|async)\b.*"
)


def _indent_of(line: str) -> int:
    return len(line) - len(line.lstrip())


def _enclosing(lines: list[str], first: int) -> dict[int, str]:
    """The heads of the blocks that the line is in, each as a line of its own.

    Classes and functions keep their names, which are shown; any other block
    becomes an `if`.
    """
    heads = {}
    indent = _indent_of(lines[first])
    within = " " * indent
    for number in range(first - 1, -1, -1):
        if indent == 0:
            break
        # Thousands of lines of a large class, before all that costs more.
        if lines[number].startswith(within):
            continue
        text = lines[number].strip()
        own = _indent_of(lines[number])
        if not text or own >= indent:
            continue
        defines = _DEFINES.match(text)
        if defines:
            kind, name = defines.groups()
            head = f"class {name}:" if kind == "class" else f"def {name}():"
        elif _ENCLOSES.match(text):
            head = "if 1:"
        else:
            continue  # a bracket, or a line of a string
        heads[number] = " " * own + head + "\n"
        indent = own
        within = " " * indent
    return heads


def _first_line(lines: list[str], code: CodeType) -> Optional[int]:
    """Where the function begins that the code is, or is a part of."""
    number = code.co_firstlineno - 1
    if not code.co_name.startswith("<"):
        return number if number < len(lines) else None
    # A lambda or a comprehension, somewhere in a function.
    for at in range(min(number, len(lines) - 1), -1, -1):
        if re.match(r"\s+(async\s+)?def\s|(async\s+)?def\s", lines[at]):
            return at
    return None


def cut_out(lines: list[str], code: CodeType) -> Optional[list[str]]:
    """The lines up to the end of the code's function, all others empty."""
    if code.co_name == "<module>":
        return None
    first = _first_line(lines, code)
    if first is None:
        return None
    kept = ["\n"] * first + inspect.getblock(lines[first:])
    for number, head in _enclosing(lines, first).items():
        kept[number] = head
    return kept


def _source_of(cls: Any, frame: FrameType) -> Optional[Any]:
    """The excerpt's source; None where the whole file is better."""
    code = frame.f_code
    linecache.checkcache(code.co_filename)
    lines = linecache.getlines(code.co_filename, frame.f_globals)
    if len(lines) < LONG:
        return None
    kept = cut_out(lines, code)
    if kept is None:
        return None
    source = cls._for_filename_and_lines(code.co_filename, tuple(kept))
    return source if source.tree is not None else None


@cache
def _lexer_kind() -> Any:
    """A lexer that marks what is in its `ranges` as executing."""
    from pygments.lexers import get_lexer_by_name

    kind: Any = type(get_lexer_by_name("python3"))

    class Lexer(kind):  # type: ignore[misc]
        ranges: Any = ()

        def get_tokens(self, text: str) -> Any:
            length = 0
            for token, value in super().get_tokens(text):
                is_marked = any(
                    start <= length < end for start, end in self.ranges
                )
                yield token.ExecutingNode if is_marked else token, value
                length += len(value)

    return Lexer


def _paint(formatter: Any, code: str, ranges: Any) -> list[str]:
    """As stack_data's own, which makes a class of lexers each time."""
    import pygments

    try:
        lexer = _lexer_kind()(stripnl=False)
        lexer.ranges = ranges
        code = pygments.highlight(code, lexer, formatter)
    except Exception:  # rather without colours
        pass
    return code.splitlines()


def _paint_shown(info: Any) -> Optional[tuple[int, list[str]]]:
    """The number of the first line that is shown of a frame, and the lines from
    there on in colours. None where the whole function is better.

    A line is shown with its statement, so the lexer begins at a statement, too.
    """
    formatter = info.options.pygments_formatter
    pieces = info.included_pieces
    if not pieces or type(formatter) is not _formatter_kind():
        return None
    text = info.source.asttext()
    start = info.source.line_range(info.scope)[0]
    lines = text.get_text(info.scope).split("\n")
    first = min(piece.start for piece in pieces)
    last = max(piece.stop for piece in pieces)
    ranges = []
    if info.executing.node and getattr(
        formatter.style, "for_executing_node", False
    ):
        before = text.get_text_range(info.scope)[0] + sum(
            len(line) + 1 for line in lines[: first - start]
        )
        begin, end = text.get_text_range(info.executing.node)
        ranges.append((begin - before, end - before))
    code = "\n".join(lines[first - start : last - start])
    return first, _paint(formatter, code, ranges)


def _paint_less(core: Any) -> None:
    """Let no line be painted that is not shown."""
    kind = core.FrameInfo
    known = kind.__dict__["_pygmented_scope_lines"]
    whole = known.func

    def painted(self: Any) -> Any:
        shown = None
        with suppress(Exception):  # whatever the function looks like
            shown = _paint_shown(self)
        return shown or whole(self)

    painted.__name__ = "_pygmented_scope_lines"  # under which it is kept
    kind._pygmented_scope_lines = type(known)(painted)


@cache
def _formatter_kind() -> Any:
    from pygments.formatters import Terminal256Formatter

    return Terminal256Formatter


def _remember_styles(stack_data: Any) -> None:
    """IPython makes a style and a formatter for each error of a chain."""
    kind = _formatter_kind()
    set_up = kind._setup_styles
    known: dict[Any, dict[str, Any]] = {}

    def remembered(self: Any) -> None:
        key = self.style, self.usebold, self.useunderline, self.useitalic
        if key not in known:
            set_up(self)
            known[key] = self.style_string
        self.style_string = known[key]

    kind._setup_styles = remembered
    stack_data.style_with_executing_node = cache(
        stack_data.style_with_executing_node
    )


def _remember_colours() -> None:
    """A formatter looks for the nearest colours anew in each traceback."""
    kind = _formatter_kind()
    find = kind._closest_color
    known: dict[tuple[int, int, int], int] = {}

    def closest(self: Any, red: int, green: int, blue: int) -> int:
        colour = red, green, blue
        if colour not in known:
            known[colour] = find(self, *colour)
        return known[colour]

    kind._closest_color = closest


def install() -> None:
    """Let stack_data, which IPython's tracebacks are made with, do so."""
    try:
        import stack_data.core
    except ImportError:
        return
    kind: Any = stack_data.core.Source
    whole = kind.for_frame.__func__
    if hasattr(stack_data.core, "_pygmented_with_ranges"):
        stack_data.core._pygmented_with_ranges = _paint
    with suppress(ImportError, AttributeError):
        _remember_colours()
        _remember_styles(stack_data)
        _paint_less(stack_data.core)

    def for_frame(cls: Any, frame: FrameType, use_cache: bool = True) -> Any:
        try:
            source = _source_of(cls, frame)
        except Exception:  # whatever the file is, there is a traceback
            source = None
        return source or whole(cls, frame, use_cache)

    kind.for_frame = classmethod(for_frame)


def _name_of(frame: FrameType) -> str:
    """Return the name of the frame's module; "" if its file is not a module."""
    name = frame.f_globals.get("__name__")
    if not isinstance(name, str):
        return ""
    file = getattr(sys.modules.get(name), "__file__", None)
    return name if file == frame.f_code.co_filename else ""


def _note_files(error: Optional[BaseException]) -> None:
    known = getattr(inspect, "modulesbyfile", {})
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        trace: Optional[TracebackType] = error.__traceback__
        while trace is not None:
            file = trace.tb_frame.f_code.co_filename
            # Cython's files are relative: to another folder than in a warm-up.
            path = os.path.abspath(file)
            if path not in known:
                known[file] = known[path] = _name_of(trace.tb_frame)
            trace = trace.tb_next
        error = error.__cause__ or error.__context__


def know_files(error: Optional[BaseException]) -> None:
    """Tell inspect which modules the frames are of.

    It is asked for each frame. Where it does not know a file, it looks at all
    modules there are, and for one of Cython's again each time.
    """
    with suppress(Exception):  # a class of the session's may do anything
        _note_files(error)
