"""What a cell shows: in its order, whole, and to every client."""

from __future__ import annotations

import pytest
from client import Client, parent_of
from deadline import DEADLINE
from harness import Session

pytestmark = pytest.mark.warm


def test_two_clients_see_the_same_output(session: Session) -> None:
    with session.client() as one, session.client() as other:
        msg_id = one.kc.execute("print('for all')")
        one.finish(msg_id)
        seen = other.iopub(
            DEADLINE,
            lambda m: parent_of(m) == msg_id and m["msg_type"] == "stream",
        )
        assert seen["content"] == {"name": "stdout", "text": "for all\n"}


def test_streams(client: Client) -> None:
    turn = client.run(
        "import sys\nprint('out')\nprint('err', file=sys.stderr)\nprint('end')"
    )

    assert turn.stream() == "out\nend\n"
    assert turn.stream("stderr") == "err\n"


def test_stream_shows_before_the_cell_ends(client: Client) -> None:
    msg_id = client.kc.execute(
        "import sys, time\n"
        "sys.stdout.write('partial')\n"
        "go = False\n"
        "for i in range(3000):\n"
        "    time.sleep(0.01)\n"
    )
    begun = client.stream_until(msg_id, "partial")
    client.send("control", "interrupt_request")
    turn = client.finish(msg_id, begun=begun)
    assert turn.content["ename"] == "KeyboardInterrupt"


def test_output_of_children_and_descriptors(client: Client) -> None:
    turn = client.run(
        "import os, subprocess\n"
        "os.write(1, b'raw\\n')\n"
        "subprocess.run(['echo', 'child'])\n"
        "subprocess.run('echo wrong >&2', shell=True)\n"
        "!echo shell\n"
    )

    assert sorted(turn.stream().split()) == ["child", "raw", "shell"]
    assert turn.stream("stderr") == "wrong\n"


def test_output_of_threads(client: Client) -> None:
    turn = client.run(
        "import threading\n"
        "def work(n):\n"
        "    print('thread', n)\n"
        "ts = [threading.Thread(target=work, args=(n,)) for n in range(5)]\n"
        "[t.start() for t in ts]; [t.join() for t in ts];\n"
    )

    assert sorted(turn.stream().split("\n"))[1:] == [
        f"thread {n}" for n in range(5)
    ]


def test_unicode(client: Client) -> None:
    text = 'ä 日本 🎉 \u2028 \\ " \x00 </script>'
    assert client.run(f"print({text!r})").stream() == text + "\n"
    assert client.value(repr(text)) == text


def test_lone_surrogates_and_broken_bytes(client: Client) -> None:
    turn = client.run("import os\nos.write(1, b'a\\xffb\\n')\nprint('\\ud800')")

    assert turn.status in ("ok", "error")
    assert turn.stream().startswith("a\ufffdb\n")
    assert client.run("1").result == "1"


def test_many_lines(client: Client) -> None:
    turn = client.run("for i in range(20000): print(i)")

    assert turn.stream() == "".join(f"{i}\n" for i in range(20000))


def test_large_output(client: Client) -> None:
    turn = client.run("print('x' * 20_000_000)")

    assert len(turn.stream()) == 20_000_001


def test_display_updates(client: Client) -> None:
    turn = client.run(
        "from IPython.display import display, clear_output\n"
        "h = display('one', display_id='d')\n"
        "h.update('two')\n"
        "clear_output(wait=True)\n"
    )

    shown = turn.contents("display_data")[0]
    updated = turn.contents("update_display_data")[0]
    assert shown["transient"] == updated["transient"] == {"display_id": "d"}
    assert shown["data"] == {"text/plain": "'one'"}
    assert updated["data"] == {"text/plain": "'two'"}
    assert turn.contents("clear_output") == [{"wait": True}]


def test_update_in_a_later_turn(client: Client) -> None:
    client.run("h = display('one', display_id=True)")
    later = client.kc.execute("h.update('two')")

    assert "update_display_data" in client.finish(later).types


def test_png_plot(client: Client) -> None:
    import base64

    turn = client.run(
        "import matplotlib.pyplot as plt\n"
        "print('before')\n"
        "plt.plot([1, 2, 3]);\n"
    )

    assert turn.status == "ok", turn.content
    shown = turn.contents("display_data")
    assert len(shown) == 1
    png = base64.b64decode(shown[0]["data"]["image/png"])
    assert png.startswith(b"\x89PNG\r\n")
    width, height = (
        int.from_bytes(png[16:20], "big"),
        int.from_bytes(png[20:24], "big"),
    )
    assert shown[0]["metadata"]["image/png"] == {
        "width": width,
        "height": height,
    }
    assert shown[0]["data"]["text/plain"].startswith("<Figure size")
    assert turn.types.index("display_data") > turn.types.index("stream")


def test_svg_plot(client: Client) -> None:
    turn = client.run(
        "%config InlineBackend.figure_formats = ['svg']\n"
        "import matplotlib.pyplot as plt\n"
        "plt.plot([1, 2, 3]);\n"
    )

    assert "<svg" in turn.contents("display_data")[0]["data"]["image/svg+xml"]


def test_pandas_table(client: Client) -> None:
    turn = client.run("import pandas\npandas.DataFrame({'a': [1, 2]})")

    data = turn.contents("execute_result")[0]["data"]
    assert "<table" in data["text/html"]
    assert data["text/plain"].split() == ["a", "0", "1", "1", "2"]


def test_rich_types(client: Client) -> None:
    turn = client.run(
        "from IPython.display import *\n"
        "display(HTML('<b>x</b>'), Markdown('*x*'), Latex('$x$'),\n"
        "        JSON({'a': [1]}), SVG('<svg/>'), Javascript('1'))\n"
    )

    types = [set(c["data"]) for c in turn.contents("display_data")]
    for wanted in (
        "text/html",
        "text/markdown",
        "text/latex",
        "application/json",
        "image/svg+xml",
        "application/javascript",
    ):
        assert any(wanted in shown for shown in types), wanted
    for content in turn.contents("display_data"):
        if "application/json" in content["data"]:
            assert content["data"]["application/json"] == {"a": [1]}


def test_order_of_messages(client: Client) -> None:
    turn = client.run(
        "print('a')\ndisplay(1)\nprint('b')\ndisplay(2)\nprint('c')\n3"
    )

    assert turn.types == [
        "status",
        "execute_input",
        "stream",
        "display_data",
        "stream",
        "display_data",
        "stream",
        "execute_result",
        "status",
    ]
