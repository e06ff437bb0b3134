"""The reasons why a query moves rows between tasks, read from its plan.

SortMergeJoin [id], [id]
:- BatchScan lake.features.profile      keylake ...       stays where it is
+- Exchange hashpartitioning(id, 8)                       a shuffle: what lies below it is moved
+- BatchScan lake.features.orders    keylake ...
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from keylake._display.html_table import ShownFields
from keylake._server.server import JOINED_WHERE_THEY_LIE
from keylake._server.statements import quoted
from keylake.errors import check_type

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_JOINS = ("SortMergeJoin", "ShuffledHashJoin")
_GROUPINGS = ("HashAggregate", "ObjectHashAggregate", "SortAggregate")
_PASSED_BY = ("Sort", "Project", "Filter", "InputAdapter", "WholeStageCodegen")
_KEYED_SCAN = re.compile(r"keylake (\S+) \(snapshot")
_COLUMN = re.compile(r"(?:_keylake_\d+_\d+ (?:key )?)?([^,\[\]]+?)#\d+L?")


@dataclass(frozen=True)
class JoinExplanation(ShownFields):
    """The number of times that a plan moves and sorts rows, and why; printed, it says so in words."""

    shuffles: int
    sorts: int
    reasons: tuple[str, ...]  # one for each shuffle

    def __str__(self) -> str:
        if not self.shuffles:
            return f"No rows are moved, {_times(self.sorts, 'sort')}."
        told = "\n".join(f"- {reason}" for reason in self.reasons)
        return f"{_times(self.shuffles, 'shuffle')}, {_times(self.sorts, 'sort')}.\n{told}"


def explain_join(frame: DataFrame) -> JoinExplanation:
    """Say in words how often a query moves and sorts rows, and why. It is planned, and not run.

    Broadcasts of small sides are no shuffles. What Spark changes while the query runs is not seen.

    Example::

        print(kl.explain_join(profiles.read().join(orders.read(), ["user_id", "day"])))
    """
    from pyspark.sql import DataFrame as AnyFrame

    check_type("frame", frame, AnyFrame, "a Spark frame, such as kl.join(...)")
    root = _parsed(_plan_of(frame))
    nodes = list(root.all())
    moved = [node for node in nodes if node.is_shuffle]
    sorts = sum(node.name == "Sort" for node in nodes)
    return JoinExplanation(len(moved), sorts, tuple(_reason(node, frame.sparkSession) for node in moved))


def assert_no_shuffle(frame: DataFrame) -> None:
    """Raise an AssertionError that says why, where a query moves rows between tasks; for tests.

    Example::

        kl.assert_no_shuffle(profiles.read().join(orders.read(), ["user_id", "day"]))
    """
    explained = explain_join(frame)
    if explained.shuffles:
        raise AssertionError(str(explained))


def _times(count: int, what: str) -> str:
    return f"{count or 'no'} {what}{'' if count == 1 else 's'}"


def _plan_of(frame: DataFrame) -> str:
    """The physical plan, as Spark prints it."""
    connected: Any = frame
    return str(connected._explain_string())  # what explain() prints; stdout belongs to the whole process


@dataclass
class _Node:
    """An operator of a plan."""

    text: str
    depth: int
    parent: _Node | None = None
    children: list[_Node] = field(default_factory=list)

    @property
    def name(self) -> str:
        return re.split(r"[ (\[]", self.text, maxsplit=1)[0]

    @property
    def is_shuffle(self) -> bool:
        return self.name == "Exchange"

    def all(self) -> Iterator[_Node]:
        yield self
        for child in self.children:
            yield from child.all()

    def leaves(self) -> list[_Node]:
        return [node for node in self.all() if not node.children]

    def user(self) -> _Node | None:
        """The operator for which rows are moved."""
        above = self.parent
        while above is not None and above.name in _PASSED_BY:
            above = above.parent
        return above


def _parsed(plan: str) -> _Node:
    root = _Node("", -1)
    last = root
    for line in plan.splitlines():
        shape = re.match(r"^([ :+\-]*)(?:\*\(\d+\) |\* )?(\S.*)$", line)
        if shape is None or line.startswith("=="):
            continue
        node = _Node(shape[2], len(shape[1]))
        while last.depth >= node.depth and last.parent is not None:
            last = last.parent
        node.parent = last
        last.children.append(node)
        last = node
    return root


# ----------------------------------------------------------------------------------------------------------- reasons


def _reason(shuffle: _Node, spark: Any) -> str:
    rows = _named(shuffle)
    user = shuffle.user()
    if user is not None and user.name == "BucketedRows":
        by = _sample_keys(user)
        return f"{rows} are brought into the buckets of the tables that they are joined to{by}, once for all of them."
    if "rangepartitioning" in shuffle.text:
        return f"{rows} are moved to be sorted as a whole."
    if user is not None and user.name in _JOINS:
        return f"{rows} are moved to be joined: {_of_join(shuffle, user, spark)}."
    if user is not None and user.name in _GROUPINGS:
        groups = re.search(r"keys=\[(.*?)\]", user.text)
        columns = _columns("" if groups is None else groups[1])
        if not columns:
            return f"Partial results of {rows} are brought together; there are few of them."
        return f"{rows} are moved to be grouped by {', '.join(columns)}: {_of_columns(shuffle, columns, spark)}."
    if user is not None and user.name.startswith("Window"):
        columns = _columns(shuffle.text.partition("hashpartitioning(")[2].partition(")")[0])
        return f"{rows} are moved for a window by {', '.join(columns)}: {_of_columns(shuffle, columns, spark)}."
    return f"{rows} are moved because the query repartitions them."


def _sample_keys(bucketed: _Node) -> str:
    """The columns of the samples that the join above their buckets compares."""
    join = bucketed.user()
    keys = re.search(r"\[(.*?)\]", join.text) if join is not None and "Join" in join.name else None
    columns = [name for name in _columns(keys[1] if keys else "") if not name.startswith("_keylake_bucket")]
    return f" by {', '.join(columns)}" if columns else ""


def _of_join(shuffle: _Node, join: _Node, spark: Any) -> str:
    setting = _wrong_setting(spark)
    if setting is not None:
        return setting
    left, right = (*join.children, join, join)[:2]
    is_left = shuffle in list(left.all())
    keys = re.findall(r"\[([^\]]*)\]", join.text)[:2]
    own, other = (keys if is_left else keys[::-1]) if len(keys) == 2 else ("", "")
    reason = _lacking(_columns(own), shuffle, spark) or _lacking(_columns(other), right if is_left else left, spark)
    if reason is not None:
        return reason
    sides = [_layouts(side, spark) for side in (left, right)]
    for side, layouts in zip((left, right), sides, strict=True):
        if not layouts:
            return f"{_named(side)} lie in no buckets; kl.join(...) moves such rows once, and no table"
    told = [" and ".join(sorted({_told(spec) for spec in layouts.values()})) for layouts in sides]
    return f"one side lies in {told[0]}, and the other in {told[1]}"


def _of_columns(shuffle: _Node, columns: Sequence[str], spark: Any) -> str:
    return (
        _wrong_setting(spark)
        or _lacking(columns, shuffle, spark)
        or "what a join or a union gives lies in no buckets, or a column was renamed or computed"
    )


def _wrong_setting(spark: Any) -> str | None:
    for name, value in JOINED_WHERE_THEY_LIE.items():
        found = str(spark.conf.get(name, "")).lower()
        if found != value:
            return f"the setting {name} is {found or 'not set'}, and must be {value}"
    return None


def _lacking(columns: Sequence[str], below: _Node, spark: Any) -> str | None:
    """A sentence: the place of a table's rows does not follow from these columns."""
    for table, spec in _layouts(below, spark).items():
        wanted = [*spec["partition_by"], *spec["bucket_by"]]
        missing = [name for name in wanted if name.lower() not in {column.lower() for column in columns}]
        if missing and columns:
            by = ", ".join(columns)
            return f"{table} lies by {', '.join(wanted)}, and {by} without {missing[0]} does not say where a row is"
    return None


def _columns(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in _COLUMN.findall(text) if name.strip() != "_bucket")


def _named(node: _Node) -> str:
    """The words for rows, with the tables that they come from."""
    names: list[str] = []
    for leaf in node.leaves():
        keyed = _KEYED_SCAN.search(leaf.text)
        scanned = re.match(r"(?:BatchScan|FileScan \S+|Scan \S+) (\S+?)\[", leaf.text)
        names.append(keyed[1] if keyed else scanned[1] if scanned else leaf.name)
    told = list(dict.fromkeys("the samples" if name == "LocalTableScan" else name for name in names))
    return f"The rows of {', '.join(told)}" if told else "Rows"


def _layouts(node: _Node, spark: Any) -> dict[str, dict[str, Any]]:
    """The specs of the keyed tables below, by name."""
    found: dict[str, dict[str, Any]] = {}
    for leaf in node.leaves():
        keyed = _KEYED_SCAN.search(leaf.text)
        if keyed is not None and keyed[1] not in found:
            parts = [quoted(part) for part in keyed[1].split(".")]
            described = spark.sql(f"CALL {parts[0]}.system.describe(table => :table)", {"table": ".".join(parts)})
            found[keyed[1]] = {"partition_by": []} | json.loads(described.toArrow().to_pylist()[0]["spec"])
    return found


def _told(spec: dict[str, Any]) -> str:
    partitions = f"partitions by {', '.join(spec['partition_by'])} and " if spec["partition_by"] else ""
    return f"{partitions}{spec['buckets']} buckets by {', '.join(spec['bucket_by'])}"
