"""Commands that look after pipelines that run elsewhere."""

from __future__ import annotations

import datetime
from dataclasses import asdict
from typing import Annotated

import typer

import keylake as kl
from keylake.cli.opened import USUAL_CATALOG, USUAL_LAKE, CatalogOption, LakeOption, TableArgument, local_lake, opened
from keylake.cli.shown import JsonOption, show, show_all, show_table
from keylake_pipelines.runner import control
from keylake_pipelines.runner.rounds import picture
from keylake_pipelines.runner.state import PipelineState, states_in

NameArgument = Annotated[str, typer.Argument(help="The name of a pipeline.")]
OptionalName = Annotated[str | None, typer.Argument(help="The name of a pipeline; all unless said.")]
AsideArgument = Annotated[str, typer.Argument(help="The keyed table that was set aside.")]


def status(
    name: OptionalName = None,
    lake: LakeOption = USUAL_LAKE,
    catalog: CatalogOption = USUAL_CATALOG,
    as_json: JsonOption = False,
) -> None:
    """Show the pipelines of a lake. Of each: whether it runs, how far behind it is, and what went wrong.

    Of one pipeline, the lag, the rates and the batches of its last rounds are drawn, too.
    """
    states = [state for state in _states(lake, catalog) if name in (None, state.name)]
    if name is not None and not states:
        raise kl.NothingToDo(f"This lake knows no pipeline {name!r}. keylake status lists those that it knows.")
    if as_json:
        show_all("", [_row(state) for state in states], as_json)
    else:
        show_table("pipelines", [_row(state) | {"seen": _ago(state.seen_at)} for state in states], _SHOWN)
        for state in states if name is not None else []:
            if state.refusal is not None:
                typer.echo(f"{state.name} did not begin anew when it was asked last: {state.refusal}")
            for table, since in state.set_aside.items():
                typer.echo(f"{table} is {since}")
            for said in state.differences.values():
                typer.echo(f"rows differ from the source: {said}")
            for line in picture(state.recent, state.unit):
                typer.echo(line)


def stop(
    name: NameArgument,
    lake: LakeOption = USUAL_LAKE,
    catalog: CatalogOption = USUAL_CATALOG,
    as_json: JsonOption = False,
) -> None:
    """Ask a pipeline to end after the batch under way."""
    with opened(lake, catalog) as found:
        state = control.stop(found, name)
    if as_json:
        show(_row(state) | {"wanted": "stop"}, as_json)
    else:
        typer.echo(f"{name} on {state.host}, process {state.process}, is asked to stop after the batch under way.")


def restart(
    name: NameArgument,
    lake: LakeOption = USUAL_LAKE,
    catalog: CatalogOption = USUAL_CATALOG,
    as_json: JsonOption = False,
) -> None:
    """Ask a pipeline to read its file anew. It does so after the batch under way, and goes on.

    The status is 1 where the file has a mistake: the pipeline goes on as it was.
    """
    with opened(lake, catalog) as found:
        state = control.restart(found, name)
    if as_json:
        show(None if state is None else _row(state), as_json)
    elif state is None:
        typer.echo(f"{name} is asked to restart, and has not answered yet: keylake status {name} tells what it did.")
    else:
        typer.echo(f"{name} on {state.host}, process {state.process}, has read its file anew.")


def resume(
    name: NameArgument,
    table: AsideArgument,
    lake: LakeOption = USUAL_LAKE,
    catalog: CatalogOption = USUAL_CATALOG,
    as_json: JsonOption = False,
) -> None:
    """Let a table that was set aside go on. The rows that were kept come first."""
    with opened(lake, catalog) as found:
        control.resume(found, name, table)
    _show_wish(name, table, "resume", f"{name} is asked to resume {table}.", as_json)


def skip(
    name: NameArgument,
    table: AsideArgument,
    lake: LakeOption = USUAL_LAKE,
    catalog: CatalogOption = USUAL_CATALOG,
    as_json: JsonOption = False,
) -> None:
    """Let a table go on without rows that were kept. They are lost."""
    with opened(lake, catalog) as found:
        control.skip(found, name, table)
    said = f"{name} is asked to go on with {table} without the rows that were kept."
    _show_wish(name, table, "skip", said, as_json)


def resnapshot(
    name: NameArgument,
    table: Annotated[str | None, typer.Argument(help="The keyed table; all of them unless said.")] = None,
    lake: LakeOption = USUAL_LAKE,
    catalog: CatalogOption = USUAL_CATALOG,
    as_json: JsonOption = False,
) -> None:
    """Read a table of the source once more. Rows that are gone there become deletes.

    A table that was set aside goes on. Without a table, a pipeline begins again at the end of its source's log. One
    that does not run does it when it runs again.
    """
    with opened(lake, catalog) as found:
        control.resnapshot(found, name, table)
    said = f"{name} is asked to read {table or 'all tables'} once more."
    _show_wish(name, table, "resnapshot", said, as_json)


def forget(
    name: NameArgument,
    table: Annotated[str, typer.Argument(help="The keyed table.")],
    lake: LakeOption = USUAL_LAKE,
    catalog: CatalogOption = USUAL_CATALOG,
    as_json: JsonOption = False,
) -> None:
    """Let a pipeline forget a table. Its source is read as that of a new one, and rows that were kept are lost.

    The keyed table stays. A pipeline that does not run does it when it runs again.
    """
    with opened(lake, catalog) as found:
        control.forget(found, name, table)
    _show_wish(name, table, "forget", f"{name} is asked to forget {table}.", as_json)


def retype(
    table: TableArgument,
    column: Annotated[str, typer.Argument(help="A value column.")],
    type_: Annotated[str, typer.Argument(metavar="TYPE", help="string, double, 'decimal(38, 2)', ...")],
    lake: LakeOption = USUAL_LAKE,
    catalog: CatalogOption = USUAL_CATALOG,
    as_json: JsonOption = False,
) -> None:
    """Give a column of a table of a pipeline another type. Its values stay, with their versions.

    A value that the type would change is refused; string holds all. A table that was set aside goes on by keylake
    resume then.
    """
    with opened(lake, catalog) as found:
        from keylake_pipelines.pipeline.retyping import retype  # needs all of a table's verbs, other commands do not

        show(retype(found, table, column, type_), as_json)


_SHOWN = ("name", "state", "seen", "lag", "rounds", "rows", "host", "process", "wanted", "last_error")


def _states(lake: str, catalog: str) -> tuple[PipelineState, ...]:
    with local_lake(lake, catalog) as here:
        if here is not None:
            try:
                return states_in(here.table(control.table_of_pipelines()).read().to_arrow().to_pylist())
            except kl.TableNotFound:
                return ()
    with opened(lake, catalog) as found:
        return control.states(found)


def _show_wish(name: str, table: str | None, wanted: str, said: str, as_json: bool) -> None:
    show({"name": name, "table": table, "wanted": wanted} if as_json else said, as_json)


def _row(state: PipelineState) -> dict[str, object]:
    return asdict(state)


def _ago(moment: datetime.datetime) -> str:
    seconds = (datetime.datetime.now(datetime.timezone.utc) - moment).total_seconds()
    return f"{max(0, seconds):.0f} s ago" if seconds < 600 else moment.strftime("%Y-%m-%d %H:%M:%S")
