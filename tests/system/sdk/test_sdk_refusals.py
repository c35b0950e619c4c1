"""What the client raises when there is no room, and what a run becomes that
the session did not take."""

from __future__ import annotations

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from typing import Iterator

import hearth
import pytest
from deadline import wait_for
from harness import Gateway
from hearth._sync.run import Run
from processes import children
from surroundings import live_as

BIG = "1  #" + "x" * 60000


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gateway]:
    """A gateway that starts one session at a time, and lets one wait."""
    words = (
        "profile/python3/pool/max=0",
        "gateway/starts_max=1",
        "gateway/starts_queue=1",
    )
    gateway = Gateway(*(w for word in words for w in ("--set", word)))
    live_as(gateway, monkeypatch)
    try:
        yield gateway.start()
    finally:
        gateway.end()


def test_no_room_for_a_session(narrow: Gateway) -> None:
    (zygote,) = children(narrow.pid)
    refused: list[hearth.GatewayBusy] = []

    def make(_: int) -> None:
        with hearth.connect() as gateway:
            try:
                gateway.session()
            except hearth.GatewayBusy as error:
                refused.append(error)

    os.kill(zygote, signal.SIGSTOP)
    with ThreadPoolExecutor(4) as many:
        try:
            made = [many.submit(make, number) for number in range(4)]
            wait_for(lambda: len(refused) == 2, "two refusals")
        finally:
            os.kill(zygote, signal.SIGCONT)
        for each in made:
            each.result()
    for error in refused:
        assert error.retry_after >= 1
        assert "gateway/starts_queue" in str(error)
        assert "Send the same request again later." in str(error)
    assert len(hearth.connect().sessions()) == 2


def test_a_queue_that_is_full(user: Gateway) -> None:
    """Under the same key the code runs when there is room again."""
    with hearth.connect().session(limits={"requests_bytes": "64K"}) as session:
        running = session.start("import time; time.sleep(3600)")
        wait_for(lambda: running.status() == "running", "the cell")
        session.start(BIG)
        with pytest.raises(hearth.QueueFull, match="requests_bytes") as raised:
            session.run(BIG, key="again")
        assert raised.value.retry_after == 1
        session.restart()
        assert session.run(BIG, key="again").text == "1"


def test_a_run_that_is_refused(sync_session: hearth.Session) -> None:
    with pytest.raises(hearth.RunRefused) as raised:
        sync_session.run("1", timeout=0)
    assert raised.value.name == "BadRequest"
    assert "a number of seconds from 0.001" in str(raised.value)
    assert sync_session.run("1").text == "1"


def test_a_run_that_is_not_known(sync_session: hearth.Session) -> None:
    unknown = Run(sync_session, "no-such-run", "key", None, is_new=False)
    for ask in (unknown.status, unknown.result, unknown.view):
        with pytest.raises(hearth.RunForgotten, match="no-such-run"):
            ask()


def test_a_folder_that_is_full(user: Gateway) -> None:
    limits = {"workspace_bytes": "1M"}
    with hearth.connect().session(limits=limits) as session:
        with pytest.raises(hearth.WorkspaceFull, match="1048576") as raised:
            session.files.write("big", b"x" * 2_000_000)
        assert "Remove files that are not needed." in str(raised.value)
        assert not session.files.exists("big")
        session.files.write("small", "kept")
        assert session.files.read_text("small") == "kept"
