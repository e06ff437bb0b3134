"""Commands that change tables: upkeep, branches, undo."""

from __future__ import annotations

import time
from typing import Annotated, Literal

import typer

from keylake.cli.opened import (
    USUAL_CATALOG,
    USUAL_LAKE,
    BranchOption,
    CatalogOption,
    LakeOption,
    TableArgument,
    branch_of,
    opened,
)
from keylake.cli.shown import JsonOption, show, show_all

PlanOption = Annotated[bool, typer.Option("--plan", help="Say what would be done, and do nothing.")]
BranchArgument = Annotated[str, typer.Argument(help="A branch, as in tmp_nightly.")]

branch = typer.Typer(help="Make, list and drop branches of a table.", no_args_is_help=True)


def compact(
    table: TableArgument,
    policy: Annotated[
        Literal["full", "settle", "maintenance"] | None,
        typer.Option(help="full merges all runs, settle only records what is superseded; the table's own unless said."),
    ] = None,
    plan: PlanOption = False,
    of_branch: BranchOption = None,
    lake: LakeOption = USUAL_LAKE,
    catalog: CatalogOption = USUAL_CATALOG,
    as_json: JsonOption = False,
) -> None:
    """Merge and settle runs until the policy asks for no more merges."""
    with opened(lake, catalog) as found:
        on = branch_of(found.table(table), of_branch)
        done = on.layout.compaction_plan(policy) if plan else on.compact(policy)
    if as_json:
        show_all("", tuple(done), as_json)
    else:
        typer.echo(str(done))


def move(
    table: TableArgument,
    every: Annotated[
        float | None, typer.Option(min=0.1, help="Go on, and move what has come every so many seconds.")
    ] = None,
    lake: LakeOption = USUAL_LAKE,
    catalog: CatalogOption = USUAL_CATALOG,
    as_json: JsonOption = False,
) -> None:
    """Move what is in the log of a table to its files."""
    with opened(lake, catalog) as found:
        of = found.table(table)
        show(of.log.move(), as_json)
        while every is not None:
            time.sleep(every)
            moved = of.log.move()
            if moved.entries:
                show(moved, as_json)


@branch.command("list")
def list_(
    table: TableArgument,
    lake: LakeOption = USUAL_LAKE,
    catalog: CatalogOption = USUAL_CATALOG,
    as_json: JsonOption = False,
) -> None:
    """List the branches and tags of a table."""
    with opened(lake, catalog) as found:
        rows = [row.asDict(recursive=True) for row in found.table(table).branches().collect()]
    show_all(table, rows, as_json)


@branch.command()
def create(
    table: TableArgument,
    name: BranchArgument,
    lake: LakeOption = USUAL_LAKE,
    catalog: CatalogOption = USUAL_CATALOG,
    as_json: JsonOption = False,
) -> None:
    """Make a branch of main if it is not there."""
    with opened(lake, catalog) as found:
        is_new = found.table(table).branches.create(name)
    said = f"{table} has the new branch {name}." if is_new else f"{table} has the branch {name}."
    show({"table": table, "created": name} if as_json else said, as_json)


@branch.command()
def drop(
    table: TableArgument,
    name: BranchArgument,
    lake: LakeOption = USUAL_LAKE,
    catalog: CatalogOption = USUAL_CATALOG,
    as_json: JsonOption = False,
) -> None:
    """Drop a branch; commits that main has not are gone."""
    with opened(lake, catalog) as found:
        found.table(table).branches.drop(name)
    show({"table": table, "dropped": name} if as_json else f"{table} has no branch {name} any more.", as_json)


def publish(
    table: TableArgument,
    name: BranchArgument,
    lake: LakeOption = USUAL_LAKE,
    catalog: CatalogOption = USUAL_CATALOG,
    as_json: JsonOption = False,
) -> None:
    """Bring the commits of a branch to main, all of them or none."""
    with opened(lake, catalog) as found:
        show(branch_of(found.table(table), name).publish(), as_json)


def undo(
    table: TableArgument,
    commit: Annotated[int | None, typer.Argument(help="The snapshot of the one commit to take back.")] = None,
    after: Annotated[int | None, typer.Option(help="The snapshot behind which the range begins.")] = None,
    until: Annotated[int | None, typer.Option(help="The snapshot with which it ends; the newest unless said.")] = None,
    everything: Annotated[bool, typer.Option("--everything", help="The range begins with the first commit.")] = False,
    plan: PlanOption = False,
    of_branch: BranchOption = None,
    lake: LakeOption = USUAL_LAKE,
    catalog: CatalogOption = USUAL_CATALOG,
    as_json: JsonOption = False,
) -> None:
    """Take back the write of one commit, or of a range of commits. Later commits keep their effect."""
    if commit is not None and (after is not None or until is not None or everything):
        raise typer.BadParameter(f"{commit} is a range of one commit; leave --after, --until and --everything away")
    if after is not None and everything:
        raise typer.BadParameter(f"--after {after} begins behind a commit, --everything at the first one; give one")
    if commit is None and after is None and not everything:
        raise typer.BadParameter(
            "the range of commits has no beginning; give a snapshot to take back that one commit, --after SNAPSHOT for "
            "those behind one, or --everything; keylake history lists them"
        )
    with opened(lake, catalog) as found:
        on = branch_of(found.table(table), of_branch)
        undo = on.commits.undo_plan if plan else on.undo
        show(undo(commit, after=after, until=until, everything=everything), as_json)
