"""The link: connections, acknowledgements, what is retained."""

import pytest

from gateway import LONG, kinds, only, text


def test_events_are_counted_and_sent_again_until_acknowledged(kernel):
    kernel.auto_ack = False
    events = kernel.run("print('a')\n1")
    seqs = [event.seq for event in events]
    assert seqs == [2, 3, 4]
    welcome = kernel.connect(acked=2)
    assert welcome == {
        "protocol": 1,
        "last": 4,
        "lost": False,
        "busy": 0,
        "awaiting": False,
        "tools": True,
        "struck": True,
        "looks": True,
    }
    again = [kernel.event(), kernel.event()]
    assert again == events[1:]
    # What was acknowledged is forgotten, and the kernel says so.
    assert kernel.connect(acked=0)["lost"] is True
    assert kernel.connect(acked=4)["lost"] is False
    with pytest.raises(TimeoutError):
        kernel.event(0.5)


def test_a_kernel_computes_without_a_gateway(kernel):
    request = kernel.execute(
        "import os, time\n"
        "for i in range(5):\n    print(i); time.sleep(0.01)\n"
        "while not os.path.exists('now'): time.sleep(0.01)"
    )
    events = [kernel.event()]
    kernel.close()
    welcome = kernel.connect()
    assert welcome["busy"] == request
    kernel.path.with_name("now").touch()
    events += kernel.until_reply(request)
    assert text(events) == "0\n1\n2\n3\n4\n"
    assert [e.seq for e in events] == list(range(2, 2 + len(events)))


def test_a_request_that_is_repeated_runs_once(kernel):
    kernel.run("n = 0")
    request = kernel.execute("n += 1")
    kernel.until_reply(request)
    kernel.connect()
    kernel.send("EXECUTE", {"code": "n += 1"}, request=request)
    assert kernel.value("n") == "1"


def test_a_newer_connection_replaces_the_older(kernel):
    old = kernel.socket
    kernel.socket = None
    kernel.connect()
    old.settimeout(LONG)
    assert old.recv(1) == b""
    assert kernel.value("1") == "1"


def test_another_protocol_is_refused(kernel):
    assert "error" in kernel.connect(protocol=2)
    with pytest.raises(EOFError):
        kernel.event()
    kernel.connect()
    assert kernel.value("1") == "1"


def test_retained_events_are_bounded(fork):
    kernel = fork(retain=1 << 20)
    kernel.auto_ack = False
    request = kernel.execute(
        "for i in range(64): print(str(i % 10) * (1 << 16))"
    )
    seen = kernel.until_silence()
    assert 0 < len(text(seen)) < 3 << 20
    kernel.ack(seen[-1].seq)
    kernel.auto_ack = True
    seen += kernel.until_reply(request)
    assert len(text(seen)) == 64 * ((1 << 16) + 1)


def test_a_blocked_kernel_can_be_interrupted(fork):
    kernel = fork(retain=1 << 18)
    kernel.auto_ack = False
    request = kernel.execute("while True: print('x' * 1000)")
    seen = kernel.until_silence()
    kernel.interrupt()
    kernel.ack(seen[-1].seq)
    kernel.auto_ack = True
    events = kernel.until_reply(request)
    assert events[-1].content["ename"] == "KeyboardInterrupt"


def test_subprocesses_wait_for_room_too(fork):
    kernel = fork(retain=1 << 20)  # the least that hearth.cfg permits
    kernel.auto_ack = False
    request = kernel.execute(
        "import subprocess\n"
        "subprocess.run(['head', '-c', '3000000', '/dev/zero']).returncode"
    )
    seen = kernel.until_silence()
    # Into an empty row goes one whole event, however large, and no more.
    assert len(text(seen)) < 2_000_000
    kernel.ack(seen[-1].seq)
    kernel.auto_ack = True
    seen += kernel.until_reply(request)
    assert len(text(seen)) == 3_000_000
    assert only(seen, "RESULT").content["data"]["text/plain"] == "0"


def test_requests_in_a_row_are_served_in_a_row(kernel):
    requests = [kernel.execute(f"{i}") for i in range(100)]
    counts = [
        kernel.until_reply(request)[-1].content["execution_count"]
        for request in requests
    ]
    assert counts == list(range(1, 101))


def test_large_output_arrives_whole(kernel):
    events = kernel.run(
        "display({'text/plain': 'x', 'image/png': 'A' * 20_000_000}, raw=True)"
    )
    assert kinds(events) == ["DISPLAY", "REPLY"]
    assert len(events[0].content["data"]["image/png"]) == 20_000_000


def test_large_output_beside_quotes_and_brackets(kernel):
    text = 'a "quoted\\\\ [{ part\\\\'
    events = kernel.run(
        f"display({{'text/plain': {text!r}, 'image/png': 'A' * 100_000,"
        " 'image/jpeg': 'B' * 100_000}, raw=True)"
    )
    assert kinds(events) == ["DISPLAY", "REPLY"]
    assert events[0].content["data"] == {
        "text/plain": text,
        "image/png": "A" * 100_000,
        "image/jpeg": "B" * 100_000,
    }


def test_large_output_nests_no_deeper_than_others(kernel):
    events = kernel.run(
        "deep = []\nfor _ in range(200): deep = [deep]\n"
        "display({'application/json': deep, 'image/png': 'A' * 100_000},"
        " raw=True)"
    )
    assert kinds(events) == ["ERROR", "REPLY"]
    assert events[0].content["ename"] == "ValueError"


def test_shutdown_runs_exit_handlers(kernel):
    kernel.run("import atexit; atexit.register(print, 'bye')")
    request = kernel.send("SHUTDOWN", {"restart": False})
    events = kernel.until_reply(request)
    assert text(events) == "bye\n"
    assert events[-1].content == {"status": "ok", "restart": False}
    assert kernel.is_gone()


def test_os_exit_says_what_was_printed(kernel):
    kernel.execute("import os\nprint('a')\nprint('last words')\nos._exit(3)")
    events = kernel.until_end()
    assert text(events) == "a\nlast words\n"
    assert kernel.is_gone()
