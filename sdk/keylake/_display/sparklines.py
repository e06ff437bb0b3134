"""Numbers over time in one line: as text for terminals, as bars for notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from keylake._display.colours import SERIES

_BARS = "▁▂▃▄▅▆▇█"
_WIDTH, _HEIGHT = 4, 22  # of a bar, in pixels


def sparkline(values: Sequence[float | None]) -> str:
    """A character for each number, as high as it is beside the largest; a space where there is none.

    >>> sparkline([0, 1, 4, None, 8])
    '▁▂▅ █'
    """
    most = max((value for value in values if value is not None), default=0) or 1
    bars = len(_BARS) - 1
    return "".join(" " if value is None else _BARS[round(max(value, 0) / most * bars)] for value in values)


def sparklines(named: Sequence[tuple[str, Sequence[float | None]]]) -> tuple[str, ...]:
    r"""Lines below each other: a name, the numbers, the newest and the largest of them.

    >>> print(*sparklines([("rows/s", [1200, 400]), ("lag, rows", [None, 3])]), sep="\n")
    rows/s     █▃  now 400, most 1,200
    lag, rows   █  now 3, most 3
    """
    widest = max((len(name) for name, _ in named), default=0)
    return tuple(f"{name:{widest}}  {sparkline(values)}  {_extremes(values)}" for name, values in named)


def html_bars(title: str, named: Sequence[tuple[str, Sequence[float | None]]]) -> str:
    """The same as an HTML table, with bars of colours that are seen on light and dark pages."""
    lines = "".join(
        f"<tr><td>{escape(name)}</td><td>{_svg(values, SERIES[number % len(SERIES)])}</td>"
        f"<td>{escape(_extremes(values))}</td></tr>"
        for number, (name, values) in enumerate(named)
    )
    return f"<table><caption>{escape(title)}</caption>{lines}</table>"


def _svg(values: Sequence[float | None], colour: str) -> str:
    most = max((value for value in values if value is not None), default=0) or 1
    heights = [None if value is None else max(1, round(max(value, 0) / most * _HEIGHT)) for value in values]
    bars = "".join(
        f'<rect x="{_WIDTH * place}" y="{_HEIGHT - height}" width="{_WIDTH - 1}" height="{height}"/>'
        for place, height in enumerate(heights)
        if height is not None
    )
    width = _WIDTH * len(values)
    return f'<svg width="{width}" height="{_HEIGHT}" viewBox="0 0 {width} {_HEIGHT}" fill="{colour}">{bars}</svg>'


def _extremes(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    now = values[-1] if values else None
    return f"now {_number(now)}, most {_number(max(known))}" if known else "unknown"


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:,.2g}"
