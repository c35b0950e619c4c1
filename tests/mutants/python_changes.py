"""The changes of a Python file: each turns around or leaves out one wall.

A comparison, an `and`, a `not`, a flag or a condition is turned around. A
`raise`, a call whose value is not used, and a `return`, `break` or `continue`
in a block are left out.
"""

from __future__ import annotations

import ast
import re
from typing import Iterator, NamedTuple, Union

from changes import Mutant

TURNED = {
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.LtE: ("<=", "<"),
    ast.GtE: (">=", ">"),
    ast.Lt: ("<", "<="),
    ast.Gt: (">", ">="),
    ast.Is: ("is", "is not"),
    ast.IsNot: (r"is\s+not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: (r"not\s+in", "in"),
    ast.And: ("and", "or"),
    ast.Or: ("or", "and"),
}
ENDS = (ast.Return, ast.Break, ast.Continue)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
# What turns as a whole by its own operator.
HAVE_OPERATORS = (ast.Compare, ast.BoolOp, ast.UnaryOp)


class Change(NamedTuple):
    start: int
    end: int
    new: str
    what: str


class Source:
    """A file's text, with the places of its nodes."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = text.split("\n")
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line) + 1)

    def place(self, line: int, column: int) -> int:
        """Return where a character is; ast counts the bytes of a line."""
        before = self.lines[line - 1].encode()[:column].decode()
        return self.starts[line - 1] + len(before)

    def start(self, node: Union[ast.expr, ast.stmt]) -> int:
        return self.place(node.lineno, node.col_offset)

    def end(self, node: Union[ast.expr, ast.stmt]) -> int:
        return self.place(node.end_lineno or 0, node.end_col_offset or 0)

    def between(
        self,
        left: ast.expr,
        right: ast.expr,
        kind: Union[ast.cmpop, ast.boolop],
    ) -> Change:
        """Turn the operator between two of its operands."""
        pattern, new = TURNED[type(kind)]
        start = self.end(left)
        gap = self.text[start : self.start(right)]
        bare = re.sub(r"#[^\n]*", lambda found: " " * len(found[0]), gap)
        found = re.search(pattern, bare)
        assert found, gap
        return Change(
            start + found.start(),
            start + found.end(),
            new,
            f"{found[0]} -> {new}",
        )

    def of_expression(self, node: ast.AST) -> Iterator[Change]:
        if isinstance(node, ast.Compare):
            operands = [node.left, *node.comparators]
            for kind, left, right in zip(node.ops, operands, operands[1:]):
                yield self.between(left, right, kind)
        elif isinstance(node, ast.BoolOp):
            for left, right in zip(node.values, node.values[1:]):
                yield self.between(left, right, node.op)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            start = self.start(node)
            yield Change(start, start + len("not"), "", "not -> nothing")
        elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
            new = str(not node.value)
            what = f"{node.value} -> {new}"
            yield Change(self.start(node), self.end(node), new, what)

    def of_condition(self, node: ast.AST) -> Iterator[Change]:
        if isinstance(node, (ast.If, ast.While, ast.IfExp)) and not isinstance(
            node.test, (ast.Constant, *HAVE_OPERATORS)
        ):
            start, end = self.start(node.test), self.end(node.test)
            new = f"(not ({self.text[start:end]}))"
            yield Change(start, end, new, "condition -> not")

    def of_statement(self, node: ast.AST, is_inner: bool) -> Iterator[Change]:
        is_call = isinstance(node, ast.Expr) and isinstance(
            node.value, ast.Call
        )
        is_end = isinstance(node, ENDS) and is_inner
        if isinstance(node, ast.Raise) or is_call or is_end:
            assert isinstance(node, ast.stmt)
            start, end = self.start(node), self.end(node)
            first = self.text[start:end].split("\n")[0]
            yield Change(start, end, "pass", f"{first} -> pass")

    def of(self, node: ast.AST, parent: ast.AST) -> Iterator[Change]:
        yield from self.of_expression(node)
        yield from self.of_condition(node)
        yield from self.of_statement(node, not isinstance(parent, FUNCTIONS))


def python_mutants(text: str) -> Iterator[Mutant]:
    """Return each change of a file, in the order of their places."""
    source = Source(text)
    changes: list[Change] = []
    waiting: list[ast.AST] = [ast.parse(text)]
    while waiting:
        parent = waiting.pop()
        for node in ast.iter_child_nodes(parent):
            changes += source.of(node, parent)
            waiting.append(node)
    seen: dict[tuple[int, str], int] = {}
    for change in sorted(changes):
        line = text.count("\n", 0, change.start)
        key = (line, change.what)
        seen[key] = seen.get(key, 0) + 1
        again = f" {seen[key]}" if seen[key] > 1 else ""
        yield Mutant(
            line + 1,
            source.lines[line].strip(),
            change.what + again,
            text[: change.start] + change.new + text[change.end :],
        )
