"""Attacks of a Git LFS server, with the walls that hold them and without them.

One wall is enough, as in test_clone_walls.py: the contents are refused with its
sentence, or come without harm. Without any of its walls the attack gets
through. No server really goes on for ever: each would reach its end.
"""

from __future__ import annotations

import hashlib
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, Callable, Iterator

import pytest
from cloning import Cloned, Folder
from depth import deep
from downloading import Refusal
from git_server import GitServer, redirect
from lfs_server import LfsServer, pointer_of
from test_clone_walls import WALLS as CLONE_WALLS

ATTRIBUTES = "*.bin filter=lfs diff=lfs merge=lfs -text\n"
GOOD, EVIL = b"good", b"evil"
MOST = 1 << 20
LATE = 3.0  # seconds, of limits of one

# What each does no more, and the Python that leaves it out.
WALLS = {
    "judge the place": CLONE_WALLS["Places.permits"],
    "judge the address": CLONE_WALLS["Places.permits_address"],
    "count the tree's bytes": CLONE_WALLS["TreeFile.count"],
    "compare the hash": """
check = batch_run.BatchRun._check
def check_size(*about):
    fault = check(*about)
    return None if fault and "its SHA-256" in fault.text else fault
batch_run.BatchRun._check = check_size
""",
    "measure the file": """
real_check = batch_run.BatchRun._check
batch_run.BatchRun._check = lambda self, pointer, file: real_check(
    self, replace(pointer, size=os.fstat(file).st_size), file
)
""",
    "let the cache measure it": """
read_entry = cache.Cache._read
def read_as_it_is(self, key):
    entry = read_entry(self, key)
    path = f"{self.job.work}/objects/{entry.sha256 if entry else None}"
    return entry and replace(entry, size=os.stat(path).st_size)
cache.Cache._read = read_as_it_is
""",
    "let the client count the file's bytes": """
describe = objects_client._describe_object
objects_client._describe_object = lambda *about: replace(
    describe(*about), max_bytes=1 << 40
)
""",
    "look at the folder": "batch_run._OneBatch._look = nothing",
    "count what comes": """
bounds = batch_run.Bounds
batch_run.Bounds = lambda most, *rest, **more: bounds(1 << 40, *rest, **more)
""",
    "look at the pace": "batch_run.Pace.look = nothing",
    "bound an answer": "objects_client.ANSWER_MAX = 1 << 30",
    "add the contents up": """
contents.Contents._judge = lambda self, size: list(
    {one.oid: one for one in self.pointers.values()}.values()
)
""",
    "read no other URL": """
parse = objects_client.parse_url
objects_client.parse_url = lambda text: parse(
    text.replace("file://", "http://")
)
""",
    "send no line of a value": """
batch._VALUE = re.compile(r"(?s).*")
""",
    "let the proxy read lines": """
http_head._FIELD = re.compile(r"\\s*([^:]+):\\s*(.*)")
""",
    "send no field of the connection": "batch._FORBIDDEN = frozenset()",
    "let the proxy name the host": """
encode = proxy.Request.encode
def encode_theirs(self):
    found = dict(self.fields)
    return encode(replace(self, host=found.get("Host", self.host)))
proxy.Request.encode = encode_theirs
""",
    "count the bytes of headers": """
batch.HEADERS_BYTES_MAX = 1 << 30
""",
    "let the proxy count them": "http_head.HEAD_MAX = 1 << 30",
    "give no headers to another": """
client.Client._find_headers = lambda self, url: self.request.headers
""",
    "name a content after its repository": """
name = lambda about, pointer: batch_run.ObjectName(f"lfs {pointer.oid}")
batch_run.name_object = contents.name_object = name
""",
}
HEAD = """
import os, re
from dataclasses import replace
from hearth_downloads.clone import batch, batch_run, contents, objects_client
from hearth_downloads.core import http_head, proxy
from hearth_downloads.fetch import cache, client
nothing = lambda *_: None
# Small, so that it takes little to be too much.
batch_run.SPARE_BYTES = 256 << 10
"""


class Scene:
    """A session's folder, its server, and one where nothing may lead."""

    def __init__(self, folder: Folder, server: GitServer, ends: ExitStack):
        self.folder = folder
        self.server = server
        self.lfs = LfsServer(server)
        self.other = ends.enter_context(GitServer(server.path))
        self.theirs = LfsServer(self.other)
        self.made = server.make()
        self.hook = ""  # of the attack
        self.before: list[str] = []  # URLs that another session clones

    def point(self, *pointers: str) -> str:
        """Commit files of these pointers; return the path of the first."""
        files = {f"{n}.bin": pointer for n, pointer in enumerate(pointers)}
        self.made.commit({".gitattributes": ATTRIBUTES, **files})
        self.lfs.serve(self.made)
        oid = pointers[0].partition("sha256:")[2].partition("\n")[0]
        return f"/objects/{oid}"

    def say(self, **members: Any) -> None:
        """Let the answer say this of the first object."""

        def change(answer: Any) -> Any:
            answer["objects"][0].update(members)
            return answer

        self.lfs.change = change

    def point_to(self, href: str) -> None:
        self.say(actions={"download": {"href": href}})

    def has(self, made: Cloned, content: bytes) -> bool:
        return made.tree[b"0.bin"].content == content


Seen = Callable[[Cloned], bool]  # whether it got through
Make = Callable[[Scene], Seen]


def another_content(scene: Scene) -> Seen:
    name = hashlib.sha256(GOOD).hexdigest()
    scene.lfs.put(EVIL, name=name)
    scene.point(pointer_of(GOOD))
    return lambda made: scene.has(made, EVIL)


def a_smaller_content(scene: Scene) -> Seen:
    """The pointer says that it is larger; its hash is the content's."""
    scene.lfs.put(GOOD)
    scene.point(pointer_of(GOOD, size=100))
    return lambda made: scene.has(made, GOOD)


def a_content_that_goes_on(scene: Scene) -> Seen:
    """It is longer than the pointer says, and says no length before."""
    content = bytes(3 * MOST)
    path = scene.point(pointer_of(content, size=3))

    def script(handler: Any) -> None:
        handler.send_response(200)
        handler.end_headers()
        handler.wfile.write(content)

    scene.lfs.put(content)
    scene.server.scripts[path] = script
    return lambda made: scene.has(made, content)


def an_answer_that_goes_on(scene: Scene) -> Seen:
    scene.point(scene.lfs.put(GOOD))
    scene.say(more="x" * (3 * MOST))
    scene.hook = "batch_run.SPARE_BYTES = 64 << 20"
    return lambda made: scene.has(made, GOOD)


def a_content_that_comes_late(scene: Scene) -> Seen:
    path = scene.point(scene.lfs.put(GOOD))

    def script(handler: Any) -> None:
        scene.server.ended.wait(LATE)
        handler.send_response(200)
        handler.end_headers()
        handler.wfile.write(GOOD)

    scene.server.scripts[path] = script
    return lambda made: scene.has(made, GOOD)


def many_files_of_one_content(scene: Scene) -> Seen:
    content = bytes(MOST // 2)
    scene.point(*[scene.lfs.put(content)] * 3)
    return lambda made: made.lfs == 0 and made.bytes > MOST


def lead_elsewhere(scene: Scene) -> str:
    """Return the URL of the content at a server that is not permitted."""
    path = scene.point(scene.lfs.put(GOOD))
    scene.theirs.put(GOOD)
    return scene.other.url(path)


def came_from_there(scene: Scene) -> Seen:
    return lambda made: scene.has(made, GOOD) and scene.theirs.heads != []


def an_object_elsewhere(scene: Scene) -> Seen:
    scene.point_to(lead_elsewhere(scene))
    return came_from_there(scene)


def a_redirect_of_an_object(scene: Scene) -> Seen:
    url = lead_elsewhere(scene)
    scene.server.scripts[url[url.index("/objects/") :]] = redirect(url)
    return came_from_there(scene)


def a_redirect_of_the_batch(scene: Scene) -> Seen:
    scene.point(scene.lfs.put(GOOD))
    path = f"/{scene.made.path.name}/info/lfs/objects/batch"
    scene.server.scripts[path] = redirect(scene.other.url(path))
    scene.other.scripts[path] = scene.lfs.answer
    return lambda made: scene.has(made, GOOD) and scene.lfs.batches != []


def a_name_of_this_machine(scene: Scene) -> Seen:
    port = scene.other.place.partition(":")[2]
    scene.point_to(lead_elsewhere(scene).replace("127.0.0.1", "lfs.example"))
    scene.folder.settings["allow"].append(f"lfs.example:{port}")
    scene.hook = """
import socket
find = socket.getaddrinfo
socket.getaddrinfo = lambda host, *rest, **more: find(
    b"127.0.0.1" if host == b"lfs.example" else host, *rest, **more
)
"""
    return came_from_there(scene)


def a_file_of_this_machine(scene: Scene) -> Seen:
    """There is no function that would open it: a server is asked."""
    scene.point_to(lead_elsewhere(scene).replace("http:", "file:"))
    return came_from_there(scene)


def asked_with(scene: Scene, header: dict[str, str], wanted: str) -> Seen:
    scene.point(scene.lfs.put(GOOD))
    scene.lfs.header = header
    return lambda made: scene.lfs.heads[-1][wanted.lower()].startswith("evil")


def a_field_in_a_value(scene: Scene) -> Seen:
    """Python's client takes a line that begins with a space for one field."""
    return asked_with(scene, {"X-A": "a\r\n X-More: evil"}, "X-More")


def the_name_of_another_host(scene: Scene) -> Seen:
    return asked_with(scene, {"Host": "evil"}, "Host")


def more_headers_than_a_server_reads(scene: Scene) -> Seen:
    header = {f"X-{n}": 8192 * "a" for n in range(12)}
    return asked_with(scene, {**header, "X-More": "evil"}, "X-More")


def a_password_for_another(scene: Scene) -> Seen:
    """The server that is led to may be asked, but not with that."""
    url = lead_elsewhere(scene)
    scene.folder.settings["allow"].append(scene.other.place)
    scene.lfs.header = {"Authorization": "Basic eA=="}
    scene.server.scripts[url[url.index("/objects/") :]] = redirect(url)
    return lambda made: "authorization" in scene.theirs.heads[-1]


def a_hash_that_was_guessed(scene: Scene) -> Seen:
    """Another session has the content, of a repository of its own."""
    private = scene.server.make()
    pointer = scene.theirs.put(GOOD)
    private.commit({".gitattributes": ATTRIBUTES, "0.bin": pointer})
    path = scene.theirs.serve(private)
    scene.server.scripts[path] = scene.theirs.answer
    scene.folder.settings["allow"].append(scene.other.place)
    scene.before = [private.url]
    scene.point(pointer)
    return lambda made: scene.has(made, GOOD)


@dataclass(frozen=True)
class Attack:
    """An attack, and each wall that holds it with its reason.

    Without a reason the contents come, and the attack has no effect.
    """

    make: Make
    walls: dict[str, str]
    settings: dict[str, Any] = field(default_factory=dict)  # of the job

    @property
    def name(self) -> str:
        return self.make.__name__


TOO_LARGE = "the repository with its history has more than"
REMOVED = "a Git LFS content was removed from the cache"
ELSEWHERE = {"judge the place": ", which is not permitted here"}
ATTACKS = [
    Attack(another_content, {"compare the hash": "names: its SHA-256 is"}),
    Attack(
        a_smaller_content,
        {
            "measure the file": "it has 4 bytes, and is to have 100",
            "let the cache measure it": REMOVED,
        },
    ),
    Attack(
        a_content_that_goes_on,
        {
            "let the client count the file's bytes": "it is larger",
            "look at the folder": "has sent more than the pointers of Git LFS",
            "count what comes": "more than 2 times as much has come for this",
            "measure the file": f"it has {3 * MOST} bytes, and is to have 3",
            "let the cache measure it": REMOVED,
            "count the tree's bytes": TOO_LARGE,
        },
        {"max_bytes": MOST},
    ),
    Attack(
        an_answer_that_goes_on,
        {"bound an answer": "it has more than 2097152 bytes"},
    ),
    Attack(
        a_content_that_comes_late,
        {"look at the pace": "sent nothing for 1 seconds"},
        {"silence": 1},
    ),
    Attack(
        many_files_of_one_content,
        {
            "add the contents up": "the repository with its Git LFS contents",
            "count the tree's bytes": TOO_LARGE,
        },
        {"max_bytes": MOST},
    ),
    Attack(an_object_elsewhere, ELSEWHERE),
    Attack(a_redirect_of_an_object, ELSEWHERE),
    Attack(a_redirect_of_the_batch, ELSEWHERE),
    Attack(
        a_name_of_this_machine,
        {"judge the address": "lfs.example was not asked: its address"},
    ),
    Attack(
        a_file_of_this_machine,
        {
            "read no other URL": "which is no URL with http or https",
            **ELSEWHERE,
        },
    ),
    Attack(
        a_field_in_a_value,
        {
            "send no line of a value": "a value of the header 'X-A', which is",
            "let the proxy read lines": "answered 400 Bad Request",
        },
    ),
    Attack(
        the_name_of_another_host,
        {
            "send no field of the connection": "the header 'Host', which",
            "let the proxy name the host": "",
        },
    ),
    Attack(
        more_headers_than_a_server_reads,
        {
            "count the bytes of headers": "headers of more than 32768 bytes",
            "let the proxy count them": "answered 400 Bad Request",
        },
    ),
    Attack(a_password_for_another, {"give no headers to another": ""}),
    Attack(
        a_hash_that_was_guessed,
        {"name a content after its repository": "has not 1 of the Git LFS"},
    ),
]
# In the second depth.
SLOW = (a_content_that_comes_late, a_redirect_of_the_batch)


@pytest.fixture
def scene(folder: Folder, server: GitServer) -> Iterator[Scene]:
    with ExitStack() as ends:
        yield Scene(folder, server, ends)


def run(scene: Scene, attack: Attack, left_out: set[str]) -> tuple[str, bool]:
    """Return why nothing came, and whether the attack got through."""
    is_seen = attack.make(scene)
    walls = [WALLS[one] for one in sorted(left_out)]
    scene.folder.hook = "\n".join([HEAD, scene.hook, *walls])
    for url in scene.before:
        scene.folder.clone(url, lfs=True)
    try:
        made = scene.folder.clone(scene.made.url, lfs=True, **attack.settings)
    except Refusal as refusal:
        return refusal.text, False
    return "", is_seen(made)


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
    why, is_through = run(scene, attack, set(attack.walls) - {wall})
    reason = attack.walls[wall]
    assert reason in why if reason else why == ""
    assert not is_through


@pytest.mark.parametrize(
    "attack",
    sort(ATTACKS, lambda attack: attack),
    ids=lambda attack: attack.name,
)
def test_without_its_walls_it_gets_through(
    scene: Scene, attack: Attack
) -> None:
    why, is_through = run(scene, attack, set(attack.walls))
    assert is_through, why
