"""Honest downloads: what comes, what is kept, and what is asked again."""

from __future__ import annotations

import os

import pytest
from fake_files import FakeFiles, redirect, say
from fetching import FOLDERS, Folder, digest

MODIFIED = "Fri, 27 Nov 2026 10:00:00 GMT"


def test_fetches_a_file(any_folder: Folder, server: FakeFiles) -> None:
    content = os.urandom(3 << 20)
    server.put("/a", content, etag='"1"')
    got = any_folder.fetch(server.url("/a"))
    assert got.content == content
    assert (got.cached, got.encoding, got.mode) == (False, "", 0o400)
    assert server.count("/a") == 1
    assert any_folder.objects() == [digest(content)]
    assert sorted(os.listdir(any_folder.work)) == FOLDERS
    assert any_folder.names("jobs") == any_folder.names("partial") == []
    again = any_folder.fetch(server.url("/a"), sha256=digest(content))
    assert again.content == content
    assert again.cached
    assert server.count("/a") == 1


def test_a_descriptor_outlives_the_object(
    folder: Folder, server: FakeFiles
) -> None:
    """A gateway reads at its leisure; `read` of the driver does it late."""
    server.put("/a", b"content")
    run = folder.start(server.url("/a"))
    run.process.wait(60)
    (name,) = folder.objects()
    (folder.work / "objects" / name).unlink()
    assert run.answer().content == b"content"


def test_asks_whether_the_file_has_changed(
    folder: Folder, server: FakeFiles
) -> None:
    file = server.put("/a", b"one", etag='"1"')
    assert not folder.fetch(server.url("/a")).cached
    assert folder.fetch(server.url("/a")).cached
    assert server.asked[1].fields["if-none-match"] == '"1"'
    file.content, file.etag = b"two", '"2"'
    got = folder.fetch(server.url("/a"))
    assert (got.content, got.cached) == (b"two", False)
    assert folder.fetch(server.url("/a")).cached
    # What another session asks for by its hash may still be the old one.
    assert folder.objects() == sorted([digest(b"one"), digest(b"two")])


def test_asks_by_time_where_there_is_no_etag(
    folder: Folder, server: FakeFiles
) -> None:
    server.put("/a", b"one", modified=MODIFIED)
    folder.fetch(server.url("/a"))
    assert folder.fetch(server.url("/a")).cached
    assert server.asked[1].fields["if-modified-since"] == MODIFIED
    assert "if-none-match" not in server.asked[1].fields


def test_fetches_again_what_has_no_validator(
    folder: Folder, server: FakeFiles
) -> None:
    file = server.put("/a", b"one")
    folder.fetch(server.url("/a"))
    file.content = b"two"
    assert folder.fetch(server.url("/a")).content == b"two"


def test_no_file_is_found_by_its_hash_alone(
    folder: Folder, server: FakeFiles
) -> None:
    """Another session may know a hash, and not the URL."""
    server.put("/secret", b"secret")
    server.put("/other", b"other")
    folder.fetch(server.url("/secret"))
    known = digest(b"secret")
    for path in ("/other", "/none"):
        fault = folder.refuse(server.url(path), sha256=known)
        assert server.count(path) == 1
        assert "secret" not in fault.text
    server.put("/secret", b"secret")
    assert not folder.fetch(server.url("/secret") + "?x", sha256=known).cached


def test_what_is_here_is_judged_too(folder: Folder, server: FakeFiles) -> None:
    server.put("/a", b"one")
    folder.fetch(server.url("/a"))
    fault = folder.refuse(server.url("/a"), sha256=digest(b"one"), allow=["*"])
    assert fault.ename == "FetchRefused"
    fault = folder.refuse(
        server.url("/a"), sha256=digest(b"one"), deny=[server.place]
    )
    assert "deny names" in fault.text


@pytest.mark.parametrize("etag", ["", '"1"'])
def test_what_came_by_a_redirect_is_judged_too(
    folder: Folder, server: FakeFiles, etag: str
) -> None:
    """Another profile forbids where the file came from."""
    with FakeFiles() as other:
        other.put("/b", b"one", etag=etag)
        server.scripts["/a"] = redirect(other.url("/b"))
        both = [server.place, other.place]
        folder.fetch(server.url("/a"), allow=both)
        for lists in (
            {},
            {"allow": both, "deny": [other.place]},
        ):
            fault = folder.refuse(
                server.url("/a"), sha256=digest(b"one"), **lists
            )
            assert fault.ename == "FetchRefused"
            assert f"redirects to {other.place}" in fault.text
        assert other.accepted == 1
        got = folder.fetch(server.url("/a"), sha256=digest(b"one"), allow=both)
        assert (got.content, got.cached) == (b"one", bool(etag))
        assert other.accepted == 2


@pytest.mark.parametrize(
    "lists", [{"private": ["10.0.0.0/8"]}, {"deny": ["8.8.8.8"]}]
)
def test_other_lists_ask_the_server(
    folder: Folder, server: FakeFiles, lists: dict[str, list[str]]
) -> None:
    """The address that the name led to may be forbidden by them."""
    server.put("/a", b"one", etag='"1"')
    folder.fetch(server.url("/a"), **lists)
    known = digest(b"one")
    assert folder.fetch(server.url("/a"), sha256=known, **lists).cached
    assert server.count("/a") == 1
    assert folder.fetch(server.url("/a"), sha256=known).cached
    assert server.asked[1].fields["if-none-match"] == '"1"'


def test_what_is_here_may_be_too_large(
    folder: Folder, server: FakeFiles
) -> None:
    """Another profile permits more, by a hash and by a server's 304."""
    server.put("/a", bytes(2000), etag='"1"')
    folder.fetch(server.url("/a"))
    for known, asked in ((digest(bytes(2000)), 1), ("", 2)):
        fault = folder.refuse(server.url("/a"), sha256=known, max_bytes=1999)
        assert fault.ename == "FetchRefused"
        assert fault.text == (
            "the file has 2.0 KiB, more than profile/python3/fetch/max_bytes "
            "permits (2.0 KiB)"
        )
        assert server.count("/a") == asked
    assert folder.fetch(server.url("/a"), max_bytes=2000).cached


def test_a_lost_object_is_fetched_again(
    folder: Folder, server: FakeFiles
) -> None:
    server.put("/a", b"one", etag='"1"')
    folder.fetch(server.url("/a"))
    (folder.work / "objects" / digest(b"one")).unlink()
    got = folder.fetch(server.url("/a"), sha256=digest(b"one"))
    assert (got.content, got.cached) == (b"one", False)
    assert "if-none-match" not in server.asked[1].fields


def test_refuses_another_hash(folder: Folder, server: FakeFiles) -> None:
    server.put("/a", b"one", etag='"1"')
    fault = folder.refuse(server.url("/a"), sha256="0" * 64)
    assert fault.ename == "FetchRefused"
    assert "0" * 64 in fault.text
    assert digest(b"one") in fault.text
    for name in ("objects", "entries", "partial"):
        assert folder.names(name) == []
    # Nor is it another file if the server says that nothing has changed.
    folder.fetch(server.url("/a"))
    fault = folder.refuse(server.url("/a"), sha256="0" * 64)
    assert server.asked[-1].fields["if-none-match"] == '"1"'
    assert digest(b"one") in fault.text


def test_an_empty_file(folder: Folder, server: FakeFiles) -> None:
    server.put("/a", b"")
    assert folder.fetch(server.url("/a")).content == b""


@pytest.mark.parametrize("chunks", [1, 3, 1000])
def test_chunks(folder: Folder, server: FakeFiles, chunks: int) -> None:
    pieces = [b"%x\r\n%s\r\n" % (9, b"123456789")] * chunks
    server.scripts["/a"] = say(
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        *pieces,
        b"0\r\nx: y\r\n\r\n",
    )
    assert folder.fetch(server.url("/a")).content == b"123456789" * chunks


def test_a_file_without_length(folder: Folder, server: FakeFiles) -> None:
    server.put("/a", b"x" * 100_000, has_length=False)
    assert folder.fetch(server.url("/a")).size == 100_000


def test_an_encoded_body_is_named(folder: Folder, server: FakeFiles) -> None:
    server.put("/a", b"\x1f\x8b...", encoding="GZIP", etag='"1"')
    for is_cached in (False, True):
        got = folder.fetch(server.url("/a"))
        assert (got.encoding, got.cached) == ("gzip", is_cached)
        assert got.content == b"\x1f\x8b..."
    assert server.asked[0].fields["accept-encoding"] == "identity"
    server.put("/b", b"x", encoding="identity")
    assert folder.fetch(server.url("/b")).encoding == ""
    server.put("/c", b"x", encoding="gzip,\x1b[31m br")
    with pytest.raises(Exception, match="FetchUnreachable"):
        folder.fetch(server.url("/c"))
    server.put("/d", b"x", encoding="a b")
    assert folder.fetch(server.url("/d")).encoding == "unknown"
    server.put("/e", b"x", encoding="gzip, " * 6 + "br")
    assert folder.fetch(server.url("/e")).encoding == "gzip, " * 6 + "br"
    server.put("/f", b"x", encoding="gzip, " * 8)
    assert folder.fetch(server.url("/f")).encoding == "unknown"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_follows_a_redirect(
    folder: Folder, server: FakeFiles, status: int
) -> None:
    server.put("/b", b"one", etag='"1"')
    server.scripts["/a"] = redirect("b?key=1", f"{status} Moved")
    assert folder.fetch(server.url("/a")).content == b"one"
    # The validator is for the server that gave it, whatever its query.
    server.scripts["/a"] = redirect("b?key=2", f"{status} Moved")
    assert folder.fetch(server.url("/a")).cached
    assert "if-none-match" not in server.asked[2].fields
    assert server.asked[3].fields["if-none-match"] == '"1"'


def test_follows_five_redirects(folder: Folder, server: FakeFiles) -> None:
    for number in range(6):
        server.scripts[f"/{number}"] = redirect(f"/{number + 1}")
    server.put("/6", b"one")
    assert folder.fetch(server.url("/1")).content == b"one"
    fault = folder.refuse(server.url("/0"))
    assert fault.ename == "FetchRefused"
    assert "redirects more than 5 times" in fault.text


BIG = os.urandom(1 << 20)


def test_resumes_by_an_etag(folder: Folder, server: FakeFiles) -> None:
    server.put("/a", BIG, etag='"1"', breaks=[200_000, 300_000])
    assert folder.fetch(server.url("/a")).content == BIG
    first, second, third = server.asked
    assert "range" not in first.fields
    assert second.fields["if-range"] == third.fields["if-range"] == '"1"'
    assert second.fields["range"] == "bytes=200000-"
    assert third.fields["range"] == "bytes=500000-"


def test_resumes_by_a_time(folder: Folder, server: FakeFiles) -> None:
    file = server.put("/a", BIG, modified=MODIFIED, breaks=[200_000])
    file.etag = 'W/"1"'
    assert folder.fetch(server.url("/a")).content == BIG
    assert server.asked[1].fields["if-range"] == MODIFIED


@pytest.mark.parametrize("etag", ["", 'W/"1"', "none"])
def test_begins_again_without_a_validator(
    folder: Folder, server: FakeFiles, etag: str
) -> None:
    server.put("/a", BIG, etag=etag, breaks=[200_000, 300_000])
    assert folder.fetch(server.url("/a")).content == BIG
    assert all("range" not in one.fields for one in server.asked)


def test_begins_again_where_there_are_no_ranges(
    folder: Folder, server: FakeFiles
) -> None:
    server.put("/a", BIG, etag='"1"', breaks=[200_000], has_ranges=False)
    assert folder.fetch(server.url("/a")).content == BIG
    assert "range" in server.asked[1].fields


def test_begins_again_where_the_file_has_changed(
    folder: Folder, server: FakeFiles
) -> None:
    file = server.put("/a", BIG, etag='"1"', breaks=[200_000])
    serve = file.serve

    def change(*arguments: object) -> None:
        serve(*arguments)  # type: ignore[arg-type]
        file.content, file.etag = BIG[::-1], '"2"'

    server.scripts["/a"] = change
    assert folder.fetch(server.url("/a")).content == BIG[::-1]


def test_a_later_job_resumes(any_folder: Folder, server: FakeFiles) -> None:
    folder = any_folder
    file = server.put("/a", BIG, etag='"1"', breaks=[200_000, *[0] * 4])
    fault = folder.refuse(server.url("/a"))
    assert fault.ename == "FetchUnreachable"
    assert "broke off after " in fault.text
    assert len(folder.names("partial")) == 2
    file.breaks.clear()
    assert folder.fetch(server.url("/a")).content == BIG
    assert "range" in server.asked[-1].fields
    assert folder.names("partial") == []


def test_a_part_of_another_file_is_not_used(
    folder: Folder, server: FakeFiles
) -> None:
    file = server.put("/a", BIG, etag='"1"', breaks=[200_000, *[0] * 4])
    folder.refuse(server.url("/a"))
    file.breaks.clear()
    file.content, file.etag = BIG[::-1], '"2"'
    assert folder.fetch(server.url("/a")).content == BIG[::-1]


def test_a_part_that_is_whole_is_used(
    folder: Folder, server: FakeFiles
) -> None:
    """A worker may have been killed just before its end."""
    file = server.put("/a", BIG, etag='"1"', breaks=[200_000, *[0] * 4])
    folder.refuse(server.url("/a"))
    file.breaks.clear()
    (part,) = (folder.work / "partial").glob("?" * 64)
    with open(part, "wb") as out:
        out.write(BIG)
    assert folder.fetch(server.url("/a")).content == BIG
    assert server.asked[-1].fields["range"] == f"bytes={len(BIG) - 1}-"


def test_says_how_much_has_come(folder: Folder, server: FakeFiles) -> None:
    half = len(BIG) // 2

    def serve(client: object, asked: object) -> None:
        send = client.sendall  # type: ignore[attr-defined]
        send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(BIG))
        send(BIG[:half])
        assert server.ended.wait(60)
        send(BIG[half:])

    server.scripts["/a"] = serve
    run = folder.start(server.url("/a"))
    while run.await_progress() != {"bytes": half, "total": len(BIG)}:
        pass
    server.ended.set()
    assert run.answer().content == BIG


@pytest.mark.parametrize(
    ("url", "ename"),
    [
        ("https://u:p@x.example/", "FetchInvalid"),
        ("ftp://x.example/", "FetchInvalid"),
        ("https://x.example/", "FetchRefused"),
    ],
)
def test_refuses_what_is_no_such_url(
    folder: Folder, url: str, ename: str
) -> None:
    assert folder.refuse(url).ename == ename
    assert os.listdir(folder.work) == []


@pytest.mark.parametrize("datagram", [b"{", b"[]", b"{}", b"x" * 1000])
def test_answers_a_job_that_is_none(folder: Folder, datagram: bytes) -> None:
    with pytest.raises(Exception, match="FetchFailed"):
        folder.send(datagram).answer()
