"""A replay and a revival bring the contents of Git LFS and submodules again, as
they were asked for, into workspaces where git takes them for unchanged."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from harness import Gateway
from lfs_server import LfsServer
from outside import Outside, bring, git, run
from recordings import revive
from test_replays_outside import gateway, replayed

__all__ = ["gateway"]  # a fixture

CONTENT = b"the content of "


@pytest.mark.parametrize("asks", ["cell", "client"])
def test_contents_come_again(
    outside: Outside,
    gateway: Gateway,
    asks: str,
) -> None:
    lfs = LfsServer(outside.repositories)
    made = outside.repositories.make(f"lfs-{asks}.git")
    rule = "*.bin filter=lfs diff=lfs merge=lfs -text\n"
    pointer = lfs.put(CONTENT + asks.encode())
    files = {".gitattributes": rule, "net.bin": ("100755", pointer)}
    made.commit(files)
    lfs.serve(made)
    session = gateway.create()
    bring(session, asks, made.url, "src", "--lfs")
    run(session, "print(len(open('src/net.bin', 'rb').read()))")
    check(session.workspace / "src", asks)
    made.commit({**files, "net.bin": lfs.put(b"newer")})
    with replayed(gateway, session.id) as kept:
        check(kept.workspace / "src", asks)
    shutil.rmtree(session.workspace / "src")
    session.delete()
    assert revive(gateway, session)["missing"] == []
    check(session.workspace / "src", asks)
    session.delete()
    assert len(lfs.batches) == 1  # the content was kept


def check(folder: Path, asks: str) -> None:
    assert (folder / "net.bin").read_bytes() == CONTENT + asks.encode()
    assert git(folder, "status", "--porcelain") == ""


@pytest.mark.parametrize("asks", ["cell", "client"])
def test_submodules_come_again(
    outside: Outside, gateway: Gateway, asks: str
) -> None:
    inner = outside.repositories.make(f"inner-{asks}.git")
    old = inner.commit({"b": "old", "big": CONTENT})
    made = outside.repositories.make(f"outer-{asks}.git")
    modules = f'[submodule "x"]\n\tpath = lib/x\n\turl = ../{inner.path.name}\n'
    made.commit({".gitmodules": modules, "lib/x": ("160000", old)})
    inner.commit({"b": "new"})
    session = gateway.create()
    bring(session, asks, made.url, "src", "--submodules")
    run(session, "print(open('src/lib/x/b').read())")
    check_modules(session.workspace / "src", old)
    with replayed(gateway, session.id) as kept:
        check_modules(kept.workspace / "src", old)
    shutil.rmtree(session.workspace / "src")
    session.delete()
    assert revive(gateway, session)["missing"] == []
    check_modules(session.workspace / "src", old)
    session.delete()


def check_modules(folder: Path, commit: str) -> None:
    assert (folder / "lib" / "x" / "b").read_text() == "old"
    assert git(folder, "status", "--porcelain") == ""
    said = git(folder, "submodule", "status")
    assert said.split()[:2] == [commit, "lib/x"]
