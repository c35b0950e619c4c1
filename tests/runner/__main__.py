"""./dev test: which tests run, how often, and beside what."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from typing import Optional

from . import layers, since, times
from .burners import burners
from .layers import Depth, Layer
from .repeat import repeat
from .run import ROOT, dev, run_layers, say


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="./dev test",
        description="Build hearth and run its tests.",
        epilog="HACKING.md says what each layer is. " + layers.listing(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument(
        "names",
        nargs="*",
        metavar="LAYER",
        help="layers to run; `all` is both depths; nothing, the first",
    )
    made.add_argument(
        "--layers", action="store_true", help="print the layers, and end"
    )
    made.add_argument(
        "--since",
        metavar="REV",
        help="the layers that the changes since this revision can touch",
    )
    made.add_argument(
        "--times", action="store_true", help="also list the slowest tests"
    )
    made.add_argument(
        "--repeat",
        type=int,
        metavar="N",
        help="run the tests that are named, files or C programs, N times",
    )
    made.add_argument(
        "--load",
        action="store_true",
        help="beside an endless loop for each processor",
    )
    return made


def chosen(names: list[str], revision: Optional[str]) -> list[Layer]:
    """Return the layers of these names, or those that a change can touch; end
    if there is no such layer or revision."""
    if revision is not None:
        files = since.changed(ROOT, revision)
        if names or files is None:
            sys.exit(
                "dev: --since takes a revision that git knows, and no layers"
            )
        touched = since.touched(files)
        say("layers: " + " ".join(layer.name for layer in touched))
        return touched
    if not names:
        return layers.of_depth(Depth.FIRST)
    found: list[Layer] = []
    for name in names:
        if name == "all":
            found += layers.of_depth(Depth.FIRST, Depth.SECOND)
        elif name in layers.BY_NAME:
            found.append(layers.BY_NAME[name])
        else:
            known = " ".join(layers.BY_NAME)
            sys.exit(f"dev: there is no layer {name}; there are: all {known}")
    return found


def prepare() -> None:
    """Install and build what every layer needs."""
    os.environ.pop("HEARTH", None)  # what is tested is what is built here
    for script, arguments in (("deps", ["test"]), ("build", ["gcc", "all"])):
        status = dev(script, *arguments).returncode
        if status != 0:
            sys.exit(status)


def main() -> int:
    options = parser().parse_args()
    if options.layers:
        print(layers.listing())
        return 0
    begun = time.time()
    if options.repeat is not None:
        if not options.names or options.repeat < 1:
            sys.exit("dev: --repeat needs a number above 0 and what to run")
        prepare()
        programs = ["check", "TESTS="]
        if subprocess.run(
            ["build-aux/dev/build.sh", "gcc", *programs], cwd=ROOT
        ).returncode:
            return 1
        return 0 if repeat(options.names, options.repeat, options.load) else 1
    wanted = chosen(options.names, options.since)
    prepare()
    with burners(options.load):
        good = run_layers(wanted)
    if options.times:
        say("\nthe slowest:")
        for seconds, name in times.slowest(ROOT / "build", begun):
            say(f"{seconds:7.1f} s  {name}")
    return 0 if good else 1


sys.exit(main())
