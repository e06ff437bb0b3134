"""What the story prints: headings, sentences, and small tables of rows."""

import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from zoneinfo import ZoneInfo

from rich import box
from rich.console import Console
from rich.table import Table

NEW_YORK = ZoneInfo("America/New_York")
WIDTH_WHEN_PIPED = 120
LONGEST_WORD = 40  # what is longer is a text, and may take several lines
_BEGUN_AT = time.perf_counter()
_chapters: list[tuple[str, float]] = []  # titles, and when each began
console = Console(width=None if sys.stdout.isatty() else WIDTH_WHEN_PIPED, highlight=False)


def chapter(title: str) -> None:
    """A line across the page, with the time since the story began."""
    _chapters.append((title, time.perf_counter()))
    console.print()
    console.rule(f"[bold]{title}[/] [dim]· {seconds()} s", align="left", style="dim")


def seconds() -> int:
    """How long the story has taken so far."""
    return round(time.perf_counter() - _BEGUN_AT)


def times() -> None:
    """Where the time went, chapter by chapter."""
    ends = [begun_at for _, begun_at in _chapters[1:]] + [time.perf_counter()]
    spent = [(title, end - begun_at) for (title, begun_at), end in zip(_chapters, ends, strict=True)]
    table(({"chapter": title, "seconds": taken} for title, taken in spent), "Where the time went")
    say(f"{seconds()} s in all.")


def counted(number: int, noun: str) -> str:
    """1 commit, 2 commits."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def say(sentence: str) -> None:
    """One sentence; rich's own marks such as [bold] work."""
    console.print(sentence)


def table(rows: Iterable[Mapping[str, object]], title: str = "") -> None:
    """Rows that have the same columns."""
    if title:
        console.print(f"\n[bold]{title}")
    page: Table | None = None
    for row in rows:
        if page is None:
            page = _empty()
            for name, value in row.items():
                number = isinstance(value, int | float)
                page.add_column(name, justify="right" if number else "left", no_wrap=len(_text(value)) <= LONGEST_WORD)
        page.add_row(*map(_text, row.values()))
    console.print(page or "(no rows)")


def before_and_after(before: Mapping[str, object], report: Mapping[str, object], after: Mapping[str, object]) -> None:
    """One row three times, column by column; what the report changed stands out."""
    page = _empty()
    for name in ("column", "before", "the report says", "after"):
        page.add_column(name, no_wrap=True)
    for name, value in after.items():
        told = _text(report[name]) if name in report else ""
        changed = value != before[name]
        page.add_row(name, _text(before[name]), told, _text(value), style="bold green" if changed else "")
    console.print(page)


def _empty() -> Table:
    return Table(box=box.SIMPLE_HEAD, header_style="bold", padding=(0, 1))


def _text(value: object) -> str:
    if value is None:
        return "[dim]–[/dim]"
    if isinstance(value, datetime):
        return f"{value.astimezone(NEW_YORK):%Y-%m-%d %H:%M}"
    if isinstance(value, date):
        return f"{value:%Y-%m-%d}"
    if isinstance(value, float):
        return f"{value:,.1f}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(map(str, value))
    return str(value)
