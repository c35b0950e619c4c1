"""A session: a kernel with its variables and its files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Callable, Optional, Union
from urllib.parse import quote
from uuid import uuid4

import httpx

from hearth._answers import VIEW, error_of, json_of, sentence_of
from hearth._async.files import AsyncFiles
from hearth._async.link import AsyncSessionLink
from hearth._async.packages import AsyncPackages
from hearth._async.processes import AsyncProcesses
from hearth._async.run import AsyncRun
from hearth._async.tools import AsyncTools
from hearth._async.transport import AsyncTransport
from hearth.errors import BadRequest, KeyConflict, OutputUnknown
from hearth.process_values import Finished
from hearth.values import Output, Result, SessionInfo, session_info


class AsyncSession(AsyncSessionLink):
    """A session of a gateway. Gateway.session() and attach() make one.

    Every method raises SessionGone if the session has ended, SessionUnknown if
    the gateway does not know it, and the errors of any request:
    GatewayNotFound, GatewayUnreachable, GatewayBusy, GatewayFailed,
    TokenRefused, NotPermitted, BadRequest.
    """

    def __init__(self, transport: AsyncTransport, session: str) -> None:
        super().__init__(transport, session)
        self.files = AsyncFiles(self)
        self.packages = AsyncPackages(self)
        self.processes = AsyncProcesses(self)
        self.tools = AsyncTools(self)

    async def __aenter__(self) -> AsyncSession:
        return self

    async def __aexit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        await self.end()

    def __repr__(self) -> str:
        return f"<hearth session {self.id}>"

    # ---- code ----

    async def run(
        self,
        code: str,
        *,
        timeout: Optional[float] = None,
        key: Optional[str] = None,
        max_tokens: Optional[int] = None,
        on_output: Optional[Callable[[Output], object]] = None,
        on_input: Optional[Callable[[str], str]] = None,
    ) -> Result:
        """Run code and return what came of it, once it has ended.

        It is run exactly once, also if the gateway is killed in between. Code
        that raises, runs out of time or ends its kernel is a result, too;
        Result.check() makes an exception of that.

        Parameters:
            timeout: seconds after which the code is interrupted; the variables
                are kept.
            key: names this run, 1 to 255 characters. The same code under the
                same key is the same run, at any time, of any client with this
                token.
            max_tokens: about the size of Result.for_model (4000).
            on_output: is called with each output as it comes.
            on_input: answers `input()`; without it that is an error in the
                code.

        Raises KeyConflict, QueueFull, RunRefused, RunForgotten.
        """
        started = await self.start(
            code,
            timeout=timeout,
            key=key,
            max_tokens=max_tokens,
            allow_input=on_input is not None,
        )
        return await started.result(on_output=on_output, on_input=on_input)

    async def start(
        self,
        code: str,
        *,
        timeout: Optional[float] = None,
        key: Optional[str] = None,
        max_tokens: Optional[int] = None,
        allow_input: bool = False,
    ) -> AsyncRun:
        """Begin to run code, and return while it runs. See run()."""
        name = key or uuid4().hex
        body: dict[str, Any] = {
            "code": code,
            "key": name,
            "allow_stdin": allow_input,
        }
        if timeout is not None:
            body["metadata"] = {"hearth": {"time_limit": timeout}}
        params: dict[str, Any] = dict(VIEW)
        if max_tokens is not None:
            params["max_tokens"] = max_tokens
        response = await self.ask(
            "POST",
            f"/api/kernels/{self.id}/execute",
            accepted=(202, 409),
            is_safe=True,
            json=body,
            params=params,
        )
        if response.status_code == 409:
            raise KeyConflict(sentence_of(response))
        model = json_of(response)
        return AsyncRun(
            self,
            model["request_id"],
            name,
            max_tokens,
            is_new=model["request_status"] != "finished",
        )

    # ---- life ----

    async def keepalive(self) -> SessionInfo:
        """Begin the idle time anew."""
        response = await self.ask(
            "POST", f"/hearth/sessions/{self.id}/keepalive", is_safe=True
        )
        return session_info(json_of(response))

    async def note(self, text: str, by: str = "") -> None:
        """Record why: the text is in the notebook before the next cell."""
        body = {"text": text, **({"by": by} if by else {})}
        await self.ask(
            "POST",
            f"/hearth/sessions/{self.id}/notes",
            accepted=(201,),
            json=body,
        )

    async def restart(self) -> None:
        """Give the session a fresh kernel, also after its kernel died. The
        variables are lost, the files stay."""
        await self.ask("POST", f"/api/kernels/{self.id}/restart")

    async def end(self) -> None:
        """End the session. It is no error if it has ended already."""
        await self.aclose()
        response = await self.transport.send(
            "DELETE", f"/api/kernels/{self.id}"
        )
        if response.status_code not in (204, 404):
            raise error_of(response)

    async def aclose(self) -> None:
        """Offer no host tools any more. The session lives on."""
        await self.tools.aclose()

    # ---- what it has ----

    async def exec(
        self,
        argv: Sequence[str],
        *,
        cwd: Optional[str] = None,
        env: Optional[Mapping[str, str]] = None,
        timeout: Optional[float] = None,
        input: Union[bytes, str, None] = None,
    ) -> Finished:
        """Run a program beside the kernel. See Session.processes.run()."""
        return await self.processes.run(
            argv, cwd=cwd, env=env, timeout=timeout, input=input
        )

    async def notebook(self) -> dict[str, Any]:
        """Return the session's notebook, in the form of nbformat 4: each cell
        with its outputs, and who ran it. Also of a session that is gone."""
        path = f"recordings/{self.id}.ipynb"
        response = await self.ask("GET", f"/api/contents/{path}")
        notebook: dict[str, Any] = json_of(response)["content"]
        return notebook

    async def read_output(
        self,
        ref: str,
        *,
        from_line: Optional[int] = None,
        lines: Optional[int] = None,
        grep: Optional[str] = None,
        max_tokens: Optional[int] = None,
    ) -> str:
        """Read what a view for models has left out of an output, also of a
        session that is gone. The first line of the answer says which lines they
        are, and how to go on.

        Parameters:
            ref: names the output, as the view does: `out:7.2` is the second
                output of cell 7.
            from_line: the first line, as the view names it (1).
            lines: at most this many lines (what fits).
            grep: a regular expression: only lines that match, each after its
                number.
            max_tokens: about the size of the answer (4000).

        Raises OutputUnknown, BadRequest (the pattern; or it is an image).
        """
        given = {
            "from_line": from_line,
            "lines": lines,
            "grep": grep,
            "max_tokens": max_tokens,
        }
        response = await self._read(
            ref, {k: v for k, v in given.items() if v is not None}
        )
        if not response.headers["Content-Type"].startswith("text/plain"):
            raise BadRequest(f"{ref} is an image: read_image() reads it.")
        return response.text

    async def read_image(self, ref: str) -> bytes:
        """Read an image that a view for models names, whatever its size.

        Raises OutputUnknown.
        """
        return (await self._read(ref, {})).content

    async def _read(self, ref: str, params: dict[str, Any]) -> httpx.Response:
        response = await self.transport.send(
            "GET",
            f"/hearth/sessions/{self.id}/outputs/{quote(ref)}",
            params=params,
        )
        if response.status_code != 200:
            raise await self.error_of(response, {404: OutputUnknown})
        return response
