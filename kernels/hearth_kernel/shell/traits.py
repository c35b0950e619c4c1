"""Traits of IPython that no code observes, as plain attributes.

Reading a trait is a call of Python code, and `1+1` read thirty of them.
"""

from __future__ import annotations

from typing import Any

from traitlets import HasTraits


def settle(held: HasTraits, *names: str) -> None:
    """Keep what these are, in an object that is all made.

    Its class becomes one of its own that lacks the traits.
    """
    kind = type(held)
    make: Any = type(kind)
    values = {name: getattr(held, name) for name in names}
    plain = {
        **dict.fromkeys(names),
        "__module__": kind.__module__,
        "__qualname__": kind.__qualname__,
        "__doc__": kind.__doc__,
    }
    held.__class__ = make(kind.__name__, (kind,), plain)
    vars(held).update(values)
