"""The tools of the Model Context Protocol: execute, wait, read_output and
session."""

from __future__ import annotations

import concurrent.futures
from pathlib import Path
from typing import Any, Iterator

import pytest
from deadline import wait_for
from rpc import (
    Rpc,
    caller,
    events_of,
    head_of,
    images_of,
    order,
    session_of,
    text_of,
)
from web import Web

pytestmark = pytest.mark.warm

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture
def rpc(web: Web) -> Rpc:
    return Rpc(web)


@pytest.fixture(scope="module")
def session(web: Web) -> Iterator[str]:
    rpc = Rpc(web)
    made = session_of(rpc.call("execute", code="kept = 41"))
    yield made
    rpc.call("session", action="end", session=made)


# ---- execute ----


def test_variables_stay(rpc: Rpc, session: str) -> None:
    result = rpc.call("execute", code="kept + 1", session=session)
    assert not result["isError"]
    assert " ok " in head_of(result)
    assert "(new)" not in head_of(result)
    assert text_of(result).splitlines()[1] == "42"


def test_an_error_is_the_tools(rpc: Rpc, session: str) -> None:
    result = rpc.call("execute", code="1 / 0", session=session)
    assert result["isError"]
    assert "ZeroDivisionError" in head_of(result)


def test_a_script_that_fails_is_named(rpc: Rpc, session: str) -> None:
    """IPython shows the traceback of a script, and the cell ends well."""
    rpc.call(
        "files",
        session=session,
        action="write",
        path="fails.py",
        content="before = 1\nfor i in range(9999): print(i)\n1 / 0\n",
    )
    code = "%run fails.py\nprint('more\\n' * 9999)"
    result = rpc.call("execute", code=code, session=session, max_tokens=500)
    assert not result["isError"]
    assert " ok " in head_of(result)
    assert " · shows the traceback of ZeroDivisionError" in head_of(result)
    lines = text_of(result).splitlines()
    assert lines[-1] == "ZeroDivisionError: division by zero"
    assert any("fails.py" in line and "1 / 0" in line for line in lines)
    structured = Rpc(rpc.web, "/mcp/structured").call(
        "execute", code="%run fails.py", session=session
    )["structuredContent"]
    assert structured["status"] == "ok"
    assert structured["error"]["name"] == "ZeroDivisionError"


def test_a_plot_in_one_round_trip(rpc: Rpc, session: str) -> None:
    code = "import matplotlib.pyplot as plt; plt.plot([1, 2, 3]);"
    result = rpc.call("execute", code=code, session=session)
    (image,) = images_of(result)
    assert image.startswith(PNG)
    assert result["content"][1]["mimeType"] == "image/png"


def test_a_timeout_keeps_the_state(rpc: Rpc, session: str) -> None:
    code = "import time\nwhile True: time.sleep(0.01)"
    result = rpc.call("execute", code=code, session=session, timeout=0.5)
    assert result["isError"]
    again = rpc.call("execute", code="kept", session=session)
    assert text_of(again).splitlines()[1] == "41"


def test_a_key_runs_once(rpc: Rpc, session: str) -> None:
    rpc.call("execute", code="runs = 0", session=session)
    sent = {"code": "runs += 1; print('runs', runs)", "session": session}
    one, other = (
        rpc.call("execute", {"hearth/key": "a"}, **sent) for _ in range(2)
    )
    assert text_of(one).splitlines()[1:] == text_of(other).splitlines()[1:]
    last = rpc.call("execute", code="runs", session=session)
    assert text_of(last).splitlines()[1] == "1"
    changed = rpc.call(
        "execute", {"hearth/key": "a"}, code="runs += 5", session=session
    )
    assert changed["isError"]


def test_a_key_makes_one_session(rpc: Rpc) -> None:
    one, other = (
        rpc.call("execute", {"hearth/key": "new"}, code="id(object)")
        for _ in range(2)
    )
    assert session_of(one) == session_of(other)
    rpc.call("session", action="end", session=session_of(one))


def test_a_client_that_goes_cancels(rpc: Rpc, session: str) -> None:
    code = "import time\nprint('begun')\nwhile True: time.sleep(0.01)"
    with caller(rpc, order(session, code)):
        wait_for(lambda: "busy" in shown(rpc, session), "a busy session")
    wait_for(lambda: "idle" in shown(rpc, session), "an idle session")
    again = rpc.call("execute", code="kept", session=session)
    assert text_of(again).splitlines()[1] == "41"


def test_a_client_that_leaves_its_wait_interrupts_no_cell(
    rpc: Rpc, session: str
) -> None:
    """The cell before it is another client's."""

    (whole,) = (
        one["id"]
        for one in rpc.web.get("/api/kernels").json
        if one["id"].startswith(session)
    )

    def journal_bytes() -> int:
        return int(
            rpc.web.get(f"/hearth/sessions/{whole}").json["journal_bytes"]
        )

    first = (
        "import pathlib, time\nlate = 0\n"
        "while not pathlib.Path('go').exists(): time.sleep(0.01)\n"
        "first = 'whole'"
    )
    with concurrent.futures.ThreadPoolExecutor() as pool:
        running = pool.submit(
            Rpc(rpc.web).call, "execute", code=first, session=session
        )
        wait_for(lambda: "busy" in shown(rpc, session), "a busy session")
        before = journal_bytes()
        code = "late = 1 #" + 3000 * "x"
        with caller(rpc, order(session, code)):
            wait_for(lambda: journal_bytes() > before + 3000, "a cell in wait")
            waiting = journal_bytes()
        wait_for(lambda: journal_bytes() > waiting, "its end")
        rpc.call(
            "files", session=session, action="write", path="go", content="1"
        )
        assert not running.result()["isError"]
    after = rpc.call("execute", code="(first, late)", session=session)
    assert text_of(after).splitlines()[1] == "('whole', 0)"


def shown(rpc: Rpc, session: str) -> str:
    return text_of(rpc.call("session", action="show", session=session))


def test_progress_comes_before_the_answer(rpc: Rpc, session: str) -> None:
    code = "import time\nprint('epoch 3/9', flush=True)\ntime.sleep(7)"
    answer = rpc.ask(
        "tools/call",
        {"name": "execute", "arguments": {"code": code, "session": session}},
        {"progressToken": "p"},
    )
    assert answer.headers["X-Accel-Buffering"] == "no"
    *notices, last = events_of(answer)
    assert notices
    for notice in notices:
        assert notice["method"] == "notifications/progress"
        assert notice["params"]["progressToken"] == "p"
        assert notice["params"]["message"] == "epoch 3/9"
    counts = [notice["params"]["progress"] for notice in notices]
    assert counts == sorted(set(counts))
    assert not last["result"]["isError"]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({}, "code is missing"),
        ({"code": 7}, "code must be of type string"),
        ({"code": "1", "time": 1}, "there is no argument time"),
        ({"code": "1", "timeout": 0}, "timeout must be"),
        ({"code": "1", "max_tokens": 1}, "max_tokens must be"),
        ({"code": "1", "session": "absent"}, "There is no session absent"),
    ],
)
def test_arguments_that_do_not_fit(rpc: Rpc, arguments: Any, text: str) -> None:
    result = rpc.call("execute", **arguments)
    assert result["isError"]
    assert text in text_of(result)


# ---- wait ----


def test_wait_for_what_runs(rpc: Rpc, web: Web) -> None:
    session = session_of(rpc.call("execute", code="kept = 1"))
    kernel = next(
        model["id"]
        for model in web.get("/api/kernels").json
        if model["id"].startswith(session)
    )
    code = "import time\nwhile True: time.sleep(0.01)"
    sent = web.post(f"/api/kernels/{kernel}/execute", {"code": code})
    assert sent.status == 202
    wait_for(lambda: "busy" in shown(rpc, session), "a busy session")
    result = rpc.call("wait", session=session, seconds=0)
    assert not result["isError"]
    assert "RUNNING" in head_of(result)
    result = rpc.call("wait", session=session, interrupt=True)
    assert result["isError"]
    assert "KeyboardInterrupt" in text_of(result)
    again = rpc.call("execute", code="kept", session=session)
    assert text_of(again).splitlines()[1] == "1"
    rpc.call("session", action="end", session=session)


def test_a_handler_is_not_interrupted_again(rpc: Rpc, web: Web) -> None:
    """`wait` waits for it."""
    session = session_of(rpc.call("execute", code="1"))
    kernel = next(
        model["id"]
        for model in web.get("/api/kernels").json
        if model["id"].startswith(session)
    )
    code = (
        "import time\n"
        "try:\n    open('on', 'w').close()\n    time.sleep(600)\n"
        "except KeyboardInterrupt:\n    time.sleep(2)\n    print('saved')"
    )
    sent = web.post(f"/api/kernels/{kernel}/execute", {"code": code})
    assert sent.status == 202
    workspace = Path(web.get(f"/hearth/sessions/{kernel}").json["workspace"])
    wait_for((workspace / "on").exists, "a cell that runs")
    result = rpc.call("wait", session=session, interrupt=True)
    assert not result["isError"]
    assert "saved" in text_of(result)
    rpc.call("session", action="end", session=session)


# ---- read_output ----


def test_cut_output_can_be_read(rpc: Rpc, session: str) -> None:
    code = "for i in range(20000): print('line', i)"
    result = rpc.call("execute", code=code, session=session, max_tokens=500)
    text = text_of(result)
    assert len(text) < 4000
    ref = text.split("ref=")[1].split()[0].rstrip("…")
    read = rpc.call(
        "read_output", session=session, ref=ref, from_line=7001, lines=2
    )
    assert text_of(read).splitlines()[1:] == ["line 7000", "line 7001"]
    read = rpc.call("read_output", session=session, ref=ref, grep="line 1234$")
    assert "line 1234" in text_of(read)
    assert "line 12345" not in text_of(read)


def test_references_of_no_output(rpc: Rpc, session: str) -> None:
    other = session_of(rpc.call("execute", code="1"))
    for ref in ("out:99.1", "out:1.99", "nonsense", "out:-1.1", "out:1"):
        read = rpc.call("read_output", session=session, ref=ref)
        assert read["isError"], ref
    read = rpc.call("read_output", session=other, ref="out:2.1")
    assert read["isError"]
    rpc.call("session", action="end", session=other)


# ---- session ----


def test_a_session_is_shown_restarted_and_ended(rpc: Rpc) -> None:
    session = session_of(rpc.call("execute", code="x = 1"))
    assert session in text_of(rpc.call("session", action="list"))
    assert "idle" in shown(rpc, session)
    assert not rpc.call("session", action="restart", session=session)["isError"]
    gone = rpc.call("execute", code="x", session=session)
    assert "NameError" in head_of(gone)
    rpc.call("session", action="end", session=session)
    wait_for(
        lambda: rpc.call("execute", code="1", session=session)["isError"],
        "the end",
    )
    assert session not in text_of(rpc.call("session", action="list"))


def test_a_dead_kernel_is_not_replaced_in_silence(rpc: Rpc) -> None:
    session = session_of(rpc.call("execute", code="x = 1"))
    code = "import os; os.kill(os.getpid(), 9)"
    died = rpc.call("execute", code=code, session=session)
    assert died["isError"]
    after = rpc.call("execute", code="x", session=session)
    assert after["isError"]
    assert "STATE LOST" in head_of(after)
    assert "; variable x gone; files kept. Call session" in head_of(after)
    orders: list[tuple[str, dict[str, Any]]] = [
        ("session", {"action": "show"}),
        ("session", {"action": "run", "command": "true"}),
        ("wait", {}),
    ]
    for name, arguments in orders:
        other = rpc.call(name, **arguments, session=session)
        assert "variable x gone" in text_of(other), other
    revived = rpc.call("session", action="restart", session=session)
    assert not revived["isError"]
    # Earlier answers have said what is gone.
    assert "STATE LOST" in head_of(died)
    again = rpc.call("execute", code="1 + 1", session=session)
    assert text_of(again).splitlines()[-1] == "2"
    assert "STATE LOST" not in head_of(again)
    rpc.call("session", action="end", session=session)
