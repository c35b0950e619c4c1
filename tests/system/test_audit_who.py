"""The audit log names the client: a process, a token, a viewer, a socket. It
records the use of a key, and clients without one."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

from client import Client
from deadline import wait_for
from harness import Gateway
from records import Record, records, wait_record

sys.path.insert(0, str(Path(__file__).resolve().parent / "http"))

from web import Socket, Web


def who(gateway: Gateway, **wanted: Any) -> str:
    return str(wait_record(gateway, **wanted)["who"])


def is_process(name: str) -> bool:
    uid, pid = name.split()
    return uid == f"uid={os.getuid()}" and int(pid.removeprefix("pid=")) > 1


def test_a_process(gateway: Gateway) -> None:
    session = gateway.create()
    assert is_process(who(gateway, event="session_start", session=session.id))
    wait_record(gateway, event="order", request="session_create_request")
    for order in records(gateway, event="order"):
        assert is_process(order["who"])
        assert order["part"] == "gateway"
    gateway.run("files", "put", session.id, "-", "a", stdin="abc")
    assert is_process(who(gateway, event="file", session=session.id))
    session.delete()
    end = wait_record(gateway, event="session_end", session=session.id)
    assert (end["who"], end["part"]) == ("gateway", "session")


def test_a_client_of_the_sessions_ports(gateway: Gateway) -> None:
    session = gateway.create()
    with session.client() as client:
        identity = client.kc.session.bsession
        client.run("1")
    for event in ("cell_start", "cell_end"):
        name = who(gateway, event=event, session=session.id)
        assert name == f"client={identity.decode()}"
    (cell,) = session.notebook()["cells"]
    assert cell["metadata"]["hearth"]["who"]["peer"] == name
    assert cell["metadata"]["hearth"]["who"]["client"] == identity.decode()
    session.delete()


def test_a_viewer(gateway: Gateway, tmp_path: Path) -> None:
    session = gateway.create()
    done = gateway.run(
        "attach", "--external", "--folder", str(tmp_path), session.id
    )
    assert done.returncode == 0, done.stderr
    link = Path(done.stdout.strip())
    name = link.readlink().stem
    assert is_process(who(gateway, event="viewer_open", viewer=name))
    with Client(str(link)).wait_ready() as client:
        client.run("1")
    cell = who(gateway, event="cell_start", session=session.id)
    assert cell.startswith(f"viewer={name}.")
    gateway.run("viewer", "revoke", name)
    assert is_process(who(gateway, event="viewer_close", viewer=name))
    session.delete()


def test_tokens(gateway: Gateway) -> None:
    made = gateway.json(
        "token", "create", "--json", "--scope", "execute,observe"
    )
    token = wait_record(gateway, event="token", token=made["id"])
    assert (token["who"], token["outcome"]) == (f"uid={os.getuid()}", "made")
    assert sorted(token["scopes"]) == ["execute", "observe"]
    web = Web.of(gateway).with_token(made["token"])
    kernel = web.create()
    asker = f"token={made['id']}"
    assert who(gateway, event="session_start", session=kernel) == asker
    with Socket(web, kernel) as ws:
        assert who(gateway, event="attach", session=kernel) == asker
        ws.run("1")
    cell = who(gateway, event="cell_start", session=kernel)
    assert cell.startswith(asker + "/")
    refused = web.ask("DELETE", "/api/contents/a")
    assert refused.status == 403
    refusal = wait_record(gateway, event="access", who=asker)
    assert (refusal["outcome"], refusal["why"]) == ("refused", "scope")
    assert refusal["path"] == "/api/contents/a"
    web.delete(kernel)
    delete = wait_record(
        gateway, event="order", request="session_delete_request", session=kernel
    )
    assert delete["who"] == asker
    gateway.run("token", "revoke", made["id"])
    wait_record(gateway, event="token", token=made["id"], outcome="revoked")


def refusals(gateway: Gateway, why: str) -> list[Record]:
    return records(gateway, event="access", outcome="refused", why=why)


def test_clients_without_a_valid_token(gateway: Gateway) -> None:
    gateway.terminate()
    gateway.start()
    web = Web.of(gateway)
    anonymous = web.with_token("sesame123")
    assert anonymous.get("/api/kernels?token=sesame456").status == 401
    cookie = web.get(f"/login?token={web.token}").headers["Set-Cookie"]
    assert who(gateway, event="login") == "token=gateway"
    foreign = {"Origin": "https://evil.example", "Cookie": cookie.split(";")[0]}
    plain = web.with_token(None)
    assert plain.get("/api/kernels", headers=foreign).status == 404
    del foreign["Origin"]
    assert plain.post("/api/kernels", {}, headers=foreign).status == 403
    for why, name in (
        ("token", "unknown"),
        ("origin", "token=gateway"),
        ("xsrf", "token=gateway"),
    ):
        record = wait_record(gateway, event="access", why=why)
        assert record["who"] == name
        assert record["from"]
    # A flood is recorded as a number.
    for _ in range(100):
        assert anonymous.get("/api/kernels").status == 401
    gateway.terminate()
    gateway.start()
    assert len(refusals(gateway, "token")) <= 20
    assert refusals(gateway, "flood")[-1]["count"] >= 80
    text = "".join(
        path.read_text() for path in (gateway.state / "audit").glob("*.log")
    )
    assert "sesame" not in text
    assert str(web.token) not in text


def test_the_journal_has_files_that_were_moved(gateway: Gateway) -> None:
    session = gateway.create()
    gateway.run("files", "put", session.id, "-", "a", stdin="abc")
    gateway.run("files", "get", session.id, "a", "-")
    assert session.exec("1").returncode == 0

    def rows() -> list[dict[str, Any]]:
        trace = gateway.json("notebook", "trace", session.id, "--json")
        return [row for row in trace if "path" in row]

    found = wait_for(lambda: rows() if len(rows()) == 2 else None, "two notes")
    assert [(r["what"], r["done"], r["path"], r["outcome"]) for r in found] == [
        ("file", "put", "a", "ok"),
        ("file", "get", "a", "ok"),
    ]
    assert all(is_process(row["who"]) for row in found)
    trace = gateway.run("notebook", "trace", session.id).stdout
    assert re.search(r"file: put a by uid=\d+ pid=\d+$", trace, re.MULTILINE)
    assert "wrote" not in trace
    file = gateway.run("notebook", "trace", "./run.ipynb")
    assert file.returncode == 2
    assert "a notebook file has no time line" in file.stderr
    # Nothing of it is in the way of a gateway that comes, or of a notebook.
    gateway.kill()
    gateway.start()
    assert session.exec("2").returncode == 0
    assert len(session.notebook()["cells"]) == 2
    session.delete()
