"""jupyter_server's list of servers has the gateway (jupyter/discovery)."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Iterator

import pytest
from deadline import DEADLINE
from harness import Gateway
from jupyter_server.serverapp import list_running_servers
from web import Web


@pytest.fixture
def gateway() -> Iterator[Gateway]:
    """Not started yet."""
    made = Gateway(
        "--set", "jupyter/discovery=yes",
        "--set", "profile/python3/preload=",
    )  # fmt: skip
    made.env["JUPYTER_RUNTIME_DIR"] = str(made.folder / "j")
    try:
        yield made
    finally:
        made.end()


def jupyter(gateway: Gateway, *arguments: str) -> str:
    return subprocess.run(
        [str(Path(sys.executable).parent / "jupyter"), *arguments],
        env={
            **gateway.env,
            "JUPYTER_CONFIG_DIR": str(gateway.folder / "config"),
        },
        check=True,
        capture_output=True,
        text=True,
        timeout=DEADLINE,
    ).stdout


def test_the_list_has_the_gateway_that_runs(gateway: Gateway) -> None:
    gateway.start()
    http = gateway.info()["http"]
    (line,) = jupyter(gateway, "server", "list").splitlines()[1:]
    assert line == f"{http['url']}?token={http['token']} :: {gateway.state}"
    said = json.loads(jupyter(gateway, "server", "list", "--json"))
    found = Web(gateway, said["url"], said["token"], is_ours=False)
    assert found.get("/api/me").json["identity"]
    assert found.get("/api/status").status == 200
    (listed,) = list_running_servers(gateway.env["JUPYTER_RUNTIME_DIR"])
    assert listed == said
    assert listed["pid"] == gateway.pid

    gateway.kill()
    left = Path(gateway.env["JUPYTER_RUNTIME_DIR"])
    assert list(left.iterdir())
    assert jupyter(gateway, "server", "list").splitlines()[1:] == []
    gateway.start()
    (line,) = jupyter(gateway, "server", "list").splitlines()[1:]
    assert gateway.info()["http"]["token"] in line


def test_it_is_stopped_by_its_port(gateway: Gateway) -> None:
    gateway.start()
    session = gateway.create()
    session.exec("x = 41")
    said = json.loads(jupyter(gateway, "server", "list", "--json"))
    jupyter(gateway, "server", "stop", str(said["port"]))
    assert gateway.process is not None
    assert gateway.process.wait(DEADLINE) == 0
    assert list((gateway.folder / "j").iterdir()) == []
    gateway.start()
    assert session.exec("x + 1").stdout == "42\n"
