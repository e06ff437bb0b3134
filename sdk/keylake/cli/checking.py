"""The command that checks all files of a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from keylake.checks import CheckLevel
from keylake.cli.opened import USUAL_CATALOG, USUAL_LAKE, CatalogOption, LakeOption, TableArgument, opened
from keylake.cli.shown import JsonOption, show

DeepOption = Annotated[bool, typer.Option("--deep", help="Read every page of every file, too.")]
PlanOption = Annotated[bool, typer.Option("--plan", help="Say what can be had back, and how.")]
CopyOption = Annotated[
    str | None,
    typer.Option("--copy", help="With --plan: a folder with copies of files, as a backup has.", show_default=False),
]


def check(
    table: TableArgument,
    deep: DeepOption = False,
    plan: PlanOption = False,
    copy: CopyOption = None,
    lake: LakeOption = USUAL_LAKE,
    catalog: CatalogOption = USUAL_CATALOG,
    as_json: JsonOption = False,
) -> None:
    """Check the files of a table.

    Looks for damage in all files that the table needs. Nothing is changed. The status is 1 where a file is missing or
    damaged.
    """
    check_table(table, deep, plan, copy, lake, catalog, as_json)


def check_table(table: str, deep: bool, plan: bool, copy: str | None, lake: str, catalog: str, as_json: bool) -> None:
    """Print the report of a table, or the plan of its repair, and end with status 1 where something is damaged."""
    if copy is not None and not plan:
        raise typer.BadParameter("--copy says where copies lie; add --plan")
    level: CheckLevel = "pages" if deep else "files"
    copy = copy if copy is None or "://" in copy else str(Path(copy).absolute())
    with opened(lake, catalog) as found:
        if plan:
            planned = found.table(table).repair_plan(level, copy=copy)
            show(planned, as_json)
            is_damaged = bool(planned.steps)
        else:
            report = found.check(table, level)
            show(report, as_json)
            is_damaged = not report.is_ok
    if is_damaged:
        raise typer.Exit(1)
