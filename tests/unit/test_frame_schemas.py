"""Classes of tables as schemas of pandera and dataframely: they take what reads give, and refuse anything else."""

import datetime
import os
import sys
from decimal import Decimal
from typing import Annotated, Any
from uuid import UUID

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from typing_extensions import TypedDict

import keylake as kl
import keylake.local

os.environ.setdefault("PYARROW_IGNORE_TIMEZONE", "")  # before pandera sets it for all tests of this process
refusals = pytest.importorskip("pandera.errors")
dy = pytest.importorskip("dataframely", reason="dataframely needs Python 3.11")


class Home(TypedDict):
    city: str
    zip: int


class Wide(kl.Table, name="features.wide_profile", versions="explicit"):
    """A column of each kind."""

    user: kl.Int64 = kl.key(name="user id", doc="Who.")
    day: datetime.date = kl.key()
    flag: bool | None = kl.column()
    few: kl.Int32 | None = kl.column()
    share: kl.Float32 | None = kl.column()
    spend: Annotated[Decimal, kl.Decimal(9, 2)] | None = kl.column()
    at: datetime.datetime | None = kl.column()
    local: kl.Timestamp | None = kl.column()
    city: str | None = kl.column()
    photo: bytes | None = kl.column()
    device: UUID | None = kl.column()
    pages: list[str] | None = kl.column()
    home: Home | None = kl.column()
    hits: dict[str, int] | None = kl.column()


NOON = datetime.datetime(2026, 11, 1, 12)
FULL = {
    "user id": 7, "day": NOON.date(), "flag": True, "few": 1, "share": 0.5, "spend": Decimal("1.50"),
    "at": NOON.replace(tzinfo=datetime.timezone.utc), "local": NOON, "city": "Oslo", "photo": b"x",
    "device": UUID(int=7), "pages": ["a", None], "home": {"city": "Oslo", "zip": None}, "hits": {"a": 1, "b": None},
}  # fmt: skip
EMPTY = dict.fromkeys(FULL) | {"user id": 8, "day": NOON.date()}


@pytest.fixture(scope="module")
def read() -> keylake.local.MergedRows[Any]:
    """Rows as a read without a server gives them: one with a value in each column, one of its key alone."""
    with keylake.local.open(":memory:") as lake:
        table = lake.create(Wide)
        table.upsert([FULL, EMPTY], version=1)
        return table.read()


def as_spark_gives(rows: pa.Table) -> pa.Table:
    """The rows as Spark gives them: times in the zone of the session, uuids as text."""
    zone = pa.timestamp("us", "America/St_Johns")
    rows = rows.set_column(rows.column_names.index("at"), "at", rows["at"].cast(zone))
    texts = pa.array([None if each is None else str(each) for each in rows["device"].to_pylist()], pa.string())
    return rows.set_column(rows.column_names.index("device"), "device", texts)


WRONG_IN_PANDAS: dict[str, Any] = {
    "another type": lambda frame: frame.assign(few=frame["few"].astype("int64[pyarrow]")),
    "another precision": lambda frame: frame.assign(spend=frame["spend"].astype(pd.ArrowDtype(pa.decimal128(10, 2)))),
    "no zone": lambda frame: frame.assign(at=frame["local"]),
    "a null in the key": lambda frame: frame.assign(**{"user id": pd.Series([7, None], dtype="int64[pyarrow]")}),
    "a key twice": lambda frame: pd.concat([frame, frame], ignore_index=True),
    "a column too few": lambda frame: frame.drop(columns="city"),
    "a column too many": lambda frame: frame.assign(more=1),
}


def test_pandera_takes_what_reads_give_as_pandas(read: keylake.local.MergedRows[Any]) -> None:
    schema = Wide.to_pandera()
    assert schema.name == "features.wide_profile"
    assert schema.columns["user id"].description == "Who."
    schema.validate(read.to_pandas())
    schema.validate(as_spark_gives(read.to_arrow()).to_pandas(types_mapper=pd.ArrowDtype))


@pytest.mark.parametrize("case", WRONG_IN_PANDAS)
def test_pandera_refuses_pandas(read: keylake.local.MergedRows[Any], case: str) -> None:
    with pytest.raises((refusals.SchemaError, refusals.SchemaErrors)):
        Wide.to_pandera().validate(WRONG_IN_PANDAS[case](read.to_pandas()))


WRONG_IN_POLARS: dict[str, Any] = {
    "another type": lambda frame: frame.with_columns(pl.col("few").cast(pl.Int64)),
    "no zone": lambda frame: frame.with_columns(at=pl.col("local")),
    "a null in the key": lambda frame: frame.with_columns(day=pl.lit(None, pl.Date)),
    "a key twice": lambda frame: pl.concat([frame, frame]),
    "a column too few": lambda frame: frame.drop("city"),
}


def test_schemas_take_what_reads_give_as_polars(read: keylake.local.MergedRows[Any]) -> None:
    there: Any = pl.from_arrow(as_spark_gives(read.to_arrow()))
    Wide.to_pandera("polars").validate(there)
    schema = Wide.to_dataframely()
    assert (schema.__name__, schema.primary_key()) == ("WideProfile", ["user id", "day"])
    schema.validate(there.with_columns(pl.col("at").dt.convert_time_zone("UTC")))


@pytest.mark.parametrize("case", WRONG_IN_POLARS)
def test_schemas_refuse_polars(read: keylake.local.MergedRows[Any], case: str) -> None:
    right: Any = pl.from_arrow(as_spark_gives(read.to_arrow()))
    wrong = WRONG_IN_POLARS[case](right.with_columns(pl.col("at").dt.convert_time_zone("UTC")))
    with pytest.raises((refusals.SchemaError, refusals.SchemaErrors)):
        Wide.to_pandera("polars").validate(wrong)
    with pytest.raises((dy.exc.ValidationError, dy.exc.SchemaError)):
        Wide.to_dataframely().validate(wrong)


def test_a_library_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandera.pandas", None)
    monkeypatch.setitem(sys.modules, "dataframely", None)
    with pytest.raises(kl.Unsupported, match=r"pip install 'keylake\[pandera\]'"):
        Wide.to_pandera()
    with pytest.raises(kl.Unsupported, match=r"pip install 'keylake\[dataframely\]'"):
        Wide.to_dataframely()
    with pytest.raises(kl.DefinitionError, match="frame is 'spark'"):
        Wide.to_pandera("spark")  # type: ignore[arg-type]
