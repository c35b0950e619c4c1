"""What a gateway says that has no room now, and when to come back."""

from __future__ import annotations

import os
import re
import signal
from concurrent.futures import ThreadPoolExecutor

from deadline import wait_for
from harness import Gateway
from processes import children
from web import Answer, Kernel, Web, of_type

QUEUE_MAX = 10000  # limits/requests
BODY = {"path": "a", "type": "console", "name": "a", "kernel": {}}


def hits(web: Web, limit: str) -> int:
    """How often /metrics says that it was hit."""
    text = web.get("/metrics").body.decode()
    found = re.search(
        rf'hearth_limits_hit_total{{limit="{limit}"}} (\d+)', text
    )
    assert found, text
    return int(found[1])


def check_busy(answer: Answer) -> None:
    assert answer.status == 503, answer
    assert answer.json["reason"] == "Service Unavailable"
    seconds = int(answer.headers["Retry-After"])
    assert seconds >= 1
    assert "gateway/starts_queue" in answer.json["message"]
    assert f"try again in {seconds} s" in answer.json["message"]


def test_a_full_queue_is_answered_with_retry_after() -> None:
    """A-U24: clients that get 503 ask again."""
    words = (
        "profile/python3/pool/max=0",
        "gateway/starts_max=1",
        "gateway/starts_queue=1",
    )
    gateway = Gateway(*(w for word in words for w in ("--set", word))).start()
    (zygote,) = children(gateway.pid)
    answers: list[Answer] = []
    try:
        web = Web.of(gateway)

        def ask(_: int) -> None:
            answers.append(web.post("/api/kernels"))

        os.kill(zygote, signal.SIGSTOP)
        with ThreadPoolExecutor(4) as many:
            done = [many.submit(ask, i) for i in range(4)]
            try:
                # One is being started, one waits, and for two there is no room.
                wait_for(lambda: len(answers) == 2, "two refusals")
                for answer in answers:
                    check_busy(answer)
                check_busy(web.post("/api/kernels"))
                check_busy(web.post("/api/sessions", BODY))
                assert web.get("/api/sessions").json == []
            finally:
                os.kill(zygote, signal.SIGCONT)
            for future in done:
                future.result()
        assert sorted(a.status for a in answers) == [201, 201, 503, 503]
        assert hits(web, "starts") == 4
        # And now there is room.
        assert web.post("/api/sessions", BODY).status == 201
    finally:
        os.kill(zygote, signal.SIGCONT)
        gateway.end()


def test_a_queue_that_is_full(kernel: Kernel) -> None:
    """A client that sends more than the session holds gets an error for each
    request; the others are kept, and it may be sent again under the same key.
    """
    path = f"/api/kernels/{kernel.id}/execute"
    body = {"code": "6 * 7", "key": "a"}
    ws = kernel.socket().ready()
    ws.execute("import time; time.sleep(3600)")
    last = ""
    for _ in range(QUEUE_MAX + 1):
        last = ws.execute("1", stop_on_error=False)
    (reply,) = of_type(ws.finish(last), "execute_reply")
    assert reply["content"]["ename"] == "QueueFull"
    location = kernel.web.post(path, body).headers["Location"]
    answer: Answer = wait_for(
        lambda: (a := kernel.web.get(location)).status != 202 and a,
        "the refusal",
    )
    assert answer.status == 503, answer
    assert answer.headers["Retry-After"] == "1"
    assert answer.json["error"]["ename"] == "QueueFull"
    wait_for(lambda: hits(kernel.web, "requests") == 2, "two counted refusals")
    assert kernel.web.post(f"/api/kernels/{kernel.id}/restart").status == 200
    assert kernel.web.post(path, body).headers["Location"] == location
    answer = wait_for(
        lambda: (a := kernel.web.get(location)).status not in (202, 503) and a,
        "the result",
    )
    assert answer.status == 200, answer
    assert "42" in answer.json["outputs"]


def test_a_queue_of_bytes_that_is_full(web: Web) -> None:
    """Over REST and over a WebSocket; what is small is taken."""
    limits = {"requests_bytes": "64K"}
    kernel = Kernel(web, web.create(limits=limits))
    before = hits(web, "requests_bytes")
    path = f"/api/kernels/{kernel.id}/execute"
    big = "1  #" + "x" * 60000
    ws = kernel.socket().ready()
    ws.execute("import time; time.sleep(3600)")
    ws.until(lambda m: m["header"]["msg_type"] == "execute_input")
    assert web.post(path, {"code": big}).status == 202
    location = web.post(path, {"code": big}).headers["Location"]
    answer: Answer = wait_for(
        lambda: (a := web.get(location)).status != 202 and a, "the refusal"
    )
    assert answer.status == 503, answer
    assert answer.headers["Retry-After"] == "1"
    assert answer.json["error"]["ename"] == "QueueFull"
    assert "limits/requests_bytes" in answer.json["error"]["evalue"]
    (reply,) = of_type(ws.finish(ws.execute(big)), "execute_reply")
    assert reply["content"]["ename"] == "QueueFull"
    assert "limits/requests_bytes" in reply["content"]["evalue"]
    info = ws.finish(ws.send("kernel_info_request", {"x": "x" * 60000}))
    (reply,) = of_type(info, "kernel_info_reply")
    assert reply["content"]["status"] == "ok"
    small = web.post(path, {"code": "1"}).headers["Location"]
    wait_for(
        lambda: hits(web, "requests_bytes") == before + 2,
        "two counted refusals",
    )
    assert web.get(small).status == 202
    kernel.close()


def test_too_many_sessions() -> None:
    """As Kernel Gateway says it with max_kernels."""
    gateway = Gateway("--set", "sessions/sessions_max=1").start()
    try:
        web = Web.of(gateway)
        kernel = web.create()
        for path, body in (("/api/kernels", None), ("/api/sessions", BODY)):
            answer = web.post(path, body)
            assert answer.status == 403, answer
            assert answer.json["reason"] == "Forbidden"
            assert "sessions/sessions_max" in answer.json["message"]
            assert answer.headers["Retry-After"] is None
        assert web.get("/api/sessions").json == []
        web.delete(kernel)
        web.delete(web.create())
    finally:
        gateway.end()
