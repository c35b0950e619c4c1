"""Names of branches and tags, and hashes of commits, read strictly."""

from __future__ import annotations

import re

from hearth_downloads.clone.job import Job
from hearth_downloads.core.faults import Invalid, clean

REF_MAX = 200  # bytes
DEPTH_MAX = 1_000_000
_HASH = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?", re.ASCII)
# Forbidden by git-check-ref-format(1) in a name.
_WRONG = re.compile(
    r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|/\.|\.lock/"
    r"|^[./@-]?$|^[./-]|(?:/|\.|\.lock)$"
)
# As the gateway shows a branch.
_SHOWN = re.compile(r"[A-Za-z0-9._/+@#-]{1,200}", re.ASCII)


def is_hash(text: str) -> bool:
    """Return true for a full hash of a commit."""
    return _HASH.fullmatch(text) is not None


def is_ref_name(text: str) -> bool:
    """Return true if a branch or a tag can have that name."""
    return _WRONG.search(text) is None


def show_branch(name: str) -> str:
    """Return the branch for the answer; "" if it has other letters."""
    return name if _SHOWN.fullmatch(name) else ""


def parse_ref(job: Job) -> str:
    """Return the branch, tag or hash of a job; Invalid says what is wrong."""
    text = job.ref
    if not text:
        return ""
    if len(text.encode("utf-8", "surrogatepass")) > REF_MAX:
        raise Invalid(
            f"the ref has more than {REF_MAX} bytes, which is the most"
        )
    if is_hash(text.lower()):
        return text.lower()
    if not is_ref_name(text) or any("\ud800" <= c <= "\udfff" for c in text):
        raise Invalid(
            f"{clean(text, 80)!r} is no ref: write the name of a branch or a "
            "tag, or all 40 digits of a commit's hash"
        )
    return text


def parse_branch(job: Job, ref: str) -> str:
    """Return the branch as which a commit is checked out, or ""."""
    name = job.branch
    if name and (not is_hash(ref) or not _SHOWN.fullmatch(name)):
        raise Invalid("a branch is for a commit's hash as the ref")
    if not is_ref_name(name or "main"):
        raise Invalid(f"{clean(name, 80)!r} is no branch")
    return name


def parse_depth(job: Job) -> int:
    """Return the number of commits, 0 for all."""
    if type(job.depth) is not int or not 0 <= job.depth <= DEPTH_MAX:
        raise Invalid(
            f"the depth is to be a number from 1 to {DEPTH_MAX}, or 0 for all "
            "commits"
        )
    return job.depth
