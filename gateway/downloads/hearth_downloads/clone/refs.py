"""The refs of a mirror, read strictly and written anew."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Optional

from hearth_downloads.clone.ref import is_hash, is_ref_name
from hearth_downloads.core.faults import Failed

REFS_BYTES_MAX = 16 << 20
NAME_MAX = 1024  # letters
REMOTE, TAGS = "refs/remotes/origin/", "refs/tags/"
_HEADER = "# pack-refs with: peeled fully-peeled sorted \n"
_SPLIT = re.compile(r"([0-9a-f]+) (.+)")


@dataclass(frozen=True)
class Refs:
    """Names with the hashes of what they name."""

    values: dict[str, str]
    peeled: dict[str, str]  # what a tag names at its end

    def with_branch(self, branch: str, commit: str) -> Refs:
        """Return them with a local branch."""
        return self.with_ref(f"refs/heads/{branch}", commit)

    def with_ref(self, name: str, commit: str) -> Refs:
        """Return them with another one."""
        return Refs({**self.values, name: commit}, self.peeled)

    def of(self, name: str, commit: str) -> Refs:
        """Return the one with that name alone, and tags of the commit.

        A mirror with a depth may have others, of an earlier job.
        """
        values = {
            one: value
            for one, value in self.values.items()
            if one == name
            or (
                one.startswith(TAGS)
                and commit in (value, self.peeled.get(one, ""))
            )
        }
        return Refs(values, self.peeled)

    def write(self) -> bytes:
        """Return the file that git reads."""
        lines = [_HEADER]
        by_bytes = sorted(
            self.values, key=lambda n: n.encode("utf-8", "surrogateescape")
        )
        for name in by_bytes:
            lines.append(f"{self.values[name]} {name}\n")
            if name in self.peeled:
                lines.append(f"^{self.peeled[name]}\n")
        return "".join(lines).encode("utf-8", "surrogateescape")


def parse_refs(content: bytes, digits: int) -> Refs:
    """Return what git has written; Failed if it is anything else."""
    refs = Refs({}, {})
    last = ""
    text = content.decode("utf-8", "surrogateescape")
    for line in text.split("\n"):
        if line[:1] == "^" and last and _is(line[1:], digits):
            refs.peeled[last] = line[1:]
        elif line and line[:1] != "#":
            last = _parse_line(line, digits, refs)
    return refs


def _is(text: str, digits: int) -> bool:
    return len(text) == digits and is_hash(text)


def _parse_line(line: str, digits: int, refs: Refs) -> str:
    found = _SPLIT.fullmatch(line)
    name = found[2] if found else ""
    top = next((one for one in (REMOTE, TAGS) if name.startswith(one)), "")
    if (
        not found
        or not _is(found[1], digits)
        or not top
        or len(name) > NAME_MAX
        or not is_ref_name(name[len(top) :])
    ):
        raise Failed("the refs that git has left cannot be read")
    refs.values[name] = found[1]
    return name


def parse_shallow(content: Optional[bytes], digits: int) -> bytes:
    """Return where the history ends, b"" if it is whole."""
    lines = (content or b"").decode("ascii", "replace").split("\n")
    hashes = [line for line in lines if line]
    if not all(_is(line, digits) for line in hashes):
        raise Failed("the end of the history that git has left cannot be read")
    return "".join(f"{line}\n" for line in hashes).encode()
