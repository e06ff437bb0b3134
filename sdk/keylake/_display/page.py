"""The page of a table's health. Pure: values in, text out."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from keylake._display.figures import Picture


@dataclass(frozen=True)
class Measure:
    """A figure in words."""

    name: str
    value: str
    remark: str


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
.pictures {{ display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 420px), 1fr)); gap: .8rem; }}
.picture svg {{ width: 100%; height: auto; }}
.table {{ overflow-x: auto; }} table {{ border-collapse: collapse; margin: 1rem 0; font-size: .85rem; }}
caption {{ text-align: left; font-weight: 600; padding: .3rem 0; }}
th, td {{ text-align: left; padding: .25rem .9rem .25rem 0; border-bottom: 1px solid var(--line);
  vertical-align: top; min-width: 3.2em; }}
td:first-child {{ white-space: nowrap; }} td:last-child {{ min-width: 14em; }}
</style></head><body>
<h1>{title}</h1><p class="at">{at}</p>
{to_do}
<div class="measures">{measures}</div>
<div class="pictures">{pictures}</div>
{tables}
</body></html>
"""


def health_page(
    title: str,
    at: datetime.datetime,
    measures: Sequence[Measure],
    to_do: Sequence[str],
    pictures: Iterable[Picture],
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
        pictures="".join(f'<div class="picture">{picture.svg()}</div>' for picture in pictures),
        tables="".join(f'<div class="table">{table}</div>' for table in tables),
    )
