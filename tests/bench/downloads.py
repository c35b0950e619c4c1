"""What comes from outside: packages, a large file, a repository."""

from __future__ import annotations

from collections.abc import Iterator

import copying
import installing
from fake_files import FakeFiles
from fake_index import FakeIndex
from figures import Figure
from git_server import GitServer
from outside import find, open_place
from sides import Hearth

SETTINGS = """\
packages
    dir = {disk}/packages
fetch
    dir = {memory}/fetch
profile
    python3
        packages
            index = {index}
        fetch
            allow = {files}, {repositories}
"""


def measure_downloads(side: Hearth, rounds: int) -> Iterator[list[Figure]]:
    """Start a gateway that may have what the servers here serve."""
    side.scratch.chmod(0o711)  # users of sessions reach their packages by it
    few = min(rounds, 5)
    with (
        open_place(side.scratch) as place,
        FakeIndex() as index,
        FakeFiles() as files,
        GitServer(place.path) as repositories,
    ):
        installing.fill(index)
        settings = SETTINGS.format(
            disk=side.scratch,
            memory=place.path,
            index=index.url,
            files=files.place,
            repositories=repositories.place,
        )
        with side.another(settings=settings, top=place.path) as gateway:
            yield copying.measure_file(gateway, place, files, few)
            if find("git"):
                yield copying.measure_repository(
                    gateway, place, repositories, few
                )
            if find("uv"):
                folder = side.scratch
                yield from installing.measure_installing(
                    gateway, folder, index, rounds
                )
