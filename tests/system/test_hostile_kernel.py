"""Code in a kernel that writes to the link by itself: the session ends with the
broken rule, and no other session notices."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from deadline import DEADLINE, wait_for
from forgery import TAKE_THE_LINK
from harness import Gateway
from processes import members

SOON = DEADLINE

FORGERIES = {
    "garbage": "os.urandom(4096)",
    "text": "b'GET / HTTP/1.1\\r\\n\\r\\n' * 10",
    "two gigabytes": "frame(34, 1, size=1 << 31)",
    "four gigabytes": "frame(34, 1, size=0xffffffff)",
    "wrong version": "frame(34, 1, version=9)",
    "many buffers": "frame(34, 1, buffers=0xffffffff)",
    "metadata past the end": (
        "struct.pack('<IHHQQII', 4, 1, 34, 1, 0, 1 << 20, 0) + b'{}{}'"
    ),
    "far ahead": "frame(34, 1 << 40)",
    "unknown type": "numbered(99)",
    "a request": 'numbered(3, content=b\'{"code":"1"}\')',
    "second welcome": 'frame(32, 0, content=b\'{"protocol":1,"last":0}\')',
    "second ready": "numbered(33)",
    "reply to no request": "numbered(44, request=1 << 60)",
    "question of no request": (
        "numbered(43, request=1 << 60,"
        ' content=b\'{"prompt":"key?","password":false}\')'
    ),
    "no json": "numbered(35, content=b'{')",
    "not utf-8": (
        'numbered(34, content=b\'{"name":"stdout","text":"\\xff"}\')'
    ),
    "deep": "numbered(35, content=b'[' * 100000)",
    "no object": "numbered(35, content=b'[1]')",
    "wrong stream": 'numbered(34, content=b\'{"name":"x","text":""}\')',
    "text of a number": (
        'numbered(34, content=b\'{"name":"stdout","text":7}\')'
    ),
    "no mime type": (
        'numbered(35, content=b\'{"data":{"x":1},"metadata":{}}\')'
    ),
    "half of a pair": (
        'numbered(34, content=b\'{"name":"stdout","text":"\\\\ud800"}\')'
    ),
    "integer of 6000 digits": (
        'numbered(35, content=b\'{"data":{"application/json":\' + 6000 * b"1"'
        " + b'},\"metadata\":{}}')"
    ),
    "empty reply": (
        "b''.join(frame(44, n, find_request()) for n in range(1, 60))"
    ),
    "no traceback": ('numbered(38, content=b\'{"ename":"a","evalue":"b"}\')'),
}


@pytest.mark.parametrize("forgery", FORGERIES.values(), ids=FORGERIES.keys())
def test_forged_frames(gateway: Gateway, forgery: str) -> None:
    other = gateway.create()
    session = gateway.create()
    namespace = session.namespace()
    other.exec("x = 1")
    with session.client() as client:
        assert client.run(TAKE_THE_LINK).status == "ok"
        turn = client.run(
            f"link.sendall({forgery})\ntime.sleep(600)", timeout=SOON
        )
        assert turn.status == "error"
        assert turn.content["ename"] == "KernelDied"
        assert "protocol" in turn.content["evalue"]
        model = session.wait_state("gone")
        assert model["reason"] == "protocol"
        wait_for(lambda: not members(namespace), "the kernel's end", SOON)
    assert other.exec("x").stdout == "1\n"
    other.delete()


def test_closed_link(gateway: Gateway) -> None:
    session = gateway.create()
    with session.client() as client:
        client.run(TAKE_THE_LINK)
        turn = client.run(
            "link.shutdown(socket.SHUT_RDWR); time.sleep(600)", timeout=SOON
        )
        assert turn.status == "error"
        assert "link" in turn.content["evalue"]


def test_stopped_kernel(folders: Gateway) -> None:
    """A kernel that does not answer at all, not even an interrupt."""
    folders.start("--set", "sessions/interrupt_grace=1s")
    session = folders.create("--time-limit", "1s")
    with session.client() as client:
        turn = client.run(
            "import os, signal; os.kill(os.getpid(), signal.SIGSTOP)",
            timeout=SOON,
        )
        assert turn.content["ename"] == "TimeLimitExceeded"
        assert "variables are lost" in turn.content["evalue"]


def test_kernel_sees_no_key(gateway: Gateway) -> None:
    """Neither file nor environment nor command line holds one."""
    session = gateway.create()
    key = json.loads(Path(session.connection_file).read_text())["key"]
    inner = (gateway.runtime / "management.key").read_text().strip()
    with session.client() as client:
        seen = client.value(
            "[open(f'/proc/self/{n}', 'rb').read()"
            " for n in ('environ', 'cmdline')]"
        )
        assert not [x for x in seen for k in (key, inner) if k.encode() in x]
        for path in (session.connection_file, str(gateway.runtime)):
            turn = client.run(f"import os; os.stat({path!r})")
            assert turn.content["ename"] == "FileNotFoundError"
    session.delete()
