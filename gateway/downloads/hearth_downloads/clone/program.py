"""Runs git's commands for one repository, in the sandbox.

It is fetch/client.py's counterpart: what it reads and leaves is hostile to the
worker. What it needs is imported before the sandbox is made.

    mirror/     the repository, without a working tree (mirrors.py)
    tree/       the working tree, and `index`
    modules     what .gitmodules has, if asked for
    lfs         paths of the files whose contents Git LFS has, if asked for
    report      the end: `{"ok": …}` or `{"fault": …}`; with "ok" also "asked",
                or "away", the fault of a server for which the mirror answers
"""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from typing import NoReturn, Optional

from hearth_downloads.clone.asked import Asked
from hearth_downloads.clone.git import INSIDE, MIRROR, TREE
from hearth_downloads.clone.ref import is_hash

REPORT, SAID, HEARD, LFS = "report", "said", "heard", "lfs"
MODULES, MODULES_FILE = "modules", f"{TREE}/.gitmodules"
SAID_MAX = 8 * 1024
HEARD_MAX = 1 << 20


@dataclass(frozen=True)
class Request:
    """One repository, and what is wanted of it."""

    git: str
    environment: dict[str, str]
    configs: dict[int, str]  # by the digits of a hash
    ref: str
    depth: int
    lists_lfs: bool
    lists_modules: bool
    asked: Optional[Asked]  # what the mirror has of its server


class Stop(Exception):
    """An end without a copy."""

    def __init__(self, kind: str, said: str = "") -> None:
        super().__init__(kind)
        self.fault = {"kind": kind, "said": said}


def run(request: Request) -> NoReturn:
    """Do it, and report; the end of this process."""
    os.chdir(INSIDE)
    try:
        copy = _Copy(request)
        report: dict[str, object] = {"ok": copy.run(), "asked": copy.asked}
        if copy.away:
            report["away"] = copy.away
    except Stop as stop:
        report = {"fault": stop.fault}
    with open(REPORT, "w", encoding="ascii") as file:
        json.dump(report, file)
    os._exit(0)


class _Copy:
    """The commands, in the mirror that the worker has made ready."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.ref = request.ref
        self.head = ""  # the server's own branch
        self.head_hash = ""
        self.asked: Optional[str] = None  # its branch, if it was asked for it
        self.away: dict[str, str] = {}  # why it could not be

    def run(self) -> dict[str, str]:
        """Return commit, branch and the server's branch."""
        os.mkdir(TREE)
        if is_hash(self.ref):
            self._get_hash()
            commit, branch = self._find(self.ref), ""
        else:
            commit, branch = self._get_ref()
        self._git("checkout", "read-tree", "--reset", "-u", commit)
        if self.request.lists_lfs:
            self._git("lfs", "ls-files", "-z", ":(top,attr:filter=lfs)")
            os.rename(HEARD, LFS)
        if self.request.lists_modules:
            self._list_modules()
        # Only packed refs are kept. So after a failure the mirror has those of
        # the time that is in its file `asked`.
        self._git("refs", "pack-refs", "--all", "--prune")
        return {"commit": commit, "branch": branch, "head": self.head}

    def _list_modules(self) -> None:
        """Copy .gitmodules, as git reads it; a missing one has nothing."""
        if os.path.lexists(MODULES_FILE):
            words = ("config", "-z", "--list", "--file", MODULES_FILE)
            self._git("modules", *words)
            os.rename(HEARD, MODULES)
        else:
            with open(MODULES, "wb"):
                pass

    def _git(self, kind: str, *arguments: str) -> bytes:
        """Run a command; return the beginning of what it writes."""
        if not self._try(*arguments):
            with open(SAID, "rb") as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(0, size - SAID_MAX))
                raise Stop(kind, file.read().decode("utf-8", "replace"))
        with open(HEARD, "rb") as file:
            return file.read(HEARD_MAX)

    def _try(self, *arguments: str) -> bool:
        with open(SAID, "wb") as said, open(HEARD, "wb") as heard:
            code = subprocess.call(
                [self.request.git, *arguments],
                env=self.request.environment,
                stdin=subprocess.DEVNULL,
                stdout=heard,
                stderr=said,
            )
            if code < 0:
                said.write(b"\nerror: git died of signal %d" % -code)
        return code == 0

    def _find(self, name: str) -> str:
        """Return the hash of a commit that is there; "" if it is not."""
        if not self._try("rev-parse", "-q", "--verify", f"{name}^{{commit}}"):
            return ""
        with open(HEARD, "rb") as file:
            return file.read(80).decode("ascii", "replace").strip()

    def _get_hash(self) -> None:
        """Ask the server only if the commit is not there."""
        self._set_digits(len(self.ref))
        if self._find(self.ref):
            return
        if not self.request.depth:
            self._list("HEAD")
            self.asked, self.head = self.head, ""  # for the next job alone
            self._fetch_all()
        if not self._find(self.ref):
            self._fetch(self.ref)
        if not self._find(self.ref):
            raise Stop("commit")

    def _get_ref(self) -> tuple[str, str]:
        """Return commit and branch of a name, as the server has it now."""
        try:
            branches, tags = self._ask()
        except Stop as stop:
            kept = self._get_kept() if stop.fault["kind"] == "ask" else None
            if not kept:
                raise
            self.away = stop.fault
            return kept
        self.asked = self.head
        ref = self.ref or self.head
        if not ref:
            return self._get_head(), ""
        is_branch = ref in branches
        if not is_branch and ref not in tags:
            raise Stop("ref")
        place = f"refs/tags/{ref}"
        source = f"refs/heads/{ref}" if is_branch else place
        target = f"refs/remotes/origin/{ref}" if is_branch else place
        if self.request.depth:
            self._fetch(f"+{source}:{target}")
        else:
            self._fetch_all()
        commit = self._find(target)
        if not commit:
            raise Stop("commit" if self._try("show-ref", target) else "ref")
        return commit, ref if is_branch else ""

    def _get_kept(self) -> Optional[tuple[str, str]]:
        """Return commit and branch as the mirror has them, if it does.

        The worker judges whether the server is away.
        """
        asked = self.request.asked
        if asked is None:
            return None
        self._set_digits(asked.digits)
        self.head = "" if is_hash(asked.head) else asked.head
        ref, branch = self.ref or self.head, ""
        commit = "" if ref or not asked.head else self._find(asked.head)
        # A mirror with a depth may have an older branch of a tag's name.
        if ref and (asked.branch or not self.request.depth):
            commit = self._find(f"refs/remotes/origin/{ref}")
            branch = ref if commit else ""
        if ref and not commit:
            commit = self._find(f"refs/tags/{ref}")
        return (commit, branch) if commit else None

    def _get_head(self) -> str:
        """Return the commit of a server whose HEAD is no branch."""
        if not self.request.depth:
            self._fetch_all()
        if not self._find(self.head_hash):
            self._fetch("HEAD")
        return self._find(self.head_hash) or self._find("FETCH_HEAD")

    def _ask(self) -> tuple[set[str], set[str]]:
        """Return those branches and tags of the server that matter."""
        wanted = [f"refs/heads/{self.ref}", f"refs/tags/{self.ref}"]
        found = self._list("HEAD", *(wanted if self.ref else ()))
        if not found and not self._list():
            raise Stop("empty")
        if not self.ref and not self.head_hash:
            raise Stop("head")
        self._set_digits(len(next(iter(found.values()), "0" * 40)))
        if self.head:
            found.setdefault(f"refs/heads/{self.head}", "")
        return _below("refs/heads/", found), _below("refs/tags/", found)

    def _list(self, *patterns: str) -> dict[str, str]:
        heard = self._git("ask", "ls-remote", "--symref", "origin", *patterns)
        found = {}
        for line in heard.decode("utf-8", "surrogateescape").splitlines():
            value, _, name = line.partition("\t")
            if name == "HEAD" and value.startswith("ref: refs/heads/"):
                self.head = value[len("ref: refs/heads/") :]
            elif name == "HEAD" and is_hash(value):
                self.head_hash = found[name] = value
            elif is_hash(value):
                found[name] = value
        return found

    def _set_digits(self, digits: int) -> None:
        with open(f"{MIRROR}/config", "w", encoding="utf-8") as file:
            file.write(self.request.configs[digits])

    def _fetch_all(self) -> None:
        self._fetch(
            "--prune",
            "--no-tags",
            "+refs/heads/*:refs/remotes/origin/*",
            "+refs/tags/*:refs/tags/*",
        )

    def _fetch(self, *specs: str) -> None:
        options = [one for one in specs if one.startswith("--")]
        if self.request.depth:
            options.append(f"--depth={self.request.depth}")
        names = [one for one in specs if not one.startswith("--")]
        self._git(
            "get", "fetch", "-q", "--progress", *options, "origin", *names
        )
        # A server without git's own protocol gives loose objects, which are
        # neither checked nor kept.
        if set(os.listdir(f"{MIRROR}/objects")) - {"pack", "info"}:
            raise Stop("old")


def _below(top: str, found: dict[str, str]) -> set[str]:
    """Return the names of those refs that begin with that, without it."""
    return {name[len(top) :] for name in found if name.startswith(top)}
