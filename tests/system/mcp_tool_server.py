"""A server of the Model Context Protocol over standard input and output, with
tools that behave and tools that do not. The first word says how it is."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

Json = dict[str, Any]
SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
    "required": ["a", "b"],
}
GOOD = ["add", "key", "text", "picture", "refuse", "die", "hang", "long"]
BEGIN = b'{"result":{"content":[{"type":"text","text":'
END = b'}]},"jsonrpc":"2.0","id":ID}'
# Answers that cannot be read; ID is that of the request.
UNREAD = {
    "half": BEGIN + rb'"cut \ud83d"' + END,
    "nan": BEGIN + b'"x"}],"structuredContent":{"x":NaN},"y":[{"id":"0"' + END,
    "latin": BEGIN + b'"\xe9 \\" {"' + END,
    "deep": BEGIN + b"[" * 500 + b"]" * 500 + END,
    "digits": BEGIN + b"9" * 5000 + END,
    "cut": b'{"jsonrpc": "2.0", "id": ID, "result": {"content": [{"ty',
}


# What a client says of itself, what it answers and what it cancels.
heard: list[Json] = []


def say(message: Json) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def say_unread(name: str, number: int) -> None:
    """Say what cannot be read: an answer, or other lines."""
    lines = {
        **UNREAD,
        "logs": b"ID\n"
        b'{"jsonrpc": NaN, "id": 0}\n{"id": ID, "level": Infinity}\n'
        b'{"jsonrpc":"2.0","id":ID,"method":"no/such","params":[NaN]}\n'
        b'log: {"jsonrpc":"2.0","id":ID,"result":}',
    }
    line = lines[name].replace(b"ID", str(number).encode())
    sys.stdout.buffer.write(line + b"\n")
    sys.stdout.buffer.flush()


def tools(kind: str) -> list[Json]:
    names = GOOD
    if kind == "many":
        names = [f"tool{i}" for i in range(10000)]
    elif kind == "asks":
        names = ["hang", "heard"]
    elif kind == "unread":
        names = ["add", "logs", *UNREAD]
    elif kind == "names":
        names = ["add", "\x1b[31mred", "x" * 129, "", "a b", "nul\0"]
    return [
        {"name": name, "description": f"It is {name}.", "inputSchema": SCHEMA}
        for name in names
    ]


def page(kind: str, cursor: str) -> Json:
    """Two pages; `endless` has one after each."""
    known = tools(kind)
    at = int(cursor or "0")
    size = (len(known) + 1) // 2
    found: Json = {"tools": known[at : at + size]}
    if kind == "endless":
        found["nextCursor"] = "0"
    elif at + size < len(known):
        found["nextCursor"] = str(at + size)
    return found


def call(name: str, arguments: Json) -> Json:
    if name == "add":
        total = arguments["a"] + arguments["b"]
        return {"content": [], "structuredContent": {"sum": total}}
    if name == "key":
        text = "set" if os.environ.get("THE_KEY") == "s3cret" else "not set"
        return {"content": [{"type": "text", "text": text}]}
    if name == "text":
        return {
            "content": [
                {"type": "text", "text": "one"},
                {"type": "text", "text": "two \u001b[31m \U0001f600"},
            ]
        }
    if name == "heard":
        return {"content": [{"type": "text", "text": json.dumps(heard)}]}
    if name == "picture":
        return {"content": [{"type": "image", "data": "AAAA"}]}
    if name == "refuse":
        text = "the city is not known"
        return {"isError": True, "content": [{"type": "text", "text": text}]}
    if name == "long":
        text = "é" * 100000
        return {"isError": True, "content": [{"type": "text", "text": text}]}
    if name == "die":
        os._exit(3)
    raise KeyError(name)


def serve(kind: str) -> None:
    if kind == "garbage":
        print("\x00\xff not JSON [1,2")
        print('{"jsonrpc": "2.0", "id": 77, "result": {}}')
        print('{"jsonrpc": "2.0", "id": "p", "method": "ping"}', flush=True)
    if kind == "asks":
        say({"id": "p", "method": "ping"})
        say({"id": 7, "method": "no/such"})
    for line in sys.stdin:
        if kind == "mute":
            continue
        message = json.loads(line)
        method, params = message.get("method"), message.get("params", {})
        if method in (None, "initialize", "notifications/cancelled"):
            heard.append(message)
        if "id" not in message or method is None:
            continue
        if kind == "refusing":
            error = {"code": -1, "message": "no \x1b[31mlicence"}
            say({"id": message["id"], "error": error})
            continue
        if method == "initialize":
            found: Json = {
                "protocolVersion": params["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "test", "version": "1"},
            }
        elif method == "tools/list" and kind == "unlisted":
            say_unread("half", message["id"])
            continue
        elif method == "tools/list":
            found = page(kind, params.get("cursor", ""))
        elif params["name"] == "hang":
            continue
        elif params["name"] in UNREAD:
            say_unread(params["name"], message["id"])
            continue
        elif params["name"] == "logs":
            say_unread("logs", message["id"])
            found = call("add", params["arguments"])
        else:
            found = call(params["name"], params["arguments"])
        say({"id": message["id"], "result": found})


serve(sys.argv[1] if len(sys.argv) > 1 else "good")
