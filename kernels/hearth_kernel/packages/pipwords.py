"""The words of `pip install` and its like: what they ask for.

No program of that name runs: an option that would change what happens is
refused by its name, and one that changes nothing here is left alone.
"""

from __future__ import annotations

import itertools
import os
import re
import shlex
import sys
from typing import NamedTuple, NoReturn, Optional

from IPython.core.error import UsageError

ACTIONS = ("install", "uninstall", "list", "freeze", "show")
FORMATS = ("columns", "freeze", "json")

_FLAGS = frozenset(
    (
        "--break-system-packages",
        "--disable-pip-version-check",
        "--isolated",
        "--no-cache",
        "--no-cache-dir",
        "--no-color",
        "--no-input",
        "--no-warn-script-location",
        "--prefer-binary",
        "--quiet",
        "--system",
        "--user",
        "--verbose",
        "--yes",
    )
)
_VALUED = frozenset(
    (
        "--only-binary",
        "--progress-bar",
        "--retries",
        "--root-user-action",
        "--timeout",
    )
)
_SHORT = re.compile(r"-[qvy]+")
_SHORT_INSTALL = re.compile(r"-[qvyU]+")
_OF_SHELL = re.compile(r"[|;&<>].*|\d+>.*")
_FILE_MAX = 1 << 20  # bytes of a file of requirements
_NAMES_MAX = 100  # in a request, as the gateway takes them
_WORD_MAX = 60  # characters of a word that a sentence repeats
_POSSIBLE = (
    "packages come from the profile's index, as wheels, with all that they "
    "need; possible are names with versions, as 'humanize>=4', -r FILE and -U"
)

# Words that a shell takes as they are: letters without a meaning there, and
# quotes in which nothing is replaced.
_PLAIN = re.compile(
    r"""(?:[\w \t@%+=:,./\[\]~!-]|'[^'\n]*'|"[^"\n$`\\]*")*""", re.ASCII
)
_UP_TO_COMMENT = re.compile(r"""(?:[^'"#]|'[^']*'|"[^"]*"|(?<=\S)\#)*""")
# How a command line may end that changes nothing but what is shown.
_REDIRECT = r"(?:[ \t]+(?:2>&1|[12&]?>>?[ \t]*/dev/null))"
_FILTER = r"[ \t]*\|[ \t]*(?:cat|(?:tail|head)(?:[ \t]+-(?:n[ \t]*)?\d+)?)"
_ENDING = re.compile(rf"{_REDIRECT}*(?:{_FILTER}{_REDIRECT}*)*[ \t]*$")
_TO_NOWHERE = re.compile(r"(?<![2>])>>?[ \t]*/dev/null")
_HASH = re.compile(r"\s--hash(?:=|[ \t]+)")  # as pip reads it
_VARIABLE = re.compile(r"PIP_([A-Z_]+)=.*")
_REQUIREMENT = re.compile(
    r"[A-Za-z0-9][A-Za-z0-9._-]*\s*(?:\[[^\[\]]*\]\s*)?(?:[<>=!~][^;/@]*)?",
)
_FILES = (".whl", ".zip", ".gz", ".tgz", ".bz2")


class Asked(NamedTuple):
    """A request, as it was written after `pip`."""

    action: str  # of ACTIONS
    names: list[str]  # requirements, or names alone
    files: list[str]  # files of requirements
    is_upgrade: bool = False
    format: str = FORMATS[0]
    is_silent: bool = False  # what has changed is not printed


def split(line: str, say: str) -> list[str]:
    """Return the words of a line, up to a comment."""
    part = _UP_TO_COMMENT.match(line)
    end = part.end() if part else len(line)
    if line[end : end + 1] == "#":
        line = line[:end]
    try:
        return shlex.split(line)
    except ValueError as error:
        raise UsageError(f"{say}: {error}") from None


def _short(word: str) -> str:
    return word if len(word) <= _WORD_MAX else word[:_WORD_MAX] + "…"


def _refuse(option: str, say: str) -> NoReturn:
    raise UsageError(
        f"{say}: the option {_short(option)} is not taken here: {_POSSIBLE}"
    )


def _read_text(path: str, say: str) -> str:
    try:
        with open(os.path.expanduser(path), "rb") as file:
            read = file.read(_FILE_MAX + 1)
        if len(read) > _FILE_MAX:
            raise UsageError(f"{say}: {_short(path)} is larger than 1 MiB")
        return read.decode("utf-8-sig")
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise UsageError(f"{say}: {_short(path)}: {why}") from None


def _without_marker(line: str) -> str:
    """Return what is left of a requirement for this Python: "" for nothing.

    Without `packaging`, and where it knows no answer, that is all of it, which
    the gateway refuses.
    """
    plain, space, hashes = line.partition(" --hash=")
    if ";" not in plain:
        return line
    try:
        from packaging.requirements import Requirement

        found = Requirement(plain)
        if found.url or not found.marker:
            return line
        name = plain.partition(";")[0].strip()
        return name + space + hashes if found.marker.evaluate() else ""
    except (ImportError, ValueError):
        return line


def _read_file(path: str, say: str) -> list[str]:
    """Return the requirements of a file, for any Python, as pip reads it."""
    found = []
    text = re.sub(r"\\\r?\n", "", _read_text(path, say))
    for line in re.sub(r"(?m)(?:^|\s)#.*", "", text).splitlines():
        plain, *hashes = _HASH.split(line)
        option = re.search(r"(?:^|\s)(-[^\s=]+)", " ".join([plain, *hashes]))
        if option:
            _refuse(f"{option[1]} in {path}", say)
        found.append(" --hash=".join(part.strip() for part in (plain, *hashes)))
    return [name for name in found if name]


class _Reader:
    """Reads the words after the action."""

    def __init__(self, action: str, words: list[str], say: str) -> None:
        self.action = action
        self.left = words[::-1]
        self.say = say
        self.names: list[str] = []
        self.files: list[str] = []
        self.is_upgrade = False
        self.format = FORMATS[0]

    def read(self) -> Asked:
        while self.left:
            word = self.left.pop()
            if _OF_SHELL.fullmatch(word):
                raise UsageError(
                    f"{self.say}: {_short(word)!r} is for a shell, and none "
                    "runs here: leave it out, with what comes after it"
                )
            if word == "--":
                self.names += self.left[::-1]
                break
            if word.startswith("-"):
                self.take_option(word)
            else:
                self.names.append(word)
        return Asked(
            self.action, self.names, self.files, self.is_upgrade, self.format
        )

    def take_option(self, word: str) -> None:
        is_install = self.action == "install"
        name, is_whole, value = word.partition("=")
        if is_install and re.match("-r.", word):
            name, is_whole, value = "-r", "=", word[2:]
        if (_SHORT_INSTALL if is_install else _SHORT).fullmatch(word):
            self.is_upgrade |= "U" in word
        elif word == "--upgrade" and is_install:
            self.is_upgrade = True
        elif name in _VALUED:
            self.value(name, is_whole, value)
        elif name in ("-r", "--requirement", "--requirements") and is_install:
            self.files.append(self.value(name, is_whole, value))
        elif name == "--format" and self.action == "list":
            self.format = self.value(name, is_whole, value)
            if self.format not in FORMATS:
                raise UsageError(
                    f"{self.say}: --format is one of {', '.join(FORMATS)}"
                )
        elif word not in _FLAGS:
            if is_install:
                _refuse(name, self.say)
            raise UsageError(
                f"{self.say}: {self.action} does not take the option "
                f"{_short(name)} here"
            )

    def value(self, name: str, is_whole: str, value: str) -> str:
        """Return the value of an option: after `=`, or the next word."""
        if is_whole:
            return value
        if not self.left:
            raise UsageError(f"{self.say}: {name} needs a value")
        return self.left.pop()


def read(words: list[str], say: str) -> Asked:
    """Return what the words after `pip` ask for, or raise UsageError."""
    action = words[0] if words else ""
    if action not in ACTIONS:
        what = f"{_short(action)!r} is not possible here" if action else "what?"
        raise UsageError(
            f"{say}: {what}; there are install, uninstall, list, freeze, show"
        )
    asked = _Reader(action, words[1:], say).read()
    if action in ("install", "uninstall", "show") and not asked.files:
        _need_names(asked.names, action, say)
    return asked


def _need_names(names: list[str], action: str, say: str) -> None:
    if not names:
        raise UsageError(f"{say}: {action} needs the name of a package")


def _from_files(asked: Asked, say: str) -> list[str]:
    """Return the requirements of its files that apply to this Python."""
    found: list[str] = []
    idle = []
    for path in asked.files:
        lines = _read_file(path, say)
        fitting = [name for name in map(_without_marker, lines) if name]
        if lines and not fitting:
            idle.append(_short(path))
        found += fitting
    if idle and not found and not asked.names:
        version = "{}.{}".format(*sys.version_info)
        raise UsageError(
            f"{say}: nothing in {' and '.join(idle)} applies to this Python "
            f"({version}, {sys.platform}): its markers are for others"
        )
    return found


def names(asked: Asked, say: str) -> list[str]:
    """Return all names of a request, also those in its files."""
    found = _from_files(asked, say) + asked.names
    _need_names(found, asked.action, say)
    if len(found) > _NAMES_MAX:
        raise UsageError(
            f"{say}: these are {len(found)} requirements, and one request "
            f"takes {_NAMES_MAX}: split it into several"
        )
    return found


def _is_plain_variable(word: str) -> bool:
    """Whether a word sets an option of pip that changes nothing here."""
    found = _VARIABLE.fullmatch(word)
    if not found:
        return False
    option = "--" + found[1].lower().replace("_", "-")
    return option in _FLAGS or option in _VALUED


def _arguments(words: list[str]) -> list[str]:
    """Return what follows the kernel's own pip; nothing for another program."""
    words = list(itertools.dropwhile(_is_plain_variable, words))
    version = "{}.{}".format(*sys.version_info)
    pythons = ("python", "python3", f"python{version}", sys.executable)
    if words[:1] and words[0] in pythons and words[1:3] == ["-m", "pip"]:
        return words[3:]
    if words[:1] and words[0] in ("pip", "pip3", f"pip{version}"):
        return words[1:]
    return words[2:] if words[:2] == ["uv", "pip"] else []


def _is_from_index(name: str) -> bool:
    return bool(_REQUIREMENT.fullmatch(name)) and not name.endswith(_FILES)


def find(line: str) -> Optional[Asked]:
    """Return what a command line asks for that is `pip install` and no more.

    It may end by showing less of what it prints. None if a shell would do
    anything else with it, or pip could do it here.
    """
    try:
        split(line, "")
        part = _UP_TO_COMMENT.match(line)
        ending = _ENDING.search(part[0]) if part else None
        if not part or not ending:
            return None
        command = part[0][: ending.start()]
        if not _PLAIN.fullmatch(command):
            return None
        words = _arguments(split(command, ""))
        if words[:1] not in (["install"], ["uninstall"]):
            return None
        asked = read(words, "")
    except UsageError:
        return None
    if not all(map(_is_from_index, asked.names)):
        return None
    return asked._replace(is_silent=bool(_TO_NOWHERE.search(ending[0])))
