"""`hearth mcp` with a gateway of HTTPS: who is trusted, and what it says of
those that are not."""

from __future__ import annotations

import json
import shutil
import socket
from pathlib import Path
from typing import Any, Callable, Iterator, Optional

import pytest
from accepting import Accepting, Serve
from authority import Authority, Pair, served
from deadline import DEADLINE, wait_for
from harness import Gateway
from pipe import Pipe, text_of

HERE = "IP:127.0.0.1"


class Place:
    """A gateway whose pair of files is replaced in place."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.authority = Authority(folder, "ours")
        self.pair = Pair(folder, "gateway")
        self.authority.issue(HERE).replace(self.pair)
        self.ca = str(self.authority.certificate)
        self.gateway = Gateway(
            *("--set", f"http/certificate={self.pair.certificate}"),
            *("--set", f"http/key={self.pair.key}"),
            *options,
        ).start()

    @property
    def port(self) -> int:
        found: int = self.gateway.info()["http"]["port"]
        return found

    def renew(self, pair: Pair) -> None:
        pair.replace(self.pair)
        done = self.gateway.run("gateway", "reload")
        assert done.returncode == 0, done
        wait_for(lambda: served(self.port) == pair.der, "the new certificate")

    def ask(self, *words: str, env: Optional[dict[str, str]] = None) -> Any:
        pipe = Pipe(self.gateway, *words, env=env)
        answer = pipe.ask("server/discover")
        pipe.close()
        return answer

    def flaw(self, *words: str, env: Optional[dict[str, str]] = None) -> str:
        """Return the error that it gives instead of an answer."""
        text: str = self.ask(*words, env=env)["error"]["message"]
        return text


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    made = Place(tmp_path)
    try:
        yield made
    finally:
        made.gateway.end()


def test_a_trusted_authority(place: Place) -> None:
    """By an option, or as all programs with OpenSSL find it."""
    assert place.ask("--ca", place.ca)["result"]
    assert place.ask(env={"SSL_CERT_FILE": place.ca})["result"]


def test_who_is_not_trusted(place: Place, tmp_path: Path) -> None:
    """An option does not add to what is trusted; it says what is."""
    said = place.flaw()
    assert "signed by an authority that is not trusted here" in said
    assert "--ca FILE" in said
    other = Authority(tmp_path, "other")
    assert "not trusted here" in place.flaw("--ca", str(other.certificate))
    both = {"SSL_CERT_FILE": place.ca}
    assert "not trusted" in place.flaw("--ca", str(other.certificate), env=both)


def test_files_that_are_not_what_they_should_be(
    place: Place, tmp_path: Path
) -> None:
    empty, key = tmp_path / "empty", str(place.pair.key)
    empty.write_text("")
    said = place.flaw("--ca", str(empty))
    assert f"{empty}: it has no certificates of authorities in PEM" in said
    assert "No such file" in place.flaw("--ca", str(tmp_path / "none"))
    said = place.flaw("--ca", place.ca, "--key", key)
    assert "give --certificate and --key" in said
    certificate = ("--certificate", str(place.authority.certificate))
    said = place.flaw("--ca", place.ca, *certificate, "--key", key)
    assert "private key in PEM without a password that belongs to" in said


def test_another_host(place: Place) -> None:
    place.renew(place.authority.issue("DNS:localhost,DNS:a.example"))
    said = place.flaw("--ca", place.ca)
    assert f"of 127.0.0.1:{place.port} is for localhost, a.example" in said
    assert "set HEARTH_URL" in said
    http = json.loads((place.gateway.runtime / "http.json").read_text())
    env = {
        "HEARTH_URL": f"https://localhost:{place.port}/",
        "HEARTH_TOKEN": http["token"],
    }
    assert place.ask("--ca", place.ca, env=env)["result"]
    env["HEARTH_TOKEN"] = "another"
    assert "token" in place.flaw("--ca", place.ca, env=env)
    # Any text may be a name of a certificate.
    place.renew(place.authority.issue("DNS:\x1b]0;a\x07.example"))
    said = place.flaw("--ca", place.ca)
    assert "is for ?]0;a?.example;" in said


def test_an_expired_certificate(place: Place) -> None:
    place.renew(place.authority.issue(HERE, days=-1))
    said = place.flaw("--ca", place.ca)
    assert f"of 127.0.0.1:{place.port} has expired; renew it" in said


def test_a_renewed_certificate(place: Place, tmp_path: Path) -> None:
    """A certificate of the same authority, then the authority itself."""
    ca = tmp_path / "trusted.pem"
    shutil.copy(place.ca, ca)
    pipe = Pipe(place.gateway, "--ca", str(ca))
    assert pipe.ask("server/discover")["result"]
    place.renew(place.authority.issue(HERE))
    assert pipe.ask("server/discover")["result"]
    other = Authority(tmp_path, "next")
    place.renew(other.issue(HERE))
    assert "not trusted" in pipe.ask("server/discover")["error"]["message"]
    shutil.copy(other.certificate, ca)
    assert pipe.ask("server/discover")["result"]
    pipe.close()


def test_a_gateway_that_asks_for_a_certificate(tmp_path: Path) -> None:
    clients = Authority(tmp_path, "clients")
    place = Place(tmp_path, "--set", f"http/client_ca={clients.certificate}")
    try:
        trusted = ("--ca", place.ca)
        said = place.flaw(*trusted)
        assert "asks for a client's certificate (http/client_ca)" in said
        assert "--certificate FILE" in said
        good, bad = clients.issue("DNS:me"), place.authority.issue("DNS:me")

        def shown(pair: Pair) -> list[str]:
            certificate = ["--certificate", str(pair.certificate)]
            return [*trusted, *certificate, "--key", str(pair.key)]

        assert place.ask(*shown(good))["result"]
        said = place.flaw(*shown(bad))
        assert "refuses the connection" in said
        assert "signed by its http/client_ca?" in said
    finally:
        place.gateway.end()


def test_a_gateway_that_is_killed_in_the_middle(tmp_path: Path) -> None:
    """Over TLS as without: the next one answers, and the code has run once."""
    place = Place(tmp_path)
    gateway = place.gateway
    try:
        pipe = Pipe(gateway, "--ca", place.ca)
        call = {
            "name": "execute",
            "arguments": {
                "code": "import os, time\n"
                "open('runs', 'a').write('x')\n"
                "while not os.path.exists('go'): time.sleep(0.01)\n"
                "len(open('runs').read())"
            },
            "_meta": {"hearth/key": "a turn"},
        }
        number = pipe.send("tools/call", call)
        wait_for(
            lambda: [
                s
                for s in gateway.json("session", "list", "--json")
                if s["state"] == "busy"
            ],
            "a busy session",
        )
        (shown,) = gateway.json("session", "list", "--json")
        gateway.note_namespace(shown["pid"])
        gateway.kill()
        gateway.start()
        gateway.run("files", "put", shown["id"], "/dev/null", "go")
        answer = pipe.read()
        assert answer["id"] == number
        # A machine that is very slow answers RUNNING, or that it is not ready.
        while " ok " not in text_of(answer).split("\n", maxsplit=1)[0]:
            assert "STATE LOST" not in text_of(answer), answer
            answer = pipe.ask("tools/call", call)
        assert text_of(answer).splitlines()[-1] == "1"
        # More than a record of TLS, in both directions.
        many = {"action": "write", "path": "big", "content": "y" * 1_000_000}
        arguments = {"session": shown["id"], **many}
        pipe.ask("tools/call", {"name": "files", "arguments": arguments})
        arguments = {**arguments, "action": "read", "limit": 200_000}
        del arguments["content"]
        answer = pipe.ask(
            "tools/call", {"name": "files", "arguments": arguments}
        )
        assert "y" * 200_000 in text_of(answer)
        pipe.close()
    finally:
        gateway.end()


# -- servers that are no gateways --


def garbage(connection: socket.socket) -> None:
    connection.recv(4096)
    connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n" + bytes(100))


def alert(connection: socket.socket) -> None:
    connection.recv(4096)
    connection.sendall(bytes([21, 3, 3, 0, 2, 2, 40]))  # handshake_failure


def silence(connection: socket.socket) -> None:
    """Stops in the middle of a record, until the client has gone."""
    connection.recv(4096)
    connection.sendall(bytes([22, 3, 3, 0, 100, 2, 0]))
    while connection.recv(4096):
        pass


@pytest.fixture
def serve() -> Iterator[Callable[[Serve], str]]:
    """Listens, and gives each client to a function; returns the URL."""
    made: list[Accepting] = []

    def begin(answer: Serve) -> str:
        def patiently(connection: socket.socket) -> None:
            connection.settimeout(DEADLINE)
            answer(connection)

        made.append(Accepting(patiently))
        return f"https://127.0.0.1:{made[-1].port}"

    yield begin
    for each in made:
        each.close()


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (garbage, "does not speak TLS"),
        (alert, "refuses the connection"),
        (silence, "does not finish the handshake of TLS within 10 s"),
    ],
)
def test_a_server_that_is_none(
    serve: Callable[[Serve], str], answer: Serve, said: str
) -> None:
    gateway = Gateway()
    try:
        env = {"HEARTH_URL": serve(answer), "HEARTH_TOKEN": "secret"}
        pipe = Pipe(gateway, env=env)
        found = pipe.ask("server/discover")["error"]["message"]
        assert said in found
        pipe.close()
    finally:
        gateway.sweep()


@pytest.mark.parametrize(
    "url",
    [
        "ftp://h/",
        "https://",
        "h:1",
        "https://a b:1/",
        "http://h:x/",
        "http://h?",
    ],
)
def test_an_url_that_is_none(url: str) -> None:
    gateway = Gateway()
    try:
        pipe = Pipe(gateway, env={"HEARTH_URL": url})
        said = pipe.ask("server/discover")["error"]["message"]
        assert "is not http://HOST:PORT/ or https://HOST:PORT/" in said
        pipe.close()
    finally:
        gateway.sweep()


# -- what is printed for agents --


def test_the_configuration_of_agents(place: Place, tmp_path: Path) -> None:
    """It names the authority by its whole path, and is not printed if it would
    fail."""
    gateway = place.gateway
    done = gateway.run("mcp", "config", "claude")
    assert done.returncode == 1
    assert not done.stdout
    assert "--ca FILE" in done.stderr
    folder = tmp_path / "a folder"
    folder.mkdir()
    ca = folder / "ca.pem"
    shutil.copy(place.ca, ca)
    done = gateway.run("mcp", "config", "--ca", str(ca), "claude")
    assert done.stdout.endswith(f" mcp --ca '{ca}'\n"), done
    found = gateway.run("mcp", "config", "--ca", str(ca), "codex").stdout
    assert f'args = ["mcp", "--ca", "{ca}"]\n' in found
    url = f"https://127.0.0.1:{place.port}"
    gateway.env.update(HEARTH_URL=url, HEARTH_TOKEN="s3cret")
    try:
        shown = {
            agent: gateway.run("mcp", "config", "--ca", str(ca), agent).stdout
            for agent in ("claude", "codex", "cursor", "vscode")
        }
    finally:
        del gateway.env["HEARTH_URL"], gateway.env["HEARTH_TOKEN"]
    assert "s3cret" not in str(shown)
    assert f"--env HEARTH_URL={url} " in shown["claude"]
    assert f'env = {{ HEARTH_URL = "{url}" }}\n' in shown["codex"]
    assert 'env_vars = ["HEARTH_TOKEN"]\n' in shown["codex"]
    for agent, key in (("cursor", "mcpServers"), ("vscode", "servers")):
        server = json.loads(shown[agent])[key]["hearth"]
        assert server["args"] == ["mcp", "--ca", str(ca)]
        assert server["env"] == {
            "HEARTH_URL": url,
            "HEARTH_TOKEN": "${env:HEARTH_TOKEN}",
        }
