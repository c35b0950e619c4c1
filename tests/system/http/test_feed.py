"""The feed: one WebSocket over which a page gets what changes."""

from __future__ import annotations

import contextlib
import json
import re
import ssl
import struct
from collections.abc import Iterator
from typing import Any, Callable, Optional

import pytest
import websocket
from browser import EVIL
from deadline import DEADLINE, wait_for
from harness import Gateway
from web import Closed, Kernel, Refused, Web

PATH = "/hearth/feed"
PROTOCOL = "v1.feed.hearth"
Message = dict[str, Any]


class Feed:
    """A page."""

    def __init__(
        self,
        web: Web,
        *,
        token: Optional[str] = None,
        header: Optional[list[str]] = None,
        subprotocols: Optional[list[str]] = None,
        is_let_in: bool = True,
    ) -> None:
        url = web.url.replace("http", "ws", 1).rstrip("/") + PATH
        try:
            self.ws = websocket.create_connection(
                url,
                timeout=DEADLINE,
                header=header or [],
                subprotocols=subprotocols or [PROTOCOL],
                suppress_origin=True,
                skip_utf8_validation=True,  # slow; receive() decodes
                sslopt={"cert_reqs": ssl.CERT_NONE},
            )
        except websocket.WebSocketBadStatusException as refused:
            web.check("GET", PATH, None, Refused(refused))
            raise
        if is_let_in:
            self.send(token=token or web.token)
            self.scopes = self.receive()["scopes"]

    def __enter__(self) -> Feed:
        return self

    def __exit__(self, *_: object) -> None:
        self.ws.close()

    def send(self, **message: Any) -> None:
        self.ws.send(json.dumps(message))

    def receive(self) -> Message:
        opcode, data = self.ws.recv_data()
        if opcode == websocket.ABNF.OPCODE_CLOSE:
            raise Closed(struct.unpack(">H", data[:2])[0], data[2:].decode())
        assert opcode == websocket.ABNF.OPCODE_TEXT
        message: Message = json.loads(data.decode())
        return message

    def until(self, wanted: Callable[[Message], Any]) -> list[Message]:
        found = [self.receive()]
        while not wanted(found[-1]):
            found.append(self.receive())
        return found

    def records(self, wanted: Callable[[Message], Any]) -> list[Message]:
        """The records of a session up to one of them."""
        found: list[Message] = []
        while not any(wanted(record) for record in found):
            found += self.receive().get("records", [])
        return found

    def rows(self, wanted: Callable[[dict[str, Message]], Any]) -> list[str]:
        """Read the list until it is as wanted; return a page's ids."""
        rows: dict[str, Message] = {}
        while not wanted(rows):
            message = self.receive()
            if message["snapshot"]:
                rows.clear()
            rows.update({row["id"]: row for row in message["sessions"]})
            for gone in message["ended"]:
                rows.pop(gone, None)
        return list(rows)

    def fate(self) -> Closed:
        """How the gateway closes it, after what it still sends."""
        try:
            while True:
                self.receive()
        except Closed as closed:
            return closed


def journal(web: Web, session: str) -> list[Message]:
    answer = web.get(f"/hearth/sessions/{session}/events")
    return [json.loads(line) for line in answer.body.splitlines()]


def is_reply(record: Message) -> bool:
    return bool(record["msg_type"] == "execute_reply")


# ---- what a page gets ----


def test_a_session_is_shown_from_its_beginning_and_then_live(
    web: Web, kernel: Kernel
) -> None:
    socket = kernel.socket().ready()
    socket.run("print('before')")
    with Feed(web) as feed:
        feed.send(open=f"session/{kernel.id}")
        first = feed.receive()
        assert first["topic"] == f"session/{kernel.id}"
        assert first["session"]["id"] == kernel.id
        assert first["cursor"] == 0
        seen = feed.records(is_reply)
        socket.run("print('after')")
        seen += feed.records(is_reply)
        asked = socket.execute("input('name? ')", allow_stdin=True)
        seen += feed.records(lambda r: r["msg_type"] == "input_request")
        socket.send("input_reply", {"value": "ada"}, "stdin")
        seen += feed.records(is_reply)
        socket.finish(asked)
    assert [r["seq"] for r in seen] == list(range(1, len(seen) + 1))
    assert seen == journal(web, kernel.id)[: len(seen)]
    texts = [r["content"].get("text") for r in seen]
    assert "before\n" in texts
    assert "after\n" in texts


def test_a_page_that_returns_gets_each_record_once(
    web: Web, kernel: Kernel
) -> None:
    socket = kernel.socket().ready()
    socket.run("print(1)")
    with Feed(web) as feed:
        feed.send(open=f"session/{kernel.id}")
        seen = feed.records(is_reply)
    socket.run("print(2)")
    with Feed(web) as feed:
        feed.send(open=f"session/{kernel.id}", since=seen[-1]["seq"])
        assert feed.receive()["cursor"] == seen[-1]["seq"]
        seen += feed.records(is_reply)
    assert seen == journal(web, kernel.id)[: len(seen)]
    with Feed(web) as feed:
        feed.send(open=f"session/{kernel.id}", tail=3)
        last = feed.records(is_reply)
    assert len(last) == 3
    assert last == journal(web, kernel.id)[-3:]


def test_a_session_that_ends_says_so_after_its_last_record(web: Web) -> None:
    made = web.create()
    with Feed(web) as feed:
        feed.send(open=f"session/{made}")
        feed.until(lambda m: "session" in m)
        web.delete(made)
        last = feed.until(lambda m: m.get("state") == "gone")[-1]
        assert last["detail"]
    with Feed(web) as feed:
        feed.send(open=f"session/{made}")
        whole = feed.until(lambda m: m.get("end"))
    assert whole[0]["session"]["reason"] == "deleted"
    seen = [record for m in whole for record in m.get("records", [])]
    assert seen == journal(web, made)


def test_the_list_is_a_snapshot_and_then_changes(
    web: Web, kernel: Kernel
) -> None:
    with Feed(web) as feed:
        feed.send(open="sessions")
        first = feed.receive()
        assert first["snapshot"] is True
        (row,) = (s for s in first["sessions"] if s["id"] == kernel.id)
        shown = web.get(f"/hearth/sessions/{kernel.id}").json
        assert set(row) == set(shown)
        made = web.create()
        change = feed.until(lambda m: made in [s["id"] for s in m["sessions"]])[
            -1
        ]
        assert change["snapshot"] is False
        web.delete(made)
        feed.until(lambda m: made in m["ended"])
        feed.send(close="sessions")
        feed.send(open="sessions")
        feed.rows(lambda rows: kernel.id in rows and made not in rows)


def test_several_topics_share_a_socket(web: Web, kernel: Kernel) -> None:
    other = Kernel(web, web.create())
    with Feed(web) as feed:
        for each in (kernel, other):
            each.socket().ready().run(f"print('{each.id}')")
            feed.send(open=f"session/{each.id}")
        seen: dict[str, list[Message]] = {}
        while sum(is_reply(r) for s in seen.values() for r in s) < 2:
            message = feed.receive()
            seen.setdefault(message["topic"], []).extend(
                message.get("records", [])
            )
    for each in (kernel, other):
        ours = seen[f"session/{each.id}"]
        assert ours == journal(web, each.id)[: len(ours)]
    other.close()


@pytest.fixture
def own() -> Iterator[Gateway]:
    gateway = Gateway()
    try:
        yield gateway.start()
    finally:
        gateway.end()


def test_it_goes_on_where_it_was_after_a_kill(own: Gateway) -> None:
    web = Web.of(own)
    session = own.create()
    with session.client() as agent:
        agent.run("print('before')")
    with Feed(web) as feed:
        feed.send(open=f"session/{session.id}")
        seen = feed.records(is_reply)
        own.kill()
        with contextlib.suppress(Closed, OSError, websocket.WebSocketException):
            feed.fate()
    own.start()
    web.renew()
    with session.client() as agent:
        agent.run("print('after')")
    with Feed(web) as feed:
        feed.send(open=f"session/{session.id}", since=seen[-1]["seq"])
        seen += feed.records(is_reply)
    assert seen == journal(web, session.id)[: len(seen)]
    assert sum(is_reply(r) for r in seen) == 2


def test_it_goes_on_where_it_was_within_a_cell(
    web: Web, kernel: Kernel
) -> None:
    socket = kernel.socket().ready()
    asked = socket.execute("print('begun')\ninput('go on? ')", allow_stdin=True)

    def is_begun(record: Message) -> bool:
        return bool(record["content"].get("text") == "begun\n")

    with Feed(web) as feed:
        feed.send(open=f"session/{kernel.id}")
        seen = feed.records(is_begun)
        if not any(r["msg_type"] == "input_request" for r in seen):
            seen += feed.records(lambda r: r["msg_type"] == "input_request")
    with Feed(web) as feed:
        feed.send(open=f"session/{kernel.id}", since=seen[-1]["seq"])
        assert feed.receive()["cursor"] == seen[-1]["seq"]
        socket.send("input_reply", {"value": "yes"}, "stdin")
        seen += feed.records(is_reply)
    socket.finish(asked)
    assert [r["seq"] for r in seen] == list(range(1, len(seen) + 1))


def test_a_gateway_that_stops_says_so(own: Gateway) -> None:
    with Feed(Web.of(own)) as feed:
        feed.send(open="sessions")
        feed.receive()
        own.terminate()
        assert feed.fate().code == 1012


# ---- who may ----


def test_the_token_comes_first(web: Web, kernel: Kernel) -> None:
    for first in ({"open": "sessions"}, {"credit": 1}, {"close": "sessions"}):
        with Feed(web, is_let_in=False) as feed:
            feed.send(**first)
            closed = feed.fate()
        assert closed.code == 1008
        assert "the first message" in closed.text
    for token in ("", "no-such-token", "window.1.1.00.00"):
        with Feed(web, is_let_in=False) as feed:
            feed.send(token=token)
            closed = feed.fate()
        assert (closed.code, closed.text) == (1008, "this token is not valid")
    # A header is not enough: a page's WebSocket cannot send one.
    with Feed(
        web, header=[f"Authorization: token {web.token}"], is_let_in=False
    ) as feed:
        feed.send(open="sessions")
        assert feed.fate().code == 1008


def test_a_token_needs_the_scope(web: Web) -> None:
    made = web.post("/hearth/tokens", {"name": "x", "scopes": ["files"]}).json
    with Feed(web, is_let_in=False) as feed:
        feed.send(token=made["token"])
        assert feed.fate().text == "this token lacks the scope observe"
    web.ask("DELETE", f"/hearth/tokens/{made['id']}")


def test_a_revoked_window_hears_no_more(web: Web) -> None:
    url = web.gateway.run("window", "--url").stdout
    code = re.findall("#code=([^&\\s]+)", url)[0]
    window = web.with_token(None).post("/hearth/window", {"code": code}).json
    with Feed(web, token=window["token"]) as feed:
        assert feed.scopes == ["observe"]
        feed.send(open="sessions")
        feed.receive()
        assert web.gateway.run("token", "revoke", "windows").returncode == 0
        closed = feed.fate()
    assert closed.code == 1008
    assert "was revoked" in closed.text


def test_no_page_of_another_origin_gets_in(web: Web) -> None:
    lines = [f"Origin: {EVIL['Origin']}"]
    with pytest.raises(websocket.WebSocketBadStatusException) as refused:
        Feed(web, header=lines)
    assert refused.value.status_code == 403
    with pytest.raises(websocket.WebSocketBadStatusException) as refused:
        Feed(web, subprotocols=["v2.feed.hearth"])
    assert refused.value.status_code == 400


def test_a_plain_request_is_refused(web: Web) -> None:
    assert web.get(PATH).status == 400


# ---- who is hostile ----


@pytest.mark.parametrize(
    ("sent", "code", "sentence"),
    [
        ("[]", 1007, "a JSON object"),
        ("{", 1007, "a JSON object"),
        ("{}", 1007, "one of token, open, close, credit"),
        ('{"open": "gateway"}', 1007, "a topic is"),
        ('{"open": "session/../x"}', 1007, "a topic is"),
        ('{"credit": -1}', 1007, "a number of bytes"),
        ('{"credit": 1e9}', 1007, "a number of bytes"),
        ('{"open": "sessions", "since": -1}', 1007, "numbers of records"),
        ('{"open": "' + "x" * 20000 + '"}', 1009, "16 KiB"),
    ],
)
def test_what_is_no_message_closes_the_socket(
    web: Web, sent: str, code: int, sentence: str
) -> None:
    with Feed(web) as feed:
        feed.ws.send(sent)
        closed = feed.fate()
    assert closed.code == code
    assert sentence in closed.text


def refusal(feed: Feed) -> tuple[int, str]:
    message = feed.until(lambda m: "error" in m)[-1]
    return message["status"], message["error"]


def test_what_is_not_there_is_said_and_the_others_go_on(
    web: Web, kernel: Kernel
) -> None:
    with Feed(web) as feed:
        feed.send(open="session/00000000-0000-0000-0000-000000000000")
        status, sentence = refusal(feed)
        assert status == 404
        assert sentence
        # The beginning of an id is not an id.
        feed.send(open=f"session/{kernel.id[:8]}")
        assert refusal(feed)[0] == 404
        feed.send(open=f"session/{kernel.id}", since=2**62)
        status, sentence = refusal(feed)
        assert status == 400
        assert "does not go as far" in sentence
        feed.send(open=f"session/{kernel.id}")
        feed.until(lambda m: "session" in m)
        feed.send(open=f"session/{kernel.id}")
        assert refusal(feed) == (400, "The topic is open already")


def test_topics_are_counted(web: Web) -> None:
    with Feed(web) as feed:
        feed.send(open="sessions")
        for i in range(40):
            feed.send(open=f"session/none-{i}")
        seen = [refusal(feed) for _ in range(40)]
        assert all(status in (400, 404) for status, _ in seen)
        # Those that were refused are not counted.
        feed.send(open="session/none")
        assert refusal(feed)[0] == 404


def test_without_credit_nothing_comes_and_no_cell_waits(
    web: Web, kernel: Kernel
) -> None:
    socket = kernel.socket().ready()
    with Feed(web) as feed:
        feed.send(open=f"session/{kernel.id}")
        feed.until(lambda m: "session" in m)
        socket.run("print('x' * 1_000_000)")
        feed.records(lambda r: r["msg_type"] == "stream")
        # That was more than its credit: what follows waits.
        socket.run("print('next')")
        feed.send(open=f"session/{kernel.id}")
        held = feed.until(lambda m: m.get("error"))
        assert held[-1]["error"] == "The topic is open already"
        assert not [r for m in held for r in m.get("records", [])]
        feed.send(credit=4 << 20)
        feed.records(lambda r: r["content"].get("text") == "next\n")


def memory(web: Web) -> int:
    pid = web.gateway.info()["pid"]
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return int(status.read().partition("VmRSS:")[2].split()[0])


def test_who_never_reads_harms_only_itself(web: Web, kernel: Kernel) -> None:
    socket = kernel.socket().ready()
    idle = [Feed(web) for _ in range(20)]
    for feed in idle:
        feed.send(credit=16 << 20)
        feed.send(open="sessions")
        feed.send(open=f"session/{kernel.id}")
    before = memory(web)
    for _ in range(10):
        socket.run("print('x' * 1_000_000)")
    assert socket.value("6 * 7") == "42"
    # For each of the twenty it would be 200 MB.
    assert memory(web) - before < 100 * 1024
    # It has all, later.
    seen = idle[0].records(
        lambda r: r["content"].get("data", {}).get("text/plain") == "42"
    )
    assert seen == journal(web, kernel.id)[: len(seen)]
    for feed in idle:
        feed.ws.close()


def send_for_ever(feed: Feed) -> None:
    while True:
        feed.send(open="sessions")


def add_strangers(web: Web, waiting: list[Feed]) -> None:
    while len(waiting) < 100:
        waiting.append(Feed(web, is_let_in=False))


def test_answers_that_are_not_read_have_a_bound(web: Web) -> None:
    """Its socket is closed: neither the gateway nor its memory fill."""
    with Feed(web) as feed:
        feed.send(open="sessions")
        feed.receive()
        with pytest.raises((OSError, websocket.WebSocketException)):
            send_for_ever(feed)
    assert web.get("/api/status").status == 200


def test_strangers_have_a_bound_and_a_time(web: Web) -> None:
    waiting: list[Feed] = []
    with pytest.raises(websocket.WebSocketBadStatusException) as refused:
        add_strangers(web, waiting)
    assert refused.value.status_code == 503
    closed = waiting[0].fate()
    assert closed.code == 1008
    assert "within 10 seconds" in closed.text
    for feed in waiting:
        feed.ws.close()

    def is_let_in() -> bool:
        try:
            with Feed(web) as feed:
                return bool(feed.scopes)
        except websocket.WebSocketBadStatusException:
            return False

    wait_for(is_let_in, "room for another page")
