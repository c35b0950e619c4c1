"""A session saved as one HTML file, in a real browser and from disk: it shows
what the window shows, runs nothing, and asks no server for anything."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from socketserver import ThreadingTCPServer

import pytest
from deadline import DEADLINE
from harness import Gateway, Session
from playwright.sync_api import Browser, Page, expect
from test_window_hostile import PAYLOADS, Counter
from test_window_page import url
from web import Web
from window_cells import FAILS, RICH

PATIENCE_MS = DEADLINE * 1000
# What is in the page beside text, and on it: nothing of it acts or loads.
WRONG = """() => {
  const wrong = [];
  const allowed = /^(class|alt|align|colspan|dir|height|lang|open|reversed|rowspan|scope|span|start|title|valign|width)$/;
  for (const element of document.querySelectorAll("body, body *")) {
    if (!/^(body|main|h1|article|header|footer|section|aside|pre|a?bbr|b|blockquote|br|caption|center|code|col|colgroup|dd|del|details|dfn|div|dl|dt|em|figcaption|figure|h[1-6]|hr|i|img|ins|kbd|li|mark|ol|p|q|s|samp|small|span|strong|sub|summary|sup|table|tbody|td|tfoot|th|thead|time|tr|u|ul|var)$/
      .test(element.localName)) wrong.push(element.outerHTML);
    for (const { name, value } of element.attributes)
      if (!allowed.test(name) && !(name === "src"
        && /^\\s*data:image\\/(png|jpeg|gif|webp|svg\\+xml);base64,/.test(value)))
        wrong.push(`${name}=${value}`);
  }
  const main = document.querySelector("main");
  for (const element of main.children)
    if (!/^(h1|article|footer)$/.test(element.localName))
      wrong.push(`${element.localName} beside the cells`);
  for (const element of document.querySelectorAll("article > *"))
    if (!/^(header|pre|p|img|aside|section)$/.test(element.localName))
      wrong.push(`${element.localName} beside the outputs`);
  for (const element of document.querySelectorAll("article > p"))
    if (element.className !== "dim") wrong.push(element.outerHTML);
  for (const element of document.querySelectorAll("aside > *"))
    if (!/^(p|section|pre)$/.test(element.localName))
      wrong.push(`${element.localName} in the box's edge`);
  if (main.lastElementChild.localName !== "footer" || document.body.children.length !== 1)
    wrong.push("something follows the footer");
  return wrong;
}"""  # noqa: E501


@pytest.fixture
def evil() -> Iterator[ThreadingTCPServer]:
    with ThreadingTCPServer(("127.0.0.1", 0), Counter) as server:
        server.seen = []  # type: ignore[attr-defined]
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def session(gateway: Gateway) -> Iterator[Session]:
    made = gateway.create("--name", "saved")
    yield made
    made.delete()


@pytest.fixture
def watched(browser: Browser) -> Iterator[tuple[Page, list[str]]]:
    """A page, and all that it did beyond showing a file."""
    context = browser.new_context(accept_downloads=True)
    page = context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    faults: list[str] = []
    page.on("dialog", lambda asked: faults.append(asked.message))
    page.on("pageerror", lambda error: faults.append(str(error)))
    context.on("page", lambda opened: faults.append("another page"))
    context.on(
        "request",
        lambda sent: (
            None
            if sent.url.startswith(("file:", "data:image/"))
            else faults.append(sent.url)
        ),
    )
    yield page, faults
    context.close()


def save(gateway: Gateway, session: Session, path: Path) -> Path:
    made = gateway.run("notebook", "export", session.id, "-o", str(path))
    assert made.returncode == 0, made.stderr
    return path


def test_it_shows_what_the_window_shows(
    gateway: Gateway,
    session: Session,
    tmp_path: Path,
    watched: tuple[Page, list[str]],
) -> None:
    page, faults = watched
    with session.client() as agent:
        agent.run(RICH)
        agent.run("import matplotlib.pyplot as p; p.plot([1, 2]); p.show()")
        agent.run(FAILS)
    page.goto(f"file://{save(gateway, session, tmp_path / 'saved.html')}")
    assert page.locator("article").count() == 3
    expect(page.locator(".html td")).to_have_text(["left", "right"])
    pictures = page.locator("img")
    expect(pictures.first).to_have_js_property("naturalWidth", 50)
    expect(pictures.nth(1)).to_have_js_property("complete", True)
    assert pictures.nth(1).evaluate("(image) => image.naturalWidth") > 100
    box = page.locator("aside").nth(1)
    expect(box).to_contain_text("nothing is left of it")
    expect(box).to_contain_text("its text")
    expect(page.locator("article").first).to_contain_text('"names": [')
    expect(page.locator("article").first).to_contain_text("$x^2$")
    expect(page.locator(".ansi1").first).to_have_text("red ")
    expect(page.locator(".ansi4.bold").first).to_have_text("blue")
    failed = page.locator("article.failed")
    expect(failed.locator("header")).to_contain_text("[3] · JSONDecodeError")
    own = failed.locator(".bad > pre").inner_text()
    assert own.startswith("Cell In[3], line 3")
    assert "decoder.py" not in own
    expect(failed.locator("details")).to_contain_text("decoder.py")
    assert page.evaluate(WRONG) == []
    assert page.pdf()[:5] == b"%PDF-"
    assert not faults


def test_nothing_of_hostile_output_acts(
    gateway: Gateway,
    session: Session,
    tmp_path: Path,
    evil: ThreadingTCPServer,
    watched: tuple[Page, list[str]],
) -> None:
    page, faults = watched
    host = f"127.0.0.1:{evil.server_address[1]}"
    with session.client() as agent:
        agent.run("from IPython.display import display")
        for kind in PAYLOADS.values():
            texts = [
                payload.replace("EVIL", f"http://{host}").replace("HOST", host)
                for payload in kind
            ]
            agent.run(
                f"for text in {texts!r}:\n"
                "    display({'text/html': text}, raw=True)\n"
                "    display({'text/plain': text}, raw=True)\n"
                "    display({'text/markdown': text}, raw=True)\n"
                "    display({'application/json': {text: text}}, raw=True)\n"
                "    display({'image/svg+xml': text}, raw=True)\n"
                "    data = text.encode(errors='replace')\n"
                "    display({'image/png': data}, raw=True)\n"
                "    display({'x/y': text}, raw=True)\n"
                "    print(text)\n"
                f"raise ValueError({texts[0]!r})\n"
                f"# {texts[-1]!r}"
            )
    page.goto(f"file://{save(gateway, session, tmp_path / 'saved.html')}")
    place = page.url
    assert page.locator("article").count() == len(PAYLOADS) + 1
    count = sum(map(len, PAYLOADS.values()))
    assert page.locator("article > aside").count() == count
    assert page.evaluate(WRONG) == []
    for box in page.locator(".html").all()[:20]:
        box.click(position={"x": 3, "y": 3}, force=True)
    assert page.title() == "A session of hearth"
    assert page.url == place
    assert len(page.frames) == 1
    assert not set(page.locator("main").inner_text()) & set(
        "\x1b\x07\u202e\u2066\u200b\ufeff\u2028"
    )
    assert not faults
    assert not evil.seen  # type: ignore[attr-defined]


def test_the_pages_button_saves_the_same_file(
    gateway: Gateway, session: Session, browser: Browser, tmp_path: Path
) -> None:
    context = browser.new_context(accept_downloads=True)
    page = context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    session.exec("print('saved')")
    page.goto(url(gateway, session.id))
    with page.expect_download() as made:
        page.get_by_role("button", name="Save as one HTML file").click()
    assert made.value.suggested_filename == f"{session.id}.html"
    made.value.save_as(tmp_path / "pressed.html")
    saved = (tmp_path / "pressed.html").read_bytes()
    assert b"saved" in saved
    assert save(gateway, session, tmp_path / "b.html").read_bytes() == saved
    answer = Web.of(gateway).get(f"/hearth/sessions/{session.id}/page")
    assert answer.body == saved
    context.close()
