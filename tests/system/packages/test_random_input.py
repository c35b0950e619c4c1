"""Changes whole inputs of the workers' parsers by chance, with known seeds.

What comes from outside is read as it is meant, or refused by the parser's own
error: it raises nothing else, and what it passes on can be read again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from hashlib import sha1
from random import Random
from struct import pack
from typing import Any

import pytest
from hearth_downloads.clone.index import rewrite_index
from hearth_downloads.clone.pointer import SIZE_MAX, parse_pointer
from hearth_downloads.clone.refs import parse_refs, parse_shallow
from hearth_downloads.core.faults import Failed, Invalid, Refused, Unreachable
from hearth_downloads.core.http_head import (
    HeadFault,
    parse_answer,
    parse_request,
)
from hearth_downloads.fetch.url import parse_url, show_url
from hearth_downloads.packages.requirement import parse as parse_requirement
from hearth_downloads.tools.events import (
    ID_MAX,
    RETRY_MAX,
    RETRY_MIN,
    Events,
)
from hearth_downloads.tools.messages import (
    error_of,
    parse_message,
    write_message,
)
from hearth_downloads.tools.parameters import find_parameters, list_headers

ROUNDS = 2000
COMMIT = "0123456789abcdef0123456789abcdef01234567"
TOKENS = (
    b"\r\n",
    b"\n",
    b"\r",
    b"\0",
    b"\x1b",
    b"\xff",
    b"\xed\xa0\xbd",  # half a surrogate pair
    b"\\ud83d",
    b"..",
    b"/",
    b"@",
    b"%0d%0a",
    b"[" * 200,
    b"1" * 5000,
    b"NaN",
    b"Content-Length: 7\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"http://",
    b"^",
    b" ",
)


def change(
    random: Random, sample: bytes, tokens: Sequence[bytes] = TOKENS
) -> bytes:
    """Return the sample with one to four changes."""
    made = bytearray(sample)
    for _ in range(random.randint(1, 4)):
        at = random.randint(0, len(made))
        end = min(len(made), at + random.randint(1, 9))
        part = bytes(made[at:end])
        made[at:end] = random.choice(
            (
                b"",
                part + part,
                random.randbytes(len(part)),
                random.choice(tokens),
                random.choice(tokens) + part,
                bytes(byte ^ (1 << random.randint(0, 7)) for byte in part),
            )
        )
    return bytes(made)


def entry(name: bytes, mode: int = 0o100644) -> bytes:
    """Return an entry of git's index."""
    whole = pack(">10I", 0, 0, 0, 0, 0, 0, mode, 0, 0, 0)
    whole += bytes.fromhex(COMMIT) + pack(">H", len(name)) + name
    return whole + bytes(8 - len(whole) % 8)


def index_of(*entries: bytes) -> bytes:
    body = b"DIRC" + pack(">II", 2, len(entries)) + b"".join(entries)
    return body + sha1(body).digest()


def read_message(data: bytes) -> None:
    message = parse_message(data)
    code, text = error_of(message)
    assert isinstance(code, int)
    assert isinstance(text, str)
    line = write_message(message)
    assert b"\n" not in line
    # By another parser: a refusal of this one would count as the sample's.
    again = json.loads(line.decode(), parse_constant=pytest.fail)
    assert again["jsonrpc"] == "2.0"


def read_events(data: bytes) -> None:
    """A stream that ends, and goes on with the same bytes."""
    events = Events()
    for _ in range(2):
        for event in events.feed(data):
            read_message(event)
        assert len(events.last_id) <= ID_MAX
        assert events.last_id.isascii()
        assert not events.last_id or events.last_id.isprintable()
        assert RETRY_MIN <= events.retry <= RETRY_MAX
        events = events.continued()


def read_request(data: bytes) -> None:
    request = parse_request(data, takes_posts=True)
    assert 0 < request.port < 65536
    if request.method == "CONNECT":
        return
    head = request.encode()
    whole, _, rest = head.partition(b"\r\n\r\n")
    assert rest == b""  # no second request
    names = [
        line.partition(b":")[0].lower() for line in whole.split(b"\r\n")[1:]
    ]
    for name in (b"host", b"connection"):
        assert names.count(name) == 1
    assert b"transfer-encoding" not in names
    assert names.count(b"content-length") == (request.method == "POST")


def read_answer(data: bytes) -> None:
    status, head = parse_answer(data)
    assert 100 <= status < 600
    assert head.endswith(b"\r\n\r\n")
    assert head.count(b"\r\n\r\n") == 1
    assert parse_answer(head[:-4])[0] == status


def read_tool(data: bytes) -> None:
    tool = parse_message(data)
    paths = find_parameters(tool)
    arguments = {"city": "Zürich\r\nX: 1", "deep": {"n": 7}}
    for name, value in list_headers(paths, arguments).items():
        assert all(" " < letter <= "~" for letter in name)
        assert all(" " <= letter <= "~" or letter == "\t" for letter in value)


def read_pointer(data: bytes) -> None:
    found = parse_pointer(data)
    if found:
        assert len(found.oid) == 64
        assert 0 < found.size <= SIZE_MAX
        assert found.oid.encode() in data


def read_index(data: bytes) -> None:
    made, submodules = rewrite_index(data, 40, {})
    assert rewrite_index(made, 40, {}) == (made, submodules)


def read_refs(data: bytes) -> None:
    refs = parse_refs(data, 40)
    assert parse_refs(refs.write(), 40) == refs


def read_shallow(data: bytes) -> None:
    made = parse_shallow(data, 40)
    assert parse_shallow(made, 40) == made


def read_url(data: bytes) -> None:
    text = data.decode("utf-8", "surrogateescape")
    shown = show_url(text)
    assert len(shown) <= 201
    url = parse_url(text)
    assert parse_url(url.text) == url
    assert url.text.isascii()
    assert url.text.isprintable()


def read_requirement(data: bytes) -> None:
    text = data.decode("utf-8", "surrogateescape")
    requirement = parse_requirement(text)
    assert parse_requirement(requirement.text) == requirement
    assert requirement.text.isascii()
    assert requirement.text.isprintable()
    assert not requirement.text.startswith("-")


TOOL = {
    "jsonrpc": "2.0",
    "name": "weather",
    "inputSchema": {
        "type": "object",
        "properties": {
            "city": {"type": "string", "x-mcp-header": "City"},
            "deep": {
                "type": "object",
                "properties": {"n": {"type": "integer", "x-mcp-header": "N"}},
            },
        },
    },
}
POST = (
    b"POST http://git.example:80/a?b HTTP/1.1\r\nHost: git.example\r\n"
    b"Accept: */*\r\nContent-Length: 12"
)
POINTER = (
    b"version https://git-lfs.github.com/spec/v1\n"
    b"oid sha256:" + b"5a" * 32 + b"\nsize 12345\n"
)
REFS = (
    f"# pack-refs with: peeled\n{COMMIT} refs/remotes/origin/main\n"
    f"{COMMIT} refs/tags/v1\n^{COMMIT}\n"
).encode()
ERROR = {"jsonrpc": "2.0", "id": 7, "error": {"code": -1, "message": "no ü"}}
RESULT = {
    "jsonrpc": "2.0",
    "id": 7,
    "result": {
        "content": [{"type": "text", "text": "a\n\u00fc\U0001f600"}],
        "structuredContent": {"n": [1, -2.5e3, None, True, {"": []}]},
    },
}
STREAM = (
    b"id: 7\nretry: 300\ndata: " + json.dumps(ERROR).encode() + b"\n\n"
    b": keep\r\n\r\nevent: message\nid: 8\n"
    b"data: " + json.dumps(RESULT).encode() + b"\n\n"
)

Reader = Callable[[bytes], None]
READERS: list[tuple[Reader, bytes, tuple[type[Exception], ...]]] = [
    (read_message, json.dumps(ERROR).encode(), (Unreachable,)),
    (read_message, json.dumps(RESULT).encode(), (Unreachable,)),
    (read_events, STREAM, (Unreachable,)),
    (read_request, POST, (HeadFault,)),
    (read_request, b"GET http://[::1]:8/?q HTTP/1.0\r\nA: b", (HeadFault,)),
    (read_answer, b"HTTP/1.1 200 OK\r\nETag: x\r\nTE: y", (HeadFault,)),
    (read_tool, json.dumps(TOOL).encode(), (Unreachable, ValueError)),
    (read_pointer, POINTER, ()),
    (
        read_index,
        index_of(entry(b"a"), entry(b"b/c", 0o120000), entry(b"d", 0o160000)),
        (Failed, Refused),
    ),
    (read_refs, REFS, (Failed,)),
    (read_shallow, f"{COMMIT}\n{COMMIT}\n".encode(), (Failed,)),
    (read_url, b"https://user:k@data.example:444/a%20b/c.csv?q=1", (Invalid,)),
    (read_url, "http://bücher.example/ä".encode(), (Invalid,)),
    (read_requirement, b"Pandas[all, x]>=1.2,<3, !=2.*", (Invalid,)),
]


@pytest.mark.parametrize(
    ("read", "sample", "faults"),
    READERS,
    ids=[f"{at}-{read.__name__}" for at, (read, *_) in enumerate(READERS)],
)
def test_a_changed_input_is_read_or_refused(
    read: Reader, sample: bytes, faults: tuple[type[Exception], ...]
) -> None:
    counts = [0, 0]
    for seed in range(ROUNDS):
        data = change(Random(seed), sample)
        try:
            read(data)
            counts[0] += 1
        except faults:
            counts[1] += 1
        except Exception as error:
            raise AssertionError(f"seed {seed}: {data!r}") from error
    assert counts[0] > 10  # both happen
    assert counts[1] > 10 or not faults


def events_of(pieces: list[bytes]) -> tuple[Any, ...]:
    """Return what a stream gives, and its end."""
    events = Events()
    found: list[Any] = []
    try:
        for piece in pieces:
            found += events.feed(piece)
    except Unreachable:
        return (*found, "refused")
    return (*found, events.last_id, events.retry)


def test_an_event_ends_with_its_carriage_return() -> None:
    """Nothing has to follow; a line feed that does is no empty line."""
    events = Events()
    assert list(events.feed(b"data: a\r\r")) == [b"a"]
    assert list(events.feed(b"\ndata: b\r")) == []
    assert list(events.feed(b"\n\r")) == [b"b"]


def test_events_are_the_same_in_all_pieces() -> None:
    sample = (
        b"\xef\xbb\xbfid: 7\r\nevent: message\r\ndata: {}\r\n\r\n: keep\r\n\r\n"
        b"retry: 300\ndata: a\ndata: b\n\nid: 8\ndata:c\r\rdata: left"
    )
    assert events_of([sample + b"\n\n"])[:3] == (b"{}", b"a\nb", b"c")
    for seed in range(ROUNDS):
        random = Random(seed)
        data = change(random, sample)
        cuts = sorted(
            random.randint(0, len(data)) for _ in range(random.randint(1, 6))
        )
        pieces = [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)])]
        assert events_of(pieces) == events_of([data]), (seed, pieces)
