"""A session's client, who waits for whole turns."""

from __future__ import annotations

import time
from queue import Empty
from typing import Any, Callable, Optional

from deadline import DEADLINE
from jupyter_client.blocking.client import BlockingKernelClient

Message = dict[str, Any]


def execute_content(code: str) -> Message:
    """Return the content of an execute_request, as most clients write it."""
    return {
        "code": code,
        "silent": False,
        "store_history": True,
        "user_expressions": {},
        "allow_stdin": False,
        "stop_on_error": True,
    }


class Turn:
    """One request, with all that belongs to it."""

    def __init__(self, reply: Message, messages: list[Message]) -> None:
        self.reply = reply
        self.content: dict[str, Any] = reply["content"]
        self.messages = messages

    @property
    def status(self) -> str:
        return self.content["status"]

    @property
    def types(self) -> list[str]:
        """In their order; output of one stream that came in pieces, as it
        may on a machine with much to do, counts once."""
        found: list[tuple[str, Optional[str]]] = []
        for message in self.messages:
            name = message["content"].get("name")
            kind = (message["msg_type"], name)
            if kind[0] != "stream" or found[-1:] != [kind]:
                found.append(kind)
        return [msg_type for msg_type, _ in found]

    def contents(self, msg_type: str) -> list[dict[str, Any]]:
        return [
            message["content"]
            for message in self.messages
            if message["msg_type"] == msg_type
        ]

    def stream(self, name: str = "stdout") -> str:
        return "".join(
            content["text"]
            for content in self.contents("stream")
            if content["name"] == name
        )

    @property
    def result(self) -> Optional[str]:
        results = self.contents("execute_result")
        return results[-1]["data"]["text/plain"] if results else None


class Client:
    """jupyter_client's own client, and a way to wait for whole turns."""

    def __init__(self, connection_file: str) -> None:
        self.kc = BlockingKernelClient(connection_file=connection_file)
        self.kc.load_connection_file()
        self.kc.start_channels()
        self.others: list[Message] = []

    def close(self) -> None:
        self.kc.stop_channels()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def wait_ready(self) -> Client:
        """Until the kernel answers and iopub reaches this client, with nothing
        of that left to be read. (wait_for_ready asks again when an answer
        takes long, and leaves the answers to all but one in the test's way.)
        """
        self.subscribed()
        self.finish(self.kc.kernel_info())
        self.others.clear()
        return self

    def subscribed(self) -> Client:
        """Until iopub surely reaches this client; no kernel needed."""
        self.iopub(DEADLINE, lambda message: True)
        return self

    def iopub(
        self, timeout: float, wanted: Callable[[Message], bool]
    ) -> Message:
        end = time.monotonic() + timeout
        while True:
            message = self.kc.get_iopub_msg(
                timeout=max(0.0, end - time.monotonic())
            )
            if wanted(message):
                return message
            self.others.append(message)

    def stream_until(self, msg_id: str, text: str) -> list[Message]:
        """The iopub messages of a request until its output has the text."""
        messages: list[Message] = []
        seen = ""
        while text not in seen:
            message = self.iopub(DEADLINE, lambda m: parent_of(m) == msg_id)
            messages.append(message)
            if message["msg_type"] == "stream":
                seen += message["content"]["text"]
        return messages

    def finish(
        self,
        msg_id: str,
        timeout: float = DEADLINE,
        channel: str = "shell",
        begun: Optional[list[Message]] = None,
    ) -> Turn:
        """The reply and all messages until idle, in any order."""
        end = time.monotonic() + timeout
        messages = self.until_idle(msg_id, timeout, begun)
        left = max(0.0, end - time.monotonic())
        return Turn(self.reply(msg_id, left + 1, channel), messages)

    def until_idle(
        self,
        msg_id: str,
        timeout: float,
        begun: Optional[list[Message]] = None,
    ) -> list[Message]:
        """The iopub messages of a request up to its idle."""
        end = time.monotonic() + timeout
        messages = list(begun or [])

        def left() -> float:
            return max(0.0, end - time.monotonic())

        try:
            while not is_idle(messages, msg_id):
                message = self.kc.get_iopub_msg(timeout=left())
                if parent_of(message) == msg_id:
                    messages.append(message)
                else:
                    self.others.append(message)
        except Empty:
            types = [message["msg_type"] for message in messages]
            raise AssertionError(
                f"no idle within {timeout:g} s after {types[-20:]}"
            ) from None
        return messages

    def reply(
        self, msg_id: str, timeout: float = DEADLINE, channel: str = "shell"
    ) -> Message:
        end = time.monotonic() + timeout
        get = getattr(self.kc, f"get_{channel}_msg")
        while True:
            try:
                message = get(timeout=max(0.0, end - time.monotonic()))
            except Empty:
                raise AssertionError(
                    f"no reply on {channel} within {timeout:g} s"
                ) from None
            if parent_of(message) == msg_id:
                return message

    def run(self, code: str, timeout: float = DEADLINE, **options: Any) -> Turn:
        options.setdefault("allow_stdin", False)
        return self.finish(self.kc.execute(code, **options), timeout)

    def begin_long(self) -> tuple[str, list[Message]]:
        """A cell that does not end by itself: its id, and what came of it by
        the time that it runs."""
        msg_id = self.kc.execute("print('go')\nimport time; time.sleep(600)")
        return msg_id, self.stream_until(msg_id, "go")

    def value(self, expression: str) -> Any:
        """An expression's value, by way of its repr."""
        import ast

        turn = self.run(expression)
        assert turn.status == "ok", turn.content
        assert turn.result is not None
        return ast.literal_eval(turn.result)

    def last_words(self, code: str) -> str:
        """Return the error of a cell that its kernel does not survive."""
        turn = self.run(code)
        assert turn.content["ename"] == "KernelDied", turn.content
        evalue: str = turn.content["evalue"]
        return evalue

    def send(
        self,
        channel: str,
        msg_type: str,
        content: Optional[dict[str, Any]] = None,
        metadata: Optional[dict[str, Any]] = None,
    ) -> str:
        message = self.kc.session.msg(
            msg_type, content or {}, metadata=metadata
        )
        getattr(self.kc, f"{channel}_channel").send(message)
        return message["header"]["msg_id"]

    def ask(
        self,
        channel: str,
        msg_type: str,
        content: Optional[dict[str, Any]] = None,
        metadata: Optional[dict[str, Any]] = None,
    ) -> Turn:
        msg_id = self.send(channel, msg_type, content, metadata)
        return self.finish(msg_id, channel=channel)

    def ask_comm(self, comm_id: str, data: dict[str, Any]) -> Turn:
        """A comm message as a front end's widget sends it; it has no reply."""
        msg_id = self.send(
            "shell", "comm_msg", {"comm_id": comm_id, "data": data}
        )
        return Turn({"content": {}}, self.until_idle(msg_id, DEADLINE))

    def is_silent(self, seconds: float = 0.3) -> bool:
        """Nothing at all comes on iopub."""
        try:
            self.others.append(self.kc.get_iopub_msg(timeout=seconds))
        except Empty:
            return True
        return False


def parent_of(message: Message) -> Optional[str]:
    return message["parent_header"].get("msg_id")


def is_idle(messages: list[Message], msg_id: str) -> bool:
    return any(
        message["msg_type"] == "status"
        and message["content"]["execution_state"] == "idle"
        and parent_of(message) == msg_id
        for message in messages[-1:]
    )
