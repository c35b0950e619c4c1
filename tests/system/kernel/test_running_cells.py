"""What happens while a cell runs: input, interrupts, threads, children."""

import time

import pytest

from gateway import kinds, only, text


def test_input(kernel):
    request = kernel.execute(
        "print('before')\nprint(input('who? '))", allow_stdin=True
    )
    events = []
    while not events or events[-1].kind != "INPUT_REQUEST":
        events.append(kernel.event())
    assert text(events) == "before\n"
    assert events[-1].content == {"prompt": "who? ", "password": False}
    assert events[-1].request == request
    kernel.send("INPUT_REPLY", {"value": "me"}, request=request)
    assert text(kernel.until_reply(request)) == "me\n"


def test_getpass(kernel):
    request = kernel.execute(
        "import getpass\ngetpass.getpass('secret: ')", allow_stdin=True
    )
    assert kernel.event().content == {"prompt": "secret: ", "password": True}
    kernel.send("INPUT_REPLY", {"value": "x"}, request=request)
    assert only(kernel.until_reply(request), "RESULT")


def test_input_that_is_not_allowed(kernel):
    reply = kernel.run("input()")[-1].content
    assert reply["ename"] == "StdinNotImplementedError"
    # nbclient compares it.
    assert reply["evalue"] == (
        "raw_input was called, but this frontend does not support input "
        "requests."
    )
    assert "put the value into the code" in reply["traceback"][-1]
    assert "`hearth exec` at a terminal" in reply["traceback"][-1]


def test_a_password_that_is_not_allowed(kernel):
    reply = kernel.run("import getpass\ngetpass.getpass()")[-1].content
    assert reply["ename"] == "StdinNotImplementedError"
    assert "no secret belongs into it" in reply["traceback"][-1]
    assert "put the value" not in str(reply)


def test_input_in_a_forked_process(kernel):
    request = kernel.execute(
        "import os\n"
        "out, into = os.pipe()\n"
        "if os.fork() == 0:\n"
        "    try: input()\n"
        "    except Exception as error: os.write(into, str(error).encode())\n"
        "    os._exit(0)\n"
        "os.close(into)\n"
        "os.read(out, 1000)",
        allow_stdin=True,
    )
    said = only(kernel.until_reply(request), "RESULT").content["data"]
    assert "Only the running cell can ask" in said["text/plain"]
    assert "Ask in the cell, and pass the answer on." in said["text/plain"]


@pytest.mark.parametrize(
    ("call", "advice"),
    [
        ("input()", "put the value into the code"),
        ("getpass.getpass()", "no secret belongs into it"),
    ],
)
def test_input_in_a_thread_ends_with_advice(kernel, call, advice):
    events = kernel.run(
        "import getpass, threading\n"
        f"thread = threading.Thread(target=lambda: {call})\n"
        "thread.start()\nthread.join()"
    )
    assert events[-1].content["status"] == "ok"
    assert advice in text(events, "stderr").splitlines()[-1]


@pytest.mark.parametrize("program", ["head -c 1", "head -c 1 /dev/tty"])
def test_a_command_finds_the_end_of_its_input(kernel, program):
    """No client can type it, so a command that asks must not wait."""
    events = kernel.run(f"!{program}; echo over; test -t 1 && echo terminal")
    assert text(events).split() == ["over", "terminal"]


def test_the_end_of_its_input_needs_no_program(kernel):
    """The shell alone is in PATH."""
    events = kernel.run(
        "import os, shutil, tempfile\n"
        "before, folder = os.environ['PATH'], tempfile.mkdtemp()\n"
        "os.symlink('/bin/sh', folder + '/sh')\n"
        "os.environ['PATH'] = folder\n"
        "!read line </dev/tty; echo over\n"
        "os.environ['PATH'] = before\n"
        "shutil.rmtree(folder)\n"
        "!stty size </dev/tty"
    )
    assert text(events).split() == ["over", "24", "80"]


def test_a_character_that_a_command_writes_in_pieces(kernel):
    events = kernel.run(
        "from hearth_kernel.shell import terminal\n"
        "class Child:\n"
        "    before, exitstatus = b'', 0\n"
        "    parts = [b'\\xe2', b'\\x82', b'\\xac\\xe2']\n"
        "    def expect_list(self, patterns, seconds):\n"
        "        self.before += self.parts.pop(0)\n"
        "        return not self.parts\n"
        "    def isalive(self):\n"
        "        pass\n"
        "start, terminal._start = terminal._start, lambda words: Child()\n"
        "!echo\n"
        "terminal._start = start"
    )
    assert text(events) == "\u20ac\ufffd"


def test_an_interrupt_loses_nothing_of_a_command(kernel):
    """Interrupted, `before` has what came since the last look."""
    events = kernel.run(
        "from hearth_kernel.shell import terminal\n"
        "class Child:\n"
        "    before, exitstatus = b'', 0\n"
        "    parts = [b'shown, ', b'interrupted, ', b'last words']\n"
        "    def expect_list(self, patterns, seconds):\n"
        "        self.before += self.parts.pop(0)\n"
        "        if len(self.parts) == 1:\n"
        "            raise KeyboardInterrupt\n"
        "        return not self.parts\n"
        "    def sendline(self, line):\n"
        "        pass\n"
        "    def terminate(self, force):\n"
        "        pass\n"
        "    def isalive(self):\n"
        "        pass\n"
        "start, terminal._start = terminal._start, lambda words: Child()\n"
        "!echo\n"
        "terminal._start = start"
    )
    assert text(events) == "shown, interrupted, last words"


def test_a_command_ends_with_the_reader_of_its_pipe(kernel):
    events = kernel.run(
        "!yes | head -n 1; while :; do echo z; done | head -n 1"
    )
    assert text(events).split() == ["y", "z"]


def test_a_password_prompt_of_a_command_ends(kernel):
    events = kernel.run(
        "import sys\n"
        "!{sys.executable} -c 'import getpass; getpass.getpass()'; echo over"
    )
    assert "EOFError" in text(events)
    assert text(events).split()[-1] == "over"


@pytest.mark.parametrize(
    "code",
    [
        "while True: pass",
        "import time\ntime.sleep(100)",
        "input()",
        "import asyncio\nawait asyncio.sleep(100)",
        "import time, asyncio\nawait asyncio.sleep(0)\ntime.sleep(100)",
        "import subprocess\nsubprocess.run(['sleep', '100'])",
        "import threading\nthreading.Event().wait()",
    ],
)
def test_an_interrupt_ends_a_cell(kernel, code):
    request = kernel.execute("print('on')\n" + code, allow_stdin=True)
    events = kernel.until_printed("on")
    events += kernel.interrupt_until_reply(request)
    assert events[-1].content["status"] == "error"
    assert events[-1].content["ename"] == "KeyboardInterrupt"
    assert only(events, "ERROR").content["ename"] == "KeyboardInterrupt"
    assert kernel.value("1") == "1"


@pytest.mark.parametrize(
    "code", ["%%bash\necho on; sleep 100", "!echo on; sleep 100"]
)
def test_an_interrupt_ends_a_program(kernel, code):
    request = kernel.execute(code)
    kernel.until_printed("on")
    kernel.interrupt_until_reply(request)
    assert kernel.value("1") == "1"


def test_an_interrupt_between_cells_is_nothing(kernel):
    for _ in range(3):
        kernel.interrupt()
        assert kernel.value("1") == "1"


def test_late_answers_are_forgotten(kernel):
    request = kernel.execute("input('a')", allow_stdin=True)
    assert kernel.event().kind == "INPUT_REQUEST"
    kernel.interrupt_until_reply(request)
    kernel.send("INPUT_REPLY", {"value": "late"}, request=request)
    request = kernel.execute("print(input('b'))", allow_stdin=True)
    assert kernel.event().kind == "INPUT_REQUEST"
    kernel.send("INPUT_REPLY", {"value": "right"}, request=request)
    assert text(kernel.until_reply(request)) == "right\n"


def test_top_level_await_and_tasks_between_cells(kernel):
    events = kernel.run(
        "import asyncio\n"
        "async def tick():\n"
        "    for i in range(3):\n"
        "        await go.wait(); print('tick', i)\n"
        "go = asyncio.Event()\n"
        "task = asyncio.create_task(tick())\n"
        "await asyncio.sleep(0)\n'done'"
    )
    first = events[-1].request
    assert kinds(events) == ["AWAITING", "RESULT", "REPLY"]
    assert kernel.value("2") == "2"
    ticks = [e for e in kernel.run("go.set()") if e.kind == "STREAM"]
    while not text(ticks).endswith("tick 2\n"):
        ticks.append(kernel.event())
    assert text(ticks) == "tick 0\ntick 1\ntick 2\n"
    # A task belongs to the cell that made it, whatever ran since.
    assert {e.request for e in ticks} == {first}


def test_an_error_in_an_awaiting_cell(kernel):
    events = kernel.run("import asyncio\nawait asyncio.sleep(0)\n1/0")
    assert only(events, "ERROR").content["ename"] == "ZeroDivisionError"
    assert events[-1].content["status"] == "error"


def test_threads_speak_for_the_most_recent_cell(kernel):
    kernel.run(
        "import threading\ngo = threading.Event()\n"
        "def speak():\n    go.wait(); print('spoken')\n"
        "thread = threading.Thread(target=speak); thread.start()"
    )
    request = kernel.execute("go.set()\nthread.join()")
    events = kernel.until_reply(request)
    assert text(events) == "spoken\n"
    assert {e.request for e in events} == {request}


def test_children_print_into_the_cell(kernel):
    events = kernel.run(
        "import multiprocessing, sys\n"
        "def work(i):\n    print('child', i)\n    return i\n"
        "ctx = multiprocessing.get_context('fork')\n"
        "ps = [ctx.Process(target=work, args=(i,)) for i in range(3)]\n"
        "print('start')\n"
        "for p in ps: p.start()\n"
        "for p in ps: p.join()\n"
        "print('end')"
    )
    assert text(events, "stderr") == ""
    lines = text(events).splitlines()
    assert lines[0] == "start"
    assert lines[-1] == "end"
    assert sorted(lines[1:-1]) == ["child 0", "child 1", "child 2"]
    events = kernel.run("with ctx.Pool(2) as p: print(p.map(work, range(4)))")
    assert "[0, 1, 2, 3]" in text(events)


def test_a_forked_child_is_no_second_kernel(kernel):
    events = kernel.run(
        "import os\npid = os.fork()\n"
        "if pid == 0:\n    print('in the child'); os._exit(0)\n"
        "os.waitpid(pid, 0)[1]"
    )
    assert text(events) == "in the child\n"
    assert kernel.value("6") == "6"


def test_two_kernels_draw_different_numbers(fork):
    code = (
        "import random, numpy, uuid, tempfile, multiprocessing\n"
        "print(random.random(), numpy.random.rand(), uuid.uuid1(),\n"
        "  next(tempfile._get_candidate_names()),\n"
        "  bytes(multiprocessing.current_process().authkey).hex())"
    )
    one, two = (text(fork().run(code)).split() for _ in range(2))
    assert len(one) == 5
    for first, second in zip(one, two):
        assert first != second


def test_output_after_the_reply_is_sent_soon(kernel):
    kernel.run(
        "import os, threading, time\n"
        "def later():\n"
        "    while not os.path.exists('now'): time.sleep(0.01)\n"
        "    print('late', end='')\n"
        "threading.Thread(target=later).start()"
    )
    # No request comes meanwhile.
    kernel.path.with_name("now").touch()
    assert kernel.event().content["text"] == "late"


def test_a_kernel_whose_descriptors_are_closed_ends(kernel):
    kernel.execute("import os\nos.closerange(3, 1000)")
    kernel.until_end()
    assert kernel.is_gone()


def test_a_closed_standard_output_costs_nothing(kernel):
    kernel.run("import os, time\nos.close(1)")
    spent = kernel.run("time.sleep(0.5)")[-1].metadata["hearth"]["cpu_us"]
    assert spent < 250_000
    assert text(kernel.run("print('heard')")) == "heard\n"


def test_a_waiting_cell_costs_nothing(kernel):
    code = "import asyncio\nawait asyncio.sleep(0.5)"
    first, second = kernel.execute(code), kernel.execute("1")
    events = kernel.until_reply(first)
    assert events[-1].metadata["hearth"]["cpu_us"] < 250_000
    kernel.until_reply(second)


@pytest.mark.parametrize("delay", [0.0003 * n for n in range(24)])
def test_an_interrupt_between_a_cells_steps(kernel, delay):
    """Whatever of asyncio's runs then: one is enough, and the task is ended."""
    code = "import asyncio\nprint('on')\nwhile True: await asyncio.sleep(0)"
    request = kernel.execute(code)
    kernel.until_printed("on")
    time.sleep(delay)
    kernel.interrupt()
    reply = kernel.until_reply(request)[-1]
    assert reply.content["ename"] == "KeyboardInterrupt"
    assert kernel.value("1") == "1"


SLOW_TRACEBACK = """
import os
ip = get_ipython()
whole = ip.InteractiveTB.structured_traceback
def slowly(*arguments, **options):
    print('showing')
    while not os.path.exists('now'): pass
    return whole(*arguments, **options)
ip.InteractiveTB.structured_traceback = slowly
"""


def test_another_interrupt_leaves_the_traceback_alone(kernel):
    now = kernel.path.with_name("now")
    kernel.run(SLOW_TRACEBACK)
    request = kernel.execute("print('on')\nwhile True: pass")
    kernel.until_printed("on")
    kernel.interrupt()
    events = kernel.until_printed("showing")
    kernel.interrupt()
    now.touch()
    events += kernel.until_reply(request)
    assert only(events, "YIELDED").request == request
    assert only(events, "ERROR").content["ename"] == "KeyboardInterrupt"
    assert events[-1].content["ename"] == "KeyboardInterrupt"
    # What is no traceback can be interrupted again.
    now.unlink()
    request = kernel.execute("print('on')\nwhile True: pass")
    kernel.until_printed("on")
    kernel.interrupt()
    kernel.until_printed("showing")
    now.touch()
    assert kernel.until_reply(request)[-1].content["status"] == "error"


def test_a_cell_that_was_not_interrupted_does_not_claim_so(kernel):
    assert "YIELDED" not in kinds(kernel.run("raise KeyboardInterrupt"))


def test_python_code_has_got_an_interrupt_before_it_handles_it(kernel):
    request = kernel.execute(
        "import time\n"
        "try:\n"
        "    print('on')\n"
        "    time.sleep(100)\n"
        "except KeyboardInterrupt:\n"
        "    print('caught')"
    )
    kernel.until_printed("on")
    kernel.interrupt()
    events = kernel.until_reply(request)
    assert kinds(events) == ["STRUCK", "STREAM", "REPLY"]
    assert events[0].request == request
    assert events[0].content == {"taken": True}
    assert text(events) == "caught\n"


def test_an_interrupt_between_cells_says_so(kernel):
    kernel.interrupt()
    event = kernel.event()
    assert (event.kind, event.request) == ("STRUCK", 0)
    assert event.content == {"taken": False}


def test_an_interrupt_is_reported_without_room(fork):
    kernel = fork(retain=1 << 18)
    kernel.auto_ack = False
    request = kernel.execute(
        "while True:\n"
        "    try:\n"
        "        while True: print('x' * 1000)\n"
        "    except KeyboardInterrupt: pass"
    )
    kernel.until_silence()
    kernel.interrupt()
    event = kernel.event()
    assert (event.kind, event.request) == ("STRUCK", request)


SIGNALS_ITSELF = """
import signal
for _ in range(1000):
    try: signal.raise_signal(signal.SIGINT)
    except KeyboardInterrupt: pass
"""


def test_code_that_signals_itself_makes_few_events(kernel):
    for _ in range(2):
        assert kinds(kernel.run(SIGNALS_ITSELF)).count("STRUCK") == 8
    kernel.send("MARK")
    assert kernel.event().kind == "MARKED"
    # A mark is a signal of the gateway's.
    kernel.interrupt()
    assert kernel.event().kind == "STRUCK"


OWN_HANDLER = """
import signal
def handle(number, frame):
    print('handled')
    raise KeyError(number)
before = signal.signal(signal.SIGINT, handle)
print(signal.getsignal(signal.SIGINT) is handle)
print('on')
while True: pass
"""


def test_a_handler_of_user_code_is_its_own(kernel):
    request = kernel.execute(OWN_HANDLER)
    events = kernel.until_printed("on")
    kernel.interrupt()
    events += kernel.until_reply(request)
    assert text(events) == "True\non\nhandled\n"
    assert only(events, "STRUCK").content == {"taken": True}
    shown = "\n".join(events[-1].content["traceback"])
    assert events[-1].content["ename"] == "KeyError"
    assert "hearth_kernel" not in shown
    # It lasts as long as its cell, and what it replaced can be put back.
    assert kernel.value("signal.getsignal(signal.SIGINT) is before") == "True"
    kernel.run(
        "signal.signal(signal.SIGINT, handle)\n"
        "again = signal.signal(signal.SIGINT, before)"
    )
    assert kernel.value("again is handle") == "True"


def test_asyncio_handles_the_signal_itself(kernel):
    request = kernel.execute(
        "import asyncio, signal\n"
        "got = asyncio.Event()\n"
        "asyncio.get_running_loop().add_signal_handler(\n"
        "    signal.SIGINT, got.set)\n"
        "print('on')\n"
        "await got.wait()"
    )
    kernel.until_printed("on")
    kernel.interrupt()
    events = kernel.until_reply(request)
    assert events[-1].content["status"] == "ok"
    assert "STRUCK" in kinds(events)


@pytest.mark.parametrize("number", ["'x'", "10**30", "signal.SIGUSR1"])
def test_handlers_of_other_signals_are_as_they_are(kernel, number):
    code = f"import signal\nsignal.signal({number}, lambda *_: None)\n"
    reply = kernel.run(code)[-1].content
    assert reply["status"] == ("ok" if "USR1" in number else "error")
    assert reply.get("ename") in (None, "TypeError", "OverflowError")


DROPPED = {
    "finalizer": """
import time
class Slow:
    def __del__(self):
        print('on')
        time.sleep(100)
Slow()
time.sleep(100)
""",
    "fork": """
import os, time
def slowly():
    print('on')
    time.sleep(100)
os.register_at_fork(before=slowly)
if os.fork() == 0:
    os._exit(0)
time.sleep(100)
""",
}


@pytest.mark.parametrize("code", DROPPED.values(), ids=DROPPED.keys())
def test_an_interrupt_that_the_interpreter_drops_is_not_lost(kernel, code):
    request = kernel.execute(code)
    kernel.until_printed("on")
    kernel.interrupt()
    events = kernel.until_reply(request)
    assert events[-1].content["ename"] == "KeyboardInterrupt"
    assert kinds(events).count("STRUCK") == 1
    assert text(events, "stderr") == ""


def test_other_exceptions_are_dropped_with_a_word(kernel):
    events = kernel.run(
        "class Broken:\n"
        "    def __del__(self): raise KeyboardInterrupt('its own')\n"
        "Broken()\n1"
    )
    assert "its own" in text(events, "stderr")
    assert events[-1].content["status"] == "ok"
