"""A refusal names its rule, as docs/reference/audit.md lists them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from fake_index import FakeIndex, make_metadata
from test_advisories import dump, record
from worker import Folder, Refusal, refuse

DOCUMENTS = Path(__file__).parents[3] / "docs/reference/audit.md"
CASES: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    # The rule, what the release has, and the settings.
    ("cooldown", {"age_days": 1}, {}),
    ("allow", {}, {"allow": ["b"]}),
    ("deny", {}, {"deny": ["a"]}),
    ("require_hashes", {}, {"require_hashes": True}),
    ("max_files", {}, {"max_files": 1}),
    ("offline", {}, {"offline": True}),
    ("pth", {"files": {"x.pth": ""}}, {}),
    ("shadow", {"files": {"json.py": ""}}, {}),
    ("names", {"files": {"a/x.py": "", "a/X.py": ""}}, {}),
    ("metadata", {"other_metadata": make_metadata("a", "1", [], {}),
                  "requires": ["b"]}, {}),
    ("yanked", {"yanked": True}, {}),
    ("hash", {}, {"pins": {"a": ["1", "0" * 64]}}),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "release", "settings"), CASES)
def test_a_refusal_has_its_rule(
    folder: Folder,
    index: FakeIndex,
    rule: str,
    release: dict[str, Any],
    settings: dict[str, Any],
) -> None:
    index.add("a", "1", **release)
    index.add("b", "1")
    refusal = refuse(folder, "a", **settings)
    assert (refusal.ename, refusal.rule) == ("PackagesRefused", rule)


def test_a_malicious_version_has_its_rule(
    folder: Folder, index: FakeIndex
) -> None:
    index.add("a", "1")
    path = folder.path.parent / "advisories.zip"
    advisories = dump(path, record("a", versions=["1"]))
    assert refuse(folder, "a", advisories=advisories).rule == "advisories"


def test_a_dependency_keeps_it_in_another_change(
    folder: Folder, index: FakeIndex
) -> None:
    """The sentence is another one then."""
    index.add("a", "1", requires=["b"])
    index.add("b", "1")
    index.add("c", "1")
    folder.do("add", "a")
    refusal = refuse(folder, "c", deny=["b"])
    assert (refusal.rule, "remove that first" in refusal.text) == ("deny", True)


def test_another_fault_has_none(folder: Folder, index: FakeIndex) -> None:
    with pytest.raises(Refusal) as fault:
        folder.do("add", "a")
    assert (fault.value.ename, fault.value.rule) == ("PackagesConflict", "")


def test_all_rules_are_documented() -> None:
    text = DOCUMENTS.read_text()
    source = DOCUMENTS.parents[2] / "gateway/downloads/hearth_downloads"
    named = {
        rule
        for path in (source / "packages").glob("*.py")
        for rule in re.findall(r'rule="([a-z_]+)"', path.read_text())
    }
    assert {rule for rule, *_ in CASES} <= named | {"allow", "deny"}
    assert [rule for rule in sorted(named) if f"`{rule}`" not in text] == []
