"""A package index for tests: PEP 691 over HTTP on 127.0.0.1, made in memory.

    with FakeIndex() as index:
        index.add("humanize", "4.0", requires=["tzdata>=1"])
        ... index.url ...
        assert index.count("/files/") == 1

An index, or one of its files, can also lie: see `FakeIndex` and `Release`.
"""

from __future__ import annotations

import base64
import datetime
import gzip
import hashlib
import http.server
import io
import json
import re
import ssl
import stat
import struct
import tarfile
import threading
import zipfile
import zlib
from dataclasses import dataclass, field
from typing import Any, Mapping, Optional, Union
from urllib.parse import unquote, urlsplit

JSON_TYPE = "application/vnd.pypi.simple.v1+json"
CHUNK = 64 * 1024


@dataclass
class Member:
    """A member of a wheel that an honest tool would not write."""

    name: str
    content: bytes = b""
    mode: int = stat.S_IFREG | 0o644

    @classmethod
    def link(cls, name: str, target: str) -> Member:
        """Return a symbolic link."""
        return cls(name, target.encode(), stat.S_IFLNK | 0o777)


@dataclass
class Release:
    """One file of the index, and how the index lies about it."""

    filename: str
    content: bytes
    metadata: bytes
    uploaded: Optional[datetime.datetime]
    requires_python: Optional[str] = None
    yanked: Union[bool, str] = False  # or why it was
    sha256: str = ""
    redirect: Optional[str] = None  # where a request for the file is sent
    url: Optional[str] = None  # what the page says where the file is
    endless: bool = False  # the file's answer never ends
    silent: bool = False  # a request for the file gets no answer
    late: float = 0  # seconds until a request for the file gets its answer
    has_metadata: bool = True  # PEP 658
    other_metadata: Optional[bytes] = None  # what the index serves as that
    says: dict[str, Any] = field(default_factory=dict)  # in its entry
    length: Optional[str] = None  # what the answer says of its length; "": none

    @property
    def served(self) -> bytes:
        """Return the metadata beside the file."""
        other = self.other_metadata
        return self.metadata if other is None else other

    def describe(self) -> dict[str, Any]:
        """Return its entry in the page of the project."""
        entry: dict[str, Any] = {
            "filename": self.filename,
            "url": self.url or f"/files/{self.filename}",
            "hashes": {"sha256": self.sha256},
            "size": len(self.content),
            "yanked": self.yanked,
        }
        if self.requires_python:
            entry["requires-python"] = self.requires_python
        if self.uploaded:
            entry["upload-time"] = self.uploaded.strftime(
                "%Y-%m-%dT%H:%M:%S.%fZ"
            )
        if self.has_metadata:
            digest = hashlib.sha256(self.served).hexdigest()
            entry["core-metadata"] = {"sha256": digest}
        return {**entry, **self.says}


def normalise(name: str) -> str:
    """Return the name as PEP 503 has it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def make_metadata(
    name: str, version: str, requires: list[str], extras: dict[str, list[str]]
) -> bytes:
    """Return the text of METADATA."""
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
    lines += [f"Requires-Dist: {one}" for one in requires]
    for extra, needs in extras.items():
        lines.append(f"Provides-Extra: {extra}")
        lines += [f"Requires-Dist: {one}; extra == '{extra}'" for one in needs]
    return "\n".join([*lines, "", ""]).encode()


def make_wheel(
    folder: str, metadata: bytes, members: list[Member], tag: str
) -> bytes:
    """Return a wheel; `folder` is its `.dist-info`."""
    whole = [
        *members,
        Member(f"{folder}/METADATA", metadata),
        Member(
            f"{folder}/WHEEL",
            b"Wheel-Version: 1.0\nGenerator: tests\n"
            b"Root-Is-Purelib: true\n" + f"Tag: {tag}\n".encode(),
        ),
    ]
    record = "".join(f"{one.name},{digest(one)}\n" for one in whole)
    whole.append(
        Member(f"{folder}/RECORD", f"{record}{folder}/RECORD,,\n".encode())
    )
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for member in whole:
            about = zipfile.ZipInfo(member.name, (2024, 1, 1, 0, 0, 0))
            about.external_attr = member.mode << 16
            about.create_system = 3
            about.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(about, member.content)
    return out.getvalue()


def add_empty_files(wheel: bytes, folder: str, count: int) -> bytes:
    """Return the wheel with further files, which RECORD does not have.

    zipfile would take a minute for a million.
    """
    with zipfile.ZipFile(io.BytesIO(wheel)) as archive:
        start, own = archive.start_dir, len(archive.infolist())
    end = wheel.rindex(b"PK\5\6")
    locals_, central = [wheel[:start]], [wheel[start:end]]
    offset = start
    for number in range(count):
        name = f"{folder}/{number}".encode()
        # Version 20, stored, on 1 January 2024; no bytes, so no CRC.
        about = struct.pack(
            "<HHHHHLLLHH", 20, 0, 0, 0, 0x5821, 0, 0, 0, len(name), 0
        )
        locals_ += [b"PK\3\4", about, name]
        mode = (stat.S_IFREG | 0o644) << 16
        place = struct.pack("<HHHLL", 0, 0, 0, mode, offset)
        central += [b"PK\1\2", struct.pack("<H", 0x314), about, place, name]
        offset += 4 + len(about) + len(name)
    index = b"".join(central)
    count += own
    ends = [
        struct.pack(
            "<4sQHHLLQQQQ",
            *(b"PK\6\6", 44, 45, 45, 0, 0, count, count, len(index), offset),
        ),
        struct.pack("<4sLQL", b"PK\6\7", 0, offset + len(index), 1),
        struct.pack(
            "<4sHHHHLLH",
            *(b"PK\5\6", 0, 0, 0xFFFF, 0xFFFF, len(index), 0xFFFFFFFF, 0),
        ),
    ]
    return b"".join([*locals_, index, *ends])


def digest(member: Member) -> str:
    """Return what RECORD says of a member."""
    found = hashlib.sha256(member.content).digest()
    text = base64.urlsafe_b64encode(found).rstrip(b"=").decode()
    return f"sha256={text},{len(member.content)}"


def make_sdist(folder: str, metadata: bytes) -> bytes:
    """Return a source archive; to build it would leave a trace."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for name, content in (
            ("PKG-INFO", metadata),
            ("setup.py", b"open('/workspace/built', 'w'); raise SystemExit\n"),
        ):
            about = tarfile.TarInfo(f"{folder}/{name}")
            about.size = len(content)
            archive.addfile(about, io.BytesIO(content))
    return out.getvalue()


@dataclass
class FakeIndex:
    """The index. Its members may be changed while it runs, but for `tls`."""

    tls: Optional[ssl.SSLContext] = None  # https
    says_times: bool = True  # else the index has no upload times
    html: bool = False  # PEP 503 instead of PEP 691
    redirect: Optional[str] = None  # where every request for a page is sent
    status: int = 200  # of every page
    failures: list[int] = field(default_factory=list)  # of the next; 0: cut
    statuses: dict[str, dict[str, str]] = field(default_factory=dict)  # PEP 792
    zips: bool = False  # pages are compressed
    user: str = ""  # "USER:PASSWORD" that each request needs
    denies: int = 401  # the status of a request without it
    users: list[str] = field(default_factory=list)  # that requests had, or ""
    releases: dict[str, list[Release]] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)  # every path asked for

    def __post_init__(self) -> None:
        self.ended = threading.Event()
        self.server = _Server(("127.0.0.1", 0), _Handler)
        self.server.index = self
        self.port: int = self.server.server_address[1]
        self.thread = threading.Thread(
            target=self.server.serve_forever, args=(0.05,), daemon=True
        )
        self.thread.start()

    @property
    def url(self) -> str:
        """Return the URL of the simple index."""
        scheme = "https" if self.tls else "http"
        return f"{scheme}://127.0.0.1:{self.port}/simple/"

    def __enter__(self) -> FakeIndex:
        return self

    def __exit__(self, *unused: object) -> None:
        self.close()

    def close(self) -> None:
        """End the server, and every answer that never ends."""
        self.ended.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def count(self, beginning: str = "") -> int:
        """Return how many requests had a path that begins so."""
        return sum(path.startswith(beginning) for path in self.requests)

    def downloads(self, name: str = "") -> int:
        """Return how many requests were for whole files of that project."""
        return sum(
            path.startswith(f"/files/{name}") and not path.endswith(".metadata")
            for path in self.requests
        )

    def add_program(self, name: str) -> Release:
        """Publish a package with a program of its name, which says so."""
        points = f"[console_scripts]\n{name} = {name}:main\n"
        files: dict[str, Union[str, bytes]] = {
            f"{name}.py": f"def main():\n    print('{name} runs')\n",
            f"{name}-1.0.dist-info/entry_points.txt": points,
        }
        return self.add(name, "1.0", files)

    def add(
        self,
        name: str,
        version: str,
        files: Optional[Mapping[str, Union[str, bytes]]] = None,
        *,
        requires: Optional[list[str]] = None,
        extras: Optional[dict[str, list[str]]] = None,
        age_days: float = 30,
        sdist: bool = False,
        wrong_hash: bool = False,
        members: Optional[list[Member]] = None,
        tag: str = "py3-none-any",
        **lies: Any,
    ) -> Release:
        """Publish a wheel, or a source archive alone.

        Without `files` it is a module of that name with `VERSION`. `members`
        are added as they are. `lies` are members of Release.
        """
        module = re.sub(r"[-.]", "_", name)
        if files is None:
            files = {f"{module}.py": f"VERSION = {version!r}\n"}
        inside = [
            Member(path, text.encode() if isinstance(text, str) else text)
            for path, text in files.items()
        ] + (members or [])
        metadata = make_metadata(name, version, requires or [], extras or {})
        if sdist:
            filename = f"{module}-{version}.tar.gz"
            content = make_sdist(f"{module}-{version}", metadata)
            lies.setdefault("has_metadata", False)
        else:
            filename = f"{module}-{version}-{tag}.whl"
            info = f"{module}-{version}.dist-info"
            content = make_wheel(info, metadata, inside, tag)
        now = datetime.datetime.now(datetime.timezone.utc)
        release = Release(
            filename,
            content,
            metadata,
            now - datetime.timedelta(days=age_days),
            sha256=hashlib.sha256(content).hexdigest(),
            **lies,
        )
        if wrong_hash:
            release.sha256 = hashlib.sha256(b"another file").hexdigest()
        self.releases.setdefault(normalise(name), []).append(release)
        return release

    def page(self, name: str) -> tuple[str, bytes]:
        """Return the type and the text of a project's page."""
        releases = self.releases[name]
        if self.html:
            text = "".join(
                f'<a href="/files/{one.filename}#sha256={one.sha256}">'
                f"{one.filename}</a><br>\n"
                for one in releases
            )
            for key, value in self.statuses.get(name, {}).items():
                end = "" if key == "status" else f"-{key}"
                text = (
                    f'<meta name="pypi:project-status{end}" content="{value}">'
                    f"\n{text}"
                )
            return "text/html", f"<!DOCTYPE html>\n{text}".encode()
        entries = [one.describe() for one in releases]
        if not self.says_times:
            for entry in entries:
                entry.pop("upload-time", None)
        page = {"meta": {"api-version": "1.1"}, "name": name, "files": entries}
        if name in self.statuses:
            page["project-status"] = self.statuses[name]
        return JSON_TYPE, json.dumps(page).encode()

    def lead(self, name: str) -> Optional[str]:
        """Return where a request for that page is sent, None for nowhere."""
        return self.redirect

    def find(self, filename: str) -> Optional[Release]:
        """Return the release with that file."""
        for releases in self.releases.values():
            for release in releases:
                if release.filename == filename:
                    return release
        return None


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    index: FakeIndex

    def finish_request(self, request: Any, client_address: Any) -> None:
        if self.index.tls:
            request = self.index.tls.wrap_socket(request, server_side=True)
        super().finish_request(request, client_address)

    def handle_error(self, *_: object) -> None:
        pass  # the client has gone, or does not trust this one


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, format: str, *args: Any) -> None:
        """Write nothing."""

    def do_GET(self) -> None:
        index = self.server.index
        path = unquote(urlsplit(self.path).path)
        index.requests.append(path)
        try:
            if not self.knows_user():
                return
            if path.startswith("/simple/"):
                self.send_page(path[len("/simple/") :].strip("/"))
            elif path.startswith("/files/"):
                self.send_release(path[len("/files/") :])
            else:
                self.send(404)
        except OSError:
            self.close_connection = True  # the client has gone

    do_HEAD = do_GET

    def knows_user(self) -> bool:
        """Note who asks; answer those who may not."""
        index = self.server.index
        word = self.headers.get("Authorization", "").partition("Basic ")[2]
        index.users.append(base64.b64decode(word).decode())
        is_known = index.users[-1] == index.user or not index.user
        if not is_known:
            self.send(index.denies)
        return is_known

    def send_page(self, name: str) -> None:
        index = self.server.index
        place = index.lead(name)
        if place:
            self.send(302, location=place)
        elif index.failures:
            failure = index.failures.pop(0)
            if failure:
                self.send(failure)
            self.close_connection = not failure
        elif index.status != 200:
            self.send(index.status)
        elif name not in index.releases:
            self.send(404)
        else:
            kind, text = index.page(name)
            is_zipped = index.zips and "gzip" in self.headers.get(
                "Accept-Encoding", ""
            )
            if is_zipped:
                text = gzip.compress(text)
            self.send(200, text, kind, is_zipped=is_zipped)

    def send_release(self, filename: str) -> None:
        index = self.server.index
        release = index.find(filename)
        about = index.find(filename[: -len(".metadata")])
        if filename.endswith(".metadata") and about:
            self.send(200, about.served)
        elif release is None:
            self.send(404)
        elif release.redirect:
            self.send(302, location=release.redirect)
        elif release.silent:
            self.close_connection = True
            index.ended.wait()
        elif release.endless:
            self.send_forever()
        else:
            index.ended.wait(release.late)
            self.close_connection = release.length is not None
            self.send(200, release.content, length=release.length)

    def send(
        self,
        status: int,
        body: bytes = b"",
        kind: str = "application/octet-stream",
        location: Optional[str] = None,
        is_zipped: bool = False,
        length: Optional[str] = None,
    ) -> None:
        self.send_response(status)
        if is_zipped:
            self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Type", kind)
        if length != "":
            self.send_header("Content-Length", length or str(len(body)))
        if location:
            self.send_header("Location", location)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def send_forever(self) -> None:
        """Send a wheel with a member that does not end."""
        self.close_connection = True
        self.send_response(200)
        self.end_headers()
        # Deflated, and its length comes after it: so says the bit 8.
        head = struct.pack(
            "<4s5H3I2H", b"PK\3\4", 20, 8, 8, 0, 33, 0, 0, 0, 5, 0
        )
        self.wfile.write(head + b"x.bin")
        packer = zlib.compressobj(0, zlib.DEFLATED, -15)
        while not self.server.index.ended.is_set():
            self.wfile.write(packer.compress(bytes(CHUNK)))
