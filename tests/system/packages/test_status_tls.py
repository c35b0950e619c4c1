"""The status of a project, where the index has https: who is believed to be it,
and how much of what it sends is read."""

from __future__ import annotations

import shutil
import ssl
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fake_index
import pytest
from authority import Authority
from fake_index import FakeIndex
from worker import Folder, refuse

UV = """\
#!/bin/sh
cat > /tmp/authority.pem <<END
{certificate}
END
SSL_CERT_FILE=/tmp/authority.pem exec {uv} "$@"
"""


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"), "ours")


def serve(authority: Authority, host: str) -> FakeIndex:
    pair = authority.issue(host)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair.certificate, pair.key)
    return FakeIndex(tls=context)


@pytest.fixture
def secured(authority: Authority) -> Iterator[FakeIndex]:
    with serve(authority, "IP:127.0.0.1") as made:
        yield made


def trust(certificate: Path) -> str:
    """Return the hook by which the client of statuses knows an authority.

    Its file is read before the sandbox is made, which does not show it.
    """
    return f"""
from hearth_downloads.packages import status
known = status.make_context({str(certificate)!r})
status.make_context = lambda path: known
"""


@pytest.fixture
def trusting(
    folder: Folder, secured: FakeIndex, authority: Authority, place: Path
) -> Folder:
    """Make a folder whose uv and whose client trust the authority."""
    beside = Path(sys.executable).parent / "uv"
    real = str(beside) if beside.exists() else shutil.which("uv")
    program = place / "uv"
    text = authority.certificate.read_text()
    program.write_text(UV.format(certificate=text, uv=real))
    program.chmod(0o755)
    kept = place / "authority.pem"
    shutil.copy(authority.certificate, kept)
    kept.chmod(0o644)
    folder.hook = trust(kept)
    folder.settings.update(index=secured.url, uv=str(program), cooldown=0)
    return folder


def test_reads_statuses_over_https(
    trusting: Folder, secured: FakeIndex
) -> None:
    names = [f"a{number}" for number in range(9)]
    for name in (*names, "bad"):
        secured.add(name, "1")
        secured.statuses[name] = {"status": "archived"}
    assert len(trusting.do("add", *names)["notes"]) == 9
    secured.statuses["bad"] = {"status": "quarantined", "reason": "it steals"}
    assert refuse(trusting, "bad").text == (
        '"bad" refused: the index has it in quarantine: it steals'
    )


def test_believes_no_other_authority(
    trusting: Folder, secured: FakeIndex, tmp_path: Path, place: Path
) -> None:
    """uv does, so the job ends where the status is asked for."""
    secured.add("a", "1")
    other = place / "other.pem"
    shutil.copy(Authority(tmp_path, "other").certificate, other)
    other.chmod(0o644)
    trusting.hook = trust(other)
    no = refuse(trusting, "a")
    assert no.ename == "PackagesUnreachable"
    assert no.text == (
        "the index does not say the status of a: TLS: CERTIFICATE_VERIFY_FAILED"
    )


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (b"HTTP/1.1 100 Continue\r\n\r\n" * 100, "more than 16 answers"),
        (b"HTTP/1.1 101 Switching\r\n\r\n", "changes the protocol"),
        (b"HTTP/1.1 200 OK\r\nx: " + b"y" * 70_000, "more than 65536 bytes"),
        (b"HTTP/1.1 200 OK\r\n\r\n{}", "EOF"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}", "EOF"),
    ],
)
def test_reads_no_more_than_a_page(
    trusting: Folder,
    secured: FakeIndex,
    monkeypatch: pytest.MonkeyPatch,
    answer: bytes,
    why: str,
) -> None:
    """The proxy does not see it. uv has got an honest page before."""
    secured.add("a", "1")
    handler = fake_index._Handler
    real = handler.send_page
    asked = []

    def send(self: Any, name: str) -> None:
        asked.append(name)
        if len(asked) == 1:
            real(self, name)
            return
        self.close_connection = True
        self.wfile.write(answer)
        if why == "EOF":
            # The connection ends, and TLS does not say so.
            self.connection.shutdown(2)

    monkeypatch.setattr(handler, "send_page", send)
    no = refuse(trusting, "a")
    assert no.ename == "PackagesUnreachable"
    assert "the index does not say the status of a: " in no.text
    assert why in no.text
