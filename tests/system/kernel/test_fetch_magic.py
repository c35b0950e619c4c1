"""`%fetch`: what is asked, and what the cell sees of it."""

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
        ({"cached": True}, f"table.csv  24 B  sha256 {HASH}  (cached)"),
        (
            {"encoding": "gzip"},
            f"table.csv  24 B  sha256 {HASH}  compressed: gzip",
        ),
    ],
)
def test_what_is_printed(kernel, more, line):
    """As `hearth fetch` prints it."""
    cell, call = calls(kernel, f"%fetch {URL}")
    answer(kernel, call, result={**FILE, **more})
    assert text(kernel.until_reply(cell)) == f"{line}\n"


def test_a_refusal_ends_the_cell(kernel):
    cell, call = calls(kernel, f"%fetch {URL}\nprint('went on')")
    answer(kernel, call, result={"status": "error", "evalue": "not permitted"})
    events = kernel.until_reply(cell)
    reply = events[-1].content
    assert (reply["ename"], reply["evalue"]) == (
        "FetchError",
        "%fetch: not permitted",
    )
    assert reply["traceback"] == ["FetchError: %fetch: not permitted"]
    assert "went on" not in text(events)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("", "name a URL"),
        ("a b c", "name a URL"),
        (f"{URL} -o x", "there is no option -o"),
        (f"{URL} --sha256", "--sha256 needs a hash"),
        (f"'{URL}", "No closing quotation"),
    ],
)
def test_lines_that_ask_for_nothing(kernel, words, sentence):
    events = kernel.run(f"%fetch {words}")
    assert "CALL" not in kinds(events)
    reply = events[-1].content
    assert reply["ename"] == "UsageError"
    assert sentence in reply["evalue"]
