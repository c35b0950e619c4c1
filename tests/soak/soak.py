"""Random agents, for as long as wanted: cells that print, fail, hang, crash,
files that go in and out, clients that leave, gateways that are killed.

These must hold throughout. Every request gets its reply and its idle, once, and
once more at most for each gateway that follows: it repeats the last messages,
which may have been lost with its predecessor. Cells print numbered lines, which
arrive in order, none twice, and are in the recording without a gap. Nothing
stays of sessions that are gone. The gateway's memory does not grow.

    .venv/bin/python tests/soak/soak.py [SECONDS] [--seed NUMBER]
"""

from __future__ import annotations

import argparse
import os
import random
import re
import sys
import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from queue import Empty
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "system"))

from client import Client, Message, Turn, parent_of
from deadline import wait_for
from harness import Gateway, Session
from processes import members

AGENTS = 6
REPEAT_S = 3.0  # so long before a kill replies are repeated after it
# ASan keeps some of what was freed, and a stack beside each thread's.
GROWTH_KIB = (128 if "ASAN_OPTIONS" in os.environ else 48) * 1024

PRINTING = """\
import time
for number in range({first}, {first} + {count}):
    print('line', number, flush=number % 7 == 0)
    if number % 10 == 0:
        time.sleep({pause})
"""


class Witness(Client):
    """Counts every reply and every idle that ever comes."""

    def __init__(self, connection_file: str) -> None:
        super().__init__(connection_file)
        self.idles: Counter[str] = Counter()
        self.replies: Counter[str] = Counter()
        self.watch("iopub", self.idles, is_idle)
        self.watch("shell", self.replies, lambda message: True)

    def watch(
        self,
        channel: str,
        count: Counter[str],
        counts: Callable[[Message], bool],
    ) -> None:
        name = f"get_{channel}_msg"
        get = getattr(self.kc, name)

        def watched(*arguments: Any, **options: Any) -> Message:
            message: Message = get(*arguments, **options)
            if counts(message):
                count[parent_of(message) or ""] += 1
            return message

        setattr(self.kc, name, watched)

    def drain(self) -> None:
        """Return the messages that still wait."""
        for get in (self.kc.get_iopub_msg, self.kc.get_shell_msg):
            try:
                while True:
                    get(timeout=0.05)
            except Empty:
                pass


def is_idle(message: Message) -> bool:
    return (
        message["msg_type"] == "status"
        and message["content"]["execution_state"] == "idle"
    )


@dataclass
class Request:
    """A sent request, and when it was done."""

    msg_id: str
    done: float = 0.0


class Agent:
    """A session, its client, and what is known of both."""

    def __init__(self, soak: Soak) -> None:
        self.soak = soak
        self.chance = soak.chance
        self.session: Session = soak.gateway.create()
        self.namespace = self.session.namespace()
        self.client = self.connect()
        self.printed = 0  # lines, of cells that are over
        self.requests: list[Request] = []

    def connect(self) -> Witness:
        client = Witness(self.session.connection_file)
        client.wait_ready()
        return client

    # -- what an agent does --

    def begin(self, code: str) -> Request:
        request = Request(self.client.kc.execute(code, allow_stdin=False))
        self.requests.append(request)
        return request

    def finish(
        self, request: Request, begun: list[Message] | None = None
    ) -> Turn:
        turn = self.client.finish(request.msg_id, begun=begun)
        request.done = time.monotonic()
        return turn

    def run(self, code: str) -> Turn:
        return self.finish(self.begin(code))

    def expect(self, turn: Turn, ename: str) -> None:
        assert turn.content.get("ename") == ename, turn.content

    def begin_printing(self, pause: float = 0.0) -> tuple[Request, int]:
        count = self.chance.randrange(1, 400)
        code = PRINTING.format(first=self.printed, count=count, pause=pause)
        return self.begin(code), count

    def wait_until_it_runs(self, request: Request) -> list[Message]:
        """A request that no gateway has read yet goes with the first one."""
        wanted = f"line {self.printed}\n"
        return self.client.stream_until(request.msg_id, wanted)

    def end_printing(
        self,
        request: Request,
        count: int,
        seen: list[Message] | None = None,
    ) -> None:
        begun = time.monotonic()
        turn = self.finish(request, seen)
        assert turn.status == "ok", turn.content
        lines = [int(n) for n in re.findall(r"line (\d+)\n", turn.stream())]
        wanted = list(range(self.printed, self.printed + count))
        assert turn.stream() == "".join(f"line {n}\n" for n in lines)
        if self.soak.was_killed_since(begun - REPEAT_S):
            # What libzmq had not written yet; the recording has it.
            assert lines == sorted(set(lines)), "doubled or out of order"
            assert set(lines) <= set(wanted)
        else:
            assert lines == wanted, "lost or doubled"
        self.printed += count

    def act_print(self) -> None:
        self.end_printing(*self.begin_printing())

    def act_fail(self) -> None:
        self.expect(self.run("1 / 0"), "ZeroDivisionError")

    def act_interrupt(self) -> None:
        request = self.begin("print('go')\nimport time; time.sleep(600)")
        begun = self.client.stream_until(request.msg_id, "go")
        self.client.send("control", "interrupt_request")
        self.expect(self.finish(request, begun), "KeyboardInterrupt")

    def act_time_out(self) -> None:
        turn = self.client.ask(
            "shell",
            "execute_request",
            {"code": "while True: pass"},
            {"hearth": {"time_limit": 0.3}},
        )
        self.expect(turn, "TimeLimitExceeded")

    def act_files(self) -> None:
        gateway, text = self.soak.gateway, f"{self.chance.random()}" * 100
        done = gateway.run(
            "files", "put", self.session.id, "-", "in", stdin=text
        )
        assert done.returncode == 0, done.stderr
        turn = self.run("open('out', 'w').write(open('in').read()[::-1])")
        assert turn.result == str(len(text)), turn.content
        done = gateway.run("files", "get", self.session.id, "out", "-")
        assert done.stdout == text[::-1], done.stderr

    def act_reconnect(self) -> None:
        self.check_counts()
        self.client.close()
        self.client = self.connect()

    def act_crash(self) -> None:
        how = self.chance.choice(
            ("os._exit(3)", "os.abort()", "os.kill(os.getpid(), 9)")
        )
        self.expect(self.run(f"import os; {how}"), "KernelDied")
        self.replace()

    def act_discard(self) -> None:
        self.replace()

    # -- what must hold --

    def check_counts(self) -> None:
        self.client.drain()
        for request in self.requests:
            most = 1 + self.soak.restarts_since(request.done - REPEAT_S)
            for what, count in (
                ("replies", self.client.replies[request.msg_id]),
                ("idles", self.client.idles[request.msg_id]),
            ):
                assert 1 <= count <= most, f"{count} {what} for one request"
        self.soak.requests += len(self.requests)
        self.requests.clear()

    def check_recording(self) -> None:
        text = "".join(
            "".join(output["text"])
            for cell in self.session.notebook()["cells"]
            for output in cell.get("outputs", [])
            if output["output_type"] == "stream"
        ).replace("go\n", "")
        assert text == "".join(f"line {n}\n" for n in range(self.printed))
        self.soak.lines += self.printed

    def leave(self) -> None:
        self.check_counts()
        self.check_recording()
        self.client.close()
        self.session.delete()
        wait_for(
            lambda: not members(self.namespace), "no process of who is gone"
        )

    def replace(self) -> None:
        self.leave()
        fresh = Agent(self.soak)
        self.__dict__.update(fresh.__dict__)


ACTIONS: list[tuple[Callable[[Agent], None], int]] = [
    (Agent.act_print, 12),
    (Agent.act_fail, 3),
    (Agent.act_interrupt, 3),
    (Agent.act_time_out, 2),
    (Agent.act_files, 3),
    (Agent.act_reconnect, 3),
    (Agent.act_crash, 1),
    (Agent.act_discard, 1),
]


class Soak:
    """The gateway and its agents."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.gateway = Gateway(
            "--set", "profile/python3/preload=",
            "--set", "sessions/interrupt_grace=2s",
        )  # fmt: skip
        self.killed: list[float] = []
        self.restarted: list[float] = []
        self.steps: Counter[str] = Counter()
        self.recent: deque[str] = deque(maxlen=20)
        self.requests = self.lines = 0
        self.agents: list[Agent] = []
        self.resident_kib = 0  # when this gateway had settled

    def restarts_since(self, moment: float) -> int:
        return sum(each > moment for each in self.restarted)

    def was_killed_since(self, moment: float) -> bool:
        return bool(self.killed) and self.killed[-1] > moment

    def resident(self) -> int:
        text = Path(f"/proc/{self.gateway.pid}/status").read_text()
        found = re.search(r"^VmRSS:\s*(\d+)", text, re.MULTILINE)
        assert found
        return int(found[1])

    def check_memory(self) -> None:
        now = self.resident()
        if not self.resident_kib:
            self.resident_kib = now
        grown = now - self.resident_kib
        assert grown < GROWTH_KIB, f"the gateway has grown by {grown} KiB"

    def restart(self, by_kill: bool) -> None:
        self.check_memory()
        if by_kill:
            self.gateway.kill()
        else:
            self.gateway.terminate()
        self.gateway.start()
        self.restarted.append(time.monotonic())
        if by_kill:
            self.killed.append(self.restarted[-1])
        self.resident_kib = 0

    def all_at_once(self, fate: str) -> None:
        """Everybody's cell runs while the gateway goes, or stays."""
        begun = [agent.begin_printing(pause=0.02) for agent in self.agents]
        seen = [
            agent.wait_until_it_runs(request)
            for agent, (request, _) in zip(self.agents, begun, strict=True)
        ]
        self.note(fate)
        if fate != "stay":
            self.restart(by_kill=fate == "kill")
        for agent, sent, messages in zip(self.agents, begun, seen, strict=True):
            agent.end_printing(*sent, messages)

    def note(self, what: str) -> None:
        self.steps[what] += 1
        self.recent.append(f"{time.monotonic():.3f} {what}")

    def tell(self) -> None:
        """Print the facts about a failure."""
        now = f"{time.monotonic():.3f} now"
        print(*self.recent, now, sep="\n", file=sys.stderr)
        print(self.gateway.log.read_text()[-6000:], file=sys.stderr)
        for agent in self.agents:
            print(agent.session.id, agent.requests[-1:], file=sys.stderr)
            print(agent.session.show(), file=sys.stderr)
            reported = self.gateway.run("notebook", "trace", agent.session.id)
            print(reported.stdout[-1000:], reported.stderr, file=sys.stderr)

    def step(self) -> None:
        if self.chance.randrange(12) == 0:
            self.all_at_once(self.chance.choice(("stay", "kill", "stop")))
            return
        agent = self.chance.choice(self.agents)
        acts, weights = zip(*ACTIONS, strict=True)
        act = self.chance.choices(acts, weights)[0]
        self.note(act.__name__)
        act(agent)
        if sum(self.steps.values()) % 50 == 0:
            self.check_memory()

    def run(self, seconds: float) -> str:
        end = time.monotonic() + seconds
        try:
            self.gateway.start()
            self.agents = [Agent(self) for _ in range(AGENTS)]
            while time.monotonic() < end:
                self.step()
            # However short: both were there.
            for fate in ("kill", "stop"):
                if not self.steps[fate]:
                    self.all_at_once(fate)
            for agent in self.agents:
                agent.leave()
        except BaseException:
            self.tell()
            raise
        finally:
            for agent in self.agents:
                agent.client.close()
            self.gateway.end()
        return (
            f"{sum(self.steps.values())} steps, {self.requests} requests,"
            f" {self.lines} lines: {dict(self.steps)}"
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("seconds", type=float, nargs="?", default=3600)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    options = parser.parse_args()
    print(f"seed {options.seed}, {options.seconds:g} s", flush=True)
    print(Soak(options.seed).run(options.seconds))
    return 0


if __name__ == "__main__":
    sys.exit(main())
