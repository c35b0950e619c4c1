"""Requirements with hashes: NAME==V --hash=sha256:…"""

from __future__ import annotations

import sys
from typing import Any, Union

import pytest
from fake_index import FakeIndex, Release
from hearth_downloads.packages.requirement import (
    find_hashes,
    parse,
    split,
    with_extras,
)
from worker import Folder, Refusal, refuse

ZERO = "0" * 64
TAG = f"cp{sys.version_info[0]}{sys.version_info[1]}-abi3-linux_x86_64"
SETTING = "profile/python3/packages/require_hashes"


def pin(name: str, *releases: Union[Release, str], version: str = "1") -> str:
    hashes = [one if isinstance(one, str) else one.sha256 for one in releases]
    return " ".join(
        [f"{name}=={version}", *(f"--hash=sha256:{one}" for one in hashes)]
    )


def versions(answer: dict[str, Any]) -> dict[str, str]:
    return {one["name"]: one["version"] for one in answer["packages"]}


def test_a_requirement_keeps_its_hashes() -> None:
    text = f"A[x] == 1  --hash=sha256:{'AB' * 32} --hash=SHA256:{ZERO}"
    read = parse(text)
    assert read.name == "a"
    assert (
        read.text == f"A[x]==1 --hash=sha256:{'ab' * 32} --hash=sha256:{ZERO}"
    )
    assert split(read.text) == (frozenset({"x"}), "==1")
    assert find_hashes(read.text) == {"ab" * 32, ZERO}
    assert find_hashes("a==1") == frozenset()
    more = with_extras(pin("a", ZERO), read.text)
    assert more == f"a[x]==1 --hash=sha256:{ZERO}"


def test_a_version_may_have_many_wheels() -> None:
    # Those of charset-normalizer and lxml have over 170.
    text = pin("a", *[f"{number:064x}" for number in range(250)])
    assert len(find_hashes(parse(text).text)) == 250


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("a", pin("a", ZERO)),
        ("a==1", pin("a", ZERO)),
        ("a[x]", pin("a[x]", ZERO)),
        ("a==2", "a==2"),
        ("a>=1", "a>=1"),
        (pin("a", "1" * 64), pin("a", "1" * 64)),
    ],
)
def test_hashes_stay_until_other_versions_are_asked_for(
    text: str, whole: str
) -> None:
    assert with_extras(text, pin("a", ZERO)) == whole
    assert with_extras(text, "a==1") == text


def test_the_file_with_the_hash_is_taken(
    folder: Folder, index: FakeIndex
) -> None:
    plain = index.add("many", "1", {"many.py": "A = 2"})
    index.add("many", "1", {"many.py": "A = 3"}, tag=TAG)
    index.add("other", "1")
    answer = folder.do("add", pin("many", ZERO, plain), "other")
    assert answer["packages"][0]["sha256"] == plain.sha256
    assert folder.read("many.py") == "A = 2"
    # It holds for what the session gets later.
    index.add("more", "1")
    assert versions(folder.do("add", "more"))["many"] == "1"
    assert folder.read("many.py") == "A = 2"


def test_another_file_of_the_index_is_refused(
    folder: Folder, index: FakeIndex
) -> None:
    now = index.add("a", "1")
    refusal = refuse(folder, pin("a", ZERO))
    assert refusal.ename == "PackagesRefused"
    assert refusal.text == (
        f"the index has another file of a 1: its SHA-256 was to be {ZERO}, and "
        f"is {now.sha256}"
    )


def test_a_file_for_another_machine_is_refused(
    folder: Folder, index: FakeIndex
) -> None:
    mine = index.add("a", "1", {"a.py": "A = 1"})
    theirs = index.add("a", "1", {"a.py": "A = 2"}, tag="cp30-cp30-win32")
    refusal = refuse(folder, pin("a", theirs))
    assert refusal.ename == "PackagesRefused"
    assert f"be {theirs.sha256}, and is {mine.sha256}" in refusal.text


def test_what_is_there_has_to_have_the_hash(
    folder: Folder, index: FakeIndex
) -> None:
    made = index.add("a", "1")
    folder.do("add", "a")
    index.requests.clear()
    assert folder.do("add", pin("a", made))["added"] == []
    assert index.count() == 0
    assert ZERO in refuse(folder, pin("a", ZERO)).text


def two_files(index: FakeIndex) -> tuple[Release, Release]:
    """uv takes the second one if both are permitted."""
    plain = index.add("many", "1", {"many.py": "A = 2"})
    return plain, index.add("many", "1", {"many.py": "A = 3"}, tag=TAG)


def test_another_file_takes_the_place_of_what_is_there(
    folder: Folder, index: FakeIndex
) -> None:
    plain, other = two_files(index)
    folder.do("add", pin("many", plain))
    answer = folder.do("add", pin("many", other))
    assert answer["packages"][0]["sha256"] == other.sha256
    assert folder.read("many.py") == "A = 3"


def test_a_file_stays_when_another_package_goes(
    folder: Folder, index: FakeIndex
) -> None:
    plain, _ = two_files(index)
    index.add("other", "1")
    folder.do("add", pin("many", plain), "other")
    folder.do("remove", "other")
    assert folder.read("many.py") == "A = 2"


@pytest.mark.parametrize("again", ["many", "many==1"])
def test_a_file_stays_when_its_name_comes_with_another(
    folder: Folder, index: FakeIndex, again: str
) -> None:
    plain, _ = two_files(index)
    index.add("other", "1")
    folder.do("add", pin("many", plain))
    folder.do("add", again)
    folder.do("add", again, "other")
    assert folder.read("many.py") == "A = 2"


def test_a_file_without_a_hash_may_stay_but_no_other_comes(
    folder: Folder, index: FakeIndex
) -> None:
    plain, _ = two_files(index)
    needs = index.add("needs", "1", requires=["many"])
    more = index.add("more", "1")
    folder.do("add", pin("many", plain), pin("needs", needs))
    folder.do("remove", "many")
    folder.do("add", pin("more", more), require_hashes=True)
    assert folder.read("many.py") == "A = 2"


def test_only_hashes_come_where_they_are_required(
    folder: Folder, index: FakeIndex
) -> None:
    a = index.add("a", "1", requires=["b"])
    b = index.add("b", "1")
    folder.settings["require_hashes"] = True
    refusal = refuse(folder, "a")
    assert refusal.ename == "PackagesRefused"
    assert refusal.text == (
        f'"a" 1 refused: {SETTING} is set, and no hash was given: ask for '
        f"{pin('a', a)}"
    )
    assert refuse(folder, pin("a", a)).text == (
        f'"b" 1, which is needed by a, refused: {SETTING} is set, and no hash '
        f"was given: ask for {pin('b', b)} in the same request"
    )
    assert index.downloads() == 0
    assert versions(folder.do("add", pin("a", a), pin("b", b))) == {
        "a": "1",
        "b": "1",
    }
    own = {"require_hashes": "yes"}
    text = refuse(folder, "c", "b", own_texts=own).text
    assert "the index has no package c" in text
    index.add("c", "1")
    text = refuse(folder, "c", own_texts=own).text
    assert "this session's own packages/require_hashes is set" in text


def test_what_the_session_has_may_stay(
    folder: Folder, index: FakeIndex
) -> None:
    index.add("a", "1")
    index.add("a", "2")
    b = index.add("b", "1")
    folder.do("add", "a<2")
    made = folder.do("add", pin("b", b), require_hashes=True)
    assert versions(made) == {"a": "1", "b": "1"}
    assert '"a" 2 refused' in refuse(folder, "a==2", require_hashes=True).text


def test_it_holds_for_all_sessions_too(
    folder: Folder, index: FakeIndex
) -> None:
    made = index.add("a", "1")
    where = {"session": str(folder.profiles())}
    folder.do("profile", "a", **where)
    with pytest.raises(Refusal, match="no hash was given"):
        folder.do("profile", "a", require_hashes=True, **where)
    folder.do("profile", pin("a", made), require_hashes=True, **where)


def test_the_cooldown_does_not_hold_a_hash(
    folder: Folder, index: FakeIndex
) -> None:
    a = index.add("a", "1", age_days=1, requires=["b"])
    index.add("b", "1")
    index.add("b", "2", age_days=1)
    assert "cooldown" in refuse(folder, "a==1").text
    made = folder.do("add", pin("a", a))
    assert versions(made) == {"a": "1", "b": "1"}
    index.add("c", "1", requires=["a"])
    assert versions(folder.do("add", "c"))["a"] == "1"


def test_the_cooldown_does_not_hold_what_is_there(
    folder: Folder, index: FakeIndex
) -> None:
    index.add("a", "1")
    index.add("a", "2", age_days=10)
    index.add("d", "1", age_days=10)
    folder.do("add", "a", "d")
    index.add("a", "3", age_days=10)
    index.add("b", "1", requires=["a"])
    long = {"cooldown": 20 * 86400}
    assert versions(folder.do("add", "b", **long)) == {
        "a": "2",
        "b": "1",
        "d": "1",
    }
    # Another version of it is held.
    index.add("c", "1", requires=["a>2"])
    assert "cooldown" in refuse(folder, "c", **long).text


def test_a_job_may_be_longer_than_a_datagram(
    folder: Folder, index: FakeIndex
) -> None:
    names = [f"a{number}" for number in range(10)]
    others = [f"{number:064x}" for number in range(200)]
    texts = [pin(one, index.add(one, "1"), *others) for one in names]
    answer = folder.do("add", *texts)
    assert sorted(versions(answer)) == names
    assert refuse(folder, *[pin(one, *others) for one in names]).ename
