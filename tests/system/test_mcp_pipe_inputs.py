"""`hearth mcp` and a gateway that is killed in the middle of a write to a
program beside the kernel."""

from __future__ import annotations

from deadline import wait_for
from harness import Gateway
from pipe import Pipe, session_of, text_of

SCRIPT = """read line; echo "$line" >> got
until test -e go; do sleep 0.1; done
echo "read $line"; cat >> got"""


def test_a_write_under_a_gateway_that_is_killed() -> None:
    """The call is sent to the next gateway; the program has read it once."""
    gateway = Gateway().start()
    try:
        pipe = Pipe(gateway)
        pipe.execute("1")
        session = session_of(pipe.read())
        gateway.note_namespace(
            gateway.json("session", "show", "--json", session)["pid"]
        )
        run = {
            "action": "run",
            "session": session,
            "argv": ["sh", "-c", SCRIPT],
            "stdin": "open",
            "seconds": 0,
        }
        pipe.ask("tools/call", {"name": "session", "arguments": run})
        write = {
            "action": "write",
            "session": session,
            "process": 1,
            "input": "a line\n",
            "seconds": 300,
        }
        call = {
            "name": "session",
            "arguments": write,
            "_meta": {"hearth/key": "a turn"},
        }
        number = pipe.send("tools/call", call)
        wait_for(
            lambda: (
                gateway.run("files", "get", session, "got", "-").stdout
                == "a line\n"
            ),
            "a line that was read",
        )
        gateway.kill()
        gateway.start()
        gateway.run("files", "put", session, "/dev/null", "go")
        answer = pipe.read()
        assert answer["id"] == number
        for _ in range(2):
            # A machine that is very slow answers that it is not ready.
            while "RUNNING" not in text_of(answer):
                answer = pipe.ask("tools/call", call)
            assert text_of(answer).splitlines()[1:] == ["read a line"]
            answer = pipe.ask("tools/call", call)
        close = {**write, "action": "close", "input": ""}
        over = pipe.ask("tools/call", {"name": "session", "arguments": close})
        assert "it exited with 0" in text_of(over)
        found = gateway.run("files", "get", session, "got", "-").stdout
        assert found == "a line\n"
        pipe.close()
    finally:
        gateway.end()
