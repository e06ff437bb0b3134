"""Writes that only checkers see: a branch, what it has changed, the checks on that, and its way to main."""

import json
from datetime import UTC, datetime

import pytest

import keylake as kl
from integration.histories import Operation, Shape, operations, shapes
from integration.random_runs import of_every
from integration.raw import catalog_of
from integration.refusals import refused
from integration.twin import Twin, fresh_name, given

SHAPES = dict(shapes())
EXPLICIT = Shape("explicit", buckets=2)


def rows(first: int, after: int, value: int | None) -> list[dict[str, object]]:
    return [{"id": key, "a": value, "b": "text", "c": 0.5, "d": None, "e": None} for key in range(first, after)]


def with_draft(lake: kl.Lake) -> tuple[Twin, kl.KeyedTable]:
    """A table of 100 rows, and a branch of it with 20 more and 10 that are changed."""
    twin = EXPLICIT.create(lake, fresh_name("branches"))
    twin.upsert(rows(0, 100, 1), version=1)
    draft = twin.table.branch("tmp_nightly")
    draft.upsert(rows(90, 120, 2), version=2)
    return twin, draft


@pytest.mark.slow
def test_nobody_sees_a_branch_until_it_is_published(lake: kl.Lake) -> None:
    twin, draft = with_draft(lake)
    twin.check()
    assert draft.read().count() == 120
    assert twin.table.branch("tmp_nightly").read().count() == 120, "the same branch again"
    done = draft.publish(require=[kl.null_rate("a", below=0.01), kl.row_count_change(at_least=0, at_most=50)])
    assert done.fast_forward
    assert done.commits == 1
    assert [(each.value, each.passed) for each in done.findings] == [(0.0, True), (20.0, True)]
    assert twin.table.read().count() == 120
    assert twin.table.history()[0].verb == "publish"
    assert done.snapshot_id == twin.table.history()[0].snapshot_id
    summary = catalog_of(lake).load_table(twin.table.name).current_snapshot()
    assert summary is not None
    assert summary.summary is not None
    assert [each["passed"] for each in json.loads(summary.summary["keylake.gate"] or "")] == [True, True]
    changed = twin.table.changes(after=twin.commits[0]).groupBy("_change").count().collect()
    assert {row["_change"]: row["count"] for row in changed} == {"insert": 20, "update": 10}
    with refused(lake, twin.table.name, kl.NothingToDo, "nothing to publish"):
        draft.publish()


@pytest.mark.parametrize("name", ["merged", "experiment_colors", "history_2026_11_01"])
def test_a_branch_of_keylake_is_made_by_keylake_only(lake: kl.Lake, name: str) -> None:
    twin = EXPLICIT.create(lake, fresh_name("branches"))
    with refused(lake, twin.table.name, kl.DefinitionError, f"itself gives the name '{name}' to a branch"):
        lake.sql(f"CALL lake.system.ensure_branch(table => '{twin.table.name}', branch => '{name}')")


@pytest.mark.slow
def test_a_gate_refuses_with_its_figures(lake: kl.Lake) -> None:
    twin, draft = with_draft(lake)
    draft.upsert(rows(200, 210, None), version=3)
    draft.delete([{"id": 0}], version=3)
    known = twin.table.read(columns=["id"])
    checks = [
        kl.null_rate("a", below=0.1),
        kl.row_count_change(at_most=29),
        kl.value_range("a", at_least=2, at_most=5),
        kl.value_range("c", at_most=0.1),
        kl.condition("b = 'text' AND a IS NOT NULL"),
        kl.unique("id"),
        kl.unique("b"),
        kl.references("id", known),
    ]
    with pytest.raises(kl.GateFailed) as failed:
        draft.publish(require=checks)
    found = [(each.value, each.passed) for each in failed.value.findings]  # type: ignore[attr-defined]
    assert found == [
        (0.25, False), (29.0, True), (0.0, True), (40.0, False), (10.0, False), (0.0, True), (1.0, False), (30.0, False)
    ]  # fmt: skip
    assert "5 of 8 checks" in str(failed.value)
    assert "null_rate('a') is 0.25, and must be below 0.1" in str(failed.value)
    assert "Nothing was published" in str(failed.value)
    twin.check()


@pytest.mark.slow
def test_a_gate_that_raises_publishes_nothing(lake: kl.Lake) -> None:
    twin, draft = with_draft(lake)
    with refused(lake, twin.table.name, kl.SchemaMismatch, "gone"):
        draft.publish(require=[kl.condition("gone > 1")])
    with pytest.raises(kl.KeylakeError):
        draft.publish(require=[kl.condition("a >")])
    twin.check()
    with pytest.raises(kl.DefinitionError, match="is main"):
        twin.table.publish()
    with pytest.raises(kl.DefinitionError, match="share"):
        kl.null_rate("a", below=2)
    assert draft.publish(require=[kl.value_range("a", at_least=0), kl.condition("true")]).findings[0].value == 0


def test_bounds_of_all_kinds(lake: kl.Lake) -> None:
    twin = SHAPES["ordering, text key"].create(lake, fresh_name("branches"))
    draft = twin.table.branch("tmp_times")
    at = datetime(2026, 1, 1, tzinfo=UTC)
    draft.upsert([{"name": "it's", "t": at, "a": 1, "b": "x", "c": 0.5, "d": None, "e": 1}])
    wide = [
        kl.value_range("t", at_least=at, at_most=datetime(2027, 1, 1, tzinfo=UTC)),
        kl.value_range("b", at_most="y"),
    ]
    assert [each.value for each in draft.publish(require=wide).findings] == [0, 0]
    assert twin.table.read().count() == 1, "main had no commit before"


VERSION = {"explicit": 99, "commit": None, "partitions and groups": 99}


def in_the_model(twin: Twin, operation: Operation) -> None:
    if operation.verb == "update":
        twin.model.update(operation.rows, operation.version, operation.columns_from)
    elif operation.verb == "apply_changes":
        twin.model.apply_changes(operation.rows, "op", operation.version)
    else:
        getattr(twin.model, operation.verb)(operation.rows, operation.version)


@pytest.mark.slow
@of_every("name", {name: name for name in ("commit", "partitions and groups")}, today=1)
def test_main_may_have_moved_meanwhile(lake: kl.Lake, name: str) -> None:
    """Published after other commits, a branch comes to what its writes after these commits would have made."""
    shape = SHAPES[name]
    twin = shape.create(lake, fresh_name("branches"))
    steps = [each for each in operations(shape, 701, count=12, rows=20) if each.verb != "overwrite"]
    for operation in steps[:3]:
        operation.apply(twin)
    draft = Twin(lake, twin.table.branch("tmp_side"), twin.model.between(0, 3), twin.schema)
    for operation in steps[3:6]:
        operation.apply(draft)
    draft.table.compact("full")
    for operation in steps[6:9]:
        operation.apply(twin)
    twin.table.compact("settle")
    done = draft.table.publish()
    assert not done.fast_forward
    assert done.commits == 3
    for operation in steps[3:6]:
        in_the_model(twin, operation)
    if name != "commit":  # there, the branch's versions lie between those of main
        assert twin.read() == twin.expected()
    twin.table.compact("full")
    if name != "commit":
        assert twin.read() == twin.expected()
    with refused(lake, twin.table.name, kl.NothingToDo, "nothing to publish"):
        draft.table.publish()
    keys = dict(zip(twin.model.key, next(iter(twin.model.written)), strict=True))
    draft.table.upsert(draft.frame([keys | dict.fromkeys(twin.model.columns)]), **given(version=VERSION[name]))
    assert draft.table.publish().commits == 1, "only what is new"
    assert twin.table.get(**keys) is not None


def test_a_branch_of_any_name_is_made_when_it_is_said(lake: kl.Lake) -> None:
    twin = EXPLICIT.create(lake, fresh_name("branches"))
    twin.upsert(rows(0, 3, 1), version=1)
    branches = twin.table.branches
    with pytest.raises(kl.TableNotFound, match=r"no branch 'nightly'.* branches\.create\('nightly'\) makes it"):
        twin.table.branch("nightly")
    assert (branches.create("nightly"), branches.create("nightly")) == (True, False)
    assert twin.table.branch("nightly").count() == 3
    for name, says in (("a b", "Use letters"), ("", "Use letters"), ("main", "itself"), ("experiment_x", "itself")):
        with pytest.raises(kl.DefinitionError, match=says):
            branches.create(name)
    twin.check()


def test_a_branch_is_dropped(lake: kl.Lake) -> None:
    twin, draft = with_draft(lake)
    name = twin.table.name
    newest = draft.history()[0].snapshot_id
    assert twin.table.drop_branch("tmp_nightly") == newest
    assert twin.table.read(at=newest).count() == 120, "until it expires"
    with pytest.raises(kl.TableNotFound, match="no branch 'tmp_nightly'"):
        twin.table.drop_branch("tmp_nightly")
    with refused(lake, name, kl.DefinitionError, "cannot be dropped"):
        twin.table.drop_branch("main")
    twin.table.archive("2026-11-01")
    (state,) = [each for each in lake.history_branches() if each.table == name]
    with refused(lake, name, kl.DefinitionError, "archived state"):
        twin.table.drop_branch(state.branch)
    twin.check()


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO {} VALUES (1, 1, 'x', 0.5, NULL, NULL)",
        "SELECT * FROM {}",
        "DELETE FROM {} WHERE id = 1",
        "UPDATE {} SET a = 1",
        "MERGE INTO {} t USING (SELECT 1L id) s ON t.id = s.id WHEN MATCHED THEN DELETE",
    ],
)
def test_statements_on_a_branch_that_is_not_there(lake: kl.Lake, statement: str) -> None:
    twin = EXPLICIT.create(lake, fresh_name("branches"))
    twin.upsert(rows(0, 3, 1), version=1)
    named = f"{lake.catalog}.{twin.table.name}.branch_none"
    with pytest.raises(kl.TableNotFound, match=r"has no branch 'none'; its branches are \[main\]"):
        lake.spark.sql(statement.format(named)).collect()
    twin.check()
