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
from harness import Gateway
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


def test_a_session_comes_out_of_the_pool_and_another_takes_its_place() -> None:
    with gateway_with(pool_min=2, pool_max=2) as gateway:
        wait_ready(gateway, 2)
        before = members(gateway)
        session = gateway.create()
        assert session.model["pid"] == before[session.id]
        assert pool(gateway)["handed_out"] == 1
        with session.client() as client:
            assert client.value("1 + 1") == 2
        wait_ready(gateway, 2)
        assert session.id not in members(gateway)


def test_a_creation_is_answered_with_what_show_answers_except_memory() -> None:
    for size in (1, 0):
        with gateway_with(pool_min=size, pool_max=size) as gateway:
            wait_ready(gateway, size)
            session = gateway.create("--name", "reported")
            reported, found = dict(session.model), session.show()
            assert pool(gateway)["handed_out"] == size
            assert found.pop("memory_kib") > 0
            assert reported["name"] == "reported"
            for model in (reported, found):
                model.pop("journal_bytes")
            assert reported == found


def test_a_pooled_session_is_as_fresh_as_any() -> None:
    with gateway_with(pool_min=2, pool_max=2) as gateway:
        wait_ready(gateway, 2)
        with gateway.create().client() as first:
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
            assert gateway.create().client().value(code) != first.value(code)


def test_a_rehearsal_is_invisible() -> None:
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
    with gateway_with(pool_min=2, pool_max=2) as gateway:
        for _ in range(2):
            wait_ready(gateway, 2)
            with gateway.create().client() as client:
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


def test_requested_settings_apply_to_a_pooled_session() -> None:
    with gateway_with(pool_min=1, pool_max=1) as gateway:
        wait_ready(gateway, 1)
        asked = time.time()
        session = gateway.create(
            "--name", "mine", "--idle-timeout", "90", "--restart", "auto"
        )
        assert pool(gateway)["handed_out"] == 1
        assert session.model["name"] == "mine"
        assert session.model["idle_timeout"] == 90
        created = session.model["created"]
        assert created >= time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(asked))
        with session.client() as client:
            turn = client.run("import os; os._exit(3)")
            assert turn.status == "error"
            assert client.value("1 + 1") == 2


def test_an_idle_timeout_ends_a_session_from_the_pool() -> None:
    with gateway_with(pool_min=1, pool_max=1) as gateway:
        wait_ready(gateway, 1)
        session = gateway.create("--idle-timeout", "0.3")
        assert pool(gateway)["handed_out"] == 1
        assert session.wait_state("gone")["reason"] == "idle"


def test_pooled_sessions_have_no_owner() -> None:
    with gateway_with(pool_min=2, pool_max=2) as gateway:
        wait_ready(gateway, 2)
        assert gateway.sessions("--all") == []
        assert gateway.json("notebook", "list", "--json") == []
        assert gateway.info()["sessions"] == 0
        for member in members(gateway):
            assert gateway.run("session", "show", member).returncode == 3
            assert gateway.run("session", "delete", member).returncode == 3


def test_a_folder_of_one_s_own_is_not_pooled(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    with gateway_with(pool_min=1, pool_max=1) as gateway:
        wait_ready(gateway, 1)
        session = gateway.create("--workspace", str(tmp_path))
        assert session.model["workspace"] == str(tmp_path)
        assert pool(gateway)["handed_out"] == 0
        assert pool(gateway)["forked"] == 1


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


def test_no_pool_when_it_is_switched_off() -> None:
    with gateway_with(pool_max=0) as gateway:
        gateway.create().delete()
        found = pool(gateway)
        assert (found["target"], found["ready"]) == (0, 0)
        assert found["forked"] == 1


def test_short_memory_takes_the_pool_away() -> None:
    with gateway_with(pool_min=2, gateway_memory_reserve="1T") as gateway:
        session = gateway.create()
        with session.client() as client:
            assert client.value("1 + 1") == 2
        assert members(gateway) == {}
        assert pool(gateway)["ready"] == 0


def test_a_member_that_dies_is_replaced() -> None:
    with gateway_with(pool_min=1, pool_max=1) as gateway:
        wait_ready(gateway, 1)
        ((name, pid),) = members(gateway).items()
        os.kill(pid, signal.SIGKILL)
        wait_for(lambda: start_time(pid) is None, "its end")
        session = gateway.create()
        assert session.id != name
        with session.client() as client:
            assert client.value("1 + 1") == 2
        wait_ready(gateway, 1)
        wait_for(
            lambda: not (gateway.state / "sessions" / name).exists(),
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
