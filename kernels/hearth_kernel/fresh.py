"""A kernel by exec: an interpreter of its own, not a copy of a warm one.

For profiles with `fresh = true`. The zygote forks into the sandbox as usual,
and the child becomes another program there. The new program has its own layout
of addresses, hash seed, stack guard and pointer guard. It warms up inside the
sandbox, before foreign code runs; this is its cost.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any, NoReturn

from hearth_kernel import payload


def become(profile: dict[str, Any], request: dict[str, Any], link: int) -> None:
    """Be that interpreter: in the payload, after the sandbox is entered."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    start = (
        f"import sys; sys.path.insert(0, {package!r}); "
        "from hearth_kernel.fresh import main; main()"
    )
    wanted = {
        "link_fd": link,
        "retain": request["retain"],
        "env": request.get("env") or {},
        "preload": profile["preload"],
        "policy": profile.get("policy"),
        "preinstalled": profile.get("preinstalled") or "",
    }
    os.set_inheritable(link, True)
    os.chdir("/tmp")  # while it warms up: nothing of the workspace is read
    os.execv(  # noqa: S606 - our own interpreter
        sys.executable,
        [sys.executable, "-I", "-c", start, json.dumps(wanted)],
    )


def main() -> NoReturn:
    """Warm up and be the kernel that argv[1] describes."""
    request = json.loads(sys.argv[1])
    link = int(request["link_fd"])
    try:
        os.set_inheritable(link, False)
        from hearth_kernel import environment
        from hearth_kernel.shell import policy
        from hearth_kernel.warm import warm

        environment.have_preinstalled(request["preinstalled"])
        warm([str(name) for name in request["preload"]], is_zygote=False)
        policy.configure(request["policy"])
        payload.become_kernel(request, link)
    finally:
        os._exit(70)
