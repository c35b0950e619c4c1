"""A unit test in C lies where the file lies that it is named after: that of
gateway/gate/listener.c in tests/unit/gate."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path, PurePath

ROOT = Path(__file__).resolve().parents[2]
PRODUCT = (
    *("base", "protocol", "sandbox", "notebooks"),
    *("workspace", "kernels", "gateway"),
)


def find_misplaced(
    product: Iterable[PurePath], tests: Iterable[PurePath]
) -> list[PurePath]:
    """Return the tests that lie elsewhere than each file of their name.

    `product` has paths below the checkout, `tests` below tests/unit.
    """
    folders: dict[str, set[PurePath]] = defaultdict(set)
    for path in product:
        is_gateway = path.parts[0] == "gateway"
        folders[path.stem].add(PurePath(*path.parts[is_gateway:]).parent)
    return [
        path
        for path in tests
        if path.parent
        not in folders.get(path.stem.removeprefix("test_"), {path.parent})
    ]


def test_a_test_elsewhere_is_found() -> None:
    product = [
        PurePath("gateway/gate/listener.c"),
        PurePath("gateway/http/server/listener.c"),
        PurePath("base/fd.c"),
    ]
    right = [
        PurePath("gate/test_listener.c"),
        PurePath("http/server/test_listener.c"),
        PurePath("base/test_fd.c"),
        PurePath("any/test_of_several_files.c"),
    ]
    assert find_misplaced(product, right) == []
    wrong = [PurePath("channels/test_listener.c"), PurePath("test_fd.c")]
    assert find_misplaced(product, wrong) == wrong


def test_each_test_lies_where_its_file_does() -> None:
    product = [
        path.relative_to(ROOT)
        for folder in PRODUCT
        for path in (ROOT / folder).rglob("*.[ch]")
    ]
    unit = ROOT / "tests/unit"
    tests = [path.relative_to(unit) for path in unit.rglob("test_*.c")]
    assert len(tests) > 300
    assert find_misplaced(product, tests) == []
