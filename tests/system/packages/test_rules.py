"""Whom uv may reach: hosts, ports and addresses."""

from __future__ import annotations

import pytest
from hearth_downloads.core.addresses import is_forbidden, parse_address
from hearth_downloads.core.faults import Failed
from hearth_downloads.packages.rules import Rules, read_rules

HTTPS = read_rules("https://index.example/simple", ("files.example",))
HTTP = read_rules("http://127.0.0.1:3141/simple", ("files.example",))


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "127.8.8.8",
        "169.254.169.254",
        "0.0.0.0",
        "0.1.2.3",
        "224.0.0.1",
        "255.255.255.255",
        "240.0.0.1",
        "::",
        "::1",
        "fe80::1",
        "fe80::1%lo",
        "ff02::1",
        "::ffff:127.0.0.1",
        "::ffff:169.254.169.254",
        "::ffff:0:127.0.0.1",
        "::127.0.0.1",
        "2002:7f00:1::",
        "2002:a9fe:a9fe::1",
        "64:ff9b::127.0.0.1",
        "64:ff9b::a9fe:a9fe",
        "64:ff9b:1::1",
        "2001:0:4136:e378:8000:63bf:3fff:fdd2",
        "2a00::5efe:7f00:1",
        "2a00::200:5efe:a9fe:a9fe",
    ],
)
def test_no_name_leads_there(address: str) -> None:
    found = parse_address(address)
    assert found is not None
    assert is_forbidden(found)
    assert not HTTPS.permits_address("index.example", address)


@pytest.mark.parametrize(
    "address",
    [
        "151.101.0.223",
        "10.0.0.5",
        "192.168.1.1",
        "2a04:4e42::223",
        "fd00::1",
        "2002:9765:df::1",
        "64:ff9b::9765:df",
        "::ffff:151.101.0.223",
    ],
)
def test_a_name_may_lead_there(address: str) -> None:
    assert HTTPS.permits_address("index.example", address)


def test_a_literal_is_the_indexs_or_refused() -> None:
    assert HTTP.permits_address("127.0.0.1", "127.0.0.1")
    assert not HTTP.permits_address("127.0.0.1", "127.0.0.2")
    assert not HTTPS.permits_address("151.101.0.223", "151.101.0.223")
    listed = read_rules("https://index.example/", ("10.0.0.1", "127.0.0.1"))
    for address in listed.hosts:
        assert not listed.permits_address(address, address)
    six = read_rules("http://[::1]:80/", ())
    assert six.permits_address("::1", "::1")


@pytest.mark.parametrize(
    ("rules", "scheme", "host", "port", "expected"),
    [
        (HTTPS, "https", "index.example", 443, True),
        (HTTPS, "https", "files.example", 443, True),
        (HTTPS, "https", "index.example", 444, False),
        (HTTPS, "https", "files.example", 22, False),
        (HTTPS, "https", "other.example", 443, False),
        (HTTPS, "https", "files.example.", 443, False),
        (HTTPS, "https", "x.files.example", 443, False),
        (HTTPS, "http", "index.example", 80, False),
        (HTTPS, "http", "files.example", 80, False),
        (HTTP, "http", "127.0.0.1", 3141, True),
        (HTTP, "https", "127.0.0.1", 3141, False),
        (HTTP, "http", "127.0.0.1", 80, False),
        (HTTP, "http", "files.example", 80, True),
        (HTTP, "https", "files.example", 443, True),
        (HTTP, "http", "files.example", 3141, False),
    ],
)
def test_permits_the_index_and_hosts(
    rules: Rules, scheme: str, host: str, port: int, expected: bool
) -> None:
    assert rules.permits(scheme, host, port) is expected


def test_reads_names_as_requests_have_them() -> None:
    rules = read_rules(
        "https://user:secret@Bücher.Example/", ("FILES.Example",)
    )
    assert rules.host == "xn--bcher-kva.example"
    assert rules.hosts == ("files.example",)
    assert "secret" not in rules.describe()


@pytest.mark.parametrize(
    "url", ["", "ftp://x/", "file:///etc", "https://", "http://x:99999/", "x"]
)
def test_refuses_what_is_no_index(url: str) -> None:
    with pytest.raises(Failed, match="no URL"):
        read_rules(url, ())
