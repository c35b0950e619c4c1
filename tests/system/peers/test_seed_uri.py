"""Kernel Gateway's `seed_uri`: a notebook that runs in each new kernel."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Callable

import pytest
from certificates import signed
from kernelgateway import KernelGateway
from web import Kernel, Web


def seed(folder: Path, *cells: str, name: str = "python3") -> str:
    """A notebook, as a file's name."""
    common = {"cell_type": "code", "metadata": {}, "outputs": []}
    document = {
        "cells": [
            {**common, "id": f"c{i}", "execution_count": None, "source": text}
            for i, text in enumerate(cells)
        ],
        "metadata": {"kernelspec": {"name": name, "display_name": name}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    path = folder / "seed.ipynb"
    path.write_text(json.dumps(document))
    return str(path)


@pytest.mark.parametrize("scheme", ["", "file://"])
def test_seed(made: KernelGateway, scheme: str) -> None:
    """7.5: test_seed. Forked, out of the pool, and after a restart."""
    path = seed(made.folder, "import math", "name = 'Test'")
    made.variables = {"KG_SEED_URI": scheme + path, "KG_PORT": "0"}
    made.start()
    web = Web.of(made)
    for body in ({"env": {"KERNEL_A": "1"}}, {}):
        kernel = Kernel(web, web.create(**body))
        with kernel.socket() as ws:
            assert ws.value("name, math.pi > 3") == "('Test', True)"
        assert web.post(f"/api/kernels/{kernel.id}/restart").status == 200
        with kernel.socket() as ws:
            assert ws.value("name") == "'Test'"
        kernel.close()


def test_seed_error(made: KernelGateway) -> None:
    """7.5: no kernel is left of one whose seed fails."""
    path = seed(made.folder, "1", "no_such_name")
    made.variables = {"KG_SEED_URI": path, "KG_PORT": "0"}
    made.start()
    web = Web.of(made)
    answer = web.post("/api/kernels")
    assert answer.status == 500, answer
    assert "cell 2 of the seed failed: NameError" in answer.json["message"]
    assert web.get("/api/kernels").json == []


def test_seed_of_another_kernelspec(made: KernelGateway) -> None:
    """7.5: test_seed_kernel_not_available; a forced one is taken instead, and
    kernels of others (test_seed_language_support) have none."""
    path = seed(made.folder, "name = 'Test'", name="ir")
    said = made.refusal(KG_SEED_URI=path)
    assert said.returncode == 5
    assert "is for the kernelspec 'ir'" in said.stderr
    config = made.folder / "hearth.cfg"
    config.write_text("profile\n    other\n        preload = json\n")
    made.env["HEARTH_CONFIG"] = str(config)
    made.variables = {
        "KG_SEED_URI": path,
        "KG_PORT": "0",
        "KG_FORCE_KERNEL_NAME": "other",
    }
    made.start()
    web = Web.of(made)
    with Kernel(web, web.create(name="python3")).socket() as ws:
        assert ws.value("name") == "'Test'"
    # Over its own command line nothing is forced.
    plain = made.create("--profile", "python3")
    assert plain.exec("'name' in globals()").stdout == "False\n"


# --- On a server ---


class Server(ThreadingHTTPServer):
    """Answers with what it has for a path: a body, or where else to ask."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.bodies: dict[str, bytes] = {}
        self.redirections: dict[str, str] = {}
        self.asked: list[str] = []

    def url(self, path: str, scheme: str = "http") -> str:
        return f"{scheme}://localhost:{self.server_port}{path}"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        server = self.server
        assert isinstance(server, Server)
        server.asked.append(self.path)
        body = server.bodies.get(self.path, b"")
        elsewhere = server.redirections.get(self.path)
        self.send_response(302 if elsewhere else 200 if body else 404)
        if elsewhere:
            self.send_header("Location", elsewhere)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Drop the message: there is no reader."""


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    thread = threading.Thread(target=made.serve_forever)
    thread.start()
    yield made
    made.shutdown()
    thread.join()
    made.server_close()


def give_certificate(server: Server, certificate: Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    server.socket = context.wrap_socket(server.socket, server_side=True)


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_fetched_when_the_gateway_starts(
    made: KernelGateway, server: Server, scheme: str
) -> None:
    document = Path(seed(made.folder, "name = 'Fetched'"))
    server.bodies["/seed.ipynb"] = document.read_bytes()
    server.redirections["/moved"] = server.url("/seed.ipynb", scheme)
    document.unlink()
    if scheme == "https":
        certificate = signed(made.folder, "localhost")
        give_certificate(server, certificate)
        made.variables["SSL_CERT_FILE"] = str(certificate)
    else:  # no proxy is between this machine and itself
        made.variables["http_proxy"] = "http://127.0.0.1:1"
    made.variables["KG_SEED_URI"] = server.url("/moved", scheme)
    made.variables["KG_PORT"] = "0"
    made.start()
    web = Web.of(made)
    for _ in range(2):
        with Kernel(web, web.create()).socket() as ws:
            assert ws.value("name") == "'Fetched'"
    assert server.asked == ["/moved", "/seed.ipynb"]
    kept = made.state / "seed.ipynb"
    assert kept.read_bytes() == server.bodies["/seed.ipynb"]
    assert kept.stat().st_mode & 0o777 == 0o600


def be_missing(server: Server, _: Path) -> str:
    return server.url("/none")


def be_no_notebook(server: Server, _: Path) -> str:
    server.bodies["/page"] = b"<html>"
    return server.url("/page")


def be_too_large(server: Server, _: Path) -> str:
    server.bodies["/huge"] = bytes((64 << 20) + 1)
    return server.url("/huge")


def lead_elsewhere(server: Server, _: Path) -> str:
    server.redirections["/away"] = "http://192.0.2.1/seed.ipynb"
    return server.url("/away")


def lead_to_a_file(server: Server, _: Path) -> str:
    server.redirections["/file"] = "file:///etc/passwd"
    return server.url("/file")


def lead_from_https_to_here(server: Server, folder: Path) -> str:
    server.redirections["/here"] = server.url("/seed.ipynb")
    certificate = signed(folder, "localhost")
    give_certificate(server, certificate)
    return server.url("/here", "https")


def be_somebody_else(server: Server, folder: Path) -> str:
    server.bodies["/"] = b"{}"
    give_certificate(server, signed(folder, "localhost"))
    return server.url("/", "https")


def be_gone(server: Server, _: Path) -> str:
    server.shutdown()
    server.server_close()
    return server.url("/seed.ipynb")


@pytest.mark.parametrize(
    ("fail", "sentence"),
    [
        (be_missing, "/none: HTTP Error 404"),
        (be_no_notebook, "seed.ipynb"),
        (be_too_large, "/huge has more than 67108864 bytes"),
        (
            lead_elsewhere,
            "http://192.0.2.1/seed.ipynb is refused: a seed comes",
        ),
        (lead_to_a_file, "'file:///etc/passwd' is not allowed"),
        (lead_from_https_to_here, "/seed.ipynb: refused"),
        (be_somebody_else, "CERTIFICATE_VERIFY_FAILED"),
        (be_gone, "Connection refused"),
    ],
)
def test_a_server_that_cannot_be_relied_on(
    made: KernelGateway,
    server: Server,
    fail: Callable[[Server, Path], str],
    sentence: str,
) -> None:
    url = fail(server, made.folder)
    variables = {"KG_SEED_URI": url, "KG_PORT": "0"}
    if fail is lead_from_https_to_here:
        variables["SSL_CERT_FILE"] = str(made.folder / "localhost.pem")
    said = made.refusal(**variables)
    assert said.returncode == 5
    assert said.stderr.startswith("hearth: seed_uri: ")
    assert sentence in said.stderr
    assert said.stderr.count("\n") == 1
