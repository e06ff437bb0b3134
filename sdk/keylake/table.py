"""A keyed table, and the verbs people call: families of verbs over one handle (session, path, spec)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, cast

from keylake._definition.columns import spelled
from keylake._definition.spec import Names, TableSpec, names_of
from keylake._json.verb import JsonVerbs
from keylake._streams.verb import StreamVerbs
from keylake._table.branches import TEMPORARY, Branches, BranchVerbs
from keylake._table.changes import ChangeVerbs, Feed
from keylake._table.columns import ColumnType, ColumnVerbs
from keylake._table.condition import CheckVerbs, ConditionVerbs
from keylake._table.earlier_names import EarlierNames
from keylake._table.experiments import Experiments, ExperimentVerbs, opened
from keylake._table.files import Files
from keylake._table.finding import FindVerbs
from keylake._table.handle import Handle, Verbs
from keylake._table.history import Commits, HistoryVerbs
from keylake._table.layout import Layout, LayoutVerbs
from keylake._table.log import Log
from keylake._table.quarantine import Quarantine
from keylake._table.reads import ReadVerbs, Row
from keylake._table.serving import Serving
from keylake._table.states import States
from keylake._table.waiting import WaitVerbs
from keylake._table.writes import WriteVerbs
from keylake.errors import DefinitionError, TableNotFound, check_type
from keylake.schema import Table, importable, model_of

_MOST_CHARACTERS = 80  # of a thing that is no definition
_BRANCH = re.compile(rf"{TEMPORARY}[\w.-]+")  # the names of branches that are made


class KeyedTable(
    WriteVerbs,
    JsonVerbs,
    ReadVerbs[Row],
    FindVerbs[Row],
    ChangeVerbs,
    StreamVerbs,
    HistoryVerbs,
    WaitVerbs,
    BranchVerbs,
    ConditionVerbs,
    CheckVerbs,
    LayoutVerbs,
    ColumnVerbs,
    ExperimentVerbs,
    EarlierNames,
    Generic[Row],
):
    """A table with exactly one row per key. `lake.create()` and `lake.table()` return one.

    Rows may be a Spark frame of `lake.spark`, a pandas or polars frame, an Arrow table, or dicts or rows of the table's
    class, in a list, from a generator, or one alone; an empty list makes a commit of no rows. `version=` says how new
    the rows are, where they do not carry an ordering column: the name of one of their columns, one number for all, or a
    mapping from columns to the columns that hold their versions. Where the ordering column is a date or time, a date or
    time of its type is such a number.

    A verb names the errors of its own. Any verb raises `TableNotFound` if the table or branch was dropped,
    `DefinitionError` for an argument of another type, `ServerUnreachable` if the server or the session is gone,
    `StoreFailed` or `Unavailable` if files, the catalog or the store fail, and `Cancelled` if the call is ended from
    outside. One that commits raises `OutcomeUnknown` if the catalog does not say what became of its commit.
    """

    def __init__(self, handle: Handle, model: type[Row]) -> None:
        super().__init__(handle)
        self._model = model

    def __reduce__(self) -> tuple[Callable[..., KeyedTable[Any]], tuple[Handle, type[Row] | None]]:
        return _opened_again, (self._handle, importable(self._model))

    def _learn(self, handle: Handle) -> None:
        has_other_columns = handle.spec.columns != self.spec.columns
        super()._learn(handle)
        if has_other_columns:
            self._model = cast("type[Row]", _with_columns_of(handle.spec, self._model))

    @property
    def name(self) -> str:
        """The table's name with its namespace, as SQL has it behind the catalog."""
        return self._handle.path.name

    @property
    def files(self) -> Files:
        """The data files: `table.files()` lists them; `drop`, `move`, `restore`, `runs`, `sections`."""
        return Files(self)

    @property
    def branches(self) -> Branches:
        """The branches and tags: `table.branches()` lists them; `create`, `drop`, `cherry_pick`, `touched_by_both`."""
        return Branches(self)

    @property
    def quarantine(self) -> Quarantine:
        """The rows that writes have held back: `table.quarantine()` counts them; `rows`, `release`, `discard`."""
        return Quarantine(self)

    @property
    def layout(self) -> Layout:
        """The verbs for the files and buckets of the table, for what of its past is kept, and for the policies."""
        return Layout(self)

    @property
    def serving(self) -> Serving:
        """The verbs that bring the table to online key-value stores and to other engines."""
        return Serving(self)

    @property
    def experiments(self) -> Experiments:
        """The experiments of the table: `table.experiments()` lists them; `drop`."""
        return Experiments(self)

    @property
    def states(self) -> States:
        """The archived states of business times: `table.states()` lists them; `archive`."""
        return States(self)

    @property
    def log(self) -> Log:
        """The log of the table, to which `keylake.local` appends writes: `begin`, `move`, `state`, `skip`, `drop`."""
        return Log(self)

    @property
    def commits(self) -> Commits:
        """The facts that commits have said of their sources, and verbs on commits: `rollback`, `adopt`, `undo_plan`."""
        return Commits(self)

    @property
    def feed(self) -> Feed:
        """The writes of commits, the change feed as a stream, and its consumers."""
        return Feed(self)

    def branch(self, name: str) -> KeyedTable[Row]:
        """The same table on a branch: the same verbs, apart from what everybody reads.

        A branch whose name begins with `tmp_` is made from main, if it is not there. Any other has to exist, so that a
        misspelt name is an error; `branches.create(name)` makes it.

        Raises `TableNotFound` for a branch that is not there and has another name, and `DefinitionError` for a name
        that has other characters than letters, digits, `_`, `-` and `.`.

        Example::

            draft = profiles.branch("tmp_nightly")
        """
        check_type("The name of a branch", name, str, f"text such as '{TEMPORARY}nightly'")
        branch = None if name == "main" else name
        if _BRANCH.fullmatch(name):
            self._handle.on_branch(name).call("ensure_branch")
        other = KeyedTable(self._handle.on_branch(branch), self._model)
        try:
            other.history(at_most=1)  # an error when there is no such branch
        except TableNotFound as error:
            if not name.startswith(TEMPORARY):
                raise TableNotFound(f"{error} branches.create({name!r}) makes it.") from None
            raise DefinitionError(
                f"The name of a branch is {name!r}. Use {TEMPORARY} and letters, digits, '_', '-' and '.', "
                "which every engine can read."
            ) from None
        return other

    def experiment(
        self, name: str, *, add: Mapping[str, ColumnType] | None = None, drop: Names | None = None
    ) -> KeyedTable[Table]:
        """The table with columns of its own, which main does not show: the same verbs.

        An experiment that is not there is begun, in one commit that opens no data file. `add` maps names to types, as
        in `alter`; `drop` names columns of the table that the experiment does not show. Reads give the rows of main as
        they are now with the values of the experiment. Writes (`update`, `upsert`) carry the key and its own columns,
        and their files have only these. Rows of main are deleted in main. At equal versions, a value of the experiment
        is the later write. `promote()` makes its columns ordinary, `drop_experiment(name)` ends it.

        Raises `TableNotFound` if there is no such experiment and `add` is not given, `SchemaMismatch` if it is there
        with other columns, and `DefinitionError` for a name or columns that cannot be.

        Example::

            ranker = profiles.experiment("ranker_b", add={"score_b": Float64}, drop=["score"])
            ranker.update(scores)
        """
        handle = opened(self._handle, name, add, drop)
        return KeyedTable(handle, model_of(handle.spec))

    def __getitem__(self, columns: Names) -> TableColumns:
        """Some value columns of the table, for `kl.join`.

        Example::

            profiles["clicks", "spend"]
        """
        return self._knowing(lambda: TableColumns(self, names_of(columns)))

    def _ipython_key_completions_(self) -> list[str]:
        return list(self.spec.value_columns)

    def __repr__(self) -> str:
        return f"KeyedTable({self.name!r}{self._part()})"

    def _part(self) -> str:
        """The branch or experiment that this is; empty for main."""
        experiment, branch = self._handle.experiment, self._handle.path.branch
        branch = "" if branch is None else f", branch {branch!r}"
        return branch if experiment is None else f", experiment {experiment!r}"

    def __str__(self) -> str:
        return str(self.spec)

    def _repr_html_(self) -> str:
        return self.spec._html(f"{self.name}{self._part()}")  # pyright: ignore[reportPrivateUsage]


@dataclass(frozen=True)
class TableColumns:
    """Value columns of a table under the names that they get in a join; `table["clicks", "spend"]` makes one."""

    table: KeyedTable[Any]
    columns: tuple[str, ...]
    prefix: str = ""

    def __post_init__(self) -> None:
        check_type("table", self.table, Verbs, "a keyed table, such as lake.table('namespace.table')")
        check_type("prefix", self.prefix, str, "text such as 'profile_'")
        object.__setattr__(self, "columns", spelled(self.table.spec.columns, self.columns))
        unknown = [name for name in self.columns if name not in self.table.spec.column_names]
        if unknown:
            raise DefinitionError(f"{self.table.name} has no column {unknown[0]!r}. {self.table.spec.hint(unknown[0])}")
        keys = [name for name in self.columns if name in self.table.spec.key]
        if keys:
            raise DefinitionError(
                f"{keys[0]!r} is part of the key of {self.table.name}, which a join has already. Name value columns."
            )
        if len(set(self.columns)) < len(self.columns):
            raise DefinitionError(f"The columns {', '.join(self.columns)} of {self.table.name} have one twice.")

    def prefixed(self, prefix: str) -> TableColumns:
        """The same columns under names that begin with a prefix, where several tables have one of a name.

        Example::

            profiles["clicks", "spend"].prefixed("profile_").names
        """
        return replace(self, prefix=prefix)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns in the join.

        Example::

            profiles["clicks"].names
        """
        return tuple(self.prefix + name for name in self.columns)


def _opened_again(handle: Handle, model: type[Table] | None) -> KeyedTable[Any]:
    return KeyedTable(handle, model_of(handle.spec) if model is None else model)


def class_of(table: object) -> type[Table]:
    """The class of a table, where a definition is wanted."""
    if isinstance(table, type) and issubclass(table, Table):
        return table
    told = f"A row of class {type(table).__name__}" if isinstance(table, Table) else repr(table)
    if len(told) > _MOST_CHARACTERS:
        told = f"A {type(table).__name__}"
    raise DefinitionError(
        f"{told} is no definition of a table. Use a class of keylake.Table, or a TableSpec; "
        "rows go with name= and key=."
    )


def _with_columns_of(spec: TableSpec, model: type[Table]) -> type[Table]:
    """The class of a table whose columns have changed: the one that it was opened by, with those that were added.

    Where one of its own columns has changed, rows cannot be of that class any more.
    """
    own = model.table_spec()
    there = {column.name: column.type for column in spec.columns}
    is_kept = all(there.get(column.name) == column.type for column in own.columns) and own.key == spec.key
    return model_of(spec, model if is_kept else Table)
