"""A row as a grid: a line for each column, a place for each commit, coloured by stream. Values in, drawings out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, cast

from keylake._display.colours import INK, LIGHT, SERIES
from keylake._display.pictures import empty_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_COMMITS = 8
FIELD_INCHES = 1.8  # of the picture, where there are few commits
MOST_CHARACTERS = 24  # of a value in the grid
NO_STREAM = "no stream"


@dataclass(frozen=True)
class GridCommit:
    """A commit, or several that were merged, as the head of a grid has it."""

    stream: str | None
    when: str
    commit: str


@dataclass(frozen=True)
class GridValue:
    """The value that one commit has stored for one column."""

    text: str
    counts: bool
    why: str


@dataclass(frozen=True)
class GridLine:
    """A column: what it reads as, how that comes about, and what commits have stored, by their places."""

    column: str
    value: str
    how: str
    stored: Mapping[int, GridValue]


@dataclass(frozen=True)
class RowGrid:
    """The columns of a row and its commits, the oldest first; of many, the newest."""

    title: str
    commits: Sequence[GridCommit]
    lines: Sequence[GridLine]

    @property
    def first(self) -> int:
        """The place of the oldest commit that is drawn."""
        return max(0, len(self.commits) - MOST_COMMITS)

    @property
    def places(self) -> range:
        """The places of the commits that are drawn."""
        return range(self.first, len(self.commits))

    def colour_of(self, place: int) -> str:
        """The colour of the stream of a commit."""
        streams = sorted({commit.stream or "" for commit in self.commits})
        return SERIES[streams.index(self.commits[place].stream or "") % len(SERIES)]

    def html(self) -> str:
        """A table with coloured cells: bold is what counts, struck through is what does not."""
        heads = "".join(self._head(place) for place in self.places)
        lines = "".join(self._line(line) for line in self.lines)
        older = f"<div>{self.first} older commits are not drawn.</div>" if self.first else ""
        return (
            f"<table><caption>{escape(self.title)}</caption><tr><th></th>{heads}<th>reads as</th></tr>{lines}</table>"
            f"{older}"
        )

    def _head(self, place: int) -> str:
        commit = self.commits[place]
        stream = escape(commit.stream or NO_STREAM)
        chip = f'<span style="border-left: 10px solid {self.colour_of(place)}; padding-left: 5px">{stream}</span>'
        return f'<th title="commit {escape(commit.commit)}">{chip}<br>{escape(commit.when)}</th>'

    def _line(self, line: GridLine) -> str:
        cells = "".join(self._cell(place, line.stored.get(place)) for place in self.places)
        how = f" <small>{escape(line.how)}</small>" if line.how else ""
        return f"<tr><td>{escape(line.column)}</td>{cells}<td><b>{escape(_cut(line.value))}</b>{how}</td></tr>"

    def _cell(self, place: int, stored: GridValue | None) -> str:
        if stored is None:
            return "<td></td>"
        title, text = f' title="{escape(stored.why)}"' if stored.why else "", escape(_cut(stored.text))
        if not stored.counts:
            return f'<td{title}><s style="opacity: .7">{text}</s></td>'
        # A tint of the stream's colour: text of the theme's own colour can be read on it, light or dark.
        return f'<td{title} style="background: {self.colour_of(place)}55"><b>{text}</b></td>'

    def figure(self, title: str) -> Figure:
        """The same by matplotlib: filled is what counts, grey what does not."""
        columns = len(self.places) + 2
        figure, (axes,) = empty_figure(title, FIELD_INCHES * columns, 0.34 * (len(self.lines) + 2) + 0.4, 1, 1)
        axes.set_axis_off()
        axes.set_xlim(0, columns)
        axes.set_ylim(len(self.lines) + 2, 0)
        for number, place in enumerate(self.places, 1):
            commit = self.commits[place]
            _write(axes, number, 0, commit.stream or NO_STREAM, colour=self.colour_of(place), bold=True)
            _write(axes, number, 1, commit.when)
        _write(axes, columns - 1, 1, "reads as")
        for down, line in enumerate(self.lines, 2):
            _write(axes, 0, down, line.column)
            _write(axes, columns - 1, down, line.value, bold=True)
            for number, place in enumerate(self.places, 1):
                if (stored := line.stored.get(place)) is not None:
                    self._draw(axes, number, down, place, stored)
        return figure

    def _draw(self, axes: Axes, number: int, down: int, place: int, stored: GridValue) -> None:
        colour = self.colour_of(place)
        if stored.counts:
            axes.fill_between([number + 0.02, number + 0.98], down + 0.06, down + 0.94, color=colour)
        ink = "#111111" if colour in LIGHT else "#ffffff"
        _write(axes, number, down, stored.text, colour=ink if stored.counts else None, bold=stored.counts)


def _write(axes: Axes, number: int, down: int, text: str, *, colour: str | None = None, bold: bool = False) -> None:
    """Writes into a field of the grid as much as it has room for."""
    inches = cast("Figure", axes.figure).get_figwidth() / axes.get_xlim()[1]
    axes.text(
        number + 0.06,
        down + 0.5,
        _cut(text, int(inches * (11.5 if bold else 13))),
        color=colour or INK,
        fontweight="bold" if bold else "normal",
        fontsize=8,
        verticalalignment="center",
        parse_math=False,
    )


def _cut(text: str, most: int = MOST_CHARACTERS) -> str:
    return text if len(text) <= most else f"{text[: most - 3]}..."
