"""A verb with its words becomes the options of a write, or an error before anything is sent."""

import datetime
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import keylake as kl
from keylake._rows.intention import Intention, write
from keylake._server.statements import TablePath, Verb, Write

SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("day", pa.date32(), nullable=False),
        *(pa.field(name, pa.int64()) for name in ("at", "a", "b", "c", "d")),
    ]
)
KEY, ALL = ["id", "day"], ["id", "day", "at", "a", "b", "c", "d"]
PATH = TablePath("features.clicks")


def spec(versions: kl.Versions) -> kl.TableSpec:
    """A table with columns a and b, and a group of c and d; `at` is the ordering column where there is one."""
    ordering = "at" if versions == "ordering" else None
    groups = {"pair": ["c", "d"]}
    return kl.TableSpec.from_arrow(
        SCHEMA, name="features.clicks", key=KEY, ordering=ordering, versions=versions, column_groups=groups
    )


SPECS: dict[str, kl.TableSpec] = {versions: spec(versions) for versions in ("commit", "ordering", "explicit")}


def options(versions: str, intention: Intention, columns: Sequence[str]) -> dict[str, str]:
    """The options of the write, but for those that are always there."""
    made = dict(write(SPECS[versions], PATH, intention, columns, "w1").options)
    assert made.pop("write_id") == "w1"
    assert made.pop("verb") == intention.verb
    return made


ALLOWED: list[tuple[str, Intention, list[str], dict[str, str]]] = [
    ("commit", Intention("upsert"), ALL, {}),
    ("commit", Intention("upsert"), ["D", "c", "B", "A", "At", "DAY", "Id"], {}),
    ("commit", Intention("update"), [*KEY, "a"], {}),
    ("commit", Intention("update"), KEY, {}),
    ("commit", Intention("update"), [*KEY, "c", "d"], {}),
    ("commit", Intention("delete"), KEY, {}),
    ("commit", Intention("overwrite"), ALL, {}),
    ("commit", Intention("update", columns_from="Names"), [*KEY, "a", "b", "names"], {"columns_from": "names"}),
    ("commit", Intention("apply_changes", op="op"), [*KEY, "a", "op"], {"op": "op"}),
    ("commit", Intention("update", row_order="_row"), [*KEY, "a"], {"row_order": "_row"}),
    (
        "commit",
        Intention("update", stream="web", writer="me", idempotency_key="k"),
        [*KEY, "a"],
        {"stream": "web", "writer": "me", "idempotency_key": "k"},
    ),
    (
        "commit",
        Intention("update", offsets={"b": (7, 7), "a": (0, 100)}),
        [*KEY, "a"],
        {"offsets": '{"b":[7,7],"a":[0,100]}'},
    ),
    ("ordering", Intention("update"), [*KEY, "AT", "a"], {}),
    ("ordering", Intention("update", version="at"), [*KEY, "at", "a"], {}),
    ("ordering", Intention("update", version=-7), [*KEY, "a"], {"version_value": "-7"}),
    ("ordering", Intention("update", version="v"), [*KEY, "a", "V"], {"version": "V"}),
    ("ordering", Intention("update", version={"a": "v"}), [*KEY, "at", "a", "b", "v"], {"version_of.a": "v"}),
    ("ordering", Intention("update", version={"a": "v"}), [*KEY, "a", "v"], {"version_of.a": "v"}),
    ("ordering", Intention("delete"), [*KEY, "at"], {}),
    ("ordering", Intention("delete", version=0), KEY, {"version_value": "0"}),
    ("explicit", Intention("update", version=2**63 - 1), [*KEY, "a"], {"version_value": str(2**63 - 1)}),
    ("explicit", Intention("update", version="v"), [*KEY, "a", "v"], {"version": "v"}),
    ("explicit", Intention("update", version="b"), [*KEY, "a", "b"], {"version": "b"}),
    ("explicit", Intention("delete", version="b"), [*KEY, "b"], {"version": "b"}),
    (
        "explicit",
        Intention("update", version={"A": "v", "b": "w"}),
        [*KEY, "a", "b", "v", "w"],
        {"version_of.a": "v", "version_of.b": "w"},
    ),
    (
        "explicit",
        Intention("update", version={"c": "v", "d": "v"}),
        [*KEY, "c", "d", "v"],
        {"version_of.c": "v", "version_of.d": "v"},
    ),
]


@pytest.mark.parametrize(("versions", "intention", "columns", "wanted"), ALLOWED, ids=str)
def test_what_is_sent(versions: str, intention: Intention, columns: list[str], wanted: dict[str, str]) -> None:
    assert options(versions, intention, columns) == wanted


NEW_YEAR = datetime.datetime(2026, 1, 1)
TOKYO = NEW_YEAR.replace(hour=9, tzinfo=datetime.timezone(datetime.timedelta(hours=9)))
MICROS = 1_767_225_600_000_000
TIMES: list[tuple[pa.DataType, datetime.date, int]] = [
    (pa.timestamp("us", "UTC"), TOKYO, MICROS),
    (pa.timestamp("us"), NEW_YEAR, MICROS),
    (pa.timestamp("us"), datetime.datetime(1969, 12, 31, 23, 59, 59, 999_999), -1),
    (pa.date32(), NEW_YEAR.date(), 20_454),
]


@pytest.mark.parametrize(("type_", "time", "number"), TIMES, ids=str)
def test_a_version_of_the_type_of_the_ordering_column(type_: pa.DataType, time: datetime.date, number: int) -> None:
    schema = pa.schema([("id", pa.int64()), ("at", type_)])
    timed = kl.TableSpec.from_arrow(schema, name="features.clicks", key="id", ordering="at")
    made = write(timed, PATH, Intention("delete", version=time), ["id"], "w1")
    assert dict(made.options)["version_value"] == str(number)
    with pytest.raises(kl.VersionMissing, match=r"which is their version, and version=.*Leave one of the two out"):
        write(timed, PATH, Intention("delete", version=time), ["id", "at"], "w1")
    for other in {TOKYO, NEW_YEAR, NEW_YEAR.date()} - {time} - ({NEW_YEAR} if time.year == 1969 else set()):
        with pytest.raises(kl.VersionMissing, match=r"is no version of features\.clicks\. Give a .*column 'at' is\."):
            write(timed, PATH, Intention("delete", version=other), ["id"], "w1")


def test_overwrite_is_another_mode() -> None:
    assert write(SPECS["commit"], PATH, Intention("overwrite"), ALL, "w").mode == "overwrite"
    assert write(SPECS["commit"], PATH, Intention("upsert"), ALL, "w").mode == "append"


NOT_THERE = "'v'"
REVERSED = {"s": (5, 4)}
REFUSED: list[tuple[str, Intention, list[str], type[kl.KeylakeError], tuple[str, ...]]] = [
    # columns
    ("commit", Intention("update"), ["id", "a"], kl.SchemaMismatch, ("'day'", "key")),
    ("commit", Intention("delete"), ["id"], kl.SchemaMismatch, ("'day'", "key")),
    ("commit", Intention("update"), [*KEY, "clicks"], kl.SchemaMismatch, ("'clicks'", "There are")),
    ("commit", Intention("update"), [*KEY, "dai"], kl.SchemaMismatch, ("'dai'", "'day'")),
    ("commit", Intention("update"), [*KEY, "a", "a"], kl.SchemaMismatch, ("'a'", "twice")),
    ("commit", Intention("update"), [*KEY, "a", "A"], kl.SchemaMismatch, ("'a'", "'A'", "case")),
    ("commit", Intention("upsert"), ALL[:-2], kl.SchemaMismatch, ("'c', 'd'", "update")),
    ("commit", Intention("overwrite"), ALL[:-2], kl.SchemaMismatch, ("'c', 'd'",)),
    ("commit", Intention("delete"), [*KEY, "a"], kl.SchemaMismatch, ("'a'", "delete")),
    ("commit", Intention("update"), [*KEY, "c"], kl.SchemaMismatch, ("'pair'", "'d'")),
    ("commit", Intention("update", columns_from="names"), [*KEY, "a"], kl.SchemaMismatch, ("'names'",)),
    ("commit", Intention("update", columns_from="b"), [*KEY, "a", "b"], kl.SchemaMismatch, ("'b'",)),
    ("commit", Intention("apply_changes", op="op"), [*KEY, "a"], kl.SchemaMismatch, ("'op'",)),
    # offsets
    ("commit", Intention("update", offsets={}), [*KEY, "a"], kl.DefinitionError, ("0 sources", "1 to 10000")),
    ("commit", Intention("update", offsets={"": (0, 1)}), [*KEY, "a"], kl.DefinitionError, ("0 characters",)),
    ("commit", Intention("update", offsets={"s" * 1001: (0, 1)}), [*KEY, "a"], kl.DefinitionError, ("1 to 1000",)),
    ("commit", Intention("update", offsets=REVERSED), [*KEY, "a"], kl.DefinitionError, ("(5, 4)", "'s'")),
    ("commit", Intention("update", offsets={"s": (-1, 4)}), [*KEY, "a"], kl.DefinitionError, ("(-1, 4)", "from 0")),
    ("commit", Intention("update", offsets={"s": (0, 2**63)}), [*KEY, "a"], kl.DefinitionError, (str(2**63 - 1),)),
    # versions
    ("commit", Intention("update", version=1), [*KEY, "a"], kl.VersionMissing, ("version=", 'versions="explicit"')),
    ("commit", Intention("delete", version="v"), [*KEY, "v"], kl.VersionMissing, ('versions="explicit"',)),
    ("ordering", Intention("update"), [*KEY, "a"], kl.VersionMissing, ("'at'", "version=")),
    ("ordering", Intention("delete"), KEY, kl.VersionMissing, ("'at'", "version=")),
    ("ordering", Intention("update", version=1), [*KEY, "at", "a"], kl.VersionMissing, ("'at'", "version=1")),
    ("ordering", Intention("update", version="v"), [*KEY, "at", "v"], kl.VersionMissing, ("'at'", "version='v'")),
    ("ordering", Intention("update", version="at"), [*KEY, "a"], kl.VersionMissing, ("'at'",)),
    ("ordering", Intention("update", version={"at": "v"}), [*KEY, "at", "v"], kl.VersionMissing, ("'at'",)),
    ("ordering", Intention("delete", version=NEW_YEAR), KEY, kl.VersionMissing, ("'at'", "a long")),
    ("commit", Intention("delete", version=NEW_YEAR), KEY, kl.VersionMissing, ("version=", 'versions="explicit"')),
    ("explicit", Intention("delete", version=NEW_YEAR), KEY, kl.VersionMissing, ("no version", "a whole number")),
    ("explicit", Intention("update"), [*KEY, "a"], kl.VersionMissing, ("version=",)),
    ("explicit", Intention("update", version="v"), [*KEY, "a"], kl.SchemaMismatch, (NOT_THERE,)),
    ("explicit", Intention("update", version=2**63), [*KEY, "a"], kl.BadRows, (str(2**63), "64 bits")),
    ("explicit", Intention("update", version=-(2**63) - 1), [*KEY, "a"], kl.BadRows, ("64 bits",)),
    ("explicit", Intention("update", version=True), [*KEY, "a"], kl.VersionMissing, ("True",)),
    ("explicit", Intention("update", version=1.5), [*KEY, "a"], kl.VersionMissing, ("1.5",)),  # type: ignore[arg-type]
    ("explicit", Intention("update", version={}), [*KEY, "a"], kl.VersionMissing, ("'a'",)),
    ("explicit", Intention("update", version={"a": "v"}), [*KEY, "a"], kl.SchemaMismatch, (NOT_THERE,)),
    ("explicit", Intention("update", version={"a": "v"}), [*KEY, "a", "b", "v"], kl.VersionMissing, ("'b'",)),
    ("explicit", Intention("update", version={"x": "v"}), [*KEY, "a", "v"], kl.SchemaMismatch, ("'x'",)),
    ("explicit", Intention("update", version={"id": "v"}), [*KEY, "a", "v"], kl.SchemaMismatch, ("'id'", "key")),
    ("explicit", Intention("delete", version={"a": "v"}), [*KEY, "v"], kl.VersionMissing, ("one version",)),
    (
        "explicit",
        Intention("update", version={"c": "v", "d": "w"}),
        [*KEY, "c", "d", "v", "w"],
        kl.VersionMissing,
        ("'pair'",),
    ),
]


@pytest.mark.parametrize(("versions", "intention", "columns", "error", "words"), REFUSED, ids=str)
def test_intentions_that_are_refused(
    versions: str, intention: Intention, columns: list[str], error: type[kl.KeylakeError], words: tuple[str, ...]
) -> None:
    with pytest.raises(error) as raised:
        options(versions, intention, columns)
    sentence = str(raised.value)
    assert type(raised.value) is error
    assert not [word for word in words if word not in sentence], sentence
    assert "\n" not in sentence
    assert sentence.endswith((".", "?")), sentence


@pytest.mark.parametrize("verb", ["upsert", "update", "delete", "apply_changes", "overwrite"])
def test_a_name_of_another_case_is_the_same_name(verb: Verb) -> None:
    columns = KEY if verb == "delete" else ALL
    written = [
        options("commit", Intention(verb), [name.upper() for name in columns]),
        options("commit", Intention(verb), columns),
    ]
    assert written[0] == written[1]


SHARED = json.loads((Path(__file__).parents[1] / "cases/writes/columns_and_versions.json").read_text())
TABLES = {name: kl.TableSpec.from_json(json.dumps(form)) for name, form in SHARED["tables"].items()}
ERRORS = {"SCHEMA_MISMATCH": kl.SchemaMismatch, "VERSION_MISSING": kl.VersionMissing}


def intended(options: dict[str, str]) -> Intention:
    """The intention whose options these are."""
    of = {name.partition(".")[2]: column for name, column in options.items() if name.startswith("version_of.")}
    value = options.get("version_value")
    version = of or options.get("version") or (None if value is None else int(value))
    words: dict[str, Any] = {name: options[name] for name in ("verb", "columns_from", "op") if name in options}
    return Intention(version=version, **words)


@pytest.mark.parametrize("case", SHARED["cases"], ids=str)
def test_what_the_server_checks_too(case: dict[str, Any]) -> None:
    def made() -> Write:
        return write(TABLES[case["table"]], PATH, intended(case["options"]), case["columns"], "w")

    if "error" not in case:
        assert made().path == PATH
        return
    with pytest.raises(ERRORS[case["error"]]) as raised:
        made()
    assert not [name for name in case["says"] if name not in str(raised.value)]
