"""Packages that are added to a session from outside: the whole way, from the
command line or HTTP through uv to an import in the session's kernel."""

from __future__ import annotations

import json
import os
import re
import subprocess
import textwrap
import threading
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any, Iterator

import pytest
from deadline import DEADLINE, wait_for
from fake_index import FakeIndex
from harness import Gateway, Session
from packages_gateway import open_place, printed
from processes import children


@pytest.fixture(scope="module")
def index() -> Iterator[FakeIndex]:
    with FakeIndex() as made:
        made.add("timely", "1.5")
        made.add("humane", "4.0", requires=["timely>=1"])
        made.add("humane", "4.1", requires=["timely>=1"])
        made.add("humane", "5.0", requires=["timely>=1"], age_days=1)
        made.add("barred", "1.0")
        made.add("endless", "1.0", endless=True)
        made.add_program("tooled")
        yield made


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with open_place() as made:
        yield made


@pytest.fixture(scope="module")
def gateway(index: FakeIndex, folder: Path) -> Iterator[Gateway]:
    made = Gateway(
        "--set", f"profile/python3/packages/index={index.url}",
        "--set", "profile/python3/packages/deny=barred",
        "--set", f"packages/dir={folder / 'packages'}",
    )  # fmt: skip
    made.start()
    yield made
    made.end()


@pytest.fixture
def session(gateway: Gateway) -> Iterator[Session]:
    made = gateway.create()
    yield made
    made.delete()


def add(session: Session, *names: str) -> dict[str, Any]:
    return session.gateway.json("packages", "add", "--json", session.id, *names)


def refuse(session: Session, *names: str, order: str = "add") -> str:
    """Return the sentence of a refusal."""
    done = session.gateway.run("packages", order, session.id, *names)
    assert done.returncode in (1, 5), (done.stdout, done.stderr)
    return done.stderr


def versions(session: Session) -> dict[str, str]:
    found = session.gateway.json("packages", "list", "--json", session.id)
    return {one["name"]: one["version"] for one in found["packages"]}


def is_missing(session: Session, module: str) -> bool:
    done = session.exec(f"import {module}")
    return done.returncode != 0 and "ModuleNotFoundError" in done.stderr


def test_the_next_cell_imports_what_was_added(session: Session) -> None:
    session.exec("kept = 1")
    assert is_missing(session, "humane")
    answer = add(session, "humane")
    assert answer["added"] == [
        {"name": "humane", "version": "4.1"},
        {"name": "timely", "version": "1.5"},
    ]
    code = "import humane, timely; print(kept, humane.VERSION, timely.VERSION)"
    assert printed(session, code) == "1 4.1 1.5"
    assert versions(session) == {"humane": "4.1", "timely": "1.5"}


def test_what_was_removed_is_gone(session: Session) -> None:
    add(session, "humane==4.0", "tooled")
    answer = session.gateway.json(
        "packages", "remove", "--json", session.id, "humane"
    )
    assert [one["name"] for one in answer["removed"]] == ["humane", "timely"]
    assert versions(session) == {"tooled": "1.0"}
    assert is_missing(session, "timely")


def test_another_version_is_reported(session: Session) -> None:
    add(session, "humane==4.0")
    assert printed(session, "import humane; print(humane.VERSION)") == "4.0"
    answer = add(session, "humane==4.1")
    assert answer["changed"] == [{"name": "humane", "from": "4.0", "to": "4.1"}]
    assert answer["restart"] == ["humane"]
    # What is loaded stays, until the kernel is another one.
    assert printed(session, "import humane; print(humane.VERSION)") == "4.0"
    session.gateway.run("session", "restart", session.id)
    assert printed(session, "import humane; print(humane.VERSION)") == "4.1"
    done = session.gateway.run("packages", "add", session.id, "humane==4.0")
    assert done.stdout == (
        "changed humane 4.1 -> 4.0\n"
        "humane is imported already: restart the session to get 4.0\n"
    )
    # That one is imported.
    done = session.gateway.run("packages", "add", session.id, "humane==4.1")
    assert done.stdout == "changed humane 4.0 -> 4.1\n"


def test_a_kernel_with_a_cell_is_not_waited_for(session: Session) -> None:
    with session.client() as client:
        cell = client.kc.execute("input()", allow_stdin=True)
        client.kc.get_stdin_msg(timeout=DEADLINE)
        assert add(session, "humane==4.0")["restart"] is None
        done = session.gateway.run("packages", "add", session.id, "tooled")
        assert done.stdout == (
            "added tooled 1.0\n"
            "what a cell has imported already stays as it is until a restart\n"
        )
        client.kc.input("")
        client.finish(cell)
    assert add(session, "humane==4.1")["restart"] == []


def test_its_programs_can_be_started(session: Session) -> None:
    add(session, "tooled")
    assert printed(session, "!tooled") == "tooled runs"
    assert printed(session, "!python -m tooled; echo $?") == "0"


def test_programs_beside_the_kernel_have_them(session: Session) -> None:
    add(session, "tooled", "humane")
    gateway = session.gateway
    done = gateway.run("run", session.id, "--", "tooled")
    assert done.stdout == "tooled runs\n", done
    code = "import humane; print(humane.VERSION)"
    done = gateway.run("run", session.id, "--", "python", "-c", code)
    assert done.stdout == "4.1\n", done


def test_others_do_not_have_them(gateway: Gateway, session: Session) -> None:
    other = gateway.create()
    add(session, "humane")
    assert is_missing(other, "humane")
    assert versions(other) == {}
    own = printed(session, "import os; print(os.environ['HEARTH_PACKAGES'])")
    theirs = printed(other, "import os; print(os.environ['HEARTH_PACKAGES'])")
    assert own != theirs
    other.delete()


def test_the_folder_of_a_session_is_read_only(session: Session) -> None:
    add(session, "humane")
    code = """
        import errno, humane, os
        def code(call, *arguments):
            try:
                call(*arguments)
            except OSError as error:
                return errno.errorcode[error.errno]
            return "done"
        own = os.environ["HEARTH_PACKAGES"]
        print(
            code(open, humane.__file__, "a"),
            code(os.unlink, humane.__file__),
            code(os.chmod, humane.__file__, 0o777),
            code(os.rename, own, own + "2"),
            code(os.mkdir, os.path.dirname(own) + "/9"),
            code(os.chmod, "/packages", 0o755),
            code(os.listdir, "/packages"),
        )
    """
    codes = printed(session, textwrap.dedent(code)).split()
    assert len(codes) == 7
    assert set(codes) <= {"EROFS", "EACCES"}  # the mount, and Landlock
    assert codes[6] == "EACCES"


def test_two_sessions_share_the_files(
    gateway: Gateway, session: Session, folder: Path
) -> None:
    other = gateway.create()
    for one in (session, other):
        add(one, "humane==4.1")
    code = "import humane, os; print(os.stat(humane.__file__).st_ino)"
    assert printed(session, code) == printed(other, code)
    other.delete()


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("barred", r"barred .*packages/deny"),
        ("https://x.org/x.whl", "https://x.org/x.whl"),
        ("humane @ file:///etc/passwd", "file:///etc/passwd"),
        ("--index-url=http://x/", "--index-url"),
        ("-r/etc/passwd", "-r/etc/passwd"),
        ("nowhere-to-be-found", "nowhere-to-be-found"),
        ("humane==5.0", r"7 days"),
        ("humane>=9", r"humane"),
    ],
)
def test_refusals(session: Session, name: str, sentence: str) -> None:
    done = session.gateway.run("packages", "add", session.id, "--", name)
    assert done.returncode in (1, 2, 5), (done.stdout, done.stderr)
    assert re.search(sentence, done.stderr), done.stderr
    assert "\x1b" not in done.stderr
    assert "Traceback" not in done.stderr
    assert versions(session) == {}


def test_a_refusal_changes_nothing(session: Session) -> None:
    add(session, "humane==4.0")
    refuse(session, "humane==4.1", "barred")
    assert versions(session) == {"humane": "4.0", "timely": "1.5"}
    assert printed(session, "import humane; print(humane.VERSION)") == "4.0"
    refuse(session, "timely", order="remove")  # humane needs it
    refuse(session, "tooled", order="remove")
    assert versions(session) == {"humane": "4.0", "timely": "1.5"}


def test_packages_of_the_profile_stay(session: Session) -> None:
    answer = add(session, "ipython")
    assert answer["added"] == []
    assert [one["name"] for one in answer["present"]] == ["ipython"]
    assert versions(session) == {}


def test_a_cell_runs_meanwhile(session: Session) -> None:
    started = session.workspace / "started"
    code = (
        "import os, time\nopen('started', 'w').close()\n"
        "while not os.path.exists('end'): time.sleep(0.05)\n"
        "print('went on')"
    )
    cell: list[subprocess.CompletedProcess[str]] = []
    thread = threading.Thread(target=lambda: cell.append(session.exec(code)))
    thread.start()
    wait_for(started.exists, "the cell runs")
    assert add(session, "humane")["added"]
    (session.workspace / "end").touch()
    thread.join()
    assert cell[0].stdout.strip() == "went on", cell[0]
    assert printed(session, "import humane; print(humane.VERSION)") == "4.1"


def test_what_happened_is_written_down(
    gateway: Gateway, session: Session
) -> None:
    add(session, "humane")
    refuse(session, "barred")
    text = json.dumps(session.notebook())
    assert "humane 4.1" in text
    records = gateway.run("audit", "show", "--json").stdout
    assert re.search(r'"package".*"humane"', records), records
    assert re.search(r'"package".*"refused"', records), records


def ask(
    gateway: Gateway, method: str, path: str, body: Any = None
) -> tuple[int, Any]:
    """Return the status and the JSON of an answer over HTTP."""
    info = gateway.info()["http"]
    request = urllib.request.Request(
        info["url"].rstrip("/") + path,
        None if body is None else json.dumps(body).encode(),
        {"Authorization": f"token {info['token']}"},
        method=method,
    )
    try:
        with urllib.request.urlopen(request, timeout=DEADLINE) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def test_over_http(gateway: Gateway, session: Session) -> None:
    path = f"/hearth/sessions/{session.id}/packages"
    wanted = {"packages": ["humane>=4", "tooled"]}
    status, answer = ask(gateway, "POST", path, wanted)
    assert status == 200, answer
    names = {one["name"] for one in answer["added"]}
    assert names == {"humane", "timely", "tooled"}
    assert len(ask(gateway, "GET", path)[1]["packages"]) == 3
    assert ask(gateway, "DELETE", f"{path}/humane")[0] == 200
    left = ask(gateway, "GET", path)[1]["packages"]
    assert [one["name"] for one in left] == ["tooled"]
    status, answer = ask(gateway, "POST", path, {"packages": ["barred"]})
    assert status == 403
    assert "barred" in answer["message"]
    # One that is gone has them still.
    session.delete()
    assert ask(gateway, "GET", path)[1]["packages"] == left
    assert ask(gateway, "POST", path, wanted)[0] == 404
    assert ask(gateway, "DELETE", f"{path}/tooled")[0] == 200
    assert ask(gateway, "GET", path)[1]["packages"] == []


def with_hashes(name: str, *sha256: str) -> str:
    """Return a requirement with as many hashes as it can have."""
    others = [f"{number:064x}" for number in range(245)]
    hashes = " ".join(f"--hash=sha256:{one}" for one in [*sha256, *others])
    return f"{name} {hashes}"


def test_a_request_may_have_many_hashes(
    index: FakeIndex, session: Session
) -> None:
    """More than a datagram has room for."""
    found = {
        f"many-{number}": index.add(f"many-{number}", "1").sha256
        for number in range(8)
    }
    texts = [with_hashes(f"{one}==1", found[one]) for one in found]
    assert sum(map(len, texts)) > 2 * 65536
    names = list(found)
    done = add(session, *texts[:4])
    assert [one["name"] for one in done["added"]] == names[:4]
    printed(session, f"open('wanted', 'w').write({texts[4]!r})")
    for text in texts[5:]:
        printed(session, f"open('wanted', 'a').write({chr(10) + text!r})")
    printed(session, "%pip install -r wanted")
    assert sorted(versions(session)) == names
    many = [with_hashes(f"too-{number}==1") for number in range(60)]
    sentence = refuse(session, *many)
    assert re.search(r"bytes long, more than 1048576; ask for less", sentence)


def test_they_stay_with_the_session(gateway: Gateway) -> None:
    session = gateway.create()
    add(session, "humane")
    gateway.kill()
    gateway.start()
    assert printed(session, "import humane; print(humane.VERSION)") == "4.1"
    assert add(session, "tooled")["added"]
    assert printed(session, "import tooled; print(tooled.__name__)") == "tooled"
    session.delete()
    revived = gateway.run("session", "revive", "--json", session.id)
    if revived.returncode:
        revived = gateway.run("revive", "--json", session.id)
    assert revived.returncode == 0, revived.stderr
    assert printed(session, "import humane; print(humane.VERSION)") == "4.1"
    session.delete()


def test_an_end_of_the_gateway_ends_a_job(
    gateway: Gateway, index: FakeIndex
) -> None:
    """uv waits for a file that never ends; nothing of it is left."""
    session = gateway.create()
    add(session, "humane==4.0")
    before = index.count("/files/endless")
    job = subprocess.Popen(
        [*gateway.command[:1], "packages", "add", session.id, "endless"],
        env=gateway.env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    wait_for(lambda: index.count("/files/endless") > before, "the job runs")
    helpers = children(gateway.pid)
    gateway.kill()
    job.wait(60)
    wait_for(
        lambda: not any(os.path.exists(f"/proc/{pid}") for pid in helpers),
        "the end of the worker",
    )
    gateway.start()
    assert versions(session) == {"humane": "4.0", "timely": "1.5"}
    assert add(session, "tooled")["added"]
    session.delete()


def test_without_an_index(folders: Gateway) -> None:
    """As by default: what would be right is said."""
    folders.start()
    session = folders.create()
    said = refuse(session, "humane")
    assert "profile/python3/packages/index" in said
    assert printed(
        session, "import os; print(os.path.exists('/packages'))"
    ) == ("False")
    session.delete()
