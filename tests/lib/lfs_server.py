"""Git LFS beside a GitServer: its batch API and objects, honest or not.

    lfs = LfsServer(server)
    pointer = lfs.put(b"content")       # the pointer's text
    lfs.serve(made)                     # the batch API of a Repository

A test changes what the server says by `change`, which gets the answer as it
would be sent.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any, Callable, Optional

from git_server import GitServer, Repository, say

VERSION = "version https://git-lfs.github.com/spec/v1\n"


def pointer_of(content: bytes, size: int = -1, oid: str = "") -> str:
    """Return the pointer of a content, or one that lies."""
    oid = oid or hashlib.sha256(content).hexdigest()
    size = len(content) if size < 0 else size
    return f"{VERSION}oid sha256:{oid}\nsize {size}\n"


class LfsServer:
    """The objects, and what was asked for."""

    def __init__(self, server: GitServer) -> None:
        self.server = server
        self.objects: dict[str, bytes] = {}
        self.batches: list[dict[str, Any]] = []
        self.heads: list[dict[str, str]] = []  # of requests for objects
        self.header: Any = {}  # that each object's request is to have
        self.change: Optional[Callable[[dict[str, Any]], Any]] = None

    def put(self, content: bytes, name: str = "") -> str:
        """Serve a content, perhaps under another's name."""
        oid = name or hashlib.sha256(content).hexdigest()
        self.objects[oid] = content
        self.server.scripts[f"/objects/{oid}"] = self._script(content)
        return pointer_of(content, oid=oid)

    def _script(self, content: bytes) -> Callable[[Any], None]:
        def script(handler: Any) -> None:
            self.heads.append(
                {k.lower(): v for k, v in handler.headers.items()}
            )
            say(content, "application/octet-stream")(handler)

        return script

    def serve(self, made: Repository) -> str:
        """Answer batches of that repository; return the path."""
        path = f"/{made.path.name}/info/lfs/objects/batch"
        self.server.scripts[path] = self.answer
        return path

    def answer(self, handler: Any) -> None:
        asked = json.loads(handler.body())
        self.batches.append(asked)
        assert handler.headers["accept"] == "application/vnd.git-lfs+json"
        answer: Any = {
            "transfer": "basic",
            "objects": [self._describe(one) for one in asked["objects"]],
        }
        if self.change:
            answer = self.change(answer)
        content = (
            answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        )
        handler.headers.replace_header("content-length", "0")
        say(content, "application/vnd.git-lfs+json")(handler)

    def _describe(self, one: dict[str, Any]) -> dict[str, Any]:
        if one["oid"] not in self.objects:
            error = {"code": 404, "message": "Object does not exist"}
            return {**one, "error": error}
        action = {
            "href": self.server.url(f"/objects/{one['oid']}"),
            "header": self.header,
        }
        return {**one, "actions": {"download": action}}
