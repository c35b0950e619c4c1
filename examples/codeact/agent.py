"""An agent that acts by writing code: plan, run, observe, repair, answer.

Its loop is CodeAct's: the model writes Python, hearth runs it in a session, and
what the model should read of the result is its next message. The agent's own
functions are called by that code and run here, outside the sandbox: `sales`
has the data, `answer` takes the answer and checks it.

The model is a script, so that this runs anywhere and the same each time. Put
yours in its place: any function from the messages so far to the next text.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional

import hearth

Messages = list[dict[str, str]]
Model = Callable[[Messages], str]

TURNS_MAX = 8
SECONDS_MAX = 20.0  # of one piece of code
SYSTEM = """\
Write Python in one ```python block; it runs in a session that keeps its
variables. `from hearth import tools` has tools.sales(region) and
tools.answer(region, total), which ends the task."""
CODE = re.compile(r"```python\n(.*?)```", re.S)
DATA = {
    "north": [{"month": m, "revenue": 100 + 7 * m} for m in range(1, 13)],
    "south": [{"month": m, "revenue": 160 - 3 * m} for m in range(1, 13)],
}


@dataclass
class Outcome:
    """What came of a task: an answer, or why the agent stopped without one."""

    answer: Optional[dict[str, Any]] = None
    stopped: str = ""
    pictures: list[bytes] = field(default_factory=list)
    messages: Messages = field(default_factory=list)


def solve(task: str, model: Model, session: hearth.Session) -> Outcome:
    """Let the model work until its answer was accepted, or until a limit."""
    outcome = Outcome()

    def sales(region: str) -> list[dict[str, int]]:
        """The revenue of each month in a region."""
        if region not in DATA:
            raise ValueError(f"no region {region!r}; there are {list(DATA)}")
        return DATA[region]

    def answer(region: str, total: int) -> str:
        """Give the answer: a region and its total revenue in a year."""
        if not isinstance(total, int):  # NumPy's numbers come as floats
            raise TypeError(f"total must be an integer, not {total!r}")
        outcome.answer = {"region": region, "total": total}
        return "accepted"

    session.tools.add(sales)
    session.tools.add(answer)
    outcome.messages += [
        {"role": "system", "content": SYSTEM},
        {"role": "user", "content": task},
    ]
    for _ in range(TURNS_MAX):
        text = model(outcome.messages)
        outcome.messages.append({"role": "assistant", "content": text})
        found = CODE.search(text)
        if not found:
            observed = "There is no ```python block in what you wrote."
        else:
            result = session.run(found[1], timeout=SECONDS_MAX)
            if result.status == "lost":  # a model that goes on would guess
                outcome.stopped = result.for_model.text
                return outcome
            outcome.pictures += [i.png for i in result.images if i.png]
            observed = result.for_model.text
        outcome.messages.append({"role": "user", "content": observed})
        if outcome.answer:
            return outcome
    outcome.stopped = f"no answer after {TURNS_MAX} turns"
    return outcome


# ---- the script in the place of a model ----

SCRIPT = [
    "First I look at the data.\n```python\n"
    "import pandas as pd\n"
    "from hearth import tools\n"
    'regions = ["north", "south"]\n'
    "sales = pd.concat([pd.DataFrame(tools.sales(region=r)).assign(region=r)"
    " for r in regions])\nsales.groupby('region')['sum'].sum()\n```",
    "The column is called revenue.\n```python\n"
    "totals = sales.groupby('region')['revenue'].sum()\ntotals\n```",
    "A picture says whether that is a matter of one month.\n```python\n"
    "axes = sales.pivot(index='month', columns='region',"
    " values='revenue').plot(title='Revenue by region');\n```",
    "```python\nbest = totals.idxmax()\n"
    "tools.answer(region=best, total=str(totals[best]))\n```",
    "```python\ntools.answer(region=best, total=int(totals[best]))\n```",
]
SEEN = ["total revenue", "KeyError", "north", "image", "must be an integer"]


def scripted() -> Model:
    """A model that reads what it should have been told before it goes on."""
    turns: Iterator[tuple[str, str]] = iter(zip(SCRIPT, SEEN))

    def model(messages: Messages) -> str:
        text, seen = next(turns)
        if seen not in messages[-1]["content"]:
            raise AssertionError(f"{seen!r} is not in {messages[-1]}")
        return text

    return model


def main(folder: Path) -> int:
    with hearth.session(title="codeact") as session:
        outcome = solve(
            "Which region has the higher total revenue?", scripted(), session
        )
    for message in outcome.messages[1:]:
        print(f"--- {message['role']}\n{message['content']}")
    for number, picture in enumerate(outcome.pictures, 1):
        (folder / f"codeact-{number}.png").write_bytes(picture)
    print(f"--- {outcome.answer or outcome.stopped}")
    return 0 if outcome.answer else 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else ".")))
