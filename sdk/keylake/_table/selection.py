"""Some columns of a table, as `kl.join` takes them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from keylake._table.handle import Verbs
from keylake.errors import DefinitionError, check_type

if TYPE_CHECKING:
    from keylake.table import KeyedTable


@dataclass(frozen=True)
class TableColumns:
    """Value columns of a table under the names that they get in a join; `table["clicks", "spend"]` makes one."""

    table: KeyedTable[Any]
    columns: tuple[str, ...]
    prefix: str = ""

    def __post_init__(self) -> None:
        check_type("table", self.table, Verbs, "a keyed table, such as lake.table('namespace.table')")
        check_type("prefix", self.prefix, str, "text such as 'profile_'")
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
        """What the columns are called in the join.

        Example::

            profiles["clicks"].names
        """
        return tuple(self.prefix + name for name in self.columns)
