"""`%pip` and `!pip install`: what is asked, and what the cell sees of it."""

import json
import os

import pytest
from test_kernel_packages import begin, folder, show  # noqa: F401

from gateway import kinds, only, text

HUMANIZE = {"name": "humanize", "version": "4.17.0"}


@pytest.fixture
def kernel(fork, folder):  # noqa: F811
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


# ---- what a shell runs ----


@pytest.mark.parametrize(
    "line",
    [
        "pip install humanize>=4",
        "pip install humanize && true",
        "pip install humanize | cat; false",
        "pip install humanize | grep -c humanize",
        "pip install humanize 3>/dev/null",
        "pip install humanize > lines; false",
        "pip install humanize 2>&1 | tail -1; false",
        "PIP_TARGET=there pip install humanize",
        "pip install `echo humanize`",
        'pip install "$(echo humanize)"',
        "pip install ./humanize",
        "pip install humanize-4-py3-none-any.whl",
        "pip install -e .",
        "pip install --target there humanize",
        "pip install 'humanize; python_version > \"3\"'",
        "X=1 pip install humanize",
        "/other/bin/pip install humanize",
        "python2 -m pip install humanize",
        "pip install 'humanize",
        "pip download humanize",
        "pip list",
        "pip install",
    ],
)
def test_anything_more_runs_in_a_shell(kernel, line):
    kernel.run(
        "import os\nos.environ['PATH'] = os.path.abspath('bin') + ':/bin'\n"
        "os.makedirs('bin')\nfor name in ('pip', 'python2'):\n"
        "    with open(f'bin/{name}', 'w') as file:\n"
        "        _ = file.write('#!/bin/sh\\nexit 3\\n')\n"
        "    os.chmod(f'bin/{name}', 0o755)"
    )
    events = kernel.run(f"!{line}")
    assert "CALL" not in kinds(events)
    assert events[-1].content["status"] == "ok"
    assert kernel.value("_exit_code") != "0"
    if "pip install" in line:
        assert text(events, "stderr").count("`%pip install NAME` asks") == 1


@pytest.mark.parametrize(
    "line",
    [
        "!PATH=; pip install a; true",
        "!PATH=; cd /tmp && pip install a || conda install a; true",
        "!PATH=; for one in a b; do python3 -m pip -q install $one; done; true",
        "lines = !PATH=; pip install a; true",
    ],
)
def test_advice_does_not_wait_for_a_failure(kernel, line):
    events = kernel.run(line)
    assert "CALL" not in kinds(events)
    assert events[-1].content["status"] == "ok"
    assert text(events, "stderr").count("`%pip install NAME` asks") == 1


def test_other_commands_are_not_advised(kernel):
    for line in ("echo pip-install x", "echo pip list install", "true"):
        assert text(kernel.run(f"!{line}"), "stderr") == ""
        assert text(kernel.run(f"lines = !{line}"), "stderr") == ""


# ---- what is installed ----


def test_what_is_installed_is_listed_without_a_call(kernel, folder):  # noqa: F811
    add(folder, "1", **HUMANIZE)
    lines = printed(kernel.run("%pip list"))
    assert lines[0].split() == ["Package", "Version"]
    assert set(lines[1]) == {"-", " "}
    assert lines[1].index(" ") == lines[0].index("Version") - 1
    assert ["humanize", "4.17.0"] in [line.split() for line in lines]
    assert sum(line.split()[0] == "numpy" for line in lines) == 1
    assert "humanize==4.17.0" in printed(kernel.run("%pip freeze"))
    found = printed(kernel.run("%uv pip list --format=json"))
    assert HUMANIZE in json.loads(found[0])
    add(folder, "2", "humanize", "5")
    assert "humanize==5" in printed(kernel.run("!!true\n%pip freeze"))


def test_freeze_leaves_out_pip(kernel, folder):  # noqa: F811
    add(folder, "1", "setuptools", "1")
    names = [line.split("==")[0] for line in printed(kernel.run("%pip freeze"))]
    assert "numpy" in names
    assert not {"pip", "setuptools"} & set(names)


def test_a_package_is_shown(kernel, folder):  # noqa: F811
    add(folder, "1", **HUMANIZE)
    lines = printed(kernel.run("%pip show Humanize"))
    assert "Name: humanize" in lines
    assert "Version: 4.17.0" in lines
    assert "Summary: One for tests" in lines
    assert "Requires: numpy>=1" in lines
    assert f"Location: {folder / 'current'}" in [
        line.rstrip("/") for line in lines
    ]
    assert refused(kernel, "%pip show humanize nothing") == (
        "%pip: not installed: nothing"
    )
    assert text(kernel.run("%pip show nothing")) == ""


def test_what_cannot_be_read_is_passed_over(kernel, folder):  # noqa: F811
    add(folder, "1", **HUMANIZE)
    odd = folder / "1" / "odd-1.dist-info"
    odd.mkdir()
    (odd / "METADATA").write_bytes(b"Name: odd\nVersion: 1\nSummary: \xff\n")
    for line in ("%pip list", "%pip freeze", "%pip show humanize"):
        assert "humanize" in "".join(printed(kernel.run(line)))
    assert refused(kernel, "%pip show odd") == "%pip: not installed: odd"
