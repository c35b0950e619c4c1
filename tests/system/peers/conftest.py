"""Fixtures: a gateway that was started the way of Jupyter Kernel Gateway."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Iterator

import pytest

if TYPE_CHECKING:
    from client import Client
    from playwright.sync_api import Browser, Page

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "http")]
pytest.register_assert_rewrite("web")

from harness import Gateway, Session  # noqa: E402
from kernelgateway import KernelGateway  # noqa: E402
from web import Kernel, Web  # noqa: E402

TOKEN = "a-token-of-an-image"


@pytest.fixture(scope="module")
def kernel_gateway() -> Iterator[KernelGateway]:
    """A-SM1, A-AG1: what the images of smolagents and AutoGen say."""
    running = KernelGateway(
        "--KernelGatewayApp.ip=127.0.0.1",
        "--KernelGatewayApp.port=18888",
        "--JupyterApp.answer_yes=true",
        "--JupyterWebsocketPersonality.list_kernels=true",
        KG_AUTH_TOKEN=TOKEN,
    )
    try:
        running.start()
        yield running
    finally:
        running.end()


@pytest.fixture
def made() -> Iterator[KernelGateway]:
    """Return a gateway that the test starts, or that must not start."""
    gateway = KernelGateway()
    yield gateway
    if gateway.process is not None:
        gateway.end()
    else:
        gateway.sweep()


@pytest.fixture(scope="module")
def open_gateway() -> Iterator[KernelGateway]:
    """No token, as some clients cannot send one."""
    running = KernelGateway("--KernelGatewayApp.port=18988")
    try:
        running.start()
        yield running
    finally:
        running.end()


@pytest.fixture(scope="module")
def web(kernel_gateway: Gateway) -> Web:
    return Web.of(kernel_gateway)


@pytest.fixture
def kernel(web: Web) -> Iterator[Kernel]:
    made = Kernel(web, web.create())
    yield made
    made.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    from lab import chromium

    with chromium() as running:
        yield running


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    from lab import page_of

    with page_of(browser) as made:
        yield made


@pytest.fixture(scope="module")
def agents_session(gateway: Gateway) -> Iterator[Session]:
    made = gateway.create("--name", "sales of the agent")
    yield made
    made.delete()


@pytest.fixture(scope="module")
def agent(agents_session: Session) -> Iterator[Client]:
    """Uses the session all the while."""
    from lab import agent_of

    with agent_of(agents_session) as client:
        yield client
