"""Every answer that a test gets is held against /api/spec.yaml: a status that
the document does not name for the route fails, and so does a body, a header or
a query that it does not describe."""

from __future__ import annotations

import http.client
import io
import json
import posixpath
import re
from functools import lru_cache
from typing import Any, Optional, Protocol
from urllib.parse import parse_qsl, unquote, urlsplit

import jsonschema

Json = dict[str, Any]
# The statuses of a request that leads to no operation, by any server on the
# way.
ELSEWHERE = (400, 401, 403, 404, 413, 501, 503)
# Of any route: the token in the query, and as forms have it.
COMMON_QUERY = {"token", "_xsrf"}


class Answered(Protocol):
    status: int
    headers: http.client.HTTPMessage
    body: bytes


class Contract:
    def __init__(self, document: Json) -> None:
        self.document = document
        self.strict = {
            "components": {"schemas": close(document["components"]["schemas"])}
        }
        self.paths = [
            (re.compile(pattern_of(path)), path)
            for path in sorted(document["paths"], key=lambda p: p.count("{"))
        ]
        self.seen: set[tuple[str, str, int]] = set()

    def find(self, target: str) -> Optional[str]:
        """The path of the document that a request's leads to."""
        path = unquote(urlsplit(target).path, errors="surrogateescape")
        path = posixpath.normpath(re.sub("/+", "/", path)) or "/"
        for pattern, found in self.paths:
            if pattern.fullmatch(path):
                return found
        return None

    def resolve(self, value: Json) -> Json:
        while "$ref" in value:
            at: Any = self.document
            for part in value["$ref"].split("/")[1:]:
                at = at[part]
            value = at
        return value

    def check(
        self, method: str, target: str, sent: Any, answer: Answered
    ) -> None:
        """`target` begins at the base URL, `sent` is the body's JSON."""
        path = self.find(target)
        item = self.document["paths"][path] if path else {}
        word = "get" if method == "HEAD" else method.lower()
        what = f"{method} {target} -> {answer.status} {answer.body[:400]!r}"
        if word in item:
            self.check_operation(item[word], target, sent, answer, what, method)
            self.seen.add((word, str(path), answer.status))
        elif method == "OPTIONS" and item and answer.status == 200:
            allowed = {name.upper() for name in item} | {"OPTIONS"}
            allowed |= {"HEAD"} & {n.replace("GET", "HEAD") for n in allowed}
            assert set(answer.headers["Allow"].split(", ")) == allowed, what
            assert not answer.body, what
        else:
            wanted = (*ELSEWHERE, 405) if item or not known(word) else ELSEWHERE
            assert answer.status in wanted, what
            response = self.document["components"]["responses"]
            self.check_response(
                response[str(answer.status)], answer, what, method
            )

    def check_operation(
        self,
        operation: Json,
        target: str,
        sent: Any,
        answer: Answered,
        what: str,
        method: str,
    ) -> None:
        assert str(answer.status) in operation["responses"], what
        response = operation["responses"][str(answer.status)]
        self.check_response(response, answer, what, method)
        if answer.status < 300:
            self.check_query(operation, target, what)
            self.check_sent(operation, sent, what)

    def check_query(self, operation: Json, target: str, what: str) -> None:
        reported = {
            given["name"]
            for given in map(self.resolve, operation["parameters"])
            if given["in"] == "query"
        }
        asked = parse_qsl(urlsplit(target).query, keep_blank_values=True)
        for name, _ in asked:  # a number makes a URL a new one
            assert name in reported | COMMON_QUERY or name.isdigit(), what

    def check_sent(self, operation: Json, sent: Any, what: str) -> None:
        if sent in (None, {}):
            return
        content = operation["requestBody"]["content"]
        schema = content["application/json"]["schema"]
        validate(
            {
                **translate(schema),
                "components": translate(self.document["components"]),
            },
            sent,
            what,
        )

    def check_response(
        self, response: Json, answer: Answered, what: str, method: str
    ) -> None:
        response = self.resolve(response)
        for name, header in response.get("headers", {}).items():
            if self.resolve(header).get("required"):
                assert name in answer.headers, f"{name}: {what}"
        kind = (answer.headers["Content-Type"] or "").partition(";")[0]
        content = response.get("content", {})
        if method == "HEAD" or not content:
            assert not answer.body, what
            return
        assert kind in content or "*/*" in content, f"{kind}: {what}"
        schema = content.get(kind, content.get("*/*"))["schema"]
        texts = []
        if kind == "application/json" and kind in content:
            texts = [answer.body]
        elif kind == "application/x-ndjson":
            texts = [line for line in answer.body.splitlines() if line]
        closed = {**close(schema), **self.strict}
        for text in texts:
            validate(closed, json.loads(text), what)


def known(method: str) -> bool:
    return method in ("get", "post", "put", "patch", "delete", "options")


def pattern_of(path: str) -> str:
    parts = re.split(r"(\{\w+\})", path)
    return "".join(
        (".*" if part == "{path}" else "[^/]+")
        if part.startswith("{")
        else re.escape(part)
        for part in parts
    )


def translate(schema: Any) -> Any:
    """OpenAPI's `nullable` as JSON Schema says it."""
    if isinstance(schema, list):
        return [translate(entry) for entry in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: translate(value) for key, value in schema.items()}
    if made.pop("nullable", None) is True:
        return {"anyOf": [{"type": "null"}, made]}
    return made


def close(schema: Any) -> Any:
    """An object has no members but those that are named."""
    made = translate(schema)

    def walk(value: Any) -> None:
        if isinstance(value, dict):
            if isinstance(value.get("properties"), dict) and (
                value.get("type") == "object"
            ):
                value.setdefault("additionalProperties", False)
            for inner in value.values():
                walk(inner)
        elif isinstance(value, list):
            for inner in value:
                walk(inner)

    walk(made)
    return made


@lru_cache(maxsize=256)
def validator(text: str) -> jsonschema.Draft7Validator:
    return jsonschema.Draft7Validator(
        json.loads(text), format_checker=jsonschema.FormatChecker()
    )


def validate(schema: Json, value: Any, what: str) -> None:
    wrong = next(
        validator(json.dumps(schema, sort_keys=True)).iter_errors(value), None
    )
    assert wrong is None, f"{what}: {wrong}"


CONTRACTS: list[Contract] = []


def learn(
    connection: http.client.HTTPConnection, base: str, token: Optional[str]
) -> None:
    """Read the description of the first gateway: all are of one build."""
    if CONTRACTS:
        return
    sent = {"Authorization": f"token {token}"} if token else {}
    try:
        connection.request("GET", f"{base}api/spec.yaml", headers=sent)
        document = json.loads(connection.getresponse().read())
    finally:
        connection.close()
    CONTRACTS.append(Contract(document))


def check(method: str, target: str, sent: Any, answer: Answered) -> None:
    (found,) = CONTRACTS
    found.check(method, target, sent, answer)


class Read:
    """An answer out of the bytes that came."""

    def __init__(self, data: bytes) -> None:
        head, _, rest = data.partition(b"\r\n\r\n")
        line, _, lines = head.partition(b"\r\n")
        self.status = int(line.split()[1])
        self.headers = http.client.parse_headers(
            io.BytesIO(lines + b"\r\n\r\n")
        )
        self.body = rest
        length = self.headers["Content-Length"]
        self.is_whole = length is not None and len(rest) >= int(length)
        if self.is_whole:
            self.body = rest[: int(length)]
