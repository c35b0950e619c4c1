"""A loss of a session's variables is reported to each reader once: to a token
over MCP and REST, and to the holder of the session's key by `hearth exec`. The
session knows who has it, also after another gateway has taken it over."""

from __future__ import annotations

import json
import os
import re
import signal
from pathlib import Path
from typing import Any

import pytest
from deadline import DEADLINE, wait_for
from harness import Gateway, Session
from processes import members
from recordings import begin_revival
from rpc import Rpc, head_of
from web import Web

LOSS = re.compile(
    r" · STATE LOST: kernel ended \d\d:\d\d:\d\dZ \(restarted on request\)"
    r"; variables df model gone; files kept$"
)


@pytest.fixture
def lost(mortal: Gateway) -> Session:
    """A session whose kernel was restarted; no reader has seen it."""
    session = mortal.create()
    session.exec("df = [1]; model = 2")
    mortal.run("session", "restart", session.id)
    return session


def run_again(gateway: Gateway, web: Web) -> None:
    gateway.kill()
    gateway.start()
    web.renew()


def over_mcp(web: Web, session: Session, code: str = "1") -> str:
    return head_of(Rpc(web).call("execute", code=code, session=session.id))


def for_model(session: Session, code: str = "1") -> str:
    return session.exec(code, "--for-model").stdout.splitlines()[0]


def over_rest(web: Web, session: Session) -> Any:
    location = web.post(
        f"/api/kernels/{session.id}/execute?view=model", {"code": "1"}
    ).headers["Location"]
    return view_of(web, location)


def view_of(web: Web, location: str) -> Any:
    answer = wait_for(
        lambda: (found := web.get(location)).status != 202 and found,
        "the result",
    )
    return answer.json["view"]


def waiting(gateway: Gateway, session: Session) -> list[Any]:
    """Return the cells that no kernel has begun."""
    rows = gateway.json("notebook", "trace", "--json", session.id)
    return [row for row in rows if row.get("status") == "unanswered"]


def journal_of(session: Session) -> bytes:
    folder = Path(session.model["journal"])
    return b"".join(path.read_bytes() for path in folder.glob("journal-*.log"))


def test_mcp_reports_a_loss_once_to_each_token(
    mortal: Gateway, lost: Session
) -> None:
    web = Web.of(mortal)
    made = mortal.json(
        "token", "create", "--json", "--scope", "observe,execute", "other"
    )
    assert LOSS.search(over_mcp(web, lost))
    assert "LOST" not in over_mcp(web, lost)
    run_again(mortal, web)
    assert "LOST" not in over_mcp(web, lost)
    # REST and MCP are the same reader; another token is another one.
    assert over_rest(web, lost)["state"] == {"kept": True, "lost": []}
    other = web.with_token(made["token"])
    view = over_rest(other, lost)
    assert LOSS.search(view["text"].splitlines()[0])
    assert view["state"]["lost"] == ["df", "model"]
    assert view["state"]["cause"] == "restarted on request"
    assert "LOST" not in over_mcp(other, lost)
    run_again(mortal, web)
    other = web.with_token(made["token"])
    assert "LOST" not in over_mcp(other, lost)
    # The next loss is reported to both.
    mortal.run("session", "restart", lost.id)
    assert "STATE LOST" in over_mcp(other, lost)
    assert "STATE LOST" in over_mcp(web, lost)
    journal = journal_of(lost)
    assert journal.count(b"loss_reported") == 4
    assert made["token"].encode() not in journal


LINE = re.compile(
    r"session ([0-9a-f]{8}) · STATE LOST: kernel ended \d\d:\d\d:\d\dZ "
    r"\(restarted on request\); variables df model gone; files kept"
)
TOUCHING: list[tuple[str, dict[str, Any]]] = [
    ("files", {"action": "list"}),
    ("files", {"action": "read", "path": "nothing"}),
    ("session", {"action": "show"}),
    ("session", {"action": "processes"}),
    ("session", {"action": "run", "command": "true"}),
    ("read_output", {"ref": "out:9.9"}),
]


@pytest.mark.parametrize(
    ("tool", "arguments"), TOUCHING, ids=lambda of: str(of)[:60]
)
def test_the_first_answer_of_any_tool_has_the_loss(
    mortal: Gateway, lost: Session, tool: str, arguments: dict[str, Any]
) -> None:
    web = Web.of(mortal)
    lost.wait_state("idle")
    before, after = (
        Rpc(web).call(tool, **arguments, session=lost.id)["content"]
        for _ in range(2)
    )
    found = LINE.fullmatch(before[0]["text"])
    assert found, before
    assert lost.id.startswith(found[1])
    assert "LOST" not in str(after)
    assert "LOST" not in over_mcp(web, lost)
    run_again(mortal, web)
    assert "LOST" not in over_mcp(web, lost)
    # Who has not asked has not got it.
    assert "model gone" in for_model(lost)


def test_wait_has_a_loss_after_the_run(mortal: Gateway) -> None:
    web = Web.of(mortal)
    session = mortal.create()
    over_mcp(web, session, "df = [1]; model = 2")
    mortal.run("session", "restart", session.id)
    session.wait_state("idle")
    before, after = (
        head_of(Rpc(web).call("wait", session=session.id)) for _ in range(2)
    )
    assert LOSS.search(before.replace(" · +df +model", "")), before
    assert "LOST" not in after


def test_a_program_gets_the_loss_as_a_state(
    mortal: Gateway, lost: Session
) -> None:
    structured = Rpc(Web.of(mortal), "/mcp/structured")
    lost.wait_state("idle")
    before, after = (
        structured.call("files", action="list", session=lost.id)
        for _ in range(2)
    )
    state = before["structuredContent"]["state"]
    assert not state["kept"]
    assert state["lost"] == ["df", "model"]
    assert before["structuredContent"]["text"].startswith("path\t")
    assert "state" not in after["structuredContent"]


def test_files_of_a_session_that_is_gone_come_with_its_loss(
    mortal: Gateway,
) -> None:
    web = Web.of(mortal)
    session = mortal.create()
    session.exec("df = 1")
    mortal.run("session", "delete", session.id)
    session.wait_state("gone")
    before, after = (
        Rpc(web).call("files", action="list", session=session.id)["content"]
        for _ in range(2)
    )
    assert "; variable df gone; files kept" in before[0]["text"]
    assert before[1]["text"].startswith("path\t")
    assert "LOST" not in str(after)


def test_exec_for_a_model_reports_a_loss_once(
    mortal: Gateway, lost: Session
) -> None:
    web = Web.of(mortal)
    failed = lost.exec("df", "--for-model").stdout.splitlines()
    assert "NameError" in failed[0]
    assert LOSS.search(failed[0])
    assert "LOST" not in for_model(lost)
    run_again(mortal, web)
    assert "LOST" not in for_model(lost)
    # A token has not seen it.
    assert LOSS.search(over_mcp(web, lost))


def test_a_loss_before_the_gateway_is_killed_is_reported_after(
    mortal: Gateway, lost: Session
) -> None:
    web = Web.of(mortal)
    run_again(mortal, web)
    assert LOSS.search(for_model(lost))
    assert LOSS.search(over_mcp(web, lost))


def test_a_kernel_that_ended_without_a_gateway(mortal: Gateway) -> None:
    web = Web.of(mortal)
    session = mortal.create("--restart", "auto")
    assert "+df" in for_model(session, "df = 1")
    pid = session.show()["pid"]
    mortal.kill()
    os.kill(pid, signal.SIGKILL)
    mortal.start()
    web.renew()
    session.wait_state("idle")
    assert "variable df gone" in for_model(session)
    assert "LOST" not in for_model(session)
    assert "variable df gone" in over_mcp(web, session)


def test_a_session_that_was_lost_with_the_machine(mortal: Gateway) -> None:
    """After a reboot the runtime folder is empty. The journal gets the end when
    the session is revived."""
    web = Web.of(mortal)
    session = mortal.create()
    assert "+df" in for_model(session, "df = 1")
    namespace = session.namespace()
    mortal.kill()
    for path in sorted(mortal.runtime.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    mortal.start()
    web.renew()
    wait_for(lambda: not members(namespace), "the end of its kernel")
    Rpc(web).call("session", action="restart", session=session.id)
    head = for_model(session)
    assert re.search(r"LOST: kernel ended .* connection file .*df gone", head)
    assert "LOST" not in for_model(session)
    assert "variable df gone" in over_mcp(web, session)
    run_again(mortal, web)
    assert "LOST" not in over_mcp(web, session)


# Runs again until there is the file `go`.
SLOW_AGAIN = (
    "import os, time\n"
    "while os.path.exists('again') and not os.path.exists('go'):\n"
    "    time.sleep(0.01)\n"
    "open('again', 'w').close()"
)


def test_a_loss_during_a_revival_is_not_final(mortal: Gateway) -> None:
    web = Web.of(mortal)
    session = mortal.create()
    reviver = begin_revival(mortal, session, SLOW_AGAIN)
    path = f"/api/kernels/{session.id}/execute"
    location = web.post(f"{path}?view=model", {"code": "a"}).headers["Location"]
    # It comes before the revival's third cell.
    wait_for(lambda: len(waiting(mortal, session)) == 1, "it waits")
    (session.workspace / "go").touch()
    view = view_of(web, location)
    assert view["state"]["lost"] == ["b"]
    assert view["state"]["reviving"] is True
    assert "variable b gone; being revived; files kept" in view["text"]
    assert "variables back: a, b" in reviver.communicate(timeout=DEADLINE)[0]
    assert over_rest(web, session)["state"] == {"kept": True, "lost": []}
    assert "LOST" not in for_model(session)


def test_a_loss_whose_revival_was_killed(mortal: Gateway) -> None:
    web = Web.of(mortal)
    session = mortal.create()
    reviver = begin_revival(mortal, session, SLOW_AGAIN)
    reviver.kill()
    reviver.communicate(timeout=DEADLINE)
    (session.workspace / "go").touch()
    state = over_rest(web, session)["state"]
    assert state["lost"] == ["b"]
    assert "reviving" not in state
    assert over_rest(web, session)["state"] == {"kept": True, "lost": []}


def test_a_revival_whose_gateway_was_killed(mortal: Gateway) -> None:
    """The next gateway gets its report: nothing is lost."""
    web = Web.of(mortal)
    session = mortal.create()
    reviver = begin_revival(mortal, session, SLOW_AGAIN)
    mortal.kill()
    mortal.start()
    web.renew()
    (session.workspace / "go").touch()
    assert "variables back: a, b" in reviver.communicate(timeout=DEADLINE)[0]
    assert reviver.returncode == 0
    assert over_rest(web, session)["state"] == {"kept": True, "lost": []}
    assert "LOST" not in for_model(session)


UNREAD = "; the journal is damaged, so not all names are known; files kept"


def damage(session: Session) -> None:
    """Change a byte in the middle of a segment that is closed."""
    segments = sorted(Path(session.model["journal"]).glob("journal-*.log"))
    assert len(segments) > 3
    whole = bytearray(segments[1].read_bytes())
    whole[len(whole) // 2] ^= 1
    segments[1].write_bytes(whole)


def test_a_damaged_journal_hides_no_loss(mortal: Gateway) -> None:
    web = Web.of(mortal)
    small = ("-l", "journal_bytes=64K")
    live, gone = (
        mortal.create("--restart", "auto", *small),
        mortal.create(*small),
    )
    for session in (live, gone):
        for number in range(4):
            session.exec(f"v{number} = 1; print({number}, 'x' * 8000)")
    mortal.run("session", "delete", gone.id)
    gone.wait_state("gone")
    mortal.kill()
    damage(live)
    damage(gone)
    mortal.start()
    web.renew()
    # The gateway does not know which messages of the kernel it has.
    assert UNREAD in for_model(live)
    assert "LOST" not in for_model(live)
    Rpc(web).call("session", action="restart", session=gone.id)
    document = json.loads(gone.exec("1", "--json").stdout)
    assert document["lost"]["incomplete"] is True
    assert "LOST" not in for_model(gone)


def test_exec_as_json_has_the_loss(lost: Session) -> None:
    # A person has no use for it, and leaves it to who has.
    assert lost.exec("1").stdout == "1\n"
    document = json.loads(lost.exec("df", "--json").stdout)
    assert document["ename"] == "NameError"
    at = document["lost"].pop("at")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]+Z", at)
    assert document["lost"] == {
        "cause": "restarted on request",
        "names": ["df", "model"],
    }
    assert "lost" not in json.loads(lost.exec("1", "--json").stdout)


DIES = "import os; os.kill(os.getpid(), 9)"


def test_the_cell_in_which_the_kernel_dies_has_the_loss(
    mortal: Gateway,
) -> None:
    web = Web.of(mortal)
    session = mortal.create("--restart", "auto")
    session.exec("df = 1")
    died = for_model(session, DIES)
    assert re.search(
        r"STATE LOST .* · kernel ended .*, in cell 2\); variable df gone", died
    ), died
    # So the next one of this reader has not.
    assert "LOST" not in for_model(session)
    run_again(mortal, web)
    assert "LOST" not in for_model(session)
    assert "variable df gone" in over_mcp(web, session)
    died = over_mcp(web, session, "x = 1\n" + DIES)
    assert re.search(r"STATE LOST .* · kernel ended .*, in cell \d\)", died)
    assert "LOST" not in over_mcp(web, session)


def test_a_client_does_not_name_another_reader(
    mortal: Gateway, lost: Session
) -> None:
    """Without a view a client of REST is no reader, whatever it says."""
    web = Web.of(mortal)
    location = web.post(
        f"/api/kernels/{lost.id}/execute",
        {"code": "1", "metadata": {"hearth": {"reader": "gateway"}}},
    ).headers["Location"]
    wait_for(lambda: web.get(location).status == 200, "the result")
    assert LOSS.search(over_mcp(web, lost))
