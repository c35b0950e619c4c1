"""Runs layers of the tests, and what failed once more, alone.

`./dev test` calls it when what it needs is installed: build-aux/dev/test.sh.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Optional

from .layers import Depth, Layer
from .results import Outcome, Result, forget, of_run

ROOT = Path(__file__).resolve().parents[2]
LOGS = ROOT / "build" / "logs"
AGAIN = LOGS / "again"
DEV = "build-aux/dev"

TRIES = 2  # runs of what failed, after the first
UNSTEADY_MAX = 5  # tests of one run that may pass at another try

# A sanitizer's report is a defect also if the next run makes none.
NEVER_AGAIN = ("asan", "tsan", "fuzz")

printing = threading.Lock()


def say(text: str) -> None:
    with printing:
        print(text, flush=True)


def jobs() -> int:
    return int(os.environ.get("JOBS", os.cpu_count() or 1))


def dev(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a script of build-aux/dev, which shows what it does."""
    return subprocess.run(
        [f"{DEV}/{script}.sh", *arguments], cwd=ROOT, text=True
    )


def calm(layer: Layer) -> list[str]:
    """The beginning of a command that needs less random addresses.

    clang 14's ThreadSanitizer cannot map its shadow when the kernel randomizes
    more than 28 bits of addresses (vm.mmap_rnd_bits).
    """
    if layer.name != "tsan":
        return []
    command = ["setarch", os.uname().machine, "--addr-no-randomize"]
    works = subprocess.run([*command, "true"], capture_output=True)
    return command if works.returncode == 0 else []


class LayerRun:
    """One layer: its first run, and those of what failed."""

    def __init__(self, layer: Layer) -> None:
        self.layer = layer
        self.first = Outcome()
        self.failed: dict[str, Result] = {}  # by key, not passed so far
        self.unsteady: list[str] = []  # titles, passed at another try
        self.environment = dict(os.environ)

    def run(self) -> None:
        begun = time.monotonic()
        say(f"== {self.layer.name}")
        log = LOGS / f"{self.layer.name}.make.log"
        self.first = self.prepare(log) or self.make(
            log, [f"-j{jobs()}", self.layer.make_target]
        )
        self.first.seconds = time.monotonic() - begun
        if not self.first.results and not self.first.trouble:
            self.first.trouble = "no test ran"
        self.failed = {result.key: result for result in self.first.failures}
        self.report()

    def prepare(self, log: Path) -> Optional[Outcome]:
        """Install and build; return the outcome of a layer that cannot run."""
        layer = self.layer
        commands: dict[str, list[str]] = {}
        if layer.groups:
            commands["deps"] = [*layer.groups]
        if not layer.is_built:
            commands["build"] = [layer.configuration, *layer.programs]
        if layer.upgrades:
            commands["before"] = []
        for script, arguments in commands.items():
            with log.open("w") as errors:
                done = subprocess.run(
                    [f"{DEV}/{script}.sh", *arguments],
                    cwd=ROOT,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    text=True,
                )
            if done.returncode != 0:
                say("".join(log.open().readlines()[-20:]))
                return Outcome(
                    trouble=f"{script}.sh ended with status {done.returncode}"
                )
            if script == "before":
                self.environment["HEARTH_BEFORE"] = done.stdout.strip()
        return None

    def make(self, log: Path, arguments: list[str]) -> Outcome:
        """Run tests by automake's harness, and read the results it keeps."""
        outcome = Outcome()
        folder = ROOT / self.layer.folder
        forget(folder)
        command = [*calm(self.layer), "make", "-C", str(folder)]
        command += ["--no-print-directory", *arguments]
        lines, total = 0, -1
        make = subprocess.Popen(
            command,
            cwd=ROOT,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        assert make.stdout is not None
        with log.open("w") as copy:
            for line in make.stdout:
                copy.write(line)
                if line.startswith("# TOTAL:"):
                    total = int(line.split()[2])
                lines += 1
                self.show(line, lines)
        status = make.wait()
        outcome.results = of_run(folder, ROOT)
        if total < 0:
            say("".join(log.open(errors="replace").readlines()[-20:]))
        if total < 0 or (status != 0 and not outcome.failures):
            outcome.trouble = f"make ended with status {status}"
        elif total != len(outcome.results):
            outcome.trouble = f"{len(outcome.results)} results of {total} tests"
        return outcome

    def show(self, line: str, count: int) -> None:
        """Print a failure; count the lines, where a person watches."""
        if line.startswith(("FAIL: ", "ERROR: ")):
            say(f"{self.layer.name}: {line.rstrip()}")
        elif sys.stdout.isatty():
            with printing:
                print(f"{self.layer.name}: {count}", end="\r", flush=True)

    def report(self) -> None:
        first = self.first
        say(
            f"{self.layer.name}: {first.count('PASS')} passed,"
            f" {first.count('FAIL', 'ERROR')} failed,"
            f" {first.count('SKIP')} skipped in {first.seconds:.0f} s"
            + (f"; {first.trouble}" if first.trouble else "")
        )

    # -- what failed, once more --

    def again(self) -> None:
        """Run what failed alone; keep what fails at each try."""
        if self.layer.name in NEVER_AGAIN:
            return
        for number in range(1, TRIES + 1):
            # pytest that ended badly has no list of what failed.
            keys = {
                key
                for key, result in self.failed.items()
                if result.word == "FAIL" or not result.is_pytest
            }
            if not keys:
                return
            say(f"{self.layer.name}: {len(keys)} once more, alone")
            programs = sorted({self.failed[key].program for key in keys})
            self.keep(
                programs, "first" if number == 1 else f"again{number - 1}"
            )
            self.environment["HEARTH_TEST_AGAIN"] = str(number)
            outcome = self.make(
                LOGS / f"{self.layer.name}-again{number}.make.log",
                ["check", "check_PROGRAMS=", "TESTS=" + " ".join(programs)],
            )
            self.keep(programs, f"again{number}")
            for key in sorted(outcome.passed(keys)):
                self.unsteady.append(self.failed.pop(key).title)

    def keep(self, programs: list[str], run: str) -> None:
        """Keep the logs of a run, which the next one would write over."""
        for program in programs:
            stem = (
                ROOT / self.layer.folder / re.sub(r"\.(tap|sh)$", "", program)
            )
            log = stem.with_name(stem.name + ".log")
            if log.exists():
                AGAIN.mkdir(parents=True, exist_ok=True)
                name = f"{self.layer.name}-{stem.name}-{run}.log"
                shutil.copy(log, AGAIN / name)

    def show_failures(self) -> None:
        """Print the ends of the logs of what failed at each try."""
        for program in sorted({r.program for r in self.failed.values()}):
            stem = re.sub(r"\.(tap|sh)$", "", program)
            log = ROOT / self.layer.folder / f"{stem}.log"
            if not log.exists():
                continue
            lines = log.read_text(errors="replace").splitlines()
            if program.endswith(".tap"):
                lines = failures_of_tap(lines)
            say(f"-- {program}: {log.relative_to(ROOT)}")
            say("\n".join(lines[-200:]))


def failures_of_tap(lines: list[str]) -> list[str]:
    """Return what belongs to the tests that failed; or the end, if pytest
    itself ended badly."""
    kept: list[str] = []
    inside = False
    for line in lines:
        if line.startswith(("ok ", "not ok ")):
            inside = line.startswith("not ok ")
        if inside:
            kept.append(line)
    return kept or lines[-40:]


def run_each(runs: list[LayerRun]) -> None:
    for run in runs:
        run.run()


class Run:
    """All layers of one run, and its verdict."""

    def __init__(self, layers: list[Layer]) -> None:
        self.begun = time.monotonic()
        self.runs = [LayerRun(layer) for layer in layers]

    def all(self) -> None:
        """Layers of the second depth with a build of their own run beside the
        other layers of that depth, which mostly wait."""
        own = [run for run in self.runs if run.layer.configuration != "gcc"]
        rest = [run for run in self.runs if run.layer.configuration == "gcc"]
        for run in rest:
            if run.layer.depth is Depth.FIRST:
                run.run()
        thread = threading.Thread(target=run_each, args=[own])
        thread.start()
        for run in rest:
            if run.layer.depth is not Depth.FIRST:
                run.run()
        thread.join()
        for run in self.runs:
            run.again()

    def verdict(self) -> bool:
        """Print what failed and the counts; return true if all is well."""
        passed = skipped = failed = 0
        unsteady: list[str] = []
        for run in self.runs:
            run.show_failures()
        for run in self.runs:
            passed += run.first.count("PASS") + len(run.unsteady)
            skipped += run.first.count("SKIP")
            failed += len(run.failed) + bool(run.first.trouble)
            unsteady += run.unsteady
        for title in unsteady:
            say(f"UNSTEADY: {title} (its logs: build/logs)")
        for run in self.runs:
            for result in run.failed.values():
                say(f"FAILED: {run.layer.name}: {result.title}")
            if run.first.trouble:
                say(f"FAILED: layer {run.layer.name}: {run.first.trouble}")
        if len(unsteady) > UNSTEADY_MAX:
            say(f"more than {UNSTEADY_MAX} tests are unsteady: this run failed")
        say(f"in {(time.monotonic() - self.begun) / 60:.0f} min")
        say(f"\n{passed} passed, {failed} failed, {skipped} skipped")
        return failed == 0 and len(unsteady) <= UNSTEADY_MAX


def run_layers(layers: list[Layer]) -> bool:
    LOGS.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(AGAIN, ignore_errors=True)
    run = Run(layers)
    run.all()
    return run.verdict()
