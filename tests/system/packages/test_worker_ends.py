"""The end of a worker: nothing runs on, and no session has half of a job."""

from __future__ import annotations

import os
import random
import threading
import time

import pytest
from downloading import SOON, are_gone, await_that, children
from fake_index import FakeIndex
from worker import ALWAYS, LONG, Ended, Folder, Run

ROUNDS = 10


def processes(folder: Folder) -> list[str]:
    """Return the processes with a folder of the test in their arguments."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
            root = os.readlink(f"/proc/{pid}/cwd")
        except OSError:
            continue
        if words[0].endswith(b"/uv") and root.startswith("/workspace"):
            found.append(f"{pid} {words[:3]!r}")
    return found


def start_silent(folder: Folder, index: FakeIndex) -> tuple[Run, list[int]]:
    """Start a job that waits for the index; return what runs below it."""
    index.add("a", "1", silent=True)
    run = folder.start("add", "a")
    await_that(lambda: index.downloads() > 0, "uv asked for nothing")
    below = children(run.process.pid)
    assert below, "nothing runs"
    return run, below


def test_the_gateways_end_ends_all(
    any_folder: Folder, index: FakeIndex
) -> None:
    run, below = start_silent(any_folder, index)
    run.link.close()
    assert run.process.wait(LONG) == 1
    await_that(lambda: are_gone(below), "something runs on", SOON)
    assert not any_folder.session().exists()


def test_a_killed_worker_ends_all(any_folder: Folder, index: FakeIndex) -> None:
    run, below = start_silent(any_folder, index)
    run.process.kill()
    run.process.wait(LONG)
    await_that(lambda: are_gone(below), "something runs on", SOON)
    run.close()
    # The next one clears up, and works.
    index.releases["a"][0].silent = False
    any_folder.do("add", "a")
    assert sorted(os.listdir(any_folder.path / "work")) == ALWAYS


def test_the_client_of_a_list_does_not_wait(
    folder: Folder, index: FakeIndex
) -> None:
    """A list is answered while another worker writes."""
    run, _ = start_silent(folder, index)
    assert folder.do("list")["packages"] == []
    assert run.process.poll() is None
    run.kill()


def test_one_worker_writes_at_a_time(folder: Folder, index: FakeIndex) -> None:
    run, _ = start_silent(folder, index)
    index.add("b", "1")
    second = folder.start("add", "b", token="1" * 32)
    assert second.await_progress() == "waiting for another job's end"
    assert index.count("/simple/b/") == 0
    run.kill()
    assert [one["name"] for one in second.answer()["packages"]] == ["b"]


def test_a_waiting_worker_ends_with_its_gateway(
    folder: Folder, index: FakeIndex
) -> None:
    run, _ = start_silent(folder, index)
    second = folder.start("add", "b")
    assert second.await_progress() == "waiting for another job's end"
    second.link.close()
    assert second.process.wait(LONG) == 1
    run.kill()


def test_a_kill_at_any_moment_leaves_the_old_or_the_new(
    folder: Folder, index: FakeIndex
) -> None:
    """Also for one that imports meanwhile."""
    for version in range(ROUNDS + 2):
        index.add("a", str(version), requires=["b"])
    index.add("b", "1")
    folder.do("add", "a==0")
    began = time.monotonic()
    folder.do("add", "a==1")
    whole = time.monotonic() - began
    version, outcomes = 1, []
    chance = random.Random(7)
    for number in range(2, ROUNDS + 2):
        run = folder.start("add", f"a=={number}")
        timer = threading.Timer(
            chance.uniform(0, 1.3 * whole), run.process.kill
        )
        timer.start()
        try:
            run.answer()
        except (Ended, ConnectionResetError):
            pass
        timer.join()
        run.process.wait(LONG)
        found = see(folder)
        assert found in (version, number)
        outcomes.append(found == number)
        version = found
    print(outcomes)
    await_that(lambda: not processes(folder), "uv runs on")
    folder.do("add", "a==0")
    assert see(folder) == 0


def see(folder: Folder) -> int:
    """Return the version that is shown, which the account confirms."""
    text = folder.read("a.py")
    listed = folder.do("list")["packages"]
    version = {one["name"]: one["version"] for one in listed}["a"]
    assert text == f"VERSION = {version!r}\n"
    assert folder.current() == [
        f"a-{version}.dist-info",
        "a.py",
        "b-1.dist-info",
        "b.py",
    ]
    return int(version)


@pytest.mark.parametrize("datagram", [b"{", b"[]", b"{}", b"x" * 1000])
def test_answers_a_job_that_is_none(folder: Folder, datagram: bytes) -> None:
    with pytest.raises(Exception, match="PackagesFailed"):
        folder.send(datagram).answer()
