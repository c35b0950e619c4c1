"""The protocol documents name what the code has: versions, frames, requests."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DESIGN = ROOT / "docs" / "design"


def read(path: str) -> str:
    return (ROOT / path).read_text()


def document(name: str) -> str:
    return (DESIGN / f"PROTOCOL.{name}.md").read_text()


def expanded(text: str) -> set[str]:
    """The words of a document, in capitals, with commas between or alone."""
    return set(re.findall(r"\b[A-Z][A-Z_]+\b", text))


@pytest.mark.parametrize(
    ("name", "header", "macro"),
    [
        ("zygote", "kernels/zygote_request.h", "ZYGOTE_PROTOCOL"),
        ("kernel", "protocol/frame.h", "FRAME_VERSION"),
        ("process", "protocol/keeper.h", "KEEPER_VERSION"),
    ],
)
def test_versions(name: str, header: str, macro: str) -> None:
    found = re.search(rf"#define {macro}\s+(\d+)", read(header))
    assert found
    said = re.search(rf"version (\d+) \(`{macro}`", document(name))
    assert said
    assert said[1] == found[1]


def test_every_frame_is_in_its_document() -> None:
    frames = dict(
        re.findall(r"\bX\((\w+), (\d+), (?:UP|DOWN)", read("protocol/frame.h"))
    )
    assert len(frames) > 25
    text = document("kernel")
    assert set(frames) <= expanded(text)
    for row in re.findall(
        r"^\| ([A-Z_, ]+) \| (\d+(?: to \d+)?) \|", text, re.M
    ):
        names, codes = row[0].split(", "), row[1].split(" to ")
        first = int(codes[0])
        for place, name in enumerate(names):
            assert frames.pop(name) == str(first + place), name
        assert int(codes[-1]) == first + len(names) - 1, row
    assert not frames, f"no row: {sorted(frames)}"


def test_every_message_of_a_keeper_is_in_its_document() -> None:
    kinds = dict(re.findall(r"\bX\((\w+), (\d+), ", read("protocol/keeper.h")))
    rows = dict(
        re.findall(r"^\| ([A-Z_]+) \| (\d+) \|", document("process"), re.M)
    )
    assert "START" in kinds
    assert rows == kinds


def test_every_request_about_processes_is_in_its_document() -> None:
    source = read("gateway/session/processes/process_requests.c")
    known = set(re.findall(r'\{"(process_\w+)"', source))
    rows = re.findall(r"^\| `(process_\w+)` \|", document("process"), re.M)
    assert "process_taken" in known
    assert known <= set(rows)


def test_the_kernel_names_frames_that_there_are() -> None:
    """Check the frames that _link.pyi leaves open."""
    known = set(re.findall(r"\bX\((\w+), \d+,", read("protocol/frame.h")))
    named = {
        name
        for path in sorted((ROOT / "kernels" / "hearth_kernel").rglob("*.py"))
        for name in re.findall(r"\b_?link\.([A-Z_]+)\b", path.read_text())
    }
    declared = re.findall(
        r"^([A-Z_]+): ", read("kernels/hearth_kernel/_link.pyi"), re.MULTILINE
    )
    assert "EXECUTE" in named
    assert named - set(declared) <= known


def test_every_management_request_is_in_its_document() -> None:
    sources = "\n".join(
        path.read_text() for path in sorted((ROOT / "gateway").rglob("*.c"))
    )
    rows = set(
        re.findall(r'"((?:gateway|session|viewer|files)_\w+_request)"', sources)
    )
    assert {"session_create_request", "files_put_request"} <= rows
    text = document("management") + document("attach")
    missing = {name for name in rows if f"`{name}`" not in text}
    assert not missing
    named = set(re.findall(r"`(\w+_request)`", text))
    known = set(re.findall(r'"(\w+_request)"', sources))
    assert named <= known


def test_every_member_of_the_gateway_is_in_its_document() -> None:
    """Check that each counter of `gateway_info_request` is described."""
    stats = read("gateway/registry/core/stats.c")
    described = stats[stats.index("json_t *stats_describe") :]
    members = re.findall(r'"(\w+)"', described)
    assert "trips" in members
    text = document("management")
    for member in members:
        assert f"counted.{member}`" in text, member


def test_every_type_between_frontends_and_sessions_is_in_its_document() -> None:
    wire = read("gateway/frontends/attach_wire.h")
    types = set(re.findall(r"^    ATTACH_([A-Z]+),", wire, re.M))
    assert {"HELLO", "REQUEST"} <= types
    assert types == set(
        re.findall(r"^\| `([A-Z]+)` \|", document("attach"), re.M)
    )
