"""Where Jupyter's programs find hearth's kernelspec."""

from __future__ import annotations

import json
from pathlib import Path

from harness import HEARTH, Gateway


def write_kernelspec(
    folder: Path, name: str = "hearth", words: tuple[str, ...] = ()
) -> None:
    """For a folder that is in JUPYTER_PATH; `words` are further arguments."""
    spec = folder / "kernels" / name
    spec.mkdir(parents=True)
    (spec / "kernel.json").write_text(
        json.dumps(
            {
                "argv": [HEARTH, "kernel", *words, "-f", "{connection_file}"],
                "display_name": "Python (hearth)",
                "language": "python",
                "interrupt_mode": "message",
                "metadata": {},
            }
        )
    )


def with_kernelspec(gateway: Gateway, folder: Path) -> dict[str, str]:
    """The environment in which the kernelspec "hearth" is a kernel of the
    gateway."""
    write_kernelspec(folder)
    own = {k: v for k, v in gateway.env.items() if k != "PATH"}
    return {**own, "JUPYTER_PATH": str(folder)}
