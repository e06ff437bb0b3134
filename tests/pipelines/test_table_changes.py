"""Changes of source tables, made between two batches, in each of the ways that a pipeline may be told."""

import random
from collections.abc import Sequence

import pytest
from pyiceberg.types import BinaryType, DoubleType, IcebergType, IntegerType, LongType, StringType

import keylake as kl
from integration.random_runs import FIRST
from integration.twin import fresh_name
from keylake_pipelines.runner.control import resnapshot, resume, skip, states
from keylake_pipelines.runner.loop import run
from keylake_pipelines.source.tables import (
    ColumnAdded,
    ColumnDropped,
    ColumnModified,
    ColumnRenamed,
    SourceColumn,
    SourceSchema,
    SourceTable,
    TableCreated,
    TableDropped,
    TableTruncated,
)
from pipelines.scripted import Changed, Event, Log, found, model, settings, table

ORDERS = table("shop.orders")


def schema(**columns: IcebergType) -> SourceSchema:
    of = tuple(SourceColumn(name, type_) for name, type_ in columns.items())
    return SourceSchema(ORDERS, of, ("id",), "What was ordered.")


def put(key: int, **columns: object) -> Changed:
    return Changed("shop.orders", {"id": key, **columns})


CREATED = TableCreated(schema(id=LongType(), a=IntegerType(), b=StringType()))
ADDED: list[Event] = [
    CREATED,
    put(1, a=1, b="x"),
    put(2, a=2),
    ColumnAdded(ORDERS, SourceColumn("c", DoubleType()), "a"),
]
RENAMED: list[Event] = [put(2, c=2.5), put(3, b="y"), ColumnRenamed(ORDERS, "b", "name"), put(3, name="z", c=0.5)]
WIDENED: list[Event] = [ColumnModified(ORDERS, SourceColumn("a", LongType(), "cents")), put(1, a=2**40)]
DROPPED: list[Event] = [ColumnDropped(ORDERS, "c"), put(4, a=4)]
AGAIN: list[Event] = [ColumnAdded(ORDERS, SourceColumn("c", StringType())), put(4, c="text")]
ALL = [*ADDED, *RENAMED, *WIDENED, *DROPPED, *AGAIN]


class Rereadable(Log):
    """A source that is asked for all rows of its tables, and has none to give."""

    def __init__(self, events: Sequence[Event], schemas: Sequence[SourceSchema] = ()) -> None:
        super().__init__(events, schemas)
        self.reread_tables: list[SourceTable] = []

    def reread(self, table: SourceTable) -> bool:
        self.reread_tables.append(table)
        return True


@pytest.fixture
def namespace() -> str:
    return fresh_name("changes").replace(".", "_")


@pytest.mark.slow
def test_a_keyed_table_follows(lake: kl.Lake, namespace: str) -> None:
    told = settings(namespace, namespace, rows=3, behaviour="evolve")
    run(Log(ALL[:7]), lake, told)
    orders = lake.table(f"{namespace}.orders")
    assert found(orders) == model(ALL[:7])["shop.orders"]
    run(Log(ALL), lake, told)
    assert found(orders) == model(ALL)["shop.orders"]
    spec = lake.table(orders.name).spec
    assert [(column.name, str(column.type), column.doc) for column in spec.columns] == [
        ("id", "long", ""),
        ("a", "long", "cents"),
        ("name", "string", ""),
        ("c", "string", ""),
    ]
    assert spec.comment == "What was ordered."
    emptied: list[Event] = [TableTruncated(ORDERS), put(5, a=5), TableDropped(ORDERS), CREATED, put(6, b="new")]
    run(Log([*ALL, *emptied[:2]]), lake, told)
    assert found(orders) == {5: {"id": 5, "a": 5}}
    run(Log([*ALL, *emptied]), lake, told)
    assert found(lake.table(orders.name)) == {6: {"id": 6, "b": "new"}}


@pytest.mark.slow
def test_changes_that_take_nothing_away(lake: kl.Lake, namespace: str) -> None:
    """Lenient: a renamed column stays with its values, and a dropped one, and the rows of a truncated table."""
    run(Log([*ALL[:-2], TableTruncated(ORDERS)]), lake, settings(namespace, namespace))
    orders = lake.table(f"{namespace}.orders")
    assert [column.name for column in orders.spec.columns] == ["id", "a", "c", "name", "b"]
    assert found(orders) == {
        1: {"id": 1, "a": 2**40, "b": "x"},
        2: {"id": 2, "a": 2, "c": 2.5},
        3: {"id": 3, "b": "y", "name": "z", "c": 0.5},
        4: {"id": 4, "a": 4},
    }


@pytest.mark.slow
@pytest.mark.parametrize("behaviour", ["try_evolve", "evolve", "exception", "ignore"])
def test_changes_that_cannot_be_made(lake: kl.Lake, namespace: str, behaviour: str) -> None:
    events = [*ADDED[:3], ColumnModified(ORDERS, SourceColumn("a", StringType())), put(2, a=3), put(3, b="q")]
    told = settings(namespace, namespace, behaviour=behaviour)
    if behaviour in ("evolve", "exception"):
        if behaviour == "evolve":
            assert run(Log(events), lake, told).set_aside == (f"{namespace}.orders",)
            [said] = next(each for each in states(lake) if each.name == namespace).set_aside.values()
            assert "cannot become string: Iceberg does not widen" in said
        else:
            with pytest.raises(kl.SchemaMismatch, match=r"schema\.change\.behavior is exception") as raised:
                run(Log(events), lake, told)
            assert "\n" not in str(raised.value)
        assert found(lake.table(f"{namespace}.orders")) == {1: {"id": 1, "a": 1, "b": "x"}, 2: {"id": 2, "a": 2}}
    else:
        run(Log([*events, *ADDED[3:]]), lake, told)
        orders = lake.table(f"{namespace}.orders")
        assert found(orders) == {1: {"id": 1, "a": 1, "b": "x"}, 2: {"id": 2, "a": 3}, 3: {"id": 3, "b": "q"}}
        assert ("c" in orders.spec.column_names) == (behaviour == "try_evolve")


@pytest.mark.slow
def test_changes_of_a_table_that_is_set_aside(lake: kl.Lake, namespace: str) -> None:
    """They are made when it goes on, each in its place among the rows that were kept."""
    told = settings(namespace, namespace, rows=2, behaviour="evolve")
    poisoned = [*ADDED, put(9, a=2**50)]
    assert run(Log(poisoned), lake, told).set_aside == (f"{namespace}.orders",)
    events = [*poisoned, *RENAMED, *WIDENED[:1], *DROPPED, *AGAIN]
    assert run(Log(events), lake, told).set_aside == (f"{namespace}.orders",)
    letters = lake.table("keylake.dead_letters")
    assert letters.spec.column_names[:2] == ("pipeline", "target")
    # The row that kept the table is left out.
    bad = [row for row in letters.read(where=f"pipeline = '{namespace}'").collect() if '"id": 9' in (row["row"] or "")]
    letters.delete([{name: row[name] for name in letters.spec.key} for row in bad])
    resume(lake, namespace, f"{namespace}.orders")
    more = [*events, put(1, a=7)]
    assert run(Log(more), lake, told).set_aside == ()
    expected = model(more)["shop.orders"]
    expected.pop(9)
    assert found(lake.table(f"{namespace}.orders")) == expected
    assert letters.read(where=f"pipeline = '{namespace}'").count() == 0


@pytest.mark.slow
def test_tables_of_one_keyed_table(lake: kl.Lake, namespace: str) -> None:
    """A column stays as long as one of the source tables has it."""
    other = SourceSchema(table("old.orders"), CREATED.schema.columns, ("id",))
    events: list[Event] = [CREATED, TableCreated(other), put(1, a=1, b="x"), Changed("old.orders", {"id": 2, "b": "y"})]
    events += [ColumnDropped(ORDERS, "b"), ColumnAdded(ORDERS, SourceColumn("d", LongType())), put(1, d=4)]
    events += [Changed("old.orders", {"id": 2, "b": "z"}), TableTruncated(table("old.orders"))]
    run(Log(events), lake, settings(namespace, namespace, behaviour="try_evolve"))
    assert found(lake.table(f"{namespace}.orders")) == {1: {"id": 1, "a": 1, "b": "x", "d": 4}, 2: {"id": 2, "b": "z"}}


@pytest.mark.slow
def test_changes_in_any_order(lake: kl.Lake, namespace: str) -> None:
    draw = random.Random(FIRST)
    events = drawn(draw, 60)
    at = draw.randrange(len(events))
    told = settings(namespace, namespace, rows=7, behaviour="evolve")
    together = draw.random() < 0.5
    run(Log(events[:at], together=together), lake, told)
    run(Log(events, together=together), lake, told)
    orders = lake.table(f"{namespace}.orders")
    assert found(orders) == model(events)["shop.orders"]


@pytest.mark.slow
def test_many_columns_of_one_statement_are_one_change(lake: kl.Lake, namespace: str) -> None:
    many = [SourceColumn(f"c{number}", IntegerType()) for number in range(300)]
    added = [
        ColumnAdded(ORDERS, each, "a" if number == 0 else many[number - 1].name) for number, each in enumerate(many)
    ]
    wider = [ColumnModified(ORDERS, SourceColumn(each.name, LongType())) for each in many[::2]]
    fewer = [ColumnDropped(ORDERS, each.name) for each in many[1::2]]
    events: list[Event] = [CREATED, put(1, a=1), *added, put(2, c0=1, c299=2), *wider, *fewer, put(3, c298=2**40)]
    run(Log(events[:2], together=True), lake, settings(namespace, namespace, behaviour="evolve"))
    orders = lake.table(f"{namespace}.orders")
    entries = f"SELECT count(*) FROM {orders.name}.metadata_log_entries"
    [[before]] = lake.spark.sql(entries).collect()
    run(Log(events, together=True), lake, settings(namespace, namespace, behaviour="evolve"))
    [[after]] = lake.spark.sql(entries).collect()
    assert after - before <= 4, "two changes, and two commits of rows"
    orders = lake.table(orders.name)
    assert orders.spec.column_names == ("id", "a", *(each.name for each in many[::2]), "b")
    assert found(orders) == model(events)["shop.orders"]


@pytest.mark.slow
@pytest.mark.parametrize("behaviour", ["try_evolve", "lenient", "evolve"])
def test_one_column_of_many_that_cannot_be_added(lake: kl.Lake, namespace: str, behaviour: str) -> None:
    """The others are there, but where the first that cannot be sets the table aside, as at a start."""
    names = ("c", "x.y", "d")
    events: list[Event] = [CREATED, put(1, a=1), *(ColumnAdded(ORDERS, SourceColumn(n, LongType())) for n in names)]
    told = settings(namespace, namespace, behaviour=behaviour)
    report = run(Log([*events, put(2, c=1, d=2, **{"x.y": 3})], together=True), lake, told)
    orders = lake.table(f"{namespace}.orders")
    if behaviour == "evolve":
        assert report.set_aside == (orders.name,)
        [said] = next(each for each in states(lake) if each.name == namespace).set_aside.values()
        assert "Column 'x.y' has a dot in its name" in said
        assert orders.spec.column_names == ("id", "a", "b", "c")
    else:
        assert not report.set_aside
        assert found(orders) == {1: {"id": 1, "a": 1}, 2: {"id": 2, "c": 1, "d": 2}}


@pytest.mark.slow
def test_a_column_that_cannot_follow_is_no_trouble_of_later_changes(lake: kl.Lake, namespace: str) -> None:
    """A renamed column has the values of all rows, as if the refused change had not been: they are read once more."""
    told = settings(namespace, namespace)
    dotted = ColumnAdded(ORDERS, SourceColumn("x.y", StringType()))
    events: list[Event] = [CREATED, put(1, a=1, b="x"), dotted, ColumnRenamed(ORDERS, "b", "c"), put(2, a=2, c="y")]
    source = Rereadable(events)
    run(source, lake, told)
    assert source.reread_tables == [ORDERS]
    assert found(lake.table(f"{namespace}.orders"))[2] == {"id": 2, "a": 2, "c": "y"}


@pytest.mark.slow
@pytest.mark.parametrize("behaviour", ["evolve", "lenient"])
def test_a_column_of_another_type_sets_its_table_aside(
    lake: kl.Lake, namespace: str, behaviour: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Also one that was dropped and added again where it stays: its rows would be read as if nothing had changed."""
    told = settings(namespace, namespace, behaviour=behaviour)
    created = TableCreated(schema(id=LongType(), a=BinaryType(), b=IntegerType()))
    events: list[Event] = [created, put(1, a="AAAA", b=1), ColumnModified(ORDERS, SourceColumn("a", StringType()))]
    events.append(put(1, a="abcd"))
    name = f"{namespace}.orders"
    assert run(Rereadable(events), lake, told).set_aside == (name,)
    assert found(lake.table(name)) == {1: {"id": 1, "a": bytes(3), "b": 1}}
    resnapshot(lake, namespace, name)
    offered = [schema(id=LongType(), a=StringType(), b=IntegerType())]
    again = Rereadable(events, offered)
    assert run(again, lake, told).set_aside == (name,)
    assert again.reread_tables == []
    [said] = next(each for each in states(lake) if each.name == namespace).set_aside.values()
    assert f"keylake retype {name} a string" in said
    assert "keylake resnapshot" not in caplog.text, "it would end with the same refusal"


@pytest.mark.slow
def test_a_rename_in_one_of_two_source_tables(lake: kl.Lake, namespace: str) -> None:
    """The column stays as long as the other has it; the new one gets its values by another reading of the rows."""
    other = SourceSchema(table("old.orders"), CREATED.schema.columns, ("id",))
    events: list[Event] = [CREATED, TableCreated(other), put(1, b="x"), Changed("old.orders", {"id": 2, "b": "y"})]
    first = Rereadable([*events, ColumnRenamed(ORDERS, "b", "c")])
    told = settings(namespace, namespace, behaviour="evolve")
    run(first, lake, told)
    assert set(first.reread_tables) == {ORDERS, other.table}
    assert lake.table(f"{namespace}.orders").spec.column_names == ("id", "a", "c", "b")
    second = Rereadable([*events, ColumnRenamed(ORDERS, "b", "c"), ColumnRenamed(other.table, "b", "c")])
    run(second, lake, told)
    assert other.table in second.reread_tables
    assert lake.table(f"{namespace}.orders").spec.column_names == ("id", "a", "c")


@pytest.mark.slow
@pytest.mark.parametrize("behaviour", ["evolve", "lenient"])
def test_a_column_that_comes_again_in_one_of_two_source_tables(lake: kl.Lake, namespace: str, behaviour: str) -> None:
    """It stayed for the other one, with the values of both: they are read once more, but not for one that is new."""
    other = SourceSchema(table("old.orders"), CREATED.schema.columns, ("id",))
    created: list[Event] = [CREATED, TableCreated(other), put(1, b="x"), Changed("old.orders", {"id": 2, "b": "y"})]
    again = (ColumnDropped(ORDERS, "b"), ColumnAdded(ORDERS, SourceColumn("b", StringType())))
    told = settings(namespace, namespace, behaviour=behaviour)
    source = Rereadable([*created, again[0]])
    run(source, lake, told)
    assert not source.reread_tables
    source = Rereadable([*created, *again])
    run(source, lake, told)
    assert set(source.reread_tables) == {ORDERS, other.table}
    new = [ColumnAdded(each, SourceColumn("c", LongType())) for each in (ORDERS, other.table)]
    source = Rereadable([*created, *again, *new])
    run(source, lake, told)
    assert not source.reread_tables
    if behaviour == "evolve":
        gone = [ColumnDropped(each, "b") for each in (ORDERS, other.table)]
        back = [ColumnAdded(each, SourceColumn("b", StringType())) for each in (ORDERS, other.table)]
        source = Rereadable([*created, *again, *new, *gone, *back])
        run(source, lake, told)
        assert not source.reread_tables
        assert found(lake.table(f"{namespace}.orders")) == {1: {"id": 1}, 2: {"id": 2}}


@pytest.mark.slow
def test_a_key_that_takes_the_name_of_a_column_that_stayed(lake: kl.Lake, namespace: str) -> None:
    """Lenient: the column has to go first, and until then no row is taken for one without a key."""
    told = settings(namespace, namespace)
    events = [CREATED, put(1, a=1, b="x"), ColumnDropped(ORDERS, "a"), ColumnRenamed(ORDERS, "id", "a")]
    events.append(Changed("shop.orders", {"a": 2, "b": "y"}))
    name = f"{namespace}.orders"
    assert run(Log(events), lake, told).set_aside == (name,)
    [said] = next(each for each in states(lake) if each.name == namespace).set_aside.values()
    assert "Column 'id' of the key is called 'a' now, and" in said
    assert "Drop that one or rename it, with alter, then resume" in said
    lake.table(name).alter(rename={"a": "earlier_a"})
    resume(lake, namespace, name)
    run(Log(events), lake, told)
    orders = lake.table(name)
    assert orders.spec.key == ("a",)
    assert sorted(orders.read().select("a", "earlier_a", "b").collect()) == [(1, 1, "x"), (2, None, "y")]


@pytest.mark.slow
def test_a_table_that_is_made_anew_with_another_key(lake: kl.Lake, namespace: str) -> None:
    other = SourceSchema(ORDERS, CREATED.schema.columns, ("a",))
    events: list[Event] = [CREATED, put(1, a=1, b="x"), TableDropped(ORDERS), TableCreated(other), put(1, a=7)]
    told, name = settings(namespace, namespace, behaviour="evolve"), f"{namespace}.orders"
    assert run(Log(events), lake, told).set_aside == (name,)
    [said] = next(each for each in states(lake) if each.name == namespace).set_aside.values()
    assert f"Drop or rename {name}, and let keylake resnapshot make it anew" in said
    lake.drop(name)
    resnapshot(lake, namespace, name)
    source = Rereadable([*events, put(2, a=8, b="y")], [other])
    assert not run(source, lake, told).set_aside
    assert source.reread_tables == [ORDERS]
    assert lake.table(name).spec.key == ("a",)


@pytest.mark.slow
def test_a_change_that_was_made_by_hand(lake: kl.Lake, namespace: str) -> None:
    told = settings(namespace, namespace, behaviour="exception")
    events: list[Event] = [CREATED, put(1, a=1, b="x"), ColumnAdded(ORDERS, SourceColumn("c", LongType()))]
    events += [put(2, c=2), ColumnDropped(ORDERS, "b"), TableTruncated(ORDERS), put(3, a=3)]
    run(Log(events[:2]), lake, told)
    orders = lake.table(f"{namespace}.orders")
    by_hand = (lambda: orders.alter(add={"c": LongType()}), lambda: orders.alter(drop="b"))
    for change in (*by_hand, lambda: orders.overwrite([], version=9)):
        with pytest.raises(kl.SchemaMismatch, match="by hand"):
            run(Log(events), lake, told)
        change()
    run(Log(events), lake, told)
    assert found(lake.table(orders.name)).keys() == {3}


def drawn(random: random.Random, count: int) -> list[Event]:
    """Rows and changes of columns of text, drawn."""
    columns = {"b"}
    events: list[Event] = [TableCreated(schema(id=LongType(), b=StringType()))]
    for number in range(count):
        free = [name for name in "bcdef" if name not in columns]
        what = random.random()
        if what < 0.1 and free:
            name = random.choice(free)
            columns.add(name)
            events.append(ColumnAdded(ORDERS, SourceColumn(name, StringType())))
        elif what < 0.2 and columns:
            name = random.choice(sorted(columns))
            columns.remove(name)
            events.append(ColumnDropped(ORDERS, name))
        elif what < 0.3 and columns and free:
            name, to = random.choice(sorted(columns)), random.choice(free)
            columns.remove(name)
            columns.add(to)
            events.append(ColumnRenamed(ORDERS, name, to))
        elif what < 0.4:
            events.append(Changed("shop.orders", {"id": random.randrange(9)}, "d"))
        elif columns:
            some = random.sample(sorted(columns), random.randint(1, len(columns)))
            events.append(put(random.randrange(9), **dict.fromkeys(some, f"{number}")))
    return events


@pytest.mark.slow
def test_a_table_that_cannot_be_read_once_more_goes_on(
    lake: kl.Lake, namespace: str, caplog: pytest.LogCaptureFixture
) -> None:
    told = settings(namespace, namespace)
    events: list[Event] = [CREATED, put(1, a=1)]
    run(Log(events), lake, told)
    resnapshot(lake, namespace, f"{namespace}.orders")
    assert not run(Log([*events, put(2, a=2)]), lake, told).set_aside
    assert "cannot be read once more" in caplog.text
    assert found(lake.table(f"{namespace}.orders")) == {1: {"id": 1, "a": 1}, 2: {"id": 2, "a": 2}}


@pytest.mark.slow
def test_a_table_goes_on_without_the_rows_that_were_kept(lake: kl.Lake, namespace: str) -> None:
    """The changes between them are made: the next rows need them."""
    told = settings(namespace, namespace, behaviour="evolve")
    events: list[Event] = [CREATED, put(1, a=1), put(9, a=2**50), ColumnAdded(ORDERS, SourceColumn("c", LongType()))]
    assert run(Log(events), lake, told).set_aside
    skip(lake, namespace, f"{namespace}.orders")
    assert not run(Log([*events, put(2, c=2)]), lake, told).set_aside
    rows = found(lake.table(f"{namespace}.orders"))
    assert rows[2] == {"id": 2, "c": 2}
    assert 9 not in rows
