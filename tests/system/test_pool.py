"""Sessions that wait to be handed out, and what happens when none does."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from deadline import wait_for
from harness import Gateway, Session
from processes import children, start_time

POOL = "profile/python3/pool/"


@contextmanager
def gateway_with(**settings: object) -> Iterator[Gateway]:
    """Settings by their last words: pool_min, gateway_starts_max."""
    words = []
    for name, value in settings.items():
        key = name.replace("pool_", POOL, 1).replace("gateway_", "gateway/", 1)
        words += ["--set", f"{key}={value}"]
    running = Gateway(*words)
    try:
        running.start()
        yield running
    finally:
        running.end()


@pytest.fixture(scope="module")
def pooled() -> Iterator[Gateway]:
    """Keep two sessions waiting; for tests that only need some."""
    with gateway_with(pool_min=2, pool_max=2) as running:
        yield running


@pytest.fixture(scope="module")
def poolless() -> Iterator[Gateway]:
    with gateway_with(pool_max=0) as running:
        yield running


def pool(gateway: Gateway) -> dict[str, Any]:
    found: dict[str, Any] = gateway.info()["profiles"][0]["pool"]
    return found


def wait_ready(gateway: Gateway, count: int) -> None:
    wait_for(
        lambda: pool(gateway)["ready"] >= count, f"{count} sessions waiting"
    )


def members(gateway: Gateway) -> dict[str, int]:
    """The waiting sessions and their pid 1."""
    found = {}
    for path in gateway.state.glob("sessions/*/session.json"):
        try:
            model = json.loads(path.read_text())
        except FileNotFoundError:  # it went meanwhile
            continue
        if model["pooled"] and model["pid"]:
            found[model["id"]] = model["pid"]
    return found


@contextmanager
def taken(gateway: Gateway, *options: str) -> Iterator[Session]:
    """Yield a session from the full pool; it goes afterwards."""
    wait_ready(gateway, 2)
    before = pool(gateway)["handed_out"]
    session = gateway.create(*options)
    assert pool(gateway)["handed_out"] == before + 1
    yield session
    session.delete()


def test_a_session_comes_out_of_the_pool_and_another_takes_its_place(
    pooled: Gateway,
) -> None:
    wait_ready(pooled, 2)
    before = members(pooled)
    with taken(pooled) as session:
        assert session.model["pid"] == before[session.id]
        with session.client() as client:
            assert client.value("1 + 1") == 2
        wait_ready(pooled, 2)
        assert session.id not in members(pooled)


def check_report(session: Session) -> None:
    reported, found = dict(session.model), session.show()
    assert found.pop("memory_kib") > 0
    assert reported["name"] == "reported"
    for model in (reported, found):
        model.pop("journal_bytes")
    assert reported == found


def test_a_creation_is_answered_with_what_show_answers_except_memory(
    pooled: Gateway, poolless: Gateway
) -> None:
    with taken(pooled, "--name", "reported") as session:
        check_report(session)
    session = poolless.create("--name", "reported")
    assert pool(poolless)["handed_out"] == 0
    check_report(session)
    session.delete()


def test_a_pooled_session_is_as_fresh_as_any(pooled: Gateway) -> None:
    with taken(pooled) as session, session.client() as first:
        turn = first.run("sorted(k for k in globals() if k[0] != '_')")
        assert turn.content["execution_count"] == 1
        names = {"In", "Out", "exit", "get_ipython", "open", "quit"}
        assert set(ast.literal_eval(turn.result or "")) == names
        assert first.value("In") == [
            "",
            "sorted(k for k in globals() if k[0] != '_')",
            "In",
        ]
        code = "__import__('random').random()"
        with taken(pooled) as another, another.client() as second:
            assert second.value(code) != first.value(code)


def test_a_rehearsal_is_invisible(pooled: Gateway) -> None:
    """The preparations of a waiting session leave no trace, whether or not
    there was time for them."""
    code = (
        "import json, sys\n"
        "shell = get_ipython()\n"
        "history = shell.history_manager\n"
        "print(json.dumps([_i, _ii, _iii, len(Out), list(history.input_hist_raw"
        ")[:-1],\n    shell.execution_count, 'numpy' in globals(), "
        "'pandas' in shell.user_ns_hidden,\n    '_i2' in globals(), "
        "len(shell.kernel.parents._known), type(sys.stdout).__name__]))"
    )
    for _ in range(2):
        with taken(pooled) as session, session.client() as client:
            turn = client.ask(
                "shell",
                "execute_request",
                {"code": code, "store_history": True},
                {"hearth": {"namespace": True}},
            )
            seen = json.loads(turn.stream())
            assert seen[:5] == ["", "", "", 0, [""]]
            assert seen[5] in (1, 2)  # IPython 9 counts at the beginning
            assert seen[6:] == [False, False, False, 1, "Stream"]
            figures = turn.reply["metadata"]["hearth"]
            appeared = figures["namespace"]["appeared"]
            assert [variable["name"] for variable in appeared] == [
                "json",
                "sys",
                "shell",
                "history",
            ]
            assert turn.content["execution_count"] == 1


def test_requested_settings_apply_to_a_pooled_session(pooled: Gateway) -> None:
    asked = time.time()
    settings = ["--name", "mine", "--idle-timeout", "90", "--restart", "auto"]
    with taken(pooled, *settings) as session:
        assert session.model["name"] == "mine"
        assert session.model["idle_timeout"] == 90
        created = session.model["created"]
        assert created >= time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(asked))
        with session.client() as client:
            turn = client.run("import os; os._exit(3)")
            assert turn.status == "error"
            assert client.value("1 + 1") == 2


def test_an_idle_timeout_ends_a_session_from_the_pool(pooled: Gateway) -> None:
    with taken(pooled, "--idle-timeout", "0.3") as session:
        assert session.wait_state("gone")["reason"] == "idle"


def test_pooled_sessions_have_no_owner(pooled: Gateway) -> None:
    wait_ready(pooled, 2)
    waiting = members(pooled)
    assert len(waiting) == 2
    known = [model["id"] for model in pooled.sessions("--all")]
    recorded = pooled.json("notebook", "list", "--json")
    assert not waiting.keys() & {*known, *(one["id"] for one in recorded)}
    # Of the tests before, some may be about to end.
    wait_for(
        lambda: pooled.info()["sessions"] == len(pooled.sessions()) == 0,
        "no session of a client",
    )
    for member in waiting:
        assert pooled.run("session", "show", member).returncode == 3
        assert pooled.run("session", "delete", member).returncode == 3
    assert members(pooled) == waiting


def test_a_folder_of_one_s_own_is_not_pooled(
    pooled: Gateway, tmp_path: Path
) -> None:
    tmp_path.chmod(0o777)
    wait_ready(pooled, 2)
    before = pool(pooled)
    session = pooled.create("--workspace", str(tmp_path))
    assert session.model["workspace"] == str(tmp_path)
    after = pool(pooled)
    assert after["handed_out"] == before["handed_out"]
    assert after["forked"] == before["forked"] + 1
    session.delete()


@pytest.mark.deep
def test_the_pool_follows_the_arrivals() -> None:
    with gateway_with(pool_min=1, pool_max=4) as gateway:
        wait_ready(gateway, 1)
        assert pool(gateway)["target"] == 1

        def arrive() -> bool:
            """Two within the seconds that the pool looks back to."""
            gateway.create().delete()
            return bool(pool(gateway)["target"] >= 3)

        wait_for(arrive, "a pool that wants to be larger")

        def is_larger() -> bool:
            found = pool(gateway)
            if found["target"] < 3:  # it took longer than those seconds
                arrive()
            return bool(found["ready"] >= 3)

        wait_for(is_larger, "a pool that is larger")
        # And ends them when no client comes any more.
        wait_for(lambda: pool(gateway)["ready"] == 1, "the pool is small again")


def test_no_pool_when_it_is_switched_off(poolless: Gateway) -> None:
    before = pool(poolless)["forked"]
    poolless.create().delete()
    found = pool(poolless)
    assert (found["target"], found["ready"]) == (0, 0)
    assert found["forked"] == before + 1


def test_short_memory_takes_the_pool_away() -> None:
    with gateway_with(pool_min=2, gateway_memory_reserve="1T") as gateway:
        session = gateway.create()
        with session.client() as client:
            assert client.value("1 + 1") == 2
        assert members(gateway) == {}
        assert pool(gateway)["ready"] == 0


def test_a_member_that_dies_is_replaced(pooled: Gateway) -> None:
    wait_ready(pooled, 2)
    dead = members(pooled)
    for pid in dead.values():
        os.kill(pid, signal.SIGKILL)
    for pid in dead.values():
        wait_for(lambda: start_time(pid) is None, "its end")
    session = pooled.create()
    assert session.id not in dead
    with session.client() as client:
        assert client.value("1 + 1") == 2
    session.delete()
    wait_ready(pooled, 2)
    for name in dead:
        wait_for(
            lambda: not (pooled.state / "sessions" / name).exists(),
            "nothing left of the member that died",
        )


@pytest.mark.deep
def test_starts_in_vain_become_rare() -> None:
    """On a system that has no filters any more, no session begins."""
    if not shutil.which("strace"):
        pytest.skip("no strace")
    running = Gateway("--set", POOL + "min=1")
    running.prefix = [
        "strace", "-D", "-f", "-qq", "-o", "/dev/null",
        "-e", "trace=seccomp", "-e", "inject=seccomp:error=ENOSYS",
    ]  # fmt: skip

    def ends() -> list[datetime]:
        return [
            datetime.fromisoformat(line.split("Z ")[0])
            for line in running.log.read_text().splitlines()
            if "kernel ended reason=launch" in line
        ]

    try:
        running.start()
        wait_for(lambda: len(ends()) >= 5, "starts in vain")
        pauses = [
            (later - sooner).total_seconds()
            for sooner, later in zip(ends(), ends()[1:])
        ]
        assert all(
            pause >= 0.2 * 2**number for number, pause in enumerate(pauses)
        ), pauses
        done = running.run("session", "create")
        assert done.returncode == 1
        assert "seccomp" in done.stderr
    finally:
        running.end()


def test_an_old_member_is_replaced() -> None:
    with gateway_with(
        pool_min=1, pool_max=1, **{"pool_max_age": "1s"}
    ) as gateway:
        wait_ready(gateway, 1)
        first = members(gateway)
        wait_for(
            lambda: members(gateway) and not (first.keys() & members(gateway)),
            "another member",
        )


def test_no_gateway_takes_waiting_sessions_over() -> None:
    with gateway_with(pool_min=2, pool_max=2) as gateway:
        wait_ready(gateway, 2)
        session = gateway.create()
        wait_ready(gateway, 2)
        waiting = members(gateway)
        born = {pid: start_time(pid) for pid in waiting.values()}
        gateway.kill()
        wait_for(
            lambda: all(start_time(pid) != t for pid, t in born.items()),
            "the waiting kernels have ended",
        )
        gateway.start("--set", POOL + "max=0")
        assert [s["id"] for s in gateway.sessions()] == [session.id]
        for name in waiting:
            wait_for(
                lambda: (
                    not (gateway.state / "sessions" / name).exists()
                    and not (gateway.runtime / "sessions" / name).exists()
                ),
                "nothing left of what waited",
            )
        with session.client() as client:
            assert client.value("1 + 1") == 2


def test_an_orderly_stop_keeps_sessions_and_ends_pool_members() -> None:
    with gateway_with(pool_min=2, pool_max=2) as gateway:
        wait_ready(gateway, 2)
        session = gateway.create()
        wait_ready(gateway, 2)
        waiting = members(gateway)
        gateway.terminate()
        for name, pid in waiting.items():
            wait_for(lambda: start_time(pid) is None, "its end")
            assert not (gateway.state / "sessions" / name).exists()
        gateway.start()
        with session.client() as client:
            assert client.value("1 + 1") == 2


def test_a_burst_waits_in_order_and_then_is_refused() -> None:
    with gateway_with(
        pool_max=0, gateway_starts_max=1, gateway_starts_queue=2
    ) as gateway:
        gateway.create().delete()
        (zygote,) = children(gateway.pid)
        done: list[subprocess.CompletedProcess[str]] = []

        def create(_: int) -> None:
            done.append(
                gateway.run("session", "create", "--no-start", "--json")
            )

        # A stopped zygote starts no session: one is under way, two wait, and
        # all later ones are refused, however fast this machine is.
        os.kill(zygote, signal.SIGSTOP)
        with ThreadPoolExecutor(12) as many:
            runs = [many.submit(create, number) for number in range(12)]
            try:
                wait_for(lambda: len(done) == 9, "nine refusals")
                assert all(run.returncode for run in done)
            finally:
                os.kill(zygote, signal.SIGCONT)
            for run in runs:
                run.result()
        assert sum(run.returncode == 0 for run in done) == 3
        for refused in done[:9]:
            assert re.search(
                r"2 sessions wait for their start already, the limit "
                r"gateway/starts_queue; try again in [1-9]\d* s",
                refused.stderr,
            ), refused.stderr
        assert len(gateway.sessions()) == 3


def opened(environment: Path) -> tuple[Path, Path]:
    """Its python and the folder of its packages, for every user to read."""
    (packages,) = environment.glob("lib/python*/site-packages")
    for folder in [*environment.parents[:-2], environment]:
        os.chmod(folder, 0o755)
    return environment / "bin" / "python3", packages


def test_installing_a_package_renews_the_pool(environment: Path) -> None:
    python, packages = opened(environment)
    with gateway_with(
        pool_min=1,
        pool_max=1,
        **{"profile/python3/python": python, "profile/python3/preload": "json"},
    ) as gateway:
        wait_ready(gateway, 1)
        before = members(gateway)
        (packages / "newcomer.py").write_text("VALUE = 41\n")
        wait_for(
            lambda: members(gateway) and not before.keys() & members(gateway),
            "a member that knows the new package",
        )
        with gateway.create().client() as client:
            assert client.value("__import__('newcomer').VALUE") == 41


def test_a_creation_waits_while_packages_are_reloaded(
    environment: Path,
) -> None:
    """As for the first session: no client has to try again."""
    python, packages = opened(environment)
    with gateway_with(
        pool_max=0,
        **{"profile/python3/python": python, "profile/python3/preload": "json"},
    ) as gateway:
        gateway.create().delete()
        before = set(children(gateway.pid))
        (packages / "newcomer.py").write_text("VALUE = 41\n")
        wait_for(
            lambda: before.isdisjoint(children(gateway.pid)), "a zygote less"
        )
        with gateway.create().client() as client:
            assert client.value("__import__('newcomer').VALUE") == 41
