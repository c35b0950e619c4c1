"""A person attaches JupyterLab by `hearth lab`; test_lab_ways.py: otherwise."""

from __future__ import annotations

import getpass
import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from client import Client
from deadline import wait_for
from harness import HEARTH, Gateway, Session
from lab import (
    AGENT,
    JUPYTER_LAB,
    PATIENCE,
    Lab,
    LabServer,
    page_of,
    write_config,
)
from playwright.sync_api import Browser, Page, expect
from test_terminals import Terminal
from web import Socket, Web, of_type

pytestmark = pytest.mark.timeout(10 * PATIENCE)


@pytest.fixture(scope="module")
def session(agents_session: Session) -> Session:
    """All of these tests look into one, which an agent uses."""
    return agents_session


def hearth_lab(
    gateway: Gateway,
    folder: Path,
    *arguments: str,
    terminals: bool = False,
) -> Iterator[LabServer]:
    config = write_config(folder, allow_root=False, terminals=terminals)
    env = {**config, **gateway.env, "HOME": str(folder)}
    command = [HEARTH, "lab", "--no-start", "--no-browser"]
    command += ["--jupyter", str(JUPYTER_LAB), *arguments]
    before = gateway.json("token", "list", "--json")
    server = LabServer(command, env, folder)
    made = gateway.json("token", "list", "--json")
    assert len(made) == len(before) + 1
    yield server
    assert server.stop() == 0, server.log.read_text()
    # Its token is worth nothing any more.
    assert made[-1] not in gateway.json("token", "list", "--json")


@pytest.fixture(scope="module")
def attached(
    gateway: Gateway,
    session: Session,
    agent: Client,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[LabServer]:
    yield from hearth_lab(
        gateway, tmp_path_factory.mktemp("attached"), session.id
    )
    # What was there before is there after.
    assert session.show()["state"] == "idle"


@pytest.fixture(scope="module")
def lab(attached: LabServer, browser: Browser) -> Iterator[Lab]:
    """Return the page that `hearth lab` opens."""
    with page_of(browser) as page:
        made = Lab(page, attached.opened)
        made.wait_kernel()
        yield made


def test_the_agents_notebook(lab: Lab) -> None:
    cells = lab.notebook.locator(".jp-CodeCell")
    expect(cells).to_have_count(len(AGENT))
    expect(cells.nth(0).locator("table")).to_contain_text("June")
    expect(cells.nth(1).locator("img")).to_be_visible()
    lab.shot("hearth-lab-opened")


def test_the_agents_run_is_followed_as_it_happens(
    lab: Lab, session: Session, agent: Client
) -> None:
    """Without a reload, what the person has open shows it all."""
    lab.page.evaluate("() => { window.opened = true; }")
    cells = lab.notebook.locator(".jp-Cell")
    before = cells.count()
    go = session.workspace / "go"
    msg_id = agent.kc.execute(
        "import os, time\n"
        "from IPython.display import HTML, clear_output, display\n"
        "print('to be cleared')\nclear_output(wait=True)\n"
        "print('waiting')\n"
        "shown = display(HTML('<b>one</b>'), display_id='shown')\n"
        "while not os.path.exists('go'):\n    time.sleep(0.01)\n"
        "print('went on')\n42"
    )
    cell = cells.nth(before)
    outputs = cell.locator(".jp-OutputArea")
    expect(outputs).to_contain_text("waiting")
    expect(cell.locator("b")).to_have_text("one")
    expect(cell.locator(".jp-InputPrompt")).to_have_text("[*]:")
    expect(outputs).not_to_contain_text("went on")
    go.touch()
    expect(outputs).to_contain_text("went on")
    expect(outputs).not_to_contain_text("to be cleared")
    count = agent.finish(msg_id).content["execution_count"]
    expect(cell.locator(".jp-InputPrompt")).to_have_text(f"[{count}]:")
    assert agent.run("shown.update(HTML('<b>two</b>'))").status == "ok"
    expect(cell.locator("b")).to_have_text("two")
    assert agent.run("1 / 0").status == "error"
    error = cells.nth(before + 2)
    expect(error).to_contain_text("ZeroDivisionError")
    done = session.gateway.run("note", session.id, "The agent **thinks**.")
    assert done.returncode == 0, done.stderr
    expect(cells.nth(before + 3).locator("strong")).to_have_text("thinks")
    cells.nth(before + 3).scroll_into_view_if_needed()
    lab.shot("hearth-lab-followed")
    assert lab.page.evaluate("() => window.opened") is True


def test_a_persons_cells_are_recorded_as_theirs(
    lab: Lab, session: Session, agent: Client, tmp_path: Path
) -> None:
    cell = lab.run("'by a person'")
    expect(cell.locator(".jp-OutputArea-output")).to_contain_text("by a person")
    assert agent.run("'by the agent'").status == "ok"
    path = tmp_path / "run.ipynb"
    done = session.gateway.run(
        "notebook", "export", session.id, "-o", str(path)
    )
    assert done.returncode == 0, done.stderr
    # And the page shows the difference.
    theirs = lab.notebook.locator(".jp-Cell", has_text="by the agent").last
    expect(theirs).to_have_attribute("data-hearth-by", "other")
    expect(theirs).to_have_attribute("data-hearth-who", re.compile(r"\d:\d\d"))
    expect(cell).to_have_attribute("data-hearth-by", "self")
    expect(cell).to_have_attribute(
        "data-hearth-who", re.compile(getpass.getuser() + ".*JupyterLab")
    )
    lab.shot("hearth-lab-badges")
    person, other = json.loads(path.read_text())["cells"][-2:]
    assert "".join(person["source"]) == "'by a person'"
    who = person["metadata"]["hearth"]["who"]
    assert (who["username"], who["name"]) == (getpass.getuser(), "JupyterLab")
    assert who["client"] == lab.page.evaluate(
        "() => window.jupyterapp.shell.currentWidget"
        ".sessionContext.session.kernel.clientId"
    )
    assert "name" not in other["metadata"]["hearth"]["who"]


def test_no_message_is_missed_or_repeated(
    lab: Lab, attached: LabServer, session: Session, agent: Client
) -> None:
    """The page is closed while the agent goes on: saved or not."""
    cell = lab.run("'kept'")
    expect(cell.locator(".jp-OutputArea-output")).to_have_text("'kept'")
    lab.command("docmanager:save")
    cell = lab.run("'not saved'")
    expect(cell.locator(".jp-OutputArea-output")).to_have_text("'not saved'")
    assert agent.run("'last before'").status == "ok"
    wait_for(lambda: lab.sources()[-1] == "'last before'", "the agent's cell")
    before = lab.sources()
    lab.page.goto("about:blank")
    assert agent.run("print('meanwhile')").status == "ok"
    lab.open(attached.opened)
    lab.wait_kernel()
    wait_for(
        lambda: lab.sources()[-1] == "print('meanwhile')", "what it missed"
    )
    assert lab.sources() == [*before, "print('meanwhile')"]
    assert agent.run("'and on'").status == "ok"
    wait_for(lambda: lab.sources()[-1] == "'and on'", "the next cell")
    assert len(lab.sources()) == len(before) + 2


# Whenever the page has a turn for it: how many cells there are.
LOOK = """
window.seen = new Set();
const {port1, port2} = new MessageChannel();
port1.onmessage = () => {
    const shown = window.jupyterapp?.shell.currentWidget?.content;
    window.seen.add(shown?.model?.cells?.length ?? 0);
    port2.postMessage(null);
};
port2.postMessage(null);
"""


def test_a_page_lives_while_many_cells_come(
    lab: Lab, attached: LabServer, agent: Client, page: Page
) -> None:
    """Between two of them it does something else."""
    for i in range(30):
        assert agent.run(f"'burst {i}'").status == "ok"
    page.add_init_script(LOOK)
    opened = Lab(page, attached.opened)
    opened.wait_kernel()
    wait_for(lambda: "'burst 29'" in opened.sources(), "the last cell")
    assert page.evaluate("() => window.seen.size") > 10


def test_recordings_are_in_the_file_browser(
    gateway: Gateway, attached: LabServer, agent: Client, page: Page
) -> None:
    """Recordings of live sessions, which are followed, and of gone ones."""
    live, gone = gateway.create(), gateway.create()
    live.exec("a = 41")
    gone.exec("print('long ago')")
    gone.delete()
    gone.wait_state("gone")
    lab = Lab(page, attached.url(f"lab/tree/recordings/{live.id}.ipynb"))
    lab.wait_kernel()
    assert lab.kernel_id() == live.id
    assert lab.sources() == ["a = 41"]
    live.exec("a + 1")
    wait_for(lambda: lab.sources() == ["a = 41", "a + 1"], "the next cell")
    lab.page.locator(".jp-DirListing-item", has_text=gone.id).dblclick()
    expect(lab.notebook).to_contain_text("long ago")
    lab.shot("recordings")
    model = attached.ask(f"api/contents/recordings/{gone.id}.ipynb?content=0")
    assert model["writable"] is False
    names = [m["name"] for m in attached.ask("api/contents")["content"]]
    assert "recordings" in names
    live.delete()


def test_one_kernel_for_both(lab: Lab, session: Session, agent: Client) -> None:
    assert lab.kernel_id() == session.id
    cell = lab.run("int(sales['sold'].sum())")
    expect(cell.locator(".jp-OutputArea-output")).to_have_text("42")
    cell = lab.run("limit.value = 30\nlimit")
    expect(cell.locator(".widget-readout")).to_have_text("30")
    cell = lab.run("sales.loc[0, 'sold'] = 100\nprint('corrected')")
    expect(cell.locator(".jp-OutputArea-output")).to_have_text("corrected\n")
    lab.shot("hearth-lab")
    assert agent.value("int(sales['sold'].sum())") == 131
    assert agent.value("limit.value") == 30
    # The agent's next turn is seen by the person's next one.
    assert agent.run("fresh = 'from the agent'").status == "ok"
    cell = lab.run("fresh")
    expect(cell.locator(".jp-OutputArea-output")).to_contain_text(
        "from the agent"
    )


def test_a_widget_has_two_sides(lab: Lab, agent: Client) -> None:
    cell = lab.run("limit.value = 40\nlimit")
    readout = cell.locator(".widget-readout")
    expect(readout).to_have_text("40")
    assert agent.run("limit.value = 50").status == "ok"
    expect(readout).to_have_text("50")
    cell.locator(".noUi-handle").press("ArrowRight")
    expect(readout).to_have_text("51")
    wait_for(lambda: agent.value("limit.value") == 51, "the new value")


# Pictures as widgets get them, in buffers; the second is more than the 10 MiB
# that Tornado takes by itself.
PICTURES = {
    "png": (
        "import io, matplotlib.pyplot as plt\n"
        "file = io.BytesIO(); plt.figure(); plt.plot([3, 1, 2])\n"
        "plt.savefig(file, format='png'); plt.close()",
        640,
    ),
    "bmp": (
        "import io, struct\n"
        "file = io.BytesIO(struct.pack(\n"
        "    '<2sIIIIiiHHIIiiII', b'BM', 54 + (12 << 20), 0, 54,\n"
        "    40, 2048, 2048, 1, 24, 0, 0, 0, 0, 0, 0)\n"
        "    + b'\\x20\\x90\\xf0' * (4 << 20))",
        2048,
    ),
}


@pytest.mark.parametrize("form", PICTURES)
def test_a_widget_shows_a_picture(lab: Lab, form: str) -> None:
    code, width = PICTURES[form]
    cell = lab.run(
        f"{code}\nfrom ipywidgets import Image\n"
        f"Image(value=file.getvalue(), format='{form}', width='320px')"
    )
    image = cell.locator("img.widget-image")
    expect(image).to_be_visible()
    expect(image).to_have_js_property("naturalWidth", width)
    image.scroll_into_view_if_needed()
    lab.shot(f"hearth-lab-{form}")


def upload(lab: Lab, path: Path) -> None:
    """Upload by FileUpload; the kernel writes the result beside `path`.

    No cell is run for it: the page shows all cells that are run."""
    cell = lab.run(
        "from hashlib import sha256\nfrom ipywidgets import FileUpload\n"
        "upload = FileUpload()\n"
        "def came(change):\n"
        "    with open(upload.value[0].name + '.got', 'w') as file:\n"
        "        file.write(sha256(upload.value[0].content).hexdigest())\n"
        "upload.observe(came, 'value')\nupload"
    )
    with lab.page.expect_file_chooser() as chooser:
        cell.locator("button.widget-upload").click()
    chooser.value.set_files(path)


# The second is more than the 10 MiB that Tornado takes by itself.
@pytest.mark.parametrize("size", [1029, (12 << 20) + 5])
def test_a_person_uploads_a_file(
    lab: Lab, session: Session, tmp_path: Path, size: int
) -> None:
    path = tmp_path / f"{size}.bin"
    content = hashlib.shake_128(b"a file").digest(size)
    path.write_bytes(content)
    upload(lab, path)
    got = session.workspace / f"{path.name}.got"
    wait_for(lambda: got.is_file() and got.stat().st_size == 64, "the file")
    assert got.read_text() == hashlib.sha256(content).hexdigest()


def test_a_person_is_warned_of_a_file_that_is_too_big(
    lab: Lab, tmp_path: Path
) -> None:
    """Past http/frame_max; the page is connected again."""
    path = tmp_path / "big.bin"
    with path.open("wb") as file:
        file.truncate(65 << 20)
    upload(lab, path)
    expect(lab.page.locator(".jp-toast-message")).to_contain_text(
        "did not arrive: the frame is bigger than http/frame_max"
    )
    lab.command("apputils:dismiss-notification")
    cell = lab.run("'still there'")
    expect(cell.locator(".jp-OutputArea-output")).to_have_text("'still there'")


def through(server: LabServer, gateway: Gateway) -> Web:
    """As a page asks JupyterLab's server for what the gateway has."""
    return Web(gateway, server.info["url"], server.info["token"], is_ours=False)


@pytest.mark.parametrize("v1", [False, True], ids=["legacy", "v1"])
def test_messages_sent_before_the_gateway_returns_arrive(
    gateway: Gateway, attached: LabServer, session: Session, v1: bool
) -> None:
    """It closes on a message that is too big; JupyterLab's server waits for
    more than a second before it tries again."""
    web = through(attached, gateway)
    with Socket(web, session.id, v1=v1) as socket:
        socket.ready()
        socket.send("comm_msg", {}, buffers=(bytes(65 << 20),))
        socket.until(lambda m: "notice" in m["metadata"].get("hearth", {}))
        asked = [socket.execute(f"{number} * 7") for number in range(3)]
        for number, msg_id in enumerate(asked):
            result = of_type(socket.finish(msg_id), "execute_result")[0]
            assert result["content"]["data"]["text/plain"] == str(number * 7)


@pytest.mark.parametrize("v1", [False, True], ids=["legacy", "v1"])
def test_each_form_passes_jupyterlabs_server(
    gateway: Gateway, attached: LabServer, session: Session, v1: bool
) -> None:
    """As its page asks, v1; and as older pages do."""
    web = through(attached, gateway)
    assert session.id in [
        kernel["id"] for kernel in web.get("api/kernels").json
    ]
    with Socket(web, session.id, v1=v1) as socket:
        socket.ready()
        # The page closes what the kernel opens and it does not know.
        socket.run(
            "import comm\ngot = []\n"
            "def opened(c, m):\n"
            "    c.on_msg(lambda m: (got.extend(m['buffers']),\n"
            "        c.send('', buffers=[b'\\x80\\xff\\0', b''])))\n"
            "comm.get_comm_manager().register_target('echo', opened)"
        )
        made = {"comm_id": uuid4().hex, "target_name": "echo", "data": {}}
        socket.finish(socket.send("comm_open", made), has_reply=False)
        # The second is more than the 10 MiB that Tornado takes by itself.
        big = b"\xff\0" * (6 << 20)
        msg_id = socket.send("comm_msg", made, buffers=(b"\xfe\0", big))
        seen = socket.finish(msg_id, has_reply=False)
        echo = of_type(seen, "comm_msg")[0]
        assert echo["buffers"] == [b"\x80\xff\0", b""]
        same = r"got == [b'\xfe\0', b'\xff\0' * (6 << 20)]"
        assert socket.value(same) == "True"
    who = session.notebook()["cells"][-1]["metadata"]["hearth"]["who"]
    assert (who["username"], who["name"]) == ("test", "JupyterLab")


def test_interrupt(lab: Lab, agent: Client) -> None:
    cell = lab.run("print('begun'); import time; time.sleep(600)")
    expect(cell.locator(".jp-OutputArea-output")).to_have_text("begun\n")
    lab.command("kernelmenu:interrupt")
    expect(cell).to_contain_text("KeyboardInterrupt")
    lab.wait_kernel()
    assert agent.value("limit.value") >= 0  # nothing was lost


def test_a_terminal_shows_the_address_alone(
    gateway: Gateway, session: Session, tmp_path: Path
) -> None:
    """Also to root, whom Jupyter refuses by itself; with Jupyter's options."""
    for server in hearth_lab(
        gateway, tmp_path, session.id, "--", "--ServerApp.base_url=/mine/"
    ):
        address = server.opened
        server.get(server.info, "api/status")
        said = server.log.read_text()
        assert said == f"JupyterLab: {address}\n"
        assert "/mine/lab/tree/" in address
        assert address.endswith(f"?token={server.info['token']}")


def test_no_shell_of_the_host(
    gateway: Gateway, session: Session, tmp_path: Path
) -> None:
    """Jupyter's own terminals would be outside of every sandbox: also where
    its server has them, those that it opens are the session's."""
    host = tmp_path / "of-the-host"
    host.write_text(uuid4().hex)
    lab = hearth_lab(gateway, tmp_path, session.id, terminals=True)
    for server in lab:
        web = through(server, gateway)
        assert web.get("api/terminals").json == []
        made = web.post("api/terminals", {"cwd": str(tmp_path)})
        assert made.status == 200, made
        assert made.json["session"] == session.id
        with Terminal(web, made.json["name"]) as client:
            client.type(f"cat {host}; pwd; echo $((6 * 7))-over\r")
            client.until("42-over")
            assert host.read_text() not in client.text
            assert "No such file" in client.text
            assert "/workspace\r\n" in client.text
        path = f"api/terminals/{made.json['name']}"
        assert web.ask("DELETE", path).status == 204
        assert web.get("api/terminals").json == []


def test_observe_only(
    gateway: Gateway,
    session: Session,
    agent: Client,
    page: Page,
    tmp_path: Path,
) -> None:
    for server in hearth_lab(gateway, tmp_path, "--observe", session.id):
        lab = Lab(page, server.opened)
        lab.wait_kernel()
        cell = lab.run("sales = None")
        expect(cell).to_contain_text("observe")
        lab.shot("observe")
        # What the gateway refuses it says why, and the page stays as it was.
        for verb, words in (
            ("restart", "only look restarts no kernel"),
            ("interrupt", "scope execute"),
        ):
            lab.page.evaluate(
                """verb => { void window.jupyterapp.shell.currentWidget
                    .sessionContext.session.kernel[verb]()
                    .catch(() => undefined); }""",
                verb,
            )
            reported = lab.page.locator(".Toastify__toast", has_text=words)
            expect(reported).to_be_visible()
            lab.wait_kernel()
        assert agent.value("sales is None") is False
