"""A gateway that cannot start says what is wrong; what it can do without, it
does without."""

from __future__ import annotations

import subprocess
import venv

import pytest
from deadline import DEADLINE
from harness import HEARTH, Gateway


def serve(
    gateway: Gateway, *arguments: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [HEARTH, "serve", *arguments],
        env=gateway.env,
        capture_output=True,
        text=True,
        timeout=DEADLINE,
    )


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("nonsense\n    key = 1\n", "nonsense"),
        ("sessions\n    idle_timout = 5m\n", "idle_timout"),
        ("sessions\n    idle_timeout = soon\n", "idle_timeout"),
        ("sessions\n    idle_timeout = -5\n", "idle_timeout"),
        ("sessions\n    restart = maybe\n", "restart"),
        ("sessions\n    sessions_max = 0\n", "sessions_max"),
        ("gateway\n    ip = not an address\n", "ip"),
        ("gateway\n    log_level = loud\n", "log_level"),
        ("gateway\n    transport = udp\n", "transport"),
        (
            "profile\n    python3\n        limits\n            colour = 3\n",
            "colour",
        ),
    ],
)
def test_bad_configuration(folders: Gateway, text: str, word: str) -> None:
    file = folders.folder / "hearth.cfg"
    file.write_text(text)
    done = serve(folders, "--config", str(file))

    assert done.returncode == 5, done.stderr
    assert word in done.stderr
    assert str(file) in done.stderr
    assert not (folders.runtime / "management.sock").exists()


def test_missing_configuration(folders: Gateway) -> None:
    done = serve(folders, "--config", "/no/such/hearth.cfg")

    assert done.returncode == 5
    assert "/no/such/hearth.cfg" in done.stderr


def test_runtime_folder_too_long(folders: Gateway) -> None:
    folders.env["HEARTH_RUNTIME_DIR"] = str(folders.folder / ("x" * 100))
    done = serve(folders)

    assert done.returncode == 5
    assert "107" in done.stderr
    assert "shorter" in done.stderr


def test_runtime_folder_of_others(folders: Gateway) -> None:
    folders.runtime.mkdir()
    folders.runtime.chmod(0o777)
    done = serve(folders)

    assert done.returncode == 5
    assert "chmod 700" in done.stderr


def test_python_without_ipython(folders: Gateway) -> None:
    bare = folders.folder / "bare"
    venv.create(bare, with_pip=False, symlinks=True)
    python = bare / "bin" / "python3"
    folders.start("--set", f"profile/python3/python={python}")
    done = folders.run("session", "create")

    assert done.returncode == 1
    assert "IPython" in done.stderr
    assert str(python) in done.stderr


def test_no_python_at_all(folders: Gateway) -> None:
    folders.start("--set", "profile/python3/python=/no/such/python3")
    done = folders.run("session", "create")

    assert done.returncode == 1
    assert "/no/such/python3" in done.stderr


def test_missing_preload_is_left_out(folders: Gateway) -> None:
    folders.start("--set", "profile/python3/preload=no_such_module")
    session = folders.create()
    assert session.exec("1 + 1").stdout == "2\n"


def test_plots_show_without_preload(folders: Gateway) -> None:
    folders.start("--set", "profile/python3/preload=")
    with folders.create().client() as client:
        turn = client.run("import matplotlib.pyplot as plt\nplt.plot([1, 2])")
    assert "image/png" in turn.contents("display_data")[0]["data"]


@pytest.mark.parametrize(
    ("settings", "is_prepared"),
    [
        (["preload=json"], True),
        (["preload="], False),
        (["preload=json", "fresh=true"], False),
    ],
    ids=["preload", "none", "fresh"],
)
def test_what_completion_reads_is_read_in_advance(
    folders: Gateway, settings: list[str], is_prepared: bool
) -> None:
    """Where sessions have it in common, and modules are wanted in advance. It
    is there for all of them."""
    folders.start(*(f"--set=profile/python3/{text}" for text in settings))
    with folders.create().client() as client:
        turn = client.run(
            "from parso.cache import parser_cache\nbool(parser_cache)"
        )
        assert turn.result == str(is_prepared)
        reply = client.reply(client.kc.complete("pri"))
        assert "print" in reply["content"]["matches"]


def test_unwritable_state(folders: Gateway) -> None:
    """Root may write everywhere; a file in the folder's place stops it too."""
    folders.state.write_text("a file")
    done = serve(folders)

    assert done.returncode == 5
    assert str(folders.state) in done.stderr


def test_broken_session_state(folders: Gateway) -> None:
    """One session's files are junk: the others live, the junk is named."""
    folders.start()
    good, bad = folders.create(), folders.create()
    good.exec("x = 1")
    folders.terminate()
    state = folders.state / "sessions" / bad.id
    (state / "session.json").write_text("{junk")
    folders.start()
    assert good.exec("x").stdout == "1\n"
    assert bad.id in folders.log.read_text()
