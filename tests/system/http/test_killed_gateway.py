"""A client that comes back to a gateway in the place of one that was killed:
where it stopped is not known any more, its requests without a reply are."""

from __future__ import annotations

from pathlib import Path

from harness import Gateway
from web import Kernel, Socket, Web, of_type, text_of

LINES = "".join(f"{number}\n" for number in range(12))


def test_a_running_cell_is_answered(mortal: Gateway) -> None:
    web = Web.of(mortal)
    kernel = Kernel(web, web.create())
    shown = mortal.json("session", "show", "--json", kernel.id)
    query = {"session_id": "tab"}
    ws = kernel.socket(query=query)
    ws.run("print('long ago')")
    msg_id = ws.execute(
        "import os, time\n"
        "for i in range(12):\n"
        "    while i == 4 and not os.path.exists('go'): time.sleep(0.01)\n"
        "    print(i, flush=True)\n"
        "'the end'"
    )
    ws.until(lambda m: "3\n" in text_of([m]))
    mortal.kill()
    mortal.start()
    web.renew()
    again = Socket(web, kernel.id, query=query)
    other = Socket(web, kernel.id, query={"session_id": "another"})
    (Path(shown["workspace"]) / "go").touch()
    found = again.finish(msg_id)
    # Its page begins the cell's outputs anew.
    (cleared,) = of_type(found, "clear_output")
    assert cleared["content"] == {"wait": False}
    behind = found[found.index(cleared) :]
    assert text_of(behind) == text_of(found) == LINES
    assert of_type(found, "execute_result")
    assert of_type(found, "execute_reply")[0]["content"]["status"] == "ok"
    assert "long ago" not in text_of(again.seen)
    # A client without requests gets no earlier messages.
    assert other.value("1 + 1") == "2"
    assert not of_type(other.seen, "clear_output")
    # Where it is now is known.
    again.close()
    third = Socket(web, kernel.id, query=query)
    assert third.value("2 + 2") == "4"
    assert "0\n1\n" not in text_of(third.seen)
    for socket in (other, third):
        socket.close()
    kernel.close()
