"""What a person may do with a session in the window, by keyboard alone, and
what a token that only observes is not offered."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from deadline import DEADLINE
from harness import Gateway, Session
from playwright.sync_api import Browser, Locator, Page, Route, expect
from test_window_page import see, url

PATIENCE_MS = DEADLINE * 1000
EXECUTES = ("--scope", "observe,execute")


@pytest.fixture
def session(gateway: Gateway) -> Iterator[Session]:
    made = gateway.create("--name", "acted on")
    yield made
    made.delete()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    made = browser.new_context().new_page()
    made.set_default_timeout(PATIENCE_MS)
    yield made
    made.context.close()


def press(page: Page, name: str, scope: Locator | None = None) -> None:
    """Press a button as one does without a pointer."""
    place = scope or page
    found = place.get_by_role("button", name=name, exact=True)
    found.focus()
    page.keyboard.press("Enter")


def test_a_cell_is_run_and_interrupted(
    page: Page, gateway: Gateway, session: Session
) -> None:
    page.goto(url(gateway, *EXECUTES, session.id))
    code = page.get_by_role("textbox", name="Code")
    code.focus()
    page.keyboard.type("kept = 1; import time; time.sleep(600)")
    page.keyboard.press("Shift+Enter")
    see(page.locator(".cell p").first, "[1] · running")
    expect(code).to_have_value("")
    press(page, "Interrupt")
    said = page.locator("#said")
    expect(said).to_have_text(
        "Interrupted. The variables are kept.", timeout=PATIENCE_MS
    )
    see(page.locator(".cell.failed"), "KeyboardInterrupt")
    code.focus()
    page.keyboard.type("print(kept + 1)")
    page.keyboard.press("Shift+Enter")
    see(page.locator(".cell").nth(1).locator(".output"), "2")
    press(page, "Interrupt")
    see(said, "Nothing was running. The variables are kept.")


def test_what_loses_variables_is_asked_for_first(
    page: Page, gateway: Gateway, session: Session
) -> None:
    page.goto(url(gateway, *EXECUTES, session.id))
    question = page.get_by_role("dialog")
    press(page, "End")
    expect(question.get_by_role("button", name="Cancel")).to_be_focused()
    page.keyboard.press("Escape")
    expect(question).to_have_count(0)
    press(page, "Restart")
    see(question, "Its variables are lost")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    see(page.locator("#said"), "Restarted. The variables are lost.")
    see(page.locator(".banner"), "A fresh kernel")
    assert gateway.json("session", "show", "--json", session.id)["id"]
    press(page, "End")
    press(page, "End", question)
    see(page.locator("main"), "The session is gone")
    expect(page.get_by_role("button", name="Interrupt")).to_have_count(0)
    press(page, "Revive")
    see(question, f"hearth session revive {session.id}")
    press(page, "Revive", question)
    expect(page.get_by_role("button", name="Interrupt")).to_have_count(
        1, timeout=PATIENCE_MS
    )
    with session.client() as agent:
        agent.run("print('alive again')")
    see(page.locator(".cell"), "alive again")


def test_who_may_only_look_is_offered_no_more(
    page: Page, gateway: Gateway, session: Session, tmp_path: Path
) -> None:
    page.goto(url(gateway, session.id))
    with session.client() as agent:
        agent.run("print('seen')")
    see(page.locator(".cell"), "seen")
    for name in ("Interrupt", "Restart", "End", "Run", "Revive"):
        button = page.get_by_role("button", name=name, exact=True)
        expect(button).to_have_count(0)
    with page.expect_download() as waiting:
        press(page, "Download notebook")
    path = tmp_path / waiting.value.suggested_filename
    waiting.value.save_as(path)
    assert path.name == f"{session.id}.ipynb"
    assert "seen" in json.dumps(json.loads(path.read_text("utf-8")))
    page.get_by_text("Open in JupyterLab").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text(f"hearth lab {session.id}")).to_be_visible()


def with_another_token(route: Route) -> None:
    route.continue_(
        headers={**route.request.headers, "authorization": "Bearer another"}
    )


def test_what_the_gateway_refuses_is_said(
    page: Page, gateway: Gateway, session: Session
) -> None:
    page.goto(url(gateway, *EXECUTES, session.id))
    see(page.locator("#place"), "acted on")
    expect(page.get_by_role("button", name="Interrupt")).to_have_count(
        1, timeout=PATIENCE_MS
    )
    page.route("**/interrupt", with_another_token)
    press(page, "Interrupt")
    see(page.locator("#said"), "A token is needed")
    gateway.run("token", "revoke", "windows")
    see(page.locator("main"), "this token was revoked")
