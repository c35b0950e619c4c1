"""The layers of the tests: when each runs, in which build, what it needs."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Depth(Enum):
    """The run that a layer joins when no layer is named."""

    FIRST = "./dev test"
    SECOND = "./dev test all"


@dataclass(frozen=True)
class Layer:
    """A target of the Makefile that runs tests (tests/Makemodule.am)."""

    name: str
    depth: Depth
    target: str = ""  # of make; check-NAME if it is empty
    configuration: str = "gcc"  # of the build, see build.sh
    programs: tuple[str, ...] = ("all",)  # what make builds before the tests
    groups: tuple[str, ...] = ()  # what deps.sh installs for it
    upgrades: bool = False  # some of its tests need the version before

    @property
    def folder(self) -> str:
        """The folder of its build."""
        if self.configuration == "gcc":
            return "build"
        return f"build-{self.configuration}"

    @property
    def is_built(self) -> bool:
        """Return true if what each run builds first is all that it needs."""
        return self.configuration == "gcc" and self.programs == ("all",)

    @property
    def make_target(self) -> str:
        return self.target or f"check-{self.name}"


# All the programs of the tests, but no test.
PROGRAMS = ("check", "TESTS=")

# In the order of a run.
LAYERS = (
    Layer("checks", Depth.FIRST),
    Layer("unit", Depth.FIRST, programs=PROGRAMS),
    Layer("sandbox", Depth.FIRST, programs=PROGRAMS),
    Layer("kernel", Depth.FIRST),
    Layer("system", Depth.FIRST),
    Layer("http", Depth.FIRST),
    Layer("docs", Depth.FIRST),
    Layer("examples", Depth.FIRST),
    Layer("alone", Depth.FIRST),
    Layer("deep", Depth.SECOND, groups=("newer",), upgrades=True),
    Layer("jc7", Depth.SECOND, groups=("jc7",)),
    Layer("peers", Depth.SECOND, groups=("peers",)),
    Layer("clang", Depth.SECOND, "check-programs", "clang", PROGRAMS),
    Layer("asan", Depth.SECOND, "check-sanitized", "asan", PROGRAMS),
    Layer("tsan", Depth.SECOND, "check-programs", "tsan", PROGRAMS),
    Layer("fuzz", Depth.SECOND, "check-fuzz", "fuzz", ("fuzz",)),
)
BY_NAME = {layer.name: layer for layer in LAYERS}


def of_depth(*depths: Depth) -> list[Layer]:
    return [layer for layer in LAYERS if layer.depth in depths]


def listing() -> str:
    """A line for each depth, with the names of its layers."""
    return "\n".join(
        f"{depth.value}: " + " ".join(layer.name for layer in of_depth(depth))
        for depth in Depth
    )
