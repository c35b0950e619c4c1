"""A session's files: the folder in which its code runs."""

from __future__ import annotations

import base64
from typing import Any, Union
from urllib.parse import quote
from uuid import uuid4

import httpx

from hearth._answers import error_of, json_of
from hearth._async.link import AsyncSessionLink
from hearth.errors import (
    FileDenied,
    FileExists,
    FileNotFound,
    HearthError,
    PathRefused,
    WorkspaceFull,
)
from hearth.values import (
    ClonedRepository,
    FetchedFile,
    FileInfo,
    cloned_repository,
    fetched_file,
    file_info,
)

_PIECE = 4 << 20  # bytes of a file that one request writes
_FETCH_SECONDS = 7200.0  # that the gateway gives a fetch, and one before it
_MEANINGS: dict[int, type[HearthError]] = {
    400: PathRefused,
    403: FileDenied,
    404: FileNotFound,
    409: FileExists,
    507: WorkspaceFull,
}


class AsyncFiles:
    """Session.files. Paths begin at the session's folder, with `/` between
    names. The files of a session that is gone are there while they are kept.

    Every method raises FileNotFound, PathRefused (a link, `..`, a device),
    FileDenied, and what any request of the session raises; those that write
    raise FileExists and WorkspaceFull.
    """

    def __init__(self, session: AsyncSessionLink) -> None:
        self._session = session
        self._root = f"workspaces/{session.id}"

    def _below(self, path: str) -> str:
        """Return the path below the gateway's folder of workspaces. A URL's
        `..` would lead to another session's files."""
        names = [name for name in path.split("/") if name not in ("", ".")]
        if ".." in names:
            raise PathRefused(f"{path!r} has `..` in it.")
        return "/".join([self._root, *names])

    def _path(self, path: str) -> str:
        return quote(self._below(path), safe="/")

    async def _ask(
        self, method: str, path: str, **options: Any
    ) -> httpx.Response:
        response = await self._session.transport.send(method, path, **options)
        if response.status_code < 300:
            return response
        if response.status_code == 404:
            await self._session.info()  # raises SessionUnknown
        raise error_of(response, _MEANINGS)

    async def read(self, path: str) -> bytes:
        """Return a file's bytes."""
        return (await self._ask("GET", f"/files/{self._path(path)}")).content

    async def read_text(self, path: str, encoding: str = "utf-8") -> str:
        """Return a file's text."""
        return (await self.read(path)).decode(encoding)

    async def write(self, path: str, data: Union[bytes, str]) -> None:
        """Write a file; what was there is replaced when all has arrived.
        Folders above it are made."""
        content = data.encode() if isinstance(data, str) else data
        try:
            await self._write(path, content)
        except FileNotFound:
            folder = path.strip("/").rpartition("/")[0]
            if not folder:
                raise
            await self.make_folder(folder)
            await self._write(path, content)

    async def _write(self, path: str, content: bytes) -> None:
        pieces = range(0, len(content), _PIECE) or range(1)
        for number, start in enumerate(pieces, 1):
            piece = content[start : start + _PIECE]
            body: dict[str, Any] = {
                "type": "file",
                "format": "base64",
                "content": base64.b64encode(piece).decode(),
            }
            if len(pieces) > 1:
                body["chunk"] = -1 if number == len(pieces) else number
            # A last piece that is sent twice would be refused.
            await self._ask(
                "PUT",
                f"/api/contents/{self._path(path)}",
                is_safe=len(pieces) == 1,
                json=body,
            )

    async def list(self, path: str = "") -> list[FileInfo]:
        """List a folder by name, without hidden files and links."""
        model = await self._model(path, content=1, type="directory")
        entries = [file_info(entry, self._root) for entry in model["content"]]
        return sorted(entries, key=lambda entry: entry.name)

    async def info(self, path: str) -> FileInfo:
        """Describe a file or a folder."""
        return file_info(await self._model(path, content=0), self._root)

    async def exists(self, path: str) -> bool:
        """Return whether there is such a file or folder."""
        try:
            await self.info(path)
        except FileNotFound:
            return False
        return True

    async def make_folder(self, path: str) -> None:
        """Make a folder and those above it; one that is there stays."""
        made = ""
        for name in path.strip("/").split("/"):
            made = f"{made}/{name}"
            await self._ask(
                "PUT",
                f"/api/contents/{self._path(made)}",
                json={"type": "directory"},
            )

    async def rename(self, path: str, to: str) -> None:
        """Give a file another path; nothing is replaced (FileExists)."""
        await self._ask(
            "PATCH",
            f"/api/contents/{self._path(path)}",
            json={"path": self._below(to)},
        )

    async def remove(self, path: str, recursive: bool = False) -> None:
        """Remove a file, an empty folder, or with `recursive` what is in a
        folder too."""
        if recursive and (await self.info(path)).is_folder:
            for entry in await self.list(path):
                await self.remove(entry.path, recursive=True)
        await self._ask("DELETE", f"/api/contents/{self._path(path)}")

    async def fetch(
        self, url: str, path: str = "", sha256: str = ""
    ) -> FetchedFile:
        """Fetch a file from outside; the session needs no network. Returns
        when it is there; what was there is replaced.

        Without `path`, or below one that ends with a slash, the URL's last
        part is its name. A file with another hash than `sha256` is refused. If
        the connection breaks, the file is asked for again: the gateway goes on
        with what has come.

        Raises FetchRefused and FetchUnreachable, too."""
        body: dict[str, Any] = {"url": url, "path": path}
        if sha256:
            body["sha256"] = sha256
        return fetched_file(await self._bring(body))

    async def clone(
        self,
        url: str,
        path: str = "",
        ref: str = "",
        depth: int = 0,
        lfs: bool = False,
        submodules: bool = False,
    ) -> ClonedRepository:
        """Clone a git repository from outside; the session needs no network.
        Returns when it is there. A folder in which something is stays, and is
        refused (FileExists).

        Without `path`, or below one that ends with a slash, the URL's last
        part is the folder's name, without `.git`. `ref` is a branch, a tag or
        the whole hash of a commit; "" is what the server has checked out.
        `depth` is a number of commits; 0 is all. With `lfs` the files of Git
        LFS have their contents; otherwise they are pointers. With `submodules`
        these come, too, if the profile permits that. If the connection breaks,
        the repository is asked for again. It is cloned once; but if the
        gateway was started again meanwhile, one that is there is FileExists.

        Raises FetchRefused and FetchUnreachable, too."""
        body: dict[str, Any] = {"kind": "repository", "url": url, "path": path}
        if ref:
            body["ref"] = ref
        if depth:
            body["depth"] = depth
        if lfs:
            body["lfs"] = True
        if submodules:
            body["submodules"] = True
        return cloned_repository(await self._bring(body))

    async def _bring(self, body: dict[str, Any]) -> Any:
        response = await self._session.transport.send(
            "POST",
            f"/hearth/sessions/{self._session.id}/fetches",
            is_safe=True,
            seconds=2 * _FETCH_SECONDS,
            json={**body, "key": uuid4().hex},
        )
        if response.status_code == 200:
            return json_of(response)
        raise await self._session.error_of(response)

    async def _model(self, path: str, **query: Any) -> Any:
        response = await self._ask(
            "GET", f"/api/contents/{self._path(path)}", params=query
        )
        return json_of(response)
