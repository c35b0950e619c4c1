"""URLs and hashes: what is read, in which form, and what is refused."""

from __future__ import annotations

import contextlib

import pytest
from hearth_downloads.core.faults import Invalid
from hearth_downloads.fetch.url import (
    URL_MAX,
    parse_hash,
    parse_url,
    show_url,
)


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("https://data.example/a.csv", "https://data.example/a.csv"),
        ("HTTPS://Data.Example:443/A?b=C#d", "https://data.example/A?b=C"),
        ("https://data.example.", "https://data.example/"),
        ("http://data.example:80?x", "http://data.example/?x"),
        ("http://data.example:8080/", "http://data.example:8080/"),
        ("https://b\u00fccher.example/\u00e9", "https://xn--bcher-kva.example/%C3%A9"),
        ("https://data.example/a b%20c", "https://data.example/a%20b%20c"),
        ("https://data.example/a\\b", "https://data.example/a%5Cb"),
        ("http://127.0.0.1:8/x", "http://127.0.0.1:8/x"),
        ("https://[2001:DB8:0::1]/x", "https://[2001:db8::1]/x"),
        ("https://data.example/a#", "https://data.example/a"),
        ("https://data.example/a@b", "https://data.example/a@b"),
    ],
)  # fmt: skip
def test_has_one_form(text: str, whole: str) -> None:
    found = parse_url(text)
    assert found.text == whole
    assert parse_url(whole) == found


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "has to begin with https:// or http://"),
        ("data.example/a", "has to begin with"),
        ("ftp://data.example/a", "has to begin with"),
        ("file:///etc/passwd", "has to begin with"),
        ("https:/data.example/a", "has to begin with"),
        ("https:///a", "has no host"),
        ("https://:443/a", "has no host"),
        ("https://u@data.example/", "a user or a password"),
        ("https://u:p@data.example/", "a user or a password"),
        ("https://data.example\\@evil.example/", "a user or a password"),
        ("https://data.example\\evil/", "has no host"),
        ("https://data.example:0/", "has no host"),
        ("https://data.example:65536/", "has no host"),
        ("https://data.example:/", "has no host"),
        ("https://data.example:80x/", "has no host"),
        ("https://127.1/", "has no host"),
        ("https://2130706433/", "has no host"),
        ("https://0x7f000001/", "has no host"),
        ("https://0x7f.1/", "has no host"),
        ("https://data..example/", "has no host"),
        ("https://data_.-example/", "has no host"),
        ("https://[fe80::1%25lo]/", "has no host"),
        ("https://[127.0.0.1]/", "has no host"),
        ("https://::1/", "has no host"),
        ("https://data example/", "has no host"),
        (f"https://{'a' * 64}.example/", "has no host"),
        ("https://data.example/\n", "a control character"),
        ("https://data.example/\x7f", "a control character"),
        ("https://data.example/\x85", "a control character"),
        ("https://data.example/\ud800", "no Unicode"),
        (f"https://data.example/{'a' * URL_MAX}", "more than 2000 bytes"),
        (f"https://data.example/{chr(0xE9) * 1000}", "more than 2000 bytes"),
    ],
)
def test_refuses(text: str, why: str) -> None:
    with pytest.raises(Invalid, match=why) as refused:
        parse_url(text)
    assert refused.value.text.isprintable()
    assert len(refused.value.text) < 600


@pytest.mark.parametrize(
    ("location", "whole"),
    [
        ("/b", "https://data.example/b"),
        ("b?c", "https://data.example/x/b?c"),
        ("//other.example/b", "https://other.example/b"),
        ("http://other.example", "http://other.example/"),
    ],
)
def test_a_redirect_is_a_url_too(location: str, whole: str) -> None:
    assert parse_url("https://data.example/x/a").join(location).text == whole


def test_a_redirect_to_anything_else_is_refused() -> None:
    for location in ("file:///etc/passwd", "https://u:p@x/", "http://127.1/"):
        with pytest.raises(Invalid):
            parse_url("https://data.example/x").join(location)


def test_shows_no_query() -> None:
    """A query may have a key."""
    assert parse_url("https://a.example/b?key=c").shown == "https://a.example/b"
    assert parse_url("https://a.example/b?key=c").key != (
        parse_url("https://a.example/b").key
    )


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://a.example/b?key=SECRET", "https://a.example/b"),
        ("https://a.example/b#SECRET", "https://a.example/b"),
        ("https://a.example?SECRET", "https://a.example"),
        ("ftp://SECRET:SECRET@a.example/b?SECRET#SECRET", "ftp://a.example/b"),
        ("https://SECRET@SECRET@a.example/", "https://a.example/"),
        ("https://SECRET:SECRET/x@a.example/", "https://…"),
        ("https://SECRET:SECRET?x@a.example/", "https://…"),
        ("https://SECRET:SECRET#x@a.example/", "https://…"),
        ("https://u:SECRET@SECRET/x@a.example/", "https://…"),
        ("https://a.example?SECRET@b", "https://…"),
        ("https://SECRET\\@a.example/", "https://a.example/"),
        ("https:/SECRET:SECRET@a.example/", "https:/a.example/"),
        (" https://SECRET:SECRET@a.example/b?SECRET", "https://a.example/b"),
        ("//SECRET@a.example/b", "//a.example/b"),
        ("SECRET:SECRET@a.example/b", "a.example/b"),
        ("https:SECRET@a.example/b", "a.example/b"),
        ("ht\ttps://SECRET@a.example/b", "…"),
        ("https://a.example/b@c", "https://a.example/b@c"),
        ("file:///etc/passwd", "file:///etc/passwd"),
        ("/b?SECRET", "/b"),
        ("?SECRET", ""),
        ("", ""),
        (f"https://a.example/{'b' * 500}", f"https://a.example/{'b' * 182}…"),
    ],
)
def test_shows_any_text_without_secrets(text: str, shown: str) -> None:
    assert show_url(text) == shown
    assert show_url(shown) == shown
    with contextlib.suppress(Invalid):
        parse_url(text)
        return
    with pytest.raises(Invalid) as refused:
        parse_url(text)
    assert "SECRET" not in refused.value.text


def test_reads_a_hash() -> None:
    assert parse_hash("") == ""
    assert parse_hash("0a" * 32) == "0a" * 32
    for text in ("0A" * 32, "0a" * 31, "0a" * 32 + "\n", "sha256:" + "0a" * 32):
        with pytest.raises(Invalid, match="64 hexadecimal digits"):
            parse_hash(text)
