"""The cookie of a log-in: who gets one, and what it permits."""

from __future__ import annotations

import json

import pytest
from browser import EVIL, Browser, login_cookies
from harness import Gateway
from web import Web


def test_login(web: Web) -> None:
    browser = Browser(web)
    browser.login("wrong")
    assert browser.status == 401
    assert b"not the token" in browser.body
    browser.ask("GET", "/api/kernels")
    assert browser.status == 401
    headers = browser.login(str(web.token))
    assert browser.status == 302
    assert headers["Location"] == "/api"
    cookies = headers.get_all("Set-Cookie", [])
    assert any("HttpOnly" in line for line in cookies)
    browser.ask("GET", "/api/kernels")
    assert browser.status == 200
    browser.ask("GET", "/api/kernels", headers=EVIL)
    assert browser.status == 404
    browser.ask("GET", "/logout")
    browser.ask("GET", "/api/kernels")
    assert browser.status == 401


def test_the_login_takes_its_proof_in_a_header(web: Web) -> None:
    """As Jupyter's page does, for programs."""
    browser = Browser(web)
    browser.ask("GET", "/login")
    form = f"password={web.token}"
    for shown in ({}, {"X-XSRFToken": "wrong"}):
        browser.ask("POST", "/login", form, headers=shown)
        assert browser.status == 403
    proof = {"X-XSRFToken": browser.cookies["_xsrf"]}
    browser.ask("POST", "/login", f"{form}&_xsrf=wrong", headers=proof)
    assert browser.status == 403
    stranger = Browser(web)
    stranger.ask("POST", "/login", form, headers=proof)
    assert stranger.status == 403
    stranger.cookies["_xsrf"] = ""
    stranger.ask("POST", "/login", f"{form}&_xsrf=")
    assert stranger.status == 403
    browser.ask("POST", "/login", "password=wrong", headers=proof)
    assert browser.status == 401
    browser.ask("POST", "/login", form, headers=proof)
    assert browser.status == 302
    browser.ask("GET", "/api/kernels")
    assert browser.status == 200


# ---- the cookie of a request with a token ----


def test_a_token_gets_a_cookie_where_cookies_are_kept(web: Web) -> None:
    """Emacs opens its WebSocket by the cookie. One that has not opened the page
    to log in gets none."""
    shown = {"Authorization": f"token {web.token}"}
    browser = Browser(web)
    headers = browser.ask("GET", "/api/kernels", headers=shown)
    assert not login_cookies(headers)
    browser.ask("GET", "/login")
    (cookie,) = login_cookies(browser.ask("GET", "/api/kernels", headers=shown))
    parts = cookie.split("; ")
    assert parts[1:] == [
        "Path=/",
        "Max-Age=2592000",
        "HttpOnly",
        "SameSite=Strict",
    ]
    headers = browser.ask("GET", "/api/kernels", headers=shown)
    assert not login_cookies(headers)  # it has a valid one
    browser.ask("GET", "/api/kernels")
    assert browser.status == 200
    # What holds for a cookie from the page holds for this one.
    browser.ask("GET", "/api/kernels", headers=EVIL)
    assert browser.status == 404
    path = "/api/kernels/00000000-0000-4000-8000-000000000000"
    browser.ask("DELETE", path)
    assert browser.status == 403
    proof = {"X-XSRFToken": browser.cookies["_xsrf"]}
    browser.ask("DELETE", path, headers=proof)
    assert browser.status == 404


def test_a_cookie_has_the_scopes_of_its_token(
    gateway: Gateway, web: Web
) -> None:
    made = gateway.json("token", "create", "--json", "--scope", "observe", "t")
    shown = {"Authorization": f"token {made['token']}"}
    browser = Browser(web)
    browser.ask("GET", "/login")
    proof = {"X-XSRFToken": browser.cookies["_xsrf"]}
    headers = browser.ask("POST", "/api/kernels", headers=shown)
    assert browser.status == 403
    assert not login_cookies(headers)  # what it asked for is not permitted
    assert login_cookies(browser.ask("GET", "/api/kernels", headers=shown))
    browser.ask("POST", "/api/kernels", headers=proof)
    assert browser.status == 403
    assert "execute" in json.loads(browser.body)["message"]
    # A token with more rights does not change what the cookie may do.
    whole = {"Authorization": f"token {web.token}"}
    assert not login_cookies(browser.ask("GET", "/api/kernels", headers=whole))
    browser.ask("POST", "/api/kernels", headers=proof)
    assert browser.status == 403
    assert gateway.run("token", "revoke", made["id"]).returncode == 0
    browser.ask("GET", "/api/kernels")
    assert browser.status == 401


@pytest.mark.parametrize(
    ("path", "sent"),
    [
        ("/hearth/sessions", {}),
        ("/metrics", {}),
        ("/logout", {}),
        ("/api/kernels", EVIL),
        ("/api/kernels", {"Sec-Fetch-Site": "cross-site"}),
        ("/api/kernels", {"Sec-Fetch-Site": "same-site"}),
    ],
)
def test_other_requests_with_a_token_get_no_cookie(
    web: Web, path: str, sent: dict[str, str]
) -> None:
    browser = Browser(web)
    browser.ask("GET", "/login")
    shown = {"Authorization": f"token {web.token}", **sent}
    lines = login_cookies(browser.ask("GET", path, headers=shown))
    assert not [line for line in lines if "Max-Age=0" not in line]


def shows(web: Web, cookie: str, *values: str) -> bytes:
    """The answer to a request with these lines, byte for byte."""
    lines = [f"Authorization: {value}" for value in values]
    if cookie:
        lines.append(f"Cookie: {cookie}")
    head = ["GET /api/kernels HTTP/1.1", f"Host: {web.host}:{web.port}"]
    text = "\r\n".join([*head, *lines, "Connection: close", "", ""])
    return web.raw(text.encode()).partition(b"\r\n")[0]


def test_a_cookie_beside_an_authorization(web: Web) -> None:
    """A text that is no token takes nothing away; a wrong token is refused."""
    browser = Browser(web)
    browser.login(str(web.token))
    cookie = browser.cookie()
    right = f"token {web.token}"
    for values in (["token "], ["token"], ["Basic eDp5"], [right, "token x"]):
        assert b" 200 " in shows(web, cookie, *values), values
        assert b" 401 " in shows(web, "", *values), values
    for values in ([right, right], [right, right, right]):
        assert b" 200 " in shows(web, "", *values)
    for values in (["token x"], ["token x", "token x"]):
        assert b" 401 " in shows(web, cookie, *values), values


def test_xsrf(web: Web) -> None:
    browser = Browser(web)
    browser.login(str(web.token))
    path = "/api/kernels/00000000-0000-4000-8000-000000000000"
    browser.ask("DELETE", path)
    assert browser.status == 403
    assert "'_xsrf' argument missing" in json.loads(browser.body)["message"]
    browser.ask("DELETE", path, headers={"X-XSRFToken": "wrong"})
    assert browser.status == 403
    shown = {"X-XSRFToken": browser.cookies["_xsrf"]}
    browser.ask("DELETE", path, headers=shown)
    assert browser.status == 404


def test_forged_cookies(web: Web) -> None:
    browser = Browser(web)
    browser.login(str(web.token))
    name = next(n for n in browser.cookies if n.startswith("hearth-"))
    good = browser.cookies[name]
    last = "0" if good[-1] != "0" else "1"
    ident, expiry, mac = good.split(".")
    for value in (
        good[:-1] + last,
        good[:-1],
        f"{ident}.{int(expiry) + 1}.{mac}",
        f"x.{expiry}.{mac}",
        "",
        ".",
        "..",
        "a" * 5000,
    ):
        browser.cookies[name] = value
        browser.ask("GET", "/api/kernels")
        assert browser.status == 401, value
    browser.cookies[name] = good
    browser.ask("GET", "/api/kernels")
    assert browser.status == 200


def test_login_redirects_to_this_server_only(web: Web) -> None:
    for place in ("//evil.example", "https://evil.example", "/\\evil", "x"):
        answer = web.with_token(None).get(
            f"/login?token={web.token}&next={place}"
        )
        assert answer.status == 302
        assert answer.headers["Location"] == "/login"
