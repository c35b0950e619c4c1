"""Forms of tables and images for a language model, where its client asks.

A request's metadata says so (`hearth.view` is `model`). Then a table also
comes as a few lines of text. An image that is too large for a model also comes
as a smaller one. Other clients take the usual forms from the same bundle.
"""

from __future__ import annotations

import base64
import io
from typing import Any, Callable, Optional

from IPython.core.formatters import BaseFormatter
from traitlets import ObjectName, Unicode

from hearth_kernel.messaging import outlet

TABLE = "text/vnd.hearth.table"
IMAGE = "image/webp"

# As notebooks/modelview/modelview.h has them.
_BYTES_MAX = 256 << 10
_SIDE_MAX = 1568

_HEAD, _TAIL = 5, 2  # rows
_LEFT, _RIGHT = 15, 4  # columns
_TEXT_MAX = 60  # characters of a value
_QUALITY = 80
_SIDES = (_SIDE_MAX, 1024, 640)  # one after the other, until it is small
_PIXELS_MAX = 50_000_000  # of an image that is made smaller


def _write(value: Any) -> str:
    """Write a value as in a table's row: short, and on one line."""
    if isinstance(value, float):
        return f"{value:.6g}"
    text = " ".join(str(value).split())
    if len(text) > _TEXT_MAX:
        text = text[: _TEXT_MAX - 1] + "…"
    return text


def _choose(count: int, first: int, last: int) -> tuple[list[int], list[int]]:
    """Positions at the beginning and at the end; all if they are few."""
    if count <= first + last:
        return list(range(count)), []
    return list(range(first)), list(range(count - last, count))


def _join(first: list[str], last: list[str]) -> str:
    return "\t".join([*first, "…", *last] if last else first)


def _is_default(index: Any) -> bool:
    """Return True if an index has only the numbers of the rows, from 0."""
    return (
        type(index).__name__ == "RangeIndex"
        and index.name is None
        and index.start == 0
        and index.step == 1
    )


def write_frame(frame: Any) -> str:
    """Write its shape, columns with their types, first rows and last ones.

    An index that only counts the rows is left out: its column has no news.
    """
    height, width = frame.shape
    left, right = _choose(width, _LEFT, _RIGHT)
    top, bottom = _choose(height, _HEAD, _TAIL)
    names = [
        f"{_write(frame.columns[at])}:{frame.dtypes.iloc[at]}"
        for at in left + right
    ]
    rows = top + bottom
    columns = [frame.iloc[rows, at].tolist() for at in left + right]
    split = len(left)
    if not _is_default(frame.index) or not width:
        title = frame.index.name
        names.insert(0, "" if title is None else _write(title))
        columns.insert(0, frame.index[rows].tolist())
        split += 1
    lines = [
        f"DataFrame {height} × {width}",  # noqa: RUF001
        _join(names[:split], names[split:]),
    ]
    for at in range(len(rows)):
        if bottom and at == len(top):
            lines.append("…")
        texts = [_write(column[at]) for column in columns]
        lines.append(_join(texts[:split], texts[split:]))
    return "\n".join(lines)


def write_series(series: Any) -> str:
    """Length, type and name, the first values and the last ones."""
    top, bottom = _choose(len(series), _HEAD, _TAIL)
    rows = top + bottom
    name = "" if series.name is None else f" {_write(series.name)}"
    lines = [f"Series{name} {len(series)} {series.dtype}"]
    columns = [series.iloc[rows].tolist()]
    if not _is_default(series.index):
        columns.insert(0, series.index[rows].tolist())
    for at in range(len(rows)):
        if bottom and at == len(top):
            lines.append("…")
        lines.append("\t".join(_write(column[at]) for column in columns))
    return "\n".join(lines)


def _quietly(write: Callable[[Any], str]) -> Callable[[Any], Optional[str]]:
    """Without this form where it fails: the usual ones say what is wrong."""

    def attempt(table: Any) -> Optional[str]:
        try:
            return write(table)
        except Exception:
            return None

    return attempt


class TableFormatter(BaseFormatter):  # type: ignore[misc]
    """Makes the text of a table, for the cells that ask for it."""

    format_type = Unicode(TABLE)
    print_method = ObjectName("_repr_hearth_table_")
    _return_type = str


def install(shell: Any) -> None:
    """Give the shell a formatter for tables, which is off."""
    display = shell.display_formatter
    formatter = TableFormatter(parent=display)
    formatter.enabled = False
    for module in ("pandas", "pandas.core.frame"):
        formatter.for_type_by_name(module, "DataFrame", _quietly(write_frame))
    for module in ("pandas", "pandas.core.series"):
        formatter.for_type_by_name(module, "Series", _quietly(write_series))
    display.formatters[TABLE] = formatter


def is_wanted(metadata: dict[str, Any]) -> bool:
    """Whether a request's metadata asks for these forms."""
    own = metadata.get("hearth")
    return isinstance(own, dict) and own.get("view") == "model"


def enable(shell: Any, wanted: bool) -> None:
    """Turn them on for a cell, or off."""
    formatter = shell.display_formatter.formatters.get(TABLE)
    if formatter is not None and formatter.enabled != wanted:
        formatter.enabled = wanted


def _shrink(image: bytes) -> tuple[bytes, tuple[int, int]]:
    from PIL import Image

    with Image.open(io.BytesIO(image)) as opened:
        if opened.width * opened.height > _PIXELS_MAX:
            raise ValueError("the image is too large")
        for side in _SIDES:
            opened.thumbnail((side, side))
            out = io.BytesIO()
            opened.save(out, "WEBP", quality=_QUALITY, method=2)
            if out.tell() <= _BYTES_MAX:
                break
        return out.getvalue(), opened.size


def add_small_image(
    shell: Any, data: dict[str, Any], metadata: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Add a smaller form of a PNG that is too large for a model.

    Without Pillow, or if it does not read it, the bundle stays as it is.
    """
    formatter = shell.display_formatter.formatters.get(TABLE)
    image = data.get("image/png")
    size = metadata.get("image/png")
    if formatter is None or not formatter.enabled or IMAGE in data:
        return data, metadata
    text = image.text if isinstance(image, outlet.Base64) else image
    if not isinstance(text, (str, bytes)):
        return data, metadata
    sides = size if isinstance(size, dict) else {}
    longest = max(sides.get("width", 0), sides.get("height", 0))
    if len(text) * 3 // 4 <= _BYTES_MAX and longest <= _SIDE_MAX:
        return data, metadata
    try:
        small, (width, height) = _shrink(base64.b64decode(text))
    except Exception:
        return data, metadata
    return (
        {**data, IMAGE: outlet.Base64.encode(small)},
        {**metadata, IMAGE: {"width": width, "height": height}},
    )
