"""A large file beside curl, and a repository beside git, from the same server.

hearth has the file in the workspace at the end, with its hash, and once more in
its cache. It has checked a repository as `git fsck` does.
"""

from __future__ import annotations

import random
import shutil
import socket
from functools import partial
from pathlib import Path

from fake_files import Asked, FakeFiles, Script
from figures import OURS, Figure
from git_server import GitServer, Repository
from installing import make_text
from outside import Place, find, run, timed
from sides import Hearth, kernel_of

PIECE = 1_000_000
SO_MAX_PACING_RATE = 47  # bytes a second; Python has no name for it
GIGABIT = 125_000_000
# Bytes a second, 0 for all that there are, and the least ratio to curl. Its 1.2
# times are reached over a link alone.
RATES = {"over loopback": (0, 0.3), "at 1 Gbit/s": (GIGABIT, 1 / 1.2)}
CLEAR = """\
import os, shutil
for name in os.listdir():
    shutil.rmtree(name) if os.path.isdir(name) else os.remove(name)"""
FILES, COMMITS, CHANGES = 2000, 400, 9


def serve_large(path: Path, size: int, rate: int) -> Script:
    """Return a script that sends the file without a copy in Python.

    The system sends no more than `rate` bytes a second, if that is not 0.
    """

    def serve(client: socket.socket, asked: Asked) -> None:
        if rate:
            client.setsockopt(socket.SOL_SOCKET, SO_MAX_PACING_RATE, rate)
        head = f"HTTP/1.1 200 OK\r\nContent-Length: {size}\r\n\r\n"
        client.sendall(head.encode())
        with path.open("rb") as file:
            client.sendfile(file)

    return serve


def fetch(side: Hearth, **order: object) -> float:
    """Return how long a new session waits for it, in ms.

    A session's workspace stays when it has ended, so the file is removed.
    """
    with kernel_of(side) as kernel:
        about = {"id": kernel.id, "order": "fetch", **order}
        took = timed(lambda: side.ask("fetch", about))
        kernel.client.execute(CLEAR)
        return took


def forget(place: Place) -> None:
    """Remove what is kept for all sessions; no job uses it."""
    for path in (place.path / "fetch" / "work").iterdir():
        if path.is_dir():
            shutil.rmtree(path)


def measure_file(
    side: Hearth, place: Place, server: FakeFiles, rounds: int
) -> list[Figure]:
    """As fast as the loopback is, and as a link of 1 Gbit/s is."""
    curl = find("curl")
    source, target = place.path / "large", place.path / "curl-has"
    piece = random.Random(7).randbytes(PIECE)
    with source.open("wb") as file:
        for _ in range(place.file_bytes // PIECE):
            file.write(piece)
    figures = []
    for name, (rate, least) in RATES.items():
        figure = Figure(
            f"a large file fetched, {name}", "ms", "1.2x of curl", least=least
        )
        figure.note = place.note
        url = server.url(f"/large-{rate}")
        server.scripts[f"/large-{rate}"] = serve_large(
            source, place.file_bytes, rate
        )
        for _ in range(rounds):
            figure.add(OURS, fetch(side, url=url))
            forget(place)
            if curl:
                words = (curl, "-sSf", "-o", target, url)
                figure.add("curl", timed(partial(run, *words)))
                target.unlink()
        figures.append(figure)
    source.unlink()
    return figures


def fill(made: Repository) -> None:
    """Write the commits by one program, and pack them as a host does."""
    chance = random.Random(7)
    lines = []
    for number in range(COMMITS):
        lines.append(
            "commit refs/heads/main\n"
            f"committer A <a@example.org> {1_700_000_000 + number} +0000\n"
            "data 1\nx\n"
        )
        count = CHANGES if number else FILES
        for file in chance.sample(range(FILES), count):
            text = make_text(chance, 6000)
            lines.append(
                f"M 100644 inline d{file % 40}/f{file}.py\n"
                f"data {len(text)}\n{text}\n"
            )
    made.git("fast-import", "--quiet", given="".join(lines).encode())
    made.git("repack", "-adq")


def measure_repository(
    side: Hearth, place: Place, server: GitServer, rounds: int
) -> list[Figure]:
    """Copy it where it never was, and once more from the mirror."""
    new = Figure("a repository cloned", "ms", "", least=0.4)
    again = Figure("the same from the mirror", "ms", "", least=0.75)
    new.note = f"{FILES} files, {COMMITS} commits"
    target = place.path / "git-has"
    made = server.make()
    fill(made)
    for _ in range(rounds):
        forget(place)
        for figure in (new, again):
            figure.add(OURS, fetch(side, kind="repository", url=made.url))
            words = ("git", "clone", "-q", made.url, target)
            figure.add("git", timed(lambda: run(*words)))
            shutil.rmtree(target)
    return [new, again]
