"""hearth under the name and with the command line of Kernel Gateway."""

from __future__ import annotations

import subprocess
from pathlib import Path

from deadline import DEADLINE
from harness import HEARTH, Gateway
from web import Web


class KernelGateway(Gateway):
    def __init__(self, *words: str, **variables: str) -> None:
        super().__init__(*words, warm=True)
        name = self.folder / "hearth-kernelgateway"
        name.symlink_to(Path(HEARTH).resolve())
        self.command = (str(name), *self.command[2:])
        self.variables = variables
        # The command line of hearth itself must not see them.
        self.program = name

    def start(self, *options: str) -> Gateway:
        plain = self.env
        self.env = {**plain, **self.variables}
        try:
            return super().start(*options)
        finally:
            self.env = plain

    def refusal(
        self, *words: str, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        """Return the message of a gateway that does not start."""
        return subprocess.run(
            [str(self.program), *words],
            env={**self.env, **variables},
            capture_output=True,
            text=True,
            timeout=DEADLINE,
        )

    @property
    def address(self) -> str:
        return Web.of(self).url.rstrip("/")
