"""Cells that ask for packages, and the answers that they get."""

import os

import pytest
from test_kernel_packages import begin, folder, show  # noqa: F401

from gateway import kinds, text

HUMANIZE = {"name": "humanize", "version": "4.17.0"}


@pytest.fixture(name="kernel")
def kernel_with_packages(fork, folder):  # noqa: F811
    made = fork()
    begin(made, folder)
    return made


def calls(kernel, code):
    """Run the cell up to its call; return its number and the call."""
    cell = kernel.execute(code)
    while True:
        event = kernel.event()
        if event.kind == "CALL":
            return cell, event
        assert event.kind != "REPLY", event.content


def answer(kernel, call, **content):
    kernel.send("CALLED", content, request=call.content["call"])


def do(kernel, code, **lists):
    """Run a cell whose call is answered so; return its events."""
    cell, call = calls(kernel, code)
    answer(kernel, call, result={"status": "ok", "packages": [], **lists})
    return kernel.until_reply(cell)


def asked(kernel, code):
    """Return what the cell has asked for; it is answered."""
    cell, call = calls(kernel, code)
    answer(kernel, call, result={"status": "ok"})
    assert kernel.until_reply(cell)[-1].content["status"] == "ok"
    arguments = call.content["arguments"]
    return arguments["order"], arguments["names"]


def refused(kernel, code):
    """Return the sentence of a cell that has asked for nothing."""
    events = kernel.run(code)
    assert "CALL" not in kinds(events)
    reply = events[-1].content
    assert (reply["status"], reply["ename"]) == ("error", "UsageError"), reply
    assert reply["traceback"] == [f"UsageError: {reply['evalue']}"]
    return reply["evalue"]


def printed(events):
    assert events[-1].content["status"] == "ok", events[-1].content
    return text(events).splitlines()


def add(folder, generation, name, version, *files):  # noqa: F811
    """Show a generation with one package, as uv installs it."""
    show(folder, generation)
    own = folder / generation
    info = own / f"{name}-{version}.dist-info"
    for file in [f"{name}.py", *files]:
        (own / file).parent.mkdir(exist_ok=True)
        (own / file).write_text(f"version = {version!r}\n")
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        "Summary: One for tests\nRequires-Dist: numpy>=1\n"
        "Requires-Dist: other; extra == 'more'\n"
    )
    lines = [f"{file},,\n" for file in [f"{name}.py", *files]]
    (info / "RECORD").write_text("".join(lines))
    os.utime(own, (1_700_000_000, 1_700_000_000))
