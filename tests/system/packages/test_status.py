"""Versions that were yanked, and the status that an index gives a project."""

from __future__ import annotations

import gzip
import http.client
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from fake_index import FakeIndex
from hearth_downloads.packages import status
from worker import Folder, refuse

KINDS = [(False, False), (False, True), (True, False)]


@pytest.fixture(params=KINDS, ids=["json", "zipped", "html"])
def any_index(request: pytest.FixtureRequest, index: FakeIndex) -> FakeIndex:
    """Return one for each form of a page."""
    index.html, index.zips = request.param
    return index


def test_refuses_what_is_in_quarantine(
    folder: Folder, any_index: FakeIndex
) -> None:
    index = any_index
    index.add("bad", "1")
    index.add("needs", "1", requires=["bad"])
    index.statuses["bad"] = {"status": "quarantined", "reason": "it steals"}
    no = refuse(folder, "bad", cooldown=0)
    assert no.ename == "PackagesRefused"
    assert no.text == (
        '"bad" refused: the index has it in quarantine: it steals'
    )
    assert index.downloads() == 0 or index.html  # which has no metadata
    assert refuse(folder, "needs", cooldown=0).text == (
        '"bad", which is needed by needs, refused: the index has it in '
        "quarantine: it steals"
    )


def test_says_so_where_no_file_is_left(
    folder: Folder, index: FakeIndex
) -> None:
    """As PyPI does it."""
    for name in ("bad", "empty"):
        index.releases[name] = []
    index.statuses["bad"] = {"status": "quarantined"}
    assert refuse(folder, "bad").text == (
        '"bad" refused: the index has it in quarantine'
    )
    assert refuse(folder, "bad>=2").text.endswith("it in quarantine")
    assert "no version fits" in refuse(folder, "empty").text


def test_notes_what_else_a_project_is(
    folder: Folder, any_index: FakeIndex
) -> None:
    index = any_index
    folder.settings["cooldown"] = 0
    for name in ("old", "older", "active", "odd"):
        index.add(name, "1")
    index.statuses["old"] = {"status": "deprecated", "reason": "use new"}
    index.statuses["older"] = {"status": "archived"}
    index.statuses["active"] = {"status": "active"}
    index.statuses["odd"] = {"status": "of a later time"}
    answer = folder.do("add", "old", "older", "active", "odd")
    assert sorted(answer["notes"]) == [
        "old is deprecated, and another project has perhaps replaced it: "
        "use new",
        "older is archived, and gets no more releases",
    ]
    # Only what is new is noted.
    index.add("b", "1")
    assert folder.do("add", "b", "old<2")["notes"] == []


@pytest.mark.parametrize(
    ("page", "says"),
    [
        (b"{", "its page is not that of PEP 691"),
        (b"[]", "its page is not that of PEP 691"),
        (b'{"project-status": "quarantined"}', "is not that of PEP 691"),
        (None, "it answers 404"),
    ],
)
def test_a_status_that_cannot_be_read_is_a_failure(
    folder: Folder,
    index: FakeIndex,
    monkeypatch: pytest.MonkeyPatch,
    page: bytes,
    says: str,
) -> None:
    """uv has got another page before."""
    index.add("a", "1")
    kind, real = index.page("a")
    answers = [(kind, real)]

    def answer(name: str) -> tuple[str, bytes]:
        if answers:
            return answers.pop()
        if page is None:
            raise KeyError
        return kind, page

    monkeypatch.setattr(index, "page", answer)
    if page is None:
        monkeypatch.setattr(
            index, "releases", _Once({"a": index.releases["a"]})
        )
    no = refuse(folder, "a")
    assert no.ename == "PackagesUnreachable"
    assert no.text.startswith("the index does not say the status of a: ")
    assert says in no.text


class _Once(dict[str, object]):
    """A dictionary that has its keys once."""

    asked = 0

    def __contains__(self, key: object) -> bool:
        self.asked += 1
        return self.asked == 1


def test_what_a_status_says_is_one_line(
    folder: Folder, index: FakeIndex
) -> None:
    index.add("a", "1")
    index.statuses["a"] = {
        "status": "archived",
        "reason": "\x1b[31mred\n" + "long " * 1000,
    }
    (note,) = folder.do("add", "a")["notes"]
    assert note.isprintable()
    assert len(note) <= 300


def test_refuses_what_was_yanked(folder: Folder, index: FakeIndex) -> None:
    index.add("a", "1")
    index.add("a", "2", yanked="it (really) breaks")
    index.add("b", "1.2", yanked=True)
    index.add("c", "1", requires=["b"])
    assert folder.do("add", "a")["added"] == [{"name": "a", "version": "1"}]
    no = refuse(folder, "a>=2")
    assert no.ename == "PackagesRefused"
    assert no.text == (
        '"a" 2 refused: it was yanked: it (really) breaks; ask for another '
        "version, or for a==2 if it has to be that one"
    )
    for asked in ("b", "c", "b>=1"):
        assert refuse(folder, asked).text == (
            '"b" 1.2 refused: it was yanked; ask for another version, or for '
            "b==1.2 if it has to be that one"
        )


def test_notes_what_was_yanked_and_is_wanted(
    folder: Folder, index: FakeIndex, place: Path
) -> None:
    index.add("a", "2", yanked='it "breaks"')
    index.add("b", "1", yanked=True)
    index.add("c", "1", requires=["b"])
    answer = folder.do("add", "a==2", "b==1", "c")
    assert answer["notes"] == ['a 2 was yanked: it "breaks', "b 1 was yanked"]
    index.add("d", "1")
    assert folder.do("add", "d")["notes"] == []


class _Response:
    def __init__(self, text: bytes, encoding: str = "", lacks: int = 0) -> None:
        self.text = text
        self.headers = {"Content-Encoding": encoding}
        self.length = lacks  # bytes that have not come

    def read(self, size: int) -> bytes:
        return self.text[:size]


@pytest.mark.parametrize("encoding", ["", "gzip"])
def test_a_page_is_bounded(
    monkeypatch: pytest.MonkeyPatch, encoding: str
) -> None:
    monkeypatch.setattr(status, "PAGE_MAX", 1000)

    def read(text: bytes) -> list[str]:
        packed = gzip.compress(text) if encoding else text
        page = status._read(_Response(packed, encoding))  # type: ignore[arg-type]
        return page.status

    assert read(b"x" * 1000) == ["", ""]
    with pytest.raises(Exception, match="its page has more than 1000 bytes"):
        read(b"x" * 1001)
    if encoding:
        with pytest.raises(Exception, match="its page has no end"):
            status._read(_Response(gzip.compress(b"x")[:-9], encoding))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "response",
    [
        _Response(gzip.compress(b"x")[:-8] + bytes(8), "gzip"),
        _Response(b"no zip at all", "gzip"),
    ],
)
def test_a_page_that_cannot_be_unpacked_is_none(response: _Response) -> None:
    with pytest.raises(status._Flaw, match="its page cannot be unpacked"):
        status._read(response)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "response",
    [
        _Response(b"<!DOCTYPE html>", lacks=1),
        _Response(b"x", "br"),
        _Response(b"x", "gzip, gzip"),
        # A reader that ends with the first one would miss what follows.
        _Response(gzip.compress(b"<html>") + gzip.compress(b"<meta>"), "gzip"),
    ],
)
def test_half_a_page_is_none(response: _Response) -> None:
    """The word may be in the other half."""
    with pytest.raises(Exception, match=r"its page (has no end|is coded)"):
        status._read(response)  # type: ignore[arg-type]


def _connect(url: str) -> http.client.HTTPConnection:
    """Connect to the host itself, which the sandbox does by its proxy."""
    return http.client.HTTPConnection(urlsplit(url).netloc)


def _ask(
    index: FakeIndex, monkeypatch: pytest.MonkeyPatch, *names: str
) -> tuple[dict[str, Any], int]:
    """Return what one thread finds, and how many connections it made.

    It takes them for such with TLS, which are kept.
    """
    made = []

    def connect(url: str) -> http.client.HTTPConnection:
        made.append(url)
        return _connect(url)

    monkeypatch.setattr(status, "THREADS", 1)
    url = index.url.replace("http:", "https:")
    client = status._Client(status.Question(url, names, 5.0, lambda host: ""))
    monkeypatch.setattr(client, "_connect", connect)
    return client.run(), len(made)


def _said(found: dict[str, list[str]]) -> dict[str, Any]:
    return {"found": found, "young": {}}


def test_a_connection_serves_many_pages(
    index: FakeIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b", "c"):
        index.releases[name] = []
        index.statuses[name] = {"status": "archived"}
    found = {name: ["archived", ""] for name in ("a", "b", "c")}
    assert _ask(index, monkeypatch, *found) == (_said(found), 1)


@pytest.mark.parametrize("failure", [503, 0])
def test_a_page_is_asked_for_again(
    index: FakeIndex, monkeypatch: pytest.MonkeyPatch, failure: int
) -> None:
    """Once, as uv does; a refusal is not asked for again."""
    index.releases["a"] = []
    index.failures = [failure]
    assert _ask(index, monkeypatch, "a") == (_said({}), 2)
    index.failures = [failure, failure]
    assert "fault" in _ask(index, monkeypatch, "a")[0]
    index.failures = [403]
    assert _ask(index, monkeypatch, "a") == (
        {"fault": "a: it answers 403"},
        1,
    )
