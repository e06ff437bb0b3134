"""The handle that all verbs of a table start from: the session, where the table or branch lies, and its spec."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from keylake._definition.spec import Names, TableSpec, names_of
from keylake._rows.business_time import BusinessTime, utc_of
from keylake._server.session import Session
from keylake._server.statements import Call, Part, Select, TablePath
from keylake.errors import BadRows, DefinitionError, SchemaMismatch, TableNotFound, Unsupported
from keylake.results import Commit, CommitInfo, Undone

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


Result = TypeVar("Result")

EXPERIMENT = "experiment_"  # how the names of the branches of experiments begin


@dataclass(frozen=True)
class Handle:
    """A table or a branch of it on a server."""

    session: Session
    path: TablePath
    spec: TableSpec
    written: TableSpec | None = None  # what writes carry, where that is not all columns: those of an experiment

    @property
    def writes(self) -> TableSpec:
        """The columns that writes can carry."""
        return self.spec if self.written is None else self.written

    @property
    def experiment(self) -> str | None:
        """The name of the experiment that this is; None for the table and its branches."""
        return None if self.written is None or self.path.branch is None else self.path.branch.removeprefix(EXPERIMENT)

    def check_no_experiment(self, what: str) -> None:
        """An error where this is an experiment."""
        if self.experiment is not None:
            raise Unsupported(f"An experiment has no {what}: {self.path}. Take that of the table itself.")

    @property
    def on_main(self) -> Handle:
        """Main, for what concerns the table as a whole, whichever branch this is."""
        return self.on_branch(None)

    def on_branch(self, branch: str | None) -> Handle:
        """A branch of the table; None is main."""
        return replace(self, path=TablePath(self.path.name, branch), written=None)

    def at_state(self, as_of: BusinessTime | None) -> Handle:
        """The archived state of a business time; this handle where none is given."""
        if as_of is None:
            return self
        self.check_no_experiment("archived states")
        branch = self.on_main.value("history_branch", business_time=utc_of(as_of).isoformat())
        return self.on_branch(str(branch))

    def call(self, procedure: str, **arguments: str | float | None) -> list[dict[str, Any]]:
        """The rows that a procedure returns for the table or branch, with tuples for lists: results are frozen."""
        rows: list[dict[str, Any]] = self.session.call(Call.of(procedure, self.path, **arguments)).to_pylist()
        return [
            {name: tuple(value) if isinstance(value, list) else value for name, value in row.items()} for row in rows
        ]

    def value(self, procedure: str, **arguments: str | int | None) -> Any:
        """The first value that a procedure returns for the table or branch."""
        return self.session.call(Call.of(procedure, self.path, **arguments)).column(0)[0].as_py()

    def part(self, part: Part, at: int | None = None) -> DataFrame:
        """A metadata table beside the table or branch, as a plain Spark frame."""
        return self.session.frame_of(Select(self.path, at=at, part=part), None)

    def commits(self, **which: str | int | bool | None) -> tuple[CommitInfo, ...]:
        """The commits of the table or branch, newest first."""
        return tuple(map(CommitInfo.from_row, self.call("commits", **which)))

    def newest_commit(self) -> int:
        """The newest commit of the table or branch, of whatever kind; 0 where there is none."""
        found = self.call("commits", at_most=1)
        return int(found[0]["snapshot_id"]) if found else 0

    def next_offsets(self, sources: Collection[str] | None = None) -> dict[str, int]:
        """The first missing offset of some sources, or of all that the branch knows."""
        if sources is not None and not sources:
            return {}
        next_of = {row["source"]: row["next_offset"] for row in self.call("offsets")}
        return {name: offset for name, offset in next_of.items() if sources is None or name in sources}

    def range_of(self, after: object, until: object = None) -> tuple[int, int]:
        """The ends of a range of commits as snapshot ids, after the server has found all of them."""
        found = self.call("commit_range", **ends_of(after, until))[0]
        return found["after"], found["until"]

    def as_now(self) -> Handle:
        """The same with the definition of the table, or of the experiment, as it is now."""
        if self.experiment is None:
            return replace(self, spec=TableSpec.from_json(str(self.on_main.value("describe"))))
        for row in self.on_main.call("experiments"):
            if row["experiment"] == self.experiment:
                reads, writes = (TableSpec.from_json(row[each]) for each in ("reads", "writes"))
                return replace(self, spec=reads, written=writes)
        raise TableNotFound(f"{self.path.name} has no experiment {self.experiment!r} any more.")

    def columns(self, columns: Names) -> tuple[str, ...]:
        """The names of columns, which the table must have."""
        names = names_of(columns)
        known = {name.lower() for name in self.spec.column_names}
        for name in names:
            if name.lower() not in known and not name.startswith("_"):
                raise SchemaMismatch(f"{self.path} has no column {name!r}. {self.spec.hint(name)}")
        return names


class Verbs:
    """A family of verbs over a handle; `KeyedTable` has all families, and none of them inherits from another."""

    def __init__(self, handle: Handle) -> None:
        self._known = handle

    @property
    def _handle(self) -> Handle:
        """The table as it was last asked for."""
        return self._known

    @property
    def spec(self) -> TableSpec:
        """The definition of the table, as this handle knows it: with the columns of when it was last asked for."""
        return self._handle.spec

    def _learn(self, handle: Handle) -> None:
        """Go on with a definition that has changed."""
        self._known = handle

    def _current(self) -> TableSpec:
        """The definition as it is now, for verbs that name columns which their caller has not named.

        Somebody may have changed them since this handle was made.
        """
        found = self._handle.as_now()
        if found != self._handle:
            self._learn(found)
        return found.spec

    def _knowing(self, what: Callable[[], Result]) -> Result:
        """Do something with columns that its caller names; where they do not fit, do it with those that are there now.

        Other than `_current`, it asks the server only where that is needed.
        """
        try:
            return what()
        except (SchemaMismatch, BadRows, DefinitionError) as error:
            failure = error
        before = self._handle
        self._current()
        if self._handle == before:
            raise failure
        return what()


class Namespace(Verbs):
    """Verbs of a table about one thing, which the table has under a name: `table.files.drop(...)`."""

    _table: Verbs

    def __init__(self, table: Verbs) -> None:
        self.__dict__["_table"] = table

    def __setattr__(self, name: str, value: object) -> None:
        """Refuses what would be lost at once: a table makes a namespace whenever it is asked for one."""
        kind = type(self).__name__
        raise AttributeError(
            f"{self!r} takes no attribute {name!r}, as it is made anew for each call. "
            f"Set it on the class: keylake.table.{kind}.{name}."
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__} of {self._handle.path}"

    @property
    def _handle(self) -> Handle:
        return self._table._handle

    def _learn(self, handle: Handle) -> None:
        self._table._learn(handle)


_SNAPSHOT_IDS = range(2**63)


def snapshot_id_of(name: str, commit: object) -> int | None:
    """The snapshot that an argument of this name says: what a write returned, or a snapshot id.

    >>> snapshot_id_of("after", 17)
    17
    """
    if isinstance(commit, Undone):
        commit = commit.snapshot_id
    if commit is None or isinstance(commit, Commit | CommitInfo):
        return None if commit is None else commit.snapshot_id
    if isinstance(commit, bool) or not isinstance(commit, int) or commit not in _SNAPSHOT_IDS:
        raise DefinitionError(f"{name}={commit!r} is no commit. Give what a write returned, or a snapshot id.")
    return commit


def required_snapshot_id_of(name: str, commit: object) -> int:
    """The same for an argument that has to name one."""
    snapshot_id = snapshot_id_of(name, commit)
    if snapshot_id is None:
        raise DefinitionError(f"{name}=None is no commit. Give what a write returned, or a snapshot id.")
    return snapshot_id


def ends_of(after: object, until: object) -> dict[str, int | None]:
    """The ends of a range of commits as arguments of a call.

    >>> ends_of(17, None)
    {'after': 17, 'until': None}
    """
    return {"after": snapshot_id_of("after", after), "until": snapshot_id_of("until", until)}
