"""A site that hosts JupyterLab's front end on hearth: one address, which
forwards requests about kernels to hearth, and the rest to another server."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

HEAD_MAX = 1 << 20
KERNELS = (
    "/api/kernels",
    "/api/kernelspecs",
    "/api/sessions",
    "/kernelspecs/",
    "/hearth/",
    "/api/terminals",
    "/terminals/",
)
FILES = ("/api/contents", "/files/")


class Proxy:
    """A connection carries one request, so nothing in it is looked at but the
    first head."""

    def __init__(
        self, hearth: str, token: str, rest: str, prefixes: tuple[str, ...]
    ) -> None:
        self.prefixes = prefixes
        self.hearth = urlsplit(hearth).port
        self.rest = urlsplit(rest).port
        self.token = token
        self.port = 0
        self.asked: list[str] = []

    def rewrite(self, head: bytes) -> tuple[int, bytes]:
        lines = head.decode("latin-1").split("\r\n")
        path = lines[0].split(" ")[1]
        is_upgrade = any(ln.lower() == "upgrade: websocket" for ln in lines)
        port = self.hearth if path.startswith(self.prefixes) else self.rest
        assert port
        kept = [lines[0]]
        for line in lines[1:-2]:
            name = line.partition(":")[0].lower()
            if name == "connection" and not is_upgrade:
                continue
            if name == "authorization" and port == self.hearth:
                continue
            kept.append(line)
        if not is_upgrade:
            kept.append("Connection: close")
        if port == self.hearth:
            self.asked.append(lines[0])
            kept.append(f"Authorization: token {self.token}")
        return port, "\r\n".join([*kept, "", ""]).encode("latin-1")

    async def serve(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        upstream = None
        try:
            port, head = self.rewrite(await reader.readuntil(b"\r\n\r\n"))
            there, upstream = await asyncio.open_connection("127.0.0.1", port)
            upstream.write(head)
            ways = [copy(reader, upstream), copy(there, writer)]
            tasks = [asyncio.ensure_future(way) for way in ways]
            # The server's end ends both.
            await tasks[1]
            tasks[0].cancel()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            for end in (writer, upstream):
                if end:
                    end.close()

    async def run(self, ready: threading.Event) -> None:
        server = await asyncio.start_server(
            self.serve, "127.0.0.1", 0, limit=HEAD_MAX
        )
        self.port = server.sockets[0].getsockname()[1]
        self.loop = asyncio.get_running_loop()
        self.stop = asyncio.Event()
        ready.set()
        await self.stop.wait()
        server.close()


async def copy(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    try:
        while piece := await reader.read(65536):
            writer.write(piece)
            await writer.drain()
    except OSError:
        pass


@contextmanager
def hosted(
    hearth: str, token: str, rest: str, with_files: bool = False
) -> Iterator[Proxy]:
    prefixes = KERNELS + FILES if with_files else KERNELS
    proxy = Proxy(hearth, token, rest, prefixes)
    ready = threading.Event()
    # What is still open at the end is cancelled by asyncio.run.
    thread = threading.Thread(target=lambda: asyncio.run(proxy.run(ready)))
    thread.start()
    try:
        assert ready.wait(60)
        yield proxy
    finally:
        proxy.loop.call_soon_threadsafe(proxy.stop.set)
        thread.join(60)
