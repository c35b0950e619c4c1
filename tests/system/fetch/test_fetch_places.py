"""Places: which hosts and ports the lists permit, and which addresses."""

from __future__ import annotations

from typing import Any

import pytest
from hearth_downloads.core.faults import Failed, Refused
from hearth_downloads.fetch.job import Job
from hearth_downloads.fetch.places import Places, check_url, read_places
from hearth_downloads.fetch.url import parse_url


def make_job(lists: dict[str, Any]) -> Job:
    known: dict[str, Any] = {name: tuple(one) for name, one in lists.items()}
    return Job(profile="python3", **known)


def read(url: str = "http://x.example/", **lists: Any) -> Places:
    job = make_job(lists)
    return read_places(job, parse_url(url))


@pytest.mark.parametrize(
    ("entry", "yes", "no"),
    [
        (
            "data.example",
            ["https data.example 443", "https DATA.example. 443"],
            [
                "http data.example 443",
                "http data.example 80",
                "https data.example 444",
                "https x.data.example 443",
                "https xdata.example 443",
                "https data.example.. 443",
            ],
        ),
        (
            "*.data.example",
            ["https a.data.example 443", "https a.b.data.example 443"],
            [
                "https data.example 443",
                "https .data.example 443",
                "https xdata.example 443",
                "http a.data.example 80",
            ],
        ),
        (
            "*",
            ["https data.example 443", "https localhost 443"],
            [
                "http data.example 80",
                "https data.example 8443",
                "https 127.0.0.1 443",
                "https 8.8.8.8 443",
                "https ::1 443",
                "https 127.1 443",
                "https 2130706433 443",
                "https 0x7f000001 443",
                "https 1.0x7f 443",
            ],
        ),
        (
            "data.example:80",
            ["http data.example 80", "https data.example 80"],
            ["https data.example 443", "http data.example 81"],
        ),
        ("*.data.example:8443", ["https a.data.example 8443"], []),
        ("*:8443", ["https data.example 8443"], ["https 1.2.3.4 8443"]),
        ("BÜCHER.example.", ["https xn--bcher-kva.example 443"], []),
        (
            "127.0.0.1",
            ["https 127.0.0.1 443"],
            ["https 127.0.0.1 8443", "http 127.0.0.1 80", "https 127.1 443"],
        ),
        ("127.0.0.1:8080", ["http 127.0.0.1 8080"], ["http 127.0.0.2 8080"]),
        ("[0:0::1]:8080", ["http ::1 8080", "http 0::1 8080"], []),
    ],
)
def test_permits(entry: str, yes: list[str], no: list[str]) -> None:
    places = read(allow=[entry])
    for asked, expected in [(yes, True), (no, False)]:
        for text in asked:
            scheme, host, port = text.split()
            assert places.permits(scheme, host, int(port)) == expected, text


@pytest.mark.parametrize(
    ("entry", "denied"),
    [
        ("data.example", True),
        ("data.example:443", True),
        ("data.example:80", False),
        ("*.example", True),
        ("*", True),
        ("*.data.example", False),
        ("other.example", False),
    ],
)
def test_a_denial_wins(entry: str, denied: bool) -> None:
    places = read(allow=["data.example", "data.example:8443"], deny=[entry])
    assert places.permits("https", "data.example", 443) != denied
    both = denied and ":" not in entry
    assert places.permits("https", "data.example", 8443) != both


def test_nothing_is_permitted_without_a_list() -> None:
    assert not read().permits("https", "data.example", 443)


def test_https_does_not_lead_to_http() -> None:
    lists: dict[str, Any] = {"allow": ["data.example:80"]}
    assert read("http://a.example", **lists).permits("http", "data.example", 80)
    places = read("https://a.example", **lists)
    assert not places.permits("http", "data.example", 80)
    assert places.permits("https", "data.example", 80)


@pytest.mark.parametrize(
    "entry",
    [
        "",
        "https://data.example",
        "data.example/",
        "*.*",
        "a*b",
        "*.127.0.0.1",
        "127.1",
        "::1",
        "[127.0.0.1]",
        "data.example:0",
        "data.example:",
        "*:",
        "*.",
        "*x",
        "a b",
    ],
)
@pytest.mark.parametrize("name", ["allow", "deny"])
def test_refuses_an_entry_that_is_no_place(name: str, entry: str) -> None:
    make = {"allow": [], "deny": [], name: [entry]}
    with pytest.raises(Failed, match=f"profile/python3/fetch/{name} has"):
        read(allow=make["allow"], deny=make["deny"])


FORBIDDEN = [
    "127.0.0.1",
    "0.0.0.0",
    "169.254.169.254",
    "100.100.100.200",
    "192.0.0.192",
    "168.63.129.16",
    "224.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "fe80::1",
    "ff02::1",
    "fd00:ec2::254",
    "fd20:ce::254",
    "::ffff:127.0.0.1",
    "::ffff:169.254.169.254",
    "2002:7f00:1::",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b::100.100.100.200",
    "64:ff9b:1::1",
    "2a00::5efe:7f00:1",
]
PRIVATE = [
    "10.0.0.5",
    "172.16.0.1",
    "192.168.1.1",
    "100.64.0.1",
    "198.18.0.1",
    "192.0.2.1",
    "fd12::1",
    "fec0::1",
    "::ffff:10.0.0.5",
    "64:ff9b::10.0.0.5",
    "2002:a00:5::",
    "2001:db8::1",
]
EVERYWHERE = ["0.0.0.0/0", "::/0"]


@pytest.mark.parametrize("address", FORBIDDEN)
def test_no_name_leads_there(address: str) -> None:
    places = read(allow=["data.example"], private=EVERYWHERE)
    assert not places.permits_address("data.example", address)


@pytest.mark.parametrize("address", PRIVATE)
def test_a_name_leads_to_private_networks_that_are_listed(address: str) -> None:
    assert not read().permits_address("data.example", address)
    assert not read(private=["203.0.113.0/24"]).permits_address("a.b", address)
    assert read(private=EVERYWHERE).permits_address("data.example", address)


@pytest.mark.parametrize(
    "address", ["8.8.8.8", "2606:4700::1111", "64:ff9b::8.8.8.8"]
)
def test_a_name_leads_to_public_addresses(address: str) -> None:
    assert read().permits_address("data.example", address)
    assert not read(deny=[f"[{address}]:1" if ":" in address else address]
                    ).permits_address("data.example", address)  # fmt: skip


def test_a_denied_address_holds_for_what_embeds_it() -> None:
    places = read(deny=["8.8.8.8"])
    assert not places.permits_address("data.example", "64:ff9b::8.8.8.8")
    assert not places.permits_address("data.example", "no address")


@pytest.mark.parametrize("address", [*FORBIDDEN, *PRIVATE, "8.8.8.8"])
def test_a_literal_leads_to_itself(address: str) -> None:
    """`permits` has judged before whether it is listed."""
    assert read().permits_address(address, address)
    assert not read().permits_address(address, "8.8.4.4")
    assert not read().permits_address("8.8.4.4", address)


def test_a_network_may_be_named_by_one_of_its_addresses() -> None:
    places = read(private=["10.0.0.5/8"])
    assert places.permits_address("data.example", "10.1.2.3")


def test_refuses_what_is_no_network() -> None:
    with pytest.raises(Failed, match=r"fetch/private has 'x'.*10\.0\.0\.0/8"):
        read(private=["x"])


def say(url: str, **lists: Any) -> str:
    job = make_job(lists)
    with pytest.raises(Refused) as refused:
        check_url(job, read_places(job, parse_url(url)), parse_url(url))
    return refused.value.text


def test_says_what_would_be_right() -> None:
    assert say("https://example.org/a", allow=["a.b", "*.zenodo.org"]) == (
        "example.org is not permitted here: profile/python3/fetch/allow "
        "permits a.b, *.zenodo.org"
    )
    assert say("https://a.b/", allow=["*"], deny=["*.b"]) == (
        "a.b is not permitted here: profile/python3/fetch/deny names *.b"
    )
    assert "permits nothing" in say("https://a.b/")
    assert say("https://a.b/", allow=["p"] * 8).endswith("p, p")
    assert say("https://a.b/", allow=["p"] * 10).endswith("p, p and 2 more")
    assert say("http://a.b/", allow=["a.b"]) == (
        "http://a.b is not permitted here: profile/python3/fetch/allow "
        "permits a.b; a place without a port is https at port 443, and HOST:80 "
        "in profile/python3/fetch/allow would permit this one"
    )
    assert say("https://a.b:8443/", allow=["c.d"]).startswith("a.b:8443 is not")


def test_the_session_has_lists_of_its_own() -> None:
    lists: dict[str, Any] = {"allow": ["*.b", "c.d:80"], "deny": ["x.b"]}
    places = read(**lists, own_allow=["a.b", "e.f", "c.d:80"])
    assert places.permits("https", "a.b", 443)
    assert places.permits("http", "c.d", 80)
    for host in ("e.f", "y.b", "x.b"):
        assert not places.permits("https", host, 443), host
    places = read(**lists, own_deny=["a.b", "10.1.2.3"], private=["10.0.0.0/8"])
    assert not places.permits("https", "a.b", 443)
    assert places.permits("https", "y.b", 443)
    assert places.permits_address("y.b", "10.1.2.4")
    assert not places.permits_address("y.b", "10.1.2.3")


def test_says_whose_list_it_is() -> None:
    own = "is not permitted here: this session was created with fetch/"
    both = {"allow": ["*.b"], "own_allow": ["a.b", "c.d"], "own_deny": ["z.b"]}
    assert say("https://y.b/", **both) == f"y.b {own}allow = a.b, c.d"
    assert say("https://z.b/", **both) == f"z.b {own}deny = z.b"
    assert "profile/python3/fetch/allow permits" in say("https://c.d/", **both)
    denied = say("https://z.b/", allow=["*"], deny=["z.b"], own_deny=["z.b"])
    assert "profile/python3/fetch/deny names z.b" in denied
    plain = say("http://a.b/", **both)
    assert "profile/python3/fetch/allow permits *.b" in plain


def test_other_lists_of_sessions_have_other_files() -> None:
    usual = make_job({"allow": ["*"]})
    others = [
        make_job({"allow": ["*"], "own_allow": ["a.b"]}),
        make_job({"allow": ["*"], "own_deny": ["a.b"]}),
        make_job({"allow": ["*"], "deny": ["a.b"]}),
    ]
    assert len({job.lists for job in (usual, *others)}) == 4
