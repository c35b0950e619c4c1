"""What a person's page says when the session in it has ended."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from deadline import wait_for
from harness import Gateway, Session
from lab import PATIENCE, Lab, LabServer
from playwright.sync_api import Locator, Page, expect
from test_lab import hearth_lab

pytestmark = pytest.mark.timeout(10 * PATIENCE)

CODES = ("x = 41", "print('seen')")


@pytest.fixture(scope="module")
def sessions(gateway: Gateway) -> Iterator[list[Session]]:
    made = [gateway.create("--name", f"of-{i}") for i in range(3)]
    for session in made:
        for code in CODES:
            assert session.exec(code).returncode == 0
    yield made
    for session in made:
        session.delete()


@pytest.fixture(scope="module")
def attached(
    gateway: Gateway,
    sessions: list[Session],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[LabServer]:
    yield from hearth_lab(gateway, tmp_path_factory.mktemp("endings"))


def opened(page: Page, attached: LabServer, session: Session) -> Lab:
    name = f"{session.model['name']}-{session.id[:8]}.ipynb"
    lab = Lab(page, attached.url(f"lab/tree/{name}"))
    lab.wait_kernel()
    assert lab.kernel_id() == session.id
    return lab


def bar(lab: Lab) -> Locator:
    return lab.page.locator(".hearth-Ending")


def alive(gateway: Gateway) -> set[str]:
    return {model["id"] for model in gateway.sessions()}


def test_a_deleted_session(
    gateway: Gateway,
    attached: LabServer,
    sessions: list[Session],
    page: Page,
) -> None:
    session = sessions[0]
    lab = opened(page, attached, session)
    session.delete()
    expect(bar(lab)).to_contain_text("ended at")
    expect(bar(lab)).to_contain_text("ended on request")
    lab.shot("hearth-lab-ended")
    # A cell starts nothing in its place, and the page says so again.
    before = alive(gateway)
    bar(lab).get_by_text("Read on").click()
    expect(bar(lab)).to_have_count(0)
    lab.run("1 + 1")
    expect(bar(lab)).to_contain_text("ended on request")
    assert page.locator(".jp-Dialog").count() == 0
    assert alive(gateway) == before
    bar(lab).get_by_text("New session").click()
    lab.wait_kernel()
    assert lab.kernel_id() != session.id
    assert bar(lab).count() == 0
    (made,) = alive(gateway) - before
    for model in gateway.sessions():
        gateway.note_namespace(model["pid"])
    cell = lab.run("6 * 7")
    expect(cell.locator(".jp-OutputArea-output")).to_have_text("42")
    gateway.run("session", "delete", made)


def test_a_killed_kernel_and_its_revival(
    gateway: Gateway,
    attached: LabServer,
    sessions: list[Session],
    page: Page,
) -> None:
    session = sessions[1]
    lab = opened(page, attached, session)
    cell = lab.run("import os; os.kill(os.getpid(), 9)")
    expect(cell).to_contain_text("KernelDied")
    expect(bar(lab)).to_contain_text("signal 9")
    before = lab.sources()
    bar(lab).get_by_text("Revive").click()
    lab.wait_kernel()
    gateway.note_namespace(session.show()["pid"])
    assert lab.kernel_id() == session.id
    assert bar(lab).count() == 0
    expect(page.locator(".Toastify__toast")).to_contain_text("ran again")
    cell = lab.run("x + 1")
    expect(cell.locator(".jp-OutputArea-output")).to_have_text("42")
    assert lab.sources()[:-1] == before  # none of its cells came twice


def test_a_session_that_was_gone_when_opened(
    gateway: Gateway,
    attached: LabServer,
    sessions: list[Session],
    page: Page,
) -> None:
    session = sessions[2]
    session.delete()
    session.wait_state("gone")
    before = alive(gateway)
    for place in (
        f"of-2-{session.id[:8]}.ipynb",
        f"recordings/{session.id}.ipynb",
    ):
        lab = Lab(page, attached.url(f"lab/tree/{place}"))
        expect(bar(lab)).to_contain_text("ended on request")
        expect(lab.notebook).to_contain_text("seen")
    assert alive(gateway) == before
    # JupyterLab opens its tabs again by itself, and nothing is started either.
    with page.expect_response(
        lambda r: "/api/workspaces" in r.url and r.request.method == "PUT"
    ):
        lab.command("docmanager:open", {"path": f"of-2-{session.id[:8]}.ipynb"})
    lab = Lab(page, attached.url("lab").removesuffix("&reset"))
    expect(bar(lab)).to_have_count(2)
    assert alive(gateway) == before
    lab = Lab(page, attached.url(f"lab/tree/recordings/{session.id}.ipynb"))
    expect(bar(lab)).to_contain_text("ended on request")
    # Another client revives it.
    done = gateway.run("session", "revive", session.id)
    assert done.returncode == 0, done.stderr
    gateway.note_namespace(session.show()["pid"])
    wait_for(lambda: bar(lab).count() == 0, "the page notices")
    lab.wait_kernel()
    assert lab.kernel_id() == session.id
