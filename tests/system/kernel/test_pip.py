"""`%pip` and `!pip install`: what is asked, and what the cell sees of it."""

import pytest
from pip_cells import (  # noqa: F401
    HUMANIZE,
    add,
    answer,
    asked,
    calls,
    do,
    kernel_with_packages,
    printed,
    refused,
)
from test_kernel_packages import begin, folder  # noqa: F401

from gateway import kinds, only, text

# ---- what is asked ----


def test_the_call_is_not_of_a_host_tool(kernel):
    cell, call = calls(kernel, "%pip install humanize")
    assert call.request == cell
    assert call.content == {
        "call": 1,
        "name": "hearth:packages",
        "arguments": {"order": "add", "names": ["humanize"]},
    }
    answer(kernel, call, result={"status": "ok"})
    kernel.until_reply(cell)


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("%pip install humanize>=4 'a[b] ~= 1.0' \"c\"", 3),
        ("%pip install -q -U --user humanize  # it's needed", 1),
        ("%pip install --progress-bar off --no-cache-dir humanize", 1),
        ("%pip install humanize --root-user-action=ignore -qq", 1),
        ("pip install humanize", 1),
        ("%pip3 install -q 'humanize>=4'", 1),
        ("%uv pip install --system humanize", 1),
        ("%uv add humanize", 1),
        ("wanted = 'humanize'\n%pip install {wanted}", 1),
        ("!pip install humanize", 1),
        ("!pip3 install -q 'humanize>=4' requests[socks]~=2.0 # x", 2),
        ("!python -m pip install humanize==4.1,!=4.2", 1),
        ("import sys\n!{sys.executable} -m pip install -U humanize", 1),
        ("!uv pip install --system humanize", 1),
        ("!PIP_NO_INPUT=1 PIP_ROOT_USER_ACTION=ignore pip install humanize", 1),
        ("!pip install -q 'humanize>=4' | cat | head  # the first lines", 1),
    ],
)
def test_many_ways_to_add(kernel, line, names):
    order, found = asked(kernel, line)
    assert order == "add"
    assert len(found) == names
    assert found[0].startswith("humanize")


@pytest.mark.parametrize(
    "line",
    [
        "%pip uninstall -y humanize",
        "%pip3 uninstall -y humanize",
        "%uv pip uninstall humanize",
        "%uv remove humanize",
        "!pip uninstall --yes humanize",
    ],
)
def test_many_ways_to_remove(kernel, line):
    assert asked(kernel, line) == ("remove", ["humanize"])


@pytest.mark.parametrize(
    ("ending", "is_silent"),
    [
        (" 2>&1 | tail -1", False),
        (" | tail -n 3", False),
        ("|tail -n3", False),
        (" | head -5", False),
        (" 2>/dev/null", False),
        (" 2> /dev/null | cat", False),
        (" 2>>/dev/null", False),
        (" >/dev/null 2>&1", True),
        (" 1>/dev/null", True),
        (" &> /dev/null", True),
        (" 2>/dev/null >> /dev/null", True),
        (" | tail -1 > /dev/null", True),
    ],
)
def test_a_command_may_show_less(kernel, ending, is_silent):
    cell, call = calls(kernel, f"!pip install -q humanize{ending}")
    assert call.content["arguments"]["names"] == ["humanize"]
    answer(kernel, call, result={"status": "ok", "added": [HUMANIZE] * 2})
    lines = [] if is_silent else ["added humanize 4.17.0"] * 2
    assert printed(kernel.until_reply(cell)) == lines


def test_a_command_is_refused_for_its_file(kernel):
    kernel.run("open('index.txt', 'w').write('--index-url https://x/')")
    for line, sentence in [
        ("-r index.txt", "--index-url in index.txt is not taken"),
        ("-q -r index.txt 2>&1 | tail -1", "--index-url in index.txt is not"),
        ("-r no.txt", "pip install: no.txt: No such file"),
    ]:
        assert sentence in refused(kernel, f"!pip install {line}")
        assert kernel.value("_exit_code") == "1"


def test_a_file_of_requirements(kernel):
    kernel.run(
        "open('needs.txt', 'w').write('''# all that is needed\n\n"
        "humanize >= 4,\\\\\n<5  # numbers\n  timely\n''')"
    )
    for line in ("%pip install -r needs.txt", "!pip install -rneeds.txt one"):
        names = asked(kernel, line)[1]
        assert names[:2] == ["humanize >= 4,<5", "timely"]
    assert names[2:] == ["one"]


def test_a_file_for_several_pythons(kernel, tmp_path):
    file = tmp_path / "all.txt"
    file.write_bytes(
        b'colorama==0.4.6 ; sys_platform == "win32"\r\n'
        b'x[y]==1 ; python_version >= "3.9"  # via z\r\n'
        b'z==2 ; \\\r\n  python_version < "3"\r\n'
        b"odd ; nonsense\r\n"
    )
    for line in (f"%pip install -r {file}", f"!pip install -r {file}"):
        assert asked(kernel, line)[1] == ["x[y]==1", "odd ; nonsense"]
    kernel.run("import sys; sys.modules['packaging.requirements'] = None")
    names = asked(kernel, f"%pip install -r {file}")[1]
    assert names[0] == 'colorama==0.4.6 ; sys_platform == "win32"'


def test_a_file_with_hashes(kernel, tmp_path):
    """As `pip-compile --generate-hashes` writes it."""
    file = tmp_path / "hashes.txt"
    file.write_text(
        'x==1 ; python_version > "3" \\\n    --hash=sha256:00 \\\n'
        "    --hash sha256:11\n    # via z\n"
        'y==2 ; python_version < "3" --hash=sha256:22\nz==3 --hash=md5:3  # z\n'
    )
    for line in (f"%pip install -r {file}", f"!pip install -r {file}"):
        assert asked(kernel, line)[1] == [
            "x==1 --hash=sha256:00 --hash=sha256:11",
            "z==3 --hash=md5:3",
        ]
    file.write_text("x==1 --hash=sha256:00 --no-binary x\n")
    assert "--no-binary in" in refused(kernel, f"%pip install -r {file}")
    file.write_text("x==1 --hash=-e\n")
    assert "-e in" in refused(kernel, f"%pip install -r {file}")


def test_a_file_for_another_python_says_so(kernel):
    kernel.run(
        "open('other', 'w').write('x==1 ; python_version < \"3\"\\n"
        'y ; sys_platform == "no"\\n\')\n'
        "open('empty', 'w').write('# nothing yet\\n')\n"
        "open('fits', 'w').write('humanize\\n')"
    )
    for files in ("-r other", "-r empty -r other"):
        for line in (f"%pip install {files}", f"!pip install {files}"):
            sentence = refused(kernel, line)
            assert "nothing in other applies to this Python (3." in sentence
            assert ", linux): its markers are for others" in sentence
    sentence = refused(kernel, "%pip install -r other -r ./other")
    assert "nothing in other and ./other applies" in sentence
    sentence = refused(kernel, "%pip install -r empty")
    assert sentence == "%pip: install needs the name of a package"
    for more in ("-r fits", "humanize"):
        found = asked(kernel, f"%pip install -r other {more}")[1]
        assert found == ["humanize"]


def test_a_file_has_its_limits(kernel, tmp_path):
    many, large = tmp_path / "many.txt", tmp_path / "large.txt"
    many.write_text("x\n" * 100)
    large.write_text("x\n#".ljust(1 << 20))
    assert len(asked(kernel, f"%pip install -r {many}")[1]) == 100
    assert asked(kernel, f"%pip install -r {large}")[1] == ["x"]
    large.write_text("x\n#".ljust((1 << 20) + 1))
    for words, sentence in [
        (f"{many} y", "these are 101 requirements, and one request takes 100"),
        (large, "is larger than 1 MiB"),
        ("/dev/zero", "/dev/zero is larger than 1 MiB"),
    ]:
        assert sentence in refused(kernel, f"%pip install -r {words}")


def test_what_is_no_requirement_is_refused_by_its_name(kernel):
    kernel.run(
        "open('index.txt', 'w').write('--index-url https://x/\\nhumanize')\n"
        "open('binary.txt', 'w').write('humanize --no-binary=:all:')"
    )
    for words, name in [
        ("install --index-url https://x/ y", "--index-url is not taken"),
        ("install --no-deps=1 y", "--no-deps is not taken"),
        ("install -e .", "-e is not taken"),
        ("install -r index.txt", "--index-url in index.txt is not taken"),
        ("install -r binary.txt", "--no-binary in binary.txt is not taken"),
        ("install -r no.txt", "no.txt: No such file"),
        ("install -r", "-r needs a value"),
        ("install y 2>&1", "'2>&1' is for a shell"),
        ("install y | tail -1", "'|' is for a shell"),
        ("install 'y", "No closing quotation"),
        ("install", "install needs the name"),
        ("uninstall -U y", "uninstall does not take the option -U"),
        ("download y", "'download' is not possible here; there are install"),
        ("", "there are install"),
    ]:
        assert name in refused(kernel, f"%pip {words}"), words


def test_conda_is_shown_the_other_way(kernel):
    for magic in ("conda", "mamba"):
        sentence = refused(kernel, f"%{magic} install -y 'humanize>=4' numpy")
        assert "use `%pip install 'humanize>=4' numpy`" in sentence
    assert "%uv add" in refused(kernel, "%uv sync")


def test_a_profile_without_packages_is_not_asked(fork):
    kernel = fork()
    for line in ("%pip install --odd x", "%uv add x", "%conda install x"):
        assert "into the profile's environment" in refused(kernel, line)
    assert printed(kernel.run("%pip list"))[0].startswith("Package ")
    assert "CALL" not in kinds(kernel.run(RUNS_PIP))
    assert kernel.value("_exit_code") == "3"


RUNS_PIP = (
    "import os\n"
    "os.makedirs('bin'); open('bin/pip', 'w').write('#!/bin/sh\\nexit 3')\n"
    "os.chmod('bin/pip', 0o755)\n"
    "os.environ['PATH'] = os.path.abspath('bin') + ':/bin:/usr/bin'\n"
    "!pip install x"
)


def test_cells_may_be_forbidden_to_ask(fork, folder):  # noqa: F811
    kernel = fork()
    kernel.run("import os; os.environ['HEARTH_PACKAGES_CELLS'] = 'no'")
    begin(kernel, folder)
    events = kernel.run(RUNS_PIP)
    assert "CALL" not in kinds(events)
    assert kernel.value("_exit_code") == "3"
    other = "`hearth packages add SESSION NAME`"
    assert other in text(events, "stderr")
    assert "%pip" not in text(events, "stderr")
    assert other in refused(kernel, "%conda install x")
    # The gateway's sentence refuses it.
    assert asked(kernel, "%pip install x") == ("add", ["x"])


def test_a_policy_that_refuses_pip_holds_for_commands(kernel):
    kernel.run(
        "from hearth_kernel.shell import policy\n"
        "policy.configure({'refuse_magics': ['pip']})"
    )
    for line in (
        "%pip install x",
        "%pip3 install x",
        "%uv pip install x",
        "%uv add x",
    ):
        reply = kernel.run(line)[-1].content
        assert reply["ename"] == "PolicyError", line
        assert "%pip is refused" in reply["evalue"]
    assert "CALL" not in kinds(kernel.run(RUNS_PIP))
    assert kernel.value("_exit_code") == "3"
    kernel.run("policy.configure({'refuse_magics': ['less']})")
    assert asked(kernel, "!pip install x") == ("add", ["x"])


# ---- what the cell sees of it ----


def test_the_next_line_imports_it(kernel, folder):  # noqa: F811
    missing = kernel.run("import humanize")[-1].content["ename"]
    assert missing == "ModuleNotFoundError"
    cell, call = calls(
        kernel, "%pip install humanize\nimport humanize\nhumanize.version"
    )
    add(folder, "1", **HUMANIZE)
    added = {**HUMANIZE, "modules": ["humanize", "human"]}
    answer(kernel, call, result={"status": "ok", "added": [added]})
    events = kernel.until_reply(cell)
    assert printed(events) == ["added humanize 4.17.0 (import humanize, human)"]
    value = only(events, "RESULT").content["data"]["text/plain"]
    assert value == "'4.17.0'"


def test_what_has_changed_is_printed(kernel):
    events = do(
        kernel,
        "%pip install a b c",
        added=[{"name": "a", "version": "1"}],
        changed=[{"name": "b", "from": "1", "to": "2"}],
        removed=[{"name": "d", "version": "3"}],
        present=[{"name": "c", "version": "4"}],
    )
    assert printed(events) == [
        "added a 1",
        "changed b 1 -> 2",
        "removed d 3",
        "c 4 is there already (profile)",
    ]
    assert printed(do(kernel, "%pip install a")) == [
        "nothing has changed: the session has them already"
    ]
    assert printed(do(kernel, "!pip uninstall -y a")) == [
        "nothing has changed: the session was not given them"
    ]


def test_an_upgrade_that_changes_nothing_says_so(kernel):
    has = [{"name": "a-b", "version": "1"}, {"name": "c", "version": "2"}]
    lines = printed(do(kernel, "%pip install -U A_B[x]>=1", packages=has))
    assert lines[1:] == [
        "a-b 1 fits and stays: for another version name it, as 'a-b>1'"
    ]
    changed = [{"name": "a-b", "from": "0", "to": "1"}]
    lines = printed(
        do(kernel, "%pip install -U a-b", packages=has, changed=changed)
    )
    assert lines == ["changed a-b 0 -> 1"]


def change(kernel, folder, generation, version):  # noqa: F811
    """Change humanize; return the lines."""
    cell, call = calls(kernel, f"%pip install humanize=={version}")
    add(folder, generation, "humanize", version, "shared/part.py")
    changed = [{"name": "humanize", "from": "?", "to": version}]
    answer(kernel, call, result={"status": "ok", "changed": changed})
    return printed(kernel.until_reply(cell))[1:]


@pytest.mark.parametrize("module", ["humanize", "shared.part"])
def test_what_was_imported_is_known(kernel, folder, module):  # noqa: F811
    add(folder, "1", "humanize", "1", "shared/part.py")
    assert change(kernel, folder, "2", "2") == []
    assert printed(kernel.run(f"import {module}")) == []
    assert change(kernel, folder, "3", "3") == [
        "humanize is imported already: restart the session to get 3"
    ]


def test_a_module_of_the_users_is_not_the_package(kernel, folder):  # noqa: F811
    kernel.run(
        "open('humanize.py', 'w').write('')\n"
        "import importlib; importlib.invalidate_caches()\nimport humanize"
    )
    assert change(kernel, folder, "1", "1") == []


@pytest.mark.parametrize(
    "content",
    [
        {
            "result": {
                "status": "error",
                "ename": "PackagesRefused",
                "evalue": "barred is not permitted",
            }
        },
        {"error": {"reason": "failed", "text": "barred is not permitted"}},
    ],
)
@pytest.mark.parametrize("line", ["%pip", "!pip"])
def test_a_failure_ends_the_cell(kernel, line, content):
    cell, call = calls(kernel, f"{line} install barred\nprint('went on')")
    answer(kernel, call, **content)
    events = kernel.until_reply(cell)
    reply = events[-1].content
    assert (reply["status"], reply["ename"]) == ("error", "PackagesError")
    assert reply["evalue"].endswith("barred is not permitted")
    assert reply["traceback"] == [f"PackagesError: {reply['evalue']}"]
    assert only(events, "ERROR").content["traceback"] == reply["traceback"]
    assert text(events) == ""
    if line == "!pip":
        assert reply["evalue"] == "pip install: barred is not permitted"
        assert kernel.value("_exit_code") == "1"


def test_a_command_sets_its_exit_code(kernel):
    assert printed(do(kernel, "_exit_code = 7\n!pip install a\n")) != []
    assert kernel.value("_exit_code") == "0"


@pytest.mark.parametrize(
    "line",
    [
        "%pip install x",
        "!pip install x",
        "import asyncio\nawait asyncio.sleep(0)\n%pip install x",
    ],
)
def test_an_interrupt_leaves_the_job(kernel, line):
    cell, call = calls(kernel, f"{line}\nprint('went on')")
    kernel.interrupt()
    events = kernel.until_reply(cell)
    reply = events[-1].content
    assert reply["ename"] == "KeyboardInterrupt"
    assert only(events, "UNCALL").content == {"call": call.content["call"]}
    assert "`%pip list` shows whether it was done" in text(events, "stderr")
    # The cell's own line is what was interrupted.
    assert "hearth_kernel" not in "".join(reply["traceback"])
    assert "interactiveshell" not in "".join(reply["traceback"])
    answer(kernel, call, result={"status": "ok"})
    assert kernel.value("6 * 7") == "42"


def test_a_forked_process_cannot_ask(kernel):
    events = kernel.run(
        "import os\npid = os.fork()\n"
        "if not pid:\n"
        "    try:\n        get_ipython().run_line_magic('pip', 'install x')\n"
        "    except Exception as error:\n"
        "        print(error, flush=True)\n"
        "    os._exit(0)\n"
        "_ = os.waitpid(pid, 0)"
    )
    assert "CALL" not in kinds(events)
    assert printed(events) == [
        "%pip: a forked process cannot ask for packages; ask for them in the "
        "kernel's own process, from any thread"
    ]
