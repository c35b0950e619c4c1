"""The window's frame and a saved page keep the same elements of foreign HTML:
the lists stand in JavaScript and in C."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
FRAME = (ROOT / "gateway/http/window/page/frame.js").read_text()
TAGS = (ROOT / "notebooks/page/page_tags.c").read_text()
# A saved page has no frame around its HTML: neither styles nor names that its
# own style sheet or links could mean. All that is folded is open.
OF_FRAMES = {"class", "id", "open", "style"}


def of_frame(name):
    (words,) = re.findall(rf"const {name} = new Set\(\((.*?)\)", FRAME, re.S)
    return set(" ".join(re.findall(r'"(.*?)"', words)).split())


def of_page(kinds):
    return set(re.findall(rf'\{{"(\w+)", (?:{kinds})\}}', TAGS))


def test_the_same_elements_are_kept():
    assert of_page("TAG_KEPT|TAG_VOID") == of_frame("KEPT")


def test_the_same_elements_go_with_their_content():
    page = of_page("TAG_GONE|TAG_RAW|TAG_IGNORED")
    assert of_frame("GONE") <= page
    # A frame keeps styles, which cannot leave it; and it has elements, where a
    # saved page reads text: the parser of browsers has seen to the others.
    assert page - of_frame("GONE") == {
        "math",
        "plaintext",
        "style",
        "svg",
        "xmp",
    }


def test_the_same_attributes_are_kept():
    assert of_page(r"ATTRIBUTE_\w+") == of_frame("ATTRIBUTES") - OF_FRAMES
