"""Certificates as an operator's authority issues them."""

from __future__ import annotations

import shutil
import socket
import ssl
import subprocess
from pathlib import Path

import pytest
from deadline import DEADLINE

EC = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]


def openssl(*words: object) -> None:
    subprocess.run(
        ["openssl", *map(str, words)],
        check=True,
        capture_output=True,
        timeout=DEADLINE,
    )


class Pair:
    """A certificate and its key."""

    def __init__(self, folder: Path, name: str) -> None:
        self.certificate = folder / f"{name}.pem"
        self.key = folder / f"{name}.key"

    @property
    def der(self) -> bytes:
        return ssl.PEM_cert_to_DER_cert(self.certificate.read_text())

    def replace(self, other: Pair) -> None:
        """Take the place of another pair's files."""
        shutil.copy(self.certificate, other.certificate)
        shutil.copy(self.key, other.key)


class Authority(Pair):
    def __init__(self, folder: Path, name: str) -> None:
        if not shutil.which("openssl"):
            pytest.skip("no openssl to make certificates with")
        super().__init__(folder, name)
        self.folder = folder
        self.count = 0
        openssl(
            *("req", "-x509", *EC, "-days", 2, "-subj", f"/CN={name}"),
            *("-keyout", self.key, "-out", self.certificate),
        )

    def issue(self, host: str, days: int = 2) -> Pair:
        """Certify "DNS:name" or "IP:address", until `days` from now."""
        self.count += 1
        pair = Pair(self.folder, f"{self.certificate.stem}-{self.count}")
        request = pair.key.with_suffix(".csr")
        names = pair.key.with_suffix(".ext")
        names.write_text(f"subjectAltName={host}\n")
        openssl(
            *("req", "-new", *EC, "-subj", "/CN=a certificate"),
            *("-keyout", pair.key, "-out", request),
        )
        openssl(
            *("x509", "-req", "-in", request, "-days", days),
            *("-set_serial", self.count, "-extfile", names),
            *("-CA", self.certificate, "-CAkey", self.key),
            *("-out", pair.certificate),
        )
        return pair


def served(port: int) -> bytes:
    """Return the certificate that a new client gets, by DER."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    with (
        socket.create_connection(("127.0.0.1", port), DEADLINE) as plain,
        context.wrap_socket(plain) as secured,
    ):
        der = secured.getpeercert(binary_form=True)
    assert der is not None
    return der
