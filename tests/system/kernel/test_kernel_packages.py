"""Packages that come and go while a kernel lives."""

import os

import pytest

from gateway import text


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "session"


def begin(kernel, folder, *permitted):
    """As a launch does it: the link leads nowhere yet."""
    folder.mkdir()
    events = kernel.run(
        "import os\n"
        f"for name in {permitted}:\n"
        "    os.environ['HEARTH_PACKAGES_' + name] = 'yes'\n"
        "from hearth_kernel.packages import added\n"
        f"os.environ['HEARTH_PACKAGES'] = {str(folder / 'current')!r}\n"
        "added.begin()\n"
        "added.add_place()"
    )
    assert events[-1].content["status"] == "ok", events[-1].content


def show(folder, generation, *modules):
    """Have the link lead to a folder with these modules, all at once. Its time
    is that of every other one."""
    own = folder / generation
    own.mkdir()
    for name in modules:
        (own / f"{name}.py").write_text(f"generation = {generation!r}\n")
    os.utime(own, (1_700_000_000, 1_700_000_000))
    fresh = folder / "fresh"
    fresh.symlink_to(generation)
    fresh.rename(folder / "current")


def outcome(kernel, code):
    reply = kernel.run(code)[-1].content
    return reply.get("ename", "ok")


def test_what_was_added_is_found_by_the_next_cell(kernel, folder):
    begin(kernel, folder)
    assert outcome(kernel, "import added_one") == "ModuleNotFoundError"
    show(folder, "1", "added_one")
    assert outcome(kernel, "import added_one") == "ok"
    assert kernel.value("added_one.__file__") == repr(
        str(folder / "current" / "added_one.py")
    )
    assert outcome(kernel, "import added_two") == "ModuleNotFoundError"
    show(folder, "2", "added_one", "added_two")
    assert outcome(kernel, "import added_two") == "ok"
    assert kernel.value("added_two.generation") == "'2'"
    # What is loaded stays.
    assert kernel.value("added_one.generation") == "'1'"


def test_a_namespace_has_another_part(kernel, folder):
    """A package that is imported already."""
    begin(kernel, folder)
    show(folder, "1")
    (folder / "1" / "shared").mkdir()
    (folder / "1" / "shared" / "one.py").write_text("")
    assert outcome(kernel, "import shared.one") == "ok"
    assert outcome(kernel, "import shared.two") == "ModuleNotFoundError"
    (folder / "2" / "shared").mkdir(parents=True)
    (folder / "2" / "shared" / "two.py").write_text("")
    (folder / "current").unlink()
    (folder / "current").symlink_to("2")
    assert outcome(kernel, "import shared.two") == "ok"


def test_what_was_removed_is_not_found(kernel, folder):
    begin(kernel, folder)
    show(folder, "1", "added_one", "added_two")
    assert outcome(kernel, "import added_one") == "ok"
    show(folder, "2")
    assert outcome(kernel, "import added_two") == "ModuleNotFoundError"
    (folder / "current").unlink()
    assert outcome(kernel, "import added_two") == "ModuleNotFoundError"


def test_the_profile_is_found_before(kernel, folder):
    begin(kernel, folder)
    show(folder, "1", "decimal", "numpy")
    assert outcome(kernel, "import decimal, numpy") == "ok"
    assert kernel.value("hasattr(decimal, 'generation')") == "False"
    assert kernel.value("hasattr(numpy, 'generation')") == "False"


def test_programs_have_them_too(kernel, folder):
    begin(kernel, folder)
    show(folder, "1", "added_one")
    tool = folder / "1" / "bin" / "added-tool"
    tool.parent.mkdir()
    tool.write_text("#!/bin/sh\necho from $0\n")
    tool.chmod(0o755)
    python = kernel.run(
        "import subprocess, sys\n"
        "print(subprocess.run([sys.executable, '-c',\n"
        "    'import added_one; print(added_one.generation)'],\n"
        "    capture_output=True, text=True).stdout)"
    )
    assert text(python).strip() == "1"
    shell = kernel.run(
        "print(subprocess.run(['added-tool'], capture_output=True,\n"
        "    text=True).stdout)"
    )
    assert text(shell).strip() == f"from {folder}/current/bin/added-tool"


def test_a_pth_file_runs_once_in_a_cell(kernel, folder):
    """Its output is the cell's. An error leaves out the rest of it."""
    begin(kernel, folder, "PTH")
    show(folder, "1")
    (folder / "1" / "below").mkdir()
    (folder / "1" / "below" / "deeper.py").write_text("")
    (folder / "1" / "a.pth").write_text(
        "# a remark\nbelow\nnothing\nimport sys; print('a ran')\n"
    )
    bad = "import sys; print('b ran')\nimport sys; 1 / 0\nimport sys; print(9)"
    (folder / "1" / "b.pth").write_text(bad)
    (folder / "1" / ".c.pth").write_text("import sys; print('c ran')\n")
    assert text(kernel.run("import deeper; print('cell')")).splitlines() == [
        "a ran",
        "b ran",
        "cell",
    ]
    assert text(kernel.run("print('cell')")) == "cell\n"
    # Another generation with the same file, and with another one.
    show(folder, "2")
    (folder / "2" / "a.pth").write_bytes((folder / "1/a.pth").read_bytes())
    assert text(kernel.run("print('cell')")) == "cell\n"
    show(folder, "3")
    (folder / "3" / "a.pth").write_text("import sys; print('new a ran')\n")
    assert text(kernel.run("print('cell')")) == "new a ran\ncell\n"


def test_a_pth_file_that_cannot_be_read_ends_no_cell(kernel, folder):
    """A folder of that name is left out. What is no text is an error."""
    begin(kernel, folder, "PTH")
    show(folder, "1")
    (folder / "1" / "a.pth").mkdir()
    (folder / "1" / "b.pth").write_bytes(b"# \x81\xff\nimport sys; print(9)\n")
    (folder / "1" / "c.pth").write_text("import sys; print('c ran')\n")
    assert "c ran\ncell\n" in text(kernel.run("print('cell')"))
    assert text(kernel.run("print('cell')")) == "cell\n"


def test_an_interrupt_ends_a_pth_file_and_its_cell(kernel, folder):
    """It does not run again."""
    begin(kernel, folder, "PTH")
    show(folder, "1", "added_one")
    (folder / "1" / "a.pth").write_text(
        "import signal; signal.raise_signal(signal.SIGINT)\n"
    )
    (folder / "1" / "b.pth").write_text("import sys; print('b ran')\n")
    assert outcome(kernel, "ran = True") == "KeyboardInterrupt"
    assert text(kernel.run("print('ran' in globals())")) == "b ran\nFalse\n"
    assert outcome(kernel, "import added_one") == "ok"


def test_a_customize_module_is_imported_once(kernel, folder):
    """The profile's Python may have one of that name."""
    begin(kernel, folder, "PTH", "SHADOW")
    kernel.run("import sys; sys.modules.pop('sitecustomize', None)")
    show(folder, "1")
    (folder / "1" / "sitecustomize.py").write_text("print('site ran')\n")
    (folder / "1" / "usercustomize.py").write_text("print(9); 1 / 0\n")
    assert text(kernel.run("print('cell')")) == "site ran\n9\ncell\n"
    assert text(kernel.run("print('cell')")) == "cell\n"


def test_nothing_runs_that_is_not_permitted(kernel, folder):
    begin(kernel, folder, "SHADOW")
    kernel.run("import sys; sys.modules.pop('sitecustomize', None)")
    show(folder, "1")
    for name in ("a.pth", "sitecustomize.py"):
        (folder / "1" / name).write_text("import sys; print('ran')\n")
    assert text(kernel.run("print('cell')")) == "cell\n"


def test_what_may_hide_the_profile_is_found_first(kernel, folder):
    """In programs, too. What is imported already stays."""
    begin(kernel, folder, "SHADOW")
    show(folder, "1", "this", "json", "colorsys")
    assert outcome(kernel, "import this, json") == "ok"
    assert kernel.value("this.generation") == "'1'"
    assert kernel.value("hasattr(json, 'generation')") == "False"
    python = kernel.run(
        "import subprocess, sys\n"
        "print(subprocess.run([sys.executable, '-c',\n"
        "    'import colorsys; print(colorsys.generation)'],\n"
        "    capture_output=True, text=True).stdout)"
    )
    assert text(python).strip() == "1"
    # A module of the session's own still comes before.
    assert kernel.value("sys.path[0]") == "''"
    assert kernel.value("sys.path[1]") == repr(str(folder / "current"))


def test_without_packages_nothing_changes(kernel):
    assert kernel.value("'HEARTH_PACKAGES' in __import__('os').environ") == (
        "False"
    )
    assert kernel.value(
        "__import__('hearth_kernel.packages.added').packages.added._folder"
    ) == repr("")
