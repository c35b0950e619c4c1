"""Which packages are imported in another version than the session has now, by
`%pip` and by LOOK. What is looked at is the session's, which may lie."""

import pytest
from test_kernel_packages import begin, folder, show  # noqa: F401
from test_pip import add, answer, calls, change

from gateway import only


@pytest.fixture
def kernel(fork, folder):  # noqa: F811
    made = fork()
    begin(made, folder)
    return made


@pytest.fixture
def imports(kernel, folder):  # noqa: F811
    """A kernel that has imported version 1."""
    add(folder, "1", "humanize", "1", "shared/part.py")
    assert kernel.value("__import__('humanize').version") == "'1'"
    return kernel


def look(kernel, *names):
    kernel.send("LOOK", {"look": 5, "names": names}, request=0)
    event = kernel.event()
    assert (event.kind, event.request) == ("LOOKED", 0)
    assert event.content["look"] == 5
    return event.content["imported"]


# ---- what is asked for a client ----


def test_another_version_is_imported(imports, folder):  # noqa: F811
    add(folder, "2", "humanize", "2")
    assert look(imports, "humanize") == ["humanize"]
    assert look(imports, "other") == []
    assert look(imports, "other", "humanize") == ["humanize"]
    assert look(imports) == []


def test_one_that_is_not_imported(kernel, folder):  # noqa: F811
    assert look(kernel, "humanize") == []
    add(folder, "1", "humanize", "1")
    assert look(kernel, "humanize") == []
    add(folder, "2", "humanize", "2")
    assert look(kernel, "humanize") == []
    assert kernel.value("__import__('humanize').version") == "'2'"
    assert look(kernel, "humanize") == []


def test_the_version_that_is_imported(imports, folder):  # noqa: F811
    """It counts, however often the packages change."""
    show(folder, "none")
    assert look(imports, "humanize") == []
    add(folder, "again", "humanize", "1")
    assert look(imports, "humanize") == []
    add(folder, "2", "humanize", "2")
    assert look(imports, "humanize") == ["humanize"]
    add(folder, "3", "humanize", "3")
    assert look(imports, "humanize") == ["humanize"]
    add(folder, "back", "humanize", "1")
    assert look(imports, "humanize") == []


def test_one_that_was_away_meanwhile(imports, folder):  # noqa: F811
    show(folder, "none")
    imports.run("pass")
    add(folder, "2", "humanize", "2")
    assert look(imports, "humanize") == ["humanize"]


def test_one_that_was_forgotten(imports, folder):  # noqa: F811
    imports.run("import sys; del sys.modules['humanize']")
    add(folder, "2", "humanize", "2")
    assert look(imports, "humanize") == []


def test_a_kernel_with_a_cell_answers_after_it(imports, folder):  # noqa: F811
    cell = imports.execute("input()", allow_stdin=True)
    only([imports.event()], "INPUT_REQUEST")
    add(folder, "2", "humanize", "2")
    imports.send("LOOK", {"look": 1, "names": ["humanize"]}, request=0)
    imports.send("INPUT_REPLY", {"value": ""}, request=cell)
    imports.until_reply(cell)
    event = imports.event()
    assert (event.kind, event.content["imported"]) == ("LOOKED", ["humanize"])


def test_a_record_that_is_cut_is_unknown(imports, folder):  # noqa: F811
    add(folder, "2", "humanize", "2")
    record = folder / "2" / "humanize-2.dist-info" / "RECORD"
    known = record.read_text()
    record.write_text("x,,\n" * (1 << 20) + known)
    assert look(imports, "humanize") is None
    record.write_text(known + "x,,\n" * (1 << 20))
    assert look(imports, "humanize") == ["humanize"]
    record.unlink()
    assert look(imports, "humanize") is None
    record.mkdir()
    count = "len(__import__('os').listdir('/proc/self/fd'))"
    before = imports.value(count)
    assert look(imports, "humanize") is None
    assert imports.value(count) == before
    record.rmdir()
    record.write_text(known)
    assert look(imports, "humanize") == ["humanize"]


def test_pip_says_what_is_unknown(imports, folder):  # noqa: F811
    imports.run(
        "import os\nreal = os.listdir\n"
        "def lies(path): raise SystemExit\nos.listdir = lies"
    )
    assert change(imports, folder, "2", "2") == [
        "what a cell has imported already stays as it is until a restart"
    ]
    imports.run("os.listdir = real")
    assert look(imports, "humanize") == ["humanize"]


def is_interrupted(kernel, folder):  # noqa: F811
    """An upgrade whose cell ends by an interrupt, which the kernel's look at
    the packages has raised."""
    cell, call = calls(kernel, "%pip install humanize")
    add(folder, "2", "humanize", "2")
    answer(kernel, call, result={"status": "ok", "packages": []})
    error = kernel.until_reply(cell)[-1].content
    assert error["ename"] == "KeyboardInterrupt"


def test_an_interrupt_ends_the_cell_that_looks(imports, folder):  # noqa: F811
    """It is raised here where the kernel looks; the next look does the rest."""
    imports.run(
        "import os\nreal, count = os.listdir, 0\n"
        "def stopped(path):\n"
        "    global count\n"
        "    count += 1\n"
        "    raise KeyboardInterrupt\n"
        "os.listdir = stopped"
    )
    is_interrupted(imports, folder)
    # Before a cell it is no interrupt, and ends nothing.
    assert imports.value("count") == "2"
    imports.run("os.listdir = real")
    assert look(imports, "humanize") == ["humanize"]


def test_an_interrupt_while_a_record_is_read(kernel, folder):  # noqa: F811
    """The next look does the rest, and takes nothing for imported."""
    add(folder, "1", "humanize", "1")
    kernel.run(
        "import os\nreal = os.open\n"
        "def stopped(path, *flags):\n"
        "    if not str(path).endswith('RECORD'): return real(path, *flags)\n"
        "    os.open = real\n"
        "    raise KeyboardInterrupt\n"
        "os.open = stopped"
    )
    is_interrupted(kernel, folder)
    assert kernel.value("__import__('humanize').version") == "'2'"
    assert look(kernel, "humanize") == []


# ---- code that lies ----

HOSTILE = """
import sys, types
class Evil(types.ModuleType):
    def __getattribute__(self, name): raise SystemExit(name)
    def __getattr__(self, name): raise KeyboardInterrupt(name)
    @property
    def __class__(self): raise GeneratorExit
    @property
    def __dict__(self): raise SystemExit
    def __eq__(self, other): raise SystemExit
    def __hash__(self): raise SystemExit
    def __bool__(self): raise SystemExit
class Other:
    __class__ = types.ModuleType
    def __getattribute__(self, name): raise SystemExit(name)
class Text(str):
    def startswith(self, *words): raise SystemExit
    def __eq__(self, other): raise SystemExit
    __hash__ = str.__hash__
class Table(dict):
    def get(self, *words): raise SystemExit
    def __getitem__(self, key): raise SystemExit
    def __missing__(self, key): raise SystemExit
"""


@pytest.mark.parametrize(
    ("code", "found"),
    [
        # It is looked at, and it has no say.
        ("sys.modules['humanize'].__class__ = Evil", ["humanize"]),
        # It takes the module's place.
        ("sys.modules['humanize'] = Evil('humanize')", []),
        ("sys.modules['humanize'] = Other()", []),
        ("sys.modules['humanize'] = Evil", []),
        ("sys.modules['humanize'].__file__ = Text('/x')", []),
        ("sys.modules['humanize'].__file__ = 7", []),
        ("sys.modules = Table(sys.modules)", ["humanize"]),
        (
            "sys.modules.pop('humanize'); sys.modules[Text('humanize')] = 1",
            None,
        ),
    ],
)
def test_code_that_lies(imports, folder, code, found):  # noqa: F811
    imports.run(HOSTILE)
    imports.run(f"kept = dict(sys.modules)\n{code}")
    add(folder, "2", "humanize", "2")
    assert look(imports, "humanize") == found
    assert look(imports, "humanize") == found
    # It is the kernel of before, and it serves.
    assert imports.value("1 + 1") == "2"


def test_finders_that_lie(imports, folder):  # noqa: F811
    imports.run(
        "import sys\nclass Finder:\n"
        "    def find_spec(*words): return None\n"
        "    def invalidate_caches(self): raise SystemExit\n"
        "sys.meta_path.append(Finder())"
    )
    add(folder, "2", "humanize", "2")
    assert imports.value("__import__('humanize').version") == "'1'"
    assert look(imports, "humanize") == ["humanize"]
