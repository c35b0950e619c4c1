"""Commands beside the kernel, by the tool `session`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from deadline import DEADLINE, wait_for
from harness import Gateway
from rpc import (
    LEGACY,
    NEWEST,
    Rpc,
    head_of,
    session_of,
    streamed,
    text_of,
)
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


def run(
    rpc: Rpc, session: str, command: str, seconds: float = WAIT, **more: Any
) -> Any:
    return act(rpc, session, "run", command=command, seconds=seconds, **more)


def number_of(result: Any) -> int:
    return int(head_of(result).split("]")[0].split()[1])


def test_runs_to_its_end(rpc: Rpc, session: str) -> None:
    done = run(rpc, session, "echo out; echo err >&2; pwd")
    assert not done["isError"]
    assert "] it exited with 0 · session " in head_of(done)
    lines = text_of(done).splitlines()[1:]
    assert lines == ["out", "/workspace", "stderr:", "err"]


def test_the_streams_are_apart(rpc: Rpc, session: str) -> None:
    """Also where a line has no end, or only one of them was written."""
    command = "printf a; printf b >&2; printf c; printf d >&2"
    done = run(rpc, session, command)
    assert text_of(done).splitlines()[1:] == ["ac", "stderr:", "bd"]
    done = run(rpc, session, "echo only >&2; exit 1")
    assert text_of(done).splitlines()[1:] == ["stderr:", "only"]
    again = act(rpc, session, "output", process=number_of(done))
    assert text_of(again).splitlines()[1:] == ["stderr:", "only"]
    long = text_of(run(rpc, session, "seq 100000; echo last >&2"))
    assert "bytes left out" in long
    assert long.endswith("\n100000\nstderr:\nlast\n")


def test_ends_after_its_timeout(rpc: Rpc, session: str) -> None:
    done = run(rpc, session, "echo begun; sleep 600 & sleep 600", timeout=3)
    assert done["isError"]
    assert "its time limit of 3 s was over" in head_of(done)
    assert text_of(done).endswith("\nbegun\n")


@pytest.mark.parametrize("seconds", [600.5, -1, 1e300])
def test_a_wait_that_is_too_long_is_refused(
    rpc: Rpc, session: str, seconds: float
) -> None:
    """Not shortened: nothing is run that would be answered too early."""
    for action, more in (("run", {"command": "touch ran"}), ("output", {})):
        result = act(rpc, session, action, seconds=seconds, process=1, **more)
        assert result["isError"]
        assert "seconds must be 0 to 600" in text_of(result)
    listed = act(rpc, session, "processes", seconds=seconds)
    assert not listed["isError"]  # it does not wait
    command = "test ! -e ran"
    most = act(rpc, session, "run", command=command, seconds=600)
    assert not most["isError"]


def test_a_failure_is_an_error(rpc: Rpc, session: str) -> None:
    failed = run(rpc, session, "echo before; exit 3")
    assert failed["isError"]
    assert "it exited with 3" in head_of(failed)
    assert text_of(failed).endswith("before\n")
    killed = run(rpc, session, "kill -9 $$")
    assert killed["isError"]


def test_progress_is_the_last_line_of_its_output(
    rpc: Rpc, session: str
) -> None:
    """A client that wants notices gets them while the program runs."""
    waiting = "until test -e go; do sleep 0.1; done; rm go; echo went"
    params = {
        "name": "session",
        "arguments": {
            "session": session,
            "action": "run",
            "command": f"printf 'begun\\n10%%\\r55%%'; {waiting}",
            "seconds": WAIT,
        },
    }
    with streamed(rpc, params, {"progressToken": "p"}) as messages:
        first, second = next(messages), next(messages)
        rpc.call("execute", code="open('go', 'w').close()", session=session)
        (*_, last) = messages
    assert first["method"] == "notifications/progress"
    assert first["params"]["progressToken"] == "p"
    assert first["params"]["message"] == "55%"
    assert 0 < first["params"]["progress"] < second["params"]["progress"]
    assert not last["result"]["isError"]
    assert text_of(last["result"]).endswith("55%went\n")


def test_goes_on_beside_the_kernel(rpc: Rpc, session: str) -> None:
    started = run(
        rpc, session, "until test -e go; do sleep 0.1; done; echo went", 0
    )
    number = number_of(started)
    assert "RUNNING" in head_of(started)
    assert not started["isError"]
    listed = text_of(act(rpc, session, "processes"))
    assert f"\n{number}\trunning\t" in listed
    assert "until test" in listed
    rpc.call("execute", code="open('go', 'w').close()", session=session)
    more = act(rpc, session, "output", process=number, seconds=WAIT)
    assert "went\n" in text_of(more)
    listing = f"\n{number}\tit exited with 0\t"
    wait_for(
        lambda: listing in text_of(act(rpc, session, "processes")),
        "its end is listed",
    )
    # What has ended is read at once, without a wait.
    again = act(rpc, session, "output", process=number, seconds=0)
    assert "it exited with 0" in head_of(again)
    assert text_of(again).endswith("went\n")
    rpc.call("execute", code="import os; os.remove('go')", session=session)


def test_is_ended(rpc: Rpc, session: str) -> None:
    number = number_of(run(rpc, session, "sleep 600", 0))
    assert not act(rpc, session, "kill", process=number)["isError"]
    over = act(rpc, session, "output", process=number, seconds=WAIT)
    assert over["isError"]
    assert "RUNNING" not in head_of(over)


def test_gets_a_signal(rpc: Rpc, session: str) -> None:
    """It goes on after one that it handles; the kill would have ended it."""
    act(rpc, session, "run", command="rm -f hits")
    script = "trap 'echo >> hits' INT; echo > on; while :; do sleep 0.05; done"
    number = number_of(run(rpc, session, script, 0))

    def is_there(name: str) -> bool:
        return not run(rpc, session, f"test -e {name}")["isError"]

    wait_for(lambda: is_there("on"), "a trap")
    for signal in ("SIGINT", "INT"):
        sent = act(rpc, session, "kill", process=number, signal=signal)
        assert not sent["isError"]
        assert text_of(sent) == "the signal was sent"
        wait_for(lambda: is_there("hits"), "a hit")
        run(rpc, session, "rm hits")
    listed = text_of(act(rpc, session, "processes"))
    assert f"\n{number}\trunning\t" in listed
    act(rpc, session, "kill", process=number, signal="SIGKILL")
    over = act(rpc, session, "output", process=number, seconds=WAIT)
    assert "signal 9 ended it" in head_of(over)
    run(rpc, session, "rm -f on hits")


def test_a_signal_is_a_name(rpc: Rpc, session: str) -> None:
    """A number is refused, also as a text, and nothing is sent."""
    number = number_of(run(rpc, session, "sleep 600", 0))
    for signal, said in (
        (9, "signal must be of type string"),
        ("9", "such as SIGINT, SIGTERM or SIGKILL"),
        ("", "such as SIGINT, SIGTERM or SIGKILL"),
        ("SIGNONE", "such as SIGINT, SIGTERM or SIGKILL"),
    ):
        refused = act(rpc, session, "kill", process=number, signal=signal)
        assert refused["isError"]
        assert said in text_of(refused)
    listed = text_of(act(rpc, session, "processes"))
    assert f"\n{number}\trunning\t" in listed
    act(rpc, session, "kill", process=number)


def test_folder_environment_and_input(rpc: Rpc, session: str) -> None:
    act(rpc, session, "run", command="mkdir -p sub")
    done = act(
        rpc,
        session,
        "run",
        command='pwd; printf "%s\\n" "$A"; cat; echo end',
        cwd="sub",
        env={"A": "x  y\u00e9"},
        input="in\n\u00e9\n",
        seconds=WAIT,
    )
    assert text_of(done).splitlines()[1:] == [
        *("/workspace/sub", "x  y\u00e9", "in", "\u00e9", "end")
    ]
    # As much as may come at the start, with what the keeper holds.
    done = act(
        rpc,
        session,
        "run",
        command="sleep 0.1; wc -c",
        input="x" * (256 << 10),
        seconds=WAIT,
    )
    assert text_of(done).splitlines()[1] == str(256 << 10)


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({"cwd": "nowhere"}, "the working folder: No such file"),
        ({"cwd": ""}, "cwd must be a path"),
        ({"env": {"A": 1}}, "env: 'A': a name must"),
        ({"env": {"A=B": "x"}}, "env: 'A=B': a name must"),
        ({"env": []}, "env must be of type object"),
        ({"input": 1}, "input must be of type string"),
        ({"timeout": 0}, "timeout must be a number of seconds above 0"),
        ({"timeout": "1"}, "timeout must be of type number"),
        ({"input": "x" * ((256 << 10) + 1)}, "input has 262145 bytes"),
    ],
)
def test_what_cannot_be_run(
    rpc: Rpc, session: str, more: Any, sentence: str
) -> None:
    result = act(rpc, session, "run", command="true", **more)
    assert result["isError"]
    assert sentence in text_of(result)


def test_output_is_plain(rpc: Rpc, session: str) -> None:
    """No control sequence reaches the model; lines are as a terminal shows
    them."""
    done = run(
        rpc,
        session,
        r"printf '\033[31mred\033[0m\n\033]0;title\007 10%%\r 20%%\nabc\b\bX\n'"
        r"; printf '\377bytes \303\251\n'",
    )
    assert text_of(done).splitlines()[1:] == [
        *("red", " 20%", "aXc", "\ufffdbytes \u00e9")
    ]
    # Letters stay whole where the output is cut.
    reported = text_of(
        run(rpc, session, "yes \u00e9\u00e9\u00e9 | head -n 9000")
    )
    lines = set(reported.splitlines()[1:])
    assert "\u00e9\u00e9\u00e9" in lines
    assert "?" not in reported


def test_a_command_runs_once_under_its_key(rpc: Rpc, session: str) -> None:
    key = {"hearth/key": f"turn of {rpc.era}"}
    act(rpc, session, "run", command="rm -f runs go")
    command = "echo x >> runs; until test -e go; do sleep 0.1; done; wc -l runs"
    first = act(rpc, session, "run", _meta=key, command=command, seconds=0)
    assert "RUNNING" in head_of(first)
    again = act(rpc, session, "run", _meta=key, command=command, seconds=0)
    assert number_of(again) == number_of(first)
    act(rpc, session, "run", command="touch go")
    for _ in range(2):
        done = act(
            rpc, session, "run", _meta=key, command=command, seconds=WAIT
        )
        assert number_of(done) == number_of(first)
        assert text_of(done).splitlines()[1] == "1 runs"
    for other in ({"command": "id"}, {"command": command, "input": "y"}):
        refused = act(rpc, session, "run", _meta=key, **other)
        assert refused["isError"]
        assert "Something else was started before under this key" in text_of(
            refused
        )
    wrong = act(rpc, session, "run", _meta={"hearth/key": ""}, command="id")
    assert "must be a text of 1 to 255 bytes" in text_of(wrong)


def test_a_command_that_cannot_start_is_not_tried_again(
    rpc: Rpc, session: str
) -> None:
    key = {"hearth/key": f"wrong folder, {rpc.era}"}
    command = f"true # {rpc.era}"
    for _ in range(2):
        result = act(
            rpc, session, "run", _meta=key, command=command, cwd="nowhere"
        )
        assert "the working folder: No such file" in text_of(result)
    assert text_of(act(rpc, session, "processes")).count(command) == 1


def test_long_output_is_cut_in_its_middle(rpc: Rpc, session: str) -> None:
    reported = text_of(run(rpc, session, "seq 100000"))
    assert "\n1\n2\n" in reported
    assert reported.endswith("\n99999\n100000\n")
    assert "bytes left out" in reported
    assert len(reported) < 17_000


@pytest.mark.parametrize(
    ("action", "more", "sentence"),
    [
        ("run", {}, "command is missing"),
        ("output", {}, "process is missing"),
        ("kill", {}, "process is missing"),
        ("output", {"process": 4000}, "no process 4000"),
        ("kill", {"process": 4000}, "no process 4000"),
    ],
)
def test_what_is_wrong_is_said(
    rpc: Rpc, session: str, action: str, more: Any, sentence: str
) -> None:
    result = act(rpc, session, action, **more)
    assert result["isError"]
    assert sentence in text_of(result)


def test_who_may(gateway: Gateway, web: Web, session: str) -> None:
    token = gateway.json("token", "create", "--json", "-s", "observe", "t")
    looker = Rpc(web.with_token(token["token"]))
    try:
        assert not act(looker, session, "processes")["isError"]
        for action in ("run", "kill"):
            params = {
                "name": "session",
                "arguments": {
                    "action": action,
                    "session": session,
                    "command": "id",
                    "process": 1,
                },
            }
            answer = looker.ask("tools/call", params)
            assert answer.status == 403, answer
    finally:
        gateway.run("token", "revoke", token["id"])
