"""A profile's rules for cells, checked in the syntax tree before they run.

This is advice for the author of the code, mostly a model: it reports early,
with a line, code that would fail or is not wanted here. Code that wants to get
around it can do so; the sandbox is what holds.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Iterator
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, Callable, Optional

_SHOWN = 20  # names in a message
_DEPTH = 8  # code in strings in code
_SHELL = ("system", "getoutput", "run_line_magic", "run_cell_magic")
_IMPORTERS = {"__import__", "builtins.__import__", "importlib.import_module"}
_RUNNERS = {"exec", "eval", "compile", "builtins.exec", "builtins.eval"}


class PolicyError(Exception):
    """A cell that the profile's policy refuses; none of it was run."""

    def _render_traceback_(self) -> list[str]:
        return [f"PolicyError: {self}"]


def _is_below(name: str, rules: Iterable[str]) -> bool:
    """Whether the dotted name is one of the rules, or lies in one."""
    return any(name == rule or name.startswith(rule + ".") for rule in rules)


def _listed(names: Iterable[str]) -> str:
    found = sorted(names)
    more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    return ", ".join(found[:_SHOWN]) + more


def _text(node: Optional[ast.AST]) -> Optional[str]:
    """A constant string's value."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return None


class Policy:
    """The rules of a profile, and the names that its session gave things."""

    def __init__(
        self,
        refuse_imports: Iterable[str] = (),
        allow_imports: Iterable[str] = (),
        refuse_calls: Iterable[str] = (),
        refuse_magics: Iterable[str] = (),
    ) -> None:
        self.refused = frozenset(refuse_imports)
        self.allowed = frozenset(allow_imports)
        self.calls = frozenset(refuse_calls)
        self.magics = frozenset(refuse_magics)

    def check(
        self,
        cell: str,
        namespace: dict[str, Any],
        transform: Callable[[str], str],
    ) -> None:
        """Raise PolicyError, unless the (transformed) cell may run.

        Code that is no Python at all is left to the interpreter to refuse.
        """
        _Check(self, namespace, transform).code(cell, 0, 0)


class _Check:
    """One cell's check."""

    def __init__(
        self,
        policy: Policy,
        namespace: dict[str, Any],
        transform: Callable[[str], str],
    ) -> None:
        self.policy = policy
        self.namespace = namespace
        self.transform = transform
        self.names: dict[str, str] = {}  # what the cell itself binds

    def refuse(self, line: int, what: str, rule: str, allowed: str) -> None:
        raise PolicyError(
            f"line {line}: {what} is refused by policy/{rule}; {allowed}"
        )

    # Rules

    def module(self, name: str, line: int, parts: Iterable[str] = ()) -> None:
        """Check an import of `name`, or of its `parts`."""
        policy = self.policy
        wholes = [name, *(f"{name}.{part}" for part in parts)]
        for whole in wholes:
            if _is_below(whole, policy.refused):
                self.refuse(
                    line,
                    f"import of {whole}",
                    "refuse_imports",
                    "every other module may be imported but these: "
                    + _listed(policy.refused)
                    if not policy.allowed
                    else "allowed are " + _listed(policy.allowed),
                )
        if policy.allowed and not (
            _is_below(name, policy.allowed)
            or (
                wholes[1:]
                and all(
                    _is_below(whole, policy.allowed) for whole in wholes[1:]
                )
            )
        ):
            self.refuse(
                line,
                f"import of {name}",
                "allow_imports",
                "allowed are " + _listed(policy.allowed),
            )

    def use(self, name: str, line: int) -> None:
        """Check that something is mentioned, called or not."""
        if _is_below(name, self.policy.calls):
            self.refuse(
                line,
                f"use of {name}",
                "refuse_calls",
                "everything may be called but these: "
                + _listed(self.policy.calls),
            )

    def magic(self, name: str, line: int) -> None:
        if name in self.policy.magics:
            shown = "a shell command" if name == "system" else f"%{name}"
            self.refuse(
                line,
                shown,
                "refuse_magics",
                "every magic may be used but these: "
                + _listed(self.policy.magics),
            )

    # Names

    def bound(self, name: str) -> Optional[str]:
        """The dotted name of what a variable holds, as far as one can see."""
        if name in self.names:
            return self.names[name]
        value = self.namespace.get(name)
        if isinstance(value, ModuleType):
            return value.__name__
        if value is None and hasattr(builtins, name):
            return name
        # Nothing else is asked for its names: it may run code to answer.
        if isinstance(value, (type, FunctionType, BuiltinFunctionType)):
            module, own = value.__module__, value.__qualname__
            if isinstance(module, str) and isinstance(own, str):
                return own if module == "builtins" else f"{module}.{own}"
        return None

    def dotted(self, node: Optional[ast.AST]) -> Optional[str]:
        """Return the dotted name of an expression."""
        parts: list[str] = []
        while True:
            if isinstance(node, ast.Attribute):
                parts.append(node.attr)
                node = node.value
            elif isinstance(node, ast.Call):
                reached = self.reached(node)
                if reached is None:
                    return None
                return ".".join([reached, *reversed(parts)])
            elif isinstance(node, ast.Name):
                base = self.bound(node.id)
                if base is None:
                    return None
                return ".".join([base, *reversed(parts)])
            else:
                return None

    def reached(self, call: ast.Call) -> Optional[str]:
        """Return the result of __import__("x"), import_module("x"), getattr(x,
        "y")."""
        if not isinstance(call.func, (ast.Name, ast.Attribute)):
            return None
        name = self.dotted_plain(call.func)
        if name in _IMPORTERS and call.args:
            return _text(call.args[0])
        if name == "getattr" and len(call.args) > 1:
            base = self.dotted(call.args[0])
            attribute = _text(call.args[1])
            if base and attribute:
                return f"{base}.{attribute}"
        return None

    def dotted_plain(self, node: ast.AST) -> Optional[str]:
        """Return the dotted name of names and attributes only."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        base = self.bound(node.id) if isinstance(node, ast.Name) else None
        return None if base is None else ".".join([base, *reversed(parts)])

    # Code

    def code(self, cell: str, offset: int, depth: int) -> None:
        try:
            tree = ast.parse(cell)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return
        for node in ast.walk(tree):
            self.bind(node)
        for node in self.ordered(tree):
            self.node(node, offset, depth)

    @staticmethod
    def ordered(tree: ast.AST) -> Iterator[Any]:
        """Return the nodes with a line, in order: the first offence is
        reported."""
        nodes: list[Any] = [
            node for node in ast.walk(tree) if hasattr(node, "lineno")
        ]
        nodes.sort(key=lambda node: (node.lineno, node.col_offset))
        return iter(nodes)

    def bind(self, node: ast.AST) -> None:
        """Remember what the cell calls things."""
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.asname:
                    self.names[alias.asname] = alias.name
                else:
                    top = alias.name.partition(".")[0]
                    self.names[top] = top
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                self.names[alias.asname or alias.name] = name
        elif isinstance(node, ast.Assign) and len(node.targets) == 1:
            target, value = node.targets[0], self.dotted(node.value)
            if isinstance(target, ast.Name) and value:
                self.names[target.id] = value

    def node(self, node: ast.AST, offset: int, depth: int) -> None:
        line = getattr(node, "lineno", 1) + offset
        if isinstance(node, ast.Import):
            for alias in node.names:
                self.module(alias.name, line)
        elif isinstance(node, ast.ImportFrom):
            self.import_from(node, line)
        elif isinstance(node, (ast.Attribute, ast.Name)):
            name = self.dotted(node)
            if name:
                self.use(name, line)
        elif isinstance(node, ast.Call):
            self.call(node, line, depth)

    def import_from(self, node: ast.ImportFrom, line: int) -> None:
        if node.level or not node.module:
            return  # the session's own package
        parts = [alias.name for alias in node.names]
        self.module(node.module, line, [p for p in parts if p != "*"])
        for part in parts:
            if part != "*":
                self.use(f"{node.module}.{part}", line)
                continue
            for call in self.policy.calls:
                if call.startswith(node.module + "."):
                    self.use(call, line)

    def call(self, node: ast.Call, line: int, depth: int) -> None:
        name = self.dotted(node.func)
        first = _text(node.args[0]) if node.args else None
        if name in _IMPORTERS and first:
            self.module(first, line)
        reached = self.reached(node)
        if reached:
            self.use(reached, line)
        if name in _RUNNERS and first and depth < _DEPTH:
            self.code(first, line - 1, depth + 1)
        method = node.func
        if (
            isinstance(method, ast.Attribute)
            and method.attr in _SHELL
            and isinstance(method.value, ast.Call)
            and isinstance(method.value.func, ast.Name)
            and method.value.func.id == "get_ipython"
        ):
            self.shell_call(method.attr, node, line, depth)

    def shell_call(
        self, method: str, node: ast.Call, line: int, depth: int
    ) -> None:
        """Return the rule for IPython's !command, %magic and %%magic."""
        texts = [_text(argument) or "" for argument in node.args]
        if method in ("system", "getoutput"):
            self.magic("system", line)
            return
        if not texts:
            return
        self.magic(texts[0], line)
        if texts[0] in ("pip3", "uv"):  # other names of %pip
            self.magic("pip", line)
        if texts[0] in ("sx", "system", "sc", "bash", "sh", "script"):
            self.magic("system", line)
        # %time, %%timeit … run what follows, as Python where it is some.
        is_cell = method == "run_cell_magic"
        inner = texts[-1] if len(texts) > 1 else ""
        if inner.strip() and depth < _DEPTH:
            try:
                inner = self.transform(inner)
            except Exception:
                return
            self.code(inner, line - 1 + is_cell, depth + 1)


# The profile's, in every kernel that its zygote forks; None: no rules.
current: Optional[Policy] = None


def refuses_magic(name: str) -> bool:
    return current is not None and name in current.magics


def configure(rules: Optional[dict[str, list[str]]]) -> None:
    """Take the profile's rules over, in the zygote."""
    global current
    current = Policy(**rules) if rules and any(rules.values()) else None
