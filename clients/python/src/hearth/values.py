"""What the gateway answers, as values with types.

Times are in UTC, durations in seconds, sizes in bytes.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Optional, Union

from hearth.errors import CodeFailed, CodeTimedOut, StateLost

_CONTROLS = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
TABLE = "text/vnd.hearth.table"


def read_time(text: Any) -> Optional[datetime]:
    """Read a time of the gateway's; None if there is no such text."""
    if not isinstance(text, str) or not text:
        return None
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


# ---- the state of the variables ----


@dataclass(frozen=True)
class Kept:
    """The variables are those that the last run has left."""

    kept: bool = field(default=True, init=False)


@dataclass(frozen=True)
class Lost:
    """The kernel has ended since the last run, or in this one. The gateway
    reports a loss once to each token: the result of its first run after the
    loss says so, and no later one."""

    #: Why, as a part of a sentence: `memory limit reached`.
    cause: str
    #: When the kernel ended; None if that is not known.
    at: Optional[datetime]
    #: The names of the variables that are gone.
    variables: tuple[str, ...]
    kept: bool = field(default=False, init=False)
    #: Other variables may be gone, too: the session's journal is damaged.
    incomplete: bool = False
    #: A client is restoring them by `hearth session revive`. The loss is
    #: reported again if that fails.
    reviving: bool = False


State = Union[Kept, Lost]


# ---- outputs ----


@dataclass(frozen=True)
class Output:
    """One output of a run: what was printed, shown, returned or raised."""

    #: `stream`, `display_data`, `execute_result`, `error`, as in a notebook.
    kind: str
    #: Of a stream: `stdout` or `stderr`.
    name: str = ""
    #: Of a stream: what was written.
    text: str = ""
    #: The bundle: a value for each MIME type. Images are Base64.
    data: Mapping[str, Any] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def image(self, mime: str) -> Optional[bytes]:
        """Return the bytes of an image of this type, or None."""
        found = self.data.get(mime)
        return base64.b64decode(found) if isinstance(found, str) else None

    @property
    def png(self) -> Optional[bytes]:
        return self.image("image/png")

    @property
    def svg(self) -> Optional[str]:
        found = self.data.get("image/svg+xml")
        return found if isinstance(found, str) else None

    @property
    def html(self) -> Optional[str]:
        found = self.data.get("text/html")
        return found if isinstance(found, str) else None


@dataclass(frozen=True)
class CellError:
    """What the code raised."""

    #: The name of the exception's type.
    name: str
    #: Its text.
    value: str
    #: The traceback as plain text, without colours.
    traceback: str


@dataclass(frozen=True)
class ModelImage:
    """An image of a view for models."""

    #: Names it: `Session.read_image(ref)` reads one that has no data here.
    ref: str
    mime: str
    #: Bytes of the image.
    size: int
    #: Pixels; None if unknown.
    width: Optional[int]
    height: Optional[int]
    #: The image, if it is small enough to be given with the text.
    data: Optional[bytes]


@dataclass(frozen=True)
class ModelView:
    """A run as a language model should read it: text, and then the images."""

    text: str
    images: tuple[ModelImage, ...]
    #: True if the code raised, ran out of time, or lost its kernel.
    is_error: bool


@dataclass(frozen=True)
class Changes:
    """The names of variables that a run has changed."""

    appeared: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    went: tuple[str, ...] = ()


@dataclass(frozen=True)
class Result:
    """What came of a run."""

    #: The run's id: the `msg_id` in the journal.
    id: str
    #: The key under which the code runs once.
    key: str
    #: `ok`, `error` (it raised), `timeout` or `lost` (its kernel ended).
    status: str
    #: The number of the cell, as in `Out[3]`; 0 if it has none.
    cell: int
    outputs: tuple[Output, ...]
    #: What it raised; None if it did not.
    error: Optional[CellError]
    #: What became of the variables.
    state: State
    #: The text and the images for a language model.
    for_model: ModelView
    #: Which variables it changed.
    changes: Changes
    #: How long it ran; None if it did not begin.
    seconds: Optional[float]

    @property
    def ok(self) -> bool:
        return self.status == "ok"

    @property
    def text(self) -> Optional[str]:
        """The value of the last expression as text; None if it has none."""
        for output in self.outputs:
            if output.kind == "execute_result":
                found = output.data.get("text/plain")
                return found if isinstance(found, str) else None
        return None

    @property
    def stdout(self) -> str:
        return self._stream("stdout")

    @property
    def stderr(self) -> str:
        return self._stream("stderr")

    def _stream(self, name: str) -> str:
        return "".join(o.text for o in self.outputs if o.name == name)

    @property
    def images(self) -> tuple[Output, ...]:
        """The outputs that have an image, in the order they were shown."""
        return tuple(
            output
            for output in self.outputs
            if any(mime.startswith("image/") for mime in output.data)
        )

    @property
    def tables(self) -> tuple[str, ...]:
        """The compact texts of the DataFrames that were shown."""
        return tuple(
            output.data[TABLE]
            for output in self.outputs
            if isinstance(output.data.get(TABLE), str)
        )

    def check(self) -> Result:
        """Return the result itself if the code ended well.

        Raises CodeFailed, CodeTimedOut or StateLost.
        """
        if self.status == "ok":
            return self
        error = self.error or CellError(self.status, "", "")
        if self.status == "timeout":
            raise CodeTimedOut(error.value or "The time limit was reached.")
        if self.status == "lost":
            cause = self.state.cause if isinstance(self.state, Lost) else ""
            raise StateLost(f"The kernel ended: {cause or error.value}.")
        raise CodeFailed(error.name, error.value, error.traceback)


# ---- sessions ----


@dataclass(frozen=True)
class SessionInfo:
    """A session as the gateway describes it."""

    id: str
    name: str
    profile: str
    #: `starting`, `idle`, `busy`, `stopping`, `gone`.
    state: str
    created: Optional[datetime]
    #: When it ends unless it is used; None while it runs code.
    expires_at: Optional[datetime]
    #: The number of the last cell.
    cells: int
    #: Bytes of memory that the kernel has; None if unknown.
    memory: Optional[int]
    #: Its folder of files, on the gateway's machine.
    workspace: str
    #: Of one that is gone: a word, a sentence, and when.
    reason: Optional[str]
    detail: Optional[str]
    ended: Optional[datetime]

    @property
    def is_gone(self) -> bool:
        return self.state == "gone"


# ---- from JSON ----


def session_info(model: Mapping[str, Any]) -> SessionInfo:
    memory = model.get("memory_kib")
    return SessionInfo(
        id=model["id"],
        name=model["name"],
        profile=model["profile"],
        state=model["state"],
        created=read_time(model.get("created")),
        expires_at=read_time(model.get("expires_at")),
        cells=model.get("execution_count", 0),
        memory=None if memory is None else memory * 1024,
        workspace=model["workspace"],
        reason=model.get("reason"),
        detail=model.get("detail"),
        ended=read_time(model.get("ended")),
    )


def read_output(model: Mapping[str, Any]) -> Output:
    return Output(
        kind=model["output_type"],
        name=model.get("name", ""),
        text=model.get("text", ""),
        data=model.get("data", {}),
        metadata=model.get("metadata", {}),
    )


def read_state(model: Mapping[str, Any]) -> State:
    if model["kept"]:
        return Kept()
    return Lost(
        cause=model.get("cause", ""),
        at=read_time(model.get("at")),
        variables=tuple(model["lost"]),
        incomplete=model.get("incomplete", False),
        reviving=model.get("reviving", False),
    )


def _image(model: Mapping[str, Any]) -> ModelImage:
    data = model.get("data")
    return ModelImage(
        ref=model["ref"],
        mime=model["mime"],
        size=model["bytes"],
        width=model.get("width"),
        height=model.get("height"),
        data=None if data is None else base64.b64decode(data),
    )


def read_view(model: Mapping[str, Any]) -> ModelView:
    return ModelView(
        text=model["text"],
        images=tuple(_image(image) for image in model["images"]),
        is_error=model["is_error"],
    )


def _names(entries: Any) -> tuple[str, ...]:
    return tuple(
        entry if isinstance(entry, str) else entry["name"]
        for entry in entries or ()
    )


def _error(raw: Mapping[str, Any]) -> Optional[CellError]:
    if not raw.get("ename"):
        return None
    lines = "\n".join(raw.get("traceback") or ())
    return CellError(
        raw["ename"], raw.get("evalue", ""), _CONTROLS.sub("", lines)
    )


def read_result(
    key: str,
    view: Mapping[str, Any],
    raw: Mapping[str, Any],
    outputs: list[Mapping[str, Any]],
) -> Result:
    """Make a result of a run's view for models, its raw result, and the
    outputs in that."""
    changes = view.get("namespace") or {}
    milliseconds = view.get("ms")
    return Result(
        id=raw["request_id"],
        key=key,
        status=view["status"],
        cell=view["cell"],
        outputs=tuple(read_output(output) for output in outputs),
        error=_error(raw),
        state=read_state(view["state"]),
        for_model=read_view(view),
        changes=Changes(
            _names(changes.get("appeared")),
            _names(changes.get("changed")),
            _names(changes.get("went")),
        ),
        seconds=None if milliseconds is None else milliseconds / 1000,
    )


# ---- files ----


@dataclass(frozen=True)
class FileInfo:
    """A file or a folder of a session."""

    name: str
    #: From the session's folder on.
    path: str
    is_folder: bool
    #: Bytes; None for a folder.
    size: Optional[int]
    modified: Optional[datetime]


def file_info(model: Mapping[str, Any], root: str) -> FileInfo:
    return FileInfo(
        name=model["name"],
        path=model["path"][len(root) :].strip("/"),
        is_folder=model["type"] == "directory",
        size=model.get("size"),
        modified=read_time(model.get("last_modified")),
    )


@dataclass(frozen=True)
class FetchedFile:
    """A file that was fetched from outside into the session's folder."""

    #: From the session's folder on.
    path: str
    #: Bytes.
    size: int
    #: 64 hexadecimal digits.
    sha256: str
    url: str
    #: Whether the gateway had it, and the server had nothing to send.
    is_cached: bool
    #: The coding in which the server sent it unasked, as `gzip`; else "".
    encoding: str


def fetched_file(model: Mapping[str, Any]) -> FetchedFile:
    return FetchedFile(
        path=model["path"],
        size=model["size"],
        sha256=model["sha256"],
        url=model["url"],
        is_cached=model["cached"],
        encoding=model["encoding"],
    )


@dataclass(frozen=True)
class ClonedRepository:
    """A git repository that was cloned from outside into the session's
    folder."""

    #: The new folder, from the session's folder on.
    path: str
    #: That is checked out: 40 or 64 hexadecimal digits.
    commit: str
    #: "" if a tag or a commit is checked out.
    branch: str
    #: Of the contents of all files, those of `.git` too.
    bytes: int
    #: Files, folders and links, those of `.git` too.
    files: int
    #: Files that are pointers of Git LFS, because their contents were not
    #: asked for.
    lfs: int
    #: Each is an empty folder.
    submodules: int
    #: Whether the gateway had it, and the server had nothing to send.
    is_cached: bool
    #: A sentence about how it came, as that the server cannot be reached and
    #: of when the gateway's mirror is; "": as usual.
    note: str = ""


def cloned_repository(model: Mapping[str, Any]) -> ClonedRepository:
    return ClonedRepository(
        path=model["path"],
        commit=model["commit"],
        branch=model["branch"],
        bytes=model["bytes"],
        files=model["files"],
        lfs=model["lfs"],
        submodules=model["submodules"],
        is_cached=model["cached"],
        note=model.get("note", ""),
    )


# ---- packages ----


@dataclass(frozen=True)
class Package:
    """A package of a session."""

    name: str
    version: str
    #: It was asked for; False if another one needs it.
    is_requested: bool


@dataclass(frozen=True)
class PackagesChanged:
    """The result of a change of packages."""

    #: All that the session has now, by name.
    packages: tuple[Package, ...]
    #: Name and version.
    added: tuple[tuple[str, str], ...]
    removed: tuple[tuple[str, str], ...]
    #: Name, version before, version now. Code that has imported the one before
    #: has it until the kernel restarts.
    changed: tuple[tuple[str, str, str], ...]
    #: What was asked for and the profile's Python has already.
    present: tuple[tuple[str, str], ...]
    #: Sentences about what was added: that a version was yanked, or that a
    #: newer one is too young.
    notes: tuple[str, ...] = ()
    #: The modules of what was added, by its name, where they have another name.
    modules: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    #: Names of what was added or changed, and is imported in another version
    #: until `session.restart()`. None if that is not known.
    restart: Optional[tuple[str, ...]] = None


def packages_changed(model: Mapping[str, Any]) -> PackagesChanged:
    def pairs(key: str) -> tuple[tuple[str, str], ...]:
        return tuple(
            (entry["name"], entry["version"]) for entry in model.get(key, ())
        )

    old = model.get("restart")  # a gateway from before has none
    return PackagesChanged(
        packages=tuple(
            Package(entry["name"], entry["version"], entry["requested"])
            for entry in model["packages"]
        ),
        added=pairs("added"),
        removed=pairs("removed"),
        changed=tuple(
            (entry["name"], entry["from"], entry["to"])
            for entry in model.get("changed", ())
        ),
        present=pairs("present"),
        notes=tuple(model.get("notes", ())),
        modules={
            entry["name"]: tuple(entry["modules"])
            for entry in model.get("added", ())
            if "modules" in entry
        },
        restart=None if old is None else tuple(old),
    )
