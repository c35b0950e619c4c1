"""Actions on sessions from JupyterLab's page.

jupyter_server replaces a gateway's refusals by sentences of its own about URLs,
or drops them. Here the gateway's sentence reaches the page, so that a person
who may only observe learns why. A page can also ask how a session ended, and
have it revived.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Optional

from hearth_channels import person
from jupyter_server.auth.decorator import authorized
from jupyter_server.base.handlers import APIHandler
from jupyter_server.gateway.gateway_client import (
    GatewayClient,
    gateway_request,
)
from jupyter_server.services.kernels.handlers import KernelActionHandler
from tornado import web
from tornado.httpclient import HTTPClientError

# The command that revives: `hearth lab` names it, not for those who only look.
PROGRAM = "HEARTH_LAB_PROGRAM"
# How it ends when there is a kernel: all is as it was, or some of it is not.
REVIVED = (0, 1)
GONE = 410


def answer_of(error: web.HTTPError) -> Optional[dict[str, Any]]:
    """Return the gateway's own answer if there is one."""
    cause = error.__cause__
    if not isinstance(cause, HTTPClientError) or cause.response is None:
        return None
    try:
        answer = json.loads(cause.response.body)
    except ValueError:
        return None
    return answer if isinstance(answer, dict) else None


@contextmanager
def gateways_words() -> Iterator[None]:
    """Report an error in the gateway's words."""
    try:
        yield
    except web.HTTPError as error:
        message = (answer_of(error) or {}).get("message")
        if not message:
            raise
        raise web.HTTPError(error.status_code, message) from error


class Actions(KernelActionHandler):
    """Interrupt and restart; jupyter_server answers 500 for any failure."""

    @web.authenticated
    @authorized
    async def post(self, kernel_id: str, action: str) -> None:
        kernels = self.kernel_manager
        if action == "interrupt":
            await kernels.interrupt_kernel(kernel_id)
            self.set_status(204)
        else:
            await kernels.restart_kernel(kernel_id)
            self.write(json.dumps(await kernels.kernel_model(kernel_id)))
        self.finish()


class State(APIHandler):
    """A session as it is, also one that is gone: its `state`, and then
    `reason`, `detail` and `ended`."""

    auth_resource = "kernels"

    @web.authenticated
    @authorized
    async def get(self, session: str) -> None:
        url = f"{GatewayClient.instance().url}/hearth/sessions/{session}"
        with gateways_words():
            try:
                model = json.loads(
                    (await gateway_request(url, method="GET")).body
                )
            except web.HTTPError as error:
                if error.status_code != GONE:
                    raise
                model = answer_of(error) or {"state": "gone"}
        self.finish(
            {
                **model,
                "person": person(self.current_user),
                "observes": PROGRAM not in os.environ,
            }
        )


class Revive(APIHandler):
    """A session that is gone gets a fresh kernel, in which its recorded cells
    run again. The answer comes when they did."""

    auth_resource = "kernels"

    @web.authenticated
    @authorized
    async def post(self, session: str) -> None:
        program = os.environ.get(PROGRAM)
        if program is None:
            raise web.HTTPError(
                403, "A token that may only observe revives no session"
            )
        process = await asyncio.create_subprocess_exec(
            program,
            "session",
            "revive",
            session,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        said, complaint = await process.communicate()
        lines = said.decode(errors="replace").splitlines()
        if process.returncode not in REVIVED or not lines:
            text = complaint.decode(errors="replace").strip()
            raise web.HTTPError(409, text or "the command failed")
        self.finish({"sentence": lines[-1]})


handlers = [
    (
        r"/api/kernels/(?P<kernel_id>\w+-\w+-\w+-\w+-\w+)"
        r"/(?P<action>restart|interrupt)",
        Actions,
    ),
    (r"/hearth/sessions/([\w-]+)", State),
    (r"/hearth/sessions/([\w-]+)/revive", Revive),
]
