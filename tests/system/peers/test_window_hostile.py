"""HTML that an agent's session wrote, in the window's quiet frame: no script of
it runs, it asks no server for anything, and nothing leaves its box.

The payloads are in window_payloads.json. EVIL means a server that counts
its connections, HOST its address."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from socketserver import BaseRequestHandler, ThreadingTCPServer
from typing import Any

import pytest
from deadline import DEADLINE, wait_for
from harness import Gateway, Session
from playwright.sync_api import Browser, Frame, Page, expect
from test_window_page import see, url
from window_cells import FAILS, RICH

PATIENCE_MS = DEADLINE * 1000
PAYLOADS: dict[str, list[str]] = json.loads(
    (Path(__file__).parent / "window_payloads.json").read_text("ascii")
)
HEIGHT_MAX = 482  # of a frame, in pixels, with its border
# What may be in a frame beside text, and on it: nothing of it acts or loads.
HARMLESS = """() => {
  const wrong = [];
  for (const element of document.querySelectorAll("body *")) {
    const isOwn = element === document.body.firstElementChild;
    if (isOwn) continue;
    if (/^(script|iframe|frame|object|embed|svg|math|link|meta|base|form|input|button|a|area|video|audio|source|template|image|portal|fencedframe|textarea|select|title)$/i
      .test(element.localName)) wrong.push(element.outerHTML);
    for (const { name, value } of element.attributes)
      if (/^on|^(href|action|formaction|srcset|poster|ping|data|name|is|srcdoc|target|background|longdesc)$/.test(name)
        || (name === "src" && !/^\\s*data:image\\/(png|jpeg|gif|webp);base64,/.test(value)))
        wrong.push(`${name}=${value}`);
  }
  return wrong;
}"""  # noqa: E501
SHOW = """async (html) => {
  const { Quiet } = await import("./window/quiet.js");
  const quiet = new Quiet(html, document.createTextNode("its plain text"));
  quiet.element.id = "shown";
  const isHeard = new Promise((resolve) => {
    const hear = quiet.hear.bind(quiet);
    quiet.hear = (said) => { hear(said); resolve(true); };
  });
  document.getElementById("main").replaceChildren(quiet.element);
  return isHeard;
}"""
BOX = """() => {
  const { width, height } = document.querySelector("#shown iframe")
    .getBoundingClientRect();
  return [height, width > document.getElementById("main").clientWidth];
}"""


class Counter(BaseRequestHandler):
    def handle(self) -> None:
        self.server.seen.append(  # type: ignore[attr-defined]
            self.request.recv(300)
        )


@pytest.fixture
def evil() -> Iterator[ThreadingTCPServer]:
    with ThreadingTCPServer(("127.0.0.1", 0), Counter) as server:
        server.seen = []  # type: ignore[attr-defined]
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


class Watched:
    """The window, and all that it did beyond what is its own."""

    def __init__(self, browser: Browser, gateway: Gateway) -> None:
        self.address = str(gateway.info()["http"]["url"])
        self.faults: list[str] = []
        self.context = browser.new_context()
        self.page = self.context.new_page()
        self.page.set_default_timeout(PATIENCE_MS)
        self.page.goto(url(gateway))
        see(self.page.locator("thead"), "Last activity")
        self.page.evaluate(
            "window.messages = []; addEventListener('message', ({data}) => {"
            " if (typeof data === 'string') messages.push(data) })"
        )
        page = self.page
        page.on("response", lambda got: self.note("loaded", got.url))
        page.on("dialog", lambda asked: self.fault(asked.message))
        page.on("download", lambda made: self.fault(made.url))
        self.context.on("page", lambda opened: self.fault("another page"))
        self.place = page.url

    def fault(self, what: str) -> None:
        self.faults.append(what)

    def note(self, what: str, where: str) -> None:
        own = ("hearth/window/frame", "hearth/window/quiet.js")
        lists = ("hearth/sessions",)
        if where.startswith("data:image/"):
            return
        if where not in [self.address + name for name in own + lists]:
            self.fault(f"{what} {where}")

    def frame(self) -> Frame:
        handle = self.page.query_selector("#shown iframe")
        assert handle is not None
        frame = handle.content_frame()
        assert frame is not None
        return frame

    def find(self) -> list[Any]:
        """Whatever a payload did that it must not do."""
        page = self.page
        found: list[Any] = [*self.faults, *page.evaluate("messages")]
        frame = self.frame()
        found += frame.evaluate(HARMLESS)
        if frame.title() != "Output":
            found.append(frame.title())
        if page.title() != "hearth" or page.url != self.place:
            found.append(f"{page.title()} at {page.url}")
        if frame.url != f"{self.address}hearth/window/frame":
            found.append(frame.url)
        height, is_wide = page.evaluate(BOX)
        if height > HEIGHT_MAX or is_wide:
            found.append(f"a box of {height} pixels")
        if len(page.frames) != 2:
            found.append(f"{len(page.frames)} frames")
        return found


def test_the_payloads_are_many_and_each_another_one() -> None:
    every = [payload for kind in PAYLOADS.values() for payload in kind]
    assert len(set(every)) == len(every) >= 200


@pytest.mark.parametrize("kind", PAYLOADS)
def test_nothing_of_hostile_html_acts(
    browser: Browser, gateway: Gateway, evil: ThreadingTCPServer, kind: str
) -> None:
    host = f"127.0.0.1:{evil.server_address[1]}"
    watched = Watched(browser, gateway)
    for payload in PAYLOADS[kind]:
        html = payload.replace("EVIL", f"http://{host}")
        watched.page.evaluate(SHOW, html.replace("HOST", host))
        box = watched.page.locator("#shown").bounding_box()
        assert box is not None
        watched.page.mouse.click(box["x"] + 40, box["y"] + 40)
        assert watched.find() == [], payload
        assert not evil.seen, payload  # type: ignore[attr-defined]
    watched.context.close()
    assert not evil.seen  # type: ignore[attr-defined]


def test_the_policy_holds_what_the_script_lets_through(
    browser: Browser, gateway: Gateway, evil: ThreadingTCPServer
) -> None:
    """As if the frame's script had a hole: the HTML is put there as it is."""
    host = f"127.0.0.1:{evil.server_address[1]}"
    watched = Watched(browser, gateway)
    for kind in ("scripts", "handlers", "svg", "css", "forms", "frames"):
        for payload in PAYLOADS[kind]:
            html = payload.replace("EVIL", f"http://{host}")
            watched.page.evaluate(SHOW, "text")
            watched.frame().evaluate(
                "(html) => { document.body.innerHTML = html; }", html
            )
            box = watched.page.locator("#shown").bounding_box()
            assert box is not None
            watched.page.mouse.click(box["x"] + 40, box["y"] + 40)
            assert watched.page.evaluate("messages") == [], payload
            assert watched.page.url == watched.place, payload
            assert not evil.seen, payload  # type: ignore[attr-defined]
    watched.context.close()


def test_few_frames_are_alive_and_the_others_are_text(
    browser: Browser, gateway: Gateway
) -> None:
    session = gateway.create("--name", "many")
    page = browser.new_context().new_page()
    page.set_default_timeout(PATIENCE_MS)
    page.goto(url(gateway, session.id))
    with session.client() as agent:
        agent.run(
            "from IPython.display import display\n"
            "for n in range(30):\n"
            "    html = f'<b>bold {n}</b>' + '<p>line</p>' * 9\n"
            "    display({'text/html': html, 'text/plain': f'plain {n}'},"
            " raw=True)"
        )
    expect(page.locator(".quiet")).to_have_count(30)

    def is_drawn(number: int) -> bool:
        quiet = page.locator(".quiet").nth(number)
        quiet.scroll_into_view_if_needed()
        assert page.locator(".quiet iframe").count() <= 10
        bold = quiet.frame_locator("iframe").locator("b")
        return bold.all_inner_texts() == [f"bold {number}"]

    for number in (29, 0, 15):
        wait_for(lambda: is_drawn(number), f"{number} in a frame")
    page.context.close()
    session.delete()


@pytest.fixture
def shown(browser: Browser, gateway: Gateway) -> Iterator[tuple[Page, Session]]:
    session = gateway.create("--name", "rich")
    page = browser.new_context().new_page()
    page.set_default_timeout(PATIENCE_MS)
    page.goto(url(gateway, session.id))
    yield page, session
    page.context.close()
    session.delete()


def test_outputs_are_drawn(shown: tuple[Page, Session]) -> None:
    page, session = shown
    with session.client() as agent:
        agent.run(RICH)
        agent.run(FAILS)
    expect(page.locator("img").first).to_have_js_property("naturalWidth", 50)
    frame = page.locator(".quiet").first.frame_locator("iframe")
    expect(frame.locator("td")).to_have_text(["left", "right"])
    assert page.locator("td").count() == 0
    see(page.locator(".quiet").nth(1), "nothing is left of it")
    see(page.locator(".quiet").nth(1), "its text")
    page.locator(".json summary", has_text="names: [2]").click()
    see(page.locator(".json"), '0: "ada"1: null')
    see(page.locator("figure", has_text="LaTeX, as it was written"), "$x^2$")
    expect(page.locator(".ansi1").first).to_have_text("red ")
    expect(page.locator(".ansi4.bold").first).to_have_text("blue")
    failed = page.locator(".cell.failed .bad")
    shown_text = failed.inner_text()
    assert shown_text.startswith("Cell In[2], line 3")
    assert "JSONDecodeError: Expecting" in shown_text
    assert "decoder.py" not in shown_text
    failed.locator("summary").click()
    assert "decoder.py" in failed.inner_text()
