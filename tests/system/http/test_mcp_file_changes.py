"""Clients of the Model Context Protocol hear that a file has changed."""

from __future__ import annotations

import contextlib
from typing import Callable, Iterator

import pytest
from harness import Gateway
from rpc import LEGACY, Json, Rpc, session_of
from rpc_streams import Old, Stream, listening, updated
from web import Web


@pytest.fixture
def rpc(web: Web) -> Rpc:
    return Rpc(web)


@pytest.fixture
def session(rpc: Rpc) -> Iterator[str]:
    """The whole id of a session with a file `a`."""
    made = session_of(rpc.call("execute", code="open('a', 'w').write('1')"))
    yield str(rpc.web.gateway.json("session", "show", "--json", made)["id"])
    rpc.call("session", action="end", session=made)


def uri_of(session: str, path: str) -> str:
    return f"hearth://sessions/{session}/files/{path}"


Watch = Callable[[list[str]], "contextlib.AbstractContextManager[Stream]"]


@pytest.fixture(params=["2026-07-28", LEGACY])
def watching(request: pytest.FixtureRequest, web: Web) -> Watch:
    """A stream of a client of that era, subscribed to those URIs alone."""

    @contextlib.contextmanager
    def newer(uris: list[str]) -> Iterator[Stream]:
        wanted: Json = {"resourceSubscriptions": uris}
        with listening(Rpc(web), wanted) as (stream, taken):
            assert taken == wanted
            yield stream

    @contextlib.contextmanager
    def older(uris: list[str]) -> Iterator[Stream]:
        old = Old(web)
        with old.listen() as stream:
            for uri in uris:
                assert old.result("resources/subscribe", {"uri": uri}) == {}
            yield stream

    return older if request.param == LEGACY else newer


def run(rpc: Rpc, session: str, code: str) -> None:
    assert not rpc.call("execute", code=code, session=session)["isError"]


def test_each_way_of_a_change(rpc: Rpc, session: str, watching: Watch) -> None:
    """Each change is one notification: the next one is of the next change,
    of another file, so what is notified without a cause is found, too."""
    run(rpc, session, "import os; open('b', 'w').write('1'); os.mkdir('d')")
    files: Json = {"session": session}
    a, b = uri_of(session, "a"), uri_of(session, "b")
    below, none = uri_of(session, "d/%C3%A4%20x"), uri_of(session, "none")
    with watching([a, b, below, none]) as stream:
        run(rpc, session, "open('a', 'a').write('2')")
        assert updated(stream) == a
        rpc.call("session", action="run", command="echo 3 >> b", **files)
        assert updated(stream) == b
        rpc.call("files", action="write", path="d/ä x", content="4", **files)
        assert updated(stream) == below
        run(rpc, session, "os.remove('a')")
        assert updated(stream) == a
        run(rpc, session, "open('none', 'w').close()")
        assert updated(stream) == none
        rpc.call("files", action="delete", path="b", **files)
        assert updated(stream) == b
        run(rpc, session, "os.symlink('/etc/passwd', 'a')")
        assert updated(stream) == a
        run(rpc, session, "os.rename('d', 'e'); os.symlink('e', 'd')")
        assert updated(stream) == below
        run(rpc, session, "os.remove('d'); os.rename('e', 'd')")
        assert updated(stream) == below


def test_a_file_of_the_same_size_and_time(
    rpc: Rpc, session: str, watching: Watch
) -> None:
    """Another file in its place, and new bytes under the old time."""
    a = uri_of(session, "a")
    with watching([a]) as stream:
        run(
            rpc,
            session,
            "import os, shutil\n"
            "open('n', 'w').write('2'); shutil.copystat('a', 'n')\n"
            "os.replace('n', 'a')",
        )
        assert updated(stream) == a
        run(
            rpc,
            session,
            "at = os.stat('a')\n"
            "with open('a', 'r+') as file: file.write('3')\n"
            "while os.stat('a').st_ctime_ns == at.st_ctime_ns:\n"
            "    os.utime('a', ns=(at.st_atime_ns, at.st_mtime_ns))",
        )
        assert updated(stream) == a


def test_code_that_writes_while_nothing_ends(
    rpc: Rpc, session: str, watching: Watch
) -> None:
    """A thread writes between two cells, and a cell that still runs."""
    a, go = uri_of(session, "a"), uri_of(session, "go")
    wait = "while not os.path.exists('{}'): time.sleep(0.01)\n"
    write = "open('a', 'a').write('2')\n"
    run(
        rpc,
        session,
        "import os, threading, time\n"
        "def work():\n"
        f"    {wait.format('go')}    {write}"
        "threading.Thread(target=work).start()",
    )
    files: Json = {"session": session, "action": "write", "content": ""}
    with watching([a, go]) as stream:
        rpc.call("files", path="go", **files)
        assert {updated(stream), updated(stream)} == {a, go}
        started = rpc.web.post(
            f"/api/kernels/{session}/execute",
            {"code": f"{write}{wait.format('on')}"},
        )
        assert started.status == 202, started
        assert updated(stream) == a
        rpc.call("files", path="on", **files)


def test_every_client_hears_of_it(
    rpc: Rpc, session: str, watching: Watch
) -> None:
    a, b = uri_of(session, "a"), uri_of(session, "b")
    with watching([a]) as one, watching([a, b]) as two:
        run(rpc, session, "open('b', 'w').close()")
        assert updated(two) == b
        run(rpc, session, "open('a', 'a').write('2')")
        assert updated(one) == a
        assert updated(two) == a


def test_files_of_several_sessions(
    rpc: Rpc, session: str, watching: Watch
) -> None:
    made = session_of(rpc.call("execute", code="1"))
    other = rpc.web.gateway.json("session", "show", "--json", made)["id"]
    uris = [uri_of(session, "a"), uri_of(other, "a")]
    with watching(uris) as stream:
        run(rpc, other, "open('a', 'w').close()")
        assert updated(stream) == uris[1]
        run(rpc, session, "open('a', 'a').write('2')")
        assert updated(stream) == uris[0]
        # The last change is heard of, also if the session has ended since.
        run(rpc, other, "open('a', 'a').write('2')")
        rpc.call("session", action="end", session=made)
        assert updated(stream) == uris[1]


def test_an_older_client_hears_once_on_its_next_stream(
    rpc: Rpc, session: str, web: Web
) -> None:
    """As of every resource: it may have changed meanwhile."""
    old = Old(web)
    a, b = uri_of(session, "a"), uri_of(session, "b")
    assert old.result("resources/subscribe", {"uri": a}) == {}
    assert old.result("resources/subscribe", {"uri": b}) == {}
    with old.listen() as stream:
        assert {updated(stream), updated(stream)} == {a, b}
        assert old.result("resources/unsubscribe", {"uri": a}) == {}
        run(rpc, session, "open('a', 'a').write('2')")
        run(rpc, session, "open('b', 'w').close()")
        assert updated(stream) == b


def test_files_that_cannot_be_subscribed_to(
    rpc: Rpc, session: str, web: Web, gateway: Gateway
) -> None:
    old = Old(web)
    good = uri_of(session, "a")
    for path in ("../a", "%2fetc%2fpasswd", "a%00", "%", "%ff", "a%5c"):
        uri = uri_of(session, path)
        answer = old.ask("resources/subscribe", {"uri": uri})
        assert answer.json["error"]["code"] == -32602, (path, answer)
        wanted: Json = {"resourceSubscriptions": [uri, good, uri]}
        with listening(rpc, wanted) as (_, taken):
            assert taken == {"resourceSubscriptions": [good]}
    made = gateway.json("token", "create", "--json", "--scope", "observe", "t")
    observer = web.with_token(made["token"])
    answer = Old(observer).ask("resources/subscribe", {"uri": good})
    assert answer.status == 403, answer
    wanted = {"resourceSubscriptions": [good]}
    with listening(Rpc(observer), wanted) as (_, taken):
        assert taken == {"resourceSubscriptions": []}
    gateway.run("token", "revoke", made["id"])
    other = session_of(rpc.call("execute", code="1"))
    bound = f"/mcp/sessions/{other}"
    with listening(Rpc(web, bound), wanted) as (_, taken):
        assert taken == {"resourceSubscriptions": []}
    rpc.call("session", action="end", session=other)


def test_another_token_is_another_client(
    rpc: Rpc, session: str, web: Web, gateway: Gateway
) -> None:
    """Also under the same Mcp-Session-Id: its token may not read files."""
    old, a = Old(web), uri_of(session, "a")
    about = f"hearth://sessions/{session}"
    made = gateway.json("token", "create", "--json", "--scope", "observe", "t")
    other = Old(web.with_token(made["token"]))
    other.name = old.name
    assert old.result("resources/subscribe", {"uri": a}) == {}
    assert other.result("resources/subscribe", {"uri": about}) == {}
    assert other.result("resources/unsubscribe", {"uri": a}) == {}
    with other.listen() as theirs, old.listen() as own:
        assert updated(own) == a
        assert updated(theirs) == about
        run(rpc, session, "open('a', 'a').write('2')")
        assert updated(own) == a
    gateway.run("token", "revoke", made["id"])


def test_as_many_files_as_a_client_may_watch(rpc: Rpc, session: str) -> None:
    uris = [uri_of(session, f"f{i}") for i in range(65)]
    with listening(rpc, {"resourceSubscriptions": uris}) as (stream, taken):
        assert taken == {"resourceSubscriptions": uris[:64]}
        run(
            rpc,
            session,
            "for i in range(65): open(f'f{i}', 'w').close()",
        )
        assert {updated(stream) for _ in range(64)} == set(uris[:64])
