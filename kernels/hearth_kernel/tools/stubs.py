"""Functions that look like a host tool's JSON Schema says: their signature,
their text, and the arguments of a call.
"""

from __future__ import annotations

import inspect
import keyword
import re
from typing import Any

Content = dict[str, Any]

# Characters that a terminal or a reader of text would obey.
_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]"
)
_TYPES: dict[str, type] = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": bool,
    "array": list,
    "object": dict,
}


class _Omitted:
    """Shows in a signature a default that only the tool knows."""

    def __repr__(self) -> str:
        return "..."


_OMITTED = _Omitted()


def _clean(text: object) -> str:
    return _CONTROL.sub("\ufffd", text) if isinstance(text, str) else ""


def _parameter(name: str, schema: object, is_needed: bool) -> inspect.Parameter:
    kind = schema.get("type") if isinstance(schema, dict) else None
    default: object = inspect.Parameter.empty if is_needed else _OMITTED
    annotation = _TYPES.get(kind) if isinstance(kind, str) else None
    return inspect.Parameter(
        name,
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
        default=default,
        annotation=annotation or inspect.Parameter.empty,
    )


def _properties(schema: Content) -> Content:
    found = schema.get("properties")
    return found if isinstance(found, dict) else {}


def _needed(schema: Content) -> list[str]:
    found = schema.get("required")
    names = found if isinstance(found, list) else []
    return [name for name in names if isinstance(name, str)]


def _is_open(schema: Content) -> bool:
    """Whether arguments may have names that the schema does not list."""
    return bool(schema.get("additionalProperties")) or not isinstance(
        schema.get("properties"), dict
    )


def _signature(schema: Content) -> inspect.Signature:
    """Return the properties that can be names of arguments."""
    properties, needed = _properties(schema), _needed(schema)
    names = [
        name
        for name in [
            *(name for name in properties if name in needed),
            *(name for name in properties if name not in needed),
        ]
        if name.isidentifier() and not keyword.iskeyword(name)
    ]
    parameters = [
        _parameter(name, properties[name], name in needed) for name in names
    ]
    if _is_open(schema) or len(names) < len(properties):
        rest = "arguments"
        while rest in names:
            rest += "_"
        parameters.append(
            inspect.Parameter(rest, inspect.Parameter.VAR_KEYWORD)
        )
    return inspect.Signature(parameters)


def document(name: str, description: object, schema: Content) -> str:
    lines = [_clean(description) or f"The host tool {name}."]
    needed = _needed(schema)
    properties = _properties(schema)
    if properties:
        lines += ["", "Arguments:"]
    for key, value in properties.items():
        about = value if isinstance(value, dict) else {}
        words = [_clean(about.get("type")), "" if key in needed else "optional"]
        kind = ", ".join(word for word in words if word)
        text = f"    {_clean(key)}" + (f" ({kind})" if kind else "")
        about_text = _clean(about.get("description"))
        lines.append(text + (f": {about_text}" if about_text else ""))
    lines += [
        "",
        "In code that awaits, `await` the call. `.sync` always waits for the",
        "result, `.aio` always gives something to await.",
    ]
    return "\n".join(lines)


class Binder:
    """Makes the arguments of a call from those of a function."""

    def __init__(self, name: str, schema: Content) -> None:
        self.name = name
        self.signature = _signature(schema)
        self.properties = _properties(schema)
        self.needed = _needed(schema)
        self.is_open = _is_open(schema)

    def bind(self, args: tuple[Any, ...], kwargs: Content) -> Content:
        try:
            bound = self.signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{self.name}(): {error}") from None
        arguments: Content = {}
        for key, value in bound.arguments.items():
            kind = self.signature.parameters[key].kind
            if kind is inspect.Parameter.VAR_KEYWORD:
                arguments.update(value)
            else:
                arguments[key] = value
        for key in self.needed:
            if key not in arguments:
                raise TypeError(f"{self.name}(): {key!r} is missing")
        for key in arguments:
            if not self.is_open and key not in self.properties:
                raise TypeError(
                    f"{self.name}(): there is no argument {key!r}; it takes "
                    + ", ".join(map(repr, self.properties))
                )
        return arguments
