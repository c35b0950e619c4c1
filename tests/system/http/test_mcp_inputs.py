"""Programs that an MCP client starts without a shell, writes to, and whose
output it reads by lines: the tools `session` and `read_output`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from deadline import DEADLINE, wait_for
from harness import Gateway
from rpc import LEGACY, NEWEST, Rpc, head_of, session_of, text_of
from web import Web

WAIT = min(DEADLINE, 300)


@pytest.fixture(scope="module", params=[NEWEST, LEGACY])
def rpc(web: Web, request: pytest.FixtureRequest) -> Rpc:
    return Rpc(web, era=request.param)


@pytest.fixture(scope="module")
def session(rpc: Rpc) -> Iterator[str]:
    made = session_of(rpc.call("execute", code="kept = 41"))
    yield made
    rpc.call("session", action="end", session=made)


def act(rpc: Rpc, session: str, action: str, **more: Any) -> Any:
    return rpc.call("session", action=action, session=session, **more)


def run(rpc: Rpc, session: str, *argv: str, **more: Any) -> Any:
    more.setdefault("seconds", WAIT)
    return act(rpc, session, "run", argv=list(argv), **more)


def number_of(result: Any) -> int:
    return int(head_of(result).split("]")[0].split()[1])


def lines_of(result: Any) -> list[str]:
    return text_of(result).splitlines()[1:]


def test_no_shell_reads_a_list(rpc: Rpc, session: str) -> None:
    words = ("$HOME", "a  b", "*", ";id", "\u00e9")
    done = run(rpc, session, "printf", "%s\\n", *words)
    assert not done["isError"]
    assert lines_of(done) == list(words)
    done = run(rpc, session, "sh", "-c", 'pwd; echo "$A"', env={"A": "x"})
    assert lines_of(done) == ["/workspace", "x"]
    act(rpc, session, "run", argv=["mkdir", "-p", "sub"])
    assert lines_of(run(rpc, session, "pwd", cwd="sub")) == ["/workspace/sub"]
    missing = run(rpc, session, "no-such-program")
    assert missing["isError"]
    assert "the program: No such file" in text_of(missing)


def test_a_program_that_asks(rpc: Rpc, session: str) -> None:
    """Each write is answered with what came after it, and no more."""
    started = run(rpc, session, "cat", stdin="open", seconds=0)
    assert "write sends input" in head_of(started)
    number = number_of(started)
    for word in ("one", "two"):
        said = act(
            rpc,
            session,
            "write",
            process=number,
            input=f"{word}\n",
            seconds=WAIT,
        )
        assert not said["isError"]
        assert "RUNNING" in head_of(said)
        assert lines_of(said) == [word]
    over = act(
        rpc, session, "close", process=number, input="last", seconds=WAIT
    )
    assert "it exited with 0" in head_of(over)
    assert lines_of(over) == ["last"]


def test_a_text_and_more(rpc: Rpc, session: str) -> None:
    """`input` of `run` comes first where more may come."""
    number = number_of(
        run(rpc, session, "sort", stdin="open", input="b\n", seconds=0)
    )
    silent = act(rpc, session, "write", process=number, input="a\n", seconds=0)
    assert "RUNNING" in head_of(silent)
    over = act(rpc, session, "close", process=number, seconds=WAIT)
    assert lines_of(over) == ["a", "b"]


def test_a_terminal(rpc: Rpc, session: str) -> None:
    """The program has one, what is typed reaches it, and so does SIGINT."""
    script = "test -t 0 && test -t 1 && echo yes; read line; echo got $line; "
    started = run(
        rpc, session, "sh", "-c", f"{script} read more", stdin="tty", seconds=0
    )
    number = number_of(started)
    shown = act(
        rpc, session, "write", process=number, input="x\n", seconds=WAIT
    )
    assert "got x" in lines_of(shown)
    whole = act(rpc, session, "output", process=number, seconds=WAIT)
    assert "yes" in lines_of(whole)
    act(rpc, session, "kill", process=number, signal="SIGINT")
    wait_for(
        lambda: (
            "signal 2 ended it"
            in text_of(act(rpc, session, "output", process=number, seconds=0))
        ),
        "the end by a signal",
    )


def test_the_end_of_a_terminals_input(rpc: Rpc, session: str) -> None:
    number = number_of(run(rpc, session, "cat", stdin="tty", seconds=0))
    over = act(rpc, session, "close", process=number, seconds=WAIT)
    assert "it exited with 0" in head_of(over)


def test_a_program_that_closes_its_terminal(rpc: Rpc, session: str) -> None:
    """It goes on to its own end, as cat does, which closes all it has read."""
    script = "exec <&- >&- 2>&-; for i in 1 2 3 4 5 6; do sh -c :; done; exit 3"
    done = run(rpc, session, "sh", "-c", script, stdin="tty")
    assert "it exited with 3" in head_of(done)


def test_a_character_that_comes_in_pieces(rpc: Rpc, session: str) -> None:
    """A pipe cuts it anywhere; read_output has it whole."""
    script = 'for b in 342 202 254; do printf "\\\\$b"; read go; done'
    number = number_of(
        run(rpc, session, "sh", "-c", script, stdin="open", seconds=0)
    )
    for _ in range(3):
        act(rpc, session, "write", process=number, input="\n", seconds=0.2)
    act(rpc, session, "close", process=number, seconds=WAIT)
    read = rpc.call("read_output", session=session, ref=f"process:{number}")
    assert lines_of(read) == ["\u20ac"]


def test_once_under_a_key(rpc: Rpc, session: str) -> None:
    number = number_of(
        run(rpc, session, "tee", "-a", "written", stdin="open", seconds=0)
    )
    key = {"hearth/key": f"a turn of {rpc.era}"}
    for _ in range(2):
        said = act(
            rpc,
            session,
            "write",
            _meta=key,
            process=number,
            input="once\n",
            seconds=WAIT,
        )
        assert lines_of(said) == ["once"]
    refused = act(
        rpc, session, "write", _meta=key, process=number, input="other\n"
    )
    assert refused["isError"]
    assert "Something else was written before" in text_of(refused)
    act(rpc, session, "close", process=number, seconds=WAIT)
    found = run(rpc, session, "cat", "written")
    assert lines_of(found) == ["once"]
    run(rpc, session, "rm", "written")


RUN = {"action": "run"}
WRITE = {"action": "write"}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (RUN, "or argv: a list of the program and its arguments"),
        ({**RUN, "command": "a", "argv": ["a"]}, "give one of them"),
        ({**RUN, "argv": "ls"}, "argv must be of type array"),
        ({**RUN, "argv": []}, "argv must be a list of 1 to 4096 texts"),
        ({**RUN, "argv": ["a", 1]}, "argv[1] must be a text"),
        ({**RUN, "argv": [""]}, "argv[0], the program, is empty"),
        ({**RUN, "argv": ["a"], "stdin": "pty"}, "stdin must be open or tty"),
        ({**WRITE, "input": "a"}, "process is missing"),
        ({**WRITE, "process": 1}, "input is missing: the text to write"),
        ({**WRITE, "process": 1, "input": ""}, "input is missing"),
        ({**WRITE, "process": 1, "input": 7}, "input must be of type string"),
        (
            {**WRITE, "process": 1, "input": "x" * ((256 << 10) + 1)},
            "input has 262145 bytes",
        ),
        ({**WRITE, "process": 4000, "input": "a"}, "no process 4000"),
        ({**WRITE, "process": 1, "argv": ["ls"]}, "argv is for the action"),
        ({**WRITE, "process": 1, "stdin": "tty"}, "stdin is for the action"),
        (
            {**WRITE, "process": 1, "input": "a", "seconds": 601},
            "seconds must be 0 to 600",
        ),
        ({"action": "close"}, "process is missing"),
        ({"action": "kill", "process": 1, "input": "a"}, "input is for the"),
    ],
)
def test_what_does_not_go_together(
    rpc: Rpc, session: str, arguments: Any, sentence: str
) -> None:
    result = rpc.call("session", session=session, **arguments)
    assert result["isError"], result
    assert sentence in text_of(result)


def test_a_process_that_takes_no_input(rpc: Rpc, session: str) -> None:
    """It is said, not lost: also after the input has ended."""
    number = number_of(run(rpc, session, "sleep", "600", seconds=0))
    refused = act(rpc, session, "write", process=number, input="a\n")
    assert refused["isError"]
    assert "takes no input" in text_of(refused)
    act(rpc, session, "kill", process=number)
    act(rpc, session, "output", process=number, seconds=WAIT)
    refused = act(rpc, session, "write", process=number, input="a\n")
    assert f"process {number} has ended" in text_of(refused)


def test_a_write_needs_the_scope(
    gateway: Gateway, web: Web, session: str
) -> None:
    token = gateway.json("token", "create", "--json", "-s", "observe", "w")
    looker = Rpc(web.with_token(token["token"]))
    try:
        for action in ("write", "close"):
            arguments = {"action": action, "session": session, "process": 1}
            params = {"name": "session", "arguments": arguments}
            answer = looker.ask("tools/call", params)
            assert answer.status == 403, answer
    finally:
        gateway.run("token", "revoke", token["id"])


def test_results_for_programs(web: Web) -> None:
    rpc = Rpc(web, "/mcp/structured")
    session = rpc.call("execute", code="1")["structuredContent"]["session"]
    number = run(rpc, session, "cat", stdin="open", seconds=0)[
        "structuredContent"
    ]["process"]
    said = act(
        rpc, session, "write", process=number, input="a\n", seconds=WAIT
    )["structuredContent"]
    assert said["process"] == number
    assert said["stdout"] == "a\n"
    assert "exit_code" not in said
    over = act(rpc, session, "close", process=number, seconds=WAIT)
    assert over["structuredContent"]["exit_code"] == 0
    refused = act(rpc, session, "write", process=number, input="a")
    assert refused["structuredContent"]["status"] == "error"
    act(rpc, session, "end")


def read(rpc: Rpc, session: str, number: int, **more: Any) -> str:
    ref = f"process:{number}"
    result = rpc.call("read_output", session=session, ref=ref, **more)
    assert not result["isError"], result
    return text_of(result)


def test_all_lines_can_be_read(rpc: Rpc, session: str) -> None:
    """Lines that an answer has left out, also before the last 64 KiB."""
    done = run(rpc, session, "seq", "-f", "line %.0f", "30000")
    number = number_of(done)
    assert f"read_output ref=process:{number}" in text_of(done)
    assert "line 1500\n" not in text_of(done)
    shown = read(rpc, session, number, from_line=1500, lines=2)
    assert shown.splitlines() == [
        f"process:{number} lines 1,500 to 1,501 of 30,000; go on with "
        "from_line=1502",
        "line 1500",
        "line 1501",
    ]
    found = read(rpc, session, number, grep="^line 1234.$")
    assert found.splitlines()[0] == (
        f"process:{number} 10 lines match of 30,000"
    )
    assert len(read(rpc, session, number)) < 40_000


def test_what_is_gone_is_counted(rpc: Rpc, session: str) -> None:
    """The journal has the first MiB of each program."""
    size = (1 << 20) + (300 << 10)
    done = run(rpc, session, "sh", "-c", f"yes 1234567 | head -c {size}")
    shown = read(rpc, session, number_of(done), from_line=131_072, lines=1)
    gone, head, line = shown.splitlines()
    assert gone == (
        "these are the first 1048576 bytes that it wrote; 307200 more are "
        "not in the journal; its recent output has the last 64 KiB (HTTP: "
        "processes/N/output; MCP: session with action output)"
    )
    assert head.endswith("lines 131,072 to 131,072 of 131,072")
    assert line == "1234567"
    wrong = rpc.call(
        "read_output",
        session=session,
        ref=f"process:{number_of(done)}",
        grep="(",
    )
    assert wrong["isError"]
    assert text_of(wrong).startswith("grep is not a regular expression")


def test_output_is_read_while_it_runs(rpc: Rpc, session: str) -> None:
    script = "echo out; echo err >&2; exec cat"
    number = number_of(
        run(rpc, session, "sh", "-c", script, stdin="open", seconds=0)
    )
    wait_for(lambda: "err" in read(rpc, session, number), "what it has written")
    assert set(read(rpc, session, number).splitlines()[1:]) == {"out", "err"}
    act(rpc, session, "close", process=number, seconds=WAIT)


@pytest.mark.parametrize(
    ("ref", "sentence"),
    [
        ("process:4000", "the session has no process 4000"),
        ("process:x", "process:x is not a reference"),
        ("process:", "process: is not a reference"),
    ],
)
def test_a_reference_that_is_wrong(
    rpc: Rpc, session: str, ref: str, sentence: str
) -> None:
    result = rpc.call("read_output", session=session, ref=ref)
    assert result["isError"]
    assert sentence in text_of(result)


def test_output_outlives_its_session(rpc: Rpc) -> None:
    session = session_of(rpc.call("execute", code="1"))
    number = number_of(run(rpc, session, "echo", "kept"))
    act(rpc, session, "end")
    result = rpc.call("read_output", session=session, ref=f"process:{number}")
    loss, output = (block["text"] for block in result["content"])
    assert "STATE LOST: kernel ended" in loss
    assert output.splitlines()[1:] == ["kept"]
