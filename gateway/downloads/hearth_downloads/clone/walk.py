"""Walks the working tree that git has left, by descriptors alone.

No program is left that could change it, and no link is followed. Files, folders
and symbolic links are passed on; anything else is no part of a repository.
"""

from __future__ import annotations

import os
import stat
from typing import Protocol

from hearth_downloads.clone.names import git_name, is_git_name
from hearth_downloads.clone.space import open_file, taken_over
from hearth_downloads.clone.tree import DEPTH_MAX, too_deep
from hearth_downloads.core.folders import open_folder, permit


class Sink(Protocol):
    """Takes all that a walk meets."""

    def add_folder(self, path: bytes) -> None:
        """Take a folder, before what is in it."""

    def add_link(self, path: bytes, target: bytes) -> None:
        """Take a symbolic link."""

    def add_file(self, path: bytes, source: int, is_program: bool) -> object:
        """Take an open file."""


class Walk:
    """Gives what is in a folder to a sink."""

    def __init__(self, sink: Sink) -> None:
        self.sink = sink

    def add(self, folder: int, top: bytes = b"", depth: int = 0) -> None:
        """Add what is in the folder; `top` is its path, with a slash."""
        if depth > DEPTH_MAX:
            raise too_deep()
        for name in sorted(os.listdir(folder)):
            raw = os.fsencode(name)
            if is_git_name(raw):
                raise git_name(name)
            self._add_one(name, folder, top + raw, depth)

    def _add_one(self, name: str, folder: int, path: bytes, depth: int) -> None:
        about = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if stat.S_ISDIR(about.st_mode):
            self.sink.add_folder(path)
            permit(name, folder)
            inner = open_folder(name, folder)
            try:
                self.add(inner, path + b"/", depth + 1)
            finally:
                os.close(inner)
        elif stat.S_ISLNK(about.st_mode):
            target = os.readlink(name, dir_fd=folder)
            self.sink.add_link(path, os.fsencode(target))
        elif stat.S_ISREG(about.st_mode):
            self._add_file(name, folder, path)
        else:
            raise taken_over(f"{name!r}, which is no file, folder or link")

    def _add_file(self, name: str, folder: int, path: bytes) -> None:
        number = open_file(name, folder)
        try:
            is_program = bool(os.fstat(number).st_mode & stat.S_IXUSR)
            self.sink.add_file(path, number, is_program)
        finally:
            os.close(number)
