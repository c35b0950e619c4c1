"""A person who has logged in on the page: cookies instead of a token."""

from __future__ import annotations

import http.client

from web import Web

EVIL = {"Origin": "https://evil.example"}


def login_cookies(headers: http.client.HTTPMessage) -> list[str]:
    """The lines that set a cookie of a log-in."""
    lines = headers.get_all("Set-Cookie", [])
    return [line for line in lines if line.startswith("hearth-")]


class Browser:
    """Keeps cookies, as browsers do."""

    def __init__(self, web: Web) -> None:
        self.web = web.with_token(None)
        self.cookies: dict[str, str] = {}
        self.token_id = ""  # of the one it logged in with, for the test

    def ask(
        self,
        method: str,
        path: str,
        form: str = "",
        headers: dict[str, str] | None = None,
    ) -> http.client.HTTPMessage:
        sent = dict(headers or {})
        if self.cookies:
            sent["Cookie"] = self.cookie()
        if form:
            sent["Content-Type"] = "application/x-www-form-urlencoded"
        answer = self.web.ask(method, path, raw=form.encode(), headers=sent)
        for line in answer.headers.get_all("Set-Cookie", []):
            name, _, value = line.partition(";")[0].partition("=")
            self.cookies[name] = value
            if "Max-Age=0" in line:
                del self.cookies[name]
        self.status = answer.status
        self.body = answer.body
        return answer.headers

    def login(self, word: str) -> http.client.HTTPMessage:
        self.ask("GET", "/login")
        form = f"token={word}&_xsrf={self.cookies['_xsrf']}&next=/api"
        return self.ask("POST", "/login", form)

    def cookie(self) -> str:
        """As a header's value."""
        return "; ".join(f"{k}={v}" for k, v in self.cookies.items())
