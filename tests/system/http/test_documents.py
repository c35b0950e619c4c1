"""/api/sessions: a document, its kernel, and what happens to either."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from deadline import DEADLINE, wait_for
from harness import Gateway
from web import Answer, Web

UNKNOWN = "00000000-0000-4000-8000-000000000000"


def begin(web: Web, path: str = "a.ipynb", **kernel: str) -> Answer:
    return web.post(
        "/api/sessions",
        {"path": path, "type": "notebook", "name": path, "kernel": kernel},
    )


def url(model: dict[str, Any]) -> str:
    return f"/api/sessions/{model['id']}"


def kernels(web: Web) -> set[str]:
    return {model["id"] for model in web.get("/api/kernels").json}


@pytest.fixture
def clean(web: Web) -> Iterator[Web]:
    """Each test has a gateway without documents and kernels."""
    yield web
    for model in web.get("/api/sessions").json:
        web.ask("DELETE", url(model))
    for kernel in kernels(web):
        web.delete(kernel)


@pytest.fixture
def document(clean: Web) -> dict[str, Any]:
    answer = begin(clean, name="python3")
    assert answer.status == 201, answer
    found: dict[str, Any] = answer.json
    return found


def same(web: Web, document: dict[str, Any]) -> bool:
    """Nothing but its kernel's clock may have gone on."""
    now = web.get(url(document)).json
    return all(
        now.get(name) == document[name]
        for name in ("id", "path", "name", "type", "notebook")
    ) and bool(now["kernel"]["id"] == document["kernel"]["id"])


@pytest.mark.parametrize(
    ("kernel", "status", "message"),
    [
        ({"id": UNKNOWN}, 400, f"No such kernel: {UNKNOWN}"),
        ({"name": "cobol"}, 501, "The 'cobol' kernel is not available"),
    ],
)
def test_an_impossible_change_changes_nothing(
    clean: Web,
    document: dict[str, Any],
    kernel: dict[str, str],
    status: int,
    message: str,
) -> None:
    body = {"path": "b.ipynb", "name": "b", "type": "console", "kernel": kernel}
    answer = clean.ask("PATCH", url(document), body)
    assert answer.status == status, answer
    assert answer.json["message"].startswith(message)
    assert same(clean, document)
    assert kernels(clean) == {document["kernel"]["id"]}


def test_an_invalid_body_changes_nothing(
    clean: Web, document: dict[str, Any]
) -> None:
    body = {"path": "b.ipynb", "name": 7}
    answer = clean.ask("PATCH", url(document), body)
    assert answer.status == 400, answer
    assert answer.json["message"] == "name must be a text"
    assert same(clean, document)


def test_the_beginning_of_a_kernels_id_is_not_found(
    clean: Web, document: dict[str, Any]
) -> None:
    short = document["kernel"]["id"][:8]
    answer = clean.ask("PATCH", url(document), {"kernel": {"id": short}})
    assert answer.status == 400, answer
    assert begin(clean, "b.ipynb", id=short).status == 400
    assert same(clean, document)


def test_another_kernel_ends_the_old_one(
    clean: Web, document: dict[str, Any]
) -> None:
    body = {"path": "b.ipynb", "kernel": {"name": "python3"}}
    answer = clean.ask("PATCH", url(document), body)
    assert answer.status == 200, answer
    assert answer.json["path"] == "b.ipynb"
    new = answer.json["kernel"]["id"]
    assert new != document["kernel"]["id"]
    wait_for(lambda: kernels(clean) == {new}, "the end of the old kernel")
    gone = clean.get(f"/hearth/sessions/{document['kernel']['id']}")
    assert gone.status == 410
    assert gone.json["reason"] == "deleted"


def test_a_kernel_that_another_document_has_stays(
    clean: Web, document: dict[str, Any]
) -> None:
    old = document["kernel"]["id"]
    other = begin(clean, "other.ipynb", id=old)
    assert other.json["kernel"]["id"] == old
    changed = clean.ask(
        "PATCH", url(document), {"kernel": {"name": "python3"}}
    ).json
    # The end of a kernel would have been ordered before this one's.
    new = changed["kernel"]["id"]
    assert clean.ask("DELETE", url(changed)).status == 204
    assert kernels(clean) == {old}
    assert clean.get(url(other.json)).json["kernel"]["id"] == old
    assert new != old


def test_a_kernel_of_its_own_goes_to_another_document(
    clean: Web, document: dict[str, Any]
) -> None:
    """A kernel that was chosen by its id leaves the old one alone: that may be
    an agent's."""
    other = clean.create()
    body = {"kernel": {"id": other}}
    answer = clean.ask("PATCH", url(document), body)
    assert answer.json["kernel"]["id"] == other
    assert kernels(clean) == {document["kernel"]["id"], other}


def test_a_path_whose_kernel_has_ended_gets_a_new_one(
    clean: Web, document: dict[str, Any]
) -> None:
    for _ in range(2):
        clean.delete(document["kernel"]["id"])
        answer = begin(clean, name="python3")
        assert answer.status == 201, answer
        assert answer.json["kernel"]["id"] != document["kernel"]["id"]
        assert kernels(clean) == {answer.json["kernel"]["id"]}
        listed = clean.get("/api/sessions").json
        assert [m["id"] for m in listed] == [answer.json["id"]]
        document = answer.json


def test_a_document_whose_kernel_has_ended(
    clean: Web, document: dict[str, Any]
) -> None:
    """A new kernel is found for it; without one it is there no more."""
    clean.delete(document["kernel"]["id"])
    body = {"kernel": {"name": "python3"}}
    answer = clean.ask("PATCH", url(document), body)
    assert answer.status == 200, answer
    assert answer.json["id"] == document["id"]
    clean.delete(answer.json["kernel"]["id"])
    answer = clean.ask("PATCH", url(document), {"path": "b.ipynb"})
    assert answer.status == 404, answer
    assert document["id"] in answer.json["message"]
    assert clean.get("/api/sessions").json == []


def test_an_unknown_kernel_name(clean: Web) -> None:
    answer = begin(clean, name="cobol")
    assert answer.status == 501, answer
    assert answer.json["short_message"] == "cobol not found"
    assert "'cobol' kernel is not available" in answer.json["message"]
    assert answer.json["reason"] == "Not Implemented"
    assert clean.get("/api/sessions").json == []


def test_one_path_asked_for_at_once_is_one_document(clean: Web) -> None:
    answers: list[Answer] = []

    def ask() -> None:
        answers.append(begin(clean, name="python3"))

    threads = [threading.Thread(target=ask) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(DEADLINE)
    assert [answer.status for answer in answers] == [201] * 6
    assert len({answer.json["id"] for answer in answers}) == 1
    (kernel,) = {answer.json["kernel"]["id"] for answer in answers}
    wait_for(lambda: kernels(clean) == {kernel}, "one kernel alone")


def test_documents_outlive_the_gateway() -> None:
    gateway = Gateway().start()
    try:
        web = Web.of(gateway)
        document = begin(web, name="python3").json
        clean = {"path": "b.ipynb", "kernel": {"name": "python3"}}
        changed = web.ask("PATCH", url(document), clean).json
        gateway.kill()
        gateway.start()
        web.renew()
        found = web.get(url(document)).json
        assert found["path"] == "b.ipynb"
        assert found["kernel"]["id"] == changed["kernel"]["id"]
        assert web.ask("DELETE", url(document)).status == 204
    finally:
        gateway.end()
