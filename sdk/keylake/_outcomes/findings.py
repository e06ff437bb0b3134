"""The findings of the checks of a branch, as values."""

from __future__ import annotations

from dataclasses import dataclass

from keylake._display.html_table import ShownFields


@dataclass(frozen=True)
class Finding(ShownFields):
    """The finding of a check: a figure, its limit, and whether that is kept."""

    check: str
    value: float | None  # None: there was nothing to measure
    limit: str
    passed: bool

    def __str__(self) -> str:
        return f"{self.check} is {'nothing' if self.value is None else f'{self.value:g}'}, and must be {self.limit}"
