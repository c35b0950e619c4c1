"""Receipts: what a session left, signed, and checked without its gateway."""

from __future__ import annotations

import base64
import hashlib
import json
import shutil
import stat
from pathlib import Path
from typing import Any

import nbformat
import pytest
from harness import Gateway, Session

CODE = "open('out.csv', 'w').write('a,b\\n1,2\\n'); import os; os.mkdir('f')"


@pytest.fixture
def recorded(session: Session) -> Session:
    assert session.exec(CODE).returncode == 0
    assert session.exec("1 + 1").returncode == 0
    return session


@pytest.fixture
def attested(gateway: Gateway, recorded: Session, tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    done = attest(gateway, recorded, folder, "--artifact", "out.csv")
    assert done.returncode == 0, done.stderr
    assert f"whole: 2 files of session {recorded.id}" in done.stdout
    return folder


def attest(
    gateway: Gateway, session: Session, folder: Path, *options: str
) -> Any:
    return gateway.run("notebook", "attest", session.id, str(folder), *options)


def statement(folder: Path) -> Any:
    envelope = json.loads((folder / "receipt.json").read_text())
    assert envelope["payloadType"] == "application/vnd.in-toto+json"
    return json.loads(base64.b64decode(envelope["payload"]))


def test_names_each_file_and_the_code(
    recorded: Session, attested: Path
) -> None:
    assert sorted(path.name for path in attested.iterdir()) == [
        "notebook.ipynb",
        "out.csv",
        "receipt.json",
    ]
    assert (attested / "out.csv").read_text() == "a,b\n1,2\n"
    said = statement(attested)
    hashes = {each["name"]: each["digest"] for each in said["subject"]}
    for name in ("notebook.ipynb", "out.csv"):
        content = (attested / name).read_bytes()
        assert hashes[name] == {"sha256": hashlib.sha256(content).hexdigest()}
    notebook = nbformat.read(attested / "notebook.ipynb", as_version=4)
    nbformat.validate(notebook)
    definition = said["predicate"]["buildDefinition"]
    parameters = definition["externalParameters"]
    assert parameters["session"] == recorded.id
    assert [cell["id"] for cell in parameters["cells"]] == [
        cell.id for cell in notebook.cells
    ]
    assert (
        parameters["cells"][0]["digest"]["sha256"]
        == hashlib.sha256(CODE.encode()).hexdigest()
    )
    run = said["predicate"]["runDetails"]
    head = notebook.metadata["hearth"]["head"]
    assert run["byproducts"][0]["annotations"] == {
        "seq": head["seq"],
        "chain": head["chain"],
    }


def test_strangers_check_it_with_the_public_key(
    gateway: Gateway, attested: Path, tmp_path: Path
) -> None:
    about = gateway.json("notebook", "attest-key", "--json")
    key = tmp_path / "key.pem"
    key.write_text(gateway.run("notebook", "attest-key").stdout)
    assert key.read_text() == about["pem"]
    stranger = {"HEARTH_STATE_DIR": str(tmp_path / "elsewhere")}
    with_key = ("notebook", "verify", str(attested), "--public-key", str(key))
    report = gateway.json_of(0, *with_key, "--json", env=stranger)
    assert report["whole"]
    assert report["key"] == about["key"]
    assert report["files"] == 2
    # Who has neither this key nor a gateway's own.
    done = gateway.run("notebook", "verify", str(attested), env=stranger)
    assert done.returncode == 5
    assert "--public-key" in done.stderr
    assert not (tmp_path / "elsewhere").exists()
    # And the key of another gateway.
    other = gateway.run("notebook", "attest-key", env=stranger)
    key.write_text(other.stdout)
    done = gateway.run(*with_key)
    assert done.returncode == 1
    assert "has not signed it" in done.stderr


def test_each_change_is_found(
    gateway: Gateway, attested: Path, tmp_path: Path
) -> None:
    key = tmp_path / "key.pem"
    key.write_text(gateway.run("notebook", "attest-key").stdout)
    check = ("notebook", "verify", str(attested), "--json")
    for name in ("notebook.ipynb", "out.csv"):
        path = attested / name
        whole = path.read_bytes()
        path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
        report = gateway.json_of(1, *check)
        assert report["problems"] == [f"{name} was changed"]
        path.unlink()
        report = gateway.json_of(1, *check)
        assert report["problems"] == [f"{name} is missing"]
        path.write_bytes(whole)
    (attested / "more.csv").write_text("")
    report = gateway.json_of(0, *check)
    assert report["remarks"] == ["more.csv is not in the receipt"]
    receipt = attested / "receipt.json"
    envelope = json.loads(receipt.read_text())
    said = statement(attested)
    said["predicate"]["buildDefinition"]["externalParameters"]["cells"].pop()
    envelope["payload"] = base64.b64encode(json.dumps(said).encode()).decode()
    receipt.write_text(json.dumps(envelope))
    done = gateway.run("notebook", "verify", str(attested))
    assert done.returncode == 1
    assert "it was changed" in done.stderr
    receipt.write_text("{}")
    assert gateway.run(*check).returncode == 2
    key.write_text("no key")
    done = gateway.run(
        "notebook", "verify", str(attested), "--public-key", str(key)
    )
    assert done.returncode == 2
    assert "attest-key" in done.stderr


def test_of_a_session_that_is_gone_without_a_gateway(
    gateway: Gateway, recorded: Session, tmp_path: Path
) -> None:
    recorded.delete()
    recorded.wait_state("gone")
    copy = tmp_path / "state"
    shutil.copytree(gateway.state, copy, symlinks=True)
    env = {
        "HEARTH_STATE_DIR": str(copy),
        "HEARTH_RUNTIME_DIR": str(tmp_path / "none"),
    }
    command = ("notebook", "attest", recorded.id)
    folder = tmp_path / "run"
    done = gateway.run(*command, str(folder) + "/", env=env)
    assert done.returncode == 0, done.stderr
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((copy / "attest.key").stat().st_mode) == 0o600
    times = statement(folder)["predicate"]["runDetails"]["metadata"]
    assert times["startedOn"] < times["finishedOn"]
    # Its files are the gateway's to give.
    done = gateway.run(
        *command, str(tmp_path / "more"), "-a", "out.csv", env=env
    )
    assert done.returncode == 4
    assert not (tmp_path / "more").exists()


def test_no_receipt_for_a_recording_that_was_changed(
    gateway: Gateway, recorded: Session, tmp_path: Path
) -> None:
    recorded.delete()
    recorded.wait_state("gone")
    copy = tmp_path / "state"
    shutil.copytree(gateway.state, copy, symlinks=True)
    log = copy / "sessions" / recorded.id / "journal" / "journal-000001.log"
    content = log.read_bytes()
    log.write_bytes(content.replace(b"1 + 1", b"1 + 2"))
    done = gateway.run(
        "notebook",
        "attest",
        recorded.id,
        str(tmp_path / "run"),
        env={"HEARTH_STATE_DIR": str(copy)},
    )
    assert done.returncode == 1
    assert "its recording was changed" in done.stderr
    assert not (tmp_path / "run").exists()


def test_nothing_is_left_where_it_cannot_be_made(
    gateway: Gateway, recorded: Session, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "mine").write_text("mine")
    for artifacts, status in (
        ([], 2),  # the folder is in use
        (["nowhere.csv"], 1),
        (["f"], 1),  # a folder
        (["notebook.ipynb"], 2),  # its name is taken
        (["out.csv", "./out.csv"], 2),
    ):
        options = [f"--artifact={path}" for path in artifacts]
        target = tmp_path / "new" if artifacts else folder
        done = attest(gateway, recorded, target, *options)
        assert (done.returncode, bool(done.stderr)) == (status, True), artifacts
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
    assert [path.name for path in folder.iterdir()] == ["mine"]
    done = gateway.run("notebook", "verify", recorded.id, "--public-key", "k")
    assert done.returncode == 2
    assert "is for a folder with a receipt" in done.stderr
