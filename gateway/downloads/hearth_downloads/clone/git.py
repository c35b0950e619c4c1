"""The program git: where it is, its environment and its configuration.

Nothing of the host's configuration is read. What a repository says of filters,
hooks and submodules runs nothing, because the configuration has none.
"""

from __future__ import annotations

import os

from hearth_downloads.clone.job import Job
from hearth_downloads.core.faults import Failed
from hearth_downloads.core.sandbox import PROXY_PORT

FOLDERS = ("/usr/local/bin", "/usr/bin", "/bin")
INSIDE = "/workspace"
MIRROR, TREE, INDEX, AUTHORITIES = "mirror", "tree", "index", "ca.pem"
POST_BYTES = 32 << 20  # a request of git is not sent in chunks below that
# Programs and libraries of the system; /etc is the sandbox's own.
_SYSTEM = ("/usr", "/lib", "/lib32", "/lib64", "/bin", "/sbin")
# Faults of old programs in objects, by which nothing can be reached.
_OLD_FAULTS = (
    "badDate",
    "badDateOverflow",
    "badEmail",
    "badName",
    "badTimezone",
    "missingEmail",
    "missingNameBeforeEmail",
    "missingSpaceBeforeDate",
    "missingSpaceBeforeEmail",
    "multipleAuthors",
    "zeroPaddedDate",
    "zeroPaddedFilemode",
)


def find_git() -> str:
    """Return the path of the program."""
    for folder in FOLDERS:
        path = os.path.join(folder, "git")
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    raise Failed(
        f"there is no git in {', '.join(FOLDERS)}: install it on this machine "
        "to clone repositories"
    )


def visible_folders() -> list[str]:
    """Return the folders of the host that git sees."""
    return [path for path in _SYSTEM if os.path.exists(path)]


def environment() -> dict[str, str]:
    """Return git's environment, made from nothing."""
    return {
        "PATH": ":".join(FOLDERS),
        "HOME": "/tmp",  # noqa: S108  the sandbox's own
        "LC_ALL": "C",  # sentences.py reads what it says
        "MALLOC_ARENA_MAX": "2",  # each has 64 MiB of addresses
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_SYSTEM": "/dev/null",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ALLOW_PROTOCOL": "http:https",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_DIR": f"{INSIDE}/{MIRROR}",
        "GIT_WORK_TREE": f"{INSIDE}/{TREE}",
        "GIT_INDEX_FILE": f"{INSIDE}/{INDEX}",
    }


def write_config(job: Job, url: str, digits: int) -> str:
    """Return the mirror's configuration, for hashes with that length."""
    is_long = digits == 64
    found = {
        "core": {
            "repositoryFormatVersion": "1" if is_long else "0",
            "fileMode": "true",
            "symlinks": "true",
            "protectHFS": "true",
            "protectNTFS": "true",
            "hooksPath": "/dev/null",
            "attributesFile": "/dev/null",
            "excludesFile": "/dev/null",
            "fsmonitor": "false",
            "untrackedCache": "false",
            "splitIndex": "false",
            "commitGraph": "false",
            "packedGitWindowSize": "32m",  # the sandbox bounds addresses
            "packedGitLimit": "512m",
            "bigFileThreshold": "32m",
        },
        "extensions": {"objectFormat": "sha256"} if is_long else {},
        "http": {
            "proxy": f"http://127.0.0.1:{PROXY_PORT}",
            "followRedirects": "initial",
            "sslVerify": "true",
            "sslCAInfo": f"{INSIDE}/{AUTHORITIES}",
            "lowSpeedLimit": str(job.rate),
            "lowSpeedTime": str(max(1, int(job.silence))),
            "postBuffer": str(POST_BYTES),
        },
        "protocol": {"version": "2"},
        "credential": {"helper": ""},
        "submodule": {"recurse": "false"},
        "fetch": {
            "unpackLimit": "1",  # all objects come as packs
            "recurseSubmodules": "false",
            "writeCommitGraph": "false",
        },
        "transfer": {"fsckObjects": "true", "unpackLimit": "1"},
        'fetch "fsck"': dict.fromkeys(_OLD_FAULTS, "ignore"),
        "pack": {"threads": "2", "writeReverseIndex": "false"},
        "gc": {"auto": "0"},
        "maintenance": {"auto": "false"},
        "index": {"version": "2", "threads": "1", "sparse": "false"},
        'remote "origin"': {"url": quote(url)},
    }
    return write_sections(found)


def quote(text: str) -> str:
    """Return a value that git reads as that text."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def write_sections(found: dict[str, dict[str, str]]) -> str:
    """Return a file of configuration; values are written as they are."""
    lines = []
    for section, values in found.items():
        lines += [f"[{section}]"] * bool(values)
        lines += [f"\t{name} = {value}" for name, value in values.items()]
    return "\n".join([*lines, ""])
