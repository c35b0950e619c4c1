"""The folder of fetched files: who owns it, what is refused at the start, and
what `hearth doctor` says of it, of the certificates and of git."""

from __future__ import annotations

import json
import os
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Optional

import pytest
from harness import HEARTH, Gateway

ALLOW = "profile/python3/fetch/allow=127.0.0.1:9"
USER = 64993
SYSTEMS = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/cert.pem",
)


def begin(*settings: str, user: Optional[int] = None) -> Gateway:
    """A gateway with a folder of fetched files below its own."""
    gateway = Gateway(user=user)
    gateway.folder.chmod(0o711)
    for word in (f"fetch/dir={folder(gateway)}", *settings):
        gateway.options += ["--set", word]
    return gateway


def folder(gateway: Gateway) -> Path:
    return gateway.folder / "f"


def kinds() -> list[str]:
    return ["root", "own", "user"] if os.geteuid() == 0 else ["user"]


@pytest.fixture(params=kinds())
def gateway(request: pytest.FixtureRequest) -> Iterator[Gateway]:
    """As root, and with zygotes that have a user of their own; or as an
    ordinary user."""
    settings = ["gateway/zygote_user=own"] if request.param == "own" else []
    is_other = request.param == "user" and os.geteuid() == 0
    running = begin(ALLOW, *settings, user=USER if is_other else None)
    try:
        running.start()
        yield running
    finally:
        running.sweep()


def test_it_is_the_gateways_and_work_is_the_workers(gateway: Gateway) -> None:
    top, work = folder(gateway).stat(), (folder(gateway) / "work").stat()
    assert stat.S_IMODE(top.st_mode) == 0o711
    assert stat.S_IMODE(work.st_mode) == 0o700
    is_own = "gateway/zygote_user=own" in gateway.options
    assert (work.st_uid != top.st_uid) == is_own


def test_a_workspace_is_not_in_it(gateway: Gateway) -> None:
    for path in (folder(gateway), folder(gateway) / "work", gateway.folder):
        refused = gateway.run("session", "create", "--workspace", str(path))
        assert refused.returncode != 0
        assert "keeps its own files" in refused.stderr


def test_without_a_host_there_is_nothing() -> None:
    gateway = begin()
    try:
        gateway.start()
        assert not folder(gateway).exists()
    finally:
        gateway.sweep()


def test_refuses_a_folder_of_others() -> None:
    gateway = begin(ALLOW)
    try:
        folder(gateway).mkdir()
        folder(gateway).chmod(0o777)
        said = gateway.refused()
        assert f"fetch/dir: other users can write to {folder(gateway)}" in said
    finally:
        gateway.sweep()


def finding(config: Path, *before: str) -> dict[str, str]:
    """The finding of `hearth doctor` about the one profile that has hosts."""
    done = subprocess.run(
        [*before, HEARTH, "doctor", "--json", "--config", str(config)],
        capture_output=True,
        check=False,
    )
    found: list[dict[str, str]] = [
        check
        for check in json.loads(done.stdout)["checks"]
        if check["name"].startswith("fetch")
    ]
    (only,) = found
    assert only["name"] == "fetch python3"
    return only


def write(config: Path, top: Path, *more: str) -> None:
    lines = ["fetch", f"    dir = {top}", *(f"    {line}" for line in more)]
    lines += ["profile", "    python3", "        fetch"]
    lines += ["            allow = a.example", "    other", "        fetch"]
    lines += ["            deny = a.example"]
    config.write_text("\n".join(lines) + "\n")


def test_doctor_looks_at_the_folder(tmp_path: Path) -> None:
    config, top = tmp_path / "hearth.cfg", tmp_path / "f"
    authorities = tmp_path / "ca.pem"
    authorities.write_text("")
    write(config, top, f"ca_file = {authorities}")

    assert finding(config)["state"] == "ok"
    assert str(top) in finding(config)["found"]
    assert not top.exists()
    top.mkdir()
    top.chmod(0o777)
    assert finding(config)["state"] == "missing"
    assert "fetch/dir: other users can write" in finding(config)["found"]
    assert "fetch/allow" in finding(config)["advice"]


def test_doctor_looks_for_the_certificates_that_are_named(
    tmp_path: Path,
) -> None:
    config, authorities = tmp_path / "hearth.cfg", tmp_path / "ca.pem"
    write(config, tmp_path / "f", f"ca_file = {authorities}")

    def lacks() -> None:
        row = finding(config)
        assert row["state"] == "warning"
        assert f"{authorities} is not a file that user " in row["found"]
        assert "fetch/ca_file" in row["advice"]

    lacks()
    authorities.mkdir()
    lacks()
    authorities.rmdir()
    authorities.write_text("")
    assert finding(config)["state"] == "ok"
    assert str(authorities) in finding(config)["found"]


def test_doctor_looks_for_the_certificates_of_the_system(
    tmp_path: Path,
) -> None:
    config = tmp_path / "hearth.cfg"
    write(config, tmp_path / "f")
    there = [path for path in SYSTEMS if Path(path).is_file()]
    row = finding(config)
    assert row["state"] == ("ok" if there else "warning")
    if there:
        assert there[0] in row["found"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root covers /etc/ssl")
def test_doctor_names_the_package_of_certificates(tmp_path: Path) -> None:
    config, empty = tmp_path / "hearth.cfg", tmp_path / "empty"
    write(config, tmp_path / "f")
    empty.mkdir()
    covered = [p for p in ("/etc/ssl", "/etc/pki") if Path(p).is_dir()]
    script = "".join(f"mount --bind {empty} {p}; " for p in covered)
    row = finding(
        config, "unshare", "-m", "sh", "-ec", script + 'exec "$0" "$@"'
    )
    assert row["state"] == "warning"
    assert "has no certificates" in row["found"]
    assert "install ca-certificates" in row["advice"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root covers git")
def test_doctor_names_the_package_of_git(tmp_path: Path) -> None:
    config = tmp_path / "hearth.cfg"
    authorities = tmp_path / "ca.pem"
    authorities.write_text("")
    write(config, tmp_path / "f", f"ca_file = {authorities}")
    places = ("/usr/local/bin/git", "/usr/bin/git", "/bin/git")
    there = [path for path in places if Path(path).is_file()]
    assert finding(config)["found"].endswith(f", and {there[0]}")
    script = "".join(
        f"mount --bind /dev/null {path}; "
        for path in {os.path.realpath(path) for path in there}
    )
    row = finding(
        config, "unshare", "-m", "sh", "-ec", script + 'exec "$0" "$@"'
    )
    assert row["state"] == "warning"
    assert "there is no git in /usr/local/bin, /usr/bin or /bin" in row["found"]
    assert row["advice"] == "install git"
