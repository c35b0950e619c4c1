"""Host tools inside a kernel: stubs, calls, answers, interrupts."""

import pytest

from gateway import only, text

SEARCH = {
    "name": "search",
    "description": "Searches \x1b[31mthe\x1b[0m web.\u202e",
    "inputSchema": {
        "type": "object",
        "properties": {
            "limit": {"type": "integer"},
            "q": {"type": "string", "description": "what for"},
        },
        "required": ["q"],
    },
}
ODD = [
    {"name": "my-tool", "inputSchema": {"type": "object"}},
    {"name": "__class__", "inputSchema": {}},
    {"name": "class", "inputSchema": None},
    {"name": "a.b/c"},
]


@pytest.fixture
def kernel(fork):
    made = fork()
    made.send("TOOLS", {"tools": [SEARCH, *ODD]}, request=0)
    return made


def calls(kernel, count):
    """The next calls, in their order."""
    found = []
    while len(found) < count:
        event = kernel.event()
        if event.kind == "CALL":
            found.append(event)
    return found


def answer(kernel, call, result):
    kernel.send("CALLED", {"result": result}, request=call.content["call"])


def refuse(kernel, call, reason, sentence):
    kernel.send(
        "CALLED",
        {"error": {"reason": reason, "text": sentence}},
        request=call.content["call"],
    )


def printed(kernel, code):
    events = kernel.run(code)
    assert events[-1].content["status"] == "ok", events[-1].content
    return text(events)


def test_a_kernel_says_that_it_knows_tools(kernel):
    assert kernel.welcome.content["tools"] is True


def test_a_call_waits_for_its_result(kernel):
    cell = kernel.execute(
        "from hearth import tools\nprint(tools.search('cats', limit=3))"
    )
    (call,) = calls(kernel, 1)
    assert call.request == cell
    assert call.content == {
        "call": 1,
        "name": "search",
        "arguments": {"q": "cats", "limit": 3},
    }
    answer(kernel, call, [1.5, None, {"a": "ü"}])
    assert "[1.5, None, {'a': 'ü'}]" in text(kernel.until_reply(cell))


def test_code_that_awaits_calls_in_parallel(kernel):
    cell = kernel.execute(
        "import asyncio\nfrom hearth import tools\n"
        "print(await asyncio.gather(*(tools.search(str(i)) for i in range(9))))"
    )
    found = calls(kernel, 9)
    for call in reversed(found):
        answer(kernel, call, int(call.content["arguments"]["q"]))
    assert str(list(range(9))) in text(kernel.until_reply(cell))


def test_threads_call_in_parallel(kernel):
    cell = kernel.execute(
        "from concurrent.futures import ThreadPoolExecutor\n"
        "from hearth import tools\n"
        "with ThreadPoolExecutor(5) as pool:\n"
        "    print(list(pool.map(tools.search, 'abcde')))"
    )
    for call in reversed(calls(kernel, 5)):
        assert call.request == cell
        answer(kernel, call, call.content["arguments"]["q"].upper())
    assert "['A', 'B', 'C', 'D', 'E']" in text(kernel.until_reply(cell))


def test_both_forms_can_be_chosen(kernel):
    cell = kernel.execute(
        "from hearth import tools\n"
        "a = tools.search.sync('a')\nb = await tools.search.aio('b')\n"
        "print(a + b)"
    )
    for _ in range(2):
        (call,) = calls(kernel, 1)
        answer(kernel, call, call.content["arguments"]["q"])
    assert "ab" in text(kernel.until_reply(cell))


def test_an_error_is_an_exception(kernel):
    cell = kernel.execute(
        "from hearth import ToolError, tools\n"
        "try:\n    tools.search('x')\n"
        "except ToolError as error:\n"
        "    print(error, error.tool, error.reason)"
    )
    (call,) = calls(kernel, 1)
    refuse(kernel, call, "failed", "no such thing")
    assert "search: no such thing search failed" in text(
        kernel.until_reply(cell)
    )


@pytest.mark.parametrize(
    "wait", ["tools.search('x')", "await tools.search('x')"]
)
def test_an_interrupt_ends_the_wait(kernel, wait):
    cell = kernel.execute(f"from hearth import tools\n{wait}")
    (call,) = calls(kernel, 1)
    kernel.interrupt()
    events = kernel.until_reply(cell)
    assert events[-1].content["ename"] == "KeyboardInterrupt"
    assert only(events, "UNCALL").content == {"call": call.content["call"]}
    answer(kernel, call, "late")
    assert kernel.value("6 * 7") == "42"


STEP_BY_STEP = """
import sys, threading
from hearth import tools

CALLS = sys.modules["hearth_kernel.tools.calls"].__file__

def interrupt_at(step):
    '''Call, interrupted at that step; return whether it waited before.'''
    left, waits = step, False
    def trace(frame, _, __):
        nonlocal left, waits
        waits = frame.f_code is threading.Condition.wait.__code__
        left -= frame.f_code.co_filename == CALLS
        if left < 0 or waits:
            raise KeyboardInterrupt
        return trace
    sys.settrace(trace)
    try:
        tools.search("x")
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(None)
    return waits

steps = 0
while not interrupt_at(steps):
    steps += 1
print(steps)
"""


def test_an_interrupt_at_any_step_ends_a_call_that_was_sent(kernel):
    events = kernel.run(STEP_BY_STEP)
    sent = [event.content["call"] for event in events if event.kind == "CALL"]
    ended = [
        event.content["call"] for event in events if event.kind == "UNCALL"
    ]
    steps = int(text(events))
    assert 1 < len(sent) < steps
    assert set(sent) <= set(ended)


def test_stubs_have_signatures_and_texts(kernel):
    seen = printed(
        kernel,
        "import inspect\nfrom hearth import tools\n"
        "print(inspect.signature(tools.search), tools.search.__name__)\n"
        "print(tools.search.__doc__)",
    )
    assert "(q: str, limit: int = ...) search" in seen
    assert "q (string): what for" in seen
    assert "limit (integer, optional)" in seen
    assert "Searches \ufffd[31mthe\ufffd[0m web.\ufffd" in seen


def test_names_are_listed_and_completed(kernel):
    code = "from hearth import tools"
    assert printed(kernel, f"{code}\nprint(dir(tools))") == "['search']\n"
    found = kernel.ask("COMPLETE", code="tools.sea", cursor_pos=9)
    assert found["matches"] == ["tools.search"] or "search" in str(
        found["matches"]
    )
    assert kernel.value("list(tools)") == (
        "['__class__', 'a.b/c', 'class', 'my-tool', 'search']"
    )
    assert kernel.value("'my-tool' in tools and len(tools)") == "5"


def test_names_that_are_no_identifiers_are_keys(kernel):
    assert (
        kernel.value("__import__('hearth').tools.__class__.__name__")
        == "'Tools'"
    )
    for name in ("my-tool", "__class__", "class", "a.b/c"):
        cell = kernel.execute(
            f"from hearth import tools\nprint(tools[{name!r}](x=1))"
        )
        (call,) = calls(kernel, 1)
        assert call.content["name"] == name
        assert call.content["arguments"] == {"x": 1}
        answer(kernel, call, "done")
        assert "done" in text(kernel.until_reply(cell))


@pytest.mark.parametrize(
    ("call", "wrong"),
    [
        ("tools.search()", "missing a required argument: 'q'"),
        ("tools.search('a', 1, 2)", "too many positional arguments"),
        ("tools.search('a', most=1)", "unexpected keyword argument 'most'"),
        ("tools.search(q=object())", "object cannot be sent as JSON"),
        ("tools.serch('a')", "no host tool is called 'serch'; there are: "),
        ("tools['x']", "no host tool is called 'x'"),
    ],
)
def test_wrong_calls_say_what_is_wrong(kernel, call, wrong):
    events = kernel.run(f"from hearth import tools\n{call}")
    assert wrong in events[-1].content["evalue"]
    assert not [event for event in events if event.kind == "CALL"]


def test_without_tools_the_error_says_what_to_do(fork):
    reply = fork().run("from hearth import tools\ntools.search()")[-1].content
    assert "PUT /hearth/sessions/ID/tools" in reply["evalue"]


def test_newer_tools_take_the_place_of_older_ones(kernel):
    assert kernel.value("__import__('hearth').tools['search'].__name__")
    kernel.send("TOOLS", {"tools": [{"name": "other"}]}, request=0)
    assert kernel.value("dir(__import__('hearth').tools)") == "['other']"


def test_threads_see_newer_tools_at_once(kernel):
    seen = printed(
        kernel,
        "import threading\nfrom hearth import tools\n"
        "from hearth_kernel.tools import host as module\n"
        "make, found, threads = module._make, [], []\n"
        "def slow(*args):\n"
        "    if not threads:\n"
        "        thread = threading.Thread(\n"
        "            target=lambda: found.extend(tools))\n"
        "        threads.append(thread)\n"
        "        thread.start()\n"
        "        thread.join()\n"
        "    return make(*args)\n"
        "module._make = slow\n"
        "list(tools)\nmodule._make = make\nprint('search' in found)",
    )
    assert "True" in seen


def test_a_copy_is_the_same_object(kernel):
    seen = printed(
        kernel,
        "import copy, pickle\nfrom hearth import tools\n"
        "print([made is tools for made in (copy.copy(tools),"
        " copy.deepcopy(tools), pickle.loads(pickle.dumps(tools)))])",
    )
    assert "[True, True, True]" in seen


def test_a_module_of_the_users_comes_first(fork):
    kernel = fork()
    assert printed(
        kernel,
        "open('hearth.py', 'w').write('mine = 1')\n"
        "import importlib; importlib.invalidate_caches()\n"
        "import hearth; print(hearth.mine)",
    ).endswith("1\n")


def test_a_child_cannot_call(kernel):
    seen = printed(
        kernel,
        "import os\nfrom hearth import tools\npid = os.fork()\n"
        "if not pid:\n"
        "    try:\n        tools.search('x')\n"
        "    except Exception as error:\n"
        "        print(error, flush=True)\n"
        "    os._exit(0)\n"
        "os.waitpid(pid, 0)",
    )
    assert "a forked process cannot call host tools" in seen


@pytest.mark.parametrize(
    "wait", ["tools.search('x')", "await tools.search('x')"]
)
def test_a_call_whose_answer_is_lost_fails(kernel, wait):
    kernel.send("TOOLS", {"tools": [SEARCH], "seconds": -29.9}, request=0)
    cell = kernel.execute(f"from hearth import tools\n{wait}")
    events = kernel.until_reply(cell)
    assert events[-1].content["evalue"] == "search: its answer was lost"
    assert only(events, "UNCALL").content == {"call": 1}
