"""Runs some tests again and again: is one of them unsteady?"""

from __future__ import annotations

import os
import subprocess
from collections import Counter
from pathlib import Path

from .burners import burners
from .run import LOGS, ROOT, say

# Where a test lies, and the environment that it runs in.
ENVIRONMENTS = {
    "tests/system/jc7": ".venv-jc7",
    "tests/system/peers": ".venv-peers",
}


def environment_of(name: str) -> str:
    for folder, environment in ENVIRONMENTS.items():
        if name.startswith(folder):
            return environment
    return ".venv"


def commands(names: list[str]) -> dict[str, list[str]]:
    """Return what to run, by a short name: each C program, and one pytest for
    each environment."""
    found: dict[str, list[str]] = {}
    for name in names:
        path = name.partition("::")[0]
        if not path.endswith(".py") and not (ROOT / path).is_dir():
            wrapper = str(ROOT / "build-aux/cmocka-tap.sh")
            found[Path(name).name] = [wrapper, f"./{name}"]
            continue
        environment = environment_of(name)
        command = found.setdefault(
            "repeat" + environment.replace(".venv", ""),
            [str(ROOT / "build-aux/pytest-tap.sh"), "repeat", environment],
        )
        command.append(name)
    return found


def repeat(names: list[str], times: int, load: bool) -> bool:
    """Run them so often, one run after the other; return true if none
    failed."""
    failures: Counter[str] = Counter()
    folder = LOGS / "repeat"
    folder.mkdir(parents=True, exist_ok=True)
    runs = commands(names)
    environment = {
        **os.environ,
        "CMOCKA_MESSAGE_OUTPUT": "TAP",
        "srcdir": str(ROOT),
        "top_srcdir": str(ROOT),
    }
    with burners(load):
        for number in range(1, times + 1):
            for short, command in runs.items():
                log = folder / f"{short}-{number}.log"
                with log.open("w") as output:
                    status = subprocess.run(
                        command,
                        cwd=ROOT / "build",
                        env=environment,
                        stdout=output,
                        stderr=output,
                    ).returncode
                lines = log.read_text(errors="replace").splitlines()
                bad = [line for line in lines if line.startswith("not ok ")]
                if status != 0 and not bad:
                    bad = [f"not ok - {short} ended with {status}"]
                if not any(line.startswith("ok ") for line in lines + bad):
                    bad = bad or [f"not ok - {short} ran no test"]
                for line in bad:
                    failures[line.partition(" - ")[2] or line] += 1
                say(
                    f"{number} of {times}, {short}: "
                    + (
                        f"{len(bad)} failed: {log.relative_to(ROOT)}"
                        if bad
                        else "passed"
                    )
                )
    for name, count in failures.most_common():
        say(f"FAILED: {count} of {times}: {name}")
    bad_runs = sum(failures.values())
    say(f"\n{times * len(runs)} runs, {bad_runs} failures")
    return not failures
