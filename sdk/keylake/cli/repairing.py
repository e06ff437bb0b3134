"""Commands on the past of tables, and on whole tables: roll back, pick commits, clean, drop."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from keylake.cli.changing import PlanOption
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
from keylake.cli.shown import JsonOption, show
from keylake.errors import DefinitionError


def rollback(
    table: TableArgument,
    commit: Annotated[int, typer.Argument(help="The snapshot at which the table stands again.")],
    of_branch: BranchOption = None,
    lake: LakeOption = USUAL_LAKE,
    catalog: CatalogOption = USUAL_CATALOG,
    as_json: JsonOption = False,
) -> None:
    """Make a table stand at one of its commits again.

    Later ones can be read by their snapshots until they expire.
    """
    with opened(lake, catalog) as found:
        show(branch_of(found.table(table), of_branch).commits.rollback(to=commit), as_json)


def cherry_pick(
    table: TableArgument,
    source: Annotated[str, typer.Argument(help="The branch whose writes are made again, as in tmp_nightly.")],
    after: Annotated[int | None, typer.Option(help="The snapshot behind which the range begins.")] = None,
    until: Annotated[int | None, typer.Option(help="The snapshot with which it ends; the newest unless said.")] = None,
    where: Annotated[
        str | None, typer.Option(help="A condition in SQL: only files all of whose rows it holds for.")
    ] = None,
    plan: PlanOption = False,
    of_branch: BranchOption = None,
    lake: LakeOption = USUAL_LAKE,
    catalog: CatalogOption = USUAL_CATALOG,
    as_json: JsonOption = False,
) -> None:
    """Make the writes of a branch again on main.

    All of the range or none; with --branch on that branch.
    """
    with opened(lake, catalog) as found:
        branches = branch_of(found.table(table), of_branch).branches
        pick = branches.cherry_pick_plan if plan else branches.cherry_pick
        show(pick(source, after=after, until=until, where=where), as_json)


def clean(
    table: TableArgument,
    days: Annotated[int | None, typer.Option(help="Snapshots of so many days are kept.")] = None,
    snapshots: Annotated[int | None, typer.Option(help="So many of each branch are kept, however old.")] = None,
    lake: LakeOption = USUAL_LAKE,
    catalog: CatalogOption = USUAL_CATALOG,
    as_json: JsonOption = False,
) -> None:
    """Expire snapshots, and delete files that nobody needs.

    By the policy of the table, unless days or snapshots are given.
    """
    from keylake._maintenance.retention import RetentionPolicy

    given = {name: value for name, value in (("days", days), ("snapshots", snapshots)) if value is not None}
    with opened(lake, catalog) as found:
        show(found.table(table).layout.clean(RetentionPolicy(**given) if given else None), as_json)


def drop(
    table: TableArgument,
    yes: Annotated[bool, typer.Option("--yes", help="Ask nothing.")] = False,
    lake: LakeOption = USUAL_LAKE,
    catalog: CatalogOption = USUAL_CATALOG,
    as_json: JsonOption = False,
) -> None:
    """Take a table out of the lake, with all of its branches."""
    with opened(lake, catalog) as found:
        name = found.table(table).name
        if not yes:
            if not sys.stdin.isatty():
                raise DefinitionError(f"Nobody can be asked whether {name} is to be dropped. Say it with --yes.")
            typer.confirm(f"Drop {name} with all of its rows and branches?", abort=True)
        found.drop(name)
    show({"dropped": name} if as_json else f"{name} is dropped.", as_json)
