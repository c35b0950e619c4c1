"""Requests that run no cell, and comms."""

from gateway import kinds, only, text


def test_completion(kernel):
    kernel.run("alpha, albert = 1, 2")
    reply = kernel.ask("COMPLETE", code="al", cursor_pos=2)
    assert reply["status"] == "ok"
    assert {"alpha", "albert"} <= set(reply["matches"])
    assert (reply["cursor_start"], reply["cursor_end"]) == (0, 2)
    typed = reply["metadata"]["_jupyter_types_experimental"]
    assert [item["text"] for item in typed] == reply["matches"]
    reply = kernel.ask("COMPLETE", code="import json\njson.", cursor_pos=None)
    assert "dumps" in "".join(reply["matches"])
    assert kernel.ask("COMPLETE", code="qqqq", cursor_pos=4)["matches"] == []


def test_inspection(kernel):
    kernel.run("def f(a):\n    'doc of f'\n    return a")
    reply = kernel.ask("INSPECT", code="f(", cursor_pos=2, detail_level=0)
    assert reply["found"] is True
    assert "doc of f" in reply["data"]["text/plain"]
    reply = kernel.ask("INSPECT", code="f", cursor_pos=1, detail_level=1)
    assert "Source:" in reply["data"]["text/plain"].replace("\x1b[31m", "")
    reply = kernel.ask("INSPECT", code="nothing", cursor_pos=3)
    assert reply["found"] is False
    assert reply["data"] == {}


def test_is_complete(kernel):
    def status(code):
        return kernel.ask("IS_COMPLETE", code=code)

    assert status("2+2") == {"status": "complete"}
    assert status("raise = 2") == {"status": "invalid"}
    assert status("a = [1,\n2,") == {"status": "incomplete", "indent": ""}
    assert status("for i in x:")["indent"] == "    "
    assert status("%%timeit\na\n\n") == {"status": "complete"}


def test_replay_guard(kernel):
    kernel.run("first = 1")
    kernel.run("second = 2")
    kernel.run("first")

    def lines(**content):
        content = {"output": False, "raw": True, **content}
        return kernel.ask("HISTORY", **content)["history"]

    assert lines(hist_access_type="tail", n=1) == [[0, 3, "first"]]
    assert lines(hist_access_type="range", session=0, start=1, stop=2) == [
        [0, 1, "first = 1"]
    ]
    assert lines(hist_access_type="search", pattern="*d = 2", n=1) == [
        [0, 2, "second = 2"]
    ]
    assert lines(hist_access_type="tail", n=1, output=True) == [
        [0, 3, ["first", "1"]]
    ]


def test_a_bad_request_is_answered(kernel):
    reply = kernel.ask("COMPLETE")
    assert reply["status"] == "error"
    assert reply["ename"] == "KeyError"
    assert kernel.value("1") == "1"


COMM = """
from comm import create_comm, get_comm_manager
def opened(comm, message):
    print('opened', message['content']['data'])
    def said(message):
        print('said', message['content']['data'], bytes(message['buffers'][0]))
        comm.send({'pong': 1}, buffers=[b'abc', memoryview(b'de')])
    comm.on_msg(said)
get_comm_manager().register_target('target', opened)
"""


def test_comms(kernel):
    kernel.run(COMM)
    one = {"comm_id": "one", "target_name": "target", "data": {"x": 1}}
    events = kernel.until_reply(kernel.send("COMM_OPEN_IN", one))
    assert text(events) == "opened {'x': 1}\n"
    found = kernel.ask("COMM_INFO")["comms"]
    assert found == {"one": {"target_name": "target"}}
    assert kernel.ask("COMM_INFO", target_name="no")["comms"] == {}
    message = {"comm_id": "one", "data": {"ping": 1}}
    request = kernel.send("COMM_MSG_IN", message, buffers=[b"\0\1"])
    events = kernel.until_reply(request)
    assert text(events) == "said {'ping': 1} b'\\x00\\x01'\n"
    answer = only(events, "COMM_MSG")
    assert answer.content == {"comm_id": "one", "data": {"pong": 1}}
    assert answer.buffers == [b"abc", b"de"]
    assert events[-1].content == {}
    closing = {"comm_id": "one", "data": {}}
    kernel.until_reply(kernel.send("COMM_CLOSE_IN", closing))
    assert kernel.ask("COMM_INFO")["comms"] == {}


WAITING = """
import asyncio, comm
future = asyncio.get_running_loop().create_future()
channel = comm.create_comm(target_name='question')
def heard(message):
    data = message['content']['data']
    print('heard', data)
    if data == 'stuck':
        while True:
            pass
    if data == 'wrong':
        raise ValueError(data)
    if not future.done():
        future.set_result(data)
channel.on_msg(heard)
print('asked')
answer = await future
print('got', answer)
"""


def ask(kernel):
    """Run a cell that awaits a comm message; return it and the comm's id."""
    cell = kernel.execute(WAITING)
    events = []
    while "AWAITING" not in kinds(events) or "asked\n" not in text(events):
        events.append(kernel.event())
    assert only(events, "AWAITING").request == cell
    return cell, only(events, "COMM_OPEN").content["comm_id"]


def test_a_cell_that_awaits_a_comm_message_gets_it(kernel):
    cell, comm_id = ask(kernel)
    # Its number is past that of a cell that waits in the gateway.
    number = kernel.number + 2
    message = {"comm_id": comm_id, "data": "yes"}
    kernel.send("COMM_MSG_IN", message, request=number)
    events = kernel.until_reply(cell)
    said = [
        (event.request, event.kind, event.content.get("text"))
        for event in events
        if event.kind in ("STREAM", "REPLY")
    ]
    assert said == [
        (number, "STREAM", "heard yes\n"),
        (number, "REPLY", None),
        (cell, "STREAM", "got yes\n"),
        (cell, "REPLY", None),
    ]
    assert kernel.value("answer") == "'yes'"  # the number below is served
    repeated = {"comm_id": comm_id, "data": "again"}
    kernel.send("COMM_MSG_IN", repeated, request=number)
    kernel.number += 1
    assert "again" not in text(kernel.run("1"))


def test_a_message_to_a_cell_that_awaits_fails_alone(kernel):
    cell, comm_id = ask(kernel)
    wrong = {"comm_id": comm_id, "data": "wrong"}
    kernel.until_reply(kernel.send("COMM_MSG_IN", wrong))
    kernel.send("COMM_MSG_IN", {"comm_id": comm_id, "data": "right"})
    assert "got right\n" in text(kernel.until_reply(cell))


def test_an_interrupt_ends_the_handler_and_another_one_the_cell(kernel):
    cell, comm_id = ask(kernel)
    stuck = kernel.send("COMM_MSG_IN", {"comm_id": comm_id, "data": "stuck"})
    while "heard stuck\n" not in text([kernel.event()]):
        pass
    kernel.interrupt()
    events = kernel.until_reply(stuck)
    assert events[-1].content["ename"] == "KeyboardInterrupt"
    events = kernel.interrupt_until_reply(cell)
    assert events[-1].content["ename"] == "KeyboardInterrupt"
    assert kernel.value("1") == "1"


def test_a_gateway_that_comes_back_learns_that_the_cell_awaits(kernel):
    assert kernel.connect()["awaiting"] is False
    cell, comm_id = ask(kernel)
    assert kernel.connect()["awaiting"] is True
    kernel.send("COMM_MSG_IN", {"comm_id": comm_id, "data": "yes"})
    kernel.until_reply(cell)
    assert kernel.connect()["awaiting"] is False


def test_an_unknown_target_is_closed(kernel):
    content = {"comm_id": "x", "target_name": "absent", "data": {}}
    events = kernel.until_reply(kernel.send("COMM_OPEN_IN", content))
    assert only(events, "COMM_CLOSE").content["comm_id"] == "x"


def test_widgets(kernel):
    code = "import ipywidgets\nw = ipywidgets.IntSlider(value=7)\nw"
    events = kernel.run(code)
    if events[-1].content.get("ename") == "ModuleNotFoundError":
        return
    assert "COMM_OPEN" in kinds(events)
    data = only(events, "RESULT").content["data"]
    model = data["application/vnd.jupyter.widget-view+json"]["model_id"]
    update = {
        "comm_id": model,
        "data": {"method": "update", "state": {"value": 9}},
    }
    kernel.until_reply(kernel.send("COMM_MSG_IN", update))
    assert kernel.value("w.value") == "9"
