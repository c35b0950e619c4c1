"""`%fetch` and `%clone`: what is asked, and what the cell sees of it."""

import re

import pytest
from test_pip import answer, calls

from gateway import kinds, text

URL = "https://data.example/table.csv"
HASH = "0" * 64
FILE = {
    "status": "ok",
    "path": "table.csv",
    "size": 24,
    "sha256": HASH,
    "url": URL,
    "cached": False,
    "encoding": "",
}
REPOSITORY = "https://data.example/group/tool.git"
COMMIT = "f572d396fae9206628714fb2ce00f72e94f2258f"
CLONED = {
    "status": "ok",
    "kind": "repository",
    "path": "tool",
    "commit": COMMIT,
    "branch": "main",
    "bytes": 1536,
    "files": 7,
    "lfs": 0,
    "submodules": 0,
    "url": REPOSITORY,
    "cached": False,
}


@pytest.fixture
def kernel(fork):
    return fork()


@pytest.mark.parametrize(
    ("words", "more"),
    [
        (URL, {}),
        (f"{URL} data/", {"path": "data/"}),
        (f"{URL} 'a b.csv'", {"path": "a b.csv"}),
        (f"{URL} --sha256 {HASH}", {"sha256": HASH}),
        (f"--sha256={HASH} {URL} x", {"path": "x", "sha256": HASH}),
        (f"{URL}#part", {"url": f"{URL}#part"}),
    ],
)
def test_what_is_asked(kernel, words, more):
    cell, call = calls(kernel, f"%fetch {words}")
    assert call.content["name"] == "hearth:fetch"
    assert call.content["arguments"] == {"order": "fetch", "url": URL, **more}
    answer(kernel, call, result=FILE)
    assert kernel.until_reply(cell)[-1].content["status"] == "ok"


@pytest.mark.parametrize(
    ("more", "line"),
    [
        ({}, f"table.csv  24 B  sha256 {HASH}"),
        ({"size": 1536}, f"table.csv  1.5 KiB  sha256 {HASH}"),
        ({"size": 3 << 30}, f"table.csv  3.0 GiB  sha256 {HASH}"),
        ({"cached": True}, f"table.csv  24 B  sha256 {HASH}"),
        (
            {"encoding": "gzip"},
            f"table.csv  24 B  sha256 {HASH}  compressed: gzip",
        ),
    ],
)
def test_what_is_printed(kernel, more, line):
    """As `hearth fetch` prints it, and whether or not it was cached."""
    cell, call = calls(kernel, f"%fetch {URL}")
    answer(kernel, call, result={**FILE, **more})
    assert text(kernel.until_reply(cell)) == f"{line}\n"


def say_progress(kernel, call, done, total=10):
    answer(
        kernel,
        call,
        progress={"path": "table.csv", "bytes": done, "total": total},
    )


def watch(kernel, call, done, total=10):
    """Say that so much has come; return what the cell prints."""
    say_progress(kernel, call, done, total)
    while True:
        event = kernel.event()
        if event.kind == "STREAM":
            assert event.content["name"] == "stdout"
            return event.content["text"]
        assert event.kind != "REPLY", event.content


def test_how_far_it_has_come(kernel):
    """In one line, whose place the file takes in the end."""
    cell, call = calls(kernel, f"%fetch {URL}")
    assert call.content["progress"] is True
    first = watch(kernel, call, 1536, 3 << 20)
    form = r"\rtable\.csv: 1\.5 KiB of 3\.0 MiB, [0-9.]+ (K?i?B)/s"
    assert re.fullmatch(form, first)
    second = watch(kernel, call, 7, None)
    assert re.fullmatch(r"\rtable\.csv: 7 B, [0-9.]+ B/s +", second)
    assert len(second) == len(first)
    answer(kernel, call, result=FILE)
    rest = text(kernel.until_reply(cell))
    assert re.fullmatch(rf"\r +\rtable\.csv  24 B  sha256 {HASH}\n", rest)


PATIENCE = """
import sys
from hearth_kernel.tools import outside
outside._FIRST = 0.0
real, errors = outside._Progress.show, sys.stderr
def show(self, said):
    real(self, said)
    if said: print("looked", file=errors)
outside._Progress.show = show
"""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("print('loading ', end='')\n", ""),
        ("import os; os.write(1, b'loading ')\n", ""),
        (
            "from IPython.utils.capture import capture_output\n"
            "with capture_output() as kept:\n  ",
            "print(kept.stdout, end='')",
        ),
    ],
)
def test_progress_erases_nothing(kernel, before, after):
    """The cell's line stays, and what captures it gets the file's alone."""
    kernel.run(PATIENCE)
    cell, call = calls(kernel, f"{before}%fetch {URL}\n{after}")
    say_progress(kernel, call, 5)
    events = []
    while "looked" not in text(events, "stderr"):
        events.append(kernel.event())
    answer(kernel, call, result=FILE)
    events += kernel.until_reply(cell)
    assert text(events) == f"table.csv  24 B  sha256 {HASH}\n"


def test_a_file_without_a_byte_shows_no_progress(kernel):
    cell, call = calls(kernel, f"%fetch {URL}")
    say_progress(kernel, call, 0)
    assert re.match(r"\rtable.csv: 5 B of 10 B", watch(kernel, call, 5))
    answer(kernel, call, result={"status": "error", "evalue": "it is gone"})
    events = kernel.until_reply(cell)
    assert events[-1].content["ename"] == "FetchError"
    assert re.fullmatch(r"\r +\r", text(events))


@pytest.mark.parametrize(
    ("words", "more"),
    [
        (REPOSITORY, {}),
        (f"{REPOSITORY} src/", {"path": "src/"}),
        (f"{REPOSITORY} --lfs a", {"lfs": True, "path": "a"}),
        (f"--submodules {REPOSITORY}", {"submodules": True}),
        (f"{REPOSITORY} --ref v1.0 --depth 1", {"ref": "v1.0", "depth": 1}),
        (
            f"--depth=20 --ref={COMMIT} {REPOSITORY} 'a b'",
            {"ref": COMMIT, "depth": 20, "path": "a b"},
        ),
    ],
)
def test_what_is_asked_of_a_repository(kernel, words, more):
    cell, call = calls(kernel, f"%clone {words}")
    assert call.content["name"] == "hearth:fetch"
    assert call.content["arguments"] == {
        "order": "fetch",
        "kind": "repository",
        "url": REPOSITORY,
        **more,
    }
    answer(kernel, call, result=CLONED)
    assert kernel.until_reply(cell)[-1].content["status"] == "ok"


@pytest.mark.parametrize(
    ("more", "line", "notes"),
    [
        ({}, f"tool  commit {COMMIT}  branch main", []),
        ({"branch": ""}, f"tool  commit {COMMIT}", []),
        (
            {"cached": True},
            f"tool  commit {COMMIT}  branch main",
            [],
        ),
        (
            {"lfs": 3, "submodules": 2},
            f"tool  commit {COMMIT}  branch main",
            [
                "%clone: 3 files are Git LFS pointers: --lfs brings their "
                "contents",
                "%clone: 2 submodules are empty folders",
            ],
        ),
        (
            {"lfs": 1, "submodules": 1},
            f"tool  commit {COMMIT}  branch main",
            [
                "%clone: 1 file is a Git LFS pointer: --lfs brings its content",
                "%clone: 1 submodule is an empty folder",
            ],
        ),
        (
            {"note": "it is old", "submodules": 1},
            f"tool  commit {COMMIT}  branch main",
            ["%clone: it is old", "%clone: 1 submodule is an empty folder"],
        ),
    ],
)
def test_what_is_printed_of_a_repository(kernel, more, line, notes):
    """As `hearth clone` prints it, without a size."""
    cell, call = calls(kernel, f"%clone {REPOSITORY}")
    answer(kernel, call, result={**CLONED, **more})
    events = kernel.until_reply(cell)
    assert text(events) == f"{line}\n"
    assert text(events, "stderr").splitlines() == notes


@pytest.mark.parametrize(
    ("count", "note"),
    [
        (1, "%clone: 1 file looks like a Git LFS pointer, and stays"),
        (2, "%clone: 2 files look like Git LFS pointers, and stay"),
    ],
)
def test_what_stays_a_pointer(kernel, count, note):
    cell, call = calls(kernel, f"%clone --lfs {REPOSITORY}")
    answer(kernel, call, result={**CLONED, "lfs": count})
    events = kernel.until_reply(cell)
    assert text(events, "stderr").splitlines() == [note]


@pytest.mark.parametrize("magic", ["%fetch", "%clone"])
def test_a_refusal_ends_the_cell(kernel, magic):
    cell, call = calls(kernel, f"{magic} {URL}\nprint('went on')")
    answer(kernel, call, result={"status": "error", "evalue": "not permitted"})
    events = kernel.until_reply(cell)
    reply = events[-1].content
    assert (reply["ename"], reply["evalue"]) == (
        "FetchError",
        f"{magic}: not permitted",
    )
    assert reply["traceback"] == [f"FetchError: {magic}: not permitted"]
    assert "went on" not in text(events)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("%fetch", "name a URL"),
        ("%fetch a b c", "name a URL"),
        (f"%fetch {URL} -o x", "there is no option -o"),
        (f"%fetch {URL} --sha256", "--sha256 needs a hash"),
        (f"%fetch {URL} --ref main", "there is no option --ref"),
        (f"%fetch '{URL}", "No closing quotation"),
        ("%clone", "name a URL"),
        ("%clone a b c", "name a URL"),
        (f"%clone {URL} --recursive", "there is no option --recursive"),
        (f"%clone {URL} --sha256 x", "there is no option --sha256"),
        (f"%clone {URL} --ref", "--ref needs a branch, a tag or a commit"),
        (f"%clone {URL} --depth", "--depth needs a number"),
        (f"%clone {URL} --depth 0", "a number of commits, at least 1"),
        (f"%clone {URL} --depth -1", "a number of commits, at least 1"),
        (f"%clone {URL} --depth ²", "a number of commits, at least 1"),
        (f"%clone {URL} --depth {10**9}", "a number of commits, at least 1"),
        (f"%clone '{URL}", "No closing quotation"),
    ],
)
def test_lines_that_ask_for_nothing(kernel, words, sentence):
    events = kernel.run(words)
    assert "CALL" not in kinds(events)
    reply = events[-1].content
    assert reply["ename"] == "UsageError"
    assert sentence in reply["evalue"]
