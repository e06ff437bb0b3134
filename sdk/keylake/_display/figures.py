"""The one kind of figure: matplotlib's, which a notebook shows by itself, on light and dark pages."""

from __future__ import annotations

import io

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from keylake._display.colours import INK

MOST_PAGE_WIDTH = 11.0  # inches


class Picture(Figure):
    """A figure without a background, so that the page shows through."""

    def __init__(self, width: float, height: float, title: str) -> None:
        super().__init__(figsize=(min(width, MOST_PAGE_WIDTH), height), layout="constrained")
        self.patch.set_alpha(0)
        if title:
            self.suptitle(title, color=INK, fontsize=10, parse_math=False)

    def axes_of(self, rows: int, columns: int) -> list[Axes]:
        """Plain axes, row by row."""
        return [self._plain(rows, columns, number + 1) for number in range(rows * columns)]

    def _plain(self, rows: int, columns: int, number: int) -> Axes:
        axes = self.add_subplot(rows, columns, number)
        axes.patch.set_alpha(0)
        axes.tick_params(colors=INK, labelsize=8)
        for part in (axes.title, axes.xaxis.label, axes.yaxis.label):
            part.set_color(INK)
            part.set_fontsize(9)
        for side, spine in axes.spines.items():
            spine.set_visible(side in ("left", "bottom"))
            spine.set_color(INK)
        return axes

    def _repr_png_(self) -> bytes:
        shown = io.BytesIO()
        self.savefig(shown, format="png", dpi=96)
        return shown.getvalue()

    def svg(self) -> str:
        """The figure as a part of a page, in the page's own colour of text."""
        text = io.StringIO()
        self.savefig(text, format="svg")
        _, start, rest = text.getvalue().partition("<svg")
        return f"{start}{rest}".replace(INK, "currentColor")
