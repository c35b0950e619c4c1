"""`hearth tools attach`: an MCP server answers the code of a session."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, Iterator

import pytest
from deadline import DEADLINE, wait_for
from harness import HEARTH, Gateway, Session
from tool_gateway import IMPORT, error_of, run

SERVER = [sys.executable, str(Path(__file__).with_name("mcp_tool_server.py"))]


class Attached:
    """The command, with a server of some kind, until it is ended."""

    def __init__(
        self,
        gateway: Gateway,
        session: Session,
        *options: str,
        kind: str = "good",
    ) -> None:
        self.process = subprocess.Popen(
            [
                *(HEARTH, "tools", "attach", "--no-start", *options),
                *(session.id, "--", *SERVER, kind),
            ],
            env={**gateway.env, "THE_KEY": "s3cret"},
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )

    def wait(self, word: str) -> str:
        """Read what it says up to a line with the word."""
        said = ""
        assert self.process.stderr
        while word not in said:
            line = self.process.stderr.readline()
            assert line, said
            said += line
        return said

    def server(self) -> int:
        """The process id of its server."""
        pid = self.process.pid
        path = Path(f"/proc/{pid}/task/{pid}/children")
        return int(wait_for(lambda: path.read_text().split(), "a server")[0])

    def end(self) -> int:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        return self.process.wait(DEADLINE)


@pytest.fixture
def attach(gateway: Gateway, session: Session) -> Iterator[Any]:
    made: list[Attached] = []

    def make(*options: str, kind: str = "good") -> Attached:
        made.append(Attached(gateway, session, *options, kind=kind))
        made[-1].wait("answer in the session")
        return made[-1]

    yield make
    for attached in made:
        attached.end()


def refused(gateway: Gateway, session: Session, kind: str) -> str:
    done = gateway.run(
        "tools", "attach", "--no-start", session.id, "--", *SERVER, kind
    )
    assert done.returncode == 1, done.stderr
    return done.stderr


def test_results(session: Session, attach: Any) -> None:
    attach()
    assert run(session, "tools.add(a=2, b=40)") == "{'sum': 42}\n"
    text = "one\ntwo \x1b[31m \U0001f600"
    assert run(session, "tools.text(a=1, b=1)") == f"{text!r}\n"
    assert "'type': 'image'" in run(session, "tools.picture(a=1, b=1)")


def test_keys_stay_outside(session: Session, attach: Any) -> None:
    attach()
    assert run(session, "tools.key(a=1, b=1)") == "'set'\n"
    assert run(session, "import os; 'THE_KEY' in os.environ") == "False\n"


def test_errors_are_sentences(session: Session, attach: Any) -> None:
    attach()
    said = error_of(session, "tools.refuse(a=1, b=1)")
    assert "the city is not known" in said
    said = error_of(session, "tools.long(a=1, b=1)")
    assert 29000 < said.count("é") <= 30000
    assert "\ufffd" not in said


def test_calls_run_at_once(session: Session, attach: Any) -> None:
    """A call that hangs holds up no other."""
    attach()
    code = (
        "import concurrent.futures as c\n"
        "pool = c.ThreadPoolExecutor(9)\n"
        "hung = pool.submit(lambda: tools.hang(a=1, b=1))\n"
        "many = [pool.submit(lambda i=i: tools.add(a=i, b=1)['sum'])"
        " for i in range(8)]\n"
        "print([one.result() for one in many], hung.done())\n"
    )
    done = subprocess.Popen(
        [HEARTH, "exec", session.id, "-c", IMPORT + code],
        env=session.gateway.env,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert done.stdout
    assert done.stdout.readline() == f"{list(range(1, 9))} False\n"
    done.terminate()
    done.wait(DEADLINE)


def test_a_server_that_ends_is_started_again(
    session: Session, attach: Any
) -> None:
    attached = attach()
    first = attached.server()
    said = error_of(session, "tools.die(a=1, b=1)")
    assert "has ended; it is started again in 1 s" in said
    attached.wait("answer in the session")
    assert attached.server() != first
    assert run(session, "tools.add(a=2, b=40)") == "{'sum': 42}\n"
    os.kill(attached.server(), signal.SIGKILL)
    attached.wait("answer in the session")
    assert run(session, "tools.add(a=2, b=40)") == "{'sum': 42}\n"


def test_garbage_and_bad_names(session: Session, attach: Any) -> None:
    attach(kind="garbage").end()
    attach(kind="names")
    assert run(session, "sorted(tools)") == "['add']\n"
    assert run(session, "tools.add(a=2, b=40)") == "{'sum': 42}\n"


def test_too_many_tools(
    gateway: Gateway, session: Session, attach: Any
) -> None:
    said = refused(gateway, session, "many")
    assert "has 10000 tools, 256 are permitted" in said
    assert "lists tools without end" in refused(gateway, session, "endless")
    attach("--tool", "tool7", kind="many")
    assert run(session, "sorted(tools)") == "['tool7']\n"


def test_only_named_tools(session: Session, attach: Any) -> None:
    attach("--tool", "add", "--tool", "text")
    assert run(session, "sorted(tools)") == "['add', 'text']\n"


def test_the_end_removes_the_tools(session: Session, attach: Any) -> None:
    for _ in range(5):  # also while it waits for the gateway's answer
        attached = attach()
        server = attached.server()
        assert attached.end() == 0
        assert not Path(f"/proc/{server}").exists()
        assert run(session, "sorted(tools)") == "[]\n"


def test_a_profile_forbids_it() -> None:
    running = Gateway("--set", "profile/python3/tools/allow=text")
    try:
        running.start()
        said = refused(running, running.create(), "good")
        assert "does not permit the tool `add`" in said
    finally:
        running.end()


def test_no_server(gateway: Gateway, session: Session) -> None:
    done = gateway.run("tools", "attach", session.id)
    assert done.returncode == 2
    assert "the server is missing" in done.stderr
    done = gateway.run("tools", "attach", session.id, "--", "no-such-one")
    assert done.returncode == 1
    assert "no-such-one: No such file or directory" in done.stderr
