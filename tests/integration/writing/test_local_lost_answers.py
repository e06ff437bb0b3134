"""Answers of a catalog that are lost on their way to a small write: what was taken is told as taken, once, and nothing
that the table names is deleted."""

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.exceptions import CommitFailedException, CommitStateUnknownException, ForbiddenError, ServerError
from sqlalchemy.exc import OperationalError

import keylake as kl
import keylake.local
from integration.twin import fresh_name
from keylake.local.writing import attempts

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("a", pa.int64())])
LOST: dict[str, Callable[[], BaseException]] = {
    "cut": lambda: ConnectionError("the connection was reset"),
    "database": lambda: OperationalError("UPDATE", {}, Exception("server closed the connection unexpectedly")),
    "conflict": lambda: CommitFailedException("Table has been updated by another process"),
    "garbled": lambda: ValueError("the answer ends too early"),
    "500": lambda: CommitStateUnknownException("500"),
    "503": lambda: ServerError("503"),
}


class Lossy:
    """The catalog of a lake, some of whose commits are not answered: `plan` says of each call what happens to it."""

    def __init__(self, opened: keylake.local.LocalLake, plan: Callable[[], tuple[str, BaseException] | None]) -> None:
        self._catalog: Any = getattr(opened._catalog, "_whole", opened._catalog)  # which commits for that of a folder
        self._commit = self._catalog.commit_table
        self._plan = plan
        self._catalog.commit_table = self._asked
        self.lost = 0

    def _asked(self, *request: Any) -> Any:
        fault = self._plan()
        if fault is None:
            return self._commit(*request)
        when, error = fault
        self.lost += 1
        if when == "after":
            self._commit(*request)
        raise error

    def check_files(self, name: str) -> None:
        """Every file that the table names is there."""
        table = self._catalog.load_table(name)
        for snapshot in table.metadata.snapshots:
            for manifest in snapshot.manifests(table.io):
                for entry in manifest.fetch_manifest_entry(table.io):
                    assert table.io.new_input(entry.data_file.file_path).exists()


def once(when: str, error: BaseException) -> Callable[[], tuple[str, BaseException] | None]:
    faults = [(when, error)]
    return lambda: faults.pop() if faults else None


def spec() -> kl.TableSpec:
    return kl.TableSpec.from_arrow(SCHEMA, name=fresh_name("lost"), key="id", buckets=2)


def created(lake: kl.Lake) -> kl.KeyedTable:
    return lake.create(spec())


@pytest.mark.slow
def test_a_lost_answer_is_looked_up(lake: kl.Lake, warehouse: Path) -> None:
    made = created(lake)
    faults = [(when, lost()) for when in ("before", "after") for lost in LOST.values()]
    calls = iter([each for fault in faults for each in ([fault, None] if fault[0] == "before" else [fault])])
    with keylake.local.open(warehouse) as opened:
        lossy, table = Lossy(opened, lambda: next(calls)), opened.table(made.name)
        numbers = [table.update([{"id": 1, "a": number}]).snapshot_id for number in range(len(faults))]
        assert lossy.lost == len(faults)
        lossy.check_files(made.name)
    assert [each.snapshot_id for each in made.history()] == numbers[::-1]
    assert [row.a for row in made.read().collect()] == [len(faults) - 1]


def test_what_ends_within_a_commit_deletes_nothing(lake: kl.Lake, warehouse: Path) -> None:
    made = created(lake)
    with keylake.local.open(warehouse) as opened:
        lossy = Lossy(opened, once("after", KeyboardInterrupt()))
        with pytest.raises(KeyboardInterrupt):
            opened.table(made.name).update([{"id": 1, "a": 1}])
        lossy.check_files(made.name)
        assert opened.table(made.name).get(id=1) is not None


def test_what_is_not_known_is_told_as_unknown(lake: kl.Lake, warehouse: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempts, "PATIENCE_SECONDS", 0.0)
    made = created(lake)
    with keylake.local.open(warehouse) as opened:
        table = opened.table(made.name)
        lossy = Lossy(opened, once("before", ForbiddenError("403")))
        with pytest.raises(kl.StoreFailed, match=r"is not known, because .* 403; .* were not there yet.* snapshot \d+"):
            table.update([{"id": 1, "a": 1}])
        assert lossy.lost == 1
        load = opened._catalog.load_table

        def away(*_: object) -> None:
            raise ConnectionError("no route")

        def cut() -> tuple[str, BaseException]:
            monkeypatch.setattr(opened._catalog, "load_table", away)
            return "after", ConnectionError("reset")

        lossy._commit = lambda *request: None  # type: ignore[assignment]
        lossy._plan = cut
        with pytest.raises(kl.StoreFailed, match=r"is not known, because the catalog cannot be asked: .*no route"):
            table.update([{"id": 1, "a": 2}])
        monkeypatch.setattr(opened._catalog, "load_table", load)
        assert table.get(id=1) is None


@pytest.mark.slow
def test_a_table_is_made_once_when_answers_are_lost() -> None:
    with keylake.local.open(":memory:") as opened:
        for when in ("before", "after"):
            for name, error in LOST.items():
                lossy, new = Lossy(opened, once(when, error())), spec()
                table = opened.create(new)
                assert lossy.lost == 1
                assert table.update([{"id": 1, "a": 1}]).rows == 1, (when, name)
                with pytest.raises(kl.TableExists):
                    opened.create(new)


def test_a_table_of_somebody_else_is_told_as_such() -> None:
    """Another process makes the table while the answer of the catalog is lost."""
    with keylake.local.open(":memory:") as opened, keylake.local.open(opened._catalog.properties["warehouse"]) as other:
        first, new = spec(), spec()

        def meanwhile(made: kl.TableSpec) -> Callable[[], tuple[str, BaseException] | None]:
            faults = [ConnectionError("reset")]

            def plan() -> tuple[str, BaseException] | None:
                if not faults:
                    return None
                other.create(made).update([{"id": 1, "a": 7}])
                return "before", faults.pop()

            return plan

        Lossy(opened, meanwhile(first))
        with pytest.raises(kl.TableExists, match="exists already"):
            opened.create(first)
        Lossy(opened, meanwhile(new))
        table = opened.create(new, if_exists="match")
        assert table.read().to_arrow().to_pylist() == [{"id": 1, "a": 7}]


def test_a_table_of_which_nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempts, "PATIENCE_SECONDS", 0.0)
    with keylake.local.open(":memory:") as opened:
        new = spec()
        lossy = Lossy(opened, lambda: ("before", ConnectionError("reset")))
        with pytest.raises(kl.OutcomeUnknown, match=r"Whether lost\S* was made is not known, .* reset; .*if_exists"):
            opened.create(new)
        assert lossy.lost == 5
        lossy = Lossy(opened, lambda: ("before", ForbiddenError("403")))
        with pytest.raises(kl.ServerUnreachable, match="403"):
            opened.create(new)
        assert lossy.lost == 1
        load = opened._catalog.load_table

        def away(*_: object) -> None:
            raise ConnectionError("no route")

        def cut() -> tuple[str, BaseException]:
            monkeypatch.setattr(opened._catalog, "load_table", away)
            return "before", ConnectionError("reset")

        Lossy(opened, cut)
        with pytest.raises(kl.OutcomeUnknown, match=r"because the catalog cannot be asked: .*no route"):
            opened.create(new)
        monkeypatch.setattr(opened._catalog, "load_table", load)
        assert opened.tables() == ()


@pytest.mark.slow
def test_a_history_with_lost_answers(lake: kl.Lake, warehouse: Path) -> None:
    made, draw, model, commits = created(lake), Random(35), dict[int, int](), list[int]()

    def sometimes() -> tuple[str, BaseException] | None:
        if draw.random() > 0.2:
            return None
        return draw.choice(["before", "after"]), draw.choice(list(LOST.values()))()

    with keylake.local.open(warehouse) as opened:
        lossy, table = Lossy(opened, sometimes), opened.table(made.name)
        for number in range(60):
            key = draw.randrange(9)
            if draw.random() < 0.3:
                commits.append(table.delete([{"id": key}]).snapshot_id)
                model.pop(key, None)
            else:
                commits.append(table.upsert([{"id": key, "a": number}]).snapshot_id)
                model[key] = number
            assert {row["id"]: row["a"] for row in table.read().to_arrow().to_pylist()} == model
        lossy.check_files(made.name)
        assert lossy.lost > 5
    assert [each.snapshot_id for each in made.history()] == commits[::-1]
    assert {row.id: row.a for row in made.read().collect()} == model


def test_metadata_that_a_store_does_not_take(tmp_path: Path) -> None:
    """The catalog was not asked, so nothing is unknown."""
    (tmp_path / "lost").write_text("a file in the place of the namespace")
    with keylake.local.open(":memory:") as opened:
        opened._catalog.properties["warehouse"] = str(tmp_path)
        with pytest.raises(kl.StoreFailed, match=r"does not take the metadata \S+json: .*Nothing was written"):
            opened.create(spec())
        assert opened.tables() == ()
