"""Host tools when who answers, or the gateway, is away: nothing hangs."""

from __future__ import annotations

from typing import Any, Iterator

import pytest
from deadline import wait_for
from harness import Gateway
from records import wait_record
from test_tools import ADD, Provider, add, path_of, run
from web import Kernel, Socket, Web, of_type, text_of

LIMITED = (
    "--set",
    "sessions/tool_grace=5s",
    "--set",
    "profile/python3/limits/tool_seconds=8",
    "--set",
    "profile/python3/limits/tool_calls=5",
    "--set",
    "profile/python3/limits/tool_waiting=3",
    "--set",
    "profile/python3/limits/tool_argument_bytes=2K",
    "--set",
    "profile/python3/limits/tool_result_bytes=2K",
    "--set",
    "profile/python3/tools/allow=add, web.*",
)
CODE = "from hearth import tools, ToolError\n"


@pytest.fixture(scope="module")
def limited() -> Iterator[Web]:
    gateway = Gateway(*LIMITED).start()
    try:
        yield Web.of(gateway)
    finally:
        gateway.end()


@pytest.fixture
def short(limited: Web) -> Iterator[Kernel]:
    made = Kernel(limited, limited.create())
    yield made
    made.close()


def reason(found: Any) -> str:
    (reply,) = of_type(found, "execute_reply")
    assert reply["content"]["ename"] == "ToolError", reply["content"]
    text: str = reply["content"]["evalue"]
    return text


def test_a_call_whose_provider_has_gone_fails_at_once(
    limited: Web, short: Kernel
) -> None:
    Provider(limited, short.id)
    with short.socket() as ws:
        said = ""
        while "is not connected" not in said:
            said = reason(ws.run(f"{CODE}tools.add(1, 2)"))
    assert "`agent`" in said
    assert "/hearth/sessions/ID/tools/calls" in said


def test_a_call_that_is_not_answered_fails(limited: Web, short: Kernel) -> None:
    provider = Provider(limited, short.id)
    with short.socket() as ws:
        msg_id = ws.execute(f"{CODE}tools.add(1, 2)")
        (call,) = provider.take_some(1)
        assert "no answer came in 8 s" in reason(ws.finish(msg_id))
    assert provider.reply(call, add(call)) == 409


def test_limits_of_a_cell_are_errors_of_its_calls(
    limited: Web, short: Kernel
) -> None:
    provider = Provider(limited, short.id).start()
    say = "\nexcept ToolError as error: print(error.reason, error)"
    seen = run(
        short,
        f"for i in range(6):\n  try: tools.add(i, 0)\n  {say.strip()}",
    )
    assert seen.startswith("limit add: the limit tool_calls is reached")
    seen = run(short, f"try: tools.add('x' * 3000, 0){say}")
    assert "tool_argument_bytes" in seen
    provider.answer = lambda call: {"result": "x" * 3000}
    seen = run(short, f"try: tools.add(1, 0){say}")
    assert "tool_result_bytes" in seen
    wait_for(lambda: provider.statuses[-1:] == [400], "the refused answer")
    provider.close()
    waiting = Provider(limited, short.id)
    with short.socket() as ws:
        msg_id = ws.execute(
            f"{CODE}import asyncio\nprint(*[getattr(one, 'reason', one) for "
            "one in await asyncio.gather(*(tools.add(i, 0) for i in range(4)),"
            " return_exceptions=True)])"
        )
        for call in waiting.take_some(3):
            waiting.reply(call, add(call))
        assert text_of(ws.finish(msg_id)) == "0 1 2 limit\n"


def test_a_profile_says_which_tools_there_may_be(
    limited: Web, short: Kernel
) -> None:
    answer = limited.ask(
        "PUT", path_of(short.id), {"tools": [ADD, {"name": "rm"}]}
    )
    assert answer.status == 403
    assert "profile/python3/tools/allow" in answer.json["message"]
    Provider(limited, short.id, [{"name": "web.get"}])


def test_a_session_may_have_lower_limits(limited: Web) -> None:
    kernel = Kernel(limited, limited.create(limits={"tool_calls": 1}))
    provider = Provider(limited, kernel.id).start()
    seen = run(
        kernel,
        "tools.add(1, 2)\ntry: tools.add(1, 2)\n"
        "except ToolError as error: print(error)",
    )
    assert "the number of calls of one cell is at most 1" in seen
    assert limited.get(path_of(kernel.id)).json["limits"]["tool_calls"] == 1
    provider.close()
    kernel.close()


def test_a_session_calls_only_the_tools_that_it_was_given(
    limited: Web,
) -> None:
    # Created by the command line, so that one of the pool may be handed out.
    gateway = limited.gateway
    session = gateway.json("session", "create", "--tools", "web.*", "--json")
    assert session["tools"] == ["web.*"]
    kernel = Kernel(limited, session["id"])
    provider = Provider(limited, kernel.id, [ADD, {"name": "web.get"}]).start()
    provider.answer = lambda call: {"result": call["name"]}
    listed = limited.get(path_of(kernel.id)).json["tools"]
    assert {tool["name"]: tool["permitted"] for tool in listed} == {
        "add": False,
        "web.get": True,
    }
    seen = run(
        kernel,
        "print(tools, list(tools), 'add' in tools)\n"
        "print(tools['web.get']())\ntry: tools.add(1, 2)\n"
        "except ToolError as error: print(error.reason, error)",
    )
    assert seen == (
        "<host tools: web.get> ['web.get'] False\nweb.get\nnot_permitted add: "
        "this session may not call it; it may call: web.*\n"
    )
    assert [call["name"] for call in provider.seen] == ["web.get"]
    refused = wait_record(
        gateway, event="tool_call", session=kernel.id, outcome="not_permitted"
    )
    assert refused["tool"] == "add"
    provider.close()
    kernel.close()


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (["add", "rm"], "does not permit `rm`"),
        (["*"], "profile/python3/tools/allow"),
        ("add", "must be an array"),
        ([5], "is not the name of a host tool"),
    ],
)
def test_a_list_that_is_refused(limited: Web, asked: Any, said: str) -> None:
    answer = limited.post("/api/kernels", {"tools": asked})
    assert answer.status == 400
    assert said in answer.json["message"]


def test_the_list_outlives_the_gateway(mortal: Gateway) -> None:
    web = Web.of(mortal)
    kernel = Kernel(web, web.create(tools=[]))
    mortal.kill()
    mortal.start()
    web.renew()
    provider = Provider(web, kernel.id).start()
    code = "try: tools.add(1, 2)\nexcept ToolError as error: print(error)"
    assert "this session may call no host tool" in run(kernel, code)
    provider.close()
    kernel.close()


def test_tools_can_be_off() -> None:
    gateway = Gateway("--set", "profile/python3/tools/enabled=no").start()
    try:
        web = Web.of(gateway)
        kernel = Kernel(web, web.create())
        answer = web.ask("PUT", path_of(kernel.id), {"tools": [ADD]})
        assert answer.status == 403
        assert "profile/python3/tools/enabled" in answer.json["message"]
        kernel.close()
    finally:
        gateway.end()


def test_a_call_outlives_its_gateway(mortal: Gateway) -> None:
    web = Web.of(mortal)
    kernel = Kernel(web, web.create())
    provider = Provider(web, kernel.id)
    ws = kernel.socket()
    first = ws.execute(f"{CODE}print(tools.add(1, 2) + tools.add(3, 4))")
    (call,) = provider.take_some(1)
    mortal.kill()
    mortal.start()
    web.renew()
    again = Socket(web, kernel.id)
    # Who had it answers it to the next gateway.
    assert provider.reply(call, add(call)) == 200
    # Who asks anew is offered what is open.
    (other,) = provider.take_some(1)
    mortal.kill()
    mortal.start()
    web.renew()
    provider.after = 0
    assert provider.take_some(1) == [
        {**other, "seconds_left": provider.seen[-1]["seconds_left"]}
    ]
    third = Socket(web, kernel.id)
    assert provider.reply(other, add(other)) == 200
    wait = third.execute("'next'")
    third.finish(wait)
    again.close()
    third.close()
    notebook = mortal.json("notebook", "export", kernel.id)
    (cell, _) = [c for c in notebook["cells"] if c["cell_type"] == "code"]
    assert "10" in str(cell["outputs"])
    assert first
    kernel.close()


def test_a_call_fails_when_its_provider_does_not_follow(
    mortal: Gateway,
) -> None:
    mortal.options += ["--set", "sessions/tool_grace=0.3s"]
    web = Web.of(mortal)
    kernel = Kernel(web, web.create())
    Provider(web, kernel.id)
    with kernel.socket() as ws:
        ws.execute(f"{CODE}tools.add(1, 2)")
        ws.until(lambda m: m["header"]["msg_type"] == "execute_input")
        mortal.kill()
    mortal.start()
    web.renew()
    with Socket(web, kernel.id) as ws:
        found = ws.run("'next'")
        (reply,) = of_type(found, "execute_reply")
        assert reply["content"]["status"] == "aborted" or of_type(
            found, "execute_result"
        )
    notebook = mortal.json("notebook", "export", kernel.id)
    (cell, *_) = [c for c in notebook["cells"] if c["cell_type"] == "code"]
    assert "the process that answers it (provider `agent`)" in str(
        cell["outputs"]
    )
    kernel.close()
