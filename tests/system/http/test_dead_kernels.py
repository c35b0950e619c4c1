"""A kernel that died: its client may restart and delete it, as with Jupyter
Server. One that was ended by a person or a time limit is gone."""

from __future__ import annotations

from typing import Any

from deadline import wait_for
from web import Kernel, Web, of_type


def kill(kernel: Kernel) -> None:
    with kernel.socket() as ws:
        ws.run("x = 1")
        (reply,) = of_type(ws.run("import os; os._exit(3)"), "execute_reply")
        assert reply["content"]["ename"] == "KernelDied"
    path = f"/api/kernels/{kernel.id}"
    wait_for(lambda: kernel.web.get(path).status == 404, "its end")


def test_restart(kernel: Kernel, web: Web) -> None:
    kill(kernel)
    path = f"/api/kernels/{kernel.id}"
    assert "code 3" in web.get(path).json["message"]
    answer = web.post(f"{path}/restart")
    assert answer.status == 200, answer
    assert answer.json["id"] == kernel.id
    assert web.get(path).json["execution_state"] == "idle"
    web.gateway.note_namespace(
        web.gateway.json("session", "show", "--json", kernel.id)["pid"]
    )
    with kernel.socket() as ws:
        reported: list[Any] = []
        for _ in range(2):
            (reply,) = of_type(ws.run("x"), "execute_reply")
            assert reply["content"]["ename"] == "NameError"
            reported.append(reply["metadata"].get("hearth", {}).get("revived"))
    # That the variables are gone is said, and said once.
    assert "fresh kernel" in reported[0]["sentence"]
    assert reported[1] is None


def test_restart_while_it_ends(kernel: Kernel, web: Web) -> None:
    """The reply to its last cell comes a moment before its end."""
    for _ in range(5):
        with kernel.socket() as ws:
            ws.run("import os; os._exit(3)")
        answer = web.post(f"/api/kernels/{kernel.id}/restart")
        assert answer.status == 200, answer
        with kernel.socket() as ws:
            (reply,) = of_type(ws.run("1"), "execute_reply")
            assert reply["content"]["status"] == "ok"
    web.gateway.note_namespace(
        web.gateway.json("session", "show", "--json", kernel.id)["pid"]
    )


def test_delete(kernel: Kernel, web: Web) -> None:
    kill(kernel)
    path = f"/api/kernels/{kernel.id}"
    assert web.ask("DELETE", path).status == 204
    assert web.get(path).status == 404


def test_kernels_that_were_ended(web: Web) -> None:
    deleted = web.create()
    web.delete(deleted)
    idle = web.create(idle_timeout=0.3)
    wait_for(
        lambda: web.get(f"/api/kernels/{idle}").status == 404, "its time-out"
    )
    for ended in (deleted, idle, "00000000-0000-4000-8000-000000000000"):
        path = f"/api/kernels/{ended}"
        assert web.post(f"{path}/restart").status == 404
        assert web.ask("DELETE", path).status == 404
