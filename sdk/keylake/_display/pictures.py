"""Pictures of a table, by matplotlib, and the page that has them. Pure: values in, figures and text out."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from keylake.errors import KeylakeError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from keylake._display.figures import Picture

UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")
MOST_LABELS = 24
SERIES = ("#2f6f9f", "#d98324", "#4f9d69", "#a4508b", "#7a6ff0", "#b8453c", "#5f8a8b", "#8a7f3d")
LIGHT = ("#d98324", "#4f9d69", "#5f8a8b", "#8a7f3d")  # those on which text is dark


@dataclass(frozen=True)
class Measure:
    """A figure in words."""

    name: str
    value: str
    remark: str


@dataclass(frozen=True)
class Event:
    """A commit as a picture has it."""

    at: datetime.datetime
    stream: str | None
    verb: str | None
    rows: int


@dataclass(frozen=True)
class Bar:
    """A bucket as a picture has it: the bytes of its runs, the oldest first."""

    bucket: str
    runs: tuple[int, ...]


def health_figure(
    title: str,
    buckets: Sequence[Bar],
    reads: Mapping[str, Any],
    commits: Sequence[Event],
    ages: Mapping[str, datetime.timedelta],
) -> Picture:
    """Four pictures: runs of buckets, how reads take the bytes, commits over time, and freshness by stream."""
    figure, axes = empty_figure(title, 11.0, 6.4, rows=2, columns=2)
    _draw_runs(axes[0], buckets)
    _draw_reads(axes[1], reads)
    _draw_commits(axes[2], commits)
    _draw_ages(axes[3], ages)
    return figure


def history_figure(title: str, commits: Sequence[Event]) -> Picture:
    """Commits over time, a line for each stream; a point is as large as its rows are many."""
    figure, axes = empty_figure(title, 8.0, 3.2, rows=1, columns=1)
    _draw_commits(axes[0], commits)
    return figure


def empty_figure(title: str, width: float, height: float, rows: int, columns: int) -> tuple[Picture, list[Axes]]:
    """A figure, so many inches wide and high, and its axes, row by row."""
    try:
        from keylake._display.figures import Picture
    except ImportError:
        raise KeylakeError(
            "Pictures are drawn by matplotlib, which is not installed: pip install 'keylake[plots]'."
        ) from None
    figure = Picture(width, height, title)
    return figure, figure.axes_of(rows, columns)


def _unit(most: float) -> tuple[str, int]:
    """The unit in which a size reads well, and its bytes.

    >>> _unit(7800), _unit(3 * 2**30)
    (('KiB', 1024), ('GiB', 1073741824))
    """
    power = 0
    while most >= 1024 ** (power + 1) and power < len(UNITS) - 1:
        power += 1
    return UNITS[power], 1024**power


def _draw_runs(axes: Axes, buckets: Sequence[Bar]) -> None:
    axes.set_title("runs of each bucket, the oldest at the bottom")
    unit, scale = _unit(max((sum(bucket.runs) for bucket in buckets), default=0))
    axes.set_ylabel(unit)
    bottoms = [0.0] * len(buckets)
    for run in range(max((len(bucket.runs) for bucket in buckets), default=0)):
        sizes = [bucket.runs[run] / scale if run < len(bucket.runs) else 0.0 for bucket in buckets]
        axes.bar(range(len(buckets)), sizes, bottom=bottoms, color=SERIES[run % len(SERIES)], width=0.85)
        bottoms = [bottom + size for bottom, size in zip(bottoms, sizes, strict=True)]
    if len(buckets) <= MOST_LABELS:
        axes.set_xticks(
            range(len(buckets)), [bucket.bucket for bucket in buckets], rotation=45 if len(buckets) > 12 else 0
        )
    else:
        axes.set_xticks([])
        axes.set_xlabel(f"{len(buckets)} buckets")


def _draw_reads(axes: Axes, reads: Mapping[str, Any]) -> None:
    axes.set_title("how a read takes the files")
    names = ("passed_through", "settled", "merged")
    unit, scale = _unit(max(reads[name] for name in names))
    axes.barh(
        [name.replace("_", " ") for name in names], [reads[name] / scale for name in names], color=SERIES[: len(names)]
    )
    axes.set_xlabel(unit)


def _draw_commits(axes: Axes, commits: Sequence[Event]) -> None:
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    axes.set_title("commits, as large as their rows are many")
    streams = sorted({event.stream or event.verb or "other" for event in commits})
    most = max((event.rows for event in commits), default=0) or 1
    for number, stream in enumerate(streams):
        own = [event for event in commits if (event.stream or event.verb or "other") == stream]
        sizes = [12 + 120 * (event.rows / most) ** 0.5 for event in own]
        times: list[Any] = [event.at for event in own]
        axes.scatter(times, [number] * len(own), s=sizes, alpha=0.6, color=SERIES[number % len(SERIES)], linewidths=0)
    axes.set_yticks(range(len(streams)), streams, parse_math=False)
    axes.set_ylim(-0.6, max(len(streams) - 0.4, 0.6))
    locator = AutoDateLocator(minticks=3, maxticks=7)  # type: ignore[no-untyped-call]
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]


def _draw_ages(axes: Axes, ages: Mapping[str, datetime.timedelta]) -> None:
    axes.set_title("since the last commit of each stream")
    hours = [age.total_seconds() / 3600 for age in ages.values()]
    longest = max(hours, default=0.0)
    unit, scale = ("minutes", 60.0) if longest < 2 else ("hours", 1.0) if longest < 72 else ("days", 1 / 24)
    axes.barh(range(len(ages)), [each * scale for each in hours], color=SERIES[0])
    axes.set_yticks(range(len(ages)), [stream or "without a name" for stream in ages], parse_math=False)
    axes.set_xlabel(unit)


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title><style>
:root {{ color-scheme: light dark; --ink: #1f2933; --paper: #ffffff; --line: #d5dbe1;
  --soft: #f4f6f8; --warn: #b8453c; }}
@media (prefers-color-scheme: dark) {{
  :root {{ --ink: #e4e7eb; --paper: #14181d; --line: #36404a; --soft: #1d232a; --warn: #ff9b8f; }} }}
body {{ font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 1080px;
  margin: 0 auto; padding: 1.5rem 1rem 3rem; }}
h1 {{ font-size: 1.4rem; margin: 0; overflow-wrap: anywhere; }} .at {{ opacity: .7; margin: 0 0 1rem; }}
.measures {{ display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: .6rem; margin: 1rem 0; }}
.measure {{ background: var(--soft); border-radius: 8px; padding: .6rem .8rem; }}
.measure b {{ display: block; font-size: 1.15rem; }} .measure span {{ font-size: .8rem; opacity: .8; }}
ul.todo {{ border-left: 4px solid var(--warn); margin: 1rem 0; padding: .3rem 1rem .3rem 2rem; }}
.picture {{ overflow-x: auto; }} .picture svg {{ width: 100%; height: auto; min-width: 560px; }}
.tables {{ overflow-x: auto; }} table {{ border-collapse: collapse; margin: 1rem 0; font-size: .85rem; }}
caption {{ text-align: left; font-weight: 600; padding: .3rem 0; }}
th, td {{ text-align: left; padding: .25rem .7rem .25rem 0; border-bottom: 1px solid var(--line);
  vertical-align: top; }}
</style></head><body>
<h1>{title}</h1><p class="at">{at}</p>
{to_do}
<div class="measures">{measures}</div>
<div class="picture">{picture}</div>
<div class="tables">{tables}</div>
</body></html>
"""


def health_page(
    title: str,
    at: datetime.datetime,
    measures: Sequence[Measure],
    to_do: Sequence[str],
    picture: Picture,
    tables: Sequence[str],
) -> str:
    """A page that needs no other file, for light and dark screens."""
    boxes = "".join(
        f'<div class="measure">{escape(each.name)}<b>{escape(each.value)}</b><span>{escape(each.remark)}</span></div>'
        for each in measures
    )
    sentences = "".join(f"<li>{escape(sentence)}</li>" for sentence in to_do)
    return _PAGE.format(
        title=escape(f"Health of {title}"),
        at=f"{at:%Y-%m-%d %H:%M:%S %Z}",
        to_do=f'<ul class="todo">{sentences}</ul>' if to_do else "<p>All is well.</p>",
        measures=boxes,
        picture=picture.svg(),
        tables="".join(tables),
    )
