"""Packages that come and go while a kernel lives."""

import os

import pytest

from gateway import text


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "session"


def begin(kernel, folder):
    """As a launch does it: the link leads nowhere yet."""
    folder.mkdir()
    events = kernel.run(
        "import os\n"
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


def test_without_packages_nothing_changes(kernel):
    assert kernel.value("'HEARTH_PACKAGES' in __import__('os').environ") == (
        "False"
    )
    assert kernel.value(
        "__import__('hearth_kernel.packages.added').packages.added._folder"
    ) == repr("")
