"""A revival brings the packages, files and repositories that are gone, or says
which cannot be had."""

from __future__ import annotations

import json
import shutil
from typing import Any

import pytest
from harness import Gateway, Session
from outside import (
    NEW,
    OLD,
    WHOLE,
    Outside,
    WholeRepository,
    add,
    bring,
    digest,
    git,
    make_repository,
    own,
    repositories,
    run,
)
from recordings import revive


@pytest.fixture
def gateway(outside: Outside) -> Gateway:
    return outside.gateway


def test_a_revival_brings_what_is_missing(
    outside: Outside, gateway: Gateway
) -> None:
    outside.index.add("revivable", "1.0")
    outside.files.put("/revived.csv", OLD)
    made, old = make_repository(outside, "revived.git")
    session = gateway.create()
    add(session, "revivable")
    gateway.json(
        "fetch", "--json", session.id, outside.files.url("/revived.csv")
    )
    gateway.json("clone", "--json", session.id, made.url)
    run(session, "import revivable; x = open('revived.csv').read()")
    (session.workspace / "revived.csv").unlink()
    shutil.rmtree(session.workspace / "revived")
    made.commit({"about": "new\n"})
    outside.files.put("/revived.csv", NEW)
    outside.index.add("revivable", "2.0")
    session.delete()
    assert revive(gateway, session)["missing"] == []
    assert (session.workspace / "revived.csv").read_bytes() == OLD
    assert git(session.workspace / "revived", "rev-parse", "HEAD") == old
    # What is there is left as it is.
    (session.workspace / "revived.csv").write_bytes(b"mine")
    session.delete()
    assert revive(gateway, session)["missing"] == []
    assert (session.workspace / "revived.csv").read_bytes() == b"mine"
    session.delete()


@pytest.mark.parametrize("asks", ["cell", "client"])
def test_a_revival_brings_contents_and_submodules(
    outside: Outside, gateway: Gateway, asks: str
) -> None:
    whole = WholeRepository(outside, f"alive-{asks}")
    session = gateway.create()
    bring(session, asks, whole.made.url, "src", *WHOLE)
    tree = session.workspace / "src"
    listed = repositories(session)
    whole.move_on()
    # The first revival finds it there; the second one, and that which comes
    # after a revival, ask the servers.
    for is_there in (True, False, False):
        if not is_there:
            shutil.rmtree(tree)
            outside.forget()
        session.delete()
        assert revive(gateway, session)["missing"] == []
        whole.check_old(tree)
        assert repositories(session) == listed
    session.delete()


def test_a_revival_brings_what_came_last_to_a_path(
    outside: Outside, gateway: Gateway
) -> None:
    session = gateway.create()
    for name, content in (("first", OLD), ("second", NEW)):
        outside.files.put(f"/{name}", content)
        url = outside.files.url(f"/{name}")
        gateway.json("fetch", "--json", session.id, url, "--into", "same.csv")
    run(session, "print(open('same.csv').read())")
    (session.workspace / "same.csv").unlink()
    session.delete()
    report = revive(gateway, session)
    assert (report["same"], report["missing"]) == (1, [])
    assert (session.workspace / "same.csv").read_bytes() == NEW
    session.delete()


def test_a_revival_goes_on_and_names_what_is_missing(
    outside: Outside, gateway: Gateway
) -> None:
    outside.files.put("/lost.csv", OLD)
    session = gateway.create()
    gateway.json("fetch", "--json", session.id, outside.files.url("/lost.csv"))
    run(session, "x = 1")
    (session.workspace / "lost.csv").unlink()
    outside.files.put("/lost.csv", NEW)
    outside.forget()
    session.delete()
    done = gateway.run("session", "revive", "--json", session.id)
    assert done.returncode == 1, done.stderr
    report = json.loads(done.stdout)
    [missing] = report["missing"]
    assert digest(NEW) in missing["why"]
    assert "missing from outside: " in report["sentence"]
    assert run(session, "print(x)") == "1\n"
    session.delete()


def test_a_long_reason_is_shortened_in_the_report(
    outside: Outside, gateway: Gateway
) -> None:
    outside.files.put("/worded.csv", OLD)
    session = gateway.create()
    run(
        session,
        f"""%fetch {outside.files.url("/worded.csv")}
import os
class FetchError(Exception):
    pass
if os.path.exists("again"):
    raise FetchError("a" + 40_000 * "\\u00fc")""",
    )
    run(session, "open('again', 'w').close()")
    session.delete()
    report = revive(gateway, session)
    assert report["is_complete"]
    [missing] = report["missing"]
    assert missing["why"] == "a" + 199 * "\u00fc"
    [different] = report["cells"]
    assert different["why"].endswith("\u00fc")
    assert missing["why"] in report["sentence"]
    session.delete()


def test_cells_of_a_revival_keep_what_is_there(
    outside: Outside, gateway: Gateway
) -> None:
    """The servers have other things by now, and the gateway keeps nothing."""
    outside.files.put("/celled.csv", OLD)
    url = outside.files.url("/celled.csv")
    made, old = make_repository(outside, "celled.git")
    outside.index.add("celled", "1.0")
    outside.index.add("brief", "1.0")
    session = gateway.create()
    run(session, f"%fetch {url}\nx = open('celled.csv').read()")
    run(session, f"%clone {made.url}\ny = open('celled/about').read()")
    run(session, "%pip install celled\nimport celled")
    run(session, "%pip install brief")
    run(session, "%pip uninstall -y brief")
    made.commit({"about": "new\n"})
    outside.files.put("/celled.csv", NEW)
    outside.forget()
    session.delete()
    report = revive(gateway, session)
    assert (report["same"], report["missing"]) == (5, [])
    assert run(session, "print(x == open('celled.csv').read(), y)") == (
        "True old\n\n"
    )
    assert git(session.workspace / "celled", "rev-parse", "HEAD") == old
    # Without it the cell says why.
    (session.workspace / "celled.csv").write_bytes(NEW)
    session.delete()
    report = revive(gateway, session)
    [missing] = report["missing"]
    assert missing["cell"] == report["cells"][0]["number"]
    assert digest(OLD) in missing["why"]
    session.delete()


def revive_with_loss(gateway: Gateway, session: Session) -> dict[str, Any]:
    """Revive a session that cannot have all from outside."""
    session.delete()
    done = gateway.run("session", "revive", "--json", session.id)
    assert done.returncode == 1, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    assert report["missing"]
    return report


def test_each_revival_does_what_the_first_did(
    outside: Outside, gateway: Gateway
) -> None:
    """The file comes between the same cells, though the first revival finds it
    there, and the second one does not."""
    outside.files.put("/again.csv", OLD)
    session = gateway.create()
    path = session.workspace / "again.csv"
    read = "print(open('again.csv').read(), end='')"
    assert session.exec(read).returncode == 1
    gateway.json("fetch", "--json", session.id, outside.files.url("/again.csv"))
    run(session, read)
    # The first cell finds a file that is there already, and only then.
    for is_there, different in ((True, 1), (False, 1), (False, 0)):
        if not is_there:
            path.unlink()
        session.delete()
        report = revive(gateway, session)
        assert (report["different"], report["missing"]) == (different, [])
        assert path.read_bytes() == OLD
    session.delete()


def test_each_revival_names_what_is_missing(
    outside: Outside, gateway: Gateway
) -> None:
    outside.files.put("/ever.csv", OLD)
    outside.index.add("everlost", "1.0")
    session = gateway.create()
    gateway.json("fetch", "--json", session.id, outside.files.url("/ever.csv"))
    add(session, "everlost")
    gateway.json("packages", "remove", "--json", session.id, "everlost")
    run(session, "print(1)")
    (session.workspace / "ever.csv").unlink()
    outside.files.put("/ever.csv", NEW)
    outside.index.releases.pop("everlost")
    outside.forget()
    first = revive_with_loss(gateway, session)["missing"]
    # The removal has nothing to remove, and is no loss.
    assert [one["what"] for one in first] == [
        outside.files.url("/ever.csv"),
        "everlost",
    ]
    assert revive_with_loss(gateway, session)["missing"] == first
    assert "packages" not in own(session)
    # It is the recorded file that is asked for, and it is had as soon as it
    # is there.
    outside.files.put("/ever.csv", OLD)
    outside.index.add("everlost", "1.0")
    session.delete()
    assert revive(gateway, session)["missing"] == []
    assert (session.workspace / "ever.csv").read_bytes() == OLD
    assert "packages" not in own(session)
    session.delete()


def test_a_cell_that_asked_twice_misses_it_once(
    outside: Outside, gateway: Gateway
) -> None:
    outside.index.add("twice", "1.0")
    session = gateway.create()
    run(
        session,
        """for _ in range(2):
    try:
        get_ipython().run_line_magic("pip", "install twice")
    except Exception:
        pass""",
    )
    gateway.json("packages", "remove", "--json", session.id, "twice")
    outside.index.releases.pop("twice")
    outside.forget()
    [missing] = revive_with_loss(gateway, session)["missing"]
    assert "no package twice" in missing["why"]
    session.delete()


def test_a_request_before_a_restart_is_made_again(
    outside: Outside, gateway: Gateway
) -> None:
    """A restart discards the variables, and not the workspace."""
    outside.files.put("/kept.csv", OLD)
    session = gateway.create()
    gateway.json("fetch", "--json", session.id, outside.files.url("/kept.csv"))
    run(session, "x = 1")
    gateway.run("session", "restart", session.id)
    run(session, "y = 2")
    (session.workspace / "kept.csv").unlink()
    session.delete()
    assert revive(gateway, session)["missing"] == []
    assert (session.workspace / "kept.csv").read_bytes() == OLD
    session.delete()
