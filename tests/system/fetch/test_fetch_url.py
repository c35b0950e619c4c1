"""URLs and hashes: what is read, in which form, and what is refused."""

from __future__ import annotations

import pytest
from hearth_downloads.core.faults import Invalid
from hearth_downloads.fetch.url import URL_MAX, parse_hash, parse_url


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
        ("https:///a", "is no host"),
        ("https://:443/a", "is no host"),
        ("https://u@data.example/", "a user or a password"),
        ("https://u:p@data.example/", "a user or a password"),
        ("https://data.example\\@evil.example/", "a user or a password"),
        ("https://data.example\\evil/", "is no host"),
        ("https://data.example:0/", "is no host"),
        ("https://data.example:65536/", "is no host"),
        ("https://data.example:/", "is no host"),
        ("https://data.example:80x/", "is no host"),
        ("https://127.1/", "is no host"),
        ("https://2130706433/", "is no host"),
        ("https://0x7f000001/", "is no host"),
        ("https://0x7f.1/", "is no host"),
        ("https://data..example/", "is no host"),
        ("https://data_.-example/", "is no host"),
        ("https://[fe80::1%25lo]/", "is no host"),
        ("https://[127.0.0.1]/", "is no host"),
        ("https://::1/", "is no host"),
        ("https://data example/", "is no host"),
        (f"https://{'a' * 64}.example/", "is no host"),
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


def test_reads_a_hash() -> None:
    assert parse_hash("") == ""
    assert parse_hash("0a" * 32) == "0a" * 32
    for text in ("0A" * 32, "0a" * 31, "0a" * 32 + "\n", "sha256:" + "0a" * 32):
        with pytest.raises(Invalid, match="64 hexadecimal digits"):
            parse_hash(text)
