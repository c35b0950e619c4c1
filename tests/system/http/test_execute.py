"""Execution by REST, as jupyter-server-nbmodel's clients know it (A-JK7)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Optional

import pytest
from deadline import wait_for
from harness import Gateway
from rpc import Rpc
from rpc import text_of as said_in
from web import Answer, Kernel, Web, text_of

UNKNOWN = "00000000-0000-4000-8000-000000000000"


def begin(kernel: Kernel, code: str, **options: Any) -> str:
    answer = kernel.web.post(
        f"/api/kernels/{kernel.id}/execute", {"code": code, **options}
    )
    assert answer.status == 202, answer
    location: str = answer.headers["Location"]
    model = answer.json
    assert model["request_url"] == location
    assert location == f"/api/kernels/{kernel.id}/requests/" + str(
        model["request_id"]
    )
    assert set(model) == {
        "request_id",
        "pending",
        "request_status",
        "request_url",
        "outputs",
    }
    return location


def ended(web: Web, location: str, status: Optional[int] = None) -> Answer:
    answer: Answer = wait_for(
        lambda: (
            (found := web.get(location)).status not in (202, status) and found
        ),
        "the result",
    )
    return answer


def question(web: Web, location: str) -> Answer:
    answer: Answer = wait_for(
        lambda: (found := web.get(location)).status == 300 and found,
        "the question",
    )
    return answer


def outputs(answer: Answer) -> Any:
    assert answer.status == 200, answer
    return json.loads(answer.json["outputs"])


def test_a_result(kernel: Kernel) -> None:
    location = begin(kernel, "print('out')\nprint('more')\n1+1")
    answer = ended(kernel.web, location)
    assert answer.json["status"] == "ok"
    assert answer.json["pending"] is False
    assert answer.json["request_status"] == "finished"
    shown = outputs(answer)
    assert shown[0] == {
        "output_type": "stream",
        "name": "stdout",
        "text": "out\nmore\n",
    }
    assert shown[1]["data"]["text/plain"] == "2"
    assert answer.json["execution_count"] == shown[1]["execution_count"]
    # Asked again it says the same: nothing is handed out once.
    assert kernel.web.get(location).json == answer.json


def test_numbers_and_letters_of_any_kind(kernel: Kernel) -> None:
    code = (
        "from IPython.display import display\n"
        "print('a\\0b')\n"
        "display({'application/json': [10**30, 10**400, '\\0']}, raw=True)"
    )
    shown = outputs(ended(kernel.web, begin(kernel, code)))
    assert shown[0]["text"] == "a\0b\n"
    assert shown[1]["data"]["application/json"] == [1e30, str(10**400), "\0"]
    location = begin(kernel, "input('a\\0b')", allow_stdin=True)
    assert question(kernel.web, location).json["input_request"] == {
        "prompt": "a\0b",
        "password": False,
    }
    kernel.web.post(f"/api/kernels/{kernel.id}/input", {"input": ""})
    ended(kernel.web, location, 300)


def test_code_that_fails_has_a_result(kernel: Kernel) -> None:
    answer = ended(kernel.web, begin(kernel, "1/0"))
    assert answer.status == 200
    assert answer.json["status"] == "error"
    assert answer.json["ename"] == "ZeroDivisionError"
    assert outputs(answer)[0]["output_type"] == "error"


def test_a_kernel_that_dies_is_an_error(kernel: Kernel) -> None:
    location = begin(kernel, "import os; os.kill(os.getpid(), 9)")
    answer = ended(kernel.web, location)
    assert answer.status == 500
    assert answer.json["error"]["ename"] == "KernelDied"
    # Its journal outlives it.
    assert kernel.web.get(location).status == 500


def test_pending_ones_are_listed(kernel: Kernel) -> None:
    path = f"/api/kernels/{kernel.id}/execute"
    assert kernel.web.get(path).json == []
    first = begin(kernel, "import time; time.sleep(600)")
    second = begin(kernel, "2")
    wait_for(
        lambda: kernel.web.get(first).json["request_status"] == "running",
        "the first one to run",
    )
    listed = {r["request_url"]: r for r in kernel.web.get(path).json}
    assert set(listed) == {first, second}
    assert listed[second]["request_status"] == "queued"
    kernel.web.post(f"/api/kernels/{kernel.id}/interrupt")
    answer = ended(kernel.web, first)
    assert answer.json["ename"] == "KeyboardInterrupt"
    assert outputs(ended(kernel.web, second))[0]["data"]["text/plain"] == "2"
    assert kernel.web.get(path).json == []


def test_input(kernel: Kernel) -> None:
    location = begin(
        kernel, "a = input('one? '); b = input('two? '); print(a + b)"
    )
    path = f"/api/kernels/{kernel.id}/input"
    for prompt, value in (("one? ", "x"), ("two? ", "y")):
        asked = question(kernel.web, location)
        assert asked.headers["Location"] == path
        assert asked.json["input_request"]["prompt"] == prompt
        assert asked.json["parent_header"]["msg_id"]
        assert kernel.web.post(path, {}).status == 400
        assert kernel.web.post(path, {"input": value}).status == 201
    shown = outputs(ended(kernel.web, location, 300))
    assert "".join(o["text"] for o in shown).endswith("xy\n")
    assert kernel.web.post(path, {"input": "late"}).status == 409


def test_a_key_runs_once(kernel: Kernel) -> None:
    code = "n = globals().get('n', 0) + 1; n"
    path = f"/api/kernels/{kernel.id}/execute"
    first = begin(kernel, code, key="turn 1")
    again = kernel.web.post(
        path, {"code": code}, headers={"Idempotency-Key": "turn 1"}
    )
    assert again.status == 202
    assert again.headers["Location"] == first
    assert outputs(ended(kernel.web, first))[0]["data"]["text/plain"] == "1"
    third = kernel.web.post(path, {"code": code, "key": "turn 1"})
    assert third.status == 202
    assert third.json["request_status"] == "finished"
    other = kernel.web.post(path, {"code": "other", "key": "turn 1"})
    assert other.status == 409
    second = begin(kernel, code, key="turn 2")
    assert second != first
    assert outputs(ended(kernel.web, second))[0]["data"]["text/plain"] == "2"


def test_it_survives_the_gateway(kernel: Kernel) -> None:
    """Killed while code runs: the result and the key are still known."""
    code = "import time; time.sleep(2); print('done')"
    location = begin(kernel, code, key="k")
    finished = begin(kernel, "41+1")
    wait_for(
        lambda: kernel.web.get(location).json["request_status"] != "queued",
        "the code to run",
    )
    kernel.web.gateway.kill()
    kernel.web.gateway.start()
    kernel.web.renew()
    again = kernel.web.post(
        f"/api/kernels/{kernel.id}/execute", {"code": code, "key": "k"}
    )
    assert again.status == 202, again
    assert again.headers["Location"] == location
    assert outputs(ended(kernel.web, location))[0]["text"] == "done\n"
    assert outputs(ended(kernel.web, finished))
    shown = text_of(kernel.socket().run("print('once')"))
    assert shown == "once\n"


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"code": 1},
        {"code": "1", "metadata": []},
        {"code": "1", "silent": "yes"},
        {"code": "1", "store_history": 1},
        {"code": "1", "user_expressions": []},
        {"code": "1", "allow_stdin": {}},
        {"code": "1", "stop_on_error": 0},
        {"code": "1", "key": ""},
        {"code": "1", "key": 7},
        {"code": "1", "key": "k" * 256},
        [],
    ],
)
def test_bad_bodies(kernel: Kernel, body: Any) -> None:
    answer = kernel.web.post(f"/api/kernels/{kernel.id}/execute", body or None)
    if body == []:
        answer = kernel.web.post(f"/api/kernels/{kernel.id}/execute", raw=b"[]")
    assert answer.status == 400
    assert answer.json["message"]


def test_requests_that_the_session_refuses(kernel: Kernel) -> None:
    location = begin(kernel, "1", metadata={"hearth": {"note": 7}})
    answer = ended(kernel.web, location)
    assert answer.status == 500
    assert "hearth.note" in answer.json["error"]["evalue"]


def test_unknown_executions(kernel: Kernel, web: Web) -> None:
    for ask in (
        web.post(f"/api/kernels/{UNKNOWN}/execute", {"code": "1"}),
        web.get(f"/api/kernels/{UNKNOWN}/execute"),
        web.get(f"/api/kernels/{kernel.id}/requests/{UNKNOWN}"),
        web.post(f"/api/kernels/{UNKNOWN}/input", {"input": "1"}),
    ):
        assert ask.status == 404, ask
        assert ask.json["message"]


def test_a_damaged_journal_is_named(gateway: Gateway, web: Web) -> None:
    session = gateway.create()
    session.exec("a = 'kept'")
    (journal,) = Path(session.model["journal"]).glob("journal-*.log")
    with journal.open("r+b") as file:
        file.seek(journal.stat().st_size // 2)
        file.write(bytes(40))
    refused = web.post(f"/api/kernels/{session.id}/execute", {"code": "a = 1"})
    assert refused.status == 500
    assert refused.json["ename"] == "JournalDamaged"
    assert "`hearth exec` still does" in refused.json["message"]
    assert str(journal.parent) not in refused.json["message"]
    refusal = Rpc(web).call("execute", code="a = 1", session=session.id)
    assert refusal["isError"]
    assert "make a new session" in said_in(refusal)
    waited = Rpc(web).call("wait", session=session.id)
    assert waited["isError"]
    assert "make a new session" in said_in(waited)
    for unread in (
        web.get(f"/hearth/sessions/{session.id}/outputs/out:1.1"),
        web.post(f"/api/kernels/{session.id}/input", {"input": "1"}),
    ):
        assert unread.status == 500
        assert unread.json["ename"] == "JournalDamaged"
    assert session.exec("print(a)").stdout == "kept\n"


def test_a_journal_that_is_away_is_named(gateway: Gateway, web: Web) -> None:
    session = gateway.create()
    session.exec("print('kept')")
    journal = Path(session.model["journal"])
    away = journal.rename(journal.with_suffix(".away"))
    try:
        refused = web.post(f"/api/kernels/{session.id}/execute", {"code": "1"})
        assert refused.status == 500
        assert refused.json["ename"] == "JournalUnread"
        assert "No such file or directory" in refused.json["message"]
        assert str(journal) not in refused.json["message"]
        unread = web.get(f"/hearth/sessions/{session.id}/outputs/out:1.1")
        assert unread.status == 404
        assert "has no journal" in unread.json["message"]
    finally:
        away.rename(journal)
    assert (
        web.get(f"/hearth/sessions/{session.id}/outputs/out:1.1").status == 200
    )
    session.delete()
