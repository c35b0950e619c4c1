"""Resources of the Model Context Protocol: notebooks and files, and what their
clients are notified of."""

from __future__ import annotations

import base64
import json
from typing import Iterator

import pytest
from harness import Gateway
from rpc import LEGACY, META, Json, Rpc, session_of, text_of
from rpc_streams import (
    SUBSCRIPTION,
    Old,
    Stream,
    connected,
    listening,
    updated,
)
from web import Web

TASKS: Json = {"extensions": {"io.modelcontextprotocol/tasks": {}}}


@pytest.fixture
def rpc(web: Web) -> Rpc:
    return Rpc(web)


@pytest.fixture
def session(rpc: Rpc) -> Iterator[str]:
    """The whole id of a session."""
    made = session_of(rpc.call("execute", code="kept = 41"))
    yield next(
        one["id"]
        for one in rpc.web.get("/api/kernels").json
        if one["id"].startswith(made)
    )
    rpc.call("session", action="end", session=made)


def read(rpc: Rpc, uri: str) -> Json:
    result = rpc.result("resources/read", {"uri": uri})
    (content,) = result["contents"]
    assert content["uri"] == uri
    assert (result["ttlMs"], result["cacheScope"]) == (0, "private")
    found: Json = content
    return found


# ---- reading ----


def test_a_notebook_is_a_resource(rpc: Rpc, session: str) -> None:
    rpc.call("execute", code="print('in it')", session=session)
    listed = rpc.result("resources/list")["resources"]
    uri = f"hearth://sessions/{session}/notebook.ipynb"
    assert uri in [one["uri"] for one in listed]
    content = read(rpc, uri)
    assert content["mimeType"] == "application/x-ipynb+json"
    notebook = json.loads(content["text"])
    assert notebook["nbformat"] == 4
    assert "in it" in json.dumps(notebook["cells"][-1]["outputs"])


def test_files_are_resources(rpc: Rpc, session: str) -> None:
    code = (
        "import os, pathlib\n"
        "os.makedirs('a b'); pathlib.Path('a b/ä.txt').write_text('zwölf')\n"
        "pathlib.Path('x.bin').write_bytes(bytes(range(256)))\n"
        "pathlib.Path('zero.txt').write_bytes(b'a\\0b')\n"
        "pathlib.Path('empty').touch()\n"
        "with open('big', 'wb') as file: file.truncate((8 << 20) + 1)"
    )
    assert not rpc.call("execute", code=code, session=session)["isError"]
    files = f"hearth://sessions/{session}/files"
    content = read(rpc, f"{files}/a%20b/%C3%A4.txt")
    assert content["text"] == "zwölf"
    assert content["mimeType"].startswith("text/plain")
    content = read(rpc, f"{files}/x.bin")
    assert base64.b64decode(content["blob"]) == bytes(range(256))
    assert base64.b64decode(read(rpc, f"{files}/zero.txt")["blob"]) == b"a\0b"
    assert read(rpc, f"{files}/empty")["text"] == ""
    answer = rpc.ask("resources/read", {"uri": f"{files}/big"})
    assert answer.status == 413, answer
    assert "8388609 bytes" in answer.json["error"]["message"]
    assert "tool files" in answer.json["error"]["message"]


def test_files_that_are_no_resources(
    rpc: Rpc, session: str, gateway: Gateway
) -> None:
    rpc.call(
        "execute",
        code="import os; os.symlink('/etc/passwd', 'out'); os.mkdir('in')",
        session=session,
    )
    files = f"hearth://sessions/{session}/files"
    for path in (
        "none",
        "../journal",
        "..%2f..%2fetc%2fpasswd",
        "%2fetc%2fpasswd",
        "out",
        "in",
        ".",
        "a%00b",
        "a%ff",
        "%",
        "%1b%5d8;;http:%2f%2fevil%07",
    ):
        answer = rpc.ask("resources/read", {"uri": f"{files}/{path}"})
        assert answer.status == 400, (path, answer)
        assert answer.json["error"]["code"] == -32602
        assert "\x1b" not in answer.json["error"]["message"]
        assert "root:" not in answer.body.decode()
    for scope, path, status in (
        ("observe", "files/none", 403),
        ("observe", "notebook.ipynb", 200),
        ("files", "files/none", 400),
        ("files", "notebook.ipynb", 403),
    ):
        made = gateway.json("token", "create", "--json", "--scope", scope, "t")
        other = Rpc(rpc.web.with_token(made["token"]))
        uri = f"hearth://sessions/{session}/{path}"
        assert other.ask("resources/read", {"uri": uri}).status == status
        gateway.run("token", "revoke", made["id"])


# ---- notifications ----


@pytest.mark.deep  # the silence is of 15 s
def test_a_silent_stream_is_kept_alive(rpc: Rpc) -> None:
    """Proxies close what is silent: a comment comes, which is no message."""
    with listening(rpc, {"resourcesListChanged": True}) as (stream, _):
        lines = [stream.response.readline() for _ in range(5)]
    assert lines == [b"\n", b":\n", b"\n", b":\n", b"\n"]


def test_each_finished_cell_is_notified(rpc: Rpc, session: str) -> None:
    uri = f"hearth://sessions/{session}/notebook.ipynb"
    with listening(rpc, {"resourceSubscriptions": [uri]}) as (stream, taken):
        assert taken == {"resourceSubscriptions": [uri]}
        for value in ("first", "second"):
            rpc.call("execute", code=f"print('{value}')", session=session)
            assert updated(stream) == uri
            assert value in read(rpc, uri)["text"]
        rpc.call("execute", code="1 / 0", session=session)
        assert updated(stream) == uri


def test_a_session_and_the_list_are_notified(rpc: Rpc, web: Web) -> None:
    wanted: Json = {"resourcesListChanged": True, "toolsListChanged": True}
    with listening(rpc, wanted) as (stream, taken):
        assert taken == {"resourcesListChanged": True}
        made = session_of(rpc.call("execute", code="1"))
        changed = "notifications/resources/list_changed"
        assert stream.next()["method"] == changed
        whole = next(
            one["id"]
            for one in web.get("/api/kernels").json
            if one["id"].startswith(made)
        )
        uri = f"hearth://sessions/{whole}"
        with listening(rpc, {"resourceSubscriptions": [uri]}) as (other, _):
            rpc.call("session", action="end", session=made)
            assert updated(other) == uri
        while stream.next()["method"] != changed:
            pass


def test_a_bound_endpoint_hears_of_its_session_alone(
    rpc: Rpc, web: Web
) -> None:
    """Its list has one session: others come and go without a word. In both
    eras, also by a shortened id."""
    made = session_of(rpc.call("execute", code="1"))
    whole = web.gateway.json("session", "show", "--json", made)["id"]
    uri = f"hearth://sessions/{whole}/notebook.ipynb"
    path = f"/mcp/sessions/{made}"
    changed = "notifications/resources/list_changed"
    wanted: Json = {"resourcesListChanged": True}
    old = Old(web)
    with (
        connected(old) as link,
        listening(
            Rpc(web, path), {**wanted, "resourceSubscriptions": [uri]}
        ) as (stream, _),
    ):
        sent = {**old.headers("", {}), "Accept": "text/event-stream"}
        link.request("GET", path, headers=sent)
        older = Stream(link)
        assert old.result("resources/subscribe", {"uri": uri}) == {}
        with listening(rpc, wanted) as (every, _):
            other = session_of(rpc.call("execute", code="1"))
            assert every.next()["method"] == changed
            rpc.call("session", action="end", session=other)
            assert every.next()["method"] == changed
        rpc.call("execute", code="2", session=made)
        for bound in (stream, older):
            first = bound.next()
            assert first["method"] == "notifications/resources/updated"
        rpc.call("session", action="end", session=made)
        for bound in (stream, older):
            while bound.next()["method"] != changed:
                pass


def test_what_never_changes_is_not_acknowledged(rpc: Rpc, session: str) -> None:
    good = f"hearth://sessions/{session}"
    wrong: list[object] = [
        f"hearth://sessions/{session}/outputs/1.1",
        f"hearth://sessions/{session}/files/../a",
        "hearth://sessions/00000000-0000-0000-0000-000000000000",
        "file:///etc/passwd",
        7,
        None,
    ]
    wanted: Json = {"resourceSubscriptions": [*wrong, good]}
    with listening(rpc, wanted) as (_, taken):
        assert taken == {"resourceSubscriptions": [good]}
    other = session_of(rpc.call("execute", code="1"))
    bound = Rpc(rpc.web, f"/mcp/sessions/{other}")
    with listening(bound, wanted) as (_, taken):
        assert taken == {"resourceSubscriptions": []}
    rpc.call("session", action="end", session=other)


def test_an_endpoint_of_a_session_by_its_name(
    rpc: Rpc, session: str, gateway: Gateway
) -> None:
    """The name, or the beginning of the id, is the session here, too."""
    made = gateway.json("session", "create", "--json", "--name", "mine")
    own = f"hearth://sessions/{made['id']}"
    other = f"hearth://sessions/{session}"
    for word in ("mine", made["id"][:12], made["id"]):
        bound = Rpc(rpc.web, f"/mcp/sessions/{word}")
        listed = bound.result("resources/list")["resources"]
        assert [one["uri"] for one in listed] == [own, f"{own}/notebook.ipynb"]
        assert json.loads(read(bound, own)["text"])["id"] == made["id"]
        refused = bound.ask("resources/read", {"uri": other})
        assert refused.json["error"]["code"] == -32602
        wanted: Json = {"resourceSubscriptions": [own, other]}
        with listening(bound, wanted) as (_, taken):
            assert taken == {"resourceSubscriptions": [own]}
    nowhere = Rpc(rpc.web, "/mcp/sessions/absent")
    assert nowhere.result("resources/list")["resources"] == []
    refusal = text_of(nowhere.call("execute", code="1"))
    assert "no session absent" in refusal
    assert "execute without" not in refusal  # no tool here names a session
    rpc.call("session", action="end", session=made["id"])


def test_a_bound_endpoint_does_not_say_what_other_sessions_there_are(
    rpc: Rpc, session: str, web: Web
) -> None:
    """Its answers about a session that exists and about one that does not are
    the same, but for the URI that was sent."""
    code = "open('a', 'w').close(); print(1)"
    rpc.call("execute", code=code, session=session)
    own = session_of(rpc.call("execute", code="1"))
    bound = Rpc(web, f"/mcp/sessions/{own}")
    older = Old(web, f"/mcp/sessions/{own}")
    none = "00000000-0000-4000-8000-000000000000"

    def answer(who: Rpc, method: str, other: str, rest: str) -> str:
        uri = f"hearth://sessions/{other}{rest}"
        found = who.ask(method, {"uri": uri}).json
        found.pop("id")
        return json.dumps(found).replace(other, "")

    for rest in ("", "/notebook.ipynb", "/outputs/2.1", "/files/a"):
        for who, method in (
            (bound, "resources/read"),
            (older, "resources/read"),
            (older, "resources/subscribe"),
            (older, "resources/unsubscribe"),
        ):
            said = answer(who, method, session, rest)
            assert said == answer(who, method, none, rest), (method, rest)
    rpc.call("session", action="end", session=own)


def test_how_much_is_watched_is_bounded(rpc: Rpc, session: str) -> None:
    """A URI that is sent again counts once, and is acknowledged once; the
    others all differ."""
    whole = f"hearth://sessions/{session}"
    tasks = [f"{session}.{i:08x}-0000-4000-8000-{i:012x}" for i in range(100)]
    wanted: Json = {
        "resourceSubscriptions": 200 * [whole],
        "taskIds": tasks,
    }
    with listening(rpc, wanted, TASKS) as (_, taken):
        assert taken["resourceSubscriptions"] == [whole]
        assert taken["taskIds"] == tasks[:63]
    assert rpc.call("execute", code="1", session=session)


def test_requests_to_listen_that_are_refused(rpc: Rpc) -> None:
    answer = rpc.ask("subscriptions/listen", {})
    assert answer.json["error"]["code"] == -32602
    wanted: Json = {"notifications": {"taskIds": []}}
    answer = rpc.ask("subscriptions/listen", wanted)
    assert answer.json["error"]["code"] == -32021
    wanted = {"notifications": {}}
    plain = {"Accept": "application/json"}
    answer = rpc.ask("subscriptions/listen", wanted, None, plain)
    assert answer.json["error"]["code"] == -32600


def test_a_task_is_notified(rpc: Rpc, session: str) -> None:
    gateway = Gateway("--set", "mcp/block=0.1s").start()
    try:
        rpc = Rpc(Web.of(gateway))
        declared = {f"{META}clientCapabilities": TASKS}
        code = (
            "import os, time\n"
            "while not os.path.exists('go'): time.sleep(0.01)\n"
            "print('done')"
        )
        made = rpc.call("execute", declared, code=code)
        task = made["taskId"]
        with listening(rpc, {"taskIds": [task, "x"]}, TASKS) as (stream, took):
            assert took == {"taskIds": [task]}
            first = stream.next()
            assert first["method"] == "notifications/tasks"
            assert first["params"]["status"] == "working"
            rpc.call(
                "files",
                session=task.split(".")[0],
                action="write",
                path="go",
                content="1",
            )
            last = stream.next()["params"]
            assert last.pop("_meta")[SUBSCRIPTION] == rpc.count - 1
            assert last["status"] == "completed"
            assert "done" in text_of(last["result"])
            found = rpc.ask("tasks/get", {"taskId": task}, declared)
            result = found.json["result"]
            assert {**last, "_meta": 0} == {
                **{k: v for k, v in result.items() if k != "resultType"},
                "_meta": 0,
            }
    finally:
        gateway.end()


# ---- before 2026-07-28 ----


def test_a_newer_stream_ends_the_older(web: Web, session: str) -> None:
    """Its client learns that no more comes there."""
    old = Old(web)
    uri = f"hearth://sessions/{session}/notebook.ipynb"
    with old.listen() as first, old.listen() as second:
        assert b"data:" not in first.response.read()
        assert old.result("resources/subscribe", {"uri": uri}) == {}
        old.call("execute", code="1", session=session)
        assert updated(second) == uri


def test_older_clients_subscribe(web: Web, session: str) -> None:
    old = Old(web)
    uri = f"hearth://sessions/{session}/notebook.ipynb"
    with old.listen() as stream:
        assert old.result("resources/subscribe", {"uri": uri}) == {}
        old.call("execute", code="1", session=session)
        assert updated(stream) == uri
    # What was subscribed to is there on the next stream; something may have
    # happened in between.
    with old.listen() as stream:
        assert updated(stream) == uri
        old.call("execute", code="2", session=session)
        assert updated(stream) == uri
        with old.listen() as newer:
            assert updated(newer) == uri
            old.call("execute", code="3", session=session)
            assert updated(newer) == uri
            old.result("resources/unsubscribe", {"uri": uri})
            old.call("execute", code="4", session=session)
            made = session_of(old.call("execute", code="5"))
            changed = newer.next()
            assert changed["method"] == "notifications/resources/list_changed"
            assert "params" not in changed or "_meta" not in changed["params"]
    old.call("session", action="end", session=made)


def test_an_older_client_ends_its_subscriptions(web: Web, session: str) -> None:
    """By a DELETE with its Mcp-Session-Id, which ends its stream, too. Those of
    another client stay."""
    old, other = Old(web), Old(web)
    uri = f"hearth://sessions/{session}/notebook.ipynb"
    for who in (old, other):
        assert who.result("resources/subscribe", {"uri": uri}) == {}
    with old.listen() as stream:
        assert updated(stream) == uri
        ended = web.ask("DELETE", "/mcp", headers=old.headers("", {}))
        assert (ended.status, ended.body) == (204, b"")
        with pytest.raises(AssertionError, match="the stream has ended"):
            stream.next()
    with old.listen() as stream, other.listen() as kept:
        assert updated(kept) == uri
        old.call("execute", code="1", session=session)
        assert updated(kept) == uri
        made = session_of(old.call("execute", code="2"))
        first = stream.next()["method"]
        assert first == "notifications/resources/list_changed"
    old.call("session", action="end", session=made)


def test_older_clients_that_are_refused(web: Web, session: str) -> None:
    old = Old(web)
    for uri in ("file:///x", f"hearth://sessions/{session}/outputs/1.1", 7):
        answer = old.ask("resources/subscribe", {"uri": uri})
        assert answer.json["error"]["code"] == -32602
    nameless = Rpc(web, era=LEGACY)
    uri = f"hearth://sessions/{session}"
    answer = nameless.ask("resources/subscribe", {"uri": uri})
    assert answer.json["error"]["code"] == -32600
    # More clients than are remembered.
    for _ in range(300):
        other = Rpc(web, era=LEGACY)
        named = {"Mcp-Session-Id": f"{_:032x}"}
        asked = other.ask("resources/subscribe", {"uri": uri}, None, named)
        assert asked.json["result"] == {}
    assert old.result("resources/subscribe", {"uri": uri}) == {}
