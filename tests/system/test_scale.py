"""Many sessions, one after the other and beside each other: what is left of
them, what a machine without room for more says, what is removed in the end."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Iterator

import pytest
from deadline import wait_for
from harness import Gateway
from leftovers import Groups
from manager import Manager
from processes import children, start_time

LONG = bool(os.environ.get("HEARTH_LONG"))
CHURN = 10_000 if LONG else 60
GONE_MAX = 5
LOOKS = 40  # alike, one after the other: at rest

pytestmark = pytest.mark.timeout(7200 if LONG else 900)


@pytest.fixture
def gateway() -> Iterator[Gateway]:
    running = Gateway(
        "--set", "profile/python3/pool/max=0",
        "--set", f"sessions/gone_max={GONE_MAX}",
    )  # fmt: skip
    try:
        running.start()
        yield running
    finally:
        running.end()


def warm(gateway: Gateway) -> None:
    def is_ready() -> bool:
        return gateway.info()["profiles"][0]["state"] == "ready"

    wait_for(is_ready, "a warm interpreter")


def status_of(pid: int, key: str) -> int:
    text = Path(f"/proc/{pid}/status").read_text()
    found = re.search(rf"^{key}:\s*(\d+)", text, re.MULTILINE)
    assert found, key
    return int(found[1])


def below(pid: int) -> list[int]:
    """A process and all that descend from it."""
    found = [pid]
    for each in found:
        found += children(each)
    return [each for each in found if start_time(each)]


class Left:
    """The resources of a gateway at a moment. They are read from outside: a
    request would be one more connection."""

    def __init__(self, gateway: Gateway, groups: Groups) -> None:
        pid = gateway.pid
        self.fds = len(os.listdir(f"/proc/{pid}/fd"))
        self.threads = status_of(pid, "Threads")
        self.processes = len(below(pid))
        mounts = Path(f"/proc/{pid}/mountinfo").read_text().splitlines()
        self.mounts = sum(str(gateway.folder) in line for line in mounts)
        self.groups = len(groups.ids())
        self.folders = len(list((gateway.runtime / "sessions").iterdir()))
        self.rss_kib = status_of(pid, "VmRSS")

    def counts(self) -> dict[str, int]:
        return {k: v for k, v in vars(self).items() if k != "rss_kib"}


def churn(gateway: Gateway, times: int) -> None:
    groups = Groups(gateway)
    with Manager(gateway) as manager:
        for number in range(times):
            made = manager.ask("session_create", {})
            assert made["status"] == "ok", (number, made)
            if number % 1000 == 999:
                print(f"{number + 1}:", vars(Left(gateway, groups)), flush=True)
            ended = manager.ask("session_delete", {"id": made["session"]["id"]})
            assert ended["status"] == "ok", (number, ended)


def settled(gateway: Gateway) -> Left:
    """When all but those that still say why have gone, threads and sockets
    too, which go a moment after what can be seen of a session."""
    seen: list[dict[str, int]] = []
    groups = Groups(gateway)

    def look() -> Left | None:
        left = Left(gateway, groups)
        seen.append(left.counts())
        # A group that could not be removed at once is removed by a later
        # sweep, seconds apart; the next session's is made ahead.
        at_rest = (
            left.folders == GONE_MAX
            and left.processes <= 2
            and left.groups <= 1
        )
        same = seen[-LOOKS:].count(seen[-1]) == LOOKS
        return left if at_rest and same else None

    return wait_for(look, "the end of what was discarded")


def test_sessions_made_and_discarded_leave_nothing(gateway: Gateway) -> None:
    warm(gateway)
    churn(gateway, 3 * GONE_MAX)
    before = settled(gateway)
    churn(gateway, CHURN)
    after = settled(gateway)

    print(vars(before), vars(after))
    # A connection of the gateway's own that has come or gone is not what
    # sessions leave: that would be one of each, or of every tenth.
    assert abs(after.fds - before.fds) < CHURN // 10
    after.fds = before.fds
    assert after.counts() == before.counts()
    # The allocator's habits, not what a session leaves: 10,000 of them would
    # be found with less than 4 KiB each.
    assert after.rss_kib - before.rss_kib < 8192 + CHURN


def opened_of_groups(gateway: Gateway, trace: Path) -> list[str]:
    """In some seconds, by the gateway."""
    subprocess.run(
        [
            "timeout", "4", "strace", "-f", "-qq", "-e", "trace=openat",
            "-o", str(trace), "-p", str(gateway.pid),
        ],
        check=False,
        capture_output=True,
    )  # fmt: skip
    return re.findall(r'"(/sys/fs/cgroup/[^"]*)"', trace.read_text())


@pytest.mark.alone
def test_idle_sessions_are_rarely_measured(
    gateway: Gateway, tmp_path: Path
) -> None:
    """One figure of each, and nothing that grows with their number."""
    if not shutil.which("strace"):
        pytest.skip("no strace")
    if gateway.info()["limits"]["by"] == "watchdog":
        pytest.skip("no control groups can be made here")
    for _ in range(3):
        gateway.create()
    trace = tmp_path / "trace"

    def is_calm() -> bool:
        found = opened_of_groups(gateway, trace)
        return bool(found) and all(
            path.endswith(("/cpuacct.usage", "/cpu.stat")) for path in found
        )

    wait_for(is_calm, "looks at sessions that rest")


def test_the_oldest_of_many_that_are_gone_give_up_their_ports(
    gateway: Gateway,
) -> None:
    warm(gateway)
    first = gateway.create()
    first.delete()
    first.wait_state("gone")
    folder = gateway.runtime / "sessions" / first.id
    assert folder.exists()
    churn(gateway, GONE_MAX)
    wait_for(lambda: not folder.exists(), "the end of the oldest one's ports")

    model = first.show()
    assert model["state"] == "gone"
    assert model["reason"] == "deleted"


def test_a_forgotten_session_is_revived(gateway: Gateway) -> None:
    session = gateway.create()
    if gateway.info()["limits"]["by"] != "watchdog":
        assert session.id in Groups(gateway).ids()
    with session.client() as client:
        client.run("x = 1")
    session.delete()
    churn(gateway, GONE_MAX + 1)
    folder = gateway.runtime / "sessions" / session.id
    wait_for(lambda: not folder.exists(), "the end of its ports")
    done = gateway.run("session", "revive", session.id)
    assert done.returncode == 0, done.stderr
    with session.client() as client:
        assert client.run("x").result == "1"


def test_remains_of_old_sessions_are_removed(gateway: Gateway) -> None:
    session = gateway.create()
    with session.client() as client:
        client.run("open('made', 'w').write('kept')")
    alive = gateway.create()
    session.delete()
    session.wait_state("gone")
    folder = gateway.state / "sessions" / session.id
    assert (folder / "journal").is_dir()
    gateway.terminate()
    gateway.start(
        "--set", "sessions/gone_keep=0", "--set", "sessions/journal_keep=1s"
    )

    wait_for(lambda: not folder.exists(), "the end of the recording")
    wait_for(
        lambda: not (gateway.state / "discarded").exists(),
        "the end of what was moved aside",
    )
    assert gateway.run("session", "show", session.id).returncode != 0
    assert alive.show()["state"] == "idle"
    assert (gateway.state / "sessions" / alive.id / "journal").is_dir()


def test_recordings_are_kept_without_end(gateway: Gateway) -> None:
    session = gateway.create()
    session.delete()
    session.wait_state("gone")
    gateway.terminate()
    gateway.start(
        "--set", "sessions/gone_keep=0", "--set", "sessions/journal_keep=0"
    )
    churn(gateway, 2)
    assert session.show()["state"] == "gone"


def restarted(gateway: Gateway, *prefix: str, transport: str = "ipc") -> None:
    gateway.terminate()
    gateway.prefix = list(prefix)
    gateway.start("--set", f"gateway/transport={transport}")
    warm(gateway)


def test_too_few_descriptors_for_another_session(gateway: Gateway) -> None:
    restarted(gateway, "prlimit", "--nofile=360:360")
    alive = [gateway.create() for _ in range(4)]
    done = gateway.run("session", "create", "--no-start")

    assert done.returncode == 1
    assert "RLIMIT_NOFILE" in done.stderr
    for session in alive:
        with session.client() as client:
            assert client.run("1 + 1").result == "2"


def test_viewers_count_among_the_descriptors(
    gateway: Gateway, tmp_path: Path
) -> None:
    """A viewer takes the place of a session, and gives it back."""
    restarted(gateway, "prlimit", "--nofile=360:360")
    alive = [gateway.create() for _ in range(2)]
    view = ("attach", "--external", "--folder", str(tmp_path), alive[0].id)
    for _ in range(2):
        done = gateway.run(*view)
        assert done.returncode == 0, done.stderr
    for what in (("session", "create", "--no-start"), view):
        done = gateway.run(*what)
        assert done.returncode == 1
        assert "RLIMIT_NOFILE" in done.stderr
    first = gateway.json("viewer", "list", "--json")[0]["name"]
    done = gateway.run("viewer", "revoke", first)
    assert done.returncode == 0, done.stderr
    with gateway.create().client() as client:
        assert client.run("1 + 1").result == "2"
    alive[0].delete()
    alive[1].delete()
    wait_for(
        lambda: gateway.run("session", "create", "--no-start").returncode == 0,
        "room for another session",
    )


def test_gone_sessions_make_room(gateway: Gateway) -> None:
    """There is room for 20, four of them gone; more than 16 become alive."""
    restarted(gateway, "prlimit", "--nofile=700:700")
    gone = [gateway.create() for _ in range(4)]
    for session in gone:
        session.delete()
        session.wait_state("gone")
    with Manager(gateway) as manager:

        def made() -> bool:
            return manager.ask("session_create", {})["status"] == "ok"

        for _ in range(19):
            wait_for(made, "a session where others are only remembered")
    assert {each.show()["state"] for each in gone} == {"gone"}


FEW_PORTS = """\
ip link set lo up
echo "40000 40011" >/proc/sys/net/ipv4/ip_local_port_range
exec "$@"
"""


def test_no_ports_left_for_another_session(gateway: Gateway) -> None:
    try:
        subprocess.run(
            ["unshare", "--net", "sh", "-ec", FEW_PORTS, "sh", "true"],
            check=True,
            capture_output=True,
        )
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no network namespace of one's own: {error}")
    words = ("unshare", "--net", "sh", "-ec", FEW_PORTS, "sh")
    restarted(gateway, *words, transport="tcp")
    alive = [gateway.create() for _ in range(2)]
    done = gateway.run("session", "create", "--no-start")

    assert done.returncode == 1
    assert "ip_local_port_range" in done.stderr
    assert {alive[0].show()["state"], alive[1].show()["state"]} == {"idle"}
    alive[0].delete()
