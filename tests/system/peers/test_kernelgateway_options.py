"""Each of Jupyter Kernel Gateway's options works, or is refused by name."""

from __future__ import annotations

import http.client
import json
import ssl
import subprocess
import urllib.parse
from pathlib import Path
from typing import Optional

import pytest
from conftest import TOKEN
from deadline import DEADLINE
from kernelgateway import KernelGateway
from web import Kernel, Web, text_of


def signed(folder: Path, name: str, ca: Optional[str] = None) -> Path:
    """A key and a certificate in one file; without `ca` its own."""
    key, request = folder / f"{name}.key", folder / f"{name}.csr"
    out = folder / f"{name}.pem"

    def openssl(*words: object) -> None:
        subprocess.run(
            ["openssl", *map(str, words)], check=True, capture_output=True
        )

    new = ("req", "-newkey", "rsa:2048", "-nodes", "-keyout", key)
    subject = ("-subj", f"/CN={name}")
    if ca is None:
        openssl(*new, "-x509", "-days", 2, *subject, "-out", out)
    else:
        by = ("-CA", folder / f"{ca}.pem", "-CAkey", folder / f"{ca}.key")
        openssl(*new, *subject, "-out", request)
        openssl("x509", "-req", "-in", request, *by, "-CAcreateserial",
                "-days", 2, "-out", out)  # fmt: skip
    out.write_bytes(out.read_bytes() + key.read_bytes())
    return out


def test_certificates_of_clients(made: KernelGateway) -> None:
    """As GatewayKernelManager can have them, which shows no token."""
    folder = made.folder
    server = signed(folder, "localhost")
    signed(folder, "authority")
    own = signed(folder, "own", "authority")
    foreign = signed(folder, "authority-of-others")
    made.variables = {
        "KG_CERTFILE": str(server),
        "KG_KEYFILE": str(server),
        "KG_CLIENT_CA": str(folder / "authority.pem"),
        "KG_PORT": "0",
    }
    made.start()
    # Not a Web: that would look at the gateway without a certificate.
    url = urllib.parse.urlsplit(made.info()["http"]["url"])

    def ask(certificate: Optional[Path]) -> int:
        context = ssl.create_default_context(cafile=str(server))
        context.check_hostname = False
        if certificate:
            context.load_cert_chain(certificate)
        connection = http.client.HTTPSConnection(
            str(url.hostname), url.port, timeout=DEADLINE, context=context
        )
        try:
            connection.request(
                "GET", "/api/kernels", headers={"Host": "localhost"}
            )
            return connection.getresponse().status
        finally:
            connection.close()

    assert ask(own) == 200
    for certificate in (None, foreign):
        with pytest.raises((OSError, http.client.HTTPException)):
            ask(certificate)
    assert ask(own) == 200


def environment(kernel: Kernel) -> dict[str, str]:
    code = "import os, json; print(json.dumps(dict(os.environ)))"
    with kernel.socket() as ws:
        found: dict[str, str] = json.loads(text_of(ws.run(code)))
    return found


def test_environments_of_kernels(made: KernelGateway) -> None:
    """7.5: test_kernel_env_*. From nothing, but for what the lists name."""
    made.variables = {
        "KG_PORT": "0",
        "KG_AUTH_TOKEN": TOKEN,
        "KG_ENV_WHITELIST": "MODEL,SIZE,PATH",
        "KG_ENV_PROCESS_WHITELIST": "['REGION', 'KG_AUTH_TOKEN', 'NOWHERE']",
        "REGION": "eu=1",
        "SECRET": "s",
    }
    made.start()
    log = made.log.read_text()
    for left_out in (
        "env_whitelist: PATH is left out",
        "env_process_whitelist: KG_AUTH_TOKEN is left out",
    ):
        assert left_out in log
    web = Web.of(made)
    plain = Kernel(web, web.create())
    asked = Kernel(
        web,
        web.create(
            env={
                "MODEL": "m",
                "KERNEL_USERNAME": "x",
                "PATH": "/evil",
                "OTHER": "o",
                "REGION": "us",
            }
        ),
    )
    found = environment(plain)
    assert found["REGION"] == "eu=1"
    assert not {"SECRET", "NOWHERE", "MODEL", "SIZE"} & set(found)
    assert not [name for name in found if name.startswith(("KG_", "HEARTH_"))]
    found = environment(asked)
    assert found["MODEL"] == "m"
    assert found["REGION"] == "eu=1"
    assert found["KERNEL_USERNAME"] == "x"
    assert found["KERNEL_GATEWAY"] == "1"
    assert "/evil" not in found["PATH"]
    assert not {"SECRET", "OTHER", "SIZE"} & set(found)
    for kernel in (plain, asked):
        kernel.close()


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


# Every variable that Kernel Gateway has.
WORK: dict[str, str] = {
    "KG_IP": "127.0.0.1",
    "KG_PORT": "18720",
    "KG_PORT_RETRIES": "40",
    "KG_BASE_URL": "/below/",
    "KG_AUTH_TOKEN": TOKEN,
    "KG_ALLOW_CREDENTIALS": "true",
    "KG_ALLOW_HEADERS": "X-Own",
    "KG_ALLOW_METHODS": "GET",
    "KG_ALLOW_ORIGIN": "https://lab.example.org",
    "KG_EXPOSE_HEADERS": "Location",
    "KG_MAX_AGE": "5",
    "KG_MAX_KERNELS": "3",
    "KG_PRESPAWN_COUNT": "1",
    "KG_DEFAULT_KERNEL_NAME": "python3",
    "KG_FORCE_KERNEL_NAME": "python3",
    "KG_ENV_WHITELIST": "A",
    "KG_ENV_PROCESS_WHITELIST": "A",
    "KG_LIST_KERNELS": "True",
    "KG_API": "kernel_gateway.jupyter_websocket",
    "KG_WS_PING_INTERVAL_SECS": "20",
}
SAID = {"KG_TRUST_XHEADERS": "True", "KG_SSL_VERSION": "3"}
REFUSED = {
    "KG_SEED_URI": ("http://127.0.0.1/seed.ipynb", "download the notebook"),
    "KG_API": ("kernel_gateway.notebook_http", "web services"),
}
# The others are files, in tests of their own.
FILES = {"KG_CERTFILE", "KG_KEYFILE", "KG_CLIENT_CA", "KG_SEED_URI"}


def test_every_variable_does_what_it_says_or_is_refused(
    made: KernelGateway,
) -> None:
    told = made.refusal("--help").stdout.split()
    known = {word for word in told if word[:3] == "KG_" and "=" not in word}
    assert known == set(WORK) | FILES
    for name, (value, words) in REFUSED.items():
        said = made.refusal(**{name: value})
        assert said.returncode != 0
        assert f"hearth: {name[3:].lower()}: " in said.stderr
        assert words in said.stderr
    made.variables = {**WORK, **SAID}
    made.start()
    web = Web.of(made)
    assert (web.token, web.base) == (TOKEN, "/below/")
    assert web.get("/api/kernels").json == []
    log = made.log.read_text()
    for name in SAID:
        assert f"hearth: {name[3:].lower()} is not used: " in log
    for name in WORK:
        assert f"{name[3:].lower()} is" not in log
