"""`!cmd` and subprocess: what an agent's programs find, and how they end."""

from __future__ import annotations

import pytest
from client import Client


def said(client: Client, code: str) -> str:
    turn = client.run(code)
    assert turn.status == "ok", turn.content
    return turn.stream().replace("\r\n", "\n")


@pytest.mark.parametrize(
    "code",
    [
        "!python -c 'import sys; print(sys.prefix)'",
        "import subprocess\n"
        "print(subprocess.run(['python3', '-c', 'import sys; "
        "print(sys.prefix)'], capture_output=True, text=True).stdout)",
    ],
    ids=["shell", "subprocess"],
)
def test_python_is_the_profiles_own(client: Client, code: str) -> None:
    assert said(client, code).strip() == client.value(
        "__import__('sys').prefix"
    )


def test_environment(client: Client) -> None:
    names = client.value("sorted(__import__('os').environ)")

    assert set(names) >= {"PATH", "HOME", "LANG", "USER", "PAGER"}
    assert client.value("__import__('os').environ['HOME']") == "/workspace"
    assert client.value("__import__('os').path.expanduser('~')") == "/workspace"
    # A program has what os.environ has, and no more.
    shown = said(client, "!env -0 | tr '\\0\\n' '\\n ' | cut -d= -f1")
    assert set(shown.split()) - {"PWD", "OLDPWD", "SHLVL", "_"} == set(names)


def test_text_of_programs_is_utf_8(client: Client) -> None:
    code = "!printf 'caf\\303\\251' > text; ls; grep -c 'caf.$' text"

    assert said(client, code).split() == ["text", "1"]


def test_variables_of_a_function(client: Client) -> None:
    code = (
        "def f():\n"
        "    inner = 'one'\n"
        "    !echo $inner\n"
        "    lines = !echo {inner} $$HOME\n"
        "    print(lines)\n"
        "f()"
    )

    assert said(client, code) == "one\n['one /workspace']\n"


def test_exit_code(client: Client) -> None:
    assert said(client, "!exit 3") == ""
    assert client.value("_exit_code") == 3


@pytest.mark.parametrize(
    "command", ["pip install", "python3 -m pip install", "pip3 install -q"]
)
def test_a_failed_install_is_explained(client: Client, command: str) -> None:
    turn = client.run(f"!{command} no-such-package-as-this")

    assert turn.status == "ok"
    assert client.value("_exit_code") != 0
    assert "this kernel has no network" in turn.stream("stderr")
    assert "profile's environment" in turn.stream("stderr")


def test_other_failures_have_no_explanation(client: Client) -> None:
    turn = client.run("!pip frobnicate; cat pip-install; false")

    assert client.value("_exit_code") != 0
    assert turn.stream("stderr") == ""
