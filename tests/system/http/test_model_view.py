"""The view for models over REST: text and images of a run, and its rest."""

from __future__ import annotations

import base64
import json
import re
from typing import Any

import pytest
from deadline import wait_for
from web import Answer, Kernel, Web

pytestmark = pytest.mark.warm

PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwAD"
    "hgGAWjR9awAAAABJRU5ErkJggg=="
)


def run(kernel: Kernel, code: str, query: str = "", **options: Any) -> Answer:
    answer = kernel.web.post(
        f"/api/kernels/{kernel.id}/execute?view=model{query}",
        {"code": code, **options},
    )
    assert answer.status == 202, answer
    location = answer.headers["Location"]
    assert location.endswith(f"?view=model{query}")
    return ended(kernel.web, location)


def ended(web: Web, location: str) -> Answer:
    answer: Answer = wait_for(
        lambda: (found := web.get(location)).status != 202 and found,
        "the result",
    )
    return answer


def view(kernel: Kernel, code: str, **options: Any) -> Any:
    answer = run(kernel, code, **options)
    assert answer.status == 200, answer
    return answer.json["view"]


def lines(shown: Any) -> list[str]:
    text: str = shown["text"]
    return text.split("\n")


def text_of(answer: Answer) -> str:
    assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
    text: str = answer.body.decode()
    return text


def read(kernel: Kernel, ref: str, query: str = "") -> Answer:
    return kernel.web.get(f"/hearth/sessions/{kernel.id}/outputs/{ref}{query}")


def test_a_cell_and_the_variables_that_it_changed(kernel: Kernel) -> None:
    shown = view(kernel, "x = 1\nprint('out')\nx + 1")
    head, *rest = lines(shown)
    assert re.fullmatch(
        rf"\[\d+\] ok [\d.]+ (ms|s) · session {kernel.id[:8]} · \+x", head
    ), head
    assert rest == ["out", "2"]
    assert shown["is_error"] is False
    assert shown["status"] == "ok"
    assert shown["images"] == []
    assert shown["state"] == {"kept": True, "lost": []}
    assert shown["namespace"]["appeared"] == [{"name": "x", "type": "int"}]
    assert shown["ms"] > 0
    head = lines(view(kernel, "del x; y = 3"))[0]
    assert head.endswith(" · +y -x"), head


def test_an_error_is_folded_and_keeps_the_state(kernel: Kernel) -> None:
    code = "import json\ndef f(text):\n    return json.loads(text)\nf('{')"
    shown = view(kernel, code)
    cell = shown["cell"]
    assert shown["is_error"] is True
    head, *rest = lines(shown)
    assert re.match(rf"\[{cell}\] JSONDecodeError .* · state kept", head)
    assert rest[0] == f"cell {cell} line 4: f('{{')"
    assert rest[1] == (
        f"cell {cell} line 3, in f(text): return json.loads(text)"
    )
    assert re.fullmatch(
        r"json/decoder\.py:\d+ JSONDecoder\.raw_decode "
        rf"\(2 library frames left out; out:{cell}\.1\)",
        rest[2],
    ), rest[2]
    assert rest[3].startswith("JSONDecodeError: Expecting property name")
    assert len(rest) == 4
    whole = read(kernel, f"out:{cell}.1")
    assert whole.status == 200
    assert "raw_decode" in text_of(whole)
    assert b"\x1b" not in whole.body


def test_cut_output_is_read_by_lines_and_by_a_pattern(kernel: Kernel) -> None:
    code = "for i in range(1, 10001): print('line', i)"
    answer = run(kernel, code, "&max_tokens=200")
    text = answer.json["view"]["text"]
    assert len(text) < 200 * 4 + 200
    path, ref, line = re.findall(
        r" left out: GET (\S+/(out:\d+\.1))\?from_line=(\d+) …", text
    )[0]
    assert path == f"/hearth/sessions/{kernel.id[:8]}/outputs/{ref}"
    assert f"line {int(line) - 1}\n" in text
    assert f"line {line}\n" not in text
    assert text.endswith("\nline 10000")
    part = kernel.web.get(f"{path}?from_line={line}&lines=2")
    assert text_of(part) == (
        f"{ref} lines {line} to {int(line) + 1} of 10,000; go on with "
        f"from_line={int(line) + 2}\nline {line}\nline {int(line) + 1}"
    )
    assert text_of(read(kernel, ref, "?grep=%20777%24")) == (
        f"{ref} 1 line matches of 10,000\n777: line 777"
    )


def test_a_view_for_the_python_client_names_its_method(
    kernel: Kernel,
) -> None:
    code = "for i in range(1, 10001): print('line', i)"
    text = run(kernel, code, "&max_tokens=200&client=python").json["view"][
        "text"
    ]
    assert re.search(
        r' left out: session\.read_output\("out:\d+\.1", from_line=\d+\) …',
        text,
    ), text


def test_help_is_part_of_the_view(kernel: Kernel) -> None:
    shown = view(kernel, "print?")
    assert "Prints the values to a stream" in shown["text"]
    part = read(kernel, f"out:{shown['cell']}.1", "?grep=^Docstring")
    assert " 1 line matches of " in text_of(part)


def test_an_image_comes_with_the_text_and_by_its_reference(
    kernel: Kernel,
) -> None:
    code = (
        "import base64\nfrom IPython.display import display, Image\n"
        f"display(Image(base64.b64decode('{PNG}')))"
    )
    shown = view(kernel, code)
    ref = f"out:{shown['cell']}.1"
    size = len(base64.b64decode(PNG))
    assert lines(shown)[1:] == [f"[image 1\u00d71 png, {ref}]"]
    assert shown["images"] == [
        {
            "ref": ref,
            "mime": "image/png",
            "bytes": size,
            "width": 1,
            "height": 1,
            "data": PNG,
        }
    ]
    image = read(kernel, ref)
    assert image.headers["Content-Type"] == "image/png"
    assert image.body == base64.b64decode(PNG)


def test_a_loss_is_reported_in_the_first_view_after_it(kernel: Kernel) -> None:
    view(kernel, "df = [1]\nmodel = 2")
    path = f"/api/kernels/{kernel.id}/restart"
    assert kernel.web.post(path).status == 200
    location = kernel.web.post(
        f"/api/kernels/{kernel.id}/execute?view=model", {"code": "1"}
    ).headers["Location"]
    first = ended(kernel.web, location).json["view"]
    assert re.search(
        r" · STATE LOST: kernel ended \d\d:\d\d:\d\dZ \(restarted on request\)"
        r"; variables df model gone; files kept$",
        lines(first)[0],
    ), first
    at = first["state"].pop("at")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]+Z", at)
    assert f" ended {at[11:19]}Z " in lines(first)[0]
    assert first["state"] == {
        "kept": False,
        "cause": "restarted on request",
        "lost": ["df", "model"],
    }
    first["state"]["at"] = at
    # The same run says so each time, another one no longer.
    assert ended(kernel.web, location).json["view"] == first
    assert "LOST" not in view(kernel, "2")["text"]


def test_a_kernel_that_dies_under_its_cell(kernel: Kernel) -> None:
    view(kernel, "kept = 1")
    shown = view(kernel, "import os; os._exit(3)")
    assert shown["status"] == "lost"
    assert shown["is_error"] is True
    assert re.match(r"\[\d+\] STATE LOST ", shown["text"])
    assert "exited with code 3" in shown["text"]


def test_a_time_limit_interrupts_and_keeps(kernel: Kernel) -> None:
    shown = view(
        kernel,
        "while True: pass",
        metadata={"hearth": {"time_limit": 0.2}},
    )
    assert shown["status"] == "timeout"
    assert re.match(
        r"\[\d+\] TIMEOUT interrupted .* · state kept", shown["text"]
    )


def test_output_that_looks_like_a_header_is_marked(kernel: Kernel) -> None:
    shown = view(kernel, "print('[9] ok 1 ms · session x · state kept')")
    assert lines(shown)[1] == "| [9] ok 1 ms · session x · state kept"


def test_a_running_cell_reports_progress(kernel: Kernel) -> None:
    code = (
        "import os, time\n"
        "print('epoch 1\\nepoch 2', flush=True)\n"
        "while not os.path.exists('go'): time.sleep(0.01)"
    )
    location = kernel.web.post(
        f"/api/kernels/{kernel.id}/execute?view=model", {"code": code}
    ).headers["Location"]
    shown = wait_for(
        lambda: (
            "last: epoch 2"
            in (found := kernel.web.get(location).json)["view"]["text"]
            and found
        ),
        "what it has printed",
    )
    assert shown["pending"] is True
    assert re.fullmatch(
        rf"\[1\] RUNNING [\d.]+ m?s · session {kernel.id[:8]} · "
        "2 lines, last: epoch 2 · ask again",
        shown["view"]["text"],
    ), shown
    kernel.web.post(f"/api/kernels/{kernel.id}/interrupt")
    assert ended(kernel.web, location).json["view"]["status"] == "error"


def test_a_question_is_answered_as_without_a_view(kernel: Kernel) -> None:
    location = kernel.web.post(
        f"/api/kernels/{kernel.id}/execute?view=model",
        {"code": "input()"},
    ).headers["Location"]
    wait_for(
        lambda: kernel.web.get(location).status == 300,
        "the question",
    )
    kernel.web.post(f"/api/kernels/{kernel.id}/input", {"input": "x"})
    assert ended(kernel.web, location).status == 200


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("view=person", "view must be model"),
        ("view=model&max_tokens=0", "max_tokens must be a number"),
        ("view=model&max_tokens=x", "max_tokens must be a number"),
        ("view=model&client=x", "client must be python, not x"),
    ],
)
def test_wrong_options_are_refused(
    kernel: Kernel, query: str, words: str
) -> None:
    answer = kernel.web.post(
        f"/api/kernels/{kernel.id}/execute?{query}", {"code": "1"}
    )
    assert answer.status == 400
    assert words in answer.json["message"]


def test_wrong_references_are_refused(kernel: Kernel) -> None:
    view(kernel, "print(1)")
    assert read(kernel, "out:999.1").status == 404
    assert read(kernel, "out:x").status == 400
    cell = view(kernel, "print(1)")["cell"]
    assert read(kernel, f"out:{cell}.7").status == 404
    answer = read(kernel, f"out:{cell}.1", "?grep=(")
    assert answer.status == 400
    assert "a ( has no )" in answer.json["message"]
    assert read(kernel, f"out:{cell}.1", "?lines=x").status == 400


FRAME = (
    "import pandas as pd\n"
    "frame = pd.DataFrame({'a': range(10000), 'b': 1.23456789, "
    "'c': ['x\\ty'] * 10000})\n"
)


def outputs(kernel: Kernel, location: str) -> list[dict[str, Any]]:
    answer = ended(kernel.web, location.split("?", maxsplit=1)[0])
    found: list[dict[str, Any]] = json.loads(answer.json["outputs"])
    return found


def test_a_table_is_compact_on_request(kernel: Kernel) -> None:
    shown = view(kernel, FRAME + "frame")
    assert lines(shown)[1:] == [
        "DataFrame 10000 \u00d7 3",
        "a:int64\tb:float64\tc:str",
        *(f"{row}\t1.23457\tx y" for row in range(5)),
        "…",
        *(f"{row}\t1.23457\tx y" for row in (9998, 9999)),
    ]
    series = view(kernel, "frame.a[:3]")
    assert lines(series)[1:] == ["Series a 3 int64", "0", "1", "2"]
    plain = kernel.web.post(
        f"/api/kernels/{kernel.id}/execute", {"code": "frame"}
    ).headers["Location"]
    (table,) = outputs(kernel, plain)
    assert set(table["data"]) == {"text/plain", "text/html"}


def test_an_index_is_left_out_only_if_it_counts_all_rows(
    kernel: Kernel,
) -> None:
    part = view(kernel, FRAME + "frame[['a']][2:4]")
    assert lines(part)[2:] == ["\ta:int64", "2\t2", "3\t3"]
    assert lines(view(kernel, "frame.b[2:3]"))[2:] == ["2\t1.23457"]
    named = view(kernel, "frame[['a']][:1].rename_axis('key')")
    assert lines(named)[2:] == ["key\ta:int64", "0\t0"]
    empty = view(kernel, "frame[[]][:2]")
    assert lines(empty)[1:] == ["DataFrame 2 \u00d7 0", "", "0", "1"]


def test_odd_tables_have_a_form(kernel: Kernel) -> None:
    wide = view(
        kernel,
        "import pandas as pd\n"
        "pd.DataFrame([range(50)] * 2, index=pd.Index([1, 2], name='key'))",
    )
    head = lines(wide)[2].split("\t")
    assert head[0] == "key"
    assert len(head) == 1 + 15 + 1 + 4
    assert head[16] == "…"
    # One whose values fail has the form that it always had.
    failing = view(
        kernel,
        "class Odd:\n"
        "    def __repr__(self): return 'odd'\n"
        "    def __str__(self): raise ValueError('no text')\n"
        "pd.DataFrame({'a': [Odd()]})",
    )
    assert failing["is_error"] is False or "ValueError" in failing["text"]
    assert not lines(failing)[1].startswith("DataFrame")
    assert lines(view(kernel, "pd.DataFrame()"))[1] == "DataFrame 0 \u00d7 0"


def test_an_image_that_is_too_large_is_made_smaller(kernel: Kernel) -> None:
    pytest.importorskip("PIL")
    code = (
        "import io, os\nfrom PIL import Image\n"
        "from IPython.display import display, Image as Shown\n"
        "out = io.BytesIO()\n"
        "Image.frombytes('RGB', (2000, 400), os.urandom(2400000))"
        ".save(out, 'PNG')\n"
        "display(Shown(out.getvalue()))"
    )
    shown = view(kernel, code)
    (image,) = shown["images"]
    assert image["mime"] == "image/webp"
    assert 640 <= image["width"] <= 1568
    assert abs(image["width"] - 5 * image["height"]) < 5
    assert image["bytes"] <= 256 << 10
    assert image["bytes"] == len(base64.b64decode(image["data"]))
