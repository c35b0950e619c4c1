"""Who may do what, and from which page."""

from __future__ import annotations

import shutil
import socket
import ssl
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Iterator, Optional

import pytest
from browser import EVIL, Browser, login_cookies
from deadline import DEADLINE, wait_for
from harness import Gateway
from web import Closed, Kernel, Socket, Web, of_type


def make_token(gateway: Gateway, scopes: str) -> tuple[str, str]:
    made = gateway.json("token", "create", "--json", "--scope", scopes, "t")
    return made["id"], made["token"]


def test_ways_to_show_a_token(web: Web) -> None:  # A-U8
    anonymous = web.with_token(None)
    for scheme in ("token", "Token", "Bearer", "bearer", "BEARER"):
        sent = {"Authorization": f"{scheme} {web.token}"}
        assert anonymous.get("/api/kernels", headers=sent).status == 200
    assert anonymous.get(f"/api/kernels?token={web.token}").status == 200
    sent = {"Authorization": "token "}
    answer = anonymous.get(f"/api/kernels?token={web.token}", headers=sent)
    assert answer.status == 200


@pytest.mark.parametrize(
    "value",
    ["token", "token ", "token x", "Basic eDp5", "x", "tokenx", "bearer"],
)
def test_wrong_tokens(web: Web, value: str) -> None:
    anonymous = web.with_token(None)
    for path in ("/api/kernels", "/api/none", "/api/status", "/none"):
        answer = anonymous.get(path, headers={"Authorization": value})
        assert answer.status == 401, answer
        assert answer.json["reason"] == "Unauthorized"
        assert "token" in answer.json["message"]
        assert answer.headers["WWW-Authenticate"] == "Bearer"


def test_a_wrong_token_is_not_logged(gateway: Gateway, web: Web) -> None:
    web.with_token("sesame123").get("/api/kernels?token=sesame456")
    log = gateway.log.read_text()
    assert "sesame" not in log
    assert str(web.token) not in log


def test_kernels_do_not_know_it(kernel: Kernel) -> None:
    ws = kernel.socket()
    code = "import os; [v for v in os.environ.values()]"
    assert str(kernel.web.token) not in ws.value(code)


def test_origins(web: Web) -> None:
    assert web.get("/api/kernels", headers=EVIL).status == 200
    own = {"Origin": web.url.rstrip("/")}
    assert web.get("/api/kernels", headers=own).status == 200
    answer = web.get("/api/kernels", headers=EVIL)
    assert "Access-Control-Allow-Origin" not in answer.headers


def test_preflight_needs_no_token(web: Web) -> None:  # A-U25
    answer = web.with_token(None).ask(
        "OPTIONS",
        "/api/kernels",
        headers={**EVIL, "Access-Control-Request-Method": "POST"},
    )
    assert answer.status == 200, answer
    assert "POST" in answer.headers["Access-Control-Allow-Methods"]
    assert "authorization" in answer.headers["Access-Control-Allow-Headers"]


def test_shields(web: Web) -> None:
    for path in ("/api", "/api/kernels", "/none", "/login"):
        headers = web.get(path).headers
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert "default-src 'none'" in headers["Content-Security-Policy"]
        assert headers["Cache-Control"] == "no-store"


def test_scopes(gateway: Gateway, web: Web, kernel: Kernel) -> None:
    ident, word = make_token(gateway, "observe")
    assert word not in (gateway.state / "tokens.json").read_text()
    assert (gateway.state / "tokens.json").stat().st_mode & 0o777 == 0o600
    observer = web.with_token(word)
    path = f"/api/kernels/{kernel.id}"
    assert observer.get(path).status == 200
    for method, tail in (("DELETE", ""), ("POST", "/interrupt")):
        answer = observer.ask(method, path + tail)
        assert answer.status == 403
        assert "execute" in answer.json["message"]
        needed = answer.headers["WWW-Authenticate"]
        assert needed == 'Bearer error="insufficient_scope", scope="execute"'
    assert observer.post("/api/kernels").status == 403
    me = observer.get('/api/me?permissions={"kernels":["execute","read"]}')
    assert me.json["permissions"] == {"kernels": ["read"]}
    browser = Browser(web)
    browser.login(word)
    browser.ask("GET", path)
    assert browser.status == 200
    assert gateway.run("token", "revoke", ident).returncode == 0
    assert observer.get(path).status == 401
    browser.ask("GET", path)
    assert browser.status == 401
    assert gateway.run("token", "revoke", ident).returncode == 3
    assert gateway.json("token", "list", "--json") == []


def test_observers_execute_nothing(
    gateway: Gateway, web: Web, kernel: Kernel
) -> None:
    ident, word = make_token(gateway, "observe")
    with Socket(web.with_token(word), kernel.id) as observer:
        observer.ready()
        refused = observer.run("1/0")
        reply = of_type(refused, "execute_reply")[0]["content"]
        assert reply["status"] == "error"
        assert reply["ename"] == "PermissionError"
        assert of_type(refused, "error")
        ask = observer.send("shutdown_request", {}, "control")
        reply = of_type(observer.finish(ask), "shutdown_reply")[0]["content"]
        assert reply["status"] == "error"
        msg_id = kernel.socket().execute("print('for all')")
        found = observer.until_idle(msg_id)
        assert of_type(found, "stream")
        assert not of_type(found, "execute_reply")
    gateway.run("token", "revoke", ident)


def test_token_command(gateway: Gateway) -> None:
    done = gateway.run("token", "create", "--scope", "read")
    assert done.returncode == 2
    assert "observe" in done.stderr
    done = gateway.run("token", "create", "--scope", "files", "a name")
    assert done.returncode == 0
    listed = gateway.json("token", "list", "--json")
    assert listed[-1]["scopes"] == ["files"]
    assert "hash" not in listed[-1]
    assert "a name" in gateway.run("token", "list").stdout
    gateway.run("token", "revoke", listed[-1]["id"])


@pytest.mark.parametrize("host", ["descriptors", "d", "hearth", "h.example"])
def test_any_name_of_a_host_is_answered(web: Web, host: str) -> None:
    """Also by names of libwebsockets' virtual hosts."""
    answer = web.get("/api/kernels", headers={"Host": host})
    assert answer.status in (200, 403, 404), answer


# -- other configurations --


def running(*options: str) -> Iterator[Gateway]:
    gateway = Gateway(*options)
    try:
        gateway.start()
        yield gateway
    finally:
        gateway.end()


@pytest.fixture
def open_gateway() -> Iterator[Gateway]:
    yield from running(
        *("--set", "http/auth=none", "--set", "http/base_url=/a/b/")
    )


def test_without_token(open_gateway: Gateway) -> None:
    web = Web.of(open_gateway)
    assert web.token is None
    assert web.base == "/a/b/"
    answer = web.get("/api/kernels", headers={"Authorization": "token "})
    assert answer.status == 200
    assert web.get("/api/kernels", headers=EVIL).status == 404
    rebound = {"Host": "evil.example", "Origin": "http://evil.example"}
    assert web.get("/api/kernels", headers=rebound).status == 403
    outside = Web(open_gateway, web.url.replace("/a/b/", "/"), None)
    assert outside.get("/api/kernels").status == 404
    kernel = Kernel(web, web.create())
    assert kernel.socket().value("1+1") == "2"
    answer = web.get(f"/api/kernels/{kernel.id}/")
    assert answer.status == 200
    kernel.close()


@pytest.fixture(scope="module")
def tls_gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    if not shutil.which("openssl"):
        pytest.skip("no openssl to make a certificate with")
    folder = tmp_path_factory.mktemp("tls")
    key, certificate = folder / "key.pem", folder / "cert.pem"
    subprocess.run(
        (
            "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 "
            f"-nodes -days 2 -subj /CN=localhost -keyout {key} "
            f"-out {certificate}"
        ).split(),
        check=True,
        capture_output=True,
    )
    yield from running(
        *("--set", f"http/certificate={certificate}"),
        *("--set", f"http/key={key}"),
        "--set",
        "http/allow_origin=http://other.example:8080, https://pages.example",
        *("--set", "http/token=a-chosen-one"),
    )


def test_tls_and_cors(tls_gateway: Gateway) -> None:
    web = Web.of(tls_gateway)
    assert web.url.startswith("https://")
    assert web.token == "a-chosen-one"
    pages = {"Origin": "https://pages.example"}
    answer = web.get("/api/kernels", headers=pages)
    assert answer.headers["Access-Control-Allow-Origin"] == pages["Origin"]
    assert answer.headers["Access-Control-Allow-Credentials"] == "true"
    other = {"Origin": "http://other.example:8080"}
    answer = web.get("/api/kernels", headers=other)
    assert answer.headers["Access-Control-Allow-Origin"] == other["Origin"]
    answer = web.get("/api/kernels", headers=EVIL)
    assert "Access-Control-Allow-Origin" not in answer.headers
    browser = Browser(web)
    browser.ask("GET", "/login")
    shown = {"Authorization": f"token {web.token}"}
    (cookie,) = login_cookies(browser.ask("GET", "/api/kernels", headers=shown))
    assert cookie.endswith("; HttpOnly; SameSite=Strict; Secure")
    kernel = Kernel(web, web.create())
    ws = kernel.socket()
    assert ws.value("1+1") == "2"
    assert len(ws.value("'x' * 3_000_000")) == 3_000_002
    kernel.close()


@pytest.mark.parametrize(
    "headers",
    [
        [b"X-Long: " + b"x" * 40000],
        [b"X-Long: " + b"x" * 1000000],
        [b"X-%d: y" % i for i in range(20000)],
    ],
    ids=["just-more", "a-megabyte", "many"],
)
def test_huge_headers_over_tls(
    tls_gateway: Gateway, headers: list[bytes]
) -> None:
    """The first request of a connection and its second; no other one."""
    web = Web.of(tls_gateway)
    small = b"GET /api HTTP/1.1\r\nHost: localhost\r\n\r\n"
    huge = b"\r\n".join([small[:-4], *headers, b"", b""])
    with speak_tls(web) as idle, speak_tls(web) as slow:
        slow.sendall(small[:-2])
        for connection in new_and_used(web, small):
            with suppress(OSError):  # it does not read on
                connection.sendall(huge)
            assert last_of(connection) == b""
        slow.sendall(small[-2:])
        idle.sendall(small)
        for connection in (slow, idle):
            assert answer_of(connection).startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize(
    "line",
    [
        b"\0\0\0\0",
        b"BREW /api HTTP/1.1",
        b"GET api HTTP/1.1",
        b"GET /%zz HTTP/1.1",
        b"GET /api",
        b"GET /api%0d%0aSet-Cookie:%20a=b HTTP/1.1",
    ],
)
def test_first_lines_over_tls(tls_gateway: Gateway, line: bytes) -> None:
    """The first request of a connection and its second; no other one.
    libwebsockets refuses some of them."""
    web = Web.of(tls_gateway)
    small = b"GET /api HTTP/1.1\r\nHost: localhost\r\n\r\n"
    is_ours = line in (b"GET /api", b"GET /api%0d%0aSet-Cookie:%20a=b HTTP/1.1")
    with speak_tls(web) as slow:
        slow.sendall(small[:-2])
        for connection in new_and_used(web, small):
            connection.sendall(line + small[small.index(b"\r") :])
            answer = last_of(connection)
            if is_ours:
                assert answer.startswith(b"HTTP/1.1 400 "), answer
                assert b"The first line of a request is" in answer
            else:
                assert answer[8:13] in (b"", b" 403 "), answer
        slow.sendall(small[-2:])
        assert answer_of(slow).startswith(b"HTTP/1.1 200 ")


def new_and_used(web: Web, small: bytes) -> Iterator[ssl.SSLSocket]:
    """A connection, and another that has had an answer to a small request."""
    for before in (b"", small):
        with speak_tls(web) as connection:
            if before:
                connection.sendall(before)
                assert b" 200 " in answer_of(connection)
            yield connection


def speak_tls(web: Web) -> ssl.SSLSocket:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    plain = socket.create_connection((web.host, web.port), DEADLINE)
    return context.wrap_socket(plain)


def last_of(connection: ssl.SSLSocket) -> bytes:
    """All that comes until the other side closes."""
    answer = b""
    with suppress(OSError):
        while got := connection.recv(65536):
            answer += got
    return answer


def answer_of(connection: ssl.SSLSocket) -> bytes:
    """Head and body."""
    answer = b""
    while b"}" not in answer:
        got = connection.recv(65536)
        assert got, answer
        answer += got
    return answer


@pytest.mark.parametrize(
    ("token", "path", "expected"),
    [
        (None, "/api/kernels", 401),
        (None, "/api/contents/workspaces/x", 401),
        (None, "/nothing", 401),
        ("wrong", "/api/kernels", 401),
        ("observe", "/api/kernels", 403),
        (None, "/login", 413),
    ],
)
@pytest.mark.parametrize("is_chunked", [False, True])
def test_an_unauthorized_client_sends_no_body(
    gateway: Gateway,
    web: Web,
    token: Optional[str],
    path: str,
    expected: int,
    is_chunked: bool,
) -> None:
    """Answered before the body is there, so that no client fills the gateway's
    memory."""
    made = None
    if token == "observe":
        made, token = make_token(gateway, "observe")
    lines = [f"POST {path} HTTP/1.1", f"Host: {web.host}"]
    lines += [f"Authorization: token {token}"] if token else []
    lines += ["Transfer-Encoding: chunked" if is_chunked else LONG]
    begun = b"10001\r\n" + b"x" * 0x10001 if is_chunked else b"x"
    plain = socket.create_connection((web.host, web.port), DEADLINE)
    with plain as connection:
        connection.sendall("\r\n".join([*lines, "", ""]).encode() + begun)
        answer = connection.recv(65536)
    assert answer.startswith(f"HTTP/1.1 {expected} ".encode()), answer
    if made:
        gateway.run("token", "revoke", made)


LONG = "Content-Length: 400000000"


def test_half_a_pair_is_refused() -> None:
    gateway = Gateway("--set", "http/key=/nowhere")
    with pytest.raises(AssertionError, match="http/certificate is missing"):
        gateway.start()
    gateway.sweep()


def test_sockets_are_closed_with_try_again_later(tmp_path: Path) -> None:
    gateway = Gateway().start()  # A-U20, A-U21
    try:
        web = Web.of(gateway)
        kernel = web.create()
        ws = Socket(web, kernel, query={"session_id": "tab"})
        ws.run("x = 'kept'")
        gateway.terminate()
        with pytest.raises(Closed) as caught:
            ws.until(lambda m: False)
        assert caught.value.code == 1012
        gateway.start()
        with Socket(
            Web.of(gateway), kernel, query={"session_id": "tab"}
        ) as again:
            assert again.value("x") == "'kept'"
            assert not [
                m for m in again.seen if "x = 'kept'" in str(m["content"])
            ]
        wait_for(lambda: Web.of(gateway).get("/api").status == 200, "HTTP")
    finally:
        gateway.end()
