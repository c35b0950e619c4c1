"""Tracebacks of long files: what is shown, and what is no longer parsed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from conftest import run_python

# Functions in a class in a class, in functions and in other blocks, of a file
# that is long; and what is shown of each frame, with and without tracebacks.
PROGRAM = '''
import json, os, sys, tempfile
sys.dont_write_bytecode = True
from hearth_kernel.errors import tracebacks
from pygments.formatters import Terminal256Formatter
from stack_data.core import (
    FrameInfo, Line, Options, Source, style_with_executing_node
)

options = Options(
    before=2,
    after=2,
    pygments_formatter=Terminal256Formatter(
        style=style_with_executing_node("default", "bg:ansiyellow")
    ),
)

LONG = """
class Outer:
    class Inner(
        dict,
    ):
        \\"\\"\\"Text
of a string\\"\\"\\"

        def method(self, key):
            value = {
                "a": 1,
            }
            return self.find(
                value,
                key,
            )

        def find(self, value, key):
            if key:
                return [
                    value[name]
                    for name in key
                ]
            return None

    def outer(self):
        def inner():
            first = "one"
            second = 2
            third = \\"\\"\\"three
            and more\\"\\"\\"
            for name in (first, second):
                return (
                    1 / 0
                )

        return inner()


if True:

    def hidden():
        return (lambda x: x.missing)(1)
"""
kept = tempfile.TemporaryDirectory()
folder = kept.name
path = os.path.join(folder, "long_one.py")
with open(path, "w") as file:
    file.write(LONG)
    for number in range(tracebacks.LONG):
        file.write(f"name_{number} = {number}\\n")
sys.path.insert(0, folder)
import long_one

def shown(fail):
    Source._class_local("__executing_cache", {}).clear()
    try:
        fail()
    except Exception as error:
        trace = error.__traceback__
    return [
        [
            info.executing.code_qualname(),
            info.lineno,
            info.executing.text(),
            [getattr(line, "text", None) for line in info.lines],
            [
                line.render(pygmented=True)
                for line in info.lines
                if isinstance(line, Line)
            ],
        ]
        for info in FrameInfo.stack_data(trace, options)
        if isinstance(info, FrameInfo) and info.filename == path
    ]

fails = [
    lambda: long_one.Outer.Inner().method(["zz"]),
    lambda: long_one.Outer().outer(),
    lambda: long_one.hidden(),
]
whole = [shown(fail) for fail in fails]
tracebacks.install()
parsed = []
make = Source._for_filename_and_lines.__func__
def count(cls, filename, lines):
    if filename == path:
        parsed.append(sum(line != "\\n" for line in lines))
    return make(cls, filename, lines)
Source._for_filename_and_lines = classmethod(count)
painted = []
paint = tracebacks._paint
def note_code(formatter, code, ranges):
    painted.append(code)
    return paint(formatter, code, ranges)
tracebacks._paint = note_code
excerpt = [shown(fail) for fail in fails]
tracebacks._paint = paint
from IPython.core.ultratb import VerboseTB
def coloured():
    try:
        long_one.hidden()
    except Exception as error:
        return VerboseTB(theme_name="linux").text(
            type(error), error, error.__traceback__
        )
from pygments.lexer import RegexLexerMeta
made = []
process = RegexLexerMeta.process_tokendef
def note(cls, *args):
    made.append(cls.__name__)
    return process(cls, *args)
RegexLexerMeta.process_tokendef = note
try:
    texts = [coloured() for _ in range(3)]
except TypeError:  # an IPython with other arguments
    texts = None
print(json.dumps([whole, excerpt, parsed, texts, made, painted]))
'''


@pytest.fixture(scope="module")
def reported() -> Any:
    return json.loads(run_python(PROGRAM))


def test_a_frame_is_shown_as_from_the_whole_file(reported: Any) -> None:
    whole, excerpt, *_ = reported
    assert [len(frames) for frames in whole] == [3, 2, 2]
    assert whole[0][0][0] == "Outer.Inner.method"
    assert excerpt == whole


def test_colours_are_as_of_the_whole_function(reported: Any) -> None:
    frames = [frame for fail in reported[0] for frame in fail]
    marked = [line for frame in frames for line in frame[-1] if "43m" in line]
    assert any("1" in line and "/" in line for line in marked)
    assert any("find" in line for line in marked)


def test_only_what_is_shown_gets_colours(reported: Any) -> None:
    _, excerpt, *_, painted = reported
    assert len(painted) == sum(len(frames) for frames in excerpt)
    assert any("third" in code for code in painted)
    assert not any('"one"' in code for code in painted)


def test_only_the_function_is_parsed(reported: Any) -> None:
    parsed = reported[2]
    assert parsed
    assert max(parsed) < 20


def test_the_lexer_is_made_once(reported: Any) -> None:
    texts, made = reported[3:5]
    assert texts is None or texts[0] == texts[2] != ""
    assert texts is None or "\x1b[" in texts[0]
    assert len(made) <= 2


# A frame of Cython's has a relative file, here and after a change of folder,
# as a kernel's is not its zygote's.
RELATIVE = """
import inspect, os, tempfile
from hearth_kernel.errors import tracebacks

code = compile("def fail():\\n    return 1 / 0", "cython/made.pyx", "exec")
exec(code)
looks = []
is_module = inspect.ismodule
def count(thing):
    looks.append(thing)
    return is_module(thing)

def count_looks():
    try:
        fail()
    except ZeroDivisionError as error:
        tracebacks.know_files(error)
        frame = error.__traceback__.tb_next.tb_frame
    looks.clear()
    inspect.ismodule = count
    inspect.getmodule(frame)
    inspect.ismodule = is_module
    return len(looks)

here = count_looks()
os.chdir(tempfile.gettempdir())
print(here, count_looks())
"""


def test_no_module_is_looked_at_for_a_relative_file() -> None:
    here, there = map(int, run_python(RELATIVE).split())
    assert max(here, there) < 10
