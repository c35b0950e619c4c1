"""HTTP while its gateway runs on: new figures, a renewed certificate."""

from __future__ import annotations

import shutil
import socket
import ssl
import subprocess
from pathlib import Path
from typing import Iterator

import pytest
from deadline import DEADLINE, wait_for
from harness import Gateway
from web import Kernel, Web

EC = "ec -pkeyopt ec_paramgen_curve:P-256"
RSA = "rsa:2048"


def make(folder: Path, kind: str, name: str) -> None:
    """Write cert.pem and key.pem, as an operator renews them: in place."""
    key, certificate = folder / "key.pem", folder / "cert.pem"
    subprocess.run(
        (
            f"openssl req -x509 -newkey {kind} -nodes -days 30 "
            f"-subj /CN={name} -keyout {key} -out {certificate}"
        ).split(),
        check=True,
        capture_output=True,
    )


@pytest.fixture
def pair(tmp_path: Path) -> Path:
    if not shutil.which("openssl"):
        pytest.skip("no openssl to make a certificate with")
    make(tmp_path, EC, "first")
    return tmp_path


@pytest.fixture
def gateway(pair: Path) -> Iterator[Gateway]:
    made = Gateway(
        *("--set", f"http/certificate={pair}/cert.pem"),
        *("--set", f"http/key={pair}/key.pem"),
    )
    try:
        made.start()
        yield made
    finally:
        made.end()


def served(web: Web, name: str = "localhost") -> bytes:
    """Return the certificate that a new client gets, by DER."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    with (
        socket.create_connection((web.host, web.port), DEADLINE) as plain,
        context.wrap_socket(plain, server_hostname=name) as secured,
    ):
        der = secured.getpeercert(binary_form=True)
    assert der is not None
    return der


def on_disk(folder: Path) -> bytes:
    return ssl.PEM_cert_to_DER_cert((folder / "cert.pem").read_text())


@pytest.mark.parametrize("kind", [EC, RSA], ids=["same-kind", "other-kind"])
def test_a_renewed_certificate(gateway: Gateway, pair: Path, kind: str) -> None:
    """Connected clients stay; new ones get the new certificate alone."""
    web = Web.of(gateway)
    kernel = Kernel(web, web.create())
    ws = kernel.socket()
    assert ws.value("x = 41; x") == "41"
    first = on_disk(pair)
    assert served(web) == first
    assert gateway.run("gateway", "reload").stdout == "nothing has changed\n"
    make(pair, kind, "second")
    assert served(web) == first
    assert gateway.run("gateway", "reload").stdout == (
        "http/certificate: its file has changed and was read\n"
        "http/key: its file has changed and was read\n"
    )
    second = on_disk(pair)
    wait_for(lambda: served(web) == second, "the new certificate")
    for name in ("hearth", "descriptors", "other.example"):
        assert served(web, name) == second
    assert ws.value("x + 1") == "42"
    kernel.close()


def test_half_a_pair_is_refused(gateway: Gateway, pair: Path) -> None:
    web = Web.of(gateway)
    first, key = on_disk(pair), (pair / "key.pem").read_text()
    make(pair, EC, "second")
    new_key = (pair / "key.pem").read_text()
    (pair / "key.pem").write_text(key)
    done = gateway.run("gateway", "reload")
    assert done.returncode == 5
    assert "it is not the key of http/certificate" in done.stderr
    assert served(web) == first
    (pair / "key.pem").write_text(new_key)
    assert gateway.run("gateway", "reload").returncode == 0
    wait_for(lambda: served(web) == on_disk(pair), "the new certificate")


def configure(folders: Gateway, text: str) -> Path:
    file = folders.folder / "hearth.cfg"
    file.write_text(text)
    return file


def https(folder: Path) -> str:
    certificate, key = folder / "cert.pem", folder / "key.pem"
    return f"http\n    certificate = {certificate}\n    key = {key}\n"


def test_other_files_and_no_https_any_more(
    folders: Gateway, pair: Path
) -> None:
    """Other names are taken; whether it is HTTPS takes a restart."""
    first = (
        f"http\n    certificate = {pair}/cert.pem\n    key = {pair}/key.pem\n"
    )
    file = configure(folders, first)
    folders.start("--config", str(file))
    web = Web.of(folders)
    other = pair / "other"
    other.mkdir()
    make(other, EC, "second")
    configure(folders, https(other))
    reported = folders.json("gateway", "reload", "--json")
    assert [row["key"] for row in reported["changed"]] == [
        "http/certificate",
        "http/key",
    ]
    wait_for(lambda: served(web) == on_disk(other), "the other certificate")
    configure(folders, "")
    reported = folders.json("gateway", "reload", "--json")
    assert reported["restart"] == ["http/certificate", "http/key"]
    assert served(web) == on_disk(other)


def test_new_figures_hold_for_the_next_request(folders: Gateway) -> None:
    origin = {"Origin": "https://pages.example"}
    file = configure(folders, "http\n    list_kernels = yes\n")
    folders.start("--config", str(file))
    web = Web.of(folders)
    kernel = Kernel(web, web.create())
    assert web.get("/api/kernels").status == 200
    answer = web.get("/api/kernels", headers=origin)
    assert "Access-Control-Allow-Origin" not in answer.headers
    configure(
        folders,
        "http\n    list_kernels = no\n    allow_origin = https://pages.example\n"
        "    body_max = 64K\n",
    )
    assert folders.run("gateway", "reload").returncode == 0
    wait_for(lambda: web.get("/api/kernels").status == 403, "no list any more")
    answer = web.get(f"/api/kernels/{kernel.id}", headers=origin)
    assert answer.headers["Access-Control-Allow-Origin"] == origin["Origin"]
    long = {"code": "1" * 100_000}
    path = f"/hearth/sessions/{kernel.id}/execute"
    assert web.post(path, long).status == 413
    kernel.close()
