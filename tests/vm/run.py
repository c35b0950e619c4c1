#!/usr/bin/python3
"""run.py BUILD FOLDER [PART [N/M]...]: hearth in a Debian of its own.

A virtual machine with systemd and control groups of version 2, hearth in it by
`make install`, and the tests of sandbox and limits as the service, as root and
as an ordinary user. Each part begins with the same state of the machine and may
be run alone; an interrupted run continues with the unfinished parts. A long
part is run in shares, each on its own; N/M after a part is one of them. FOLDER
keeps Debian, the machine's states, results and logs. HEARTH_VM_SECONDS is the
time limit of a part. Needs root for mmdebstrap.
"""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from image import Image
from machine import Machine, MachineError, accelerate

PARTS = {
    "service": "the unit: its user, its groups, sessions at their limits",
    "adoption": "sessions outlive restart and kill -9; nothing stays behind",
    "walls-root": "C tests of the sandbox as root",
    "walls-user": "C tests of the sandbox as a user",
    "limits-service": "test_limits.py, the gateway as the service's user",
    "limits-user": "test_limits.py under systemd --user",
    "scope": "an ordinary user, by the line that hearth doctor names",
    "hostile-service": "the hostile suite, the gateway as the service's user",
    "hostile-user": "the hostile suite as a user",
    "hostile-unit": "files, neighbours, secrets: with the unit's mounts",
}
SHARES = {"hostile-service": 6, "hostile-user": 6}
SHARE = re.compile(r"[1-9]\d*/[1-9]\d*")
RESULT = re.compile(r"^(ok|not ok)\b(.*)$")
PYTEST = re.compile(r"^(\S+::.*?) (PASSED|FAILED|ERROR|SKIPPED)\b")
SKIPPED = re.compile(r"# SKIP|^1\.\.0 # SKIP")
SHOWN_EVERY = 30.0


@dataclass
class Outcome:
    part: str
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    seconds: float = 0.0
    note: str = ""  # why it is not well besides failed tests

    @property
    def is_well(self) -> bool:
        return not self.note and not self.failed and self.passed > 0


def say(text: str) -> None:
    print(f"vm: {text}", flush=True)


class Listener:
    """Counts the results in a part's lines, keeps them, shows how it goes."""

    def __init__(self, outcome: Outcome, log: Path) -> None:
        self.outcome = outcome
        self.log = log.open("w")
        self.begun = self.shown = time.monotonic()
        self.last = ""

    def hear(self, line: str) -> None:
        self.log.write(f"{time.monotonic() - self.begun:7.1f} {line}\n")
        self.log.flush()
        tap, pytest = RESULT.match(line), PYTEST.match(line)
        if tap:
            self.count(
                "SKIPPED" if SKIPPED.search(line) else tap[1].upper(), line
            )
        elif pytest:
            self.count(pytest[2], line)
        elif SKIPPED.search(line):
            self.count("SKIPPED", line)

    def count(self, word: str, line: str) -> None:
        outcome = self.outcome
        self.last = line[:100]
        if word in ("OK", "PASSED"):
            outcome.passed += 1
        elif word == "SKIPPED":
            outcome.skipped += 1
        else:
            outcome.failed += 1
            say(f"  {line}")

    def idle(self) -> None:
        now = time.monotonic()
        if now - self.shown < SHOWN_EVERY:
            return
        self.shown = now
        o = self.outcome
        say(
            f"  {o.part}: {now - self.begun:.0f} s, {o.passed} passed,"
            f" {o.failed} failed; {self.last}"
        )

    def close(self) -> None:
        self.outcome.seconds = time.monotonic() - self.begun
        self.log.close()


def run_part(machine: Machine, part: str, folder: Path, limit: int) -> Outcome:
    outcome = Outcome(part)
    log = folder / f"{part.replace(' ', '-').replace('/', '-of-')}.log"
    listener = Listener(outcome, log)
    try:
        status = Image.inside(
            machine, part, limit, listener.hear, listener.idle
        )
        if status != 0 and not outcome.failed:
            outcome.note = f"ended with status {status}"
    except MachineError as error:
        outcome.note = str(error)
    finally:
        listener.close()
    if not outcome.is_well:
        if not outcome.note and not outcome.failed:
            outcome.note = "no test was run"
        lines = log.read_text().splitlines()[-60:]
        print("\n".join(f"  {line}" for line in lines), flush=True)
    return outcome


class Results:
    """What has ended of a run, for when it is interrupted."""

    def __init__(self, folder: Path, key: str) -> None:
        self.path = folder / "results.json"
        self.key = key
        self.found: dict[str, Outcome] = {}
        try:
            text: dict[str, Any] = json.loads(self.path.read_text())
        except (OSError, ValueError):
            return
        if text["key"] == key:
            self.found = {o["part"]: Outcome(**o) for o in text["parts"]}

    def add(self, outcome: Outcome) -> None:
        self.found[outcome.part] = outcome
        text = {
            "key": self.key,
            "parts": [asdict(o) for o in self.found.values()],
        }
        self.path.write_text(json.dumps(text, indent=1) + "\n")

    def end(self) -> None:
        self.path.unlink(missing_ok=True)


def show_table(outcomes: list[Outcome], seconds: float) -> bool:
    print(f"\n{'part':<20}{'':<8}passed  failed  skipped  seconds")
    for o in outcomes:
        print(
            f"{o.part:<20}{'ok' if o.is_well else 'FAIL':<8}"
            f"{o.passed:>6}{o.failed:>8}{o.skipped:>9}{o.seconds:>9.0f}"
            + (f"  {o.note}" if o.note else "")
        )
    passed = sum(o.passed for o in outcomes)
    failed = sum(o.failed + bool(o.note) for o in outcomes)
    skipped = sum(o.skipped for o in outcomes)
    print(
        f"vm: {passed} passed, {failed} failed, {skipped} skipped"
        f" in {seconds:.0f} s"
    )
    return all(o.is_well for o in outcomes)


def shares(words: list[str]) -> list[str]:
    """The parts as they are run: one that is long in shares, unless one of
    them was asked for."""
    found = []
    for i, word in enumerate(words):
        if SHARE.fullmatch(word):
            continue
        one = words[i + 1 : i + 2]
        if one and SHARE.fullmatch(one[0]):
            found.append(f"{word} {one[0]}")
        elif word in SHARES:
            count = SHARES[word]
            found += [f"{word} {n}/{count}" for n in range(1, count + 1)]
        else:
            found.append(word)
    return found


def run_all(
    image: Image, how: list[str], key: str, wanted: list[str], goes_on: bool
) -> bool:
    begun = time.monotonic()
    limit = int(os.environ.get("HEARTH_VM_SECONDS", "1800"))
    results = Results(image.folder, key)
    if not goes_on:
        results.found = {}
    for part in wanted:
        if part in results.found and results.found[part].is_well:
            say(f"{part}: done before the interruption")
            continue
        say(f"{part}: {PARTS[part.partition(' ')[0]]}")
        with image.machine(how, "installed") as machine:
            results.add(run_part(machine, part, image.folder, limit))
    is_well = show_table(
        [results.found[part] for part in wanted],
        time.monotonic() - begun,
    )
    results.end()
    return is_well


def main() -> int:
    if len(sys.argv) < 3:
        print(__doc__, file=sys.stderr)
        return 2
    build, folder = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    wanted = sys.argv[3:]
    unknown = [
        word
        for i, word in enumerate(wanted)
        if word not in PARTS and not (i and SHARE.fullmatch(word))
    ]
    if unknown:
        say(f"there is no part {unknown[0]}; there are:")
        for part, about in PARTS.items():
            print(f"  {part:<18}{about}")
        return 2
    # qemu ends with us.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    folder.mkdir(parents=True, exist_ok=True)
    image = Image(folder.resolve(), build, say)
    try:
        image.make_debian()
        how = accelerate(image.folder)
        say(" ".join(how))
        key = image.prepare(how)
        parts = shares(wanted or list(PARTS))
        return 0 if run_all(image, how, key, parts, not wanted) else 1
    except MachineError as error:
        say(str(error))
        return 1


if __name__ == "__main__":
    sys.exit(main())
