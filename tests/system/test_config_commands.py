"""`hearth config`: all errors at once, where values come from, what keys mean;
and what the gateway and doctor say of certificates and ports."""

from __future__ import annotations

import json
import socket
import subprocess
from pathlib import Path
from typing import Any

import pytest
from harness import Gateway


def write(gateway: Gateway, text: str) -> Path:
    file = gateway.folder / "hearth.cfg"
    file.write_text(text)
    return file


def make_pair(folder: Path, name: str, days: str) -> tuple[Path, Path]:
    certificate, key = folder / f"{name}.pem", folder / f"{name}.key"
    subprocess.run(
        [
            "openssl", "req", "-x509", "-newkey", "ec", "-nodes",
            "-pkeyopt", "ec_paramgen_curve:prime256v1", "-subj", "/CN=x",
            "-days", days, "-keyout", str(key), "-out", str(certificate),
        ],
        check=True,
        capture_output=True,
    )  # fmt: skip
    return certificate, key


def test_every_error_is_reported_at_once(folders: Gateway) -> None:
    file = write(
        folders,
        "sesions\n    lifetime = 1h\n"
        "sessions\n    lifetime = soon\n    mask = [a\n"
        "http\n    enabled = True\n    certificate = /nowhere.pem\n"
        "    force_profile = smal\n",
    )
    done = folders.run("config", "check", "-f", str(file))

    assert done.returncode == 5
    lines = done.stdout.splitlines()
    assert len(lines) == 5, lines
    for line, number, words in zip(
        lines,
        (1, 4, 5, 9, 8),
        (
            "did you mean sessions?",
            'sessions/lifetime = "soon": must be a duration',
            "sessions/mask: the pattern '[a' is not valid",
            'http/force_profile = "smal": there is no such profile',
            'http/certificate = "/nowhere.pem": http/key is missing',
        ),
    ):
        assert line.startswith(f"{file}:{number}: "), line
        assert words in line
    report = folders.json_of(5, "config", "check", "-f", str(file), "--json")
    assert report["ok"] is False
    assert report["errors"] == lines
    refused = folders.refused("--config", str(file))
    for line in lines:
        assert line in refused


def test_a_good_file_has_no_errors(folders: Gateway) -> None:
    file = write(folders, "sessions\n    mask = $NOT_SET_HERE\n")
    report = folders.json("config", "check", "-f", str(file), "--json")

    assert report["ok"] is True
    assert report["errors"] == []
    assert "$NOT_SET_HERE is not set here" in report["warnings"][0]


def test_values_and_where_they_come_from(folders: Gateway) -> None:
    file = write(
        folders,
        "http\n    token = secret\n    list_kernels = false\n"
        "profile\n    small\n        fresh = true\n",
    )
    rows = folders.json("config", "show", "-f", str(file), "--json")
    reported = {row["key"]: (row["value"], row["from"]) for row in rows}

    assert reported["http/list_kernels"] == ("no", f"{file}:3")
    assert reported["profile/small/fresh"] == ("yes", f"{file}:6")
    assert reported["profile/python3/fresh"] == ("no", "default")
    assert reported["sessions/idle_timeout"] == ("20m", "default")
    assert reported["gateway/state_dir"] == (
        str(folders.state),
        "$HEARTH_STATE_DIR",
    )
    assert reported["http/token"] == ("(hidden)", f"{file}:2")
    some = folders.run("config", "show", "-f", str(file), "-c", "http")
    assert [line.split()[0] for line in some.stdout.splitlines()] == [
        "http/token",
        "http/list_kernels",
    ]
    wrong = folders.run("config", "show", "http/prt")
    assert wrong.returncode == 2
    assert "did you mean http/port?" in wrong.stderr


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("sessions/idle_timeout", ("20m", "from 0.001s to 365d", "reload")),
        ("idle_timeout", ("sessions/idle_timeout",)),
        ("profile/any/limits/memory", ("profile/<name>/limits/memory", "2G")),
        ("http/enabled", ("yes or no", "restart")),
        ("gateway", ("gateway/runtime_dir", "gateway/memory_reserve")),
    ],
)
def test_keys_are_explained(
    folders: Gateway, key: str, words: tuple[str, ...]
) -> None:
    done = folders.run("config", "explain", key)

    assert done.returncode == 0, done.stderr
    for word in words:
        assert word in done.stdout
    rows = folders.json("config", "explain", key, "--json")
    assert rows[0]["key"] in done.stdout
    assert (len(rows) > 1) == (key == "gateway")


def test_no_such_key_is_explained(folders: Gateway) -> None:
    done = folders.run("config", "explain", "sessions/idle_timout")
    assert done.returncode == 2
    assert "did you mean sessions/idle_timeout?" in done.stderr


def test_invalid_certificates_are_explained(
    folders: Gateway, tmp_path: Path
) -> None:
    one, one_key = make_pair(tmp_path, "one", "365")
    other, _ = make_pair(tmp_path, "other", "365")
    junk = tmp_path / "junk.pem"
    junk.write_text("junk\n")
    locked = tmp_path / "locked.key"
    subprocess.run(
        [
            "openssl", "pkey", "-in", str(one_key), "-aes256",
            "-passout", "pass:x", "-out", str(locked),
        ],
        check=True,
    )  # fmt: skip

    def findings(certificate: Path, key: Path) -> dict[str, Any]:
        file = write(
            folders, f"http\n    certificate = {certificate}\n    key = {key}\n"
        )
        done = folders.run("config", "check", "-f", str(file), "--json")
        return dict(json.loads(done.stdout))

    assert findings(one, one_key)["ok"]
    for certificate, key, line, words in (
        (tmp_path / "none", one_key, 2, "there is no such file"),
        (one, tmp_path, 3, "no private key"),
        (junk, one_key, 2, "no certificate in PEM"),
        (one, junk, 3, "no private key in PEM"),
        (one, locked, 3, "it has a password"),
        (other, one_key, 3, "it is not the key of http/certificate"),
    ):
        (error,) = findings(certificate, key)["errors"]
        assert error.startswith(f"{folders.folder}/hearth.cfg:{line}: http/")
        assert words in error
    soon, soon_key = make_pair(tmp_path, "soon", "1")
    reported = findings(soon, soon_key)
    assert reported["ok"]
    assert "expires within a week" in reported["warnings"][0]


def test_doctor_tries_certificate_and_port(
    folders: Gateway, tmp_path: Path
) -> None:
    certificate, _ = make_pair(tmp_path, "one", "365")
    _, key = make_pair(tmp_path, "other", "365")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        file = write(
            folders,
            f"http\n    port = {port}\n    port_retries = 0\n"
            f"    certificate = {certificate}\n    key = {key}\n",
        )
        report = folders.json_of(5, "doctor", "-f", str(file), "--json")
    rows = {row["name"]: row for row in report["checks"]}
    assert rows["configuration"]["state"] == "missing"
    assert "not the key of" in rows["configuration"]["found"]
    assert rows["http"]["state"] == "missing"
    assert f"https on 127.0.0.1 port {port}" in rows["http"]["found"]
