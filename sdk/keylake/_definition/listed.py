"""Names of tables, as a lake lists them."""

from __future__ import annotations

from typing_extensions import Self

from keylake._definition.spec import Versions


class ListedTable(str):
    """The name of a keyed table, as `lake.tables()` lists it, with where the table's versions come from.

    A table that cannot be opened, because its metadata is damaged or a newer keylake made it, is listed with its
    `problem` and without versions; it may be a plain one, as nobody can tell.

    >>> ListedTable("features.clicks", "commit").versions
    'commit'
    """

    __slots__ = ("problem", "versions")
    versions: Versions | None
    problem: str | None  # one sentence; None for a table that can be opened

    def __new__(cls, name: str, versions: Versions | None, problem: str | None = None) -> Self:
        listed = super().__new__(cls, name)
        listed.versions = versions
        listed.problem = problem
        return listed

    @property
    def name(self) -> str:
        """The name as a plain string."""
        return str(self)
