"""A statement is what a verb wants, as a value, before anything is sent: a Write, a Call, a Select or an Explain.

    Write     df.writeTo(name).options(...)                       made by `intention.write`
    Call      CALL lake.system.<procedure>(...)
    Select    SELECT ... FROM ... VERSION AS OF ... WHERE key
    Explain   CALL lake.system.explain_row(..., key => named_struct(...))

Pure text: nothing here knows Spark. This is the one place that quotes names, and values never become part of the text:
they travel as parameters.
"""

from __future__ import annotations

import datetime
import decimal
import re
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from pyiceberg.types import DecimalType, IcebergType

from keylake._definition.names import RelationOption
from keylake._definition.table_names import name_parts
from keylake.errors import DefinitionError, TableNotFound, check_type


@dataclass(frozen=True)
class Watermark:
    """The first commit with which a stream, or all of them, had come to an event time; `kl.watermark` makes one."""

    time: datetime.datetime
    stream: str | None = None


def watermark(time: datetime.datetime, *, stream: str | None = None) -> Watermark:
    """A moment for `at=`: the first commit with which all streams with watermarks, or one of them, had come to a time.

    >>> watermark(datetime.datetime(2026, 11, 1, tzinfo=datetime.timezone.utc)).stream is None
    True
    """
    check_type(
        "The time of a watermark", time, datetime.datetime, "a datetime with a zone: tzinfo=datetime.timezone.utc"
    )
    if time.tzinfo is None:
        raise DefinitionError(f"watermark {time} has no time zone, so it is no point in time. Give it one: tzinfo=UTC.")
    check_type("stream", stream, str | None, "the name of a stream")
    return Watermark(time, stream)


Verb = Literal["upsert", "update", "delete", "apply_changes", "overwrite"]
Moment = int | str | datetime.datetime
Freshness = Literal["on_time"]
Argument = str | float | list[str]
KeyParts = tuple[tuple[str, IcebergType, object], ...]  # the columns of a key, with their types and values
Part = Literal[
    "keyed_files", "runs", "sections", "branches", "consumers", "all_data_files", "entries", "snapshots"
]  # what lies beside a keyed table

WHOLE_ROWS: tuple[Verb, ...] = ("upsert", "overwrite")  # the verbs whose rows carry every column
_BARE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def quoted(name: str) -> str:
    """One part of a name as SQL has it.

    >>> print(quoted("back`tick"))
    `back``tick`
    """
    return "`" + name.replace("`", "``") + "`"


def dotted(parts: Iterable[str]) -> str:
    """A table's name in the one way in which it is always written: parts between backticks only where they need them.

    >>> dotted(name_parts("`features`.`user profile`"))
    'features.`user profile`'
    """
    return ".".join(part if _BARE_NAME.fullmatch(part) else quoted(part) for part in parts)


@dataclass(frozen=True)
class TablePath:
    """The place of a table: its dotted name, and the branch if it is not main, or experiments that are read with main.

    >>> print(TablePath("features.`user.profile`", "tmp_nightly").in_sql("lake"))
    `lake`.`features`.`user.profile`.`branch_tmp_nightly`
    >>> print(TablePath("features.clicks", experiments=("one", "other")).in_sql("lake"))
    `lake`.`features`.`clicks`.`experiment_one,other`
    """

    name: str
    branch: str | None = None
    experiments: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", dotted(name_parts(self.name)))

    def in_sql(self, catalog: str) -> str:
        """The name with its catalog, every part quoted."""
        branch = () if self.branch is None else (f"branch_{self.branch}",)
        if self.experiments:  # an experiment has a branch, too, by which procedures know it
            branch = (f"experiment_{','.join(self.experiments)}",)
        return ".".join(map(quoted, (catalog, *name_parts(self.name), *branch)))

    def __str__(self) -> str:
        if self.experiments:
            return f"{self.name}, experiment {', '.join(self.experiments)}"
        return self.name if self.branch is None else f"{self.name}, branch {self.branch}"


@dataclass(frozen=True)
class Call:
    """A procedure of the plug-in, about a table or the catalog. Arguments are parameters, never part of the text.

    >>> call = Call.of("commits", TablePath("features.clicks"), at_most=1)
    >>> print(call.in_sql("lake"))
    CALL `lake`.system.commits(table => :table, at_most => :at_most)
    >>> call.parameters("lake")
    {'table': '`lake`.features.clicks', 'at_most': 1}
    """

    procedure: str
    path: TablePath | None = None
    arguments: tuple[tuple[str, Argument], ...] = ()

    @classmethod
    def of(cls, procedure: str, path: TablePath | None = None, /, **arguments: Argument | None) -> Call:
        """A call with the arguments that are not None."""
        return cls(procedure, path, tuple((name, value) for name, value in arguments.items() if value is not None))

    def in_sql(self, catalog: str) -> str:
        """The statement, with a marker for each argument."""
        named = ", ".join(f"{name} => :{name}" for name in self.parameters(catalog))
        return f"CALL {quoted(catalog)}.system.{self.procedure}({named})"

    def parameters(self, catalog: str) -> dict[str, Argument]:
        """The values of the markers. A table's name has the catalog in front: a namespace may be called the same."""
        table = {} if self.path is None else {"table": f"{quoted(catalog)}.{self.path.name}"}
        branch = {} if self.path is None or self.path.branch is None else {"branch": self.path.branch}
        return table | branch | dict(self.arguments)


@dataclass(frozen=True)
class Write:
    """A frame to be written: where to, with which options, appended or in place of what is there."""

    path: TablePath
    options: tuple[tuple[str, str], ...]

    @property
    def mode(self) -> Literal["append", "overwrite"]:
        """The mode in which Spark is to write the frame."""
        return "overwrite" if ("verb", "overwrite") in self.options else "append"


@dataclass(frozen=True)
class Commits:
    """The commits after one and up to another, by their snapshot ids: what was written there, or what it changed.

    >>> print(Commits("changes", after=17, until=18).in_sql())
    .`changes` WITH ('after' = '17', 'until' = '18')
    """

    read: Literal["appended", "changes", "changes of every commit"]
    after: int  # 0: before the first
    until: int

    def in_sql(self) -> str:
        """The words behind the table's name."""
        options: dict[str, object] = {RelationOption.AFTER: self.after, RelationOption.UNTIL: self.until}
        if self.read == "changes of every commit":
            options[RelationOption.EVERY_COMMIT] = "true"
        listed = ", ".join(f"{literal(name)} = {literal(str(value))}" for name, value in options.items())
        table = "" if self.read == "appended" else f".{quoted('changes')}"
        return f"{table} WITH ({listed})"


@dataclass(frozen=True)
class Select:
    """A read: of some columns, at a moment, of one key, or of what lies beside the table.

    Text and parameters are apart, as in a Call.

    >>> print(Select(TablePath("features.clicks"), columns=("clicks",), at=17).in_sql("lake"))
    SELECT `clicks` FROM `lake`.`features`.`clicks` VERSION AS OF 17
    >>> print(Select(TablePath("features.clicks"), at=17, freshness="on_time").in_sql("lake"))
    SELECT * FROM `lake`.`features`.`clicks` VERSION AS OF 17 WITH ('freshness' = 'on_time')
    >>> print(Select(TablePath("features.clicks", "tmp_nightly"), part="keyed_files").in_sql("lake"))
    SELECT * FROM `lake`.`features`.`clicks`.`branch_tmp_nightly`.`keyed_files`
    """

    path: TablePath
    columns: tuple[str, ...] | None = None
    at: Moment | None = None
    key: KeyParts = ()
    commits: Commits | None = None
    part: Part | None = None
    freshness: Freshness | None = None

    def in_sql(self, catalog: str) -> str:
        """The statement, with a marker for each value of the key."""
        columns = "*" if self.columns is None else ", ".join(map(quoted, self.columns))
        # A snapshot belongs to the table, whichever branch it was committed on.
        is_at = self.at is not None or self.commits is not None
        path = replace(self.path, branch=None) if is_at else self.path
        commits = "" if self.commits is None else self.commits.in_sql()
        part = "" if self.part is None else f".{quoted(self.part)}"
        text = f"SELECT {columns} FROM {path.in_sql(catalog)}{part}{commits or self._as_of()}"
        if self.freshness is not None:
            text += f" WITH ('freshness' = {literal(self.freshness)})"
        conditions = [f"{quoted(name)} = {marker}" for name, marker in _markers(self.key)]
        return f"{text} WHERE {' AND '.join(conditions)}" if conditions else text

    def parameters(self) -> dict[str, str | int | bool | bytes]:
        """The values of the markers."""
        return _parameters(self.key)

    def _as_of(self) -> str:
        if self.at is None:
            return ""
        kind = "TIMESTAMP" if isinstance(self.at, datetime.datetime) else "VERSION"
        return f" {kind} AS OF {_moment(self.at, self.path)}"


@dataclass(frozen=True)
class Explain:
    """The procedure that explains the row of one key.

    >>> from pyiceberg.types import LongType
    >>> print(Explain(TablePath("features.clicks"), (("id", LongType(), 7),), at=17).in_sql("lake"))
    CALL `lake`.system.explain_row(table => :table, key => named_struct('id', CAST(:k0 AS BIGINT)), at => 17)
    """

    path: TablePath
    key: KeyParts
    at: Moment | None = None

    def in_sql(self, catalog: str) -> str:
        """The statement, with a marker for each value of the key."""
        key = ", ".join(f"{literal(name)}, {marker}" for name, marker in _markers(self.key))
        branch = "" if self.path.branch is None else ", branch => :branch"
        at = "" if self.at is None else f", at => {_moment(self.at, self.path)}"
        return f"CALL {quoted(catalog)}.system.explain_row(table => :table, key => named_struct({key}){branch}{at})"

    def parameters(self, catalog: str) -> dict[str, str | int | bool | bytes]:
        """The values of the markers."""
        branch = {} if self.path.branch is None else {"branch": self.path.branch}
        return {"table": f"{quoted(catalog)}.{self.path.name}"} | branch | _parameters(self.key)


def _markers(key: KeyParts) -> list[tuple[str, str]]:
    """The columns of a key, each with what stands for its value."""
    return [(name, f"CAST(:k{number} AS {sql_type(type_)})") for number, (name, type_, _) in enumerate(key)]


def _parameters(key: KeyParts) -> dict[str, str | int | bool | bytes]:
    return {f"k{number}": as_parameter(value) for number, (_, _, value) in enumerate(key)}


def _moment(at: Moment, path: TablePath) -> str:
    """A moment as SQL has it: a snapshot id, the name of a tag or branch, or a time."""
    if isinstance(at, datetime.datetime):
        if at.tzinfo is None:
            raise DefinitionError(
                f"at={at} has no time zone, so it is no point in time. Give it one: tzinfo=timezone.utc."
            )
        if path.branch is not None:
            raise DefinitionError("A time says where main stood. On a branch, give at= a commit or a snapshot id.")
        return f"TIMESTAMP '{at.astimezone(datetime.timezone.utc).isoformat(sep=' ')}'"
    if isinstance(at, int):
        return str(at)
    if at.isdecimal() or not at.strip():
        raise TableNotFound(f"at={at!r} is no name of a tag or branch. A snapshot id is an int: at={at.strip() or 0}.")
    return literal(at)


def sql_type(type_: IcebergType) -> str:
    """The type of a key column as SQL names it.

    >>> sql_type(DecimalType(10, 2))
    'DECIMAL(10, 2)'
    """
    if isinstance(type_, DecimalType):
        return f"DECIMAL({type_.precision}, {type_.scale})"
    names = {"long": "BIGINT", "timestamp": "TIMESTAMP_NTZ", "timestamptz": "TIMESTAMP", "uuid": "STRING"}
    return names.get(str(type_), str(type_).upper())


def literal(text: str) -> str:
    r"""Text as SQL has it.

    >>> print(literal("it's"))
    'it\'s'
    """
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def as_parameter(value: object) -> str | int | bool | bytes:
    """The value as a parameter: numbers, text and bytes as they are, all else as text that a CAST understands."""
    if isinstance(value, bool | int | str | bytes):
        return value
    if isinstance(value, datetime.datetime):
        return value.isoformat(sep=" ")
    if isinstance(value, datetime.date | uuid.UUID | decimal.Decimal):
        return str(value)
    raise DefinitionError(f"{value!r} cannot be the value of a key.")
