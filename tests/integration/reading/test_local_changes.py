"""The change feed without a server: what the naive model says, what the server's feed says, and what is refused."""

import datetime
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from uuid import UUID

import pyarrow as pa
import pytest

import keylake as kl
import keylake.local
from integration.changed_rows import changes_by_key, expected_changes
from integration.histories import Shape, operations
from integration.random_runs import FIRST, of_every_shape
from integration.twin import Twin, comparable, fresh_name

EXPLICIT = Shape("explicit", buckets=4)


@pytest.fixture(scope="module")
def local(lake: kl.Lake, warehouse: Path) -> Iterator[keylake.local.LocalLake]:
    with keylake.local.open(warehouse) as opened:
        yield opened


def at(twin: Twin, commits: int) -> int | None:
    return twin.commits[commits - 1].snapshot_id if commits else None


@pytest.mark.slow
@of_every_shape
def test_changes_of_random_ranges_without_a_server(lake: kl.Lake, local: keylake.local.LocalLake, shape: Shape) -> None:
    random = Random(FIRST)
    twin = shape.create(lake, fresh_name("feed"))
    for number, operation in enumerate(operations(shape, FIRST + 17, count=8, rows=random.choice([5, 30]))):
        print(operation)
        operation.apply(twin)
        if number % 3 == 1:
            twin.table.compact(random.choice(["full", "settle"]))
    table = local.table(twin.table.name)
    columns = [n for n in twin.model.columns if not isinstance(twin.table.spec.column(n).reducer, kl.ArraySum)]
    count = len(twin.commits)
    for _ in range(6):
        after, until = sorted(random.sample(range(count + 1), 2))
        net = table.changes(after=at(twin, after), until=at(twin, until), columns=columns).to_arrow()
        assert changes_by_key(twin, net) == expected_changes(twin, after, until, columns), (after, until)
        some = random.sample(columns, 2)
        of_some = table.changes(after=at(twin, after), until=at(twin, until), columns=some).to_arrow()
        assert changes_by_key(twin, of_some) == expected_changes(twin, after, until, some), (after, until, some)
    each = table.changes(every_commit=True, columns=columns).to_arrow()
    for number, commit in enumerate(twin.commits):
        of_commit = each.filter(pa.compute.equal(each["_commit"], commit.snapshot_id))
        assert changes_by_key(twin, of_commit) == expected_changes(twin, number, number + 1, columns), number
    if columns == list(twin.model.columns):
        same_as_of_the_server(twin, table, at(twin, count // 2))


def same_as_of_the_server(twin: Twin, table: keylake.local.LocalTable, after: int | None) -> None:
    """Columns, their order and types, and the commits that are told."""
    theirs, ours = twin.table.changes(after=after).toArrow(), table.changes(after=after).to_arrow()
    assert ours.column_names == theirs.column_names
    assert [f.name for f in ours.schema.field("_after").type] == [f.name for f in theirs.schema.field("_after").type]
    assert ours.schema.types == theirs.schema.types
    assert [field.nullable for field in ours.schema] == [field.nullable for field in theirs.schema]
    assert sorted(map(repr, comparable(ours.to_pylist()))) == sorted(map(repr, comparable(theirs.to_pylist())))


@pytest.mark.slow
def test_undo_and_buckets_that_were_divided(lake: kl.Lake, local: keylake.local.LocalLake) -> None:
    twin = EXPLICIT.create(lake, fresh_name("feed"), buckets=2)
    twin.upsert(rows(range(40)), version=1)
    twin.update([{"id": 7, "a": 8}, {"id": 90, "a": 1}], version=2)
    twin.delete([{"id": 3}], version=3)
    twin.table.compact("settle")
    twin.table.change_buckets(4)
    twin.update([{"id": key, "a": 0} for key in range(0, 50, 5)], version=4)
    table = local.table(twin.table.name)
    for after in range(4):
        net = changes_by_key(twin, table.changes(after=at(twin, after)).to_arrow())
        assert net == expected_changes(twin, after, 4), after
    twin.table.undo(after=twin.commits[0], until=twin.commits[1])
    same_as_of_the_server(twin, table, at(twin, 3))
    same_as_of_the_server(twin, table, at(twin, 1))
    head = twin.table.history(compactions=True)[0].snapshot_id
    assert {change.kind for change in table.changes(after=twin.commits[3], until=head).rows()} == {"update", "delete"}
    assert len(table.changes(after=head)) == len(table.changes(after=head, until=head)) == 0


def rows(keys: range) -> list[dict[str, object]]:
    return [{"id": key, "a": key, "b": "same", "c": 0.5, "d": [key], "e": None} for key in keys]


class Visit(kl.Table, name="feed.visits", buckets=2):
    """A table whose class gives its columns other names."""

    who: UUID = kl.key(name="user id")
    at: datetime.datetime = kl.ordering()
    place: str | None = kl.column()
    tags: dict[str, float] | None = kl.column()


NOON = datetime.datetime(2026, 11, 1, 12, tzinfo=datetime.timezone.utc)


def visit(number: int, minute: int, place: str, tags: dict[str, float] | None = None) -> Visit:
    return Visit(who=UUID(int=number), at=NOON + datetime.timedelta(minutes=minute), place=place, tags=tags)


def test_rows_of_the_class_and_other_forms(lake: kl.Lake, local: keylake.local.LocalLake) -> None:
    nan = float("nan")
    lake.create(Visit)
    table = local.table(Visit)
    assert len(table.changes()) == 0
    first = table.upsert([visit(1, 0, "Oslo", {"x": nan}), visit(2, 0, "Rome"), visit(3, 0, "Bari", {"x": 0.0})])
    table.upsert([visit(1, 1, "Oslo", {"x": nan}), visit(3, 0, "Bari", {"x": -0.0}), visit(4, 1, "Kiel")])
    last = table.delete([visit(2, 3, "Rome")])
    found = sorted(table.changes(after=first).rows(), key=lambda change: (change.before or change.after).who.int)  # type: ignore[union-attr]
    assert [(change.kind, change.columns) for change in found] == [
        ("update", ("at",)),
        ("delete", ()),
        ("update", ("tags",)),
        ("insert", ()),
    ]
    assert {change.commit for change in found} == {last.snapshot_id}
    assert (found[1].before, found[1].after) == (visit(2, 0, "Rome"), None)
    assert found[3].after == table.get(who=UUID(int=4)) == visit(4, 1, "Kiel")
    changes = table.changes(after=first, until=last)
    assert changes.to_pandas()["_change"].value_counts().to_dict() == {"update": 2, "delete": 1, "insert": 1}
    assert pa.table(changes).schema == changes.to_arrow().schema
    assert repr(changes).startswith("Changes(4 rows of user id, _change, ")
    same = table.changes(after=first, columns=["place"])
    assert sorted(same.to_arrow()["_change"].to_pylist()) == ["delete", "insert"]
    with pytest.raises(kl.SchemaMismatch, match="were read without column 'at'"):
        same.rows()


def test_keys_alone_can_change(lake: kl.Lake, local: keylake.local.LocalLake) -> None:
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False)])
    made = lake.create(kl.TableSpec.from_arrow(schema, name=fresh_name("feed"), key="id", buckets=1))
    table = local.table(made.name)
    first = table.upsert([{"id": 1}, {"id": 2}])
    table.delete([{"id": 1}])
    table.upsert([{"id": 2}, {"id": 3}])
    assert [(c.kind, c.before and c.before["id"]) for c in table.changes(after=first).rows()] == [
        ("delete", 1),
        ("insert", None),
    ]
    theirs = made.changes(after=first).toArrow()
    assert table.changes(after=first).to_arrow().to_pylist() == theirs.sort_by("id").to_pylist()


def test_images_have_the_columns_of_now(lake: kl.Lake, local: keylake.local.LocalLake) -> None:
    twin = EXPLICIT.create(lake, fresh_name("feed"))
    twin.upsert(rows(range(3)), version=1)
    for change in ("RENAME COLUMN a TO a2", "DROP COLUMN b", "ADD COLUMN n INT", "ALTER COLUMN e TYPE BIGINT"):
        lake.spark.sql(f"ALTER TABLE {twin.sql_name} {change}")
    lake.table(twin.table.name).update([{"id": 1, "a2": 5, "n": 7}], version=2)
    table = local.table(twin.table.name)
    (changed,) = table.changes(after=twin.commits[0]).rows()
    assert (changed.kind, changed.columns) == ("update", ("a2", "n"))
    assert changed.before is not None
    assert (changed.before["a2"], changed.before["n"]) == (1, None)
    twin.table = lake.table(twin.table.name)
    same_as_of_the_server(twin, table, at(twin, 1))
    same_as_of_the_server(twin, table, None)


def test_branches_and_ranges_that_are_none(lake: kl.Lake, local: keylake.local.LocalLake) -> None:
    twin = EXPLICIT.create(lake, fresh_name("feed"))
    table = local.table(twin.table.name)
    first = twin.upsert(rows(range(5)), version=1)
    side = twin.table.branch("tmp_side")
    elsewhere = side.update([{"id": 8, "a": 3}], version=4)
    twin.table.archive("2026-11-01")
    last = twin.update([{"id": 1, "a": 3}], version=4)
    assert [change.kind for change in table.changes(after=first, branch="tmp_side").rows()] == ["insert"]
    assert len(table.changes(after=first)) == 1
    assert len(table.changes(as_of="2026-11-01")) == 5
    head = twin.table.history(compactions=True)[0]
    assert len(table.changes(after=head)) == 0
    refusals: dict[str, tuple[type[kl.KeylakeError], dict[str, object]]] = {
        f"Commit {last.snapshot_id} comes after commit {first.snapshot_id}; exchange them": (
            kl.DefinitionError,
            {"after": last, "until": first},
        ),
        "but belongs to another branch": (kl.DefinitionError, {"after": elsewhere, "until": last}),
        f"Commit 17 of .* has expired, or never was.* that is kept is {first.snapshot_id}": (
            kl.SnapshotExpired,
            {"after": 17},
        ),
        "after='yesterday' is no commit": (kl.DefinitionError, {"after": "yesterday"}),
        "no branch 'later'": (kl.TableNotFound, {"branch": "later"}),
        "no archived state": (kl.TableNotFound, {"as_of": "2026-01-01"}),
        "no column 'z'": (kl.SchemaMismatch, {"columns": ["z"]}),
        "every_commit is 'yes'": (kl.DefinitionError, {"every_commit": "yes"}),
    }
    for words, (kind, arguments) in refusals.items():
        with pytest.raises(kind, match=words):
            table.changes(**arguments)  # type: ignore[arg-type]


def test_a_range_that_has_expired_says_so_without_a_server(lake: kl.Lake, local: keylake.local.LocalLake) -> None:
    twin = EXPLICIT.create(lake, fresh_name("feed"))
    first = twin.upsert(rows(range(5)), version=1)
    second = twin.update([{"id": 1, "a": 3}], version=4)
    table = local.table(twin.table.name)
    assert len(table.changes(after=first)) == 1
    twin.table.clean(kl.RetentionPolicy(days=0))
    for after in (first, None):
        with pytest.raises(kl.SnapshotExpired, match=f"Commit {first.snapshot_id} of .* oldest that is kept is"):
            table.changes(after=after)
    assert len(table.changes(after=second)) == 0


def test_commits_that_another_client_has_expired(lake: kl.Lake, local: keylake.local.LocalLake) -> None:
    """pyiceberg takes the parents away from those that stay: they look as if they were the first."""
    twin = EXPLICIT.create(lake, fresh_name("feed"))
    first = twin.update([{"id": 1, "a": 1}], version=1)
    draft = twin.table.branch("tmp_draft")
    for key in (2, 3):
        draft.update([{"id": key, "a": 1}], version=key)
    twin.update([{"id": 1, "a": 2}], version=2)
    hour = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1)
    plain = local._catalog.load_table(twin.table.name)
    plain.maintenance.expire_snapshots().older_than(hour).commit()
    plain.refresh()
    assert [each.parent_snapshot_id for each in plain.snapshots()] == [None, None]
    table = local.table(twin.table.name)
    uses: tuple[Callable[[], object], ...] = (
        table.changes,
        lambda: twin.table.changes().count(),
        lambda: twin.table.cherry_pick("tmp_draft"),
        draft.publish,
        lambda: table.changes(after=first),
        lambda: twin.table.undo(until=twin.table.history()[0], everything=True),
    )
    for use in uses:
        with pytest.raises(kl.SnapshotExpired, match="expired"):
            use()
    assert len(table.read(branch="tmp_draft")) == draft.read().count() == 3
    table.update([{"id": 1, "a": 3}], version=3)
    assert [row["a"] for row in table.read().to_arrow().to_pylist()] == [3]


@pytest.mark.slow
def test_a_range_that_is_too_large_says_where_a_smaller_one_ends(lake: kl.Lake, local: keylake.local.LocalLake) -> None:
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False)])
    made = lake.create(kl.TableSpec.from_arrow(schema, name=fresh_name("feed"), key="id", buckets=1))
    first = made.upsert(lake.spark.range(600_000))
    made.upsert(lake.spark.range(400_001))
    table = local.table(made.name)
    with pytest.raises(
        kl.Unsupported, match=rf"wrote 1,000,001 rows .* at most 1,000,000. Read up to until={first.snapshot_id} first"
    ):
        table.changes()
    assert len(table.changes(until=first)) == 600_000
    assert len(table.changes(after=first)) == 0


def test_other_engines_and_reducers_of_the_server(lake: kl.Lake, local: keylake.local.LocalLake) -> None:
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("h", pa.list_(pa.int64())), ("a", pa.int64())])
    spec = kl.TableSpec.from_arrow(schema, name=fresh_name("feed"), key="id", reducers={"h": kl.ArraySum()})
    made = lake.create(spec)
    first = made.upsert([{"id": 1, "h": [1], "a": 1}])
    made.update([{"id": 1, "h": [1], "a": 2}])
    table = local.table(made.name)
    with pytest.raises(kl.Unsupported, match=r"Column 'h' of .* has the reducer ArraySum"):
        table.changes(after=first)
    assert len(table.changes(after=first, columns="a")) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        local._catalog.load_table(made.name).delete("id = 1")
    with pytest.raises(kl.ForeignCommit, match="was not made by keylake"):
        table.changes(after=first, columns="a")
