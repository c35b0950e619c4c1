"""A gateway for tests: one kernel, its link, its events."""

import os
import select
import signal
import socket
import time

from frames import Decoder, encode

LONG = float(os.environ.get("HEARTH_DEADLINE", "120"))


class Gateway:
    """Speaks to a kernel over its link."""

    def __init__(self, path, pid):
        self.path = path
        self.pid = pid
        self.socket = None
        self.decoder = Decoder()
        self.number = 0
        self.acked = 0
        self.auto_ack = True
        self.welcome = None
        self.ended = False

    def connect(self, acked=None, protocol=1):
        """Connect, or connect again."""
        self.close()
        self.decoder = Decoder()
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.connect(str(self.path))
        hello = {
            "protocol": protocol,
            "acked": self.acked if acked is None else acked,
        }
        self.socket.sendall(encode("HELLO", content=hello))
        self.welcome = self.event()
        assert self.welcome.kind == "WELCOME"
        return self.welcome.content

    def close(self):
        """End the connection."""
        if self.socket is not None:
            self.socket.close()
            self.socket = None

    def ack(self, seq):
        """Acknowledge."""
        self.acked = max(self.acked, seq)
        try:
            self.socket.sendall(encode("ACK", seq=seq))
        except ConnectionError:
            pass  # a kernel that has ended may have left events to be read

    def event(self, timeout=LONG):
        """The next event; EOFError at the end of the connection."""
        deadline = time.monotonic() + timeout
        while True:
            event = self.decoder.next()
            if event is not None:
                if event.seq and self.auto_ack:
                    self.ack(event.seq)
                return event
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.socket], [], [], left)[0]:
                raise TimeoutError("no event came")
            data = self.socket.recv(1 << 20)
            if not data:
                raise EOFError
            self.decoder.bytes += data

    def send(self, kind, content=None, metadata=None, buffers=(), request=None):
        """Send a request; return its number."""
        if request is None:
            self.number += 1
            request = self.number
        self.socket.sendall(
            encode(kind, 0, request, content or {}, metadata, buffers)
        )
        return request

    def execute(self, code, **options):
        """Send a cell; return its number."""
        content = {
            "code": code,
            "silent": False,
            "store_history": True,
            "user_expressions": {},
            "allow_stdin": False,
            "stop_on_error": True,
            **options,
        }
        return self.send("EXECUTE", content)

    def until_reply(self, request, timeout=LONG):
        """All events up to the reply to a request; the reply is the last."""
        events = []
        while not (
            events
            and events[-1].kind == "REPLY"
            and events[-1].request == request
        ):
            events.append(self.event(timeout))
        return events

    def until_silence(self, seconds=1):
        """All events until none comes for a while, at least one."""
        events = [self.event()]
        try:
            while True:
                events.append(self.event(seconds))
        except TimeoutError:
            return events

    def until_printed(self, wanted):
        """All events until the cell has printed that."""
        events = []
        while wanted not in text(events):
            events.append(self.event())
        return events

    def until_end(self):
        """All events until the kernel ends the connection."""
        events = []
        try:
            while True:
                events.append(self.event())
        except (EOFError, ConnectionError):
            return events

    def ask(self, kind, **content):
        """Send a request and return the content of its reply."""
        return self.until_reply(self.send(kind, content))[-1].content

    def run(self, code, **options):
        """Run a cell; return its events, the reply last."""
        return self.until_reply(self.execute(code, **options))

    def value(self, expression):
        """The text of an expression's value."""
        events = self.run(expression)
        assert events[-1].content["status"] == "ok", events[-1].content
        return only(events, "RESULT").content["data"]["text/plain"]

    def interrupt(self):
        """Send what pid 1 would send."""
        os.kill(self.pid, signal.SIGINT)

    def interrupt_until_reply(self, request):
        """Interrupt as the gateway's escalation does: again, if a cell goes on.

        A signal can come while nothing of the cell's runs that it would stop.
        """
        events = []
        deadline = time.monotonic() + LONG
        self.interrupt()
        while time.monotonic() < deadline:
            try:
                events.append(self.event(5))
            except TimeoutError:
                self.interrupt()
                continue
            if events[-1].kind == "REPLY" and events[-1].request == request:
                return events
        raise TimeoutError("no reply to what was interrupted")

    def is_gone(self, timeout=LONG):
        """Whether the process ends within the time."""
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            try:
                with open(f"/proc/{self.pid}/stat", encoding="utf-8") as stat:
                    if stat.read().rsplit(")", 1)[1].split()[0] == "Z":
                        return True
            except (FileNotFoundError, ProcessLookupError):
                return True
            select.select([], [], [], 0.01)
        return False


def only(events, kind):
    """The one event of a kind."""
    found = [event for event in events if event.kind == kind]
    assert len(found) == 1, [event.kind for event in events]
    return found[0]


def kinds(events):
    """The kinds of events in order."""
    return [event.kind for event in events]


def text(events, name="stdout"):
    """The text of a stream."""
    return "".join(
        event.content["text"]
        for event in events
        if event.kind == "STREAM" and event.content["name"] == name
    )
