"""What was perhaps meant by a name that cannot be added."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from fake_index import FakeIndex
from hearth_downloads.packages import near
from hearth_downloads.packages.near import POPULAR, advise, count_edits
from hearth_kernel.packages.distributions import DISTRIBUTIONS
from hearth_kernel.packages.names import matches, normalise
from worker import Folder, refuse


def ask(
    name: str,
    profile: Sequence[str] = (),
    session: Sequence[str] = (),
    deny: Sequence[str] = (),
) -> str:
    return advise(name, profile, session, lambda one: not matches(one, deny))


@pytest.mark.parametrize(
    ("one", "other", "edits"),
    [
        ("", "", 0),
        ("abc", "abc", 0),
        ("", "ab", 2),
        ("abc", "ac", 1),
        ("abc", "abxc", 1),
        ("abc", "axc", 1),
        ("abc", "acb", 1),
        ("abcd", "badc", 2),
        ("abc", "cab", 2),
        ("kitten", "sitting", 3),
    ],
)
def test_counts_edits(one: str, other: str, edits: int) -> None:
    assert count_edits(one, other) == count_edits(other, one) == edits


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("reqeusts", "requests"),
        ("request", "requests"),
        ("panads", "pandas"),
        ("pandsa", "pandas"),
        ("numpyy", "numpy"),
        ("tenserflow", "tensorflow"),
        ("scikitlearn", "scikit-learn"),
        ("scikit-lern", "scikit-learn"),
        ("pythondateutil", "python-dateutil"),
        ("beautifulsoup", "beautifulsoup4"),
    ],
)
def test_names_what_is_near(name: str, meant: str) -> None:
    assert ask(name) == f"did you mean {meant}?"


@pytest.mark.parametrize(
    "name", ["x", "np", "qqqq", "my-own-package", "tqmd2x"]
)
def test_names_nothing_that_is_far(name: str) -> None:
    assert ask(name) == ""


def test_names_what_the_profile_and_the_session_have() -> None:
    assert ask("houdsini", profile=["houdini"]) == (
        "did you mean houdini, which the profile's Python has?"
    )
    assert ask("houdsini", session=["houdini"]) == (
        "did you mean houdini, which the session has?"
    )


def test_names_the_package_of_a_module(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(near, "find_module", lambda _: None)
    assert ask("sklearn") == (
        "`sklearn` is the module of scikit-learn: ask for scikit-learn"
    )
    assert ask("pil") == "`PIL` is the module of pillow: ask for pillow"
    assert ask("rest-framework") == (
        "`rest_framework` is the module of djangorestframework: ask for "
        "djangorestframework"
    )


def test_names_a_module_that_the_profile_has() -> None:
    for name, module in (("json", "json"), ("pytest", "pytest")):
        assert ask(name) == (
            f"the profile's Python has the module `{module}`: import it"
        )


@pytest.mark.parametrize(
    "name", ["hearth", "hearth-kernel", "hearth-downloads"]
)
def test_names_of_hearth_are_reserved(name: str) -> None:
    module = name.replace("-", "_")
    assert ask(name) == (
        f"{module} is a name of hearth's own modules, which no package may have"
    )


def test_names_a_package_that_the_profile_has_by_its_module() -> None:
    for name, module in (("sklearn", "sklearn"), ("pil", "PIL")):
        package = DISTRIBUTIONS[module]
        assert ask(name, profile=[package]) == (
            f"`{module}` is the module of {package}, which the profile has: "
            "import it"
        )


def test_does_not_name_what_was_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(near, "find_module", lambda _: None)
    assert ask("requests") == ask("houdini", session=["houdini"]) == ""


def test_names_nothing_that_is_not_permitted() -> None:
    assert ask("reqeusts", deny=["requests"]) == ""
    assert ask("fitz", deny=["pymupdf"]) == ""


def test_the_lists_have_names_as_they_are_compared() -> None:
    assert len(set(POPULAR)) == len(POPULAR) > 200
    for name in (*POPULAR, *DISTRIBUTIONS.values()):
        assert normalise(name) == name
    for module, package in DISTRIBUTIONS.items():
        assert module.replace(".", "").isidentifier()
        assert normalise(module) != package


def test_a_refusal_says_what_was_perhaps_meant(
    folder: Folder, index: FakeIndex
) -> None:
    """Never a name of the index's own."""
    index.add("reqeustss", "1")
    index.add("a", "1", requires=["nunpy"])
    beginning = "the index has no package"
    refusal = refuse(folder, "Reqeusts>=2")
    assert refusal.ename == "PackagesConflict"
    assert refusal.text == (f"{beginning} reqeusts; did you mean requests?")
    assert refuse(folder, "fitz").text == (
        f"{beginning} fitz; `fitz` is the module of pymupdf: ask for pymupdf"
    )
    text = refuse(folder, "reqeusts", deny=["requests"]).text
    assert "did you mean" not in text
    # It is not who asks that has mistyped.
    text = refuse(folder, "a").text
    assert text.startswith(f"{beginning} nunpy: Because nunpy")


@pytest.mark.parametrize("cooldown", [0, 7 * 86400])
def test_an_extra_does_not_hide_that_a_name_is_not_there(
    folder: Folder, index: FakeIndex, cooldown: int
) -> None:
    folder.settings["cooldown"] = cooldown
    for form in ("[socks]", "[socks]>=2", "[socks,other]==2", "[socks]~=2.1"):
        refusal = refuse(folder, f"Reqeusts{form}")
        assert refusal.ename == "PackagesConflict"
        assert refusal.text == (
            "the index has no package reqeusts; did you mean requests?"
        )
    index.add("there", "1", extras={"x": ["more"]})
    index.add("source", "1", sdist=True)
    for asked, text in (
        ("there[x]>=2", "no version fits: Because only there[x]==1"),
        ("there[x]==2", "no version fits: Because there is no version of the"),
        ("there[x]", "the index has no package more: Because more was not"),
        ("source[x]", "only the source of source would fit"),
    ):
        assert refuse(folder, asked).text.startswith(text)


def test_a_refusal_of_source_says_what_was_perhaps_meant(
    folder: Folder, index: FakeIndex
) -> None:
    for name in ("docx", "beautifulsoup", "requests", "dep"):
        index.add(name, "1", sdist=True)
    index.add("a", "1", requires=["dep", "docx"])
    begin = "only the source of {} would fit, and hearth builds nothing{}"
    refusal = refuse(folder, "docx")
    assert refusal.ename == "PackagesRefused"
    assert refusal.text == begin.format(
        "docx", "; `docx` is the module of python-docx: ask for python-docx"
    )
    assert refuse(folder, "beautifulsoup>=1").text == begin.format(
        "beautifulsoup", "; did you mean beautifulsoup4?"
    )
    text = refuse(folder, "requests").text
    assert text.startswith(begin.format("requests", ": Because requests"))
    # It is not who asks that has named it.
    text = refuse(folder, "a").text
    assert "hearth builds nothing: Because" in text


def test_a_package_with_the_name_of_a_module_is_taken(
    folder: Folder, index: FakeIndex
) -> None:
    index.add("fitz", "1")
    folder.do("add", "fitz")
    assert folder.current() == ["fitz-1.dist-info", "fitz.py"]
    index.add("houdini", "1")
    folder.do("add", "houdini")
    assert refuse(folder, "houdsini").text == (
        "the index has no package houdsini; did you mean houdini, which the "
        "session has?"
    )
