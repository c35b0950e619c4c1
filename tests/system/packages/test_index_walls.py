"""What an index does on the way, with the walls that hold it and without them.

As in test_package_walls.py one wall is enough, and without any of them the
attack gets through. None of these servers really goes on for ever: each would
reach its end, if it were let.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, Iterator

import pytest
from depth import deep
from fake_index import FakeIndex
from fake_network import FakeNetwork
from test_package_walls import HEAD
from worker import Folder, refuse

METADATA = "169.254.169.254"
PAGE = "/simple/a/"
TURNS = 20  # of a redirect that leads around; more than any client follows
MOST = 1 << 20
LATE = 3.0  # seconds, of limits that are shorter

WALLS = {
    "judge the place": "rules.Rules.permits = lambda *_: True",
    "judge the address": "rules.Rules.permits_address = lambda *_: True",
    "count redirects": "status.REDIRECTS_MAX = 1000",
    "count what comes": """
bounds = uv.Bounds
uv.Bounds = lambda most, silence: bounds(1 << 40, silence)
""",
    "look at the folder": "growth.Growth._refuse = nothing",
    "judge the sum": "change.judge = lambda *_: judge.Tally()",
    "bound a page": "status.PAGE_MAX = 1 << 40",
    "end a job in time": """
from hearth_downloads.core.gateway import Gateway
Gateway.limit = nothing
""",
    "let the proxy end silence": """
make = uv.Bounds
uv.Bounds = lambda most, silence: make(most, 600)
""",
    "let uv end silence": """
environment = uv.Uv._environment
uv.Uv._environment = lambda self: {
    **environment(self), "UV_HTTP_TIMEOUT": "600"
}
""",
}
# Is led around by the index for as long as that likes, and then does what uv
# does.
CARELESS = """#!/bin/sh
[ "$2" = compile ] && {python} -c '
import http.client
place = "{url}"
while place:
    proxy = http.client.HTTPConnection("127.0.0.1", 3128)
    proxy.request("GET", place)
    answer = proxy.getresponse()
    answer.read()
    place = answer.headers.get("Location")
'
exec {uv} "$@"
"""


@dataclass
class Scene:
    """A session's folder, its index, and one where no index may lead."""

    folder: Folder
    index: FakeIndex
    other: FakeIndex
    hook: str = ""  # of the attack

    def lead_around(self, turns: range) -> None:
        """Lead from the page to the page, at those requests for it."""
        self.index.add("a", "1")
        url = f"http://127.0.0.1:{self.index.port}{PAGE}?{'x' * 8000}"

        def lead(name: str) -> Any:
            return url if self.index.count(PAGE) in turns else None

        setattr(self.index, "lead", lead)  # noqa: B010

    def pad(self) -> None:
        """Let the page have three times as many bytes as a job may have."""
        self.index.add("a", "1")
        show = self.index.page

        def page(name: str) -> tuple[str, bytes]:
            kind, text = show(name)
            return kind, json.dumps(
                {**json.loads(text), "more": "x" * (3 * MOST)}
            ).encode()

        setattr(self.index, "page", page)  # noqa: B010


def to_the_metadata(scene: Scene) -> None:
    """Lead to a server of the cloud, which answers as an index does."""
    release = scene.other.add("a", "1")
    release.url = f"http://{METADATA}/files/{release.filename}"
    scene.index.redirect = f"http://{METADATA}{PAGE}"
    network = FakeNetwork({}, {METADATA: scene.other.port})
    scene.hook = network.hook()


def around_for_the_worker(scene: Scene) -> None:
    """uv has its page before; it would end such a way by itself."""
    scene.lead_around(range(2, 2 + TURNS))


def around_for_uv(scene: Scene) -> None:
    scene.lead_around(range(1, 1 + TURNS))
    program = scene.folder.path.parent / "uv"
    real = Path(sys.executable).parent / "uv"
    url = f"http://127.0.0.1:{scene.index.port}{PAGE}"
    program.write_text(CARELESS.format(python=sys.executable, url=url, uv=real))
    program.chmod(0o755)
    scene.folder.settings["uv"] = str(program)


def a_file_that_goes_on(scene: Scene) -> None:
    files: dict[str, Any] = {"a.py": "", "a.bin": os.urandom(9 * MOST)}
    scene.index.add("a", "1", files, length="")


def a_page_that_goes_on(scene: Scene) -> None:
    scene.pad()


def a_small_page_that_unpacks_to_a_large_one(scene: Scene) -> None:
    scene.pad()
    scene.index.zips = True
    scene.hook = f"status.PAGE_MAX = {MOST}"


def a_file_that_comes_late(scene: Scene) -> None:
    scene.index.add("a", "1", late=LATE)


@dataclass(frozen=True)
class Attack:
    """An attack, and each wall that holds it with the reason that it gives."""

    make: Callable[[Scene], None]
    walls: dict[str, str]
    settings: dict[str, Any] = field(default_factory=dict)  # of the job
    is_reached: bool = False  # the server where no index may lead

    @property
    def name(self) -> str:
        return self.make.__name__


LARGE = f"more than {MOST} bytes, which profile/python3/packages/max_bytes"
ATTACKS = [
    Attack(
        to_the_metadata,
        {
            "judge the place": f"the index led to {METADATA}:80, where",
            "judge the address": f"{METADATA}:80 was not asked: its address",
        },
        is_reached=True,
    ),
    Attack(
        around_for_the_worker,
        {"count redirects": "it sends from one place to the next"},
    ),
    Attack(
        a_file_that_goes_on,
        {
            "count what comes": LARGE,
            "look at the folder": LARGE,
            "judge the sum": LARGE,
        },
        {"max_bytes": MOST},
    ),
    Attack(
        a_page_that_goes_on, {"count what comes": LARGE}, {"max_bytes": MOST}
    ),
    Attack(
        a_small_page_that_unpacks_to_a_large_one,
        {"bound a page": f"its page has more than {MOST} bytes"},
    ),
    Attack(
        around_for_uv,
        {"count what comes": "more than 65536 bytes, which profile/python3"},
        {"max_bytes": 65536},
    ),
    Attack(
        a_file_that_comes_late,
        {
            "let the proxy end silence": "has stopped answering",
            "let uv end silence": "the index does not answer: ",
        },
        {"silence": 1},
    ),
    Attack(
        a_file_that_comes_late,
        {"end a job in time": "it took more than 2 seconds"},
        {"seconds": 2},
    ),
]
# In the second depth: they wait, or need many runs of uv.
SLOW = (a_file_that_goes_on, around_for_uv, a_file_that_comes_late)


@pytest.fixture
def scene(folder: Folder, index: FakeIndex) -> Iterator[Scene]:
    with FakeIndex() as other:
        yield Scene(folder, index, other)


def prepare(scene: Scene, attack: Attack, left_out: set[str]) -> None:
    attack.make(scene)
    scene.folder.settings.update(attack.settings)
    walls = [WALLS[one] for one in sorted(left_out)]
    scene.folder.hook = "\n".join([HEAD, scene.hook, *walls])


def sort(cases: list[Any], find: Callable[[Any], Attack]) -> list[Any]:
    return [deep(case) if find(case).make in SLOW else case for case in cases]


@pytest.mark.parametrize(
    ("attack", "wall"),
    sort(
        [(one, wall) for one in ATTACKS for wall in one.walls],
        lambda case: case[0],
    ),
    ids=lambda value: getattr(value, "name", value),
)
def test_one_wall_is_enough(scene: Scene, attack: Attack, wall: str) -> None:
    prepare(scene, attack, set(attack.walls) - {wall})
    assert attack.walls[wall] in refuse(scene.folder, "a").text
    assert scene.other.requests == []


@pytest.mark.parametrize(
    "attack",
    sort(ATTACKS, lambda attack: attack),
    ids=lambda attack: attack.name,
)
def test_without_its_walls_it_gets_through(
    scene: Scene, attack: Attack
) -> None:
    prepare(scene, attack, set(attack.walls))
    answer = scene.folder.do("add", "a")
    assert answer["added"] == [{"name": "a", "version": "1"}]
    assert "a.py" in scene.folder.current()
    assert (scene.other.requests != []) == attack.is_reached
