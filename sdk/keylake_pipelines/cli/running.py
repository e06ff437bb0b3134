"""Commands that read the file of a pipeline: one that runs it, and one that compares its rows with the source."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.status import Status

import keylake as kl
from keylake.cli import checking
from keylake.cli.opened import USUAL_CATALOG, USUAL_LAKE, CatalogOption, opened
from keylake.cli.shown import JsonOption, show, show_all, show_table, tell
from keylake_pipelines.runner import control
from keylake_pipelines.runner.settings import Load, PipelineReport, Round, Setting

# What runs pipelines takes a tenth of a second to import: the commands that run none do not wait for it.
if TYPE_CHECKING:
    from keylake_pipelines.pipeline.running import TablePlan


RunLake = Annotated[
    str | None,
    typer.Option(
        "--lake", envvar="KEYLAKE_LAKE", help="The lake of a file that names none: a directory, or sc://host:15002."
    ),
]


def run(
    file: Annotated[str | None, typer.Argument(help="The YAML file of the pipeline.")] = None,
    once: Annotated[bool, typer.Option("--once", help="End when the source has nothing more.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be made, and write nothing.")] = False,
    start: Annotated[
        str | None,
        typer.Option("--from", help="Where the first run begins: earliest, latest, timestamp=..., offset=..."),
    ] = None,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON Schema of the file.")] = False,
    lake: RunLake = None,
    as_json: JsonOption = False,
) -> None:
    """Run a pipeline until it is stopped. It brings tables of a source into keyed tables.

    SIGTERM and Ctrl-C end it after the batch under way. Started again it goes on where it was. The status is 1 where a
    table was set aside, or a step has failed.
    """
    if schema:
        from keylake_pipelines.definition.json_schema import json_schema

        show(json_schema(), True)
        return
    if file is None:
        raise typer.BadParameter("name the file of the pipeline: keylake run pipeline.yaml")
    if dry_run:
        from keylake_pipelines.pipeline.running import planned

        pipeline = _loaded(file, start)
        with _lake_of(pipeline, lake, is_made=False) as found:
            _show_plans(planned(pipeline, found), as_json)
        return
    ending = threading.Event()
    _end_on_signals(ending)
    while True:
        pipeline = _loaded(file, start)
        report, is_to_restart = _run(pipeline, file, lake, start, once, ending)
        if not is_to_restart:
            break
        tell(f"{report}; it begins anew")
        start = None
    show(report, as_json)
    if report.set_aside:
        tell(f"why tables are set aside: keylake status {report.name}")
    if report.set_aside or report.failed_steps:
        raise typer.Exit(1)


def check(
    name: Annotated[
        str,
        typer.Argument(help="A keyed table, as in features.clicks, or the YAML file of a pipeline.", metavar="NAME"),
    ],
    table: Annotated[
        str | None, typer.Argument(help="Of a pipeline: a keyed table, or a source table; all unless said.")
    ] = None,
    deep: checking.DeepOption = False,
    plan: checking.PlanOption = False,
    copy: checking.CopyOption = None,
    lake: RunLake = None,
    catalog: CatalogOption = USUAL_CATALOG,
    as_json: JsonOption = False,
) -> None:
    """Check the files of a table, or the rows of a pipeline.

    Looks for damage in all files that the table needs, or compares the rows of a source with those of keyed tables. A
    name that ends with .yaml or .yml is the file of a pipeline: rows that differ are named, and the command that
    mends them; it may run meanwhile. Any other name is a keyed table, of which nothing is changed. The status is 1
    where a file is missing or damaged, or rows differ or could not be compared.
    """
    if not name.endswith((".yaml", ".yml")):
        if table is not None:
            raise typer.BadParameter(f"{name} is a table, and a second name is for pipelines: keylake check {name}")
        checking.check_table(name, deep, plan, copy, lake or USUAL_LAKE, catalog, as_json)
        return
    if deep or plan or copy is not None:
        raise typer.BadParameter("--deep, --plan and --copy are for tables: keylake check features.clicks --deep")
    pipeline = _loaded(name, None)
    with opened(pipeline.sink.lake or lake or USUAL_LAKE, pipeline.sink.catalog) as found:
        report = kl.check_pipeline(pipeline, found, table)
    show(report, as_json)
    if not report.is_equal:
        raise typer.Exit(1)


def _loaded(file: str, start: str | None) -> kl.Pipeline:
    pipeline = kl.Pipeline.load(file)
    for key in pipeline.ignored():
        tell(f"{file}: {key} means nothing here, and is ignored.")
    if start is None:
        return pipeline
    from keylake_pipelines.pipeline.opening import started_from

    return started_from(pipeline, start)


@contextlib.contextmanager
def _lake_of(pipeline: kl.Pipeline, lake: str | None, *, is_made: bool = True) -> Generator[kl.Lake]:
    """The lake that the file names, or else that of the command. A directory that is not there is made, or imitated."""
    name = pipeline.sink.lake or lake or USUAL_LAKE
    with contextlib.ExitStack() as ending:
        if not name.startswith("sc://") and not Path(name).is_dir():
            if is_made:
                Path(name).mkdir(parents=True)
            else:
                name = ending.enter_context(tempfile.TemporaryDirectory(prefix="keylake-"))
        yield ending.enter_context(opened(name, pipeline.sink.catalog))


def _run(
    pipeline: kl.Pipeline, file: str, lake: str | None, start: str | None, once: bool, ending: threading.Event
) -> tuple[PipelineReport, bool]:
    """Run a pipeline to its end; also, whether it was asked to begin anew."""
    from keylake_pipelines.pipeline.running import load_of

    name = pipeline.pipeline.name
    with _lake_of(pipeline, lake) as found, _progress(name, load_of(pipeline, once=once)) as load:
        if start is not None and any(state.name == name for state in control.states(found)):
            raise kl.DefinitionError(
                f"Pipeline {name!r} has run in this lake, and goes on where it was: --from is for a first run. Leave "
                f"it out, or give the pipeline another name. keylake resnapshot {name} reads all tables once more, and "
                "goes on at the end of the log."
            )
        report = kl.run_pipeline(
            pipeline, found, once=once, load=load, ending=ending, refusal=lambda: _refusal(file, pipeline)
        )
        wanted = [state.wanted for state in control.states(found) if state.name == name]
    return report, wanted == ["restart"] and not ending.is_set()


def _refusal(file: str, running: kl.Pipeline) -> str | None:
    """The reason why a file cannot take the place of the pipeline that runs; None where it can."""
    try:
        found = kl.Pipeline.load(file)
    except kl.KeylakeError as error:
        return str(error)
    name = running.pipeline.name
    return None if found.pipeline.name == name else f"{file} is of pipeline {found.pipeline.name!r} now, not {name!r}."


def _end_on_signals(ending: threading.Event) -> None:
    def end(_number: int, _frame: object) -> None:
        if ending.is_set():
            raise KeyboardInterrupt
        ending.set()
        # Not through sys.stderr, which may be in the middle of a line of the log: it takes no second write then.
        os.write(2, b"keylake: it ends after the batch under way; once more ends it at once\n")

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)


class _Watched:
    """The sizes of rounds as another one has them; what each round did is shown."""

    def __init__(self, load: Load, name: str, shown: Status) -> None:
        self._load = load
        self._name = name
        self._shown = shown

    def next(self, last: Round | None) -> Setting:
        if last is not None:
            lag = "lag unknown" if last.lag.behind is None else f"{last.lag.behind:,} {last.lag.unit} behind"
            rate = last.written / last.seconds if last.seconds else 0.0
            self._shown.update(
                f"{self._name}: round {last.number:,}, {last.written:,} rows to {last.tables:,} tables in "
                f"{last.seconds:.1f} s, {rate:,.0f} rows/s, {lag}"
            )
        return self._load.next(last)


@contextlib.contextmanager
def _progress(name: str, load: Load) -> Generator[Load]:
    """One line that changes in a terminal; lines of a log elsewhere."""
    log = logging.getLogger("keylake")
    if sys.stderr.isatty():
        with Console(stderr=True).status(f"{name}: begins") as shown:
            yield _Watched(load, name, shown)
        return
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    log.addHandler(handler)
    before = log.level
    log.setLevel(logging.INFO)
    try:
        yield load
    finally:
        log.removeHandler(handler)
        log.setLevel(before)


def _show_plans(plans: tuple[TablePlan, ...], as_json: bool) -> None:
    if as_json:
        show_all("", plans, as_json)
        return
    rows = [
        {
            "source": plan.source,
            "keyed table": plan.table,
            "": "new" if plan.is_new else "there",
            "key": ", ".join(plan.key),
            "columns": ", ".join(plan.columns),
            "changes": ", ".join(plan.changes),
        }
        for plan in plans
    ]
    show_table("what the pipeline would do", rows)
