"""Submodules, as a repository's `.gitmodules` describes them, read strictly.

A name and a URL of theirs are all that counts: what is to be done with one, as
its `update` says, is left out.
"""

from __future__ import annotations

from dataclasses import dataclass

from hearth_downloads.core.faults import Invalid, Refused, clean
from hearth_downloads.fetch.url import Url, parse_url

MODULES_MAX = 64  # of a job, at all depths
DEPTH_MAX = 4
FILE_BYTES_MAX = 1 << 20
_NAME_MAX = 200  # letters


@dataclass(frozen=True)
class Module:
    """A submodule: its name, and where it is, as the file has it."""

    name: str
    url: str


def parse_clone_url(text: str) -> Url:
    """Return the URL of a repository; git would add its words to a query."""
    url = parse_url(text)
    if "?" in url.target:
        raise Invalid(
            f"the URL {url.shown} has a query, and that of a repository has "
            "none: leave out what begins with the ?"
        )
    return url


def parse_modules(content: bytes) -> dict[bytes, Module]:
    """Return the submodules by path, of what `git config --list -z` says."""
    found: dict[str, dict[str, bytes]] = {}
    for entry in content.split(b"\0"):
        key, _, value = entry.partition(b"\n")
        section, _, rest = key.decode("utf-8", "replace").partition(".")
        name, _, field = rest.rpartition(".")
        is_named = section == "submodule" and "." in rest
        if not is_named or field not in ("path", "url"):
            continue
        _check_name(name)
        fields = found.setdefault(name, {})
        if field in fields:
            raise Refused(f".gitmodules has the {field} of {name!r} twice")
        fields[field] = value
    modules: dict[bytes, Module] = {}
    for name, fields in found.items():
        path, url = fields.get("path", b""), fields.get("url", b"")
        if not path:
            continue  # it is at no place
        if path in modules:
            raise Refused(f".gitmodules has the path of {name!r} twice")
        modules[path] = Module(name, url.decode("utf-8", "replace"))
    return modules


def _check_name(name: str) -> None:
    parts = name.replace("\\", "/").split("/")
    is_clean = name.isprintable() and "\ufffd" not in name
    if not 0 < len(name) <= _NAME_MAX or not is_clean or ".." in parts:
        raise Refused(
            f".gitmodules has the name {clean(name, 80)!r}, which a submodule "
            f"cannot have: it has 1 to {_NAME_MAX} letters, and no part .."
        )


def resolve_url(base: Url, text: str) -> Url:
    """Return a submodule's URL; one with ./ or ../ is below its repository's.

    It is git's rule, but for a URL that would lead above the host.
    """
    path, rest = base.target.rstrip("/"), text
    while rest.startswith(("./", "../")):
        if rest.startswith("../"):
            if not path:
                raise Invalid(f"{text!r} leads above {base.place}")
            path = path.rpartition("/")[0]
        rest = rest.partition("/")[2]
    if rest != text:
        text = f"{base.scheme}://{base.place}{path}/{rest.rstrip('/')}"
    url = parse_clone_url(text)
    if base.scheme == "https" and url.scheme != "https":
        raise Refused(
            f"{url.shown} is without https, and what began with https does not "
            "go on without"
        )
    return url
