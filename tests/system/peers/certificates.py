"""Certificates for TLS, made by openssl."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Optional


def signed(folder: Path, name: str, ca: Optional[str] = None) -> Path:
    """A key and a certificate in one file; without `ca` its own."""
    key, request = folder / f"{name}.key", folder / f"{name}.csr"
    out = folder / f"{name}.pem"

    def openssl(*words: object) -> None:
        subprocess.run(
            ["openssl", *map(str, words)], check=True, capture_output=True
        )

    new = ("req", "-newkey", "rsa:2048", "-nodes", "-keyout", key)
    subject = ("-subj", f"/CN={name}")
    if ca is None:
        openssl(*new, "-x509", "-days", 2, *subject, "-out", out)
    else:
        by = ("-CA", folder / f"{ca}.pem", "-CAkey", folder / f"{ca}.key")
        openssl(*new, *subject, "-out", request)
        openssl("x509", "-req", "-in", request, *by, "-CAcreateserial",
                "-days", 2, "-out", out)  # fmt: skip
    out.write_bytes(out.read_bytes() + key.read_bytes())
    return out
