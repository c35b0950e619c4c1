"""The way into the window: who may ask at all, the code, the token, the page's
files."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import EVIL, Browser
from deadline import wait_for
from harness import Gateway
from web import Kernel, Web

PAGE = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
NAVIGATES = {"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}


def code_of(web: Web, *words: str) -> str:
    done = web.gateway.run("window", "--url", *words)
    assert done.returncode == 0, done.stderr
    found = re.fullmatch(
        rf"{re.escape(web.url)}hearth/window#code=([^&\s]+)(&sessions/.*)?\n",
        done.stdout,
    )
    assert found, done.stdout
    return found[1]


def trade(web: Web, code: str) -> Web:
    answer = web.with_token(None).post("/hearth/window", {"code": code})
    assert answer.status == 201, answer
    return web.with_token(answer.json["token"])


# ---- the code ----


def test_a_code_gives_one_token_that_sees_and_changes_nothing(
    web: Web, kernel: Kernel
) -> None:
    code = code_of(web)
    window = trade(web, code)
    listed = window.get("/hearth/sessions")
    assert kernel.id in [session["id"] for session in listed.json]
    assert window.get("/api/me").json["scopes"] == ["observe"]
    assert window.get("/api/me").json["identity"]["name"].startswith("window-")
    refused = window.ask("DELETE", f"/api/kernels/{kernel.id}")
    assert refused.status == 403
    again = web.with_token(None).post("/hearth/window", {"code": code})
    assert again.status == 403
    assert "was used before; `hearth window`" in again.json["message"]


def test_the_page_may_get_other_scopes(web: Web) -> None:
    window = trade(web, code_of(web, "--scope", "observe,execute"))
    assert window.get("/api/me").json["scopes"] == ["observe", "execute"]
    wrong = web.gateway.run("window", "--url", "--scope", "everything")
    assert wrong.returncode == 2
    assert "observe, execute, files and admin" in wrong.stderr


def test_the_url_leads_to_a_session(web: Web, kernel: Kernel) -> None:
    done = web.gateway.run("window", "--url", kernel.id[:8])
    assert done.stdout.endswith(f"&sessions/{kernel.id}\n")
    assert web.gateway.run("window", "--url", "absent").returncode == 3


@pytest.mark.parametrize("code", ["", "code.1.1.00.00", "x" * 10000, "é"])
def test_what_is_no_code_is_refused(web: Web, code: str) -> None:
    answer = web.with_token(None).post("/hearth/window", {"code": code})
    assert answer.status == 403, answer
    assert "did not make this code" in answer.json["message"]


@pytest.fixture
def proxied() -> Iterator[Gateway]:
    gateway = Gateway("--set", "http/allow_origin=https://hearth.example")
    try:
        gateway.start()
        yield gateway
    finally:
        gateway.end()


def test_a_browser_is_opened_by_a_file(web: Web, tmp_path: Path) -> None:
    """Every user of the machine can read the arguments of a program."""
    opened = tmp_path / "opened"
    opener = tmp_path / "xdg-open"
    opener.write_text(
        "#!/bin/sh\n"
        f'{{ stat -c "$$ %a" "$1"; cat "$1"; }} >{opened}.new\n'
        f"mv {opened}.new {opened}\n"
        "exec sleep 600\n"
    )
    opener.chmod(0o755)
    env = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "DISPLAY": ":9"}
    done = web.gateway.run("window", env=env)
    assert (done.returncode, done.stdout) == (0, ""), done
    wait_for(opened.exists, "the program that opens a browser")
    first, text = opened.read_text().split("\n", 1)
    pid, mode = first.split()
    os.kill(int(pid), signal.SIGKILL)
    assert mode == "600"
    found = re.search(r"url=(\S+?)#code=([^&\"]+)", text)
    assert found
    assert found[1] == f"{web.url}hearth/window"
    trade(web, found[2])


def test_the_token_outlives_the_gateway(proxied: Gateway) -> None:
    web = Web.of(proxied)
    window = trade(web, code_of(web))
    proxied.terminate()
    proxied.start()
    web.renew()
    assert web.with_token(window.token).get("/hearth/sessions").status == 200


def test_all_windows_are_revoked_at_once(web: Web) -> None:
    windows = [trade(web, code_of(web)) for _ in range(2)]
    waiting = code_of(web)
    assert web.gateway.run("token", "revoke", "windows").returncode == 0
    for window in windows:
        assert window.get("/hearth/sessions").status == 401
    late = web.with_token(None).post("/hearth/window", {"code": waiting})
    assert late.status == 403
    assert trade(web, code_of(web)).get("/hearth/sessions").status == 200
    assert web.get("/hearth/sessions").status == 200


# ---- the page ----


def test_the_root_has_a_page_for_browsers_alone(web: Web) -> None:
    stranger = web.with_token(None)
    page = stranger.get("/", headers=PAGE)
    assert page.status == 200
    assert b"hearth window" in page.body
    assert stranger.get("/").status == 401
    assert web.get("/").json["message"].startswith("GET / is for browsers")


def test_the_page_runs_nothing_but_its_own_files(web: Web) -> None:
    page = web.with_token(None).get("/hearth/window")
    policy = page.headers["Content-Security-Policy"]
    for rule in (
        "default-src 'none'",
        "script-src 'self'",
        "connect-src 'self'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    ):
        assert rule in policy
    assert page.headers["Cross-Origin-Opener-Policy"] == "same-origin"
    assert "Set-Cookie" not in page.headers
    names = re.findall(r'(?:src|href)="(window/[^"]+)"', page.body.decode())
    assert len(names) == 2
    for name in names:
        assert web.with_token(None).get(f"/hearth/{name}").status == 200
    assert web.get("/hearth/window/nothing.js").status == 404


def test_sessions_are_listed(web: Web, kernel: Kernel) -> None:
    ended = web.create()
    web.delete(ended)
    alive = [each["id"] for each in web.get("/hearth/sessions").json]
    whole = web.get("/hearth/sessions?all=1").json
    assert kernel.id in alive
    assert ended not in alive
    (gone,) = (each for each in whole if each["id"] == ended)
    assert gone["reason"] == "deleted"
    assert web.get("/hearth/sessions?all=2").status == 400


# ---- who may ask at all ----


def test_another_name_than_this_machines_is_refused(web: Web) -> None:
    """DNS rebinding: whatever is asked for, with a token too."""
    for host in ("evil.example", "localhost.evil.example", "127.0.0.1.evil"):
        for method, path in (
            ("GET", "/api"),
            ("GET", "/hearth/window"),
            ("GET", "/api/kernels"),
            ("POST", "/hearth/window"),
            ("OPTIONS", "/api/kernels"),
            ("GET", "/none"),
        ):
            answer = web.ask(method, path, headers={"Host": host})
            assert answer.status == 403, (host, method, path)
            assert "is not this machine" in answer.json["message"]
    for host in ("localhost", "a.localhost:1", "127.1.2.3", "[::1]:80"):
        assert web.get("/api", headers={"Host": host}).status == 200, host


def test_a_proxys_name_is_permitted_by_its_origin(proxied: Gateway) -> None:
    web = Web.of(proxied)
    named = {"Host": "hearth.example"}
    assert web.get("/api/kernels", headers=named).status == 200
    other = {"Host": "hearth.example.evil"}
    assert web.get("/api/kernels", headers=other).status == 403


def test_what_another_page_embeds_is_refused(web: Web) -> None:
    """A picture, a script, a frame: browsers send no Origin with those."""
    browser = Browser(web)
    browser.login(str(web.token))
    for site in ("cross-site", "same-site"):
        sent = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "no-cors"}
        browser.ask("GET", "/api/kernels", headers=sent)
        assert browser.status == 404, site
        framed = {**sent, **NAVIGATES, "Sec-Fetch-Dest": "iframe"}
        browser.ask("GET", "/api/kernels", headers=framed)
        assert browser.status == 404, site
        followed = {**sent, **NAVIGATES}
        browser.ask("GET", "/api/kernels", headers=followed)
        assert browser.status == 200, site
        browser.ask("POST", "/api/kernels", headers=followed)
        assert browser.status == 404, site
    for site in ("same-origin", "none"):
        browser.ask("GET", "/api/kernels", headers={"Sec-Fetch-Site": site})
        assert browser.status == 200, site


def test_cookies_stay_on_the_site(web: Web) -> None:
    browser = Browser(web)
    cookies = browser.login(str(web.token)).get_all("Set-Cookie")
    assert cookies
    assert all("SameSite=Strict" in cookie for cookie in cookies)


def test_a_window_gets_no_cookie(web: Web) -> None:
    """Also where a person has opened the page to log in."""
    window = trade(web, code_of(web))
    shown = {"Cookie": "_xsrf=" + "0" * 32}
    answer = window.get("/api/kernels", headers=shown)
    assert answer.status == 200
    assert "Set-Cookie" not in answer.headers


def test_no_page_of_another_origin_gets_a_token(web: Web) -> None:
    code = code_of(web)
    stranger = web.with_token(None)
    body = {"code": code}
    answer = stranger.post("/hearth/window", body, headers=EVIL)
    assert answer.status == 404
    trade(web, code)
