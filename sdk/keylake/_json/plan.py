"""The plan for each field of a batch, decided once and before anything is written.

    fields of the batch (names, kinds)  +  spec  +  mapping   ->   Plan

- A field of a column, whatever the case of its letters, is an update of that column.
- Any other field gets a column, if its name can be one's and its values tell the type.
- A field of a column that stands beside the payload only repeats it: an equal value is nothing new.
- What is left is rescued, with the reason.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from pyiceberg.types import IcebergType, ListType, NestedField, StringType, StructType

from keylake._definition.columns import Column, ColumnGroup
from keylake._definition.spec import TableSpec
from keylake._json.kinds import column_type, leaves, new_members
from keylake._json.mapping import FieldPath, JsonMapping
from keylake.errors import BadRows, DefinitionError
from keylake.types import numbered

RESCUED_TYPE = numbered(
    ListType(
        1,
        StructType(*(NestedField(0, name, StringType(), required=False) for name in ("field", "value", "reason"))),
        element_required=False,
    )
)


@dataclass(frozen=True)
class SeenField:
    """A field that a batch has: its path, the kinds of its values that are not null, what the nested ones share."""

    path: FieldPath
    kinds: tuple[str, ...]
    nested: str | None


@dataclass(frozen=True)
class Target:
    """A column, and the fields of the batch that are updates of it: several if they differ in the case of letters."""

    column: str
    type: IcebergType
    fields: tuple[FieldPath, ...]


@dataclass
class Plan:
    """The plan of a batch: what it writes to which columns, what it adds first, and why other fields are rescued."""

    spec: TableSpec
    mapping: JsonMapping
    updates: list[Target] = field(default_factory=list[Target])
    repeated: list[Target] = field(default_factory=list[Target])  # fields of columns beside the payload
    refused: dict[FieldPath, str] = field(default_factory=dict[FieldPath, str])  # with the reason
    added: dict[str, IcebergType] = field(default_factory=dict[str, IcebergType])

    @classmethod
    def of(cls, spec: TableSpec, mapping: JsonMapping, beside: Sequence[str], seen: Sequence[SeenField]) -> Plan:
        """The plan of a batch; `beside` are the columns of the table that its rows have beside the payload.

        >>> import pyarrow as pa
        >>> spec = TableSpec.from_arrow(pa.schema([("id", pa.int64()), ("n", pa.int64())]), name="a.b", key="id")
        >>> seen = [SeenField(("N",), ("STRING",), None), SeenField(("tag",), ("STRING",), None)]
        >>> plan = Plan.of(spec, JsonMapping(), ["id"], seen)
        >>> [(target.column, str(target.type)) for target in plan.updates], plan.added
        ([('n', 'long'), ('tag', 'string')], {'tag': StringType()})
        """
        plan = cls(spec, mapping)
        known = {column.name.lower(): column for column in spec.columns}
        for name, fields in plan._by_column(seen).items():
            column = known.get(name)
            if name == mapping.rescue.lower():
                plan._refuse(fields, f"{mapping.rescue!r} is the column for what fits nowhere")
            elif column is None:
                plan._add(fields)
            elif column.name in beside:
                plan.repeated.append(_target(column, fields))
            elif column.name == spec.ordering:
                plan._refuse(fields, f"the ordering column {column.name!r} is taken from beside the payload")
            else:
                plan._update(column, fields)
        plan._keep_groups_whole(beside)
        plan._check_count()
        return plan

    def check_types(self) -> None:
        """Refuse types in the mapping that columns do not have, and a rescue column that cannot be one."""
        known = {column.name.lower(): column for column in self.spec.columns}
        for name, said in self.mapping.column_types.items():
            column = known.get(name)
            if column is not None and numbered(said) != column.type:
                raise DefinitionError(
                    f"types: column {column.name!r} of {self.spec.name} is {column.type}, and the mapping says {said}. "
                    "Take it out of types, or widen the column with alter(widen=)."
                )
        rescue = known.get(self.mapping.rescue.lower())
        if rescue is None:
            column = Column(self.mapping.rescue, RESCUED_TYPE)
            replace(self.spec, columns=(*self.spec.columns, column))  # an error where it cannot be made
        elif rescue.type != RESCUED_TYPE:
            raise DefinitionError(
                f"Column {rescue.name!r} of {self.spec.name} is {rescue.type}, so it cannot take what fits nowhere. "
                "Name another column: kl.JsonMapping(rescue=...)."
            )

    def group_of(self, target: Target) -> ColumnGroup | None:
        """The column group that a column is written with."""
        return next((group for group in self.spec.column_groups if target.column in group.columns), None)

    @property
    def rescue(self) -> str:
        """The rescue column as the table writes it, or will."""
        lower = self.mapping.rescue.lower()
        return next((name for name in self.spec.column_names if name.lower() == lower), self.mapping.rescue)

    def additions(self, *, is_rescued: bool) -> dict[str, IcebergType]:
        """The columns that are added to the table before the batch is written."""
        rescue = {self.rescue: RESCUED_TYPE} if is_rescued and self.rescue not in self.spec.column_names else {}
        return self.added | rescue

    def _column_of(self, seen: SeenField) -> str:
        default = seen.path[-1]
        return self.mapping.paths.get(seen.path, default)

    def _by_column(self, seen: Sequence[SeenField]) -> dict[str, list[tuple[str, SeenField]]]:
        found: dict[str, list[tuple[str, SeenField]]] = {}
        for each in sorted(seen, key=lambda one: one.path):
            name = self._column_of(each)
            found.setdefault(name.lower(), []).append((name, each))
        return found

    def _refuse(self, fields: Sequence[tuple[str, SeenField]], reason: str) -> None:
        self.refused.update({seen.path: reason for _, seen in fields})

    def _update(self, column: Column, fields: Sequence[tuple[str, SeenField]]) -> None:
        type_ = column.type
        shapes = [shape for _, seen in fields if (shape := column_type(seen.kinds, seen.nested)) is not None]
        members: dict[str, IcebergType] = {}
        for shape in shapes:
            members = new_members(column.name, column.type, shape)
        if members and len(shapes) == 1 and column.name.lower() not in self.mapping.column_types:
            self.added.update(members)
            type_ = _with_members(column.name, column.type, members)
        self.updates.append(_target(replace(column, type=type_), fields))

    def _add(self, fields: Sequence[tuple[str, SeenField]]) -> None:
        name = fields[0][0]
        kinds = {kind for _, seen in fields for kind in seen.kinds}
        nested = {seen.nested for _, seen in fields if seen.nested is not None}
        type_ = self.mapping.column_types.get(name.lower()) if kinds else None
        if kinds and type_ is None:
            type_ = StringType() if len(nested) > 1 else column_type(kinds, next(iter(nested), None))
        if type_ is None:
            self._refuse(fields, "its type is not known: there are only null, [] and {}")
            return
        column = Column(name, type_)
        try:
            replace(self.spec, columns=(*self.spec.columns, column))
        except DefinitionError as error:
            if any(seen.path in self.mapping.paths for _, seen in fields):
                raise  # whoever says a name can say another one
            self._refuse(fields, str(error))
            return
        self.added[name] = column.type
        self.updates.append(_target(column, fields))

    def _keep_groups_whole(self, beside: Sequence[str]) -> None:
        """Columns of a group that is not whole in any row are not written."""
        for group in self.spec.column_groups:
            carried = {*beside, *(target.column for target in self.updates)}
            if carried.issuperset(group.columns):
                continue
            for target in [each for each in self.updates if each.column in group.columns]:
                self.updates.remove(target)
                reason = f"the columns of group {group.name!r} are written together, and not all of them are there"
                self.refused.update(dict.fromkeys(target.fields, reason))
                for name in [each for each in self.added if each.startswith(f"{target.column}.")]:
                    del self.added[name]

    def _check_count(self) -> None:
        count = sum(map(leaves, self.added.values()))
        most = self.mapping.most_new_columns
        if count > most:
            some = ", ".join(map(repr, list(self.added)[:5]))
            raise BadRows(
                f"The payloads need {count} new columns ({some}{', ...' if len(self.added) > 5 else ''}), and "
                f"most_new_columns is {most}. Name the fields with include=, or raise it: kl.JsonMapping(...)."
            )


def _target(column: Column, fields: Sequence[tuple[str, SeenField]]) -> Target:
    return Target(column.name, column.type, tuple(seen.path for _, seen in fields))


def _with_members(path: str, type_: IcebergType, members: Mapping[str, IcebergType]) -> IcebergType:
    """The type as it is when the members are added: each behind those that are there."""
    if isinstance(type_, ListType):
        element = _with_members(f"{path}.element", type_.element_type, members)
        return numbered(ListType(1, element, type_.element_required))
    if not isinstance(type_, StructType):
        return type_
    own = [
        NestedField(0, each.name, _with_members(f"{path}.{each.name}", each.field_type, members), each.required)
        for each in type_.fields
    ]
    new = [
        NestedField(0, name.rpartition(".")[2], added, required=False)
        for name, added in members.items()
        if name.rpartition(".")[0] == path
    ]
    return numbered(StructType(*own, *new))
