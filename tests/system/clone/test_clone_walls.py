"""Attacks, and the walls that hold them: each wall alone does, and an attack
without its walls gets through.

It has got through if the copy has the file `seen`: a program of the attacker
has made it, or it has come from where the session may not read. Or what was to
be refused has come with it.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
from contextlib import ExitStack
from typing import Any, Callable

import pytest
from cloning import Cloned, Folder
from depth import spread
from downloading import Refusal
from git_server import GitServer, redirect
from test_clone_taken_over import take_over

SEEN = b"seen"
MAKE = "touch /workspace/tree/seen"

# What takes the place of each wall, in the worker.
WALLS = {
    # Only packs, refs and the like are kept of a mirror.
    "mirrors.trim": """
from hearth_downloads.clone import mirrors, part
def trim(space):
    pack = os.path.join(space.path, "mirror/objects/pack")
    names = os.listdir(pack) if os.path.isdir(pack) else []
    return {name[5:-5] for name in names if name.endswith(".pack")}
mirrors.trim = part.trim = trim
""",
    # The worker writes the configuration anew, before git runs.
    "Space.write": """
from hearth_downloads.clone import space
def write(self, name, *rest, real=space.Space.write):
    if name not in ("config", "HEAD", "asked"):
        real(self, name, *rest)
space.Space.write = write
def make_folder(self, name, parent, real=space.Space.make_folder):
    if name == "refs":
        return os.open("/", os.O_RDONLY)
    return real(self, name, parent)
space.Space.make_folder = make_folder
""",
    # The program writes it, too.
    "program.set_digits": """
from hearth_downloads.clone import program
program._Copy._set_digits = lambda *_: None
""",
    # Other transports than http are off by the environment.
    "git.environment": """
from hearth_downloads.clone import git, run
def environment(real=git.environment):
    return {**real(), "GIT_ALLOW_PROTOCOL": "ext:file:http:https:ssh"}
run.environment = environment
""",
    # A submodule is where http or https lead.
    "resolve_url": """
from hearth_downloads.clone import copy
from hearth_downloads.fetch.url import Url
class Raw(Url):
    text = property(lambda self: self.target)
def resolve_url(base, text):
    return Raw(base.scheme, base.host, base.port, text)
copy.resolve_url = resolve_url
""",
    # No link is followed.
    "Walk": """
from hearth_downloads.clone import walk
def add_one(self, name, folder, path, depth):
    number = os.open(name, os.O_RDONLY, dir_fd=folder)
    self.sink.add_file(path, number, False)
    os.close(number)
walk.Walk._add_one = add_one
""",
    # A request goes to hosts of the lists alone.
    "Places.permits": """
from hearth_downloads.fetch import places
places.Places.permits = lambda *_: True
""",
    # No name leads to an address of this machine.
    "Places.permits_address": """
from hearth_downloads.fetch import places
places.Places.permits_address = lambda *_: True
""",
    # The lists are a part of a mirror's name.
    "Job.key": """
import hashlib
from hearth_downloads.clone import job
job.Job.key = lambda self, url: hashlib.sha256(url.encode()).hexdigest()
""",
    # The limits of files and bytes.
    "TreeFile.begin": """
from hearth_downloads.clone import tree
def begin(self, kind, path, size):
    self.entries += 1
    self._put(tree._HEAD.pack(kind, len(path), size) + path)
tree.TreeFile._begin = begin
""",
    "TreeFile.count": """
from hearth_downloads.clone import tree
def count(self, size):
    self.bytes += size
tree.TreeFile._count = count
""",
    # No more comes than two copies would take.
    "run.Bounds": """
from hearth_downloads.clone import run
bounds = run.Bounds
run.Bounds = lambda most, *rest, **more: bounds(1 << 40, *rest, **more)
""",
    # A program in the sandbox gives no file such a bit.
    "syscalls": """
from hearth_downloads.core import sandbox
describe = sandbox._sandbox.describe
out = {"without": ["seccomp"], "accept": ["seccomp"]}
sandbox._sandbox.describe = lambda plan: describe({**plan, **out})
""",
    # And none is passed on: there is no word for it, so here a name says it.
    "Walk.add_file": """
from hearth_downloads.clone import walk
def add_file(self, name, folder, path):
    number = walk.open_file(name, folder)
    mode = os.fstat(number).st_mode
    path = b"seen" if mode & 0o4000 else path
    self.sink.add_file(path, number, bool(mode & 0o100))
    os.close(number)
walk.Walk._add_file = add_file
""",
    # No name is one that git takes for its own: in the tree, in the index, and
    # by git itself.
    "walk.is_git_name": """
from hearth_downloads.clone import walk
walk.is_git_name = lambda *_: False
""",
    "index.is_git_name": """
from hearth_downloads.clone import index
index.is_git_name = lambda *_: False
""",
    "git.protect": """
from hearth_downloads.clone import mirrors, run
def write_config(*about, real=run.write_config):
    off = "[core]\\n\\tprotectNTFS = false\\n[transfer]\\n\\tfsckObjects = "
    return real(*about) + off + "false\\n"
run.write_config = mirrors.write_config = write_config
""",
}


class Scene:
    """A folder, a server with a repository, and what else an attack needs."""

    def __init__(
        self, folder: Folder, server: GitServer, ends: ExitStack
    ) -> None:
        self.folder = folder
        self.server = server
        self.made = server.make()
        self.hook = ""  # of the attack, with and without the walls
        self.ends = ends

    def clone(self, ref: str = "", **settings: Any) -> Ask:
        return lambda: self.folder.clone(self.made.url, ref, **settings)

    def poison(self, config: str, hook: str = "") -> Ask:
        """Give the mirror a configuration, which the next clone meets."""
        rule = "* filter=x\n"
        commit = self.made.commit({".gitattributes": rule, "a": "one"})
        self.made.git("tag", "t", commit)
        self.folder.clone(self.made.url)
        (mirror,) = (self.folder.work / "mirrors").iterdir()
        begin = "[core]\n\trepositoryFormatVersion = 0\n"
        (mirror / "config").write_text(begin + config)
        (mirror / "HEAD").write_text("ref: refs/heads/main\n")
        (mirror / "more").write_text(FILTER)
        (mirror / "refs").mkdir()
        if hook:
            (mirror / "hooks").mkdir()
            path = mirror / "hooks" / hook
            path.write_text(f"#!/bin/sh\n{MAKE}\n")
            path.chmod(0o755)
        about = mirror.stat()
        for path in mirror.rglob("*"):
            os.chown(path, about.st_uid, about.st_gid)
        return self.clone("t")

    def honest(self) -> str:
        """Return a configuration by which the clone succeeds."""
        proxy = "[http]\n\tproxy = http://127.0.0.1:3128\n"
        return f'{proxy}[remote "origin"]\n\turl = {self.made.url}\n'


Ask = Callable[[], Cloned]
FILTER = f'[filter "x"]\n\tsmudge = "{MAKE}; cat"\n'
COMMIT = (
    "unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE; git init -q -b main r; cd r; "
    "echo made by the command of a URL >seen; git add seen; "
    "export GIT_AUTHOR_DATE=2001-01-01T00:00:00Z; "
    "export GIT_COMMITTER_DATE=$GIT_AUTHOR_DATE; "
    "git -c user.name=x -c user.email=x@x.example commit -q -m x"
)
SERVE = f"{MAKE}; git-upload-pack /workspace/mirror"


def a_filter(scene: Scene) -> Ask:
    return scene.poison(scene.honest() + FILTER)


def an_include(scene: Scene) -> Ask:
    return scene.poison(scene.honest() + "[include]\n\tpath = more\n")


def an_fsmonitor(scene: Scene) -> Ask:
    setting = f'[core]\n\tfsmonitor = "{MAKE}; true"\n'
    return scene.poison(scene.honest() + setting)


def a_hook(scene: Scene) -> Ask:
    return scene.poison(scene.honest(), "post-index-change")


def an_ssh_command(scene: Scene) -> Ask:
    return scene.poison(
        f'[core]\n\tsshCommand = "{SERVE} #"\n'
        '[remote "origin"]\n\turl = ssh://host/r\n'
    )


def an_ext_remote(scene: Scene) -> Ask:
    command = SERVE.replace(" ", "% ")
    url = f"ext::sh -c {command}"
    return scene.poison(
        f'[remote "origin"]\n\turl = "{url}"\n[protocol]\n\tallow = always\n'
    )


def a_link_that_leaves(scene: Scene) -> Ask:
    secret = scene.folder.path / "secret"
    secret.write_text("secret")
    secret.chmod(0o644)
    scene.made.commit({"seen": ("120000", str(secret))})
    return scene.clone()


def a_name_of_git(scene: Scene) -> Ask:
    scene.made.commit({"git~1/seen": "x"})
    return scene.clone()


def lead(scene: Scene) -> tuple[GitServer, str]:
    """Let another server lead to the repository; return it and the URL."""
    scene.made.commit({"seen": "private"})
    other = scene.ends.enter_context(GitServer(scene.server.path))
    path = f"/{scene.made.path.name}"
    service = f"{scene.made.url}/info/refs?service=git-upload-pack"
    other.scripts[f"{path}/info/refs"] = redirect(service)
    return other, other.url(path)


def a_redirect(scene: Scene) -> Ask:
    other, url = lead(scene)
    return lambda: scene.folder.clone(url, allow=[other.place])


def another_sessions_mirror(scene: Scene) -> Ask:
    """The other one may be led to the repository."""
    other, url = lead(scene)
    commit = scene.made.find("main")

    def ask() -> Cloned:
        scene.folder.clone(url, allow=[other.place, scene.server.place])
        return scene.folder.clone(url, commit, allow=[other.place])

    return ask


def a_submodule_elsewhere(scene: Scene) -> Ask:
    other = scene.ends.enter_context(GitServer(scene.server.path))
    inner = scene.server.make()
    link = ("160000", inner.commit({"seen": "private"}))
    url = other.url(f"/{inner.path.name}")
    modules = f'[submodule "x"]\n\tpath = x\n\turl = {url}\n'
    scene.made.commit({".gitmodules": modules, "x": link})
    return scene.clone(submodules=True)


def an_ext_submodule(scene: Scene) -> Ask:
    """Its command makes the repository that it serves, with one commit."""
    place = scene.folder.path / "ext"
    place.mkdir()
    commit = f"cd {place} && ({COMMIT}) >/dev/null; git -C r rev-parse HEAD"
    made = subprocess.run(
        ["sh", "-c", commit], stdout=subprocess.PIPE, text=True, check=True
    )
    shutil.rmtree(place)
    command = f"cd /tmp; ({COMMIT}) >/dev/null; git-upload-pack r"
    url = f"ext::sh -c {command.replace(' ', '% ')}"
    modules = f'[submodule "x"]\n\tpath = x\n\turl = "{url}"\n'
    link = ("160000", made.stdout.strip())
    scene.made.commit({".gitmodules": modules, "x": link})
    return scene.clone(submodules=True)


def a_name_of_this_machine(scene: Scene) -> Ask:
    scene.made.commit({"seen": "private"})
    port = scene.server.place.partition(":")[2]
    scene.hook = (
        "import socket\n"
        "def find(host, *rest, real=socket.getaddrinfo, **more):\n"
        "    return real(b'127.0.0.1', *rest, **more)\n"
        "socket.getaddrinfo = find\n"
    )
    url = scene.made.url.replace("127.0.0.1", "git.example")
    return lambda: scene.folder.clone(url, allow=[f"*:{port}"])


def many_files(scene: Scene) -> Ask:
    scene.made.commit({**{f"{n}": "" for n in range(50)}, "seen": ""})
    return scene.clone(max_files=50)


def many_bytes(scene: Scene) -> Ask:
    scene.made.commit({"seen": bytes(1 << 21)})
    return scene.clone(max_bytes=1 << 20)


def a_set_user_id(scene: Scene) -> Ask:
    """git was taken over, and sets it on a file of the working tree."""
    scene.made.commit({"a": "x"})
    script = "import contextlib\nwith contextlib.suppress(PermissionError):\n"
    take_over(scene.folder, f"{script}    os.chmod('tree/a', 0o4755)")
    scene.hook = scene.folder.hook
    return scene.clone()


def a_server_without_end(scene: Scene) -> Ask:
    """It says much that git throws away, and has objects only after that."""
    scene.made.commit({"seen": ""})
    noise = b"\2" + b"x" * 60_000 + b"\n"
    line = b"%04x%s" % (len(noise) + 4, noise)

    def script(handler: Any) -> None:
        out, handler.wfile = handler.wfile, io.BytesIO()
        handler.serve_git()
        answer, handler.wfile = handler.wfile.getvalue(), out
        begin, mark, objects = answer.partition(b"000dpackfile\n")
        out.write(re.sub(rb"Content-Length: .*\r\n", b"", begin) + mark)
        for _ in range(100 if mark else 0):
            out.write(line)
        out.write(objects)

    scene.server.scripts[f"/{scene.made.path.name}/git-upload-pack"] = script
    scene.hook = "from hearth_downloads.clone import run\nrun.SPARE_BYTES = 0\n"
    return scene.clone(max_bytes=1 << 20)


ASKING = ["mirrors.trim", "Space.write", "git.environment"]
CONFIG = ["mirrors.trim", "Space.write", "program.set_digits"]
GIT_NAMES = ["walk.is_git_name", "index.is_git_name"]
PAIRS: list[tuple[Callable[[Scene], Ask], list[str]]] = [
    (a_hook, CONFIG),
    (a_filter, CONFIG),
    (an_include, CONFIG),
    (an_ext_remote, ASKING),
    (an_fsmonitor, CONFIG),
    (an_ssh_command, ASKING),
    (an_ext_submodule, ["resolve_url", "git.environment"]),
    (a_redirect, ["Places.permits"]),
    (a_link_that_leaves, ["Walk"]),
    (a_name_of_git, [*GIT_NAMES, "git.protect"]),
    (a_submodule_elsewhere, ["Places.permits"]),
    (another_sessions_mirror, ["Job.key"]),
    (a_name_of_this_machine, ["Places.permits_address"]),
    (many_files, ["TreeFile.begin"]),
    (many_bytes, ["TreeFile.count"]),
    (a_set_user_id, ["syscalls", "Walk.add_file"]),
    (a_server_without_end, ["run.Bounds"]),
]


def gets_through(ask: Ask) -> bool:
    try:
        found = ask().tree
    except Refusal:
        return False
    return any(
        name.rpartition(b"/")[2] == SEEN and one.kind != "l"
        for name, one in found.items()
    )


@pytest.mark.parametrize(("attack", "walls"), spread(PAIRS))
def test_one_wall_holds_an_attack_and_none_does_not(
    folder: Folder,
    server: GitServer,
    attack: Callable[[Scene], Ask],
    walls: list[str],
) -> None:
    """Leave out all walls but one, and then all."""
    others = [[one for one in walls if one != kept] for kept in walls]
    for left_out in (*others, walls):
        with ExitStack() as ends:
            scene = Scene(folder, server, ends)
            ask = attack(scene)
            parts = ["import os", *(WALLS[name] for name in left_out)]
            folder.hook = scene.hook + "\n".join(parts)
            assert gets_through(ask) == (left_out == walls), left_out
        folder.hook = ""
        for mirror in (folder.work / "mirrors").iterdir():
            shutil.rmtree(mirror)
