"""What the refusal of a young package says."""

from __future__ import annotations

import pytest
from fake_index import FakeIndex
from hearth_downloads.packages.sentences import say_age
from worker import Folder, refuse


def test_a_young_name_may_be_another_ones(
    folder: Folder, index: FakeIndex
) -> None:
    index.add("reqeusts", "1", age_days=3.5 / 24)
    index.add("needs", "1", requires=["reqeusts"])
    text = refuse(folder, "reqeusts").text
    assert text.startswith('"reqeusts" 1 refused: published 3 hours ago; ')
    # The advice depends on what the tests' Python has.
    assert "; did you mean requests" in text
    # The one who asks cannot change what another package needs.
    assert "did you mean" not in refuse(folder, "needs").text


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (-5, "a moment"),
        (59, "a moment"),
        (60, "1 minute"),
        (3599, "59 minutes"),
        (3 * 3600 + 5, "3 hours"),
        (86400 * 2 - 1, "1 day"),
        (86400 * 6.9, "6 days"),
    ],
)
def test_an_age_has_its_largest_unit(seconds: float, said: str) -> None:
    assert say_age(seconds) == said


def test_what_is_there_is_not_blamed(folder: Folder, index: FakeIndex) -> None:
    index.add("a", "1")
    index.add("a", "2", age_days=10)
    index.add("d", "1", age_days=10)
    folder.do("add", "d")
    index.add("b", "1", requires=["a>=2", "d"])
    text = refuse(folder, "b", cooldown=20 * 86400).text
    assert text.startswith('"a" 2 refused: published ')
    assert '"d"' not in text
    assert "the newest version of a that is old enough is 1" in text
    assert "the cooldown is 20 days" in text
