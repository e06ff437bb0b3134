"""Pictures of a table, by matplotlib. Pure: values in, figures out."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from keylake._display.colours import INK, SERIES
from keylake.errors import KeylakeError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from keylake._display.figures import Picture

UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")
MOST_LABELS = 24


@dataclass(frozen=True)
class Event:
    """A commit as a picture has it."""

    at: datetime.datetime
    stream: str | None
    verb: str | None
    rows: int


@dataclass(frozen=True)
class Bar:
    """A bucket as a picture has it: the bytes of its runs, the oldest first, and whether it is to be compacted."""

    bucket: str
    runs: tuple[int, ...]
    is_due: bool


@dataclass(frozen=True)
class Amplification:
    """The cost of reads and storage at a commit, for each byte that was live then."""

    at: datetime.datetime
    reads: float | None  # how many runs a byte was read with; None for commits that were not looked at
    storage: float  # the bytes of files added until then that snapshots still need


@dataclass(frozen=True)
class Tier:
    """The runs of one tier of sizes; `below` is the size in bytes that none of them reaches."""

    below: int
    runs: int
    bytes: int


@dataclass(frozen=True)
class Lags:
    """The lag of a stream, in seconds: its last commit, its watermark, and its latest row when it came."""

    stream: str
    last_commit: float
    watermark: float | None
    latest_row: float | None


@dataclass(frozen=True)
class Condition:
    """The figures that the pictures of a table's health are drawn from."""

    bars: Sequence[Bar]
    tiers: Sequence[Tier]
    reads: Mapping[str, Any]
    over_time: Sequence[Amplification]
    commits: Sequence[Event]
    lags: Sequence[Lags]

    def figure(self, title: str) -> Picture:
        """All pictures in one figure."""
        figure, axes = empty_figure(title, 11.0, 9.6, rows=3, columns=2)
        for draw, place in zip(self._drawings(), axes, strict=True):
            draw(place)
        return figure

    def figures(self) -> Iterator[Picture]:
        """The pictures one by one, for pages that put them side by side where there is room."""
        for draw in self._drawings():
            figure, (axes,) = empty_figure("", 5.3, 3.2, 1, 1)
            draw(axes)
            yield figure

    def _drawings(self) -> tuple[Callable[[Axes], None], ...]:
        return (
            partial(_draw_runs, buckets=self.bars),
            partial(_draw_tiers, tiers=self.tiers),
            partial(_draw_reads, reads=self.reads),
            partial(_draw_amplification, over_time=self.over_time),
            partial(_draw_commits, lanes=lanes_of(self.commits)),
            partial(_draw_lags, lags=self.lags),
        )


Lanes = Sequence[tuple[str, Sequence[Event]]]


def lanes_of(commits: Sequence[Event]) -> Lanes:
    """Commits by stream; those without one by what they did."""
    names = sorted({event.stream or event.verb or "other" for event in commits})
    return [(name, [event for event in commits if (event.stream or event.verb or "other") == name]) for name in names]


def history_figure(title: str, lanes: Lanes) -> Picture:
    """Commits over time, a line for each stream and branch; a point is as large as its rows are many."""
    figure, axes = empty_figure(title, 8.0, max(2.4, 0.35 * len(lanes) + 1.2), rows=1, columns=1)
    _draw_commits(axes[0], lanes)
    return figure


def lateness_figure(title: str, streams: Sequence[tuple[str, Sequence[tuple[datetime.datetime, float]]]]) -> Picture:
    """The share of late rows over time, a line for each stream."""
    figure, (axes,) = empty_figure(title, 8.0, 3.2, rows=1, columns=1)
    for number, (stream, shares) in enumerate(streams):
        hours, parts = zip(*sorted(shares), strict=True)
        axes.plot(hours, [100 * part for part in parts], marker="o", label=stream, color=SERIES[number % len(SERIES)])
    axes.set_ylabel("late rows, %")
    axes.set_ylim(bottom=0)
    if streams:
        axes.legend(loc="upper left", fontsize=8)
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
    is_due = any(bucket.is_due for bucket in buckets)
    axes.set_title("runs of each bucket; ▼ is to be compacted" if is_due else "runs of each bucket, the oldest below")
    unit, scale = _unit(max((sum(bucket.runs) for bucket in buckets), default=0))
    axes.set_ylabel(unit)
    bottoms = [0.0] * len(buckets)
    for run in range(max((len(bucket.runs) for bucket in buckets), default=0)):
        sizes = [bucket.runs[run] / scale if run < len(bucket.runs) else 0.0 for bucket in buckets]
        axes.bar(range(len(buckets)), sizes, bottom=bottoms, color=SERIES[run % len(SERIES)], width=0.85)
        bottoms = [bottom + size for bottom, size in zip(bottoms, sizes, strict=True)]
    due = [place for place, bucket in enumerate(buckets) if bucket.is_due]
    axes.scatter(due, [bottoms[place] + 0.04 * max(bottoms) for place in due], marker="v", s=24, color=SERIES[5])
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


def _draw_tiers(axes: Axes, tiers: Sequence[Tier]) -> None:
    axes.set_title("sizes of runs, by the tiers of the policy")
    unit, scale = _unit(max((tier.bytes for tier in tiers), default=0))
    axes.set_ylabel(unit)
    bars = axes.bar(range(len(tiers)), [tier.bytes / scale for tier in tiers], color=SERIES[0], width=0.6)
    axes.bar_label(bars, [f"{tier.runs} runs" if tier.runs != 1 else "1 run" for tier in tiers], color=INK, fontsize=8)
    axes.set_xlim(-0.6, max(len(tiers), 4) - 0.4)
    axes.margins(y=0.15)
    axes.set_xticks(range(len(tiers)), [f"below\n{_size(tier.below)}" for tier in tiers])


def _size(count: int) -> str:
    unit, scale = _unit(count)
    return f"{count / scale:.0f} {unit}"


def _draw_amplification(axes: Axes, over_time: Sequence[Amplification]) -> None:
    axes.set_title("for each live byte: runs read, bytes kept")
    if len(over_time) < 2:
        axes.set_axis_off()
        axes.text(0.5, 0.5, "Snapshots keep fewer than two commits.", color=INK, ha="center", va="center", fontsize=9)
        return
    seen = [(each.at, each.reads) for each in over_time if each.reads is not None]
    read_at: list[Any] = [at for at, _ in seen]
    axes.plot(read_at, [reads for _, reads in seen], color=SERIES[0], marker="o", markersize=3, label="runs read")
    kept_at: list[Any] = [each.at for each in over_time]
    axes.step(kept_at, [each.storage for each in over_time], where="post", color=SERIES[1], label="bytes kept")
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False, fontsize=8, labelcolor=INK, loc="upper left")
    axes.set_xlabel("from the oldest commit kept", loc="left")
    show_times(axes)


def _draw_commits(axes: Axes, lanes: Lanes) -> None:
    axes.set_title("commits, as large as their rows are many")
    most = max((event.rows for _, events in lanes for event in events), default=0) or 1
    for number, (_, events) in enumerate(lanes):
        sizes = [12 + 120 * (event.rows / most) ** 0.5 for event in events]
        times: list[Any] = [event.at for event in events]
        axes.scatter(times, [number] * len(times), s=sizes, alpha=0.6, color=SERIES[number % len(SERIES)], linewidths=0)
    axes.set_yticks(range(len(lanes)), [name for name, _ in lanes], parse_math=False)
    axes.set_ylim(-0.6, max(len(lanes) - 0.4, 0.6))
    show_times(axes)


def show_times(axes: Axes) -> None:
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    locator = AutoDateLocator(minticks=3, maxticks=6)  # type: ignore[no-untyped-call]
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
    axes.xaxis.get_offset_text().set_color(INK)
    axes.xaxis.get_offset_text().set_fontsize(8)


_SPANS = {1: "1 s", 60: "1 min", 3600: "1 h", 86400: "1 day", 30 * 86400: "30 days", 365 * 86400: "1 year"}


def _draw_lags(axes: Axes, lags: Sequence[Lags]) -> None:
    axes.set_title("how far streams are behind")
    marks = (("last commit", "o", 0), ("watermark", "D", 1), ("latest row, when it came", "|", 5))
    found = [(each.last_commit, each.watermark, each.latest_row) for each in lags]
    for kind, (name, marker, colour) in enumerate(marks):
        points = [(max(each[kind] or 0, 1), place) for place, each in enumerate(found) if each[kind] is not None]
        if points:
            across, up = zip(*points, strict=True)
            axes.scatter(across, up, marker=marker, s=48, color=SERIES[colour], label=name, alpha=0.85)
    axes.set_xscale("log")
    longest = max((value for each in found for value in each if value is not None), default=1.0)
    ticks = [span for span in _SPANS if span <= longest * 12] or [1]
    axes.set_xticks(ticks, [_SPANS[span] for span in ticks])
    axes.set_xticks([], minor=True)
    axes.set_xlim(0.7, max(longest, 1) * 3)
    axes.set_yticks(range(len(lags)), [each.stream or "without a name" for each in lags], parse_math=False)
    axes.set_ylim(-0.6, len(lags) + 0.6)  # room for the legend
    if lags:
        axes.legend(
            frameon=False, fontsize=8, labelcolor=INK, loc="upper left", ncols=3, columnspacing=1, handletextpad=0.2
        )
