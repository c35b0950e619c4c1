"""A profile that is offline has what is in the cache, and asks no index."""

from __future__ import annotations

import shutil

import pytest
from fake_index import FakeIndex
from hearth_downloads.packages.rules import read_rules
from worker import Folder, Refusal, refuse

OTHER = "1" * 32
SET = "profile/python3/packages/offline is set"


@pytest.fixture
def filled(folder: Folder, index: FakeIndex) -> Folder:
    """Return a folder whose cache another session has filled."""
    text = f"VERSION = '1'\n# {'long ' * 20_000}\n"
    index.add("a", "1", {"a.py": text}, requires=["b"])
    index.add("b", "1")
    folder.do("add", "a", "b", token=OTHER)
    index.requests.clear()
    folder.settings["offline"] = True
    return folder


def test_takes_what_is_in_the_cache(filled: Folder, index: FakeIndex) -> None:
    index.add("a", "2")
    index.status = 500
    answer = filled.do("add", "a")
    assert [(one["name"], one["version"]) for one in answer["added"]] == [
        ("a", "1"),
        ("b", "1"),
    ]
    assert filled.read("a.py").startswith("VERSION = '1'\n")
    filled.do("add", "b")
    filled.do("remove", "a")
    assert filled.current() == ["b-1.dist-info", "b.py"]
    assert index.requests == []


def test_refuses_what_is_not_there(filled: Folder, index: FakeIndex) -> None:
    index.add("new", "1")
    index.add("a", "2")
    no = refuse(filled, "new")
    assert no.ename == "PackagesRefused"
    assert no.text == (
        '"new" refused: it is not in the cache of packages, and '
        f"{SET}, so the index is not asked"
    )
    no = refuse(filled, "new", "reqeusts")
    assert '"new" and "reqeusts" refused: they are not in' in no.text or (
        '" refused: it is not in the cache' in no.text
    )
    no = refuse(filled, "bs4")
    assert no.text.endswith(
        "`bs4` is the module of beautifulsoup4: ask for beautifulsoup4"
    )
    no = refuse(filled, "a>=2")
    assert no.ename == "PackagesConflict"
    assert no.text.startswith("no version fits: ")
    assert f"{SET}: other versions than those of the cache were" in no.text
    assert index.requests == []


def test_refuses_what_is_only_known(filled: Folder, index: FakeIndex) -> None:
    """The pages of the index are in the cache, and its files are not."""
    cache = filled.path / "work" / "uv" / "cache"
    for bucket in [*cache.glob("wheels-*"), *cache.glob("archive-*")]:
        shutil.rmtree(bucket)
    no = refuse(filled, "a")
    assert no.ename == "PackagesRefused"
    assert "not in the cache of packages, and" in no.text
    assert SET in no.text
    with pytest.raises(Refusal, match="not in the cache of packages, and"):
        filled.do("remove", "a", token=OTHER)
    assert index.requests == []


def test_does_not_empty_the_cache(filled: Folder, index: FakeIndex) -> None:
    """It would have nothing then."""
    small = {"max_bytes": 16384}
    assert filled.do("add", "b", **small)["added"]
    filled.settings["offline"] = False
    index.add("c", "1")
    filled.do("add", "c", **small)
    filled.settings["offline"] = True
    assert "refused: it is not in the cache" in refuse(filled, "a").text


def test_has_what_the_index_gave_for_a_password(
    folder: Folder, index: FakeIndex
) -> None:
    """Only a profile that is not offline asks the index, which wants it."""
    index.add("a", "1")
    index.user = "agents:pa55"
    user = {"host": "127.0.0.1", "user": "agents", "password": "pa55"}
    folder.do("add", "a", token=OTHER, credentials=[user])
    assert "wants a user and a password" in refuse(folder, "a").text
    index.requests.clear()
    folder.do("add", "a", offline=True)
    assert folder.read("a.py") == "VERSION = '1'\n"
    assert index.requests == []


def test_permits_no_connection_at_all() -> None:
    rules = read_rules("http://a.example/", ("b.example",), True)
    assert not rules.permits("http", "a.example", 80)
    assert not rules.permits("https", "b.example", 443)
    rules = read_rules("http://a.example/", ("b.example",), False)
    assert rules.permits("http", "a.example", 80)
