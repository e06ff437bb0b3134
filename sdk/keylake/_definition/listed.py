"""Names of tables, as a lake lists them."""

from __future__ import annotations

from typing_extensions import Self

from keylake._definition.spec import Versions


class ListedTable(str):
    """The name of a keyed table, as `lake.tables()` lists it, which also knows where the table's versions come from.

    >>> ListedTable("features.clicks", "commit").versions
    'commit'
    """

    __slots__ = ("versions",)
    versions: Versions

    def __new__(cls, name: str, versions: Versions) -> Self:
        listed = super().__new__(cls, name)
        listed.versions = versions
        return listed

    @property
    def name(self) -> str:
        """The name as a plain string."""
        return str(self)
