"""JSON Schema of a function's arguments, from its annotations."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Mapping, Sequence
from typing import Any, Callable

_UNIONS = (typing.Union, getattr(types, "UnionType", typing.Union))
_NAMES = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    type(None): "null",
}


def schema_of(function: Callable[..., Any]) -> dict[str, Any]:
    """Describe the arguments. An annotation that JSON Schema has no word for
    permits anything."""
    try:
        hints = typing.get_type_hints(function)
    except (NameError, TypeError):
        hints = {}
    properties: dict[str, Any] = {}
    required = []
    is_open = False
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            is_open = True
        elif parameter.kind is parameter.POSITIONAL_ONLY:
            raise TypeError(f"{name}: tools are called with names")
        elif parameter.kind is not parameter.VAR_POSITIONAL:
            properties[name] = _schema(hints.get(name, Any))
            if parameter.default is parameter.empty:
                required.append(name)
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": is_open,
    }


def _schema(kind: Any) -> dict[str, Any]:
    origin = typing.get_origin(kind) or kind
    arguments = typing.get_args(kind)
    if origin in _UNIONS:
        return {"anyOf": [_schema(argument) for argument in arguments]}
    if origin is typing.Literal:
        return {"enum": list(arguments)}
    if not isinstance(origin, type):
        return {}
    if issubclass(origin, Mapping):
        return {"type": "object"}
    if issubclass(origin, (list, tuple, set)) or origin is Sequence:
        items = _schema(arguments[0]) if len(arguments) == 1 else {}
        return {"type": "array", "items": items}
    return {"type": _NAMES[origin]} if origin in _NAMES else {}
