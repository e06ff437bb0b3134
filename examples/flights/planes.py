"""The planes behind the flights: a register, what each plane has flown, and the planes that leave.

    registry     make, model, engine, seats, year     once for every plane, and again when one returns to service
    operations   flights, hours, last airport         a running count per plane, at the end of every month
    retirements  nothing but the tail number          when a plane was not seen for `idle`: its row is deleted

The three are told in months, and some reports months late. A running count that was due before a retirement and comes
after it must not bring the plane back; one that was due after it must.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import pandas as pd
import pyarrow as pa

from flights.feed import INSTANT, Batch, finished_lines
from flights.source import read_csv

PLANE = pa.schema(
    {
        "tail_number": pa.string(),
        "event_time": INSTANT,
        "manufacturer": pa.string(),
        "model": pa.string(),
        "engine": pa.string(),
        "seats": pa.int32(),
        "built": pa.int32(),
        "flights": pa.int32(),
        "hours": pa.float64(),
        "last_airport": pa.string(),
    }
)
KEY = ("tail_number",)
RETIREMENT = (*KEY, "event_time")
REGISTRY = (*RETIREMENT, "manufacturer", "model", "engine", "seats", "built")
OPERATIONS = (*RETIREMENT, "flights", "hours", "last_airport")

LONGEST_IDLE = pd.Timedelta(days=90)
LATE_SHARE = 0.1
LONGEST_LATENESS = pd.Timedelta(days=120)


def planes_feed(first_month: int, seed: int) -> list[Batch]:
    """The batches of the three streams, in the order in which they are committed."""
    flown = _flown(first_month)
    since, until = flown["departed_at"].min(), flown["departed_at"].max()
    gaps = _gaps(flown, until, idle=min(LONGEST_IDLE, (until - since) / 4))
    dice = np.random.default_rng(seed)
    streams = [
        ("registry", _registry(gaps, since.floor("D")), REGISTRY),
        ("operations", _operations(flown), OPERATIONS),
        ("retirements", gaps.assign(event_time=gaps["retired_at"]), RETIREMENT),
    ]
    batches = [batch for stream in streams for batch in _monthly(*stream, dice)]
    return sorted(batches, key=lambda batch: batch.until)


@dataclass(frozen=True)
class Ghost:
    """A plane that is gone, and a report about it that was due before it went and came after."""

    tail_number: str
    retired_at: datetime
    report_of: datetime
    told_by: datetime


def last_ghost(batches: Sequence[Batch]) -> Ghost | None:
    """The one whose report came last."""
    retired: dict[str, datetime] = {}
    newest: dict[str, datetime] = {}
    ghosts: list[Ghost] = []
    for batch in batches:
        for tail_number, happened_at in zip(*(batch.rows[name].to_pylist() for name in RETIREMENT), strict=True):
            known = retired if batch.deletes else newest
            known[tail_number] = max(happened_at, known.get(tail_number, happened_at))
            if not batch.deletes and tail_number in retired and happened_at < retired[tail_number]:
                ghosts.append(Ghost(tail_number, retired[tail_number], happened_at, batch.until))
    gone = [ghost for ghost in ghosts if newest[ghost.tail_number] < retired[ghost.tail_number]]
    return max(gone, key=lambda ghost: ghost.told_by, default=None)


def _flown(first_month: int) -> pd.DataFrame:
    """Every flight that took off, per plane in the order of take-off."""
    lines = finished_lines(first_month)
    return lines[lines["tail_number"].notna()].sort_values(["tail_number", "departed_at"], kind="stable")


def _gaps(flown: pd.DataFrame, until: pd.Timestamp, idle: pd.Timedelta) -> pd.DataFrame:
    """Each time a plane stood still for longer than `idle`; `returned_at` is missing where it never came back."""
    returned_at = flown.groupby("tail_number")["departed_at"].shift(-1)
    stood_still = returned_at.fillna(until) - flown["departed_at"] > idle
    gaps = flown.assign(returned_at=returned_at, retired_at=flown["departed_at"] + idle)
    return gaps.loc[stood_still, ["tail_number", "retired_at", "returned_at"]]


def _registry(gaps: pd.DataFrame, since: pd.Timestamp) -> pd.DataFrame:
    planes = read_csv("planes").rename(columns={"tailnum": "tail_number", "year": "built"})
    again = gaps.dropna(subset="returned_at").rename(columns={"returned_at": "event_time"})
    return pd.concat([planes.assign(event_time=since), planes.merge(again, on="tail_number")])


def _operations(flown: pd.DataFrame) -> pd.DataFrame:
    by_plane = flown.groupby("tail_number")
    counted = flown.assign(
        event_time=flown["departed_at"],
        flights=by_plane.cumcount() + 1,
        hours=flown["air_time"].fillna(0).groupby(flown["tail_number"]).cumsum() / 60,
        last_airport=flown["destination"],
    )
    return counted.drop_duplicates(["tail_number", "month"], keep="last")


def _monthly(
    stream: str, reports: pd.DataFrame, columns: tuple[str, ...], dice: np.random.Generator
) -> Iterator[Batch]:
    late = (dice.random(len(reports)) < LATE_SHARE) & (reports["event_time"] > reports["event_time"].min())
    told = reports["event_time"] + late * dice.random(len(reports)) * LONGEST_LATENESS
    schema = pa.schema([PLANE.field(name) for name in columns])
    for month, rows in reports.groupby(told.dt.tz_localize(None).dt.to_period("M")):
        shuffled = rows.iloc[dice.permutation(len(rows))][list(columns)]
        table = pa.Table.from_pandas(shuffled, schema=schema, preserve_index=False).replace_schema_metadata()
        until = month.end_time.ceil("D").tz_localize("UTC").to_pydatetime()
        yield Batch(stream, table, until, deletes=stream == "retirements")
