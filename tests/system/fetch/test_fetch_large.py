"""A file of more than 4 GiB: no number of it fits 32 bits."""

from __future__ import annotations

import hashlib
import os
import shutil
import socket
from pathlib import Path

import pytest
from fake_files import Asked, FakeFiles
from fetching import Folder

SIZE = (4 << 30) + 4321
BROKEN_AT = (4 << 30) + 1000
NEEDED = 10 << 30  # of the disk: for the file, and as much again
PIECE = bytes(16 << 20)
END = b"the end of it"
SECONDS = 900  # a busy machine may take them


class Sparse:
    """A server's file: zeros, and an end; its first answer breaks off."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.firsts: list[int] = []  # where the answers began
        with path.open("wb") as file:
            file.seek(SIZE - len(END))
            file.write(END)

    def serve(self, client: socket.socket, asked: Asked) -> None:
        if "if-none-match" in asked.fields:
            client.sendall(b'HTTP/1.1 304 Not Modified\r\nETag: "1"\r\n\r\n')
            return
        found = asked.fields.get("range", "bytes=0-")
        first = int(found.removeprefix("bytes=").removesuffix("-"))
        status, more = "200 OK", ""
        if first:
            status = "206 Partial Content"
            more = f"Content-Range: bytes {first}-{SIZE - 1}/{SIZE}\r\n"
        length = f"Content-Length: {SIZE - first}\r\n"
        head = f'HTTP/1.1 {status}\r\nETag: "1"\r\n{length}{more}\r\n'
        client.sendall(head.encode())
        stop = SIZE if self.firsts else BROKEN_AT
        self.firsts.append(first)
        with self.path.open("rb") as file:
            client.sendfile(file, first, stop - first)


def digest_of_file() -> str:
    found = hashlib.sha256()
    zeros = SIZE - len(END)
    while zeros:
        found.update(memoryview(PIECE)[: min(zeros, len(PIECE))])
        zeros -= min(zeros, len(PIECE))
    found.update(END)
    return found.hexdigest()


@pytest.mark.deep  # it writes and reads 4 GiB
def test_a_file_of_more_than_4_gib(
    folder: Folder, server: FakeFiles, place: Path
) -> None:
    free = shutil.disk_usage(place).free
    if free < NEEDED:
        pytest.skip(f"{place} has {free} bytes left, and it needs {NEEDED}")
    sparse = Sparse(place / "large")
    server.scripts["/large"] = sparse.serve
    limit = {"max_bytes": 5 << 30}
    run = folder.start(server.url("/large"), **limit)
    ok, (number,) = run.reply(SECONDS)
    with open(number, "rb") as file:
        assert os.fstat(number).st_size == ok["size"] == SIZE
        file.seek(SIZE - len(END) - 1)
        assert file.read() == b"\0" + END
    assert sparse.firsts == [0, BROKEN_AT]
    assert ok["sha256"] == digest_of_file()
    assert {"bytes", "total"} == set(run.progress[-1])
    assert run.progress[-1]["total"] == SIZE
    assert folder.objects() == [ok["sha256"]]
    # From the cache, and not by a session whose files are smaller.
    ok, (number,) = folder.start(server.url("/large"), **limit).reply(SECONDS)
    os.close(number)
    assert ok["size"] == SIZE
    refused = folder.refuse(server.url("/large"), max_bytes=4 << 30)
    assert refused.ename == "FetchRefused"
    assert "max_bytes permits" in refused.text
    assert sparse.firsts == [0, BROKEN_AT]
