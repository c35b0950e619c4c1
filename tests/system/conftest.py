"""Fixtures: a running gateway, a session in it, a client of that."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Iterator

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))
pytest.register_assert_rewrite(
    "client",
    "ends",
    "harness",
    "outside",
    "preinstalling",
    "recordings",
    "tool_gateway",
    "tools_worker",
)

from client import Client  # noqa: E402
from deadline import wait_for  # noqa: E402
from harness import Gateway, Session, started  # noqa: E402
from tool_gateway import ToolGateway  # noqa: E402

if TYPE_CHECKING:
    from outside import Outside


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Add the gateway's messages to the report of a failed test."""
    outcome: Any = yield
    report = outcome.get_result()
    if not report.failed:
        return
    for name, value in getattr(item, "funcargs", {}).items():
        if isinstance(value, Gateway) and value.log.exists():
            text = value.log.read_text(errors="replace")
            report.sections.append((f"log of {name}", text[-16000:]))


@pytest.fixture(scope="module")
def gateway(request: pytest.FixtureRequest) -> Iterator[Gateway]:
    """One for a module; modules that end theirs make it one for each test."""
    is_warm = bool(request.node.get_closest_marker("warm"))
    with started(Gateway(warm=is_warm)) as running:
        yield running


@pytest.fixture
def session(gateway: Gateway) -> Iterator[Session]:
    made = gateway.create()
    yield made
    made.delete()


@pytest.fixture
def serve() -> Iterator[Any]:
    """Starts a gateway with tool servers, by their names."""
    made: list[ToolGateway] = []

    def make(
        *options: str, variables: Any = None, **servers: Any
    ) -> ToolGateway:
        made.append(ToolGateway(servers, *options))
        made[-1].env.update(variables or {})
        made[-1].start()
        return made[-1]

    yield make
    for one in made:
        one.end()


@pytest.fixture
def alone() -> Iterator[Gateway]:
    """Folders without a gateway; one that was started there is ended."""
    folders = Gateway()
    try:
        yield folders
    finally:
        folders.run("gateway", "stop", "--end-sessions")
        wait_for(
            lambda: not (folders.runtime / "management.sock").exists(),
            "the end of the gateway",
        )
        wait_for(lambda: not folders.left_over(), "nothing left over")
        folders.sweep()


@pytest.fixture(scope="module")
def outside() -> Iterator[Outside]:
    # Few tests need all these servers.
    from outside import made_outside

    with made_outside() as made:
        yield made


@pytest.fixture
def client(session: Session) -> Iterator[Client]:
    with session.client() as made:
        yield made


@pytest.fixture
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python with a folder of packages of its own."""
    folder = tmp_path_factory.mktemp("environment") / "venv"
    subprocess.run(
        ["/usr/bin/python3", "-m", "venv", "--without-pip", str(folder)],
        check=True,
    )
    (packages,) = folder.glob("lib/python*/site-packages")
    (packages / "all.pth").write_text(f"{Path(pytest.__file__).parents[1]}\n")
    return folder


@pytest.fixture(scope="session")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """To be preloaded: clocks that jump, disks that are slow (chaos.c)."""
    library = tmp_path_factory.mktemp("chaos") / "chaos.so"
    source = Path(__file__).with_name("chaos.c")
    subprocess.run(
        [
            "cc", "-D_GNU_SOURCE", "-shared", "-fPIC", "-o", str(library),
            str(source), "-ldl",
        ],
        check=True,
    )  # fmt: skip
    return library


@pytest.fixture
def folders() -> Iterator[Gateway]:
    """Folders of a gateway that is not started, or by the test itself."""
    made = Gateway()
    try:
        yield made
    finally:
        if made.process is not None or made.has_sessions():
            made.end()
        made.sweep()
