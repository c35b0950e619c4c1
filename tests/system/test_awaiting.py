"""A cell that awaits gets the comm messages that come meanwhile, as a widget's
answer to its question; every other request keeps its place."""

from __future__ import annotations

from typing import Iterator

import pytest
from client import Client, Message, Turn, is_idle, parent_of
from deadline import DEADLINE
from harness import Gateway, Session

ASKING = """
import asyncio, comm
future = asyncio.get_running_loop().create_future()
channel = comm.create_comm(target_name='question')
channel.on_msg(lambda m: future.set_result(m['content']['data']['answer']))
print('asked', channel.comm_id)
print('got', await asyncio.wait_for(future, 600))
"""


@pytest.fixture
def gateway() -> Iterator[Gateway]:
    made = Gateway("--set", "profile/python3/pool/max=0")
    made.start()
    try:
        yield made
    finally:
        made.end()


@pytest.fixture
def session(gateway: Gateway) -> Session:
    return gateway.create()


def ask(client: Client) -> tuple[str, str]:
    """A cell that awaits an answer, and its comm."""
    cell = client.kc.execute(ASKING, allow_stdin=False)
    messages = client.stream_until(cell, "asked ")
    text = "".join(
        m["content"]["text"] for m in messages if m["msg_type"] == "stream"
    )
    return cell, text.split()[1]


def send(client: Client, comm: str, data: dict[str, str]) -> str:
    content = {"comm_id": comm, "data": data}
    return client.send("shell", "comm_msg", content)


def read_until_idle(client: Client, *ids: str) -> list[Message]:
    """All that is said until each of the requests has its idle."""
    messages: list[Message] = []
    left = set(ids)
    while left:
        messages.append(client.kc.get_iopub_msg(timeout=DEADLINE))
        left -= {msg_id for msg_id in left if is_idle(messages, msg_id)}
    return messages


def texts(messages: list[Message], msg_id: str) -> str:
    mine = [m for m in messages if parent_of(m) == msg_id]
    return Turn({"content": {}}, mine).stream()


def test_the_answer_overtakes_the_cells_that_wait(session: Session) -> None:
    with session.client() as client:
        cell, comm = ask(client)
        # As after Run All: what follows is queued already.
        behind = client.kc.execute("print('after', future.result())")
        session.wait_journaled([behind])
        answer = send(client, comm, {"answer": "yes"})
        said = read_until_idle(client, cell, behind, answer)
        assert texts(said, cell) == "got yes\n"
        assert texts(said, behind) == "after yes\n"
        states = [
            (parent_of(message), message["content"]["execution_state"])
            for message in said
            if message["msg_type"] == "status"
        ]
        # A frontend shows the last one: the cell goes on.
        assert states[:3] == [
            (answer, "busy"),
            (answer, "idle"),
            (cell, "busy"),
        ]


def test_a_cell_that_does_not_await_keeps_the_order(session: Session) -> None:
    with session.client() as client:
        code = (
            "import comm, os, time\n"
            "def heard(m): print('heard', 'later' in globals())\n"
            "channel = comm.create_comm(target_name='t')\n"
            "channel.on_msg(heard)\n"
            "print('comm', channel.comm_id)\n"
            "while not os.path.exists('go'): time.sleep(0.01)"
        )
        cell = client.kc.execute(code, allow_stdin=False)
        messages = client.stream_until(cell, "comm ")
        comm = messages[-1]["content"]["text"].split()[1]
        later = client.kc.execute("later = 1", allow_stdin=False)
        message = send(client, comm, {})
        session.wait_journaled([later, message])
        session.gateway.run("files", "put", session.id, "-", "go", stdin="")
        said = read_until_idle(client, cell, later, message)
        assert texts(said, message) == "heard True\n"


def test_the_next_gateway_passes_the_answer_on(
    gateway: Gateway, session: Session
) -> None:
    with session.client() as client:
        cell, comm = ask(client)
        gateway.kill()
        gateway.start()
        client.subscribed()
        answer = send(client, comm, {"answer": "still"})
        said = read_until_idle(client, cell, answer)
        assert texts(said, cell) == "got still\n"
        assert client.reply(cell)["content"]["status"] == "ok"
    assert session.show()["state"] == "idle"
