"""Each hostile case of packages, with its walls and without them.

One wall is enough to refuse an attack. Without any of them it gets through: so
the attack is a real one, and nothing else would have held it. What uv holds by
itself a careless uv does here; `test_worker_lies.py` has the real one.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable

import pytest
from depth import deep
from fake_index import FakeIndex, make_metadata
from test_advisories import ALL, dump, record
from worker import Folder, refuse

# What leaves a wall out, in the worker.
WALLS = {
    "names": "judge._judge_name = nothing",
    "kinds": "judge._judge_kind = nothing",
    "start": "judge._judge_start = nothing",
    "modules": "judge._judge_modules = nothing",
    "sums": "change.judge = lambda *_: judge.Tally()",
    "growth": "growth.Growth._refuse = nothing",
    "digests": "change.Digests.find_changed = lambda *_: []",
    "metadata": "metadata._judge_entry = nothing",
    "owners": "metadata._judge_owner = nothing",
    "needs": "change.judge_needs = nothing",
    "status": "status.ask_index = lambda *_: status.Answer()",
    "cooldown": "resolve.Resolver._cooldown = lambda _: []",
    "file": "change.read_advisories = lambda *_: resolve.NOTHING",
    "asked": "change.check_asked = nothing",
    # A request is judged without hashes, and a result has them.
    "resolved": """
check = resolve.check_version
resolve.check_version = lambda found, pin, chain: (
    None if pin.hashes else check(found, pin, chain)
)
""",
    "syscalls": """
describe = sandbox._sandbox.describe
out = {"without": ["seccomp"], "accept": ["seccomp"]}
sandbox._sandbox.describe = lambda plan: describe({**plan, **out})
""",
    "places": """
describe = sandbox._sandbox.describe
sandbox._sandbox.describe = lambda plan: describe(
    {**plan, "readonly": [*plan["readonly"], PLACE]}
)
""",
    "sandbox": """
def run(self, gateway, program):
    pid = os.fork()
    if pid == 0:
        program.main()
    status = os.waitpid(pid, 0)[1]
    program.leave()
    return sandbox.Result(status, "error: it has done harm")
sandbox.Sandbox.run = run
""",
    "hashes": """
encode, run = resolve.Pin.encode, uv.Uv.run
resolve.Pin.encode = lambda pin: encode(replace(pin, hashes=()))
uv.Uv.run = lambda self, *words: run(
    self, *(one for one in words if one != "--require-hashes")
)
""",
}
HEAD = """
import os
from dataclasses import replace
from hearth_downloads.core import sandbox
from hearth_downloads.packages import (
    change, growth, judge, metadata, resolve, rules, status, uv
)
nothing = lambda *_: None
# Small, so that it takes little to be too much.
growth.SPARE_FILES, growth.SPARE_BYTES = 500, 4 << 20
"""
# Does what uv does, and then harm in the folder with the packages.
CARELESS = """#!/bin/sh
{uv} "$@" || exit
[ "$2" = install ] || exit 0
cd /workspace/stage/new && {harm}
"""
NUMPY = make_metadata("numpy", "99", [], {})


@dataclass(frozen=True)
class Attack:
    """An attack by the package `a`, and each wall that holds it."""

    name: str
    walls: dict[str, str]  # each with the reason that it gives
    is_there: Callable[[Path], bool]  # the harm, in the session's packages
    release: dict[str, Any] = field(default_factory=dict)
    harm: str = ""  # by a uv that does not hold it itself
    change: dict[str, Any] = field(default_factory=dict)  # when uv installs
    settings: dict[str, Any] = field(default_factory=dict)
    status: str = ""  # what the index says of the project
    advisories: list[Any] = field(default_factory=list)  # the operator's

    def run_in(self, folder: Folder, index: FakeIndex) -> None:
        """Make the index, and the uv, for it."""
        index.add("a", "1", **self.release)
        index.add("b", "1")
        folder.settings.update(self.settings)
        if self.status:
            index.statuses["a"] = {"status": self.status}
        if self.advisories:
            path = folder.path.parent / "advisories.zip"
            folder.settings["advisories"] = dump(path, *self.advisories)
        if self.harm:
            folder.settings["uv"] = make_uv(folder, self.harm)
        if self.change:
            change_at_install(index, self.change)


def files(*names: str, content: bytes = b"") -> dict[str, Any]:
    return {"files": dict.fromkeys(names, content)}


def has(*names: str) -> Callable[[Path], bool]:
    return lambda path: all((path / name).is_file() for name in names)


ATTACKS = [
    Attack(
        "a link",
        {
            "kinds": "evil of a package is a symbolic link",
            "digests": "Too many levels of symbolic links: 'evil'",
        },
        lambda path: (path / "evil").is_symlink(),
        harm="ln -s /etc/passwd evil",
    ),
    Attack(
        "a set-uid bit",
        {
            "kinds": "a.py of a package has a set-user-id",
            "syscalls": "Operation not permitted",
        },
        lambda path: (path / "a.py").stat().st_mode & 0o4000 != 0,
        harm="chmod u+s a.py",
    ),
    Attack(
        "names that differ by case",
        {"names": "differ only by case or form: a/"},
        has("a/x.py", "a/X.py"),
        files("a/x.py", "a/X.py"),
    ),
    Attack(
        "names that differ by form",
        {"names": "differ only by case or form: a/"},
        has("a/\u00e9.py", "a/e\u0301.py"),
        files("a/\u00e9.py", "a/e\u0301.py"),
    ),
    Attack(
        "code at the start",
        {"start": "has the file x.pth"},
        has("x.pth"),
        files("x.pth"),
    ),
    Attack(
        "a module of Python's",
        {"modules": "a module json, and the profile's Python has one"},
        has("json.py"),
        files("json.py"),
    ),
    Attack(
        "the metadata of another package",
        {
            "metadata": "pass as numpy 99, which was not resolved",
            "owners": "the wheel of a has numpy-99.dist-info/METADATA, which",
        },
        has("numpy-99.dist-info/METADATA"),
        files("a-1.data/data/numpy-99.dist-info/METADATA", content=NUMPY),
    ),
    Attack(
        "many files",
        {"sums": "more than 200 files"},
        has("a/299"),
        files(*(f"a/{number}" for number in range(300))),
        settings={"max_files": 200},
    ),
    Attack(
        "so many files that the unpacking is ended",
        {"sums": "more than 10 files", "growth": "more than 10 files"},
        has("a/1199"),
        files(*(f"a/{number}" for number in range(1_200))),
        settings={"max_files": 10},
    ),
    Attack(
        "a bomb",
        {
            "sums": f"more than {1 << 20} bytes",
            "growth": f"more than {1 << 20} bytes",
        },
        lambda path: (path / "a1").stat().st_size == 9 << 20,
        files("a1", content=bytes(9 << 20)),
        settings={"max_bytes": 1 << 20},
    ),
    Attack(
        "another file than was judged",
        {"hashes": "its hash differs"},
        has("evil.py"),
        change={"files": {"evil.py": b""}},
    ),
    Attack(
        "a dependency that the index hides",
        {"needs": "the wheel of a needs b, and the index's metadata"},
        lambda path: not (path / "b.py").exists(),
        {"requires": ["b"], "other_metadata": make_metadata("a", "1", [], {})},
    ),
    Attack(
        "a dependency that the index adds",
        {"needs": "the index says that a needs b, and the wheel of a does"},
        has("b.py"),
        {"other_metadata": make_metadata("a", "1", ["b"], {})},
    ),
    Attack(
        "a young version",
        {"cooldown": '"a" 1 refused: published 1 day ago'},
        has("a.py"),
        {"age_days": 1},
    ),
    Attack(
        "a version from the future",
        {"cooldown": '"a" 1 refused: the index dates it 2999-01-01 00:00'},
        has("a.py"),
        {"says": {"upload-time": "2999-01-01T00:00:00Z"}},
    ),
    Attack(
        "a malicious version",
        {"resolved": '"a" 1 refused: MAL-2026-1 says that it is malicious'},
        has("a.py"),
        advisories=[record("a", versions=["1.0"])],
    ),
    Attack(
        "a malicious dependency",
        {"resolved": '"b" 1, which is needed by a, refused: MAL-2026-1 says'},
        has("b.py"),
        {"requires": ["b"]},
        advisories=[record("b", versions=["1.0"])],
    ),
    Attack(
        "a project that is malicious as a whole",
        {
            "asked": '"a" refused: MAL-2026-1 says that all of its versions',
            "resolved": '"a" refused: MAL-2026-1 says that all of its versions',
        },
        has("a.py"),
        advisories=[record("a", ranges=ALL)],
    ),
    Attack(
        "advisories that cannot be read",
        {"file": "advisories.zip cannot be used: its record pypi/MAL-1.json"},
        has("a.py"),
        advisories=[record("a", versions=["1.0"]), "{"],
    ),
    Attack(
        "a project in quarantine",
        {"status": '"a" refused: the index has it in quarantine'},
        has("a.py"),
        status="quarantined",
    ),
]
# In the first depth.
FIRST = (
    "a link",
    "a set-uid bit",
    "names that differ by form",
    "many files",
    "a version from the future",
    "a malicious version",
)


def change_at_install(index: FakeIndex, release: dict[str, Any]) -> None:
    """Let the index have another file when its page is read for that."""
    show = index.page

    def page(name: str) -> tuple[str, bytes]:
        if index.count(f"/simple/{name}/") == 3:
            index.releases.clear()
            index.add(name, "1", **release)
        return show(name)

    setattr(index, "page", page)  # noqa: B010


def make_uv(folder: Folder, harm: str) -> str:
    """Return the path of a careless uv."""
    program = folder.path.parent / "uv"
    real = Path(sys.executable).parent / "uv"
    program.write_text(CARELESS.format(uv=real, harm=harm))
    program.chmod(0o755)
    return str(program)


def leave_out(*walls: str) -> str:
    """Return the hook without these walls."""
    return HEAD + "\n".join(WALLS[one] for one in walls)


def sort(cases: list[Any], name: Callable[[Any], str]) -> list[Any]:
    return [case if name(case) in FIRST else deep(case) for case in cases]


@pytest.mark.parametrize(
    ("attack", "wall"),
    sort(
        [(one, wall) for one in ATTACKS for wall in one.walls],
        lambda case: case[0].name,
    ),
    ids=lambda value: getattr(value, "name", value),
)
def test_one_wall_is_enough(
    folder: Folder, index: FakeIndex, attack: Attack, wall: str
) -> None:
    attack.run_in(folder, index)
    folder.hook = leave_out(*(set(attack.walls) - {wall}))
    assert attack.walls[wall] in refuse(folder, "a").text


@pytest.mark.parametrize(
    "attack",
    sort(ATTACKS, lambda attack: attack.name),
    ids=lambda attack: attack.name,
)
def test_without_its_walls_it_gets_through(
    folder: Folder, index: FakeIndex, attack: Attack
) -> None:
    attack.run_in(folder, index)
    folder.hook = leave_out(*attack.walls)
    folder.do("add", "a")
    assert attack.is_there(folder.session() / "current")


@pytest.mark.parametrize("is_out", [False, True])
def test_a_uv_that_leaves_its_folder(
    folder: Folder, index: FakeIndex, is_out: bool
) -> None:
    """The sandbox is the wall where uv itself does not keep to its paths."""
    index.add("a", "1")
    outside = folder.path.parent / "outside"
    outside.mkdir()
    outside.chmod(0o777)
    program = folder.path.parent / "uv"
    program.write_text(f"#!/bin/sh\ntouch {outside}/evil.py; exit 1\n")
    program.chmod(0o755)
    folder.hook = leave_out("sandbox") if is_out else ""
    refuse(folder, "a", uv=str(program))
    assert [path.name for path in outside.iterdir()] == ["evil.py"] * is_out


@pytest.mark.parametrize("is_out", [False, True])
def test_a_link_to_a_file_of_the_host(
    folder: Folder, index: FakeIndex, is_out: bool
) -> None:
    """uv follows it, and sees no folder of the host's but Python's."""
    lie = index.add("a", "1")
    place = folder.path.parent / "host"
    place.mkdir()
    wheel = place / lie.filename
    wheel.write_bytes(lie.content)
    lie.url = wheel.as_uri()
    if is_out:
        folder.hook = f"PLACE = {str(place)!r}\n{leave_out('places')}"
        folder.do("add", "a")
        assert folder.read("a.py") == "VERSION = '1'\n"
    else:
        refusal = refuse(folder, "a")
        assert refusal.ename == "PackagesRefused"
        assert f"the index led to the file {wheel} of this" in refusal.text
    assert index.downloads() == 0


@pytest.mark.parametrize("is_out", [False, True])
def test_a_version_that_was_yanked(
    folder: Folder, index: FakeIndex, is_out: bool
) -> None:
    """uv takes none but by ==. Without that rule it takes one by its name."""
    index.add("a", "1", yanked=True)
    if is_out:
        program = folder.path.parent / "uv"
        real = Path(sys.executable).parent / "uv"
        program.write_text(
            '#!/bin/sh\n[ "$2" = compile ] &&\n'
            "    sed -i 's/^a$/a==1/' /workspace/stage/requested.in\n"
            f'exec {real} "$@"\n'
        )
        program.chmod(0o755)
        folder.do("add", "a", uv=str(program))
        assert folder.read("a.py") == "VERSION = '1'\n"
    else:
        assert '"a" 1 refused: it was yanked' in refuse(folder, "a").text


@pytest.mark.parametrize("is_out", [False, True])
@pytest.mark.parametrize("address", ["127.0.0.1", "::ffff:127.0.0.1"])
def test_an_index_with_an_address_of_this_machine(
    folder: Folder, index: FakeIndex, address: str, is_out: bool
) -> None:
    """The owner of its name lets it lead there."""
    index.add("a", "1")
    folder.settings["index"] = index.url.replace("127.0.0.1", "index.example")
    folder.hook = (
        "import socket\n"
        "def find(host, *rest, real=socket.getaddrinfo, **more):\n"
        f"    return real({address!r}, *rest, **more)\n"
        "socket.getaddrinfo = find\n"
    )
    if is_out:
        folder.hook += (
            "from hearth_downloads.packages import rules\n"
            "rules.Rules.permits_address = lambda *_: True\n"
        )
        folder.do("add", "a")
        assert folder.read("a.py") == "VERSION = '1'\n"
    else:
        refusal = refuse(folder, "a")
        assert index.requests == []
        assert "127.0.0.1" in refusal.text
