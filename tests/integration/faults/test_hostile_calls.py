"""Arguments and properties that nobody means well: an answer or one sentence; what is refused has changed nothing."""

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from inspect import Parameter, signature
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException

import keylake as kl
import keylake.local
from integration.histories import Shape
from integration.random_runs import seeds
from integration.twin import Twin, fresh_name
from keylake._server.statements import literal

VAR_POSITIONAL, VAR_KEYWORD = Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD
PUBLIC = Path(__file__).parents[2] / "public"
LONG = 10_000
TEXTS = (
    "", " ", ".", "..", "a..b", "../../outside", "/", "file:///", "main", "tmp_a", "x" * LONG,
    "a." * 200 + "b", "'", '"', "`", "``", "a`b", "a'b", "'; DROP TABLE x; --", "\x00", "a\x00b", "\n", "\t",
    "\u202e", "\ud7ff", "é", "😀", "İ", "null", "NULL", "true", "1", "-1", "1e999", "NaN", "0", "9" * 400,
    "2026-11-28", "2026-02-30", "0000-00-00", "9999-12-31", "2026-11-28T10:00:00Z", "2026-11-28T10:00:00+99:00",
    "300000-01-01", "-300000-01-01", "{", "}", "[]", "{}", "null ", '"a"', "[1]", '{"a": 1}', '{"": null}',
    "[" * LONG, '{"a":' * LONG, '{"a": 1, "a": 2}', '{"type": "Sum"}', '{"keep": {"days": -1}}', '{"days": 1e30}',
    '{"days": 1, "snapshots": -5}', '{"tier_runs": 0}', '{"id": 1}', '[{"rename": "a", "to": "id"}]',
    '{"id": [9223372036854775807, 9223372036854775808]}', "true OR true", "id > 0", "id = 1 AND",
    "id = (SELECT 1)", "rand() > 0.5", "a = a", "1/0 = 1", "nothing = 1", "id IN ()",
    "java_method('System', 'exit', 1) IS NULL", "(" * 2_000, "id = 1 " + "OR id = 1 " * 400, "sparkey", "parquet",
    "full", "settle", "maintenance", "explicit", "id", "ID", "a", "_merge_info", "_bucket", "lake.a.b",
)  # fmt: skip
NUMBERS = (0, 1, -1, 2, 7, 1 << 20, (1 << 31) - 1, 1 << 31, (1 << 63) - 1, -(1 << 63))
JVM = re.compile(r"\b(?:java|javax|scala|com|net|org)\.\w+\.\w|Exception\b|\n\s+at |^\s*$|\$\$")
# These end or hold up what other tests use, or are of no table.
LEFT_OUT = {"pause_maintenance", "resume_maintenance", "kafka_offsets", "forget_sent", "write_tables", "explain_row"}
CALLS = 30


def procedures() -> dict[str, dict[str, str]]:
    """The procedures with their arguments and types."""
    found = {}
    for line in (PUBLIC / "procedures.txt").read_text().splitlines():
        name, _, rest = line.partition("(")
        arguments = re.findall(r"(\w+) (STRING|BIGINT|BOOLEAN|ARRAY<STRING>)", rest.partition(") returns")[0])
        if name not in LEFT_OUT:
            found[name] = dict(arguments)
    return found


def calls(random: Random, twin: Twin) -> Iterator[tuple[str, dict[str, object]]]:
    known = procedures()
    texts = (*TEXTS, twin.table.name, f"lake.{twin.table.name}")
    ids = (*NUMBERS, *(commit.snapshot_id for commit in twin.commits))
    draws: Mapping[str, object] = {
        "STRING": lambda: random.choice(texts),
        "BIGINT": lambda: random.choice(ids),
        "BOOLEAN": lambda: random.random() < 0.5,
        "ARRAY<STRING>": lambda: random.choices(texts, k=random.randint(0, 3)),
    }
    while True:
        name = random.choice(list(known))
        given: dict[str, object] = {}
        for argument, type_ in known[name].items():
            if argument == "table" and random.random() < 0.8:
                given[argument] = twin.table.name
            elif random.random() < 0.7:
                given[argument] = draws[type_]()  # type: ignore[operator]
        yield name, given


@pytest.mark.parametrize("seed", seeds(1, 120))
def test_hostile_arguments_of_procedures(lake: kl.Lake, warehouse: Path, seed: int) -> None:
    random = Random(seed)
    twin = Shape("explicit").create(lake, fresh_name("hostile"))
    for version in (1, 2):
        twin.upsert([{"id": n, "a": n, "b": "x", "c": 0.5, "d": [n], "e": n} for n in range(5)], version=version)
    drawn = calls(random, twin)
    beside = {*Path.cwd().iterdir(), *warehouse.parent.iterdir()}
    for _ in range(CALLS):
        name, given = next(drawn)
        if name == "publish_kv" and str(given.get("target")).startswith("/"):  # a place that may be written
            continue
        head = newest(lake, twin)
        said = refusal(lake, name, given)
        assert {*Path.cwd().iterdir(), *warehouse.parent.iterdir()} == beside, (name, given)
        if said is None:
            if name in {"drop_experiment", "promote_experiment", "create_experiment", "alter_columns"}:
                return  # the columns are others from here on
            continue
        assert not JVM.search(said), (name, given, said[:2000])
        assert len(said) < 5_000, (name, given, said[:2000])
        assert newest(lake, twin) == head, (name, given, said[:2000])


def refusal(lake: kl.Lake, name: str, given: Mapping[str, object]) -> str | None:
    marked = ", ".join(f"{argument} => :{argument}" for argument in given)
    return run(lake, f"CALL lake.system.{name}({marked})", given)


def run(lake: kl.Lake, statement: str, arguments: Mapping[str, object]) -> str | None:
    """What a statement is refused with; None where it is done."""
    try:
        with lake._session.asking():
            lake.spark.sql(statement, args=dict(arguments)).collect()
    except kl.KeylakeError as error:
        return str(error)
    except PySparkException as error:
        return f"{type(error).__name__} {error}"
    return None


def newest(lake: kl.Lake, twin: Twin) -> object:
    return lake.spark.sql(f"SELECT name, snapshot_id FROM lake.{twin.table.name}.refs ORDER BY name").collect()


PROPERTIES = (
    "write.target-file-size-bytes", "write.parquet.row-group-size-bytes", "write.parquet.page-size-bytes",
    "write.parquet.page-row-limit", "write.parquet.dict-size-bytes", "write.parquet.compression-codec",
    "write.parquet.compression-level", "write.parquet.bloom-filter-enabled.column.a", "write.format.default",
    "write.metadata.metrics.default", "write.metadata.metrics.column.a", "write.metadata.previous-versions-max",
    "write.metadata.compression-codec", "write.summary.partition-limit", "write.object-storage.enabled",
    "write.data.path", "write.metadata.path", "write.location-provider.impl", "write.distribution-mode",
    "write.delete.mode", "write.merge.isolation-level", "write.wap.enabled", "commit.retry.num-retries",
    "commit.retry.min-wait-ms", "commit.manifest.target-size-bytes", "commit.manifest-merge.enabled",
    "commit.manifest.min-count-to-merge", "history.expire.max-snapshot-age-ms", "history.expire.min-snapshots-to-keep",
    "read.split.target-size", "read.parquet.vectorization.batch-size", "gc.enabled", "format-version",
    "schema.name-mapping.default", "ordering", "buckets", "versions", "reduce.a", "group.g",
    *(name + "x" if name.endswith(".") else name for name in (PUBLIC / "properties.txt").read_text().splitlines()),
)  # fmt: skip


@pytest.mark.parametrize("seed", seeds(1, 30))
def test_properties_that_are_taken_harm_no_verb(lake: kl.Lake, warehouse: Path, seed: int) -> None:
    """A value is refused when it is set, or all goes on with it."""
    random = Random(seed)
    rows = [{"id": n, "a": n, "b": "x", "c": 0.5, "d": [n], "e": n} for n in range(5)]
    values = [text for text in TEXTS if "\x00" not in text] + ["10", "1000000", "zstd", "hash", "full", "truncate(2)"]
    table = Shape("explicit").create(lake, fresh_name("hostile")).table
    table.upsert(rows, version=1)
    for number in range(25):
        name, value = random.choice(PROPERTIES), random.choice(values)
        said = run(lake, f"ALTER TABLE lake.{table.name} SET TBLPROPERTIES ({literal(name)} = {literal(value)})", {})
        if said is not None:
            assert not JVM.search(said), (name, value, said[:2000])
            continue
        if number % 3 == 0:
            table = lake.table(table.name)
        try:
            table.update([{"id": 1, "a": number}], version=number + 2)
            table.compact("full")
            row = table.get(id=1)
            with keylake.local.open(warehouse) as here:
                assert repr(here.table(table.name).get(id=1)) == repr(row)
            table.clean()
        except kl.KeylakeError as error:
            raise AssertionError(f"{name} = {value[:100]!r}: {error}") from error
        assert row is not None
        assert row["a"] == number, (name, value[:100])


VALUES: tuple[object, ...] = (
    None, True, 0, -1, 1 << 63, 1.5, float("nan"), float("inf"), b"x", object(), [], {}, (), set(), ["a"], ["nothing"],
    ["a", "a"], {"id": 1}, {"id": None}, [{}], [{"id": 1}], [{"id": "x"}], [None], datetime(2026, 1, 1), datetime.max,
    datetime(1, 1, 1, tzinfo=timezone.utc), date(2026, 1, 1), timedelta(seconds=-1), Decimal("NaN"), Decimal("1e400"),
    UUID(int=7), pa.table({"id": [1]}), pa.table({}), pa.array([1]), int, kl.Sum(), Ellipsis, range(3),
    kl.watermark(datetime(2026, 1, 1, tzinfo=timezone.utc)), "\ud800", "2026-13-01", "1=1", "*", *TEXTS,
)  # fmt: skip
NAMESPACES = ("files", "layout", "branches", "commits", "feed", "states", "experiments", "serving")
# These wait, draw, or end what others use.
VERBS_LEFT_OUT = {"close", "plot", "start", "stop", "stream", "read_stream", "stream_changes", "report", "publish_kv"}


def verbs(lake: kl.Lake, table: kl.KeyedTable) -> Iterator[tuple[str, Callable[..., object]]]:
    for owner in (lake, table, *(getattr(table, name) for name in NAMESPACES)):
        for name in dir(type(owner)):
            verb = None if name.startswith("_") or name in VERBS_LEFT_OUT else getattr(owner, name, None)
            if callable(verb):
                yield f"{type(owner).__name__}.{name}", verb


@pytest.mark.parametrize("seed", seeds(1, 60))
def test_hostile_arguments_of_verbs(lake: kl.Lake, seed: int) -> None:
    """What Python takes for a call is an answer or one of the errors of keylake."""
    random = Random(seed)
    table = Shape("explicit").create(lake, fresh_name("hostile")).table
    table.upsert([{"id": n, "a": n, "b": "x", "c": 0.5, "d": [n], "e": n} for n in range(5)], version=1)
    known = list(verbs(lake, table))
    for _ in range(100):
        name, verb = random.choice(known)
        positional, named = [], {}
        for argument in signature(verb).parameters.values():
            is_needed = argument.default is argument.empty and argument.kind not in (VAR_POSITIONAL, VAR_KEYWORD)
            if argument.kind == argument.KEYWORD_ONLY and (is_needed or random.random() < 0.35):
                named[argument.name] = random.choice(VALUES)
            elif is_needed:
                positional.append(random.choice(VALUES))
            elif argument.kind == VAR_KEYWORD and random.random() < 0.5:
                named[random.choice(["id", "a", "nothing", "version", "stream", "at"])] = random.choice(VALUES)
        if name == "KeyedTable.wait":
            named["seconds"] = 0  # it waits for as long as it is told
        said = ""
        try:
            answer: Any = verb(*positional, **named)
            if hasattr(answer, "collect"):
                answer.limit(3).collect()
        except kl.KeylakeError as error:
            said = str(error)
        except TypeError as error:  # of Python, for a word that a verb does not have
            if "argument" not in str(error):
                raise
        assert not (said and JVM.search(said)), (name, positional, named, said)
