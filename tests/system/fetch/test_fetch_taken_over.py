"""A client that was taken over: what it leaves leads the worker nowhere.

The function that runs in the sandbox is another one here. It does what code of
a server could do there that has taken the client over.
"""

from __future__ import annotations

import os
import textwrap
from pathlib import Path

import pytest
from depth import spread
from fake_files import FakeFiles
from fetching import FOLDERS, USER, Folder, digest, open_place

URL = "https://data.example/a"
GOOD = """
    write("body", b"evil")
    write("about", json.dumps({"source": "https://data.example/a"}).encode())
    write("report", json.dumps({"ok": {"status": 200}}).encode())
"""


def take_over(folder: Folder, script: str) -> None:
    """Let that be the client; it begins in /workspace."""
    body = textwrap.indent(textwrap.dedent(script), "    ")
    folder.hook = f"""
import json, os, socket, time
from hearth_downloads.fetch import client

def write(name, content):
    with open(name, "wb") as file:
        file.write(content)

def run(order):
    os.chdir("/workspace")
{body}
    os._exit(0)

client.run = run
"""


@pytest.fixture
def taken(folder: Folder) -> Folder:
    folder.settings["allow"] = ["data.example"]
    folder.settings["max_bytes"] = 1 << 20
    return folder


def check_nothing_is_kept(folder: Folder) -> None:
    for name in ("objects", "entries", "partial", "jobs"):
        assert folder.names(name) == []


def test_its_file_is_a_file_like_any(taken: Folder) -> None:
    """Without this the tests below would prove nothing."""
    take_over(taken, GOOD)
    got = taken.fetch(URL)
    assert (got.content, got.cached) == (b"evil", False)


@pytest.mark.parametrize(
    "script",
    spread(
        [
            "os.unlink('body'); os.symlink('/etc/passwd', 'body')",
            "os.unlink('body'); os.symlink('{victim}/kept', 'body')",
            "os.unlink('body'); os.symlink('none', 'body')",
            "os.unlink('body'); os.mkfifo('body')",
            "os.unlink('body'); os.mkdir('body')",
            "os.unlink('body'); "
            "s = socket.socket(socket.AF_UNIX); s.bind('body')",
            "os.unlink('body')",
            "os.link('body', 'other')",
            "os.chmod('body', 0)",
        ]
    ),
)
@pytest.mark.parametrize("about", ["", "\nos.chmod('.', 0)"])
def test_what_is_no_plain_file_is_refused(
    taken: Folder, script: str, about: str
) -> None:
    victim = taken.path / "victim"
    victim.mkdir(mode=0o777)
    (victim / "kept").write_text("x")
    before = (victim / "kept").stat()
    take_over(
        taken, textwrap.dedent(GOOD) + script.format(victim=victim) + about
    )
    fault = taken.refuse(URL)
    assert fault.ename == "FetchFailed"
    assert "no plain file" in fault.text
    assert (victim / "kept").stat() == before
    check_nothing_is_kept(taken)
    take_over(taken, GOOD)
    assert taken.fetch(URL).content == b"evil"


@pytest.mark.parametrize(
    "script",
    [
        "write('body', bytes(3 << 20)){end}",
        "write('other', bytes(3 << 20)){end}",
        "for n in range(100): write(str(n), b''){end}",
        "for n in range(200): os.mkdir('d'); os.chdir('d'){end}",
        # A hole takes no room, so it counts at the end alone.
        "os.truncate('body', 3 << 20)",
    ],
)
@pytest.mark.parametrize("end", ["", "\ntime.sleep(600)"])
def test_what_is_too_much_is_refused(
    taken: Folder, script: str, end: str
) -> None:
    """Also while it goes on and on."""
    take_over(taken, textwrap.dedent(GOOD) + script.format(end=end))
    fault = taken.refuse(URL)
    assert fault.ename == "FetchRefused"
    assert "more than profile/python3/fetch/max_bytes" in fault.text
    check_nothing_is_kept(taken)


def test_the_system_bounds_a_file(taken: Folder) -> None:
    """It can be written faster than the worker looks."""
    take_over(
        taken,
        """
        try:
            os.truncate("body", 1 << 40)
        except OSError as error:
            write("report", b'{"fault": {"kind": "status", "reason": "%s"}}'
                  % error.strerror.encode())
        """,
    )
    write = "open('body', 'w').close()\n"
    taken.hook = taken.hook.replace("try:", f"{write}    try:", 1)
    assert "File too large" in taken.refuse(URL).text


@pytest.mark.parametrize(
    "report",
    spread(
        [
            "write('report', b'')",
            "write('report', b'[' * 30000)",
            "write('report', b'[]')",
            "write('report', b'x' * 50000)",
            "write('report', b'{\"ok\": 1}')",
            "write('report', b'{\"ok\": {}}')",
            "write('report', b'{\"ok\": []}')",
            "write('report', b'\\xff')",
            "write('report', b'{\"ok\": {\"status\": 304}}')",
            "write('report', b'{\"fault\": 1}')",
            "write('report', b'{\"fault\": {\"kind\": [1]}}')",
            'write(\'report\', b\'{"fault": {"kind": "none"}}\')',
            "os.unlink('report')",
            "os.unlink('report'); os.symlink('/etc/passwd', 'report')",
            "os.unlink('report'); os.mkfifo('report')",
            "os.unlink('report'); os.mkdir('report')",
            "os.unlink('about')",
            "os.unlink('about'); os.mkfifo('about'); time.sleep(1.5)",
            "write('about', b'[1]')",
            "write('about', b'x' * 20000)",
            "write('about', json.dumps({'etag': 'x\\r\\ny'}).encode())",
            "write('about', json.dumps({'etag': 1}).encode())",
            "write('about', json.dumps({'encoding': '\\x1b[31m'}).encode())",
            "write('about', json.dumps({'modified': 'x' * 100}).encode())",
            "write('about', json.dumps({'source': 'file:///'}).encode())",
            "write('about', json.dumps({'total': 1 << 70}).encode())",
            "write('about', json.dumps({'total': True}).encode())",
            "write('about', json.dumps({'total': '1'}).encode())",
        ]
    ),
)
def test_a_report_that_lies_is_no_report(taken: Folder, report: str) -> None:
    take_over(taken, textwrap.dedent(GOOD) + report)
    fault = taken.refuse(URL)
    assert fault.ename == "FetchFailed"
    assert "report" in fault.text
    check_nothing_is_kept(taken)


def test_a_sentence_of_it_is_harmless(taken: Folder) -> None:
    take_over(
        taken,
        r"""
        write("report", json.dumps({"fault": {"kind": "status",
              "url": "\x1b[31m" + "u" * 900, "reason": "\u202e\n" * 900,
              "size": -7}}).encode())
        """,
    )
    assert taken.refuse(URL).ename == "FetchUnreachable"
    take_over(taken, "os.write(1, b'\\x1b[31m' + b'\\xff' * 5000)")
    assert "without a report" in taken.refuse(URL).text


def test_one_that_says_much_and_does_nothing_is_ended(taken: Folder) -> None:
    take_over(taken, "while True: os.write(1, bytes(4096))")
    assert "sent nothing for 1" in taken.refuse(URL, silence=1).text


def test_it_sees_nothing_of_the_host(taken: Folder) -> None:
    """Nor of the cache, nor a program that it could run."""
    take_over(
        taken,
        """
        seen = []
        for top, folders, files in os.walk("/"):
            folders[:] = [one for one in folders if os.path.join(top, one)
                          not in ("/proc", "/sys", "/dev")]
            seen += [os.path.join(top, one) for one in folders + files]
        write("body", "\\n".join(sorted(seen)).encode())
        write("about", b"{}")
        write("report", b'{"ok": {"status": 200}}')
        """,
    )
    seen = taken.fetch(URL).content.decode().splitlines()
    places = ("/etc", "/usr/share/zoneinfo")
    assert {one for one in seen if not one.startswith(places)} <= {
        *("/dev", "/proc", "/run", "/sys", "/tmp", "/usr", "/usr/share"),
        *("/var", "/var/lib", "/var/tmp", "/workspace"),
    }


def test_its_way_out_leads_to_the_places_alone(
    taken: Folder, server: FakeFiles
) -> None:
    take_over(
        taken,
        f"""
        said = b""
        for line in ("CONNECT 127.0.0.1:{server.port} HTTP/1.1",
                     "GET http://127.0.0.1:{server.port}/ HTTP/1.1",
                     "GET http://data.example/ HTTP/1.1",
                     "CONNECT 169.254.169.254:80 HTTP/1.1"):
            client = socket.create_connection(("127.0.0.1", 3128))
            client.sendall(line.encode() + b"\\r\\n\\r\\n")
            said += client.recv(100)[:13]
        for place in (("127.0.0.1", {server.port}), ("8.8.8.8", 53)):
            try:
                socket.create_connection(place, 1)
                said += b"out"
            except OSError:
                said += b"!"
        write("body", said)
        write("about", b"{{}}")
        write("report", b'{{"ok": {{"status": 200}}}}')
        """,
    )
    assert taken.fetch(URL).content == b"HTTP/1.1 403 " * 4 + b"!!"
    assert server.accepted == 0


def test_it_cannot_change_a_file_after_its_end(taken: Folder) -> None:
    """A process of its own goes on writing, as long as it lives."""
    take_over(
        taken,
        GOOD
        + """
    if os.fork() == 0:
        os.setsid()
        with open("body", "r+b", buffering=0) as file:
            while True:
                file.seek(0)
                file.write(os.urandom(4))
    """,
    )
    got = taken.fetch(URL)  # the driver hashes what it gets
    again = taken.fetch(URL, sha256=got.sha256)
    assert again.content == got.content


def test_it_changes_no_other_url(taken: Folder, server: FakeFiles) -> None:
    """All that it leaves is of its own URL, whatever it says."""
    honest = server.url("/a")
    taken.settings["allow"] = ["data.example", server.place]
    server.put("/a", b"good", etag='"1"')
    taken.fetch(honest)
    lie = json_of(f"http://{server.place}/a")
    hook, taken.hook = taken.hook, ""
    take_over(taken, GOOD + f"\n    write('about', {lie!r})")
    assert taken.fetch(URL).content == b"evil"
    taken.hook = hook
    assert taken.fetch(honest).content == b"good"
    assert taken.fetch(honest, sha256=digest(b"good")).cached
    refused = taken.refuse(honest, sha256=digest(b"evil"))
    assert digest(b"good") in refused.text


def json_of(source: str) -> bytes:
    return f'{{"source": "{source}", "etag": "\\"1\\""}}'.encode()


@pytest.mark.parametrize(
    "name", spread(["lock", "objects", "entries", "partial", "jobs"])
)
@pytest.mark.parametrize("kind", ["link", "dangling", "file", "fifo"])
def test_a_wrong_kind_in_the_work_folder_does_no_harm(
    folder: Folder, server: FakeFiles, name: str, kind: str
) -> None:
    """It is removed, or named in a sentence; no link is followed."""
    victim = folder.path / "victim"
    victim.mkdir()
    (victim / "0").touch()
    path = folder.work / name
    if kind == "link":
        path.symlink_to(victim)
    elif kind == "dangling":
        path.symlink_to(victim / "none")
    elif kind == "file":
        path.touch()
    else:
        os.mkfifo(path)
    if os.geteuid() == 0:
        os.chown(path, USER, USER, follow_symlinks=False)
    server.put("/a", b"one")
    if name == "lock" and kind != "file":
        with pytest.raises(Exception, match=r"FetchFailed.*lock is no file"):
            folder.fetch(server.url("/a"))
        path.unlink()
    assert folder.fetch(server.url("/a")).content == b"one"
    assert os.listdir(victim) == ["0"]
    assert sorted(os.listdir(folder.work)) == FOLDERS


@pytest.mark.parametrize("kind", ["root", "user"])
def test_a_file_of_another_user_is_no_object(
    kind: str, server: FakeFiles
) -> None:
    """Nor is one that could be written to, or has another size."""
    if os.geteuid() != 0:
        pytest.skip("only root makes files of others")
    with open_place() as place:
        folder = Folder(place / "fetch", kind)
        folder.settings["allow"] = [server.place]
        server.put("/a", b"one")
        for change in (
            lambda path: os.chown(path, 12345, 12345),
            lambda path: path.chmod(0o600),
            lambda path: path.write_bytes(b"other"),
            lambda path: os.link(path, place / "second"),
        ):
            got = folder.fetch(server.url("/a"))
            path = Path(folder.work / "objects" / got.sha256)
            change(path)
            again = folder.fetch(server.url("/a"), sha256=got.sha256)
            assert (again.content, again.cached) == (b"one", False)
