"""The effects of a cell on variables: which appeared, changed or went.

The look changes nothing: no method of a user's class is called, no large object
is kept alive, and the time is bounded. A variable is described by its type and,
where type and attributes can be trusted, by its size, but not by its value.
"""

from __future__ import annotations

import sys
import weakref
from collections import deque
from time import perf_counter_ns
from typing import Any, Callable, Optional

Description = dict[str, Any]
Difference = dict[str, Any]

BUDGET_NS = 2_000_000  # of a look
NAMES_MAX = 200  # names listed for one cell
_NAME_MAX = 100  # characters
_HELD_MAX = 1 << 16  # bytes of a text that may be kept until the next look
_WALK_MAX = 20_000  # new names looked for after a cell; a tenth of a us each
_STRIDE = 64  # names between two looks at the clock

_LEAVES = frozenset((int, float, complex, bool, type(None), str, bytes))
_SIZED = frozenset(
    (str, bytes, bytearray, list, tuple, dict, set, frozenset, range, deque)
)
_MISSING = object()


def _describe_array(value: Any) -> Description:
    return {
        "shape": list(value.shape),
        "dtype": str(value.dtype),
        "bytes": int(value.nbytes),
    }


def _describe_frame(value: Any) -> Description:
    return {"shape": list(value.shape)}


def _describe_series(value: Any) -> Description:
    return {"shape": list(value.shape), "dtype": str(value.dtype)}


# Types of libraries whose attributes run no code of the session.
_LIBRARIES: dict[tuple[str, str], Callable[[Any], Description]] = {
    ("numpy", "ndarray"): _describe_array,
    ("pandas", "DataFrame"): _describe_frame,
    ("pandas", "Series"): _describe_series,
    ("pandas", "Index"): _describe_series,
    ("pandas", "RangeIndex"): _describe_series,
}
_LIBRARY_NAMES = frozenset(name for _, name in _LIBRARIES)

# The real attributes, whatever a metaclass says they are.
_name_of = type.__dict__["__name__"].__get__
_trusted: dict[type, Callable[[Any], Description]] = {}


def _find_library(kind: type, name: str) -> Optional[Any]:
    """How a type of a known library is described, if it is one."""
    found = _trusted.get(kind)
    if found is None and name in _LIBRARY_NAMES:
        for (module, wanted), describe in _LIBRARIES.items():
            loaded = sys.modules.get(module)
            if wanted == name and getattr(loaded, name, None) is kind:
                found = _trusted[kind] = describe
    return found


def _kind(value: Any) -> type:
    """The type, for looking it up; with a metaclass its hash may be anything.

    None of the types that are looked up has one.
    """
    kind = type(value)
    return kind if type(kind) is type else object


def describe(value: Any) -> Description:
    """Type and size of a value."""
    kind = _kind(value)
    name = _name_of(type(value))[:_NAME_MAX]
    if kind in _SIZED:
        return {"type": name, "size": len(value)}
    library = _find_library(kind, name)
    return {"type": name, **library(value)} if library else {"type": name}


class _Large:
    """Represents a value that can be neither kept nor referred to."""

    __slots__ = ("number",)

    def __init__(self, value: object) -> None:
        self.number = id(value)


Mark = Any  # the value itself, a weak reference to it, or a _Large


def _mark(value: Any) -> Mark:
    """By what a value is recognised later on."""
    kind = _kind(value)
    if kind in _LEAVES:
        if kind not in (str, bytes) or len(value) <= _HELD_MAX:
            return value
        return _Large(value)
    try:
        return weakref.ref(value)
    except TypeError:
        return _Large(value)


def _is_same(value: Any, mark: Mark) -> bool:
    if value is mark:
        return True
    kind = type(mark)
    if kind is _Large:
        return bool(mark.number == id(value))
    if kind is weakref.ref:
        return mark() is value
    return (
        kind is type(value) and _kind(value) in _LEAVES and bool(mark == value)
    )


def _is_quiet(value: Any, known: tuple[Mark, Description]) -> bool:
    """Whether nothing has happened, for what most variables are."""
    mark, was = known
    if value is mark:
        return True
    kind = _kind(value)
    return (
        type(mark) is _Large
        and mark.number == id(value)
        and kind in _SIZED
        and was["type"] == _name_of(kind)
        and was["size"] == len(value)
    )


def _is_ours(name: Any) -> bool:
    """Whether IPython made it, or the user does not mean to show it."""
    return type(name) is not str or name[:1] in ("_", "")


class Namespace:
    """The variables as they were at the last look."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[Mark, Description]] = {}
        self._hidden: frozenset[str] = frozenset()
        self._anchor = ""  # one of IPython's names: later ones are new
        self._waiting: list[str] = []  # new ones for which time was short
        self._deadline = 0
        self._is_cut = False
        self._turn = 0  # where the next look at the known names begins

    def begin(self, names: dict[str, Any]) -> None:
        """Note the existing names, which are IPython's."""
        self._hidden = frozenset(name for name in names if type(name) is str)
        self._known.clear()
        self._waiting.clear()
        self._anchor = ""

    def _allow(self, nanoseconds: int) -> None:
        """Begin a part of a look that has so much time."""
        self._deadline = perf_counter_ns() + nanoseconds

    def _is_late(self, count: int) -> bool:
        if count % _STRIDE or perf_counter_ns() <= self._deadline:
            return False
        self._is_cut = True
        return True

    def _find_new(self, names: dict[str, Any]) -> None:
        """Find names that were added: a dict keeps their order.

        IPython adds two names a cell and never takes them away, so that a
        long session is not walked through from its beginning each time. What
        one cell adds beyond the bound is not seen.
        """
        found: list[str] = []
        anchor = ""
        for count, name in enumerate(reversed(names), 1):
            if count > _WALK_MAX:
                self._is_cut = True
                break
            if _is_ours(name):
                if type(name) is str and name == self._anchor:
                    break
                if not anchor and type(name) is str and name[1:].isdigit():
                    anchor = name
            elif name not in self._known and name not in self._hidden:
                found.append(name)
        self._anchor = anchor or self._anchor
        if found:
            waiting = set(self._waiting)
            found.reverse()
            self._waiting += [name for name in found if name not in waiting]

    def _look_at(
        self, name: str, value: Any, known: tuple[Mark, Description]
    ) -> Optional[Description]:
        """Return the change of a known name, None without one."""
        mark, was = known
        is_same = _is_same(value, mark)
        if is_same and _kind(value) in _LEAVES:
            return None
        found = describe(value)
        if is_same and found == was:
            return None
        self._known[name] = (mark if is_same else _mark(value), found)
        changed = {"name": name[:_NAME_MAX], **found}
        if found != was:
            changed["was"] = was
        return changed

    def _look_at_known(
        self, names: dict[str, Any], changes: Difference
    ) -> None:
        items = list(self._known.items())
        if self._turn:
            items = items[self._turn :] + items[: self._turn]
        self._allow(BUDGET_NS // 2)
        for count, (name, known) in enumerate(items, 1):
            if self._is_late(count):
                self._turn = (self._turn + count - 1) % len(items)
                return
            value = names.get(name, _MISSING)
            if _is_quiet(value, known):
                continue
            if value is _MISSING:
                del self._known[name]
                changes["went"].append(name[:_NAME_MAX])
                continue
            changed = self._look_at(name, value, known)
            if changed is not None:
                changes["changed"].append(changed)
        self._turn = 0

    def _look_at_new(self, names: dict[str, Any], changes: Difference) -> None:
        done = 0
        self._allow(BUDGET_NS // 2)
        for name in self._waiting:
            if self._is_late(done + 1):
                break
            done += 1
            value = names.get(name, _MISSING)
            if value is _MISSING:
                continue
            found = describe(value)
            self._known[name] = (_mark(value), found)
            changes["appeared"].append({"name": name[:_NAME_MAX], **found})
        del self._waiting[:done]

    def difference(self, names: dict[str, Any]) -> Optional[Difference]:
        """Return the changes since the last look; None without any."""
        changes: Difference = {"appeared": [], "changed": [], "went": []}
        self._is_cut = False
        try:
            self._look_at_known(names, changes)
            self._find_new(names)
            if self._waiting:
                self._look_at_new(names, changes)
        except Exception:  # a thread changed the dictionary, no memory
            self._is_cut = True
        return self._shorten(changes)

    def _shorten(self, changes: Difference) -> Optional[Difference]:
        left, more = NAMES_MAX, 0
        for key in ("went", "appeared", "changed"):
            more += max(0, len(changes[key]) - left)
            changes[key] = changes[key][:left]
            left -= len(changes[key])
        found = {key: items for key, items in changes.items() if items}
        if more:
            found["more"] = more
        if self._is_cut:
            found["partial"] = True
        return found or None
