"""The folder of a zygote's caches: the only place where it leaves files."""

import json
import os

from conftest import run_python

FOUND = """
import json, os, sys
from hearth_kernel import warm
place = {place!r}
print(json.dumps([warm.cache_folder(place) for _ in range(2)]))
"""
MADE = """
import json, os, tempfile
tempfile.tempdir = {other!r}
from hearth_kernel import warm
shell = warm.make_shell({place!r})
print(json.dumps([os.listdir({place!r}), os.listdir({other!r})]))
"""


def found(place):
    return json.loads(run_python(FOUND.format(place=str(place))))


def test_is_kept_for_the_next_zygote(tmp_path):
    own = str(tmp_path / f"hearth-cache-{os.geteuid()}")
    assert found(tmp_path) == [own, own]
    assert found(tmp_path) == [own, own]
    assert os.stat(own).st_mode & 0o777 == 0o700


def test_is_not_one_that_others_can_write_to(tmp_path):
    """Nor a new one for each zygote: it would stay each time."""
    taken = tmp_path / f"hearth-cache-{os.geteuid()}"
    taken.mkdir()
    taken.chmod(0o777)
    (tmp_path / f"{taken.name}-1").symlink_to("/")
    assert found(tmp_path) == [f"{taken}-2", f"{taken}-2"]
    assert found(tmp_path) == [f"{taken}-2", f"{taken}-2"]


def test_a_shell_leaves_nothing_beside_it(tmp_path):
    place, other = tmp_path / "place", tmp_path / "other"
    place.mkdir()
    other.mkdir()
    text = run_python(MADE.format(place=str(place), other=str(other)))
    assert json.loads(text.splitlines()[-1]) == [["ipython"], []]
