"""What may be asked for, and what is refused with which sentence."""

from __future__ import annotations

import pytest
from hearth_downloads.core.faults import TEXT_MAX, Invalid, clean
from hearth_downloads.packages.requirement import (
    COUNT_MAX,
    LENGTH_MAX,
    WORD_MAX,
    is_name,
    is_version,
    parse,
    parse_all,
    parse_names,
    with_extras,
)
from hearth_kernel.packages.names import matches, normalise


@pytest.mark.parametrize(
    ("text", "name", "read"),
    [
        ("humanize", "humanize", "humanize"),
        ("  humanize  ", "humanize", "humanize"),
        ("Ruamel.Yaml_x", "ruamel-yaml-x", "Ruamel.Yaml_x"),
        ("a>=1,<2", "a", "a>=1,<2"),
        ("a >= 1.0 , < 2", "a", "a>=1.0,<2"),
        ("a[b, c] ~= 1.4.2", "a", "a[b,c]~=1.4.2"),
        ("a==1.*", "a", "a==1.*"),
        ("a!=2!1.0rc1.post2.dev3+local.1", "a", None),
        ("7zip", "7zip", "7zip"),
    ],
)
def test_takes_names_extras_and_versions(
    text: str, name: str, read: str | None
) -> None:
    found = parse(text)
    assert found.name == name
    assert found.text == (read or text)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "empty"),
        ("   ", "empty"),
        ("a @ https://example.org/a.whl", "URL"),
        ("a@file:///etc/passwd", "URL"),
        ("https://example.org/a.whl", "URL"),
        ("git+https://example.org/a", "URL"),
        ("./a", "path"),
        ("..", "path"),
        ("/etc/passwd", "path"),
        ("a/b", "path"),
        ("a\\b", "path"),
        ("a-1.0-py3-none-any.whl", "file"),
        ("a.tar.gz", "file"),
        ("-r requirements.txt", "option"),
        ("--index-url=http://example.org", "option"),
        ("-e .", "option"),
        ("a; python_version > '3'", "marker"),
        ("a\nb", "line end"),
        ("a\r", "line end"),
        ("a\0", "control"),
        ("a\x1b[31m", "control"),
        ("a\tb", "control"),
        ("a b", "no version"),
        ("a==1 --hash=sha256:00", "no hash"),
        ("a==1 --hash=md5:" + "0" * 64, "no hash"),
        (f"a --hash=sha256:{'0' * 64}", "that of one version"),
        (f"a>=1 --hash=sha256:{'0' * 64}", "that of one version"),
        (f"a==1.* --hash=sha256:{'0' * 64}", "that of one version"),
        (f"a==1,<2 --hash=sha256:{'0' * 64}", "that of one version"),
        (f"--hash=sha256:{'0' * 64}", "option"),
        ("a==1" + f" --hash=sha256:{'0' * 64}" * 251, "251 hashes"),
        ("a>=1 --index-url x", "no version"),
        ("a==", "no version"),
        ("a>=1,", "no version"),
        ("a===1", "no version"),
        ("a>1.*", "no version"),
        ("a (>=1)", "no version"),
        ("a[", "no version"),
        ("a[]", "extra"),
        ("a[b;c]", "marker"),
        ("a[-r]", "extra"),
        ("_a", "no requirement"),
        ("a_", "no version"),
        ("é", "no requirement"),
        ("a>=\u0661", "no version"),
        ("#a", "no requirement"),
        ("a # b", "no version"),
        ("${HOME}", "no requirement"),
        ("a" * (WORD_MAX + 1), "129 letters, and the most is 128"),
        (f"a[{'b' * (WORD_MAX + 1)}]", "extra"),
        ("a" * (LENGTH_MAX + 1), "characters"),
    ],
)
def test_refuses_the_rest_with_its_reason(text: str, why: str) -> None:
    with pytest.raises(Invalid) as refused:
        parse(text)
    assert why in refused.value.text
    assert len(refused.value.text) < TEXT_MAX
    assert refused.value.text.isprintable()


def test_refuses_what_is_no_text() -> None:
    with pytest.raises(Invalid, match="is a text"):
        parse_all([None])  # type: ignore[list-item]


def test_bounds_how_many_there_are() -> None:
    many = [f"a{number}" for number in range(COUNT_MAX)]
    assert len(parse_all(many)) == COUNT_MAX
    with pytest.raises(Invalid, match="101 packages"):
        parse_all([*many, "b"])
    with pytest.raises(Invalid, match="no package"):
        parse_all([])


def test_refuses_a_name_twice() -> None:
    with pytest.raises(Invalid, match="a-b is there twice"):
        parse_all(["A_b>=1", "a.b<2"])


def test_takes_only_names_where_names_are_asked_for() -> None:
    assert parse_names(["A.B", "c"]) == ["a-b", "c"]
    with pytest.raises(Invalid, match="not the name"):
        parse_names(["a>=1"])


@pytest.mark.parametrize(
    ("text", "before", "whole"),
    [
        ("a", "", "a"),
        ("a", "a", "a"),
        ("a>=2", "a<2", "a>=2"),
        ("a", "a[x]", "a[x]"),
        ("a>=2", "A[x,y]<2", "a[x,y]>=2"),
        ("a[y]", "a[x]", "a[x,y]"),
        ("a[X_1,y]", "a[x-1]==1", "a[X_1,y]"),
        ("a[y]", "a", "a[y]"),
    ],
)
def test_keeps_extras(text: str, before: str, whole: str) -> None:
    assert with_extras(text, before) == whole


def test_bounds_the_extras_that_are_kept() -> None:
    with pytest.raises(Invalid, match="the most is 200: remove it first"):
        with_extras(f"a[{'x' * 100}]", f"a[{'y' * 100}]")


@pytest.mark.parametrize(
    ("name", "patterns", "expected"),
    [
        ("a-b", ["a_b"], True),
        ("a-b", ["A.*"], True),
        ("ab", ["a-*"], False),
        ("ab", ["a"], False),
        ("ab", ["a*"], True),
        ("ab", ["*"], True),
        ("ab", [], False),
        ("ab", ["b", "ab"], True),
    ],
)
def test_matches_names_and_beginnings(
    name: str, patterns: list[str], expected: bool
) -> None:
    assert matches(name, patterns) is expected


def test_normalises_as_pep_503_does() -> None:
    assert normalise("A__B..c-_-D") == "a-b-c-d"


@pytest.mark.parametrize("text", ["1", "1.0", "2!1.0a1.post1.dev2+x.1", "v1"])
def test_knows_versions(text: str) -> None:
    assert is_version(text)


def test_bounds_a_name_and_a_version() -> None:
    assert is_name("a" * WORD_MAX)
    assert not is_name("a" * (WORD_MAX + 1))
    assert is_version("1" * WORD_MAX)
    assert not is_version("1" * (WORD_MAX + 1))


@pytest.mark.parametrize(
    "text", ["", "x", "1.0 ", "1.0\n", "1;", "1~dfsg", "1a."]
)
def test_knows_what_is_no_version(text: str) -> None:
    assert not is_version(text)


def test_makes_texts_harmless() -> None:
    assert clean("a\x1b[31mred\x1b[0m\n\n b\x00\u202ec") == "ared b c"
    assert clean("\x1b]0;title\x07x") == "x"
    assert len(clean("x" * 5000)) == TEXT_MAX
