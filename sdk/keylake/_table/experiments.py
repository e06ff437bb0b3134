"""Experiments: columns of their own, with files of their own, which main does not show.

table.experiment("ranker_b", add={...}, drop=[...])  ──  a handle whose reads have both, and whose writes have its own
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from keylake._definition.spec import Names, TableSpec, names_of
from keylake._display.html_table import ShownFields
from keylake._server.statements import TablePath
from keylake._table.columns import ColumnChanges, ColumnType, iceberg_type
from keylake._table.handle import EXPERIMENT, Handle, Namespace, Verbs
from keylake.errors import DefinitionError, SchemaMismatch, TableNotFound, check_type


@dataclass(frozen=True)
class Experiment(ShownFields):
    """An experiment of a table."""

    name: str
    columns: tuple[str, ...]  # of its own
    dropped: tuple[str, ...]  # columns of main that it does not show

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Experiment:
        """An experiment as a procedure returns it."""
        return cls(row["experiment"], row["columns"], row["dropped"])


class ExperimentVerbs(Verbs):
    """The verb that makes an experiment a part of its table."""

    def promote(self) -> Experiment:
        """Make the columns of this experiment columns of the table, with all of their values, for everybody.

        No data file is opened. The experiment ends. Columns that it did not show stay columns of the table.

        Raises `DefinitionError` if this is no experiment, `TableNotFound` if it has ended, `Unsupported` if its settled
        files have to be compacted first, and `ForeignCommit` after a commit of another engine.

        Example::

            profiles.experiment("ranker_b").promote()
        """
        name = self._handle.experiment
        if name is None:
            raise DefinitionError(
                f"{self._handle.path} is no experiment. One is promoted: table.experiment('ranker_b').promote()."
            )
        return Experiment.from_row(self._handle.on_main.call("promote_experiment", experiment=name)[0])


class Experiments(Namespace):
    """`table.experiments`: the experiments of a table, and what becomes of them."""

    def __call__(self) -> tuple[Experiment, ...]:
        """The experiments of the table, by name.

        Raises `TableNotFound` if the table is not there any more.

        Example::

            profiles.experiments()
        """
        return tuple(map(Experiment.from_row, self._handle.on_main.call("experiments")))

    def drop(self, name: str) -> Experiment:
        """End an experiment: its columns and values are gone. No data file is opened.

        Its files are deleted once its snapshots expire, as the retention policy says.

        Raises `TableNotFound` if there is no such experiment.

        Example::

            profiles.experiments.drop("ranker_b")
        """
        check_type("The name of an experiment", name, str, "text such as 'ranker_b'")
        return Experiment.from_row(self._handle.on_main.call("drop_experiment", experiment=name)[0])


def opened(handle: Handle, name: str, add: Mapping[str, ColumnType] | None, drop: Names | None) -> Handle:
    """The handle of an experiment, which is begun if it is not there and its columns are given."""
    check_type("The name of an experiment", name, str, "text such as 'ranker_b'")
    check_type("add", add, Mapping | None, "a mapping from the names of columns")
    main = handle.on_main
    dropped = () if drop is None else names_of(drop)
    row = next((each for each in main.call("experiments") if each["experiment"] == name), None)
    if row is None:
        if not add:
            raise TableNotFound(
                f"{main.path} has no experiment {name!r}. Name its columns to begin it: "
                f"experiment({name!r}, add={{'score': Float64}})."
            )
        changes = ColumnChanges(main.as_now().spec, add=add).to_json()
        row = main.call("create_experiment", experiment=name, add=changes, drop=json.dumps(dropped))[0]
    elif add is not None or drop is not None:
        _check_same(main.path, row, add or {}, dropped)
    reads, writes = (TableSpec.from_json(row[each]) for each in ("reads", "writes"))
    path = TablePath(main.path.name, f"{EXPERIMENT}{name}", (name,))
    return replace(main, path=path, spec=reads, written=writes)


def _check_same(path: TablePath, row: Mapping[str, Any], add: Mapping[str, ColumnType], drop: Sequence[str]) -> None:
    """An error where an experiment that is there has other columns."""
    writes = TableSpec.from_json(row["writes"])
    there = {name.lower(): str(writes.column(name).type) for name in row["columns"]}
    wanted = {name.lower(): str(iceberg_type(each, f"Column {name!r}")) for name, each in add.items()}
    if there != wanted or {name.lower() for name in drop} != {name.lower() for name in row["dropped"]}:
        raise SchemaMismatch(
            f"Experiment {row['experiment']!r} of {path} is there with the columns {there} and without "
            f"{list(row['dropped'])}. Leave add= and drop= out to open it, or take another name."
        )
