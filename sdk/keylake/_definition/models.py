"""The model that classes of tables extend. On Python 3.10 the word `name` beside a class takes a way of its own.

class Seen(Table, name="a.b")  ──  ABCMeta.__new__(mcls, name, bases, ...)     3.10: two values for `name`
                               ──  ABCMeta.__new__(mcls, name, bases, ..., /)  since 3.11
"""

from __future__ import annotations

import sys
from typing import Any

from pydantic import BaseModel

VERBS = ("attributes", "from_row", "from_rows", "table_spec")
"""The names that `keylake.Table` adds to those of a model, which no attribute of a column should take."""

NAME = "keylake_name"
"""What `__init_subclass__` finds `name` under on Python 3.10."""


if sys.version_info >= (3, 11):
    Model = BaseModel
else:

    class _Renaming(type(BaseModel)):  # type: ignore[misc]
        def __new__(mcs, cls_name: str, bases: tuple[type, ...], namespace: dict[str, Any], **words: Any) -> type:
            if "name" in words:
                words[NAME] = words.pop("name")
            made: type = super().__new__(mcs, cls_name, bases, namespace, **words)
            return made

    class Model(BaseModel, metaclass=_Renaming):
        pass
