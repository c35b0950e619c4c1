"""An agent's run of several turns, each a client process of its own.

Every turn is a command of an agent: `hearth exec ID -c CODE`. In the middle a
person looks into the session with `jupyter console --existing`. At the end the
session is left alone until its inactivity timeout discards it, and the next
turn gets that error.

The exit status is 0 if every step had the expected result. All processes are
stopped at the end, also after a failed step.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import nbformat
import pexpect
from sklearn.datasets import load_diabetes, load_wine

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "system"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from fake_files import FakeFiles
from fake_index import FakeIndex
from git_server import GitServer
from processes import descendants, kill, start_time

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.prefix) / "bin"
IDLE_TIMEOUT = 15.0
PATIENCE = 120.0
GONE = 3

LOAD = """\
import matplotlib.pyplot as plt
import pandas as pd
from sklearn.datasets import load_iris

iris = load_iris(as_frame=True)
flowers = iris.frame.rename(columns=lambda name: name.removesuffix(" (cm)"))
flowers["species"] = iris.target_names[flowers.pop("target")]
flowers.head()
"""

IMPORT = "import matplotlib.pyplot as plt, pandas as pd"

USE = 'flowers.groupby("species").mean().round(2)'

READ = """\
wines = pd.read_csv("wines.csv")
print(f"{len(wines)} wines, {wines.shape[1]} columns")
wines.groupby("cultivar")[["alcohol", "proline"]].agg(["mean", "std"]).round(1)
"""

PLOT = """\
figure, axes = plt.subplots(figsize=(7, 4.5))
for species, rows in flowers.groupby("species"):
    axes.scatter(rows["petal length"], rows["petal width"], label=species)
axes.set(xlabel="petal length, cm", ylabel="petal width, cm",
         title="Iris: the petals tell the species apart")
axes.legend();
"""

FAIL = """\
def ratio(frame, over, under):
    return frame[over] / frame[under]

flowers["petal ratio"] = ratio(flowers, "petal_length", "petal_width")
"""

REPAIR = """\
flowers["petal ratio"] = ratio(flowers, "petal length", "petal width")
flowers.groupby("species")["petal ratio"].median().round(2)
"""

TRAIN = """\
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

columns = ["sepal length", "sepal width", "petal length", "petal width"]
train, test, train_species, test_species = train_test_split(
    flowers[columns], flowers["species"], test_size=0.3,
    stratify=flowers["species"], random_state=0)
forest = RandomForestClassifier(random_state=0).fit(train, train_species)
accuracy = {
    "train": forest.score(train, train_species),
    "test": forest.score(test, test_species),
}
print(f"train accuracy {accuracy['train']:.3f} on {len(train)} flowers")
print(f"test accuracy  {accuracy['test']:.3f} on {len(test)} flowers")
gap = accuracy["train"] - accuracy["test"]
print(f"it {'overfits: ' if gap > 0.01 else 'does not overfit: '}"
      f"{gap:.3f} lower on flowers that it has not seen")
"""

MISSING = """\
import petals
petals.describe(flowers)
"""

ADD = f"""\
%pip install petals
{MISSING}"""

# The package that the demo's own index has.
PETALS = """\
def describe(flowers):
    longest = flowers.groupby("species")["petal length"].max()
    return ", ".join(f"{name} up to {cm} cm" for name, cm in longest.items())
"""

FETCHED = """\
patients = pd.read_csv("data/diabetes.csv")
print(f"{len(patients)} patients, the file has {patients.shape[1]} columns")
"""

# A repository, and the question that an agent has about it.
NET = """\
from torch import nn


def make(width):
    return nn.Sequential(nn.Linear(4, width), nn.Dropout(0.5))
"""

ASK = """\
import pathlib, re
found = [
    f"{path.relative_to('model')}:{number}: {line.strip()}"
    for path in sorted(pathlib.Path("model").rglob("*.py"))
    for number, line in enumerate(path.read_text().splitlines(), 1)
    if re.search("dropout", line, re.IGNORECASE)
]
print("yes, it uses dropout:" if found else "no, it has no dropout", *found)
"""

LOOK = 'print("in the console:", len(flowers), "flowers,", sorted(accuracy))'


class StepError(Exception):
    """A step was not as it should be."""


def expect(condition: object, what: str) -> None:
    if not condition:
        raise StepError(what)


def indent(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.rstrip().splitlines())


class Demo:
    """The folders of this run, its gateway, and what was done so far."""

    def __init__(
        self,
        hearth: Path,
        output: Path,
        scratch: Path,
        index: FakeIndex,
        server: FakeFiles,
        repositories: GitServer,
    ) -> None:
        self.hearth = hearth
        self.server = server
        self.repositories = repositories
        self.output = output
        self.environment = {
            **os.environ,
            "HEARTH_RUNTIME_DIR": str(scratch / "run"),
            "HEARTH_STATE_DIR": str(scratch / "state"),
            "HEARTH_CONFIG": str(scratch / "hearth.cfg"),
        }
        (scratch / "hearth.cfg").write_text(
            "gateway\n    log_level = info\n"
            f"packages\n    dir = {scratch}/packages\n"
            f"fetch\n    dir = {scratch}/fetch\n"
            "profile\n    python3\n        packages\n"
            f"            index = {index.url}\n"
            "        fetch\n"
            f"            allow = {server.place}, {repositories.place}\n"
        )
        self.state = scratch / "state"
        self.session: dict[str, Any] = {}
        self.gateway_pid = 0
        self.step = 0

    @property
    def id(self) -> str:
        return str(self.session["id"])

    def run(
        self, *arguments: str, status: int = 0
    ) -> subprocess.CompletedProcess[str]:
        """One client process; its exit status must be the one expected."""
        done = subprocess.run(
            [str(self.hearth), *arguments],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        expect(
            done.returncode == status,
            f"hearth {arguments[0]} ended with {done.returncode}, not"
            f" {status}:\n{indent(done.stdout + done.stderr)}",
        )
        return done

    def ask(self, *arguments: str) -> Any:
        return json.loads(self.run(*arguments, "--json").stdout)

    def title(self, text: str) -> None:
        self.step += 1
        print(f"\n== {self.step}. {text}", flush=True)

    def show(self, *texts: str) -> None:
        for text in texts:
            if text.strip():
                print(indent(text), flush=True)

    def turn(self, title: str, code: str, *options: str) -> str:
        """Runs code, prints what it said; its standard output."""
        self.title(title)
        started = time.monotonic()
        done = self.run("exec", self.id, *options, "-c", code)
        self.show(done.stdout, done.stderr)
        print(f"    [{1000 * (time.monotonic() - started):.0f} ms]")
        return done.stdout

    # ---- the steps ----

    def load(self) -> None:
        self.title(
            "From nothing: no gateway runs; a session, and the iris data"
        )
        started = time.monotonic()
        self.session = self.ask(
            "session",
            "create",
            "--name",
            "iris",
            "--idle-timeout",
            f"{IDLE_TIMEOUT:g}",
        )
        created = time.monotonic()
        document = self.ask("exec", self.id, "-c", LOAD)
        done = time.monotonic()

        expect(document["status"] == "ok", f"status {document['status']}")
        table = document["outputs"][-1]
        expect(table["output_type"] == "execute_result", "there is no result")
        html, text = (
            "".join(table["data"].get(kind, ""))
            for kind in ("text/html", "text/plain")
        )
        expect("<table" in html, "the table has no text/html")
        expect("sepal length" in text, "the table has no text/plain")
        self.show(f"session {self.id}", "", "text/plain:", text)
        row = re.search(r"<tr>\s*<th>0</th>.*?</tr>", html, re.S)
        expect(row, "the first flower is not in the HTML")
        self.show(
            f"text/html, {len(html)} characters, the first row of it:",
            " ".join(row.group().split()) if row else "",
        )
        print(
            f"    [nothing -> session {1000 * (created - started):.0f} ms,"
            f" nothing -> first result {1000 * (done - started):.0f} ms]"
        )
        self.gateway_pid = self.ask("gateway", "info")["pid"]

    def load_again(self) -> None:
        self.title("The same for a second session: now Python is warm")
        started = time.monotonic()
        other = self.ask("session", "create", "--name", "second")
        self.run("exec", other["id"], "-c", IMPORT)
        done = time.monotonic()
        text = self.run(
            "exec", other["id"], "-c", "'flowers' in globals()"
        ).stdout
        expect("False" in text, "a session sees the variables of another one")
        self.show("it sees nothing of the first one's variables")
        print(
            "    [create -> pandas and pyplot imported"
            f" {1000 * (done - started):.0f} ms, two processes]"
        )
        self.run("session", "delete", other["id"])

    def use(self) -> None:
        text = self.turn("A later turn uses the variables", USE)
        expect("virginica" in text and "5.55" in text, "wrong means")

    def read(self) -> None:
        wines = load_wine(as_frame=True)
        frame = wines.frame.rename(columns={"target": "cultivar"})
        source = self.output / "wines.csv"
        frame.to_csv(source, index=False)
        self.run("files", "put", self.id, str(source))
        text = self.turn("A CSV file, put into the session's folder", READ)
        expect("178 wines, 14 columns" in text, "the file was not read")

    def fetch(self) -> None:
        self.title("A data set from outside: the session has no network")
        table = load_diabetes(as_frame=True).frame.to_csv(index=False).encode()
        self.server.put("/diabetes.csv", table)
        url = self.server.url("/diabetes.csv")
        done = self.run(
            *("fetch", self.id, url, "--into", "data/"),
            *("--sha256", hashlib.sha256(table).hexdigest()),
        )
        self.show(done.stdout)
        other = f"http://localhost:{self.server.port}/diabetes.csv"
        refused = self.run("fetch", self.id, other, status=1)
        self.show(refused.stderr)
        expect("is not permitted here" in refused.stderr, "it was not refused")
        text = self.run("exec", self.id, "-c", FETCHED).stdout
        self.show(text)
        expect("442 patients, the file has 11 columns" in text, "it is another")

    def clone(self) -> None:
        self.title("A repository from outside: does it use dropout?")
        model = self.repositories.make("model.git")
        commit = model.commit({"net.py": NET, "README.md": "A small net.\n"})
        done = self.run("clone", self.id, model.url, "--depth", "1")
        self.show(done.stdout)
        expect(f"commit {commit}  branch main" in done.stdout, "another commit")
        text = self.run("exec", self.id, "-c", ASK).stdout
        self.show(text)
        expect("yes, it uses dropout: net.py:5:" in text, "it was not found")

    def plot(self) -> None:
        text = self.turn(
            "A plot, as PNG", PLOT, "--output-dir", str(self.output)
        )
        picture = self.output / "1.png"
        expect(str(picture) in text, "the picture's path was not said")
        data = picture.read_bytes()
        expect(data.startswith(b"\x89PNG\r\n\x1a\n"), "that is no PNG")
        width, height = (
            int.from_bytes(data[at : at + 4], "big") for at in (16, 20)
        )
        expect(width > 300 and height > 200, f"it has {width} x {height}")
        self.show(f"{width} x {height} pixels, {len(data)} bytes")

    def fail(self) -> None:
        self.title("A cell that fails, with its traceback")
        done = self.run("exec", self.id, "-c", FAIL, status=1)
        self.show(done.stdout, done.stderr)
        said = re.sub(r"\x1b\[[0-9;]*m", "", done.stderr)
        for part in ("KeyError", "petal_length", "in ratio"):
            expect(part in said, f"the traceback does not say {part!r}")

    def repair(self) -> None:
        text = self.turn("The repaired cell, in the same session", REPAIR)
        expect("setosa" in text and "7.0" in text, "wrong ratios")

    def add(self) -> None:
        self.title("A package is missing: the error says how to ask for it")
        done = self.run("exec", self.id, "-c", MISSING, status=1)
        said = re.sub(r"\x1b\[[0-9;]*m", "", done.stderr)
        hint = next(
            (line for line in said.splitlines() if "%pip install" in line), ""
        )
        expect("petals" in hint, f"no hint: {said}")
        self.show(hint)
        text = self.turn("It is added from outside, and used at once", ADD)
        expect("added petals 1.0" in text, "it does not say what was added")
        expect("virginica up to 6.9 cm" in text, "it was not used")

    def train(self) -> None:
        text = self.turn("A random forest: does it overfit?", TRAIN)
        found = dict(re.findall(r"(train|test) accuracy\s+([0-9.]+)", text))
        expect(float(found["train"]) > 0.99, f"train: {found}")
        expect(0.85 < float(found["test"]) <= 1, f"test: {found}")

    def look(self) -> None:
        self.title("A person looks in: jupyter console --existing")
        self.run("session", "keepalive", self.id)
        console = pexpect.spawn(
            str(BIN / "jupyter"),
            [
                "console",
                "--simple-prompt",
                "--existing",
                str(self.session["connection_file"]),
            ],
            env={**self.environment, "TERM": "dumb"},
            encoding="utf-8",
            timeout=60,
            echo=False,
        )
        try:
            console.expect(r"In \[\d+\]: ")
            console.sendline(LOOK)
            console.expect(r"in the console: 150 flowers, [^\n]*\n")
            self.show(str(console.match.group()))
            console.expect(r"In \[\d+\]: ")
            # What is typed may be echoed: only the code's own words count.
            console.sendline('note = "seen"; print("no" + "ted")')
            console.expect(r"noted")
        except pexpect.ExceptionPexpect as error:
            raise StepError(f"the console said: {console.before}") from error
        finally:
            console.close(force=True)
        text = self.run("exec", self.id, "-c", "note").stdout
        expect("seen" in text, "what the person set is not there")
        self.show(f"and the next turn sees what was set there: {text.strip()}")

    def listing(self) -> None:
        self.title("The list of sessions")
        text = self.run("session", "list").stdout
        self.show(text)
        expect(self.id in text and "idle" in text, "it is not in the list")
        self.session = self.show_session()

    def export(self) -> None:
        self.title("The recording, as a notebook, as text and as a page")
        notebook = self.output / "iris.ipynb"
        text = self.output / "iris.md"
        page = self.output / "iris.html"
        self.run("notebook", "export", "-o", str(page), self.id)
        self.run("notebook", "export", "-o", str(notebook), self.id)
        self.run(
            "notebook", "export", "--format", "md", "-o", str(text), self.id
        )
        document = nbformat.reads(  # type: ignore[no-untyped-call]
            notebook.read_text(), as_version=4
        )
        nbformat.validate(document)
        cells = [cell for cell in document.cells if cell.cell_type == "code"]
        kinds = {
            kind
            for cell in cells
            for output in cell.outputs
            for kind in output.get("data", {})
        }
        expect({"image/png", "text/html"} <= kinds, f"it has only {kinds}")
        expect(any("petal_length" in cell.source for cell in cells), "no cell")
        expect("RandomForestClassifier" in text.read_text(), "no forest in it")
        expect("data:image/png;base64," in page.read_text(), "no picture")
        self.show(f"{len(cells)} cells; {page} opens in any browser")

    def example(self) -> None:
        self.title("A whole agent, with a script in the place of its model")
        self.run("session", "keepalive", self.id)
        done = subprocess.run(
            [sys.executable, ROOT / "examples/codeact/agent.py", self.output],
            env={
                **self.environment,
                "PATH": f"{self.hearth.parent}:{os.environ['PATH']}",
                "PYTHONPATH": str(ROOT / "clients/python/src"),
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        self.show(done.stdout, done.stderr)
        expect(done.returncode == 0, f"it ended with {done.returncode}")
        expect("{'region': 'north', 'total': 1746}" in done.stdout, "no answer")

    def expire(self) -> None:
        self.title(f"Left alone for {IDLE_TIMEOUT:g} s, then another turn")
        pid = int(self.session["pid"])
        ended = wait_until(
            lambda: self.show_session()["state"] == "gone", 3 * IDLE_TIMEOUT
        )
        expect(ended, "the session did not end")
        expect(
            wait_until(lambda: not Path(f"/proc/{pid}").exists(), 5),
            f"its process {pid} is still there",
        )
        done = self.run("exec", self.id, "-c", USE, status=GONE)
        self.show(done.stdout, done.stderr, f"exit status {done.returncode}")
        for part in ("idle", "variables", "discarded"):
            expect(part in done.stderr, f"it does not say {part!r}")

    def show_session(self) -> dict[str, Any]:
        return dict(self.ask("session", "show", self.id))

    def stop(self) -> None:
        self.title("The end")
        expect(start_time(self.gateway_pid), "the gateway had ended already")
        family = descendants(self.gateway_pid)
        self.run("gateway", "stop", "--end-sessions")
        left: list[int] = []

        def is_empty() -> bool:
            left[:] = [pid for pid in family if start_time(pid)]
            return not left

        expect(wait_until(is_empty, 10), f"processes are left: {left}")
        self.show(f"gateway, warm Python, kernels: all {len(family)} ended")

    def stop_whatever_runs(self) -> None:
        """After a step that failed; says nothing when all has ended."""
        family = descendants(self.gateway_pid) if self.gateway_pid else []
        subprocess.run(
            [str(self.hearth), "gateway", "stop", "--end-sessions"],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PATIENCE,
        )
        for pid in family:
            if start_time(pid):
                kill(pid)
        log = self.state / "gateway.log"
        if log.exists():
            shutil.copy(log, self.output / "gateway.log")
            print(f"its log: {self.output / 'gateway.log'}", file=sys.stderr)

    def everything(self) -> None:
        self.load()
        self.load_again()
        self.use()
        self.read()
        self.fetch()
        self.clone()
        self.plot()
        self.fail()
        self.repair()
        self.add()
        self.train()
        self.look()
        self.listing()
        self.export()
        self.example()
        self.expire()
        self.stop()


def wait_until(condition: Callable[[], object], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.1)
    return False


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--hearth", default=ROOT / "build/hearth", type=Path)
    parser.add_argument("--output", default=ROOT / "build/demo", type=Path)
    options = parser.parse_args()

    output: Path = options.output.resolve()
    shutil.rmtree(output, ignore_errors=True)
    output.mkdir(parents=True)
    # Its path is short, since paths of sockets are: not under the tree.
    with (
        TemporaryDirectory(
            prefix="hearth-demo-", dir="/tmp", ignore_cleanup_errors=True
        ) as scratch,
        FakeIndex() as index,
        FakeFiles() as server,
        TemporaryDirectory() as folder,
        GitServer(Path(folder)) as repositories,
    ):
        index.add("petals", "1.0", {"petals.py": PETALS})
        hearth = options.hearth.resolve()
        demo = Demo(hearth, output, Path(scratch), index, server, repositories)
        try:
            demo.everything()
        except (StepError, subprocess.TimeoutExpired, OSError) as error:
            print(f"\ndemo: step {demo.step}: {error}", file=sys.stderr)
            demo.stop_whatever_runs()
            return 1
    print(f"\nAll {demo.step} steps were as they should be. They left:")
    for path in sorted(output.iterdir()):
        print(f"    {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
