"""What a job answers is what has become of the session's packages."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path
from typing import Any, Callable, Iterator

import pytest
from hearth_downloads.core.faults import Failed, Gone
from hearth_downloads.core.gateway import Gateway
from hearth_downloads.packages import generations
from hearth_downloads.packages.generations import Account, Generations, Package
from hearth_downloads.packages.job import Job
from hearth_downloads.packages.operations import do
from hearth_downloads.packages.stage import Stage


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, Gateway]]:
    """Return the gateway's end of a socket, and the worker's."""
    mine, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with mine, theirs:
        yield mine, Gateway(theirs)


@pytest.fixture
def job(tmp_path: Path) -> Job:
    """Return one that removes the only package of a session, without uv."""
    staged = tmp_path / "staged"
    staged.mkdir()
    session = tmp_path / "session"
    Generations(str(session)).commit(
        str(staged), Account(0, {"x": "x==1"}, (Package("x", "1", True),))
    )
    work = tmp_path / "work"
    work.mkdir()
    return Job(
        order="remove",
        names=["x"],
        session=str(session),
        work=str(work),
        uid=os.geteuid(),
        gid=os.getegid(),
    )


def names(job: Job) -> list[str]:
    return list(Generations(job.session).read().versions())


def when_shown(
    monkeypatch: pytest.MonkeyPatch, happen: Callable[[], None]
) -> None:
    """Let something happen at the moment of a commit."""
    rename = os.rename

    def show(old: str, new: str, **places: Any) -> None:
        if os.path.basename(new) == generations.CURRENT:
            happen()
        rename(old, new, **places)

    monkeypatch.setattr(os, "rename", show)


def test_the_commit_decides_when_the_time_runs_out(
    ends: tuple[socket.socket, Gateway],
    job: Job,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _, gateway = ends
    gateway.limit(job.seconds)
    when_shown(monkeypatch, lambda: gateway.limit(-1))
    answer = json.loads(do(job, gateway))
    assert answer["ok"]["removed"] == [{"name": "x", "version": "1"}]
    assert names(job) == []


def test_a_time_that_ran_out_before_it_changes_nothing(
    ends: tuple[socket.socket, Gateway], job: Job
) -> None:
    _, gateway = ends
    gateway.limit(-1)
    with pytest.raises(Failed, match="the job was ended: it took more than"):
        do(job, gateway)
    assert names(job) == ["x"]


def test_the_commit_decides_when_the_gateway_goes(
    ends: tuple[socket.socket, Gateway],
    job: Job,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    link, gateway = ends
    when_shown(monkeypatch, link.close)
    answer = do(job, gateway)
    with pytest.raises(Gone):
        gateway.answer(answer)
    assert names(job) == []


def test_what_cannot_be_cleared_up_changes_no_answer(
    ends: tuple[socket.socket, Gateway],
    job: Job,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(stage: Stage) -> None:
        raise Failed("it cannot be used")

    monkeypatch.setattr(Stage, "clear", fail)
    assert "ok" in json.loads(do(job, ends[1]))
    assert names(job) == []
