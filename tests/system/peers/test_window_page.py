"""The window in a real browser: what a person sees of sessions, and what an
agent's hostile output cannot do there."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from deadline import DEADLINE
from harness import ROOT, Gateway, Session
from playwright.sync_api import Browser, Page, expect

HERE = Path(__file__).resolve().parent
PATIENCE_MS = DEADLINE * 1000
QUIET_FRAME = "/hearth/window/frame"  # says what its policy forbids
# Everything that a browser could take for markup, a link, or another place;
# each leaves a trace if it is: a title, a request, a window.
HOSTILE = [
    "<script>document.title = 'run'</script>",
    "<img src=x onerror=\"document.title = 'run'\">",
    "<img src=http://evil.example/a.png>",
    "<svg onload=\"document.title = 'run'\">",
    "<iframe src=http://evil.example></iframe>",
    "<meta http-equiv=refresh content='0; url=http://evil.example'>",
    "<link rel=stylesheet href=http://evil.example/a.css>",
    "<style>@import 'http://evil.example/b.css'</style>",
    "<base href=http://evil.example>",
    "<a href=\"javascript:document.title='run'\">click</a>",
    "\x1b]8;;http://evil.example\x1b\\link\x1b]8;;\x1b\\",
    "\x1b[2J\x1b]0;run\x07",
    "\u202egnp.exe",
    "a\u2066b\u200bc\ufeff\u2028d",
    "&lt;script&gt;",
    "\ud83d",
]


def url(gateway: Gateway, *words: str) -> str:
    done = gateway.run("window", "--url", *words)
    assert done.returncode == 0, done.stderr
    return str(done.stdout.strip())


@pytest.fixture
def window(browser: Browser, gateway: Gateway) -> Iterator[Page]:
    """The page as `hearth window` opens it; whatever it asked for, and every
    error of it, is found at the end."""
    address = str(gateway.info()["http"]["url"])
    faults: list[str] = []
    context = browser.new_context()
    page = context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on(
        "console",
        lambda said: (
            faults.append(f"{said.text} {said.location['url']}")
            if said.type == "error" and QUIET_FRAME not in said.location["url"]
            else None
        ),
    )
    page.on(
        "request",
        lambda sent: (
            None
            if sent.url.startswith((address, "blob:", "data:"))
            else faults.append(sent.url)
        ),
    )
    page.goto(url(gateway))
    yield page
    assert page.title() == "hearth"
    assert len(context.pages) == 1
    assert not context.cookies()
    context.close()
    assert not faults


@pytest.fixture
def session(gateway: Gateway) -> Iterator[Session]:
    made = gateway.create("--name", "watched")
    yield made
    made.delete()


def see(where: Any, text: str) -> None:
    expect(where).to_contain_text(text, timeout=PATIENCE_MS)


def test_a_person_sees_what_an_agent_does(
    window: Page, session: Session
) -> None:
    assert "code=" not in window.url
    row = window.locator("tr", has_text="watched")
    see(row, "idle")
    row.get_by_role("link").click()
    see(window.locator("#place"), "watched")
    with session.client() as agent:
        agent.run("print('first')")
        see(window.locator(".cell"), "first")
        agent.run("import matplotlib.pyplot as p; p.plot([1, 2]); p.show()")
        picture = window.locator(".cell img")
        expect(picture).to_have_count(1, timeout=PATIENCE_MS)
        expect(picture).to_have_js_property("complete", True)
        assert picture.evaluate("(image) => image.naturalWidth") > 100
        agent.run("1 / 0")
    failed = window.locator(".cell.failed")
    see(failed, "ZeroDivisionError: division by zero")
    see(failed.locator("p").first, "[3] · ZeroDivisionError")
    window.reload()
    see(window.locator(".cell").first, "first")


def test_a_running_cell_has_a_clock_and_a_waiting_one_says_so(
    window: Page, gateway: Gateway, session: Session
) -> None:
    window.goto(f"{window.url.partition('#')[0]}#/sessions/{session.id}")
    with session.client() as agent:
        code = "input('name? ')\nimport time; time.sleep(600)"
        request = agent.kc.execute(code, allow_stdin=True)
        head = window.locator(".cell p").first
        see(window.locator(".cell"), "Waits for input: name?")
        see(head, "[1] · waits for input")
        agent.kc.input("ada")
        see(head, "[1] · running")
        gateway.run("session", "interrupt", session.id)
        agent.finish(request)
        see(head, "[1] · KeyboardInterrupt")


def test_another_url_waits_for_the_token(
    window: Page, gateway: Gateway, session: Session
) -> None:
    """A link that comes while the code is traded for the token."""
    window.evaluate(
        """id => {
            const plain = window.fetch;
            sessionStorage.clear();
            window.fetch = (...words) => {
                if (words[1]?.method === "POST")
                    location.hash = `#/sessions/${id}`;
                return plain(...words);
            };
        }""",
        session.id,
    )
    window.goto(url(gateway))
    see(window.locator("#place"), "watched")


@pytest.fixture
def killed() -> Iterator[Gateway]:
    gateway = Gateway()
    try:
        yield gateway.start()
    finally:
        gateway.end()


def test_only_what_people_want_to_know_is_a_banner(
    window: Page, gateway: Gateway, session: Session
) -> None:
    gateway.run("run", session.id, "--", "sh", "-c", "echo out")
    gateway.run("session", "restart", session.id)
    window.goto(f"{window.url.partition('#')[0]}#/sessions/{session.id}")
    banners = window.locator(".banner")
    see(banners.last, "the variables are gone")
    assert banners.all_inner_texts() == [
        "A program beside the kernel begins: sh -c echo out",
        "A program beside the kernel has ended: sh -c echo out",
        "A fresh kernel: the variables are gone: restarted on request",
    ]


def test_the_list_leaves_rows_and_focus_where_they_are(
    window: Page, gateway: Gateway, session: Session
) -> None:
    link = window.locator("tr", has_text="watched").get_by_role("link")
    link.focus()
    window.evaluate("document.activeElement.dataset.kept = '1'")
    other = gateway.create("--name", "other")
    see(window.locator("tbody"), "other")
    kept = window.evaluate("document.activeElement.dataset.kept")
    assert kept == "1"
    window.locator("#filter").fill("other")
    see(window.locator("main"), "1 session, 1 not shown")
    other.delete()


def test_it_goes_on_after_the_gateway_was_killed(
    browser: Browser, killed: Gateway
) -> None:
    gateway, session = killed, killed.create()
    page = browser.new_context().new_page()
    page.set_default_timeout(PATIENCE_MS)
    page.goto(url(gateway, session.id))
    with session.client() as agent:
        agent.run("print('before')")
    see(page.locator(".cell"), "before")
    port = int(gateway.info()["http"]["url"].rsplit(":", 1)[1].strip("/"))
    gateway.kill()
    see(page.locator("#link"), "does not answer")
    gateway.start("--set", f"http/port={port}")
    with session.client() as agent:
        agent.run("print('after')")
    see(page.locator(".cell").nth(1), "after")
    expect(page.locator(".cell")).to_have_count(2)
    page.context.close()


def test_hostile_output_is_text(window: Page, session: Session) -> None:
    code = (
        "from IPython.display import display\n"
        f"for text in {HOSTILE!r}:\n"
        "    print(text)\n"
        "    display({'text/html': text, 'text/plain': text}, raw=True)\n"
        "    data = text.encode(errors='replace')\n"
        "    display({'text/plain': text, 'image/png': data}, raw=True)\n"
        f"raise ValueError({''.join(HOSTILE[:-1])!r})"
    )
    window.goto(f"{window.url.partition('#')[0]}#/sessions/{session.id}")
    with session.client() as agent:
        agent.run(code)
    cell = window.locator(".cell.failed")
    see(cell, "<script>document.title = 'run'</script>")
    see(cell, "⟨U+202E⟩gnp.exe")
    see(cell, "⟨U+001B⟩]8;;http://evil.example")
    for element in ("script", "svg", "meta", "base", "a", "link"):
        assert window.locator(f"main {element}").count() == 0, element
    page_text = window.locator("main").inner_text()
    assert not set(page_text) & set("\x1b\x07\u202e\u2066\u200b\ufeff\u2028")


def test_a_name_is_text(browser: Browser, gateway: Gateway) -> None:
    name = "<b>\u202ebold"
    made = gateway.create("--name", name)
    page = browser.new_context().new_page()
    page.set_default_timeout(PATIENCE_MS)
    page.goto(url(gateway))
    see(page.locator("tr", has_text="<b>"), "<b>⟨U+202E⟩bold")
    page.context.close()
    made.delete()


def test_who_has_no_token_reads_how_to_get_one(
    browser: Browser, gateway: Gateway
) -> None:
    address = str(gateway.info()["http"]["url"])
    page = browser.new_context().new_page()
    page.set_default_timeout(PATIENCE_MS)
    page.goto(f"{address}hearth/window")
    see(page.locator("main"), "hearth window")
    code = url(gateway)
    page.goto(code)
    see(page.locator("thead"), "Last activity")
    other = browser.new_context().new_page()
    other.set_default_timeout(PATIENCE_MS)
    other.goto(code)
    see(other.locator("main"), "was used before")
    page.goto(address)
    see(page.locator("body"), "hearth lab")
    page.context.close()
    other.context.close()


def test_the_modules_are_typed() -> None:
    """By their comments, which TypeScript reads."""
    compiler = HERE / "node" / "node_modules" / "typescript" / "bin" / "tsc"
    pages = sorted((ROOT / "gateway/http/window/page").glob("*.js"))
    assert pages
    done = subprocess.run(
        [
            "node", str(compiler), "--noEmit", "--allowJs", "--checkJs",
            "--strict", "--target", "es2022", "--module", "es2022",
            "--moduleResolution", "bundler",
            "--lib", "es2022,dom,dom.iterable", *map(str, pages),
        ],
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
