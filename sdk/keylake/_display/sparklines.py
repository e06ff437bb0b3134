"""Numbers over time as lines of text, for terminals."""

from __future__ import annotations

from collections.abc import Sequence

_BARS = "▁▂▃▄▅▆▇█"


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


def _extremes(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    now = values[-1] if values else None
    return f"now {_number(now)}, most {_number(max(known))}" if known else "unknown"


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:,.2g}"
