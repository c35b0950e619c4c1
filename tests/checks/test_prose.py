"""What build-aux/check-prose.sh finds, in trees of one file."""

import pathlib
import subprocess

import pytest

CHECK = pathlib.Path(__file__).resolve().parents[2] / "build-aux/check-prose.sh"


def complaints(tree, name, text):
    (tree / name).parent.mkdir(parents=True, exist_ok=True)
    (tree / name).write_text(text)
    return subprocess.run(
        ["sh", CHECK, tree, name], capture_output=True, text=True, check=False
    ).stdout


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("/* With a session. */\nint f(void);\n", "of a function begins"),
        ("int f; /* of the session */\nint g; /* What f is. */\n", '"What "'),
        ("void f(void)\n{\n    /* Whose it is. */\n    g();\n}\n", '"Whose "'),
        ("int f; /* the word of who waits */\n", '"of who" without a noun'),
        ("int f; /* set by who waits */\n", '"by who" without a noun'),
        ("int f; /* who waits */\n", '"who" without a noun'),
        ("int f; /* set; who waits sees it */\n", 'who" without a noun'),
        ("int f; /* the word of whom it names */\n", '"of whom" without a'),
        ("int f; /* that of before, again */\n", '"of before" without a'),
        ("int f; /* the name, which is none */\n", '"is none"'),
        ("int f; /* its names are none */\n", '"are none"'),
        ("void f(void)\n{\n    g(); /* nobody waits */\n}\n", '"nobody"'),
        ('char *f = "\\""; /* so many */\n', '"so many"'),
        ("int f; /*" + " word" * 26 + ". */\n", "a sentence of 26 words"),
        ("int f; /* a (b (c)) */\n", "parentheses in parentheses"),
    ],
)
def test_comments_of_c_files_are_read(tmp_path, text, what):
    assert what in complaints(tmp_path, "base/a.c", text)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ('def f():\n    """Whose it is."""\n', '"Whose "'),
        ("f = 1\n# What f is.\ng = 2\n", '"What "'),
        ("f = \"it's\"  # of one's own; told so, isn't it\n", '"told"'),
        ("f = ''  # one of Python's: those behind it\n", '"behind"'),
    ],
)
def test_comments_of_python_files_are_read(tmp_path, text, what):
    assert what in complaints(tmp_path, "base/a.py", text)


@pytest.mark.parametrize(
    ("name", "text", "what"),
    [
        ("a.am", "# Those stand\n# behind it.\nA = b\n", 'a.am:1: "behind"'),
        ("etc/a.cfg", "a\n    # It tells.\n    #b = 1\n", 'cfg:2: "tells"'),
        ("etc/a.cfg", "# What a is.\na = b\n", "cfg:1: a comment begins"),
        ("etc/a.cfg", "#b = nobody\nc = somebody\n", ""),
        ("etc/a.cfg", "# A path,\n#a = 1\n# is none.\n", 'cfg:3: "is none"'),
    ],
)
def test_comments_of_makefiles_and_settings_are_read(
    tmp_path, name, text, what
):
    found = complaints(tmp_path, name, text)
    assert what in found if what else found == ""


@pytest.mark.parametrize(
    ("name", "text", "what"),
    [
        ("a.sh", "# It tells.\na=1\n", 'a.sh:1: "tells"'),
        ("dev", "run() {\n    # Nobody\n    # waits.\n", 'dev:2: "nobody"'),
        ("etc/_hearth", "# It\n# stands.\n", '_hearth:1: "stands"'),
        ("a.js", "// It\n// stands.\nf()\n", 'a.js:1: "stands"'),
        ("a.js", "f()\n  /* Nobody waits. */\n", 'a.js:2: "nobody"'),
        ("a.js", "/**\n * It\n * stands.\n * @x y\n */\n", '1: "stands"'),
        ("a.js", "/* A (b (c)). */\n", "parentheses in parentheses"),
    ],
)
def test_comments_of_scripts_are_read(tmp_path, name, text, what):
    assert what in complaints(tmp_path, name, text)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("base/a.c", 'f("a path",\n  "the path is none of x");\n'),
        ("base/a.c", 'c = \'"\'; f("x", "its path is none of x"); /* a */\n'),
        ("kernels/a.py", 'f("x")\ng("the path is none of x")\n'),
    ],
)
def test_sentences_for_users_are_read(tmp_path, name, text):
    line = text.count("\n")
    assert complaints(tmp_path, name, text) == f'{name}:{line}: "is none"\n'


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("base/a.c", '\nf("a path that is "\n  "none of x", 1);\n'),
        ("base/a.c", '\nf(\n"a path that is " "none of x", "a");\n'),
        ("base/a.h", '\n#define A "a path that is " \\\n  "none of x"\n'),
        ("base/a.c", '\nf("a path that is "\n\n  "none of x" /* It. */);\n'),
        ("kernels/a.py", '\nf("a path that is "\n  f"none of x", 1)\n'),
        ("kernels/a.py", "\nf(\n'a path that is ' 'none of x')\n"),
        ("kernels/a.py", 'f("x")\nf("a path that is "\n  "none of x")'),
    ],
)
def test_pieces_of_a_sentence_are_one(tmp_path, name, text):
    found = complaints(tmp_path, name, text)
    assert found.endswith(': "is none"\n')
    assert found.count("\n") == 1


def test_tables_of_c_are_read(tmp_path):
    text = 'ROW(a, "b")\n/* Whose it is. */\nROW(b, "it tells us of c")\n'
    found = complaints(tmp_path, "sandbox/a.def", text).splitlines()
    assert len(found) == 2
    assert found[0].startswith('sandbox/a.def:2: a comment begins with "Whose ')
    assert found[1] == 'sandbox/a.def:3: "tells"'


@pytest.mark.parametrize(
    ("reason", "what"),
    [
        ('"who waits"', '"who" without a noun'),
        ('"that of "\n    "the path; who waits"', 'who" without a noun'),
        ('"' + "words " * 20 + '"\n  "' + "words " * 6 + '"', "of 26 words"),
    ],
)
def test_a_reason_may_begin_on_the_line_after_its_name(tmp_path, reason, what):
    text = f"ROW(a, 1,\n    {reason})\n"
    found = complaints(tmp_path, "sandbox/a.def", text)
    assert found.startswith("sandbox/a.def:2: ")
    assert what in found


def test_the_openapi_document_is_read(tmp_path):
    name = "gateway/http/api/openapi/a.json"
    text = (
        '{"who": {"summary": "The path is none",\n'
        ' "description": "Of \\"a\\"", "pattern": "so many words of it"}}\n'
    )
    found = complaints(tmp_path, name, text).splitlines()
    assert found[0] == f'{name}:1: "is none"'
    assert found[1].startswith(f'{name}:2: a comment begins with "Of "')
    assert len(found) == 2
    assert complaints(tmp_path, "gateway/b.json", text) == ""


@pytest.mark.parametrize(
    "text",
    [
        '{{"summary":\n  "{}"}}\n',
        '{{"a": {{"description":\n\n"{}"}}\n',
        '{{"a": "b", "description"\n : "{}", "c":\n"d"}}\n',
        '{{"description" : "{}"}}\n',
        '{{"required": ["description"\n], "description":\n "{}"}}\n',
    ],
)
@pytest.mark.parametrize("folder", ["api/openapi", "mcp/tools"])
def test_a_description_may_begin_on_the_next_line(tmp_path, text, folder):
    text = text.format("The path is none")
    name = f"gateway/http/{folder}/a.json"
    assert complaints(tmp_path, name, text).endswith(': "is none"\n')


@pytest.mark.parametrize(
    ("name", "most"),
    [
        ("README.md", 25),
        ("HACKING.md", 25),
        ("docs/design/ARCHITECTURE.md", 25),
        ("docs/guide/a.md", 25),
        ("docs/design/a.md", 40),
        ("docs/reference/a.md", 40),
        ("clients/python/README.md", 40),
    ],
)
def test_sentences_of_documents_have_a_length(tmp_path, name, most):
    words = "Word" + " word" * (most - 1)
    assert complaints(tmp_path, name, f"{words}. {words}.\n") == ""
    found = complaints(tmp_path, name, f"{words} more.\n")
    assert f"a sentence of {most + 1} words" in found


def test_the_last_paragraph_is_read(tmp_path):
    text = "It waits.\n\nThe path is none.\n"
    assert 'a.md:3: "is none"' in complaints(tmp_path, "a.md", text)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("base/a.c", "/* Returns the client who waits. */\nint f(void);\n"),
        ("base/a.c", "int f; /* its path; NULL if there is none */\n"),
        (
            "base/a.c",
            "int f; /* the next word; there\n          * are none */\n",
        ),
        ("base/a.md", "If there is none, it is made.\n"),
        ("base/a.c", 'char *f = "/* so many */";\n'),
        ("base/a.c", 'char *f = "nobody";\n'),
        ("base/a.c", 'f("a path that is ", "none of x");\n'),
        ("base/a.c", 'f("a path that is\\n"\n  "none of x");\n'),
        ("base/a.c", 'f("a path that is "\n  "%d" A "\\n" "none of x");\n'),
        ("base/a.c", 'f("a path that is "\n  , b, "none of x");\n'),
        ("kernels/a.py", 'f("a path that is",\n  "none of x")\n'),
        ("kernels/a.py", 'f("a path that is"\n)\n"none of x of y"\n'),
        ("tests/a.c", 'f("the path is none of x");\n'),
        ("a.js", 'f("a path that is none"); // It waits.\n'),
        ("a.js", "/**\n * @param {x} nobody\n */\n"),
        ("a.sh", "# It waits.\necho 'nobody waits here'\n"),
        ("a.sh", "# It\n# shellcheck source=behind it\n"),
        ("base/a.c", "/* Words" + " and" * 20 + "\n *\n * more" * 2 + ". */\n"),
        ("base/a.c", "/* Words:\n *   " + "row " * 30 + "\n * end. */\n"),
        ("base/a.py", "f = '  # so many'\n"),
        ("base/a.py", 'f(\n    """\n    so many\n    """\n)\n'),
        ("base/a.py", '"""Words.\n\n    nobody ((x))\n\nMore.\n"""\n'),
    ],
)
def test_what_is_well_said_or_no_comment_passes(tmp_path, name, text):
    assert complaints(tmp_path, name, text) == ""
