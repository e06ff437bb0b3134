"""One picture of the year and of how the lake came to know it.

┌──────────────────────────────────────────────────────────┐
│  the merged table: mean delay, every hour of every day   │
├───────────────────┬──────────────────┬───────────────────┤
│ one day, commit   │ its mean delay   │ how late reports  │
│ by commit         │ as shown         │ are               │
└───────────────────┴──────────────────┴───────────────────┘
"""

import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa

from flights.feed import night_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK, FAINT, RULE, PAPER = "#1d2733", "#8b95a1", "#e6e4dd", "#fbfaf7"
STATUS = {"landed": "#2a6f97", "diverted": "#61a5c2", "departed": "#f4a259", "cancelled": "#bc4b51"}
STREAM = {"departures": "#f4a259", "arrivals": "#2a6f97"}
AGES = {"that day's": "#c9d6d5", "a day late": "#f28c4c", "later still": "#7c1d5a"}
HEAT = ["#dfe7e8", "#f7f3e3", "#fbd48a", "#f28c4c", "#cf3f4b", "#7c1d5a", "#2b0f3f"]
STYLE: dict[Any, Any] = {
    "font.size": 9,
    "text.color": INK,
    "axes.edgecolor": FAINT,
    "axes.facecolor": PAPER,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
    "figure.facecolor": PAPER,
    "legend.columnspacing": 1,
    "legend.frameon": False,
    "legend.handlelength": 0.9,
    "xtick.color": FAINT,
    "xtick.major.size": 0,
    "ytick.color": FAINT,
    "ytick.major.size": 0,
}
OPENING_HOUR, CLOSING_HOUR = 5, 24


@dataclass(frozen=True)
class Glimpse:
    """What the table told about one day right after one commit."""

    label: str
    stream: str
    by_status: dict[str, int]
    mean_delay: float | None


def can_be_drawn() -> bool:
    """Whether matplotlib is there: keylake itself does without it."""
    return importlib.util.find_spec("matplotlib") is not None


def draw(flights: pa.Table, day: date, glimpses: Sequence[Glimpse], reports: pd.DataFrame, file: Path) -> None:
    """Writes the picture as PNG."""
    import matplotlib as mpl

    mpl.use("agg")
    import matplotlib.pyplot as plt

    with plt.rc_context(STYLE):
        figure = plt.figure(figsize=(14, 8.4))
        rows = figure.add_gridspec(
            2, 1, height_ratios=[1.25, 1], hspace=0.34, left=0.05, right=0.97, top=0.86, bottom=0.08
        )
        below = rows[1].subgridspec(1, 3, wspace=0.17)
        _year(figure.add_subplot(rows[0]), flights)
        _day(figure.add_subplot(below[0]), day, glimpses)
        _delay(figure.add_subplot(below[1]), glimpses)
        _nights(figure.add_subplot(below[2]), reports)
        figure.text(0.05, 0.945, "A year over New York, told late", fontsize=22, fontweight="bold")
        told = f"{len(flights):,} flights of 2013, merged from reports that came late, twice and out of order"
        figure.text(0.05, 0.912, told, fontsize=11, color=FAINT)
        figure.savefig(file, dpi=150)
        plt.close(figure)


def _year(axes: "Axes", flights: pa.Table) -> None:
    from matplotlib.colors import LinearSegmentedColormap, TwoSlopeNorm

    flown = flights.select(["scheduled_at", "departure_delay"]).to_pandas().dropna()
    clock = flown["scheduled_at"].dt.tz_convert("America/New_York")
    first = clock.min().tz_localize(None).normalize()
    days = (clock.max().tz_localize(None) - first).days + 1
    grid = np.full((CLOSING_HOUR - OPENING_HOUR, days), np.nan)
    by_hour = flown["departure_delay"].groupby([(clock.dt.tz_localize(None) - first).dt.days, clock.dt.hour]).mean()
    for (column, hour), mean in by_hour.items():
        if OPENING_HOUR <= hour < CLOSING_HOUR:
            grid[hour - OPENING_HOUR, column] = mean
    heat = axes.imshow(
        grid,
        aspect="auto",
        origin="lower",
        cmap=LinearSegmentedColormap.from_list("heat", HEAT),
        norm=TwoSlopeNorm(25, vmin=-10, vmax=120),
        extent=(0, days, OPENING_HOUR, CLOSING_HOUR),
        interpolation="nearest",
    )
    months = pd.date_range(first, periods=days).to_period("M").unique()
    starts = [max((month.start_time - first).days, 0) for month in months]
    axes.set_xticks(starts, [month.strftime("%B") for month in months], ha="left", color=INK)
    axes.set_yticks([6, 12, 18, 24], ["6 am", "noon", "6 pm", "midnight"])
    axes.spines[:].set_visible(False)
    axes.set_title("Mean delay at take-off, every hour of every day", pad=8)
    bar = axes.figure.colorbar(heat, ax=axes, pad=0.012, fraction=0.022, aspect=22, ticks=[-10, 0, 25, 60, 120])
    bar.ax.set_yticklabels(["early", "on time", "25 min", "1 hour", "2 hours"])
    bar.outline.set_visible(False)


def _day(axes: "Axes", day: date, glimpses: Sequence[Glimpse]) -> None:
    places = range(len(glimpses))
    floor = np.zeros(len(glimpses))
    for status, colour in STATUS.items():
        counts = np.array([glimpse.by_status.get(status, 0) for glimpse in glimpses])
        axes.bar(places, counts, bottom=floor, color=colour, width=0.82, label=status)
        floor += counts
    axes.axhline(floor[-1], color=INK, linewidth=0.8, linestyle=(0, (4, 3)))
    axes.set_title(f"{day:%-d %B} as the table knew it, by commit", pad=20)
    _legend_above(axes)
    _commits_below(axes, glimpses)


def _delay(axes: "Axes", glimpses: Sequence[Glimpse]) -> None:
    from matplotlib.ticker import MaxNLocator

    shown = [np.nan if glimpse.mean_delay is None else glimpse.mean_delay for glimpse in glimpses]
    axes.axhline(shown[-1], color=INK, linewidth=0.8, linestyle=(0, (4, 3)))
    axes.plot(range(len(shown)), shown, color=INK, linewidth=1.6, zorder=2)
    axes.scatter(range(len(shown)), shown, s=46, c=[STREAM[glimpse.stream] for glimpse in glimpses], zorder=3)
    for place, offset, side in ((0, (9, -4), "left"), (len(shown) - 1, (0, 9), "center")):
        text = f"{shown[place]:.1f} min"
        where = (float(place), shown[place])
        axes.annotate(text, where, textcoords="offset points", xytext=offset, ha=side, fontweight="bold")
    axes.yaxis.set_major_formatter("{x:.0f} min")
    axes.yaxis.set_major_locator(MaxNLocator(5, integer=True))
    axes.margins(y=0.22)
    axes.set_title("… and the mean delay it showed", pad=20)
    _commits_below(axes, glimpses)


def _commits_below(axes: "Axes", glimpses: Sequence[Glimpse]) -> None:
    axes.set_xticks(range(len(glimpses)), [glimpse.label for glimpse in glimpses], fontsize=8)
    for tick, glimpse in zip(axes.get_xticklabels(), glimpses, strict=True):
        tick.set_color(STREAM[glimpse.stream])
        tick.set_fontweight("bold")
    _plain(axes)


def _nights(axes: "Axes", reports: pd.DataFrame) -> None:
    nights = night_of(reports["arrives"])
    first = nights.min()
    days_late = (nights - night_of(reports["event_time"])).dt.days
    floor = np.zeros((nights.max() - first).days + 1)
    for (age, colour), told in zip(AGES.items(), (days_late == 0, days_late == 1, days_late > 1), strict=True):
        counts = np.bincount((nights[told] - first).dt.days, minlength=len(floor))
        axes.bar(range(len(floor)), counts, bottom=floor, color=colour, width=0.82, label=age)
        floor += counts
    steps = range(0, len(floor), max(1, len(floor) // 5))
    axes.set_xticks(steps, [f"{first + pd.Timedelta(days=step):%-d %b}" for step in steps])
    axes.set_title("What each night brought, by age of report", pad=20)
    _legend_above(axes)
    _plain(axes)


def _legend_above(axes: "Axes") -> None:
    axes.legend(loc="lower left", bbox_to_anchor=(-0.03, 0.99), ncols=4)


def _plain(axes: "Axes") -> None:
    axes.spines["left"].set_visible(False)
    axes.grid(axis="y", color=RULE, linewidth=0.7)
    axes.set_axisbelow(True)
