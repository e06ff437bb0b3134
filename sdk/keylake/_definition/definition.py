"""The parts of a table, and everything that is refused about it.

A table is defined in many ways (a class, an Arrow or Iceberg schema, JSON), but it is checked here and only here:
`TableSpec` calls these checks, one per part of the definition, whoever builds it. Each error names the value, the limit
and the next step.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

from keylake._definition.columns import Column, ColumnGroup, spelled
from keylake._definition.grouping import HASHES, SLOTS
from keylake._definition.reduced import check_reduced_type
from keylake.errors import DefinitionError
from keylake.reducers import LATEST, LatestNotNull

KEY_TYPES = (
    BooleanType, IntegerType, LongType, DateType, TimestampType, TimestamptzType, StringType, BinaryType, DecimalType,
    UUIDType,
)  # fmt: skip
ORDERING_TYPES = (IntegerType, LongType, DateType, TimestampType, TimestamptzType)
RESERVED_BEGINNINGS = ("_merge_info", "_bucket", "_group")
RESERVED_NAMES = (
    "_file", "_pos", "_deleted", "_spec_id", "_partition", "_row_id", "_last_updated_sequence_number",
    "_change_type", "_change_ordinal", "_commit_snapshot_id",
)  # fmt: skip
VALUE_TYPES = (*KEY_TYPES, FloatType, DoubleType, TimeType, FixedType)
MOST_BUCKETS = 1_000_000


def check_columns(columns: Sequence[Column]) -> None:
    """Refuse names that keylake uses or that stand twice, and types that Iceberg v2 or a reducer does not take.

    >>> check_columns([Column("_bucket", LongType())])
    Traceback (most recent call last):
    keylake.errors.DefinitionError: Column '_bucket': names that begin with _bucket belong to keylake. Rename it.
    """
    if not columns:
        raise DefinitionError("The table has no columns. Give it at least a key.")
    for column in columns:
        _check_column_name(column.name)
        _check_type(column.type, f"Column {column.name!r}")
        check_reduced_type(column)
    _check_distinct([column.name for column in columns], "Column")


def check_reducers(columns: Sequence[Column], named: Iterable[str]) -> None:
    """Refuse reducers of columns that are not there, and several for one column.

    >>> check_reducers([Column("clicks", LongType())], ["click"])
    Traceback (most recent call last):
    keylake.errors.DefinitionError: Reduced column 'click' is not in the schema. Did you mean 'clicks'?
    """
    names = list(named)
    for name in spelled(columns, names):
        _column(columns, name, "Reduced")
    _check_distinct(names, "Reduced column")


def check_partition_name(columns: Sequence[Column], partition: str) -> None:
    """Refuse a name for the bucket in Iceberg's partitioning that a column has.

    >>> check_partition_name([Column("user_id_bucket", LongType())], "user_id_bucket")
    Traceback (most recent call last):
    keylake.errors.DefinitionError: Column 'user_id_bucket' has the name that Iceberg gives to the table's buckets. \
Rename the column.
    """
    for column in columns:
        if column.name.lower() == partition.lower():
            raise DefinitionError(
                f"Column {column.name!r} has the name that Iceberg gives to the table's buckets. Rename the column."
            )


def _check_column_name(name: str) -> None:
    if not name.strip():
        raise DefinitionError(f"A column has the empty name {name!r}. Give it a name.")
    lower = name.lower()
    beginning = next((reserved for reserved in RESERVED_BEGINNINGS if lower.startswith(reserved)), None)
    if beginning is not None:
        raise DefinitionError(f"Column {name!r}: names that begin with {beginning} belong to keylake. Rename it.")
    if lower in RESERVED_NAMES:
        raise DefinitionError(f"Column {name!r} has the name of a metadata column of Iceberg. Rename the column.")
    if "." in name:
        raise DefinitionError(
            f"Column {name!r} has a dot in its name, which separates a struct from its field. "
            f"Name it {name.replace('.', '_')!r}, for example."
        )
    if not name.isprintable():
        raise DefinitionError(f"Column {name!r} has a sign in its name that cannot be printed. Rename the column.")


def _check_distinct(names: Sequence[str], what: str) -> None:
    seen: dict[str, str] = {}
    for name in names:
        folded = _folded(name)
        other = seen.get(folded)
        if other == name:
            raise DefinitionError(f"{what} {name!r} is there twice. Keep one, or rename one.")
        if other is not None:
            raise DefinitionError(
                f"{what} {name!r} differs only in case from {other!r}; Spark cannot tell them apart. Rename one."
            )
        seen[folded] = name


def _folded(name: str) -> str:
    """A name as Spark compares it, letter by letter: some alphabets have several of one case.

    >>> _folded("Id"), _folded("\u0130d"), _folded("\u017fum")
    ('id', 'id', 'sum')
    """
    if name.isascii():
        return name.lower()
    upper = (each if len(each.upper()) > 1 else each.upper() for each in name)
    return "".join(each.lower()[0] for each in upper)


def _check_type(type_: IcebergType, where: str) -> None:
    if isinstance(type_, ListType):
        _check_type(type_.element_type, where)
    elif isinstance(type_, MapType):
        _check_type(type_.key_type, where)
        _check_type(type_.value_type, where)
    elif isinstance(type_, StructType):
        if not type_.fields:
            raise DefinitionError(f"{where} is a struct without fields, which no file can hold. Give it a field.")
        for field in type_.fields:
            if not field.name.strip():
                raise DefinitionError(f"{where} has a field of the empty name {field.name!r}. Give it a name.")
            _check_type(field.field_type, f"{where}, field {field.name!r},")
        _check_distinct([field.name for field in type_.fields], f"{where}: field")
    elif not isinstance(type_, VALUE_TYPES):
        raise DefinitionError(f"{where} has the type {type_}, which is none of Iceberg v2. Use {_said(VALUE_TYPES)}.")


def check_key(columns: Sequence[Column], key: Sequence[str]) -> None:
    """A key of at least one column, of types whose equal values are equal bytes.

    >>> check_key([Column("spend", DoubleType(), required=True)], ["spend"])
    Traceback (most recent call last):
    keylake.errors.DefinitionError: Key column 'spend' is a double, which no key can be. Use boolean, int, long, date, \
timestamp, timestamptz, string, binary, decimal or uuid.
    """
    if not key:
        raise DefinitionError("The key is empty. Name one column or more.")
    for name in key:
        column = _column(columns, name, "Key")
        if not isinstance(column.type, KEY_TYPES):
            raise DefinitionError(
                f"Key column {name!r} is a {column.type}, which no key can be. Use {_said(KEY_TYPES)}."
            )
        if column.reducer != LATEST:
            raise DefinitionError(
                f"Key column {name!r} has the reducer {column.reducer.type}(), but a key is never merged. "
                "Leave the reducer out."
            )
    _check_distinct(key, "Key column")
    for column in columns:
        if column.required != (column.name in key):
            raise DefinitionError(
                f"Key column {column.name!r} may be null. Make it required."
                if column.name in key
                else f"Column {column.name!r} is required, but a partial update may not carry it. Make it optional."
            )


def check_versions(columns: Sequence[Column], key: Sequence[str], versions: str, ordering: str | None) -> None:
    """Refuse several sources of versions: an ordering column, the commits, or what each write says.

    >>> check_versions([], [], "commit", "event_time")
    Traceback (most recent call last):
    keylake.errors.DefinitionError: The table has the ordering column 'event_time' and versions='commit', \
but versions come from one source. Leave one of the two out.
    """
    if versions not in ("ordering", "commit", "explicit"):
        raise DefinitionError(f"versions is {versions!r}. Use 'ordering', 'commit' or 'explicit'.")
    if ordering is None:
        if versions == "ordering":
            raise DefinitionError(
                "versions is 'ordering', but no ordering column is named. "
                "Name one, or use versions='commit' or versions='explicit'."
            )
        return
    if versions != "ordering":
        raise DefinitionError(
            f"The table has the ordering column {ordering!r} and versions={versions!r}, "
            "but versions come from one source. Leave one of the two out."
        )
    column = _column(columns, ordering, "Ordering")
    if ordering in key:
        raise DefinitionError(
            f"Ordering column {ordering!r} is a key column, so every version would be a row of its own. "
            "Order by another column."
        )
    if not isinstance(column.type, ORDERING_TYPES):
        raise DefinitionError(
            f"Ordering column {ordering!r} is a {column.type}, which is no version. Use {_said(ORDERING_TYPES)}."
        )
    if column.reducer != LATEST:
        raise DefinitionError(
            f"Ordering column {ordering!r} has the reducer {column.reducer.type}(), but the newest version wins. "
            "Leave the reducer out."
        )


def check_buckets(key: Sequence[str], buckets: int, bucket_by: Sequence[str], partition_by: Sequence[str]) -> None:
    """A number of buckets, and key columns that say where a row lies.

    >>> check_buckets(["user_id"], 0, ["user_id"], [])
    Traceback (most recent call last):
    keylake.errors.DefinitionError: buckets is 0. Use a whole number from 1 to 1000000.
    """
    if isinstance(buckets, bool) or not 1 <= buckets <= MOST_BUCKETS:
        raise DefinitionError(f"buckets is {buckets!r}. Use a whole number from 1 to {MOST_BUCKETS}.")
    if not bucket_by:
        raise DefinitionError("bucket_by is empty. Name key columns, or leave it out for the whole key.")
    for option, names in (("bucket_by", bucket_by), ("partition_by", partition_by)):
        for name in names:
            if name not in key:
                raise DefinitionError(
                    f"{option} names {name!r}, which is no key column; a key would lie in several places. "
                    f"{hint(name, key)}"
                )
        _check_distinct(names, f"{option}: column")
    if set(bucket_by) <= set(partition_by):
        raise DefinitionError(
            f"partition_by has all of bucket_by ({', '.join(bucket_by)}), so a partition would use one bucket only. "
            "Name another key column in bucket_by, or take one out of partition_by."
        )


def check_key_groups(columns: Sequence[Column], buckets: int, groups: int | None, hash_name: str | None) -> None:
    """Refuse groups of keys without the hash that makes them, a hash without groups, and fewer groups than buckets.

    >>> check_key_groups([], 16, 8, "crc32")
    Traceback (most recent call last):
    keylake.errors.DefinitionError: groups is 8 and buckets is 16, but a bucket holds at least one group. \
Use fewer buckets.
    """
    if (groups is None) != (hash_name is None):
        raise DefinitionError("groups and hash go together, and one of them is missing. Say both, or neither.")
    if groups is None or hash_name is None:
        return
    if isinstance(groups, bool) or not 1 <= groups <= MOST_BUCKETS:
        raise DefinitionError(f"groups is {groups!r}. Use a whole number from 1 to {MOST_BUCKETS}.")
    if groups < buckets:
        raise DefinitionError(
            f"groups is {groups} and buckets is {buckets}, but a bucket holds at least one group. Use fewer buckets."
        )
    if hash_name not in HASHES and "." not in hash_name:
        raise DefinitionError(f"hash is {hash_name!r}. Use {', '.join(HASHES)}, or the full name of a Java class.")
    if hash_name == "redis_slot" and SLOTS % groups != 0:
        raise DefinitionError(f"groups is {groups}, which does not divide the {SLOTS} slots of redis_slot. Use 8192.")
    for column in columns:
        if hash_name == "java_string" and isinstance(column.type, BinaryType):
            raise DefinitionError(
                f"The hash java_string takes text, but column {column.name!r} of bucket_by is binary. Use another hash."
            )


def check_groups(
    columns: Sequence[Column], key: Sequence[str], ordering: str | None, groups: Sequence[ColumnGroup]
) -> None:
    """Refuse groups of columns that cannot share one version.

    >>> check_groups([], [], None, [ColumnGroup("behaviour", ())])
    Traceback (most recent call last):
    keylake.errors.DefinitionError: Column group 'behaviour' has no columns. Put a column into it, or leave it out.
    """
    group_of: dict[str, str] = {}
    _check_distinct([group.name for group in groups], "Column group")
    by_name = {column.name.lower(): column for column in columns}
    for group in groups:
        _check_group_name(group, by_name)
        for name in group.columns:
            column = _column(columns, name, f"Column group {group.name!r}:")
            if name in key or name == ordering:
                role = "key" if name in key else "ordering"
                raise DefinitionError(
                    f"Column group {group.name!r} has the {role} column {name!r}, which cannot share a version. "
                    "Take it out of the group."
                )
            if name in group_of:
                raise DefinitionError(
                    f"Column {name!r} is in column groups {group_of[name]!r} and {group.name!r}. Keep it in one."
                    if group_of[name] != group.name
                    else f"Column group {group.name!r} has column {name!r} twice. Keep one."
                )
            if column.reducer == LatestNotNull() and len(group.columns) > 1:
                raise DefinitionError(
                    f"Column group {group.name!r} has the LatestNotNull() column {name!r} beside others, "
                    "but its nulls say nothing while theirs do. Take it out of the group."
                )
            group_of[name] = group.name


def _check_group_name(group: ColumnGroup, by_name: dict[str, Column]) -> None:
    if not group.name.strip():
        raise DefinitionError(f"A column group has the empty name {group.name!r}. Give it a name.")
    if "." in group.name or not group.name.isprintable():
        raise DefinitionError(f"Column group {group.name!r} has a sign in its name that cannot be stored. Rename it.")
    column = by_name.get(group.name.lower())
    if column is not None and column.name not in group.columns:
        raise DefinitionError(
            f"Column group {group.name!r} has the name of column {column.name!r}, which is outside it. "
            "Rename the group."
        )
    if column is not None and column.reducer.accumulates:
        raise DefinitionError(
            f"Column group {group.name!r} has the name of column {column.name!r}, which has the reducer "
            f"{column.reducer!r} and so versions of its own. Rename the group."
        )
    if not group.columns:
        raise DefinitionError(f"Column group {group.name!r} has no columns. Put a column into it, or leave it out.")


def _column(columns: Sequence[Column], name: str, role: str) -> Column:
    for column in columns:
        if column.name == name:
            return column
    names = [column.name for column in columns]
    raise DefinitionError(f"{role} column {name!r} is not in the schema. {hint(name, names)}")


def hint(name: str, names: Sequence[str]) -> str:
    """The name that may have been meant by one that is not there, as a question, or else a list of all names.

    >>> hint("click", ["clicks", "spend"]), hint("zork", ["clicks", "spend"])
    ("Did you mean 'clicks'?", 'There are: clicks, spend.')
    """
    by_lower = {known.lower(): known for known in names}
    near = difflib.get_close_matches(name.lower(), by_lower, n=1)
    return f"Did you mean {by_lower[near[0]]!r}?" if near else f"There are: {', '.join(names)}."


def near_name(name: str, names: Iterable[str]) -> str:
    """The question whether another name was meant, with a blank in front; nothing where none is like it.

    >>> near_name("shop.clikcs", ["shop.clicks", "shop.orders"]), near_name("a.b", ["shop.clicks"])
    (" Did you mean 'shop.clicks'?", '')
    """
    near = difflib.get_close_matches(name, list(names), n=1, cutoff=0.75)
    return f" Did you mean {near[0]!r}?" if near else ""


def _said(types: Iterable[type[IcebergType]]) -> str:
    *most, last = [kind.__name__.removesuffix("Type").lower().replace("integer", "int") for kind in types]
    return f"{', '.join(most)} or {last}"
