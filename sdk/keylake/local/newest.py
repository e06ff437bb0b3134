"""A cache of the tables that were asked for last."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import Generic, TypeVar

_AT_MOST = 8  # of the metadata of an old table, each has megabytes
_Value = TypeVar("_Value")


class Newest(Generic[_Value]):
    """One value for each table, of few tables; threads share it.

    >>> newest = Newest[int]()
    >>> newest.keep(("shop", "orders"), 7)
    >>> newest.get(("shop", "orders")), newest.get(("shop", "carts"))
    (7, None)
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, ...], _Value] = OrderedDict()
        self._lock = Lock()

    def get(self, table: tuple[str, ...]) -> _Value | None:
        with self._lock:
            return self._kept.get(table)

    def keep(self, table: tuple[str, ...], value: _Value) -> None:
        with self._lock:
            self._kept[table] = value
            self._kept.move_to_end(table)
            while len(self._kept) > _AT_MOST:
                self._kept.popitem(last=False)
