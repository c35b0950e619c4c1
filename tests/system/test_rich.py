"""Rich outputs, widgets and magics, as a front end gets them."""

from __future__ import annotations

import base64
import struct
from typing import Any

import pytest
from client import Client, Message, Turn
from deadline import DEADLINE

pytestmark = pytest.mark.warm

SLIDER = "import ipywidgets\nslider = ipywidgets.IntSlider(value=3)\nslider"


def ok(turn: Turn) -> Turn:
    assert turn.status == "ok", turn.content
    return turn


def shown(turn: Turn) -> list[dict[str, Any]]:
    return [content["data"] for content in turn.contents("display_data")]


def with_type(turn: Turn, mime: str) -> dict[str, Any]:
    """The one display that has this type."""
    (found,) = (data for data in shown(ok(turn)) if mime in data)
    return found


# -- figures --


def png_size(data: str) -> tuple[int, int]:
    width, height = struct.unpack(">II", base64.b64decode(data)[16:24])
    return width, height


def test_retina(client: Client) -> None:
    turn = client.run(
        "%config InlineBackend.figure_formats = ['retina']\n"
        "import matplotlib.pyplot as plt\n"
        "plt.plot([1, 2]);"
    )

    (content,) = turn.contents("display_data")
    width, height = png_size(content["data"]["image/png"])
    # Twice the points; the size on the page is half of that.
    size = content["metadata"]["image/png"]
    assert abs(width - 2 * size["width"]) <= 1
    assert abs(height - 2 * size["height"]) <= 1


def test_several_formats(client: Client) -> None:
    turn = client.run(
        "from matplotlib_inline.backend_inline import set_matplotlib_formats\n"
        "set_matplotlib_formats('svg', 'png')\n"
        "import matplotlib.pyplot as plt\n"
        "plt.plot([1, 2]);"
    )

    data = with_type(turn, "image/png")
    assert "<svg" in data["image/svg+xml"]


@pytest.mark.parametrize("how", ["figure", "figure.show();"])
def test_plotly(client: Client, how: str) -> None:
    turn = client.run(
        "import plotly.graph_objects as go\n"
        f"figure = go.Figure(data=[go.Bar(y=[2, 1, 3])])\n{how}"
    )

    data = with_type(turn, "application/vnd.plotly.v1+json")
    figure = data["application/vnd.plotly.v1+json"]
    assert figure["data"] == [{"type": "bar", "y": [2, 1, 3]}]
    assert "layout" in figure
    assert "<div" in data["text/html"]


def test_plotly_as_one_html_document(client: Client) -> None:
    turn = client.run(
        "import plotly.io, plotly.graph_objects as go\n"
        "plotly.io.renderers.default = 'notebook_connected'\n"
        "go.Figure(data=[go.Bar(y=[2, 1, 3])]).show()"
    )

    assert any("plotly" in data.get("text/html", "") for data in shown(turn))


# -- widgets --


def states(turn: Turn, comm_id: str) -> list[dict[str, Any]]:
    """Return the states of a widget that the kernel has sent."""
    return [
        content["data"]["state"]
        for content in turn.contents("comm_msg")
        if content["comm_id"] == comm_id
        and content["data"].get("method") in ("update", "echo_update")
    ]


def test_widget_state_goes_both_ways(client: Client) -> None:
    turn = ok(client.run(SLIDER))
    view = turn.contents("execute_result")[0]["data"][
        "application/vnd.jupyter.widget-view+json"
    ]
    model = view["model_id"]
    opened = {c["comm_id"]: c for c in turn.contents("comm_open")}
    assert opened[model]["target_name"] == "jupyter.widget"
    assert opened[model]["data"]["state"]["value"] == 3

    # From the code to the front end ...
    turn = ok(client.run("slider.value = 5"))
    assert states(turn, model) == [{"value": 5}]
    # ... and back, with what code observes.
    client.run("seen = []\nslider.observe(lambda c: seen.append(c.new))")
    client.ask_comm(model, {"method": "update", "state": {"value": 9}})
    assert client.value("slider.value") == 9
    assert 9 in client.value("seen")
    # A front end that comes later asks for all.
    turn = client.ask_comm(model, {"method": "request_state"})
    assert states(turn, model)[-1]["value"] == 9
    turn = ok(client.run("slider.close()"))
    assert turn.contents("comm_close")[0]["comm_id"] == model


def test_widget_callback_prints_into_its_message(client: Client) -> None:
    turn = ok(
        client.run(
            "import ipywidgets\n"
            "button = ipywidgets.Button()\n"
            "button.on_click(lambda b: print('clicked'))\n"
            "button"
        )
    )
    data = turn.contents("execute_result")[0]["data"]
    model = data["application/vnd.jupyter.widget-view+json"]["model_id"]
    turn = client.ask_comm(
        model,
        {"method": "custom", "content": {"event": "click"}},
    )
    assert turn.stream() == "clicked\n"


def test_output_widget_captures(client: Client) -> None:
    ok(client.run("import ipywidgets\nout = ipywidgets.Output()"))
    model = client.value("out.model_id")
    turn = ok(client.run("with out:\n    print('inside')\nprint('outside')"))

    # The page learns whose outputs the widget takes, and when it stops.
    first, last = states(turn, model)
    request = turn.reply["parent_header"]["msg_id"]
    assert first == {"msg_id": request}
    assert last == {"msg_id": ""}
    order = [
        message["content"].get("text")
        or message["content"]["data"]["state"]["msg_id"]
        for message in turn.messages
        if message["msg_type"] in ("stream", "comm_msg")
    ]
    assert order == [request, "inside\n", "", "outside\n"]


def test_interact(client: Client) -> None:
    turn = ok(
        client.run(
            "from ipywidgets import interact\n"
            "@interact(x=3)\n"
            "def square(x):\n"
            "    print(x * x)\n"
        )
    )

    assert "9\n" in turn.stream()


def test_buffers_of_widgets(client: Client) -> None:
    turn = ok(
        client.run(
            "import ipywidgets\n"
            "ipywidgets.Image(value=bytes(range(256)), format='png')"
        )
    )

    def buffers(message: Message) -> list[bytes]:
        return [bytes(buffer) for buffer in message["buffers"]]

    sent = [b for m in turn.messages for b in buffers(m)]
    assert sent == [bytes(range(256))]


# -- displays --


@pytest.mark.parametrize(
    ("code", "mime", "wanted"),
    [
        ("Javascript('f()')", "application/javascript", "f()"),
        ("Latex('$x^2$')", "text/latex", "$x^2$"),
        ("Math('x^2')", "text/latex", r"$\displaystyle x^2$"),
        ("JSON({'a': [1, None]})", "application/json", {"a": [1, None]}),
        ("Markdown('*x*')", "text/markdown", "*x*"),
        ("HTML('<b>x</b>')", "text/html", "<b>x</b>"),
        ("SVG('<svg/>')", "image/svg+xml", "<svg/>"),
        ("GeoJSON({'type': 'Point'})", "application/geo+json", None),
        ("Image(data=b'GIF89a', format='gif')", "image/gif", "R0lGODlh"),
        ("Image(data=b'xy', format='jpeg')", "image/jpeg", "eHk="),
    ],
)
def test_display(client: Client, code: str, mime: str, wanted: Any) -> None:
    turn = client.run(f"from IPython.display import *\ndisplay({code})")

    data = with_type(turn, mime)[mime]
    assert wanted is None or (
        data.strip() if isinstance(data, str) else data
    ) == (wanted)


def test_own_mime_bundle(client: Client) -> None:
    turn = client.run(
        "class Own:\n"
        "    def _repr_mimebundle_(self, include=None, exclude=None):\n"
        "        return {'application/x.own+json': {'n': 1}}, {'m': 2}\n"
        "Own()"
    )

    (content,) = turn.contents("execute_result")
    assert content["data"]["application/x.own+json"] == {"n": 1}
    assert content["metadata"] == {"m": 2}


# -- magics --


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("%timeit -n 1 -r 1 pass", "per loop"),
        ("%%timeit -n 1 -r 1\npass", "per loop"),
        ("%time pass", "Wall time"),
        ("%%time\npass", "Wall time"),
        ("%%bash\necho one; echo two >&2", "one"),
        ("%%sh\necho one", "one"),
        ("%%script bash\necho one", "one"),
        ("%%python3\nprint('one')", "one"),
        ("!echo one", "one"),
        ("%system echo one", ""),
        ("lines = !echo one\nprint(lines)", "['one']"),
        ("name = 'one'\n!echo {name} $name", "one one"),
        ("%%writefile made.py\nx = 1", "Writing made.py"),
        ("%env SOME=one", "SOME=one"),
        ("%pwd", ""),
        ("%who", ""),
        ("x = 1\n%whos", "int"),
        ("%history", ""),
        ("%lsmagic", ""),
        ("%load_ext autoreload\n%autoreload 2", ""),
        ("%matplotlib inline", ""),
        ("%xmode Plain", "Plain"),
        ("%%prun -q\npass", ""),
        ("%reset -f", ""),
    ],
)
def test_magic(client: Client, code: str, text: str) -> None:
    assert text in ok(client.run(code)).stream()


@pytest.mark.parametrize(
    ("code", "mime"),
    [
        ("%%html\n<b>x</b>", "text/html"),
        ("%%javascript\nf()", "application/javascript"),
        ("%%latex\n$x$", "text/latex"),
        ("%%markdown\n*x*", "text/markdown"),
        ("%%svg\n<svg/>", "image/svg+xml"),
    ],
)
def test_displaying_magic(client: Client, code: str, mime: str) -> None:
    assert with_type(client.run(code), mime)


def test_capture(client: Client) -> None:
    code = (
        "%%capture got\n"
        "import sys\n"
        "from IPython.display import HTML\n"
        "print('out'); print('err', file=sys.stderr); display(HTML('<b>x</b>'))"
    )
    turn = ok(client.run(code))

    assert turn.types == ["status", "execute_input", "status"]
    assert client.value("(got.stdout, got.stderr)") == ("out\n", "err\n")
    assert client.value("got.outputs[0].data['text/html']") == "<b>x</b>"
    turn = ok(client.run("got.show()"))
    assert turn.stream() == "out\n"
    assert with_type(turn, "text/html")


def test_run_of_a_script(client: Client) -> None:
    ok(
        client.run(
            "%%writefile script.py\n"
            "import sys\nmade = len(sys.argv)\nprint(__name__)"
        )
    )
    assert ok(client.run("%run script.py a b")).stream() == "__main__\n"
    assert client.value("made") == 3
    ok(client.run("%%writefile bad.py\n1/0"))
    # As IPython has it: the traceback is shown, the magic itself succeeded.
    turn = ok(client.run("%run bad.py"))
    assert turn.contents("error")[0]["ename"] == "ZeroDivisionError"


@pytest.mark.parametrize("magic", ["pip", "conda", "mamba", "uv"])
def test_installing_is_refused(client: Client, magic: str) -> None:
    turn = client.run(f"%{magic} install requests")

    assert turn.status == "error"
    assert turn.content["ename"] == "UsageError"
    assert "no network" in turn.content["evalue"]
    assert "profile" in turn.content["evalue"]


def test_postmortem(client: Client) -> None:
    client.run("def f():\n    inner = 42\n    1/0\nf()")
    msg_id = client.kc.execute("%debug", allow_stdin=True)
    for line in ("p inner + 1", "q"):
        request = client.kc.get_stdin_msg(timeout=DEADLINE)
        assert request["content"]["prompt"] == "ipdb> "
        client.kc.input(line)
    assert "43" in client.finish(msg_id).stream()


def test_breakpoint(client: Client) -> None:
    msg_id = client.kc.execute("x = 7\nbreakpoint()\ny = 8", allow_stdin=True)
    for line in ("p x * 2", "c"):
        client.kc.get_stdin_msg(timeout=DEADLINE)
        client.kc.input(line)
    turn = client.finish(msg_id)
    assert turn.status == "ok", turn.content
    assert "14" in turn.stream()
    assert client.value("y") == 8
