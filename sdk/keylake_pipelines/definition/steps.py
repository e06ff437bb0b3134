"""Steps of a pipeline: files of SQL that are run for closed intervals of its keyed tables."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, PlainSerializer, ValidationInfo, WithJsonSchema

import keylake as kl
from keylake.extension import statements
from keylake_pipelines.definition.fields import Definition, Duration, IntervalLength, named
from keylake_pipelines.runner.steps import TableStep


def _there(path: str, info: ValidationInfo) -> str:
    """The path of a file with statements; one that is relative lies beside the file of the pipeline."""
    found = Path(path) if info.context is None else Path(str(info.context)).parent / path
    try:
        text = found.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "It is no UTF-8"
        raise ValueError(f"is {path!r}, and {str(found)!r} cannot be read: {why}. Name a file of SQL.") from None
    if not statements(text):
        raise ValueError(f"is {path!r}, and {str(found)!r} has no statement.")
    return str(found)


def _with_zone(moment: datetime.datetime) -> datetime.datetime:
    if moment.tzinfo is None:
        raise ValueError(f"is {moment}, and has no time zone. Write it as 2026-01-31T12:00:00Z.")
    return moment


Moment = Annotated[
    datetime.datetime,
    AfterValidator(_with_zone),
    PlainSerializer(datetime.datetime.isoformat),
    WithJsonSchema({"type": "string", "examples": ["2026-01-31T12:00:00Z"]}),
]


class Step(Definition):
    """A file of SQL that is run once for every closed interval of a keyed table's event time.

    Example::

        step = kl.Step(sql="totals.sql", every=datetime.timedelta(minutes=5), table="lake.orders", event_time="paid_at")
    """

    sql: Annotated[
        str, AfterValidator(_there), named("sql", "The file; its path begins at the folder of the pipeline's file.")
    ]
    every: Annotated[
        IntervalLength, named("every", "How long intervals are, whole minutes that divide a day: `5 minutes`.")
    ]
    table: Annotated[str, named("table", "The keyed table whose rows close intervals: `lake.orders`.")]
    event_time: Annotated[
        str | None,
        named("event-time", "Its column with the event time; that of the change in the source unless said."),
    ] = None
    late: Annotated[Duration, named("late", "How late rows may come: intervals are closed so much later.")] = (
        datetime.timedelta(0)
    )
    since: Annotated[
        Moment | None,
        named("since", "The first interval is the one that this moment is in; that of the first rows unless said."),
    ] = None
    name: Annotated[
        str | None,
        named("name", "What its position in the table is called; as the file, without its ending, unless said."),
    ] = None

    @property
    def trigger(self) -> str:
        """The name of the step's position in the table."""
        return self.name or Path(self.sql).stem

    def as_run(self, pipeline: str) -> TableStep:
        """The step as the loop of a pipeline takes it."""
        minutes = self.every // datetime.timedelta(minutes=1)
        step = kl.SqlStep(self.sql, minutes, self.table, pipeline, self.trigger)
        return TableStep(step, self.event_time, self.late, self.since)
