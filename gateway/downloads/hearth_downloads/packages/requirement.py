"""Reads a requirement: NAME[EXTRAS] VERSION-SPECIFIERS, of PEP 508.

After them there may be hashes, as pip has them in a file of requirements.

URLs, paths, options and markers would let a user choose where code comes from,
or what uv does. Each of them is refused by a sentence of its own.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from hearth_kernel.packages.names import normalise

from hearth_downloads.core.faults import Invalid

COUNT_MAX = 100
LENGTH_MAX = 200  # without hashes
HASHES_MAX = 250  # of one version, which has a wheel for each machine
WORD_MAX = 128  # of a name or a version; the gateway takes no longer ones
NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"
# PEP 440, as loosely as it is read.
VERSION = (
    r"v?(?:[0-9]+!)?[0-9]+(?:\.[0-9]+)*"
    r"(?:[-_.]?(?:a|b|c|rc|alpha|beta|pre|preview)[-_.]?[0-9]*)?"
    r"(?:-[0-9]+|[-_.]?(?:post|rev|r)[-_.]?[0-9]*)?"
    r"(?:[-_.]?dev[-_.]?[0-9]*)?"
    r"(?:\+[a-z0-9]+(?:[-_.][a-z0-9]+)*)?"
)
_VERSION = re.compile(VERSION, re.IGNORECASE | re.ASCII)
_CLAUSE = re.compile(
    rf"(?:(?:==|!=)\s*v?[0-9]+(?:\.[0-9]+)*\.\*|(?:~=|==|!=|<=|>=|<|>)\s*"
    rf"{VERSION})",
    re.IGNORECASE | re.ASCII,
)
_REQUIREMENT = re.compile(
    rf"(?P<name>{NAME})\s*(?:\[(?P<extras>[^\[\]]*)\])?\s*(?P<clauses>.*)",
    re.ASCII,
)
_EXACT = re.compile(rf"==\s*{VERSION}", re.IGNORECASE | re.ASCII)
_SHA256 = re.compile(r"sha256:([0-9a-f]{64})", re.IGNORECASE | re.ASCII)
_HASH = " --hash="
_FORM = "write NAME, NAME==1.2 or NAME[EXTRA]>=1,<2"


@dataclass(frozen=True)
class Requirement:
    """One requirement; `text` is what uv reads."""

    name: str  # as PEP 503 has it
    text: str


def is_name(text: str) -> bool:
    """Return true if it is the name of a package."""
    return (
        len(text) <= WORD_MAX and re.fullmatch(NAME, text, re.ASCII) is not None
    )


def is_version(text: str) -> bool:
    """Return true if it is a version of PEP 440, as the gateway takes it."""
    return (
        len(text) <= WORD_MAX
        and _VERSION.fullmatch(text) is not None
        and text[-1].isalnum()
    )


def parse_all(texts: list[str]) -> list[Requirement]:
    """Return the requirements of one job; no name may be there twice."""
    _check_count(texts)
    found: dict[str, Requirement] = {}
    for text in texts:
        requirement = parse(text)
        if requirement.name in found:
            raise Invalid(
                f"{requirement.name} is there twice: name it once, with all "
                "of its version specifiers"
            )
        found[requirement.name] = requirement
    return list(found.values())


def parse_names(texts: list[str]) -> list[str]:
    """Return the normalised names of a job that takes names alone."""
    _check_count(texts)
    for text in texts:
        _check_text(text)
        if not is_name(text):
            raise Invalid(
                f"{text!r} is not the name of a package: write the name"
            )
    return [normalise(text) for text in texts]


def parse(text: str) -> Requirement:
    """Return the requirement, or say what is wrong with it."""
    _check_text(text)
    text, hashes = _cut_hashes(text.strip(" "))
    _check_kind(text)
    found = _REQUIREMENT.fullmatch(text)
    if not found:
        raise Invalid(f"{text!r} is no requirement: {_FORM}")
    if not is_name(found["name"]):
        raise Invalid(
            f"a name has {len(found['name'])} letters, and the most is "
            f"{WORD_MAX}: {text[:40]}…"
        )
    extras = _read_extras(found["extras"], text)
    clauses = _read_clauses(found["clauses"], text)
    if hashes and not (len(clauses) == 1 and _EXACT.fullmatch(clauses[0])):
        raise Invalid(
            f"{text!r} has a hash, and a hash is that of one version: write "
            f"{found['name']}==VERSION --hash=sha256:…"
        )
    whole = f"{found['name']}{extras}{','.join(clauses)}{hashes}"
    return Requirement(normalise(found["name"]), whole)


def split(text: str) -> tuple[frozenset[str], str]:
    """Return the normalised extras and the clauses of a text of `parse`."""
    found = _REQUIREMENT.fullmatch(without_hashes(text))
    if not found:
        return frozenset(), ""
    extras = filter(None, (found["extras"] or "").split(","))
    return frozenset(map(normalise, extras)), found["clauses"]


def without_hashes(text: str) -> str:
    """Return a text of `parse` as it is without its hashes."""
    return text.partition(_HASH)[0]


def find_hashes(text: str) -> frozenset[str]:
    """Return the SHA-256 of the files that a text of `parse` permits.

    Without any it permits all.
    """
    return frozenset(_SHA256.findall(text.partition(_HASH)[2]))


def with_extras(text: str, before: str) -> str:
    """Return a requirement with the extras of the one before it, too.

    Both are texts of `parse`. As with pip, what an extra has brought stays. So
    does the file that a hash has pinned, until other versions are asked for.
    """
    plain, space, hashes = text.partition(_HASH)
    new = _REQUIREMENT.fullmatch(plain)
    old = _REQUIREMENT.fullmatch(without_hashes(before))
    if not new or not old:
        return text
    clauses = new["clauses"]
    if not space and find_hashes(before) and clauses in ("", old["clauses"]):
        clauses = old["clauses"]
        _, space, hashes = before.partition(_HASH)
        text = f"{plain.removesuffix(clauses)}{clauses}{space}{hashes}"
    if not old["extras"]:
        return text
    extras = {
        normalise(extra): extra
        for found in (old, new)
        for extra in (found["extras"] or "").split(",")
        if extra
    }
    whole = f"{new['name']}[{','.join(extras.values())}]{clauses}"
    if len(whole) > LENGTH_MAX:
        raise Invalid(
            f"{new['name']} would have extras and versions of {len(whole)} "
            f"characters, and the most is {LENGTH_MAX}: remove it first"
        )
    return whole + space + hashes


def _cut_hashes(text: str) -> tuple[str, str]:
    """Return the text before its hashes, and these as `parse` has them."""
    plain, *words = (one.strip(" ") for one in text.split(_HASH))
    if len(words) > HASHES_MAX:
        raise Invalid(
            f"{plain[:40]!r} has {len(words)} hashes, and the most is "
            f"{HASHES_MAX}"
        )
    _check_length(plain)
    for word in words:
        if not _SHA256.fullmatch(word):
            raise Invalid(
                f"{word[:100]!r} of {plain!r} is no hash: write "
                "--hash=sha256: and 64 hexadecimal digits"
            )
    return plain, "".join(f"{_HASH}{word.lower()}" for word in words)


def _check_length(text: str) -> None:
    if len(text) > LENGTH_MAX:
        raise Invalid(
            f"a requirement has {len(text)} characters, and the most is "
            f"{LENGTH_MAX}: {text[:40]!r}…"
        )


def _check_count(texts: list[str]) -> None:
    if not texts:
        raise Invalid("no package is named: name at least one")
    if len(texts) > COUNT_MAX:
        raise Invalid(
            f"{len(texts)} packages are named, and the most is {COUNT_MAX}: "
            "use several requests"
        )


def _check_text(text: object) -> None:
    if not isinstance(text, str):
        raise Invalid(f"a requirement is a text: {_FORM}")
    if any(letter < " " or letter == "\x7f" for letter in text):
        raise Invalid(
            f"{text!r} has a line end or another control character: {_FORM}, "
            "each requirement by itself"
        )


def _check_kind(text: str) -> None:
    """Say of what is another kind of requirement that it is not taken."""
    if not text:
        raise Invalid(f"a requirement is empty: {_FORM}")
    if text.startswith("-"):
        raise Invalid(f"{text!r} is an option, and none is taken: {_FORM}")
    if "@" in text or "://" in text:
        raise Invalid(
            f"{text!r} names a URL; packages come from the index alone: {_FORM}"
        )
    if ";" in text:
        raise Invalid(f"{text!r} has a marker, and none is taken: {_FORM}")
    if text.startswith((".", "~/")) or "/" in text or "\\" in text:
        raise Invalid(
            f"{text!r} is a path; packages come from the index alone: {_FORM}"
        )
    if text.lower().endswith((".whl", ".tar.gz", ".zip", ".tgz")):
        raise Invalid(
            f"{text!r} is a file; packages come from the index alone: {_FORM}"
        )


def _read_extras(inside: str | None, text: str) -> str:
    if inside is None:
        return ""
    extras = [extra.strip(" ") for extra in inside.split(",")]
    for extra in extras:
        if not is_name(extra):
            raise Invalid(f"{text!r} has no extra in its brackets: {_FORM}")
    return f"[{','.join(extras)}]"


def _read_clauses(inside: str, text: str) -> list[str]:
    if not inside:
        return []
    clauses = [clause.strip(" ") for clause in inside.split(",")]
    for clause in clauses:
        if not _CLAUSE.fullmatch(clause):
            raise Invalid(f"{clause!r} in {text!r} is no version: {_FORM}")
    return [clause.replace(" ", "") for clause in clauses]
