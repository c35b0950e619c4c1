"""Traits that a cell reads are plain attributes, with the same behaviour."""

import json

from conftest import run_python

SETTLED = """
import json
from traitlets import HasTraits, Int, List, observe
from traitlets.config import Configurable
from hearth_kernel.shell import traits

class Held(Configurable):
    "Documented."
    plain = Int(1)
    items = List()
    watched = Int(0)
    seen = []

    @observe("watched")
    def _note(self, change):
        self.seen.append(change["new"])

other, held = Held(), Held(plain=5)
held.items.append("a")
items = held.items
traits.settle(held, "plain", "items")
held.plain += 1
held.watched = 7
print(json.dumps({
    "values": [held.plain, held.items, held.items is items],
    "names": sorted(set(other.trait_names()) - set(held.trait_names())),
    "seen": held.seen,
    "class": [isinstance(held, Held), type(held).__name__,
              type(held).__qualname__, type(held).__module__,
              type(held).__doc__],
    "others": [other.plain, other.items, Held().plain],
    "calls": "plain" in vars(held),
}))
"""


def test_behaviour_is_unchanged():
    assert json.loads(run_python(SETTLED)) == {
        "values": [6, ["a"], True],
        "names": ["items", "plain"],
        "seen": [7],
        "class": [True, "Held", "Held", "__main__", "Documented."],
        "others": [1, [], 1],
        "calls": True,
    }


LOOK = """
from IPython.core.displayhook import DisplayHook
from IPython.core.history import HistoryManager
shell = get_ipython()
found = [
    shell.displayhook.shell is shell,
    shell.history_manager.shell is shell,
    shell.display_trap.hook is shell.displayhook,
    isinstance(shell.displayhook, DisplayHook),
    isinstance(shell.history_manager, HistoryManager),
    type(shell.displayhook).__name__,
]
"""


def value(kernel, code):
    return kernel.run(code)[0].content["data"]["text/plain"]


def test_a_kernel_has_its_parts(kernel):
    kernel.run(LOOK)
    assert value(kernel, "found") == f"{[True] * 5 + ['ResultHook']}"


def test_history_and_results_are_kept(kernel):
    kernel.run("'first'")
    kernel.run("'second'")
    assert value(kernel, "(_, __, Out[1], len(In))") == (
        "('second', 'first', 'first', 4)"
    )
    assert value(kernel, "[*get_ipython().history_manager.get_range()][0]") == (
        "(0, 1, \"'first'\")"
    )
    kernel.run("%reset -f out")
    assert value(kernel, "len(Out)") == "0"


def test_settings_of_the_parts_can_be_changed(kernel):
    kernel.run("%config InteractiveShell.ast_node_interactivity = 'all'")
    events = kernel.run("1\n2")
    assert [
        event.content["data"]["text/plain"]
        for event in events
        if event.kind == "RESULT"
    ] == ["1", "2"]
    kernel.run("%config HistoryManager.enabled = False")
    assert value(kernel, "get_ipython().history_manager.enabled") == "False"
