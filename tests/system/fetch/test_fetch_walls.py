"""Attacks and the walls that hold them: with these left out, each gets through.

A row of the table is an attack and its walls. Where there are several, each of
them holds it alone, and it gets through when all are left out. A wall is left
out in the worker's process, by another function in the place of its own.
"""

from __future__ import annotations

import json
import socket
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Callable, Iterator

import pytest
from depth import deep
from downloading import open_received
from fake_files import Asked, FakeFiles, redirect, say
from fake_network import FakeNetwork
from fetching import Folder, Refusal, digest, open_place

METADATA, PRIVATE, NAME = "169.254.169.254", "10.0.0.5", "data.example"
OK = b"HTTP/1.1 200 OK\r\n"
GOOD, EVIL = b"good" * 250, b"evil" * 250
MOST = 1 << 20
LATE = 3  # seconds, of limits of one

# What each does no more, and the Python that leaves it out.
WALLS = {
    "judge the place": """
from hearth_downloads.fetch.places import Places
Places.permits = lambda *_: True
""",
    "judge the address": """
from hearth_downloads.fetch.places import Places
Places.permits_address = lambda *_: True
""",
    "read no URL but of http and https": """
from hearth_downloads.fetch import url
url.PORTS = {**url.PORTS, "file": 0}
""",
    "let the proxy take no other URL": """
from hearth_downloads.core import proxy
read = proxy.parse_request
def read_any(head, *rest):
    return read(head.replace(b" file:", b" http:"), *rest)
proxy.parse_request = read_any
""",
    "count redirects": """
from hearth_downloads.fetch import client
client.REDIRECTS_MAX = 1000
""",
    "let the client count the file's bytes": """
from hearth_downloads.fetch import client
make = client.Request
client.Request = lambda url, most, *rest: make(url, 1 << 40, *rest)
""",
    "look at the folder": """
from hearth_downloads.fetch.space import Space
Space.is_over = lambda self: False
""",
    "measure the file": """
from dataclasses import replace
from hearth_downloads.fetch.transfer import Transfer
take = Transfer._take
def take_any(self, *rest):
    self.job = replace(self.job, max_bytes=1 << 40)
    take(self, *rest)
Transfer._take = take_any
""",
    "end a job in time": """
from hearth_downloads.core.gateway import Gateway
Gateway.limit = lambda self, seconds: None
""",
    "look at the pace": """
from hearth_downloads.fetch.pace import Pace
Pace.look = lambda self, received: None
""",
    "compare the hash": """
from hearth_downloads.fetch import transfer
transfer.parse_hash = lambda text: ""
""",
    "let the client end at the length": """
from hearth_downloads.fetch import client
client.Client._read_length = lambda *_: None
""",
    "let http.client end at the length": """
from hearth_downloads.core import connection
begin = connection._Response.begin
def begin_without(self):
    begin(self)
    self.length = None
connection._Response.begin = begin_without
""",
    "keep a part's name outside of the sandbox": """
from hearth_downloads.fetch import cache
open_really = cache.open_left
def open_left(jobs, name):
    _, space = open_really(jobs, name)
    return cache.read_plain("url", space, 64).decode(), space
cache.open_left = open_left
""",
    "take no object that can be written to": """
from hearth_downloads.fetch import cache
def find(self, name):
    entry = self._read(name.key)
    if entry is None:
        return None, -1
    return entry, cache.open_plain(entry.sha256, self.folders["objects"])
cache.Cache.find = find
""",
    "ask again for a job with other lists": """
from hearth_downloads.fetch.transfer import Transfer
Transfer._needs_no_server = lambda self, entry: entry.sha256 == self.wanted
""",
}


@dataclass
class Scene:
    """A worker's folder, its server, and one that it may not reach."""

    folder: Folder
    server: FakeFiles
    victim: FakeFiles
    left_out: str  # the hook without some walls
    refusal: str = ""  # the last one

    def fetch(self, path: str = "/a", hook: str = "", **job: Any) -> bytes:
        """Return the file, whatever hash is said to be its; b"" if refused."""
        self.folder.hook = hook + self.left_out
        url = path if "://" in path else self.server.url(path)
        try:
            _, (number,) = self.folder.start(url, **job).reply()
        except Refusal as refusal:
            self.refusal = refusal.text
            return b""
        with open_received(number) as file:
            return file.read()

    def network(self) -> str:
        """Return a hook by which the victim has the forbidden addresses."""
        hosts = {METADATA: self.victim.port, PRIVATE: self.victim.port}
        return FakeNetwork({NAME: [[PRIVATE]]}, hosts).hook()


Attack = Callable[[Scene], bool]  # returns whether it got through


def redirect_to(target: str) -> Attack:
    """Return an attack that is seen by what the victim was asked."""

    def attack(scene: Scene) -> bool:
        scene.victim.put("/key", EVIL)
        scene.server.scripts["/a"] = redirect(target)
        allow = [scene.server.place, "*:80"]
        got = scene.fetch(hook=scene.network(), allow=allow)
        assert (got == EVIL) == (scene.victim.count("/key") > 0)
        return scene.victim.accepted > 0

    return attack


def redirect_to_a_file(scene: Scene) -> None:
    """Lead to a file of this machine, by a URL that may have a port."""
    target = f"file://localhost:{scene.victim.port}/etc/passwd"
    scene.server.scripts["/a"] = redirect(target)
    scene.victim.put("/etc/passwd", EVIL)
    assert scene.fetch() == b""


def redirect_to_itself(scene: Scene) -> bool:
    """Lead around, with an end that a client cannot know of."""
    around = redirect("/a")

    def serve(client: socket.socket, asked: Asked) -> None:
        is_over = scene.server.count("/a") > 20
        end = say(OK + b"Content-Length: 4\r\n\r\nevil")
        (end if is_over else around)(client, asked)

    scene.server.scripts["/a"] = serve
    return scene.fetch() == b"evil"


def never_end(scene: Scene) -> bool:
    """Send more than a job may have, and no length that says so before."""
    scene.server.put("/a", bytes(3 * MOST), has_length=False)
    return len(scene.fetch(max_bytes=MOST)) > MOST


def trickle(**limits: Any) -> Attack:
    """Return an attack that sends half of a file, and the rest late.

    The server does not wait for less than its time, however fast all else is.
    """

    def attack(scene: Scene) -> bool:
        def serve(client: socket.socket, asked: Asked) -> None:
            client.sendall(OK + b"Content-Length: 4\r\n\r\nev")
            scene.server.ended.wait(LATE)
            client.sendall(b"il")

        scene.server.scripts["/a"] = serve
        return scene.fetch(tries=1, **limits) == b"evil"

    return attack


def send_another_file(scene: Scene) -> bool:
    scene.server.put("/a", EVIL)
    return scene.fetch(sha256=digest(GOOD)) == EVIL


def send_more_than_the_length(scene: Scene) -> bool:
    scene.server.scripts["/a"] = say(OK + b"Content-Length: 4\r\n\r\ngoodevil")
    return scene.fetch() == b"goodevil"


def poison_a_part(scene: Scene) -> bool:
    """Leave the part of another URL, by a client that was taken over.

    The next session would ask for the rest of the file, and join the two.
    """
    file = scene.server.put("/good", GOOD, etag='"1"')
    victim = scene.server.url("/good")
    about = {"source": victim, "etag": file.etag, "total": len(GOOD)}
    key = digest(victim.encode())
    files = {
        "url": key,
        "body": EVIL[:500].decode(),
        "about": json.dumps(about),
        "report": json.dumps({"fault": {"kind": "broken"}}),
    }
    taken_over = f"""
import os
from hearth_downloads.fetch import client
def run(request):
    for name, content in {files!r}.items():
        with open(f"/workspace/{{name}}", "w") as file:
            file.write(content)
    os._exit(0)
client.run = run
"""
    assert scene.fetch("/evil", taken_over) == b""
    got = scene.fetch("/good")
    assert got in (GOOD, EVIL[:500] + GOOD[500:])
    return got != GOOD


def poison_an_object(scene: Scene) -> bool:
    """Change a file of another session, in the time that it can be written."""
    scene.server.put("/a", GOOD)
    assert scene.fetch() == GOOD
    path = scene.folder.work / "objects" / digest(GOOD)
    path.chmod(0o600)
    path.write_bytes(EVIL)
    return scene.fetch(sha256=digest(GOOD)) == EVIL


def take_what_another_may_have(scene: Scene) -> bool:
    """Ask for the file of a session that may reach a private network."""
    scene.victim.put("/key", GOOD)
    job: dict[str, Any] = {"hook": scene.network(), "allow": [f"{NAME}:80"]}
    url, network = f"http://{NAME}/key", f"{PRIVATE}/32"
    assert scene.fetch(url, **job, private=[network]) == GOOD
    return scene.fetch(url, **job, sha256=digest(GOOD)) == GOOD


# Each attack, and its walls. A body without an end is also ended by the proxy,
# and by the system's limit of a file, much later.
TABLE: dict[str, tuple[Attack, list[str]]] = {
    "to the metadata": (
        redirect_to(f"http://{METADATA}/key"),
        ["judge the place"],
    ),
    "to a private address": (
        redirect_to(f"http://{PRIVATE}/key"),
        ["judge the place"],
    ),
    "to a private name": (
        redirect_to(f"http://{NAME}/key"),
        ["judge the address"],
    ),
    "to itself": (redirect_to_itself, ["count redirects"]),
    "no end": (
        never_end,
        [
            "let the client count the file's bytes",
            "look at the folder",
            "measure the file",
        ],
    ),
    "too late": (trickle(seconds=1), ["end a job in time"]),
    "too slow": (trickle(silence=1), ["look at the pace"]),
    "another file": (send_another_file, ["compare the hash"]),
    "longer than its length": (
        send_more_than_the_length,
        [
            "let the client end at the length",
            "let http.client end at the length",
        ],
    ),
    "another URL's part": (
        poison_a_part,
        ["keep a part's name outside of the sandbox"],
    ),
    "another session's object": (
        poison_an_object,
        ["take no object that can be written to"],
    ),
    "another session's right": (
        take_what_another_may_have,
        ["ask again for a job with other lists"],
    ),
}
SLOW = ("no end", "too late", "too slow", "to a private address")


@contextmanager
def set_scene(walls: list[str]) -> Iterator[Scene]:
    """Make a scene without these walls."""
    hook = "".join(WALLS[wall] for wall in walls)
    with open_place() as place, FakeFiles() as server, FakeFiles() as victim:
        folder = Folder(place / "fetch")
        folder.settings["allow"] = [server.place]
        yield Scene(folder, server, victim, hook)


@pytest.mark.parametrize(
    "name", [deep(name) if name in SLOW else name for name in TABLE]
)
def test_each_wall_holds_the_attack_alone(name: str) -> None:
    """Without any of them it gets through."""
    attack, walls = TABLE[name]
    for wall in walls:
        with set_scene([one for one in walls if one != wall]) as scene:
            assert not attack(scene), wall
    with set_scene(walls) as scene:
        assert attack(scene), "it does not get through in any case"


@pytest.mark.deep
def test_no_file_is_read_by_its_url_in_any_case() -> None:
    """There is a wall after each wall, and no function that opens a file.

    At last a server of that name is asked over http, and the worker takes no
    file that is said to be of a URL with file.
    """
    walls = {
        "read no URL but of http and https": "which is no URL with https",
        "let the proxy take no other URL": "400 Bad Request",
        "judge the place": "localhost:{port}, which is not permitted here",
        "judge the address": "localhost was not asked: its address",
    }
    left_out: list[str] = []
    for wall, reason in walls.items():
        with set_scene(left_out) as scene:
            redirect_to_a_file(scene)
            assert reason.format(port=scene.victim.port) in scene.refusal
            assert scene.victim.accepted == 0
        left_out.append(wall)
    with set_scene(left_out) as scene:
        redirect_to_a_file(scene)
        assert "ended without a report" in scene.refusal
        assert scene.victim.count("/etc/passwd") == 1
