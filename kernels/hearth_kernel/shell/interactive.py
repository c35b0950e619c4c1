"""IPython's shell with a front end at the other end of the link."""

from __future__ import annotations

import asyncio
import base64
import binascii
import builtins
import inspect
import json
import re
import struct
import sys
import traceback
from contextlib import nullcontext
from types import TracebackType
from typing import Any, Optional, Union

from IPython.core import page, payloadpage
from IPython.core.compilerop import CachingCompiler
from IPython.core.debugger import InterruptiblePdb
from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher
from traitlets import Any as AnyTrait
from traitlets import Instance, Type, default, observe

try:
    from _sha1 import sha1
except ImportError:  # a Python that was built without its own
    from hashlib import sha1

from hearth_kernel import _link
from hearth_kernel.errors import limits, questions, tracebacks
from hearth_kernel.messaging import outlet
from hearth_kernel.messaging.parents import Parent, ParentToken
from hearth_kernel.packages.pip import PackagesError
from hearth_kernel.shell import commands, compact, exits, traits
from hearth_kernel.shell.history import MemoryHistory
from hearth_kernel.shell.magics import KernelMagics
from hearth_kernel.shell.shortcuts import Shortcuts
from hearth_kernel.tools.outside import FetchError

# As the gateway has it, which ends a session that tries more
# (gateway/session/kernel/kernel_permissions.c).
_MIME = re.compile(r"[\w\-+.]+/[\w\-+.]+(;[ -~]*)?\Z", re.ASCII)
_MIME_MAX = 256  # as JSON, with its quotes
# Types that front ends decode from base64: as the gateway has it.
_ENCODED = frozenset(
    f"image/{name}" for name in ("png", "jpeg", "gif", "webp", "bmp")
) | {"application/pdf"}
_PNG = b"\x89PNG\r\n\x1a\n"

ExceptionTuple = tuple[
    type[BaseException], BaseException, Optional[TracebackType]
]


def _fit(key: str, value: object) -> object:
    if isinstance(value, bytes):
        return outlet.Base64.encode(value)
    if key not in _ENCODED:
        return value
    text = outlet.find_base64(value)
    if text is None:
        raise ValueError(f"{key} must be bytes, or text in base64")
    return text


def check_bundle(data: dict[str, Any]) -> dict[str, Any]:
    """Make a MIME bundle fit for the link, or raise ValueError."""
    for key in data:
        if not (isinstance(key, str) and _MIME.match(key)):
            raise ValueError(f"{key!r} is no MIME type")
        if len(json.dumps(key)) > _MIME_MAX:
            raise ValueError(
                f"a MIME type of {len(key)} characters is too long"
            )
    return {key: _fit(key, value) for key, value in data.items()}


def add_size(data: dict[str, Any], metadata: dict[str, Any]) -> dict[str, Any]:
    """Tell front ends how large a PNG is before they decode it."""
    image = data.get("image/png")
    if isinstance(image, outlet.Base64):
        image = image.text[:32].decode("ascii")
    if not isinstance(image, str) or "image/png" in metadata:
        return metadata
    try:
        head = base64.b64decode(image[:32])
    except binascii.Error:
        return metadata
    if not head.startswith(_PNG) or len(head) < 24:
        return metadata
    width, height = struct.unpack(">II", head[16:24])
    return {**metadata, "image/png": {"width": width, "height": height}}


class ResultHook(DisplayHook):  # type: ignore[misc]
    """The value of a cell's last line becomes a RESULT event."""

    exec_result = None

    def __init__(self, shell: Any = None, **kwargs: Any) -> None:
        super().__init__(shell=shell, **kwargs)
        # Up to IPython 8 a cell is counted when it has ended.
        self._is_late = super().prompt_count == shell.execution_count

    @property
    def prompt_count(self) -> int:
        """The number in Out[…]; up to IPython 8 it forgot about history."""
        shell = self.shell
        count: int = shell.execution_count
        return count if self._is_late and shell.is_storing else count - 1

    def _are_unders_ours(self, shell: Any) -> bool:
        """Whether _, __ and ___ are what the last results made them."""
        if "_" in builtins.__dict__:
            return False
        names, hidden = shell.user_ns, shell.user_ns_hidden
        for name, ours in (("_", self._), ("__", self.__), ("___", self.___)):
            if name in names and names[name] is not hidden.get(name, ours):
                return False
        return True

    def update_user_ns(self, result: Any) -> None:
        """IPython's, which reads a trait at each step, for most results."""
        shell = self.shell
        names = shell.user_ns
        kept = names["_oh"]
        if (
            result is kept
            or not self.do_full_cache
            or len(kept) >= self.cache_size
            or not self._are_unders_ours(shell)
        ):
            super().update_user_ns(result)
            return
        self._, self.__, self.___ = result, self._, self.__
        count = self.prompt_count
        fresh = {"_": result, "__": self.__, "___": self.___}
        fresh[f"_{count}"] = result
        names.update(fresh)
        shell.user_ns_hidden.update(fresh)
        kept[count] = result

    def compute_format_data(self, result: Any) -> Any:
        return self.shell.shortcuts.format(result) or (
            self.shell.display_formatter.format(result)
        )

    def quiet(self) -> bool:
        """Whether the cell ends in a semicolon; most have none at all."""
        cell = self.shell.history_manager.input_hist_parsed[-1]
        return ";" in cell and super().quiet()

    def write_output_prompt(self) -> None:
        """The front end writes it."""

    def write_format_data(
        self,
        format_dict: dict[str, Any],
        md_dict: Optional[dict[str, Any]] = None,
    ) -> None:
        data = check_bundle(format_dict)
        data, metadata = compact.add_small_image(
            self.shell, data, add_size(data, md_dict or {})
        )
        outlet.emit(
            _link.RESULT,
            {
                "execution_count": self.prompt_count,
                "data": data,
                "metadata": metadata,
            },
            hold=True,
        )

    def log_output(self, format_dict: dict[str, Any]) -> None:
        """Keep the text for %history -o and nothing else."""
        if "text/plain" in format_dict:
            reprs = self.shell.history_manager.output_hist_reprs
            reprs[self.prompt_count] = format_dict["text/plain"]

    def finish_displayhook(self) -> None:
        self._is_active = False


class Publisher(DisplayPublisher):  # type: ignore[misc]
    """display() becomes DISPLAY, UPDATE and CLEAR events."""

    def publish(
        self,
        data: dict[str, Any],
        metadata: Optional[dict[str, Any]] = None,
        *_: Any,
        transient: Optional[dict[str, Any]] = None,
        update: bool = False,
        **__: Any,
    ) -> None:
        metadata = metadata or {}
        self._validate_data(data, metadata)
        data = check_bundle(data)
        data, metadata = compact.add_small_image(
            self.shell, data, add_size(data, metadata)
        )
        transient = dict(transient or {})
        if "display_id" in transient:
            transient["display_id"] = str(transient["display_id"])
        elif update:
            raise ValueError("an update needs a display_id")
        outlet.emit(
            _link.UPDATE if update else _link.DISPLAY,
            {
                "data": data,
                "metadata": metadata,
                "transient": transient,
            },
        )

    def clear_output(self, wait: bool = False) -> None:
        outlet.emit(_link.CLEAR, {"wait": bool(wait)})


class Compiler(CachingCompiler):  # type: ignore[misc]
    """Cells have IPython's names, by a SHA-1 that is not OpenSSL's.

    OpenSSL looks its algorithms up each time, which takes longer than to
    compile `1+1`. Each traceback asks which module a cell is: inspect would
    look at all modules for the answer, none, and so take a copy of 7 MB that
    the kernel shared with the others.
    """

    folder = "/workspace/"  # where inspect believes cells to be

    def get_code_name(
        self, raw_code: str, transformed_code: str, number: int
    ) -> str:
        digest = sha1(transformed_code.encode()).hexdigest()  # noqa: S324
        name = f"<ipython-input-{number}-{digest[:12]}>"
        known = getattr(inspect, "modulesbyfile", {})
        known[name] = known[self.folder + name] = ""
        return name


# Libraries (tqdm, rich, pandas, sklearn) recognise a Jupyter kernel by this
# name and by the section IPKernelApp of its configuration.
class ZMQInteractiveShell(commands.CommandShell):
    """The shell of a kernel."""

    displayhook_class = Type(ResultHook)
    display_pub_class = Type(Publisher)
    exiter = Instance(exits.Exit)
    kernel = AnyTrait()
    is_executing = False
    is_storing = True  # the running cell counts
    compiler_class = Compiler
    # No code observes these; as traits they would cost every cell its time.
    execution_count = 1
    last_execution_succeeded = True
    last_execution_result = None
    display_trap = None
    builtin_trap: Any = None
    history_manager: Any = None
    payload_manager: Any = None

    # The last error that was shown: the content of its ERROR event.
    shown: Optional[dict[str, Any]] = None
    # The last error of a formatter, which fails a cell whose code did not.
    display_fault: Optional[dict[str, Any]] = None
    # A task that was cancelled by an interrupt ends in CancelledError.
    is_cancelled = False

    @default("exiter")
    def _exiter_default(self) -> exits.Exit:
        return exits.Exit(self)

    # Folders are never made: a zygote leaves no files.
    @observe("ipython_dir")
    def _ipython_dir_changed(self, change: Any) -> None:
        pass

    def init_history(self) -> None:
        self.history_manager = MemoryHistory(shell=self, config=self.config)
        self.configurables.append(self.history_manager)

    def init_builtins(self) -> None:
        """IPython's names among the built-in ones, for good.

        If they came and went with each cell, the interpreter would forget
        each time where it finds the others.
        """
        super().init_builtins()
        # IPython hides them, so that a module's or a script's own call would
        # be a NameError.
        self.builtin_trap.auto_builtins.update(
            exit=self.exiter, quit=self.exiter
        )
        self.builtin_trap.__enter__()

    def init_hooks(self) -> None:
        super().init_hooks()
        self.set_hook("show_in_pager", page.as_hook(payloadpage.page), 99)

    def init_payload(self) -> None:
        """The last part of the shell to be made."""
        super().init_payload()
        compact.install(self)
        self.shortcuts = Shortcuts(self)
        traits.settle(self.displayhook, "shell")
        traits.settle(self.display_trap, "hook")
        traits.settle(self.payload_manager, "_payload")

    def transform_cell(self, raw_cell: str) -> str:
        if self.shortcuts.is_plain(raw_cell):
            return raw_cell if raw_cell.endswith("\n") else raw_cell + "\n"
        cell: str = super().transform_cell(raw_cell)
        return cell

    def init_magics(self) -> None:
        super().init_magics()
        self.register_magics(KernelMagics)
        self.magics_manager.register_alias("ed", "edit")

    def init_virtualenv(self) -> None:
        """The zygote's interpreter is already the right one."""

    def init_sys_modules(self) -> None:
        super().init_sys_modules()
        self.user_module.__dict__.setdefault("__builtins__", __builtins__)

    def enable_gui(self, gui: Any = None) -> None:
        """No display, no event loop to run."""

    # The request and the code that run now, for libraries and threads

    @property
    def parent_header(self) -> Parent:
        """The request that the running code belongs to."""
        return self.get_parent()

    def get_parent(self) -> Parent:
        parent: Parent = self.kernel.parents.get()
        return parent

    def set_parent(self, parent: Parent) -> None:
        self.kernel.parents.set(parent)

    def set_thread_parent(self, parent: Parent) -> ParentToken:
        token: ParentToken = self.kernel.parents.set_here(parent)
        return token

    def reset_thread_parent(self, token: ParentToken) -> None:
        self.kernel.parents.reset_here(token)

    @property
    def debugger_cls(self) -> type[InterruptiblePdb]:
        return InterruptiblePdb

    def ask_exit(self) -> None:
        exits.ask(self)

    def set_next_input(self, s: str, replace: bool = False) -> None:
        self.payload_manager.write_payload(
            {"source": "set_next_input", "text": str(s), "replace": replace}
        )

    def interrupts(self) -> int:
        return self.kernel.interrupts.count if self.kernel else 0

    def _is_group(self, error: Optional[BaseException]) -> bool:
        """IPython prints exception groups past its own hook."""
        while error is not None:
            if hasattr(error, "exceptions") and hasattr(error, "derive"):
                return True
            error = error.__context__
        return False

    def showtraceback(
        self,
        exc_tuple: Optional[ExceptionTuple] = None,
        filename: Optional[str] = None,
        tb_offset: Optional[int] = None,
        exception_only: bool = False,
        running_compiled_code: bool = False,
    ) -> None:
        caller = sys._getframe(1).f_globals.get("__name__")
        kind, error, trace = exc_tuple or sys.exc_info()
        if self.is_cancelled and kind is asyncio.CancelledError:
            # It was an interrupt that cancelled the cell.
            kind, error = KeyboardInterrupt, KeyboardInterrupt()
            exc_tuple = kind, error.with_traceback(trace), trace
        if kind is KeyboardInterrupt:
            commands.leave_out(trace)
        tracebacks.know_files(error)
        with (
            self.kernel.interrupts.yielding() if self.kernel else nullcontext()
        ):
            if isinstance(error, SystemExit):
                exits.spare_advice()
            if kind is exits.Exited:
                exits.end(self)
            elif kind in (PackagesError, FetchError) and error is not None:
                self.show_usage_error(error)  # IPython does it for its own
            elif (
                kind is not None
                and self._is_group(error)
                and not exception_only
            ):
                text = "".join(traceback.format_exception(kind, error, trace))
                self._showtraceback(kind, error, text.rstrip("\n").split("\n"))
            else:
                super().showtraceback(
                    exc_tuple,
                    filename,
                    tb_offset,
                    exception_only,
                    running_compiled_code,
                )
        if caller == "IPython.core.formatters":
            self.display_fault = self.shown

    def show_usage_error(self, exc: BaseException) -> None:
        kind = type(exc)
        self._showtraceback(kind, exc, [f"{kind.__name__}: {exc}"])

    def _showtraceback(
        self, etype: Any, evalue: Any, stb: Union[list[str], str]
    ) -> None:
        name, value = describe_error(etype, evalue)
        lines = [stb] if isinstance(stb, str) else [str(line) for line in stb]
        # Python writes an exception's notes like this, after its text.
        if isinstance(evalue, BaseException) and (
            notes := limits.explain(evalue)
        ):
            lines += notes
            value = "\n".join([value, *notes])
        if isinstance(evalue, SystemExit):
            lines.append(exits.STAYS)  # papermill compares the value
        if isinstance(evalue, questions.StdinNotImplementedError):
            lines += [evalue.advice] if evalue.advice else []
        self._last_traceback = lines
        self.shown = {"ename": name, "evalue": value, "traceback": lines}
        outlet.emit(_link.ERROR, self.shown, hold=True)

    def _format_exception_for_storage(
        self, exception: BaseException, *_: Any, **__: Any
    ) -> dict[str, Any]:
        """Newer IPythons format a second time; once is enough."""
        return self.shown or {
            "ename": type(exception).__name__,
            "evalue": "",
            "traceback": [],
        }

    def forget_warming(self) -> None:
        """Be as new: the first cell of a session is In [1]."""
        self.reset(new_session=True)
        self.execution_count = 1
        self.shown = self.display_fault = None
        self.payload_manager.clear_payload()
        self.last_execution_result = None
        self.compile.reset_compiler_flags()


def describe_error(kind: Any, error: Any) -> tuple[str, str]:
    """Name and text of an exception, whatever its __str__ does."""
    name = str(getattr(kind, "__name__", kind))
    try:
        return name, str(error)
    except Exception:
        return name, "<exception str() failed>"
