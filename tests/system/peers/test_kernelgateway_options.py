"""Each of Jupyter Kernel Gateway's options works, or is refused by name."""

from __future__ import annotations

import http.client
import json
import re
import ssl
import urllib.parse
from pathlib import Path
from typing import Optional

import pytest
from certificates import signed
from conftest import TOKEN
from deadline import DEADLINE
from kernelgateway import KernelGateway
from web import Kernel, Web, text_of


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
    "KG_SEED_URI": ("http://192.0.2.1/seed.ipynb", "comes by https://"),
    "KG_API": ("kernel_gateway.notebook_http", "web services"),
}
# The others are files, in tests of their own.
FILES = {"KG_CERTFILE", "KG_KEYFILE", "KG_CLIENT_CA", "KG_SEED_URI"}


def test_every_variable_does_what_it_says_or_is_refused(
    made: KernelGateway,
) -> None:
    known = re.findall(r"\[(KG_\w+)\]", made.refusal("--help").stdout)
    assert set(known) == set(WORK) | FILES
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
