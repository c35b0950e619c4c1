"""Gateways with tool servers of their configuration, and code that calls
tools."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from deadline import wait_for
from harness import Gateway, Session
from processes import children

SERVERS = "profile/python3/tools/servers"
IMPORT = "from hearth import tools, ToolError\n"


class ToolGateway(Gateway):
    """A gateway with tool servers, by their names."""

    def __init__(self, servers: dict[str, Any], *options: str) -> None:
        super().__init__(*options)
        self.file = self.folder / "mcp.json"
        self.file.write_text(json.dumps({"mcpServers": servers}))
        self.file.chmod(0o600)
        self.options += ["--set", f"{SERVERS}={self.file}"]

    def servers(self) -> dict[str, Any]:
        profile = self.info()["profiles"][0]
        return {one["name"]: one for one in profile["tool_servers"]}

    def wait_server(
        self, name: str, state: str, said: str = ""
    ) -> dict[str, Any]:
        def look() -> Any:
            one = self.servers()[name]
            is_it = one["state"] == state and said in one.get("fault", "")
            return one if is_it else None

        found: dict[str, Any] = wait_for(look, f"the server {name} {state}")
        return found

    def bridge(self, name: str) -> int:
        """The process under which a server, or its worker, runs."""
        words = f"tools\0serve\0python3\0{name}\0".encode()

        def look() -> Any:
            for pid in children(self.pid):
                try:
                    line = Path(f"/proc/{pid}/cmdline").read_bytes()
                except OSError:
                    continue
                if words in line and list(children(pid)):
                    return pid
            return None

        return int(wait_for(look, f"the process of {name}"))

    def processes(self, name: str) -> list[int]:
        """Return that process, and those below it."""
        pid = self.bridge(name)
        return [pid, *children(pid)]


def run(session: Session, code: str) -> str:
    done = session.exec(IMPORT + code)
    assert done.returncode == 0, (done.stdout, done.stderr)
    return done.stdout


def error_of(session: Session, code: str) -> str:
    """The reason and the sentence by which a call of a tool fails."""
    return run(
        session,
        f"try:\n    {code}\nexcept ToolError as error:\n"
        "    print(error.reason, error)",
    )
