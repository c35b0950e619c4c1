"""The gateway dies; sessions, clients and the journal do not notice.

The client is a jupyter_client object that stays unchanged meanwhile.
"""

from __future__ import annotations

import json
import os
import random
import re
import signal
import socket
import subprocess
import time
from pathlib import Path
from typing import Iterator

import pytest
from client import Client, Turn
from deadline import DEADLINE, wait_for
from harness import HEARTH, Gateway, Session, endpoint
from processes import children, kill, start_time

ROUNDS = 50 if os.environ.get("HEARTH_LONG") else 10
# Lines that a kill costs a ZeroMQ client that reads all the time: what libzmq's
# thread has not written yet. One, mostly; there is no most, where that thread
# waits for a processor.
LOST_MOSTLY = 5

# One line every 10 ms until a file says that it is enough.
PRINTING = """
import os, time
n = 0
while not os.path.exists({stop!r}):
    print('line', n, flush=True)
    n += 1
    time.sleep(0.01)
n
"""


@pytest.fixture
def gateway() -> Iterator[Gateway]:
    running = Gateway()
    try:
        running.start()
        yield running
    finally:
        running.end()


class Printing:
    """A cell that prints numbered lines, and the client that asked for it."""

    def __init__(self, session: Session, name: str = "stop") -> None:
        self.session = session
        self.name = name
        self.client: Client = session.client()
        self.client.run("kept = 'from before'")
        self.msg_id = self.client.kc.execute(PRINTING.format(stop=name))
        self.begun = self.client.stream_until(self.msg_id, "line 3\n")

    def read_past(self, number: int) -> None:
        self.begun += self.client.stream_until(self.msg_id, f"line {number}\n")

    def read_more(self) -> None:
        """At least one more line than the client has now."""
        self.begun.append(
            self.client.iopub(
                DEADLINE,
                lambda m: m["msg_type"] == "stream",
            )
        )

    def let_it_end(self) -> None:
        (self.session.workspace / self.name).touch()

    def finish(self) -> Turn:
        return self.client.finish(self.msg_id, begun=self.begun)

    def check(self, turn: Turn, kills: int) -> list[int]:
        """In order, none doubled, missing only in one place for each kill;
        how many there."""
        assert turn.status == "ok", turn.content
        total = int(turn.result or "0")
        lines = [int(n) for n in re.findall(r"line (\d+)\n", turn.stream())]
        assert turn.stream() == "".join(f"line {n}\n" for n in lines)
        assert lines == sorted(set(lines)), "doubled or out of order"
        gaps = gaps_of(lines, total)
        assert len(gaps) <= kills, f"{gaps} of {total}"
        assert self.client.value("kept") == "from before"
        self.check_journal(total)
        self.client.close()
        return [0] * (kills - len(gaps)) + [len(gap) for gap in gaps]

    def check_journal(self, total: int) -> None:
        cells = self.session.notebook()["cells"]
        texts = [
            "".join(output["text"])
            for cell in cells
            for output in cell.get("outputs", [])
            if output["output_type"] == "stream"
        ]
        wanted = "".join(f"line {n}\n" for n in range(total))
        assert wanted in texts


def gaps_of(lines: list[int], total: int) -> list[range]:
    ends = zip([-1, *lines], [*lines, total])
    return [range(a + 1, b) for a, b in ends if b > a + 1]


def test_killed_gateway(gateway: Gateway) -> None:
    printing = Printing(gateway.create())
    gateway.kill()
    gateway.start()
    printing.read_more()
    printing.let_it_end()

    printing.check(printing.finish(), kills=1)


def test_stopped_gateway(gateway: Gateway) -> None:
    gateway.options += ["--set", "gateway/drain_grace=0"]
    gateway.terminate()
    gateway.start()
    printing = Printing(gateway.create())
    gateway.terminate()
    gateway.start()
    printing.read_more()
    printing.let_it_end()

    printing.check(printing.finish(), kills=0)


def test_port_taken_meanwhile(gateway: Gateway) -> None:
    """By an outgoing connection of another program, say."""
    gateway.options += ["--set", "gateway/transport=tcp"]
    gateway.terminate()
    gateway.start()
    session = gateway.create()
    with session.client() as client:
        client.run("kept = 7")
        host, port = endpoint(session.connection_file, "shell")[6:].split(":")
        gateway.kill()
        with socket.create_server((host, int(port))):
            gateway.start()
            wait_for(
                lambda: f"program has port {port}" in gateway.log.read_text(),
                "a warning",
            )
            assert session.show()["state"] == "idle"
        assert client.value("kept") == 7
    assert f"port {port} is free again" in gateway.log.read_text()


def test_drain_lets_cells_finish(gateway: Gateway) -> None:
    session = gateway.create()
    with session.client() as client:
        msg_id = client.kc.execute("print('go')\nimport time; time.sleep(2); 5")
        begun = client.stream_until(msg_id, "go")
        gateway.terminate()
        turn = client.finish(msg_id, begun=begun)
        assert turn.result == "5"
        gateway.start()
        assert client.run("_").result == "5"


def test_twenty_sessions(gateway: Gateway) -> None:
    runs = [Printing(gateway.create()) for _ in range(20)]
    gateway.kill()
    gateway.start()
    for printing in runs:
        printing.read_more()
        printing.let_it_end()
    for printing in runs:
        printing.check(printing.finish(), kills=1)


def test_finished_meanwhile(gateway: Gateway) -> None:
    printing = Printing(gateway.create())
    pid = printing.session.show()["pid"]
    gateway.kill()
    printing.let_it_end()
    done = printing.session.workspace / "more"
    # The kernel goes on by itself: the file is its own sign of the end.
    assert not done.exists()
    assert start_time(pid)
    wait_for(lambda: is_asleep(pid), "a kernel that has nothing to do")
    gateway.start()

    printing.check(printing.finish(), kills=1)


def is_asleep(pid: int) -> bool:
    """No processor time over a while: the cell is over, most likely; where it
    is not, the test is that of a killed gateway once more."""

    def used() -> int:
        total = 0
        for name in os.listdir("/proc"):
            if not name.isdigit():
                continue
            try:
                same = os.readlink(f"/proc/{name}/ns/pid") == os.readlink(
                    f"/proc/{pid}/ns/pid"
                )
                with open(f"/proc/{name}/stat") as stat:
                    fields = stat.read().rpartition(")")[2].split()
            except OSError:
                continue
            if same:
                total += int(fields[11]) + int(fields[12])
        return total

    before = used()
    time.sleep(0.5)
    return used() == before


def test_died_meanwhile(gateway: Gateway) -> None:
    session = gateway.create()
    with session.client() as client:
        msg_id = client.kc.execute(
            "import os, time\nprint('go', flush=True)\n"
            "while not os.path.exists('now'): time.sleep(0.01)\n"
            "os._exit(7)"
        )
        begun = client.stream_until(msg_id, "go")
        namespace = session.namespace()
        gateway.kill()
        (session.workspace / "now").touch()
        first = int(session.model["pid"])
        wait_for(
            lambda: len(session_processes(namespace)) <= 1,
            f"the end of the payload of {first}",
        )
        gateway.start()
        turn = client.finish(msg_id, begun=begun)
        assert turn.content["ename"] == "KernelDied"
        assert "7" in turn.content["evalue"]
        session.wait_state("gone")


CHANGED = """
import resource, threading
kept = open('/workspace/kept', 'w')
resource.setrlimit(resource.RLIMIT_NOFILE, (200, 300))
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
threading.Thread(target=threading.Event().wait, daemon=True).start()
'kept'
"""


def test_sandbox_of_an_adopted_session(gateway: Gateway) -> None:
    """It is looked at again; what its code may do to itself is no matter."""
    session = gateway.create()
    client = session.client()
    client.run(CHANGED)
    namespace = session.namespace()
    gateway.kill()
    gateway.start()
    assert client.value("kept.name") == "/workspace/kept"
    client.close()
    gateway.kill()
    # As one that was tampered with would look: not on this host's network, and
    # with a profile that asks for that.
    walls = ("accept=network", "without=network")
    gateway.options += [
        word
        for setting in walls
        for word in ("--set", f"profile/python3/{setting}")
    ]
    gateway.start()
    open_one = gateway.create()
    assert session.show()["state"] == "idle"
    open_namespace = open_one.namespace()
    gateway.kill()
    del gateway.options[-2 * len(walls) :]
    gateway.start()
    open_one.wait_state("gone")
    gone = open_one.show()
    assert gone["reason"] == "launch"
    assert "found by another gateway" in gone["detail"]
    assert "ns/net" in gone["detail"]
    wait_for(
        lambda: not session_processes(open_namespace), "the end of what differs"
    )
    assert session_processes(namespace)


def session_processes(namespace: str) -> list[int]:
    from processes import members

    return members(namespace)


def test_request_while_the_gateway_is_away(gateway: Gateway) -> None:
    session = gateway.create()
    with session.client() as client:
        client.run("x = 20")
        gateway.kill()
        msg_id = client.kc.execute("x + 1")
        gateway.start()
        assert client.finish(msg_id).result == "21"


def test_queued_requests_are_run_once(gateway: Gateway) -> None:
    session = gateway.create()
    with session.client() as client:
        first = client.kc.execute(
            "n = []\nimport os, time\nprint('go', flush=True)\n"
            "while not os.path.exists('now'): time.sleep(0.01)"
        )
        queued = [client.kc.execute(f"n.append({i}); {i}") for i in range(10)]
        begun = client.stream_until(first, "go")
        # What a gateway has not read when it is killed is lost.
        session.wait_journaled(queued)
        gateway.kill()
        (session.workspace / "now").touch()
        gateway.start()
        assert client.finish(first, begun=begun).status == "ok"
        for msg_id in queued:
            assert client.reply(msg_id)["content"]["status"] == "ok"
        assert client.value("n") == list(range(10))


def test_stdin_over_a_crash(gateway: Gateway) -> None:
    session = gateway.create()
    with session.client() as client:
        msg_id = client.kc.execute("input('? ')", allow_stdin=True)
        client.kc.get_stdin_msg(timeout=DEADLINE)
        gateway.kill()
        gateway.start()
        client.send("control", "interrupt_request")
        turn = client.finish(msg_id)
        assert turn.content["ename"] == "KeyboardInterrupt"
        assert client.run("1").result == "1"


def test_interrupt_after_a_crash(gateway: Gateway) -> None:
    session = gateway.create()
    with session.client() as client:
        msg_id, begun = client.begin_long()
        gateway.kill()
        gateway.start()
        client.send("control", "interrupt_request")
        turn = client.finish(msg_id, begun=begun)
        assert turn.content["ename"] == "KeyboardInterrupt"


def test_idle_session_over_a_crash(gateway: Gateway) -> None:
    session = gateway.create()
    with session.client() as client:
        client.run("x = 3")
        for _ in range(3):
            gateway.kill()
            gateway.start()
            assert client.run("x").result == "3"
        assert client.run("1").content["execution_count"] == 5


def test_gone_session_over_a_restart(gateway: Gateway) -> None:
    session = gateway.create()
    with session.client() as client:
        client.run("x = 3")
        session.delete()
        session.wait_state("gone")
        gateway.kill()
        gateway.start()
        turn = client.run("x")
        assert turn.content["ename"] == "SessionGone"
        assert "deleted" in turn.content["evalue"]
    assert session.show()["state"] == "gone"


def test_a_session_gone_with_an_unanswered_request(gateway: Gateway) -> None:
    """A gateway that could not take a session over leaves it like this."""
    session = gateway.create("--time-limit", "3s")
    namespace = session.namespace()
    with session.client() as client:
        msg_id, begun = client.begin_long()
        gateway.kill()
        for pid in session_processes(namespace):
            kill(pid)
        state = gateway.state / "sessions" / session.id / "session.json"
        model = json.loads(state.read_text())
        model.update(reason="lost", detail="a test", pid=0)
        model["ended_us"] = int(time.time() * 1e6)
        state.write_text(json.dumps(model))
        gateway.start()
        turn = client.finish(msg_id, begun=begun)
        assert turn.content["ename"] == "SessionGone"
        assert "a test" in turn.content["evalue"]
        # Nothing runs there, so no limit of a cell is reached.
        assert session.show()["state"] == "gone"
        assert client.run("1").content["ename"] == "SessionGone"


def test_random_moments(gateway: Gateway) -> None:
    chance = random.Random(20261121)
    session = gateway.create()
    printing = Printing(session)
    for _ in range(ROUNDS):
        for _ in range(chance.randrange(1, 30)):
            printing.read_more()
        gateway.kill()
        gateway.start()
    printing.let_it_end()

    missing = printing.check(printing.finish(), kills=ROUNDS)
    assert sorted(missing)[ROUNDS // 2] <= LOST_MOSTLY, missing


def test_random_moments_of_short_cells(gateway: Gateway) -> None:
    """Killed at any point of a request's way; each is run once, each
    answered."""
    chance = random.Random(7)
    session = gateway.create()
    with session.client() as client:
        client.run("seen = []")
        for turn in range(ROUNDS):
            sent = [
                client.kc.execute(f"seen.append(({turn}, {i}))")
                for i in range(20)
            ]
            for msg_id in sent[: chance.randrange(20)]:
                client.reply(msg_id)
            gateway.kill()
            gateway.start()
            last = client.kc.execute("len(seen)")
            assert client.finish(last).status == "ok"
        seen = client.value("seen")
        assert len(seen) == len(set(seen)), "a request was run twice"
        assert seen == sorted(seen)


def test_killed_zygote(gateway: Gateway) -> None:
    session = gateway.create()
    with session.client() as client:
        client.run("x = 1")
        kill_all(zygotes(gateway))
        assert client.run("x").result == "1"

        with gateway.create().client() as second:
            assert second.run("1 + 1").result == "2"
        assert client.run("x").result == "1"


def zygotes(gateway: Gateway) -> dict[int, str]:
    found = children(gateway.pid)
    assert found
    return found


def kill_all(found: dict[int, str]) -> None:
    """Kill the processes that are still the same ones; they may have gone
    already."""
    for pid, born in found.items():
        if start_time(pid) == born:
            kill(pid)


def test_gateway_and_zygote_killed(gateway: Gateway) -> None:
    printing = Printing(gateway.create())
    helpers = zygotes(gateway)
    gateway.kill()
    kill_all(helpers)
    gateway.start()
    printing.read_more()
    printing.let_it_end()

    printing.check(printing.finish(), kills=1)


def test_a_command_whose_gateway_is_replaced(gateway: Gateway) -> None:
    """The next gateway has a key of its own, and does not hear it."""

    def has_asked() -> bool:
        names = Path(f"/proc/{asking.pid}/task").glob("*/comm")
        return any(name.read_text().startswith("ZMQbg/IO") for name in names)

    os.kill(gateway.pid, signal.SIGSTOP)
    asking = subprocess.Popen(
        [HEARTH, "session", "list"],
        env=gateway.env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_for(has_asked, "a request")
    gateway.kill()
    gateway.start()
    _, said = asking.communicate(timeout=DEADLINE)

    assert asking.returncode == 4, said
    assert "the gateway ended before it answered" in said


def test_second_gateway_is_refused(gateway: Gateway) -> None:
    session = gateway.create()
    second = subprocess.run(
        [HEARTH, "serve"],
        env=gateway.env,
        capture_output=True,
        text=True,
        timeout=DEADLINE,
    )

    assert second.returncode == 1
    assert "another gateway" in second.stderr
    assert str(gateway.state) in second.stderr
    with session.client() as client:
        assert client.run("1").result == "1"


def test_stale_files(gateway: Gateway) -> None:
    """After a crash sockets and keys lie about; after a reboot the runtime
    folder is empty, and the sessions are known as lost."""
    session = gateway.create()
    namespace = session.namespace()
    gateway.kill()
    assert (gateway.runtime / "management.sock").exists()
    gateway.start()
    with session.client() as client:
        assert client.run("1").result == "1"
    gateway.kill()
    for path in sorted(gateway.runtime.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    gateway.start()
    assert session.show()["state"] == "gone"
    assert session.show()["reason"] == "lost"
    wait_for(
        lambda: not session_processes(namespace),
        "the end of a kernel that no gateway can reach",
    )
    fresh = gateway.create()
    with fresh.client() as client:
        assert client.run("1").result == "1"


def test_orphans_end_without_a_gateway(gateway: Gateway) -> None:
    gateway.terminate()
    gateway.start("--set", "gateway/orphan_timeout=1s")
    session = gateway.create()
    namespace = session.namespace()
    gateway.kill()
    wait_for(
        lambda: not session_processes(namespace),
        "the end of a kernel without a gateway",
    )
    gateway.start()
    assert session.wait_state("gone")["reason"] == "lost"
