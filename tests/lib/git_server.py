"""A server of git repositories over HTTP on 127.0.0.1, honest or not.

    with GitServer(path) as server:
        made = server.make("a.git")
        made.commit({"file": "content"})
        ... made.url ...

It is Python's server with `git http-backend`. A path may also have a function
that does what it likes with the connection.
"""

from __future__ import annotations

import hashlib
import ssl
import subprocess
import threading
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Callable, Mapping, Optional, Union

ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": "/nonexistent",
    "LC_ALL": "C",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_AUTHOR_NAME": "An Author",
    "GIT_AUTHOR_EMAIL": "author@example.org",
    "GIT_AUTHOR_DATE": "1700000000 +0000",
    "GIT_COMMITTER_NAME": "An Author",
    "GIT_COMMITTER_EMAIL": "author@example.org",
    "GIT_COMMITTER_DATE": "1700000000 +0000",
}
Content = Union[str, bytes]
Name = Union[str, bytes]
Files = Union[Mapping[str, Any], Mapping[bytes, Any], Mapping[Name, Any]]


def git(folder: Path, *words: Name, given: bytes = b"") -> str:
    """Run a command in a repository; return what it says."""
    done = subprocess.run(
        ["git", "-c", "safe.directory=*", *words],
        cwd=folder,
        env=ENVIRONMENT,
        input=given,
        capture_output=True,
        timeout=120,
    )
    assert done.returncode == 0, (words, done.stderr)
    return done.stdout.decode("utf-8", "surrogateescape").strip()


class Repository:
    """A bare repository, to which a test adds objects without a tree.

    It writes them itself, because a git for each takes longer than the rest.
    """

    def __init__(self, path: Path, url: str, *options: str) -> None:
        path.mkdir()
        self.path = path
        self.url = url
        words = ("init", "-q", "--bare", "-b", "main", "--template=")
        git(path, *words, *options)
        with (path / "config").open("a") as file:
            file.write("[uploadpack]\n")
            file.write("\tallowAnySHA1InWant = true\n\tallowFilter = true\n")
        is_long = "--object-format=sha256" in options
        self.algorithm = "sha256" if is_long else "sha1"

    def git(self, *words: Name, given: bytes = b"") -> str:
        return git(self.path, *words, given=given)

    def write(self, kind: str, content: bytes) -> str:
        """Write an object, whatever git thinks of it; return its hash."""
        raw = b"%s %d\0%s" % (kind.encode(), len(content), content)
        name = hashlib.new(self.algorithm, raw).hexdigest()
        file = self.path / "objects" / name[:2] / name[2:]
        if not file.exists():
            file.parent.mkdir(exist_ok=True)
            file.write_bytes(zlib.compress(raw, 1))
        return name

    def blob(self, content: Content) -> str:
        raw = content.encode() if isinstance(content, str) else content
        return self.write("blob", raw)

    def tree(self, entries: list[tuple[str, str, bytes]]) -> str:
        """Write a tree of (mode, hash, name), whatever git thinks of it."""
        rows = sorted(entries, key=lambda e: e[2] + b"/" * (e[0] == "40000"))
        raw = b"".join(
            b"%s %s\0%s" % (mode.encode(), name, bytes.fromhex(value))
            for mode, value, name in rows
        )
        return self.write("tree", raw)

    def nest(self, files: Files) -> str:
        """Write the trees of paths; a value is a content or (mode, content)."""
        here: list[tuple[str, str, bytes]] = []
        below: dict[bytes, dict[Name, Any]] = {}
        for path, value in files.items():
            raw = path.encode() if isinstance(path, str) else path
            top, slash, rest = raw.partition(b"/")
            if slash:
                below.setdefault(top, {})[rest] = value
                continue
            mode, content = (
                value if isinstance(value, tuple) else ("100644", value)
            )
            is_link = mode == "160000"
            here.append((mode, content if is_link else self.blob(content), raw))
        here += [("40000", self.nest(v), k) for k, v in below.items()]
        return self.tree(here)

    def commit(
        self, files: Files, branch: str = "main", parent: str = ""
    ) -> str:
        """Make a commit of these files alone; return its hash."""
        parent = parent or self.find_branch(branch)
        lines = [f"tree {self.nest(files)}"]
        lines += [f"parent {parent}"] * bool(parent)
        for role in ("AUTHOR", "COMMITTER"):
            name, email, date = (
                ENVIRONMENT[f"GIT_{role}_{part}"]
                for part in ("NAME", "EMAIL", "DATE")
            )
            lines.append(f"{role.lower()} {name} <{email}> {date}")
        lines += ["", "a message", ""]
        made = self.write("commit", "\n".join(lines).encode())
        file = self.path / "refs" / "heads" / branch
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{made}\n")
        return made

    def find_branch(self, branch: str) -> str:
        """Return its last commit; "" if there is no such branch."""
        file = self.path / "refs" / "heads" / branch
        if file.exists():
            return file.read_text().strip()
        if not (self.path / "packed-refs").exists():
            return ""
        return self.find(f"refs/heads/{branch}")

    def find(self, name: str) -> str:
        try:
            return self.git("rev-parse", "-q", "--verify", name)
        except AssertionError:
            return ""


Script = Callable[["_Handler"], None]


class _Handler(BaseHTTPRequestHandler):
    """One connection; `server.owner` is the GitServer."""

    protocol_version = "HTTP/1.1"
    server: Any

    def log_message(self, *_: object) -> None:
        pass

    def _serve(self) -> None:
        owner: GitServer = self.server.owner
        path = self.path.partition("?")[0]
        owner.asked.append(f"{self.command} {path}")
        self.close_connection = True
        script = owner.scripts.get(path)
        if script is not None:
            script(self)
        else:
            self.serve_git()

    do_GET = do_POST = _serve

    def body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("content-length", 0)))

    def serve_git(self) -> None:
        """Answer as an honest server."""
        owner: GitServer = self.server.owner
        path, _, query = self.path.partition("?")
        environment = {
            **ENVIRONMENT,
            "GIT_PROJECT_ROOT": str(owner.path),
            "GIT_HTTP_EXPORT_ALL": "1",
            "REQUEST_METHOD": self.command,
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "CONTENT_TYPE": self.headers.get("content-type", ""),
            "HTTP_CONTENT_ENCODING": self.headers.get("content-encoding", ""),
            "GIT_PROTOCOL": self.headers.get("git-protocol", ""),
            "REMOTE_ADDR": "127.0.0.1",
        }
        done = subprocess.run(
            ["git", "-c", "safe.directory=*", "http-backend"],
            env=environment,
            input=self.body(),
            capture_output=True,
        )
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        lines = head.decode().split("\r\n")
        status = next((x for x in lines if x.startswith("Status: ")), "")
        self.send_response(int(status[8:11]) if status else 200)
        for line in lines:
            name, _, value = line.partition(": ")
            if name and name != "Status":
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        owner.sent += len(content)
        self.wfile.write(content)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    owner: GitServer

    def finish_request(self, request: Any, client_address: Any) -> None:
        if self.owner.tls:
            request = self.owner.tls.wrap_socket(request, server_side=True)
        super().finish_request(request, client_address)

    def handle_error(self, *_: object) -> None:
        pass  # the client has gone


class GitServer:
    """The server; `tls` makes it one with https."""

    def __init__(
        self, path: Path, tls: Optional[ssl.SSLContext] = None
    ) -> None:
        self.path = path
        self.tls = tls
        self.asked: list[str] = []
        self.sent = 0  # bytes of answers of git
        self.scripts: dict[str, Script] = {}
        self.ended = threading.Event()  # for scripts that wait
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.owner = self
        self.place = f"127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(
            target=self._server.serve_forever, args=(0.05,), daemon=True
        ).start()
        self._made = 0

    def __enter__(self) -> GitServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        self._server.shutdown()
        self._server.server_close()

    def url(self, path: str) -> str:
        return f"{'https' if self.tls else 'http'}://{self.place}{path}"

    def make(self, name: str = "", *options: str) -> Repository:
        """Make an empty repository, with a name of its own."""
        self._made += 1
        name = name or f"r{self._made}.git"
        return Repository(self.path / name, self.url(f"/{name}"), *options)


def say(content: bytes, kind: str = "text/html", status: int = 200) -> Script:
    """Return a script that answers with that."""

    def script(handler: _Handler) -> None:
        handler.body()
        handler.send_response(status)
        handler.send_header("Content-Type", kind)
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content)

    return script


def redirect(target: str) -> Script:
    """Return a script that leads elsewhere."""

    def script(handler: _Handler) -> None:
        handler.send_response(302)
        handler.send_header("Location", target)
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    return script
