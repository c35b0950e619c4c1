"""What `hearth doctor` says of a machine and of a configuration."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from harness import HEARTH, Gateway


def test_doctor(gateway: Gateway) -> None:
    done = gateway.run("doctor", "--json")
    report = json.loads(done.stdout)

    missing = [row for row in report["checks"] if row["state"] == "missing"]
    assert done.returncode == (5 if missing else 0), missing
    text = gateway.run("doctor")
    assert text.returncode == done.returncode
    for word in ("namespace", "seccomp", "landlock"):
        assert word in text.stdout.lower()


def test_doctor_counts_sessions_as_the_gateway_does(
    gateway: Gateway, tmp_path: Path
) -> None:
    """19 descriptors a session and 256 for all, of the hard limit."""
    limit = 256 + 10 * 19 + 100

    def row(sessions: int) -> dict[str, Any]:
        config = tmp_path / "hearth.cfg"
        config.write_text(f"sessions\n    sessions_max = {sessions}\n")
        done = subprocess.run(
            [
                *("prlimit", f"--nofile=300:{limit}"),
                *(HEARTH, "doctor", "--json", "--config", str(config)),
            ],
            env=gateway.env,
            capture_output=True,
            check=False,
        )
        checks = json.loads(done.stdout)["checks"]
        return next(c for c in checks if c["name"] == "open files")

    assert row(10)["state"] == "ok"
    assert row(10)["found"] == (
        f"{limit}: for 10 sessions and viewers (sessions/sessions_max is 10) "
        "and 100 clients over HTTP"
    )
    few = row(20)
    assert few["state"] == "warning"
    assert "for 11 sessions" in few["found"]
    assert "LimitNOFILE" in few["advice"]


def test_doctor_names_places_that_are_not_there(
    gateway: Gateway, tmp_path: Path
) -> None:
    config = tmp_path / "hearth.cfg"
    config.write_text(
        "profile\n    python3\n"
        "        readonly = /usr, /no/data\n"
        "        mount = /no/more:/more, /usr:/programs\n"
    )
    done = gateway.run("doctor", "--json", "--config", str(config))

    assert done.returncode == 5
    checks = json.loads(done.stdout)["checks"]
    places = {row["name"]: row for row in checks if "place" in row["name"]}
    assert list(places) == ["place /no/data", "place /no/more"]
    assert places["place /no/data"]["state"] == "missing"
    assert "remove it from the setting" in places["place /no/data"]["advice"]
    text = gateway.run("doctor", "--config", str(config))
    assert "remove it from the setting" in text.stdout
    assert not any("" in row for row in checks)
    assert "profile/python3/readonly" in str(places["place /no/data"])
    assert "profile/python3/mount" in str(places["place /no/more"])
