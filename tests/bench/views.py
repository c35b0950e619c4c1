"""Views for models: tokens of the samples, and the time of a large output.

Tokens are counted by a real tokenizer (o200k), which has its vocabulary in its
package and an environment of its own: .venv-tokens, made by ./dev bench.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
import urllib.request
from pathlib import Path
from statistics import median
from typing import Any

from clients import BenchError
from figures import OURS, Figure
from processes import descendants
from sides import Hearth, Kernel, Side, kernel_of

ROOT = Path(__file__).resolve().parents[2]
COUNT = (
    "import json, sys, bpe_openai\n"
    "encoding = bpe_openai.get_encoding('o200k_base')\n"
    "print(json.dumps([len(encoding.encode_ordinary(text)) "
    "for text in json.load(sys.stdin)]))"
)
RAW = "as Jupyter has it"
SESSION = "860cde0e"  # five tokens, as half of the ids of eight letters have
MEGABYTES = 10
PATIENCE_S = 60.0

FRAME = (
    "import pandas as pd\n"
    "df = pd.DataFrame({'id': range(10000), 'value': range(10000)})\n"
)
# What fails first in a session, as agents have it.
ERRORS = (
    ("KeyError of pandas", "df['nope']"),
    ("KeyError of groupby", "df.groupby('nope').sum()"),
    ("KeyError of agg", "df.groupby('id').agg({'nope': 'sum'})"),
    ("KeyError of merge", "df.merge(df, on='nope')"),
    ("missing file of read_csv", "pd.read_csv('nope.csv')"),
    ("ValueError of numpy", "df.to_numpy() @ df.to_numpy()"),
    ("missing module", "import nope"),
)
# Name, code, and how many tokens a sample of the design has: its bound.
SAMPLES = (
    ("table", FRAME + "df", 78),
    ("error", "df.groupby('nope').sum()", 71),
    (
        "plot",
        "import matplotlib.pyplot as plt\nax = plt.gca()\nax.plot([1, 2]);",
        35,
    ),
    ("cut", "for i in range(10000): print(f'{i:40}')", 58),
    # Whole ones, which a budget of 4,000 tokens has cut.
    (
        "hexadecimal",
        "from hashlib import sha256\n"
        "for i in range(3000): print(sha256(b'%d' % i).hexdigest())",
        4000,
    ),
    (
        "decimals",
        "from random import random, seed\nseed(1)\n"
        "for i in range(3000): print(*(f'{random():.6f}' for _ in range(8)))",
        4000,
    ),
)


class Rest:
    """Runs cells of one session by REST."""

    def __init__(self, side: Hearth) -> None:
        about = json.loads((side.runtime / "http.json").read_text())
        self.base = about["url"].rstrip("/")
        self.token = about["token"]
        self.kernel = self.ask("POST", "/api/kernels", {})["id"]

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        request = urllib.request.Request(
            self.base + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"token {self.token}"},
        )
        with urllib.request.urlopen(request) as answer:
            text = answer.read()
        return json.loads(text) if text else None

    def begin(self, code: str) -> str:
        path = f"/api/kernels/{self.kernel}/execute?view=model"
        answer = self.ask("POST", path, {"code": code})
        return f"{answer['request_url']}"

    def wait(self, url: str, query: str = "?view=model") -> Any:
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            answer = self.ask("GET", url + query)
            if not answer["pending"]:
                return answer
            time.sleep(0.01)
        raise BenchError("a cell does not end")

    def view(self, code: str) -> tuple[str, str]:
        """The view's text, and all texts of the outputs."""
        url = self.begin(code)
        text = self.wait(url)["view"]["text"]
        outputs = json.loads(self.wait(url, "")["outputs"])
        return text, "\n".join(map(raw_text, outputs))


def raw_text(output: dict[str, Any]) -> str:
    """Return the text of an output for a client that passes it on."""
    texts = [output.get("text", ""), *output.get("traceback", [])]
    for kind, value in output.get("data", {}).items():
        if kind in ("text/plain", "text/html"):
            texts.append(value)
    return "\n".join(text for text in texts if text)


def count_tokens(texts: list[str]) -> list[int]:
    python = ROOT / ".venv-tokens/bin/python"
    done = subprocess.run(
        [str(python), "-c", COUNT],
        input=json.dumps(texts),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    counts: list[int] = json.loads(done.stdout)
    return counts


def frame_of(text: str) -> str:
    """The lines that are hearth's own, where most were left out."""
    lines = text.split("\n")
    return "\n".join([lines[0], *(at for at in lines if at.startswith("…"))])


def collect(rest: Rest) -> list[tuple[str, int, str, str]]:
    found = []
    for name, code, wanted in SAMPLES:
        text, raw = rest.view(code)
        found.append(
            (name, wanted, frame_of(text) if name == "cut" else text, raw)
        )
    code = "import time\nprint('epoch 12/100 loss 0.31', flush=True)\n"
    url = rest.begin(code + "time.sleep(1)")
    text = ""
    while "last: epoch" not in text:
        text = rest.ask("GET", url + "?view=model")["view"]["text"]
    found.append(("long", 38, text, ""))
    rest.wait(url)
    rest.ask("POST", f"/api/kernels/{rest.kernel}/restart")
    found.append(("lost", 53, rest.view("1")[0], ""))
    return found


def measure_tokens(side: Hearth) -> list[Figure]:
    rest = Rest(side)
    try:
        samples = collect(rest)
    finally:
        rest.ask("DELETE", f"/api/kernels/{rest.kernel}")
    # Ids differ by some tokens, and the figures are to be the same in each run.
    texts = [text.replace(rest.kernel[:8], SESSION) for *_, text, _ in samples]
    raw = count_tokens([text for *_, text in samples])
    figures = []
    for (name, wanted, *_), ours, theirs in zip(
        samples, count_tokens(texts), raw
    ):
        figure = Figure(
            f"tokens of a view: {name}", "", f"{wanted}", most=wanted
        )
        figure.add(OURS, ours)
        if theirs:
            figure.add(RAW, theirs)
        figures.append(figure)
    return figures


def measure_large_view(program: Path, rounds: int) -> Figure:
    figure = Figure(f"view of a {MEGABYTES} MB output", "ms", "20 ms", most=20)
    done = subprocess.run(
        [
            str(program.parent / "tests/bench/view_output"),
            str(MEGABYTES),
            str(rounds),
        ],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    for line in done.stdout.split():
        figure.add(OURS, float(line))
    return figure


def failing(code: str) -> str:
    """Return a cell that shows its traceback by itself, and counts as done."""
    return f"try: {code}\nexcept Exception: get_ipython().showtraceback()"


def processor_ms(kernel: Kernel) -> float:
    """Return the processor time of all that the kernel is, in ms."""
    tasks = [
        Path(f"/proc/{pid}/task/{task}/schedstat")
        for pid in descendants(kernel.pid)
        for task in os.listdir(f"/proc/{pid}/task")
    ]
    return sum(int(at.read_text().split()[0]) for at in tasks) / 1e6


def fail_twice(side: Side, code: str) -> list[tuple[float, float]]:
    """Fail in a new session; return how long each took, and its processor
    time, in ms."""
    took = []
    with kernel_of(side) as kernel:
        kernel.client.execute(FRAME)
        for _ in range(2):
            before = processor_ms(kernel)
            outcome = kernel.client.execute(failing(code))
            used = processor_ms(kernel) - before
            took.append((outcome.seconds * 1000, used))
    return took


def measure_first_error(
    name: str, code: str, sides: list[Side], rounds: int
) -> list[Figure]:
    """A session's first error, and the same one once more: a row each.

    A third row has hearth's first one beside ipykernel's second.
    """
    rows = [
        Figure(f"a session's first {name}", "ms", "15 ms", most=15),
        Figure(f"once more: {name}", "ms", ""),
    ]
    beside = Figure(f"first here, second there: {name}", "ms", "1x", least=1)
    used: list[list[float]] = [[], []]
    for _ in range(rounds):
        for side in sides:
            for at, (took, processor) in enumerate(fail_twice(side, code)):
                rows[at].add(side.name, took)
                if at == (0 if side.name == OURS else 1):
                    beside.add(side.name, took)
                if side.name == OURS:
                    used[at].append(processor)
    for row, values in zip(rows, used):
        row.note = f"{median(values):.1f} ms of a processor"
    return [*rows, beside]


def measure_views(side: Hearth, sides: list[Side], rounds: int) -> list[Figure]:
    """All of them; `sides` are hearth and ipykernel."""
    figures = [
        *measure_tokens(side),
        measure_large_view(side.program, rounds),
    ]
    for name, code in ERRORS:
        figures += measure_first_error(name, code, sides, min(rounds, 5))
    return figures
