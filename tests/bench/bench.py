"""hearth beside ipykernel: the same Python, the same packages, one run.

The client is made of raw ZeroMQ sockets, the same for both sides: the waits
and the costs of a friendlier client would hide what is measured. Rounds of
both sides take turns, so that a busy moment of the machine meets both. Every
cell's output is checked to be whole before its time counts.
"""

from __future__ import annotations

import argparse
import hashlib
import hmac
import json
import os
import platform
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

import hogs
import recordings
import zmq

ROOT = Path(__file__).resolve().parents[2]
DELIMITER = b"<IDS|MSG>"
PATIENCE_MS = 120_000
IMPORTS = "import pandas\nimport matplotlib.pyplot"

TEN_MEGABYTES = 10_000_000
TWENTY_MEGABYTES = 20_000_000
PREPARE_PICTURE = f"""\
import os
from IPython.display import Image, display
picture = Image(b"\\x89PNG\\r\\n\\x1a\\n" + os.urandom({TWENTY_MEGABYTES}),
                format="png")
"""


class BenchError(Exception):
    """Something did not happen as it must; no figure is worth anything."""


# ---- a client of raw sockets ----


class Signer:
    """Makes and opens signed messages with one key."""

    def __init__(self, key: str) -> None:
        self.hmac = hmac.new(key.encode(), digestmod=hashlib.sha256)
        self.session = uuid.uuid4().hex
        self.count = 0

    def sign(self, parts: list[bytes]) -> bytes:
        signature = self.hmac.copy()
        for part in parts:
            signature.update(part)
        return signature.hexdigest().encode()

    def request(
        self, kind: str, content: dict[str, Any]
    ) -> tuple[str, list[bytes]]:
        self.count += 1
        header = {
            "msg_id": f"{self.session}_{self.count}",
            "session": self.session,
            "username": "bench",
            "date": "2026-01-01T00:00:00.000000Z",
            "msg_type": kind,
            "version": "5.4",
        }
        parts = [
            json.dumps(header).encode(),
            b"{}",
            b"{}",
            json.dumps(content).encode(),
        ]
        return header["msg_id"], [DELIMITER, self.sign(parts), *parts]

    def open(self, frames: list[bytes]) -> tuple[str, str, bytes]:
        """Type, parent's id and unparsed content of a message."""
        at = frames.index(DELIMITER)
        signature, *parts = frames[at + 1 : at + 6]
        if not hmac.compare_digest(signature, self.sign(parts)):
            raise BenchError("a message is not signed with the key")
        parent = json.loads(parts[1])
        return (
            json.loads(parts[0])["msg_type"],
            parent.get("msg_id", ""),
            parts[3],
        )


@dataclass
class Outcome:
    """What a cell gave."""

    seconds: float = 0.0
    status: str = ""
    messages: int = 0
    text: list[str] = field(default_factory=list)
    pictures: list[str] = field(default_factory=list)
    result: str = ""


class Client:
    """Shell and iopub of one kernel."""

    def __init__(
        self,
        context: zmq.Context[zmq.Socket[bytes]],
        connection: dict[str, Any],
    ) -> None:
        self.signer = Signer(connection["key"])
        self.shell = context.socket(zmq.DEALER)
        self.iopub = context.socket(zmq.SUB)
        self.iopub.setsockopt(zmq.SUBSCRIBE, b"")
        self.poller = zmq.Poller()
        for sock, key in ((self.shell, "shell"), (self.iopub, "iopub")):
            sock.setsockopt(zmq.LINGER, 0)
            # A kernel that is just being started does not listen yet.
            sock.setsockopt(zmq.RECONNECT_IVL, 2)
            sock.setsockopt(zmq.RECONNECT_IVL_MAX, 10)
            # Nothing of what is counted may be dropped on this side.
            sock.setsockopt(zmq.RCVHWM, 0)
            port = connection[f"{key}_port"]
            if connection["transport"] == "ipc":
                sock.connect(f"ipc://{connection['ip']}-{port}")
            else:
                sock.connect(f"tcp://{connection['ip']}:{port}")
            self.poller.register(sock, zmq.POLLIN)

    def close(self) -> None:
        self.shell.close()
        self.iopub.close()

    def wait_for_welcome(self) -> None:
        """Until the subscription counts: both sides say so."""
        while True:
            if not self.iopub.poll(PATIENCE_MS):
                raise BenchError("no iopub_welcome")
            kind, _, _ = self.signer.open(self.iopub.recv_multipart())
            if kind == "iopub_welcome":
                return

    def execute(self, code: str) -> Outcome:
        """Runs a cell: the time until both its reply and `idle` are here."""
        outcome = Outcome()
        msg_id, frames = self.signer.request(
            "execute_request",
            {
                "code": code,
                "silent": False,
                "store_history": True,
                "user_expressions": {},
                "allow_stdin": False,
                "stop_on_error": True,
            },
        )
        is_idle = False
        started = time.perf_counter()
        self.shell.send_multipart(frames)
        while not (is_idle and outcome.status):
            ready = dict(self.poller.poll(PATIENCE_MS))
            if not ready:
                raise BenchError(f"no answer to {code[:40]!r}")
            if self.iopub in ready:
                is_idle = self.take_output(msg_id, outcome) or is_idle
            if self.shell in ready:
                self.take_reply(msg_id, outcome)
        outcome.seconds = time.perf_counter() - started
        if outcome.status != "ok":
            raise BenchError(f"{code[:40]!r}: {outcome.status}")
        return outcome

    def take_reply(self, msg_id: str, outcome: Outcome) -> None:
        kind, parent, content = self.signer.open(self.shell.recv_multipart())
        if parent == msg_id and kind == "execute_reply":
            reply = json.loads(content)
            outcome.status = reply["status"]
            if outcome.status == "error":
                outcome.status = f"{reply['ename']}: {reply['evalue']}"

    def take_output(self, msg_id: str, outcome: Outcome) -> bool:
        """Takes one message; whether it said idle."""
        kind, parent, raw = self.signer.open(self.iopub.recv_multipart())
        if parent != msg_id:
            return False
        content = json.loads(raw)
        if kind == "status":
            return bool(content["execution_state"] == "idle")
        outcome.messages += 1
        if kind == "stream":
            outcome.text.append(content["text"])
        elif kind == "execute_result":
            outcome.result = content["data"]["text/plain"]
        elif kind == "display_data":
            outcome.pictures.append(content["data"]["image/png"])
        return False


# ---- the two sides ----


@dataclass
class Kernel:
    """One running kernel and how to talk to it."""

    client: Client
    pid: int
    end: Callable[[], None]


class Ipykernel:
    """Each kernel is a process of its own."""

    name = "ipykernel"

    def __init__(
        self, context: zmq.Context[zmq.Socket[bytes]], scratch: Path
    ) -> None:
        self.context = context
        self.scratch = scratch

    def start(self) -> Kernel:
        """Returns as soon as it may be asked; the process still starts."""
        connection = self.connection()
        path = self.scratch / f"ipykernel-{uuid.uuid4().hex}.json"
        path.write_text(json.dumps(connection))
        process = subprocess.Popen(
            [sys.executable, "-m", "ipykernel_launcher", "-f", str(path)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        client = Client(self.context, connection)

        def end() -> None:
            client.close()
            process.kill()
            process.wait()

        client.wait_for_welcome()
        return Kernel(client, process.pid, end)

    @staticmethod
    def connection() -> dict[str, Any]:
        names = ("shell", "iopub", "stdin", "control", "hb")
        with ExitStack() as stack:
            ports = {}
            for name in names:
                sock = stack.enter_context(socket.socket())
                sock.bind(("127.0.0.1", 0))
                ports[f"{name}_port"] = sock.getsockname()[1]
        return {
            **ports,
            "ip": "127.0.0.1",
            "transport": "tcp",
            "key": uuid.uuid4().hex,
            "signature_scheme": "hmac-sha256",
            "kernel_name": "python3",
        }

    def processes(self, kernels: list[Kernel]) -> list[int]:
        """All that there is because of these kernels."""
        return [pid for kernel in kernels for pid in family(kernel.pid)]


class Hearth:
    """One gateway; a session is asked for on its management socket."""

    name = "hearth"

    def __init__(
        self,
        context: zmq.Context[zmq.Socket[bytes]],
        program: Path,
        scratch: Path,
        cgroups: str = "auto",
    ) -> None:
        self.context = context
        self.program = program
        self.scratch = scratch
        self.runtime = scratch / "run"
        config = scratch / "hearth.cfg"
        config.write_text(
            f"gateway\n    cgroups = {cgroups}\n"
            "sessions\n    idle_timeout = 1h\n"
        )
        self.log = (scratch / "gateway.log").open("wb")
        self.process = subprocess.Popen(
            [str(program), "serve"],
            env={
                **os.environ,
                "HEARTH_PYTHON": sys.executable,
                "HEARTH_RUNTIME_DIR": str(self.runtime),
                "HEARTH_STATE_DIR": str(scratch / "state"),
                "HEARTH_CONFIG": str(config),
            },
            stdin=subprocess.DEVNULL,
            stdout=self.log,
            stderr=self.log,
        )
        try:
            self.connect()
            self.wait_until_warm()
        except BaseException:
            self.stop()
            raise

    def connect(self) -> None:
        key = self.runtime / "management.key"
        path = self.runtime / "management.sock"
        deadline = time.monotonic() + 30
        while not (path.exists() and key.exists()):
            if time.monotonic() > deadline or self.process.poll() is not None:
                raise BenchError("the gateway did not start")
            time.sleep(0.02)
        self.signer = Signer(key.read_text().strip())
        self.management = self.context.socket(zmq.DEALER)
        self.management.setsockopt(zmq.LINGER, 0)
        self.management.connect(f"ipc://{path}")

    def ask(self, kind: str, content: dict[str, Any]) -> dict[str, Any]:
        msg_id, frames = self.signer.request(f"{kind}_request", content)
        self.management.send_multipart(frames)
        while True:
            if not self.management.poll(PATIENCE_MS):
                raise BenchError(f"no answer to {kind}")
            _, parent, raw = self.signer.open(self.management.recv_multipart())
            if parent == msg_id:
                break
        answer: dict[str, Any] = json.loads(raw)
        if answer["status"] != "ok":
            raise BenchError(f"{kind}: {answer.get('evalue')}")
        return answer

    def wait_until_warm(self) -> None:
        deadline = time.monotonic() + 60
        while True:
            profile = self.ask("gateway_info", {})["profiles"][0]
            if profile["state"] == "ready":
                return
            if time.monotonic() > deadline:
                raise BenchError(f"no warm Python: {profile}")
            time.sleep(0.05)

    def start(self) -> Kernel:
        session = self.ask("session_create", {})["session"]
        connection = json.loads(Path(session["connection_file"]).read_text())
        client = Client(self.context, connection)

        def end() -> None:
            client.close()
            self.ask("session_delete", {"id": session["id"]})

        client.wait_for_welcome()
        return Kernel(client, session["pid"], end)

    def processes(self, kernels: list[Kernel]) -> list[int]:
        """Gateway, warm Python and sessions; those of no use too."""
        return family(self.process.pid)

    def stop(self) -> None:
        if hasattr(self, "management"):
            try:
                self.ask("gateway_stop", {"end_sessions": True})
            except BenchError as error:
                print(f"bench: {error}", file=sys.stderr)
            self.management.close()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
        self.log.close()


# ---- memory ----


def family(root: int) -> list[int]:
    """A process and its descendants."""
    parents: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents.setdefault(int(fields[1]), []).append(int(path.parent.name))
    found = [root]
    for pid in found:
        found.extend(parents.get(pid, []))
    return found


def pss(pids: list[int]) -> float:
    """Proportional set size, MB: what is shared counts in parts."""
    total = 0
    for pid in pids:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                total += int(line.split()[1])
    return total * 1024 / 1e6


# ---- what is measured ----


@dataclass
class Figure:
    """One row of the table; values in `unit`, hearth first."""

    name: str
    unit: str
    must: str
    hearth: list[float] = field(default_factory=list)
    ipykernel: list[float] = field(default_factory=list)
    note: str = ""

    def add(self, side: str, value: float) -> None:
        (self.hearth if side == "hearth" else self.ipykernel).append(value)

    def ratio(self) -> float:
        if not self.hearth or not self.ipykernel:
            return float("nan")
        return median(self.ipykernel) / median(self.hearth)

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "unit": self.unit,
            "must": self.must,
            "note": self.note,
            "ratio": self.ratio(),
            **{
                side: {
                    "median": median(values),
                    "min": min(values),
                    "max": max(values),
                    "values": values,
                }
                for side, values in (
                    ("hearth", self.hearth),
                    ("ipykernel", self.ipykernel),
                )
                if values
            },
        }


def percentile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


Side = Ipykernel | Hearth


@contextmanager
def kernel_of(side: Side) -> Iterator[Kernel]:
    kernel = side.start()
    try:
        yield kernel
    finally:
        kernel.end()


@contextmanager
def kernel_of_each(sides: list[Side]) -> Iterator[list[tuple[str, Kernel]]]:
    with ExitStack() as stack:
        yield [
            (side.name, stack.enter_context(kernel_of(side))) for side in sides
        ]


def measure_first_result(sides: list[Side], rounds: int) -> list[Figure]:
    first = Figure("create -> first result, with imports", "ms", "30x (100x)")
    for number in range(rounds + 1):
        for side in sides:
            started = time.perf_counter()
            with kernel_of(side) as kernel:
                kernel.client.execute(IMPORTS)
                seconds = time.perf_counter() - started
            if number:  # the first round warms the disk's cache
                first.add(side.name, 1000 * seconds)
    return [first]


def measure_round_trip(sides: list[Side], rounds: int) -> list[Figure]:
    middle = Figure("1+1 round trip, p50", "ms", "4x (8x)")
    slow = Figure("1+1 round trip, p99", "ms", "")
    with kernel_of_each(sides) as kernels:
        for _, kernel in kernels:
            for _ in range(20):
                kernel.client.execute("1+1")
        for _ in range(rounds):
            for name, kernel in kernels:
                times = []
                for _ in range(200):
                    outcome = kernel.client.execute("1+1")
                    if outcome.result != "2":
                        raise BenchError(f"{name}: 1+1 is {outcome.result!r}")
                    times.append(1000 * outcome.seconds)
                middle.add(name, median(times))
                slow.add(name, percentile(times, 0.99))
    return [middle, slow]


def measure_memory(sides: list[Side], more: int) -> list[Figure]:
    """Beside one session that is there already, `more` others.

    A page that several processes share counts in parts that sum up to one
    page, so what one more session costs is by how much the sum over all
    processes grows: its own and the gateway's pages, and none twice.
    """
    growth = Figure("memory of one more idle session", "MB", "12x (20x)")
    total = Figure(f"memory of all, with {more + 1} sessions", "MB", "")
    for side in sides:
        with ExitStack() as stack:

            def one_more(side: Side = side, stack: ExitStack = stack) -> Kernel:
                kernel = stack.enter_context(kernel_of(side))
                kernel.client.execute(IMPORTS)
                return kernel

            kernels = [one_more()]
            time.sleep(0.5)
            try:
                before = pss(side.processes(kernels))
                kernels += [one_more() for _ in range(more)]
                time.sleep(0.5)
                after = pss(side.processes(kernels))
            except PermissionError as error:
                print(f"bench: memory not measured: {error}", file=sys.stderr)
                return []
            growth.add(side.name, (after - before) / more)
            total.add(side.name, after)
    return [growth, total]


def check_lines(outcome: Outcome, count: int) -> None:
    text = "".join(outcome.text)
    if text != "".join(f"{number}\n" for number in range(count)):
        raise BenchError(f"{len(text)} characters of {count} lines came")


def measure_prints(sides: list[Side], rounds: int) -> list[Figure]:
    figures = []
    with kernel_of_each(sides) as kernels:
        for count in (20_000, 100_000):
            figure = Figure(f"{count:,} prints", "ms", "1x")
            messages = {}
            for number in range(rounds + 1):
                for name, kernel in kernels:
                    outcome = kernel.client.execute(
                        f"for number in range({count}):\n    print(number)"
                    )
                    check_lines(outcome, count)
                    messages[name] = outcome.messages
                    if number:
                        figure.add(name, 1000 * outcome.seconds)
            figure.note = "messages: " + ", ".join(
                f"{name} {many}" for name, many in messages.items()
            )
            figures.append(figure)
    return figures


def measure_large(sides: list[Side], rounds: int) -> list[Figure]:
    text = Figure("10 MB in one print", "ms", "1x")
    lines = Figure("10 MB in lines of 100 bytes", "ms", "1x")
    picture = Figure("a display of a 20 MB PNG", "ms", "1x")
    with kernel_of_each(sides) as kernels:
        for _, kernel in kernels:
            kernel.client.execute(PREPARE_PICTURE)
        for number in range(rounds + 1):
            for name, kernel in kernels:
                whole = kernel.client.execute(f"print('x' * {TEN_MEGABYTES})")
                if len("".join(whole.text)) != TEN_MEGABYTES + 1:
                    raise BenchError(f"{name}: not 10 MB came")
                many = kernel.client.execute(
                    f"for _ in range({TEN_MEGABYTES // 100}):\n"
                    "    print('x' * 99)"
                )
                if len("".join(many.text)) != TEN_MEGABYTES:
                    raise BenchError(f"{name}: not 10 MB of lines came")
                shown = kernel.client.execute("display(picture)")
                size = len(shown.pictures[0].strip())
                if not TWENTY_MEGABYTES * 4 / 3 <= size < 28_000_000:
                    raise BenchError(f"{name}: a picture of {size} came")
                if number:
                    text.add(name, 1000 * whole.seconds)
                    lines.add(name, 1000 * many.seconds)
                    picture.add(name, 1000 * shown.seconds)
    return [text, lines, picture]


def measure_crowd(side: Hearth, crowd: int) -> list[Figure]:
    """The round trip with many idle sessions beside it."""

    def round_trips(kernel: Kernel) -> float:
        return median(
            1000 * kernel.client.execute("1+1").seconds for _ in range(500)
        )

    figure = Figure(
        f"1+1 round trip, p50, beside {crowd} idle sessions", "ms", ""
    )
    create = Figure(f"create -> 1+1, beside {crowd} idle sessions", "ms", "")
    with ExitStack() as stack:
        kernel = stack.enter_context(kernel_of(side))
        round_trips(kernel)
        alone = round_trips(kernel)
        for _ in range(crowd):
            side.ask("session_create", {})
        figure.add(side.name, round_trips(kernel))
        figure.note = f"alone {alone:.3f} ms"
        for _ in range(5):
            started = time.perf_counter()
            with kernel_of(side) as another:
                another.client.execute("1+1")
                create.add(side.name, 1000 * (time.perf_counter() - started))
    return [figure, create]


# ---- the whole ----


def say(figures: list[Figure]) -> None:
    for figure in figures:
        cells = [
            f"{median(values):10.2f} [{min(values):.2f}..{max(values):.2f}]"
            if values
            else f"{'-':>10}"
            for values in (figure.hearth, figure.ipykernel)
        ]
        ratio = f"{figure.ratio():.1f}x" if figure.ipykernel else "-"
        print(
            f"{figure.name:<46} {figure.unit:<3} {cells[0]:<32}"
            f" {cells[1]:<32} {ratio:>8}  {figure.must:<12} {figure.note}",
            flush=True,
        )


def machine() -> dict[str, Any]:
    model = ""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.partition(":")[2].strip()
            break
    return {
        "cpu": model or platform.machine(),
        "cpus": os.cpu_count(),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "load": os.getloadavg()[0],
        **{
            name: version(name)
            for name in ("ipykernel", "ipython", "pyzmq", "pandas")
        },
    }


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Short, since paths of sockets are; on disk, since journals are."""
    folder = tempfile.mkdtemp(prefix="hearth-bench-", dir="/var/tmp")
    try:
        yield Path(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def measure_hogs(side: Hearth) -> list[Figure]:
    """The round trip beside sessions at their limits; 2x is permitted."""

    def begin(kernel: Kernel, code: str) -> None:
        _, frames = kernel.client.signer.request(
            "execute_request", {"code": code, "silent": False}
        )
        kernel.client.shell.send_multipart(frames)

    figures = []
    for name, quiet, noisy, slow in hogs.measure(side.start, begin):
        figure = Figure(f"1+1 beside a hog: {name}, p50", "ms", "2x of alone")
        figure.hearth = noisy
        figure.note = (
            f"alone {median(quiet):.2f} ms: "
            f"{median(noisy) / median(quiet):.2f}x; p95 {slow:.2f}x"
        )
        say([figure])
        figures.append(figure)
    return figures


def measure_notebooks(side: Hearth, rounds: int) -> list[Figure]:
    """A recording of 10,000 cells and 100 MB; the other side is nbformat."""
    result = recordings.measure(side.program, side.scratch, rounds)
    figures = [
        Figure("export 10,000 cells, 100 MB (and nbformat)", "s", "seconds"),
        Figure("the most memory of it (and nbformat)", "MB", "bounded"),
        Figure("a record of a 1+1 in the journal", "us", "1.25 % of 1+1"),
    ]
    for figure, values in zip(figures, (result.seconds, result.megabytes)):
        figure.hearth = values["hearth"]
        figure.ipykernel = values["nbformat"]
    figures[0].note = f"{result.size / 1e6:.0f} MB written"
    figures[2].hearth = result.append_us
    figures[2].note = "four records are written for one"
    return figures


GROUPS = ("create", "trip", "memory", "prints", "large", "hogs", "notebooks")


def run(options: argparse.Namespace) -> list[Figure]:
    figures: list[Figure] = []

    def add(more: list[Figure]) -> None:
        say(more)
        figures.extend(more)

    with scratch_folder() as scratch:
        context = zmq.Context()
        hearth = Hearth(
            context, options.hearth.resolve(), scratch, options.cgroups
        )
        sides: list[Side] = [hearth]
        if not options.alone:
            sides.append(Ipykernel(context, scratch))
        rounds = options.rounds
        try:
            if "create" in options.only:
                add(measure_first_result(sides, rounds))
            if "trip" in options.only:
                add(measure_round_trip(sides, rounds))
            if "memory" in options.only:
                add(measure_memory(sides, 4))
            if "prints" in options.only:
                add(measure_prints(sides, rounds))
            if "large" in options.only:
                add(measure_large(sides, rounds))
            if "hogs" in options.only:
                figures.extend(measure_hogs(hearth))
            if "notebooks" in options.only:
                add(measure_notebooks(hearth, min(rounds, 3)))
            if options.sessions:
                add(measure_crowd(hearth, options.sessions))
        finally:
            hearth.stop()
            context.destroy(linger=0)
            if options.log:
                shutil.copy(scratch / "gateway.log", options.log)
    return figures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--hearth", default=ROOT / "build/hearth", type=Path)
    parser.add_argument("--json", type=Path, help="write the figures there")
    parser.add_argument(
        "--sessions", type=int, default=0, help="also beside so many idle ones"
    )
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument(
        "--only", nargs="+", choices=GROUPS, default=list(GROUPS)
    )
    parser.add_argument(
        "--cgroups",
        default="auto",
        choices=("auto", "v2", "v1", "none"),
        help="the gateway's setting",
    )
    parser.add_argument(
        "--alone", action="store_true", help="hearth without ipykernel"
    )
    parser.add_argument("--log", type=Path, help="keep the gateway's log there")
    options = parser.parse_args()

    about = machine()
    print(", ".join(f"{key} {value}" for key, value in about.items()))
    print(
        f"{'median [min..max]':<50} {'hearth':<32} {'ipykernel':<32}"
        f" {'ratio':>8}  {'to reach':<12}"
    )
    try:
        figures = run(options)
    except BenchError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    if options.json:
        document = {
            "machine": about,
            "figures": [figure.as_json() for figure in figures],
        }
        options.json.write_text(json.dumps(document, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
