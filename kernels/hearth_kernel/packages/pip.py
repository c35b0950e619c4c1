"""`%pip` in a kernel: the gateway is asked to change the session's packages.

Nothing is fetched or installed here. What is installed is read here.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from typing import Any, Callable

from IPython.core.error import UsageError

from hearth_kernel import _link
from hearth_kernel.packages import added, pipwords
from hearth_kernel.packages.names import normalise
from hearth_kernel.packages.pipwords import Asked
from hearth_kernel.tools import calls

Content = dict[str, Any]

CALL = "hearth:packages"

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
# Packages that an environment needs itself, which freeze leaves out.
_TOOLS = frozenset(("distribute", "pip", "setuptools", "wheel"))
_FIELDS = (
    "Name",
    "Version",
    "Summary",
    "Home-page",
    "Author",
    "Author-email",
    "License",
)


class PackagesError(UsageError):  # type: ignore[misc]
    """The session's packages were not changed; the text says why."""


# ---- what is installed ----


def _distributions() -> dict[str, Any]:
    """Return all that is found, by the normalised names; the first counts.

    A package without readable text is passed over.
    """
    from importlib import metadata

    found: dict[str, Any] = {}
    for one in metadata.distributions():
        try:
            fields = one.metadata
        except (OSError, ValueError):
            continue
        if "Name" in fields and "Version" in fields:
            found.setdefault(normalise(fields["Name"]), one)
    return dict(sorted(found.items()))


def _rows() -> list[tuple[str, str]]:
    found = _distributions().values()
    return [(one.metadata["Name"], one.version) for one in found]


def _list(asked: Asked, _: str) -> None:
    rows = _rows()
    if asked.format == "json":
        lines = [json.dumps([{"name": n, "version": v} for n, v in rows])]
    elif asked.format == "freeze":
        lines = [f"{name}=={version}" for name, version in rows]
    else:
        rows.insert(0, ("Package", "Version"))
        first, second = (max(map(len, column)) for column in zip(*rows))
        rows.insert(1, ("-" * first, "-" * second))
        lines = [f"{name:{first}} {version}" for name, version in rows]
    print("\n".join(lines))


def _freeze(_: Asked, __: str) -> None:
    lines = [
        f"{name}=={version}"
        for name, version in _rows()
        if normalise(name) not in _TOOLS
    ]
    print("\n".join(lines))


def _describe(one: Any) -> Iterator[str]:
    for field in _FIELDS:
        value = one.metadata.get(field, "")
        yield f"{field}: {value}"
    yield f"Location: {one.locate_file('')}"
    # Extras were perhaps not asked for.
    needs = [need for need in one.requires or () if "extra ==" not in need]
    yield f"Requires: {', '.join(needs)}"


def _show(asked: Asked, say: str) -> None:
    there = _distributions()
    missing = [name for name in asked.names if normalise(name) not in there]
    found = [there[normalise(n)] for n in asked.names if n not in missing]
    if found:
        print("\n---\n".join("\n".join(_describe(one)) for one in found))
    if missing:
        raise UsageError(f"{say}: not installed: {', '.join(missing)}")


# ---- changes ----


def _ask(order: str, names: list[str], say: str) -> Content:
    """Wait for the gateway's answer, however long that takes."""
    try:
        calls.check_process("ask for packages", "ask for them")
        reply = calls.wait(CALL, {"order": order, "names": names}, None)
    except calls.CallError as error:
        raise PackagesError(f"{say}: {error}") from None
    except KeyboardInterrupt:
        print(
            f"{say}: the job goes on outside; `%pip list` shows whether it "
            "was done",
            file=sys.stderr,
        )
        raise
    if reply.get("status") != "ok":
        raise PackagesError(f"{say}: {reply.get('evalue')}")
    found: Content = reply
    return found


def _changes(reply: Content) -> Iterator[str]:
    for one in reply.get("added", []):
        modules = ", ".join(one.get("modules", ()))
        which = f" (import {modules})" * bool(modules)
        yield f"added {one['name']} {one['version']}{which}"
    for one in reply.get("changed", []):
        yield f"changed {one['name']} {one['from']} -> {one['to']}"
    for one in reply.get("removed", []):
        yield f"removed {one['name']} {one['version']}"
    for one in reply.get("present", []):
        yield f"{one['name']} {one['version']} is there already (profile)"
    for note in reply.get("notes", []):
        yield f"note: {note}"
    yield from _restarts(reply)


def _restarts(reply: Content) -> Iterator[str]:
    """Say what is imported in another version."""
    fresh = {one["name"]: one["version"] for one in reply.get("added", [])}
    fresh.update({one["name"]: one["to"] for one in reply.get("changed", [])})
    old = added.find_old(fresh)
    if old is None:
        yield _link.PACKAGES_STAY
    for name in old or ():
        yield _link.PACKAGE_IMPORTED % (name, fresh[name])


def _kept(names: list[str], reply: Content) -> Iterator[str]:
    """Say which packages an upgrade has left as they were."""
    wanted = {normalise(m[0]) for m in map(_NAME.match, names) if m}
    other = [*reply.get("added", []), *reply.get("changed", [])]
    wanted -= {one["name"] for one in other}
    for one in reply.get("packages", []):
        name, version = one["name"], one["version"]
        if name in wanted:
            yield (
                f"{name} {version} fits and stays: for another version name "
                f"it, as '{name}>{version}'"
            )


def _install(asked: Asked, say: str) -> None:
    names = pipwords.names(asked, say)
    reply = _ask("add", names, say)
    added.look()
    added.enter()
    if asked.is_silent:
        return
    lines = list(_changes(reply)) or [
        "nothing has changed: the session has them already"
    ]
    if asked.is_upgrade:
        lines += _kept(names, reply)
    print("\n".join(lines))


def _uninstall(asked: Asked, say: str) -> None:
    reply = _ask("remove", pipwords.names(asked, say), say)
    added.look()
    added.enter()
    if asked.is_silent:
        return
    lines = list(_changes(reply)) or [
        "nothing has changed: the session was not given them"
    ]
    print("\n".join(lines))


_SERVE: dict[str, Callable[[Asked, str], None]] = {
    "install": _install,
    "uninstall": _uninstall,
    "list": _list,
    "freeze": _freeze,
    "show": _show,
}


def do(asked: Asked, say: str) -> None:
    """Do what is asked for; `say` is the command's name in sentences."""
    added.look()
    _SERVE[asked.action](asked, say)


def serve(words: list[str], say: str) -> None:
    """Do what the words after `pip` ask for."""
    is_change = words[:1] not in (["list"], ["freeze"], ["show"])
    if is_change and not added.folder():
        raise UsageError(added.advise(say))
    do(pipwords.read(words, say), say)
