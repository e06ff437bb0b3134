"""The model that classes of tables extend, and the class of such classes.

On Python 3.10 the word `name` beside a class takes a way of its own:

    class Seen(Table, name="a.b")  ──  ABCMeta.__new__(mcls, name, bases, ...)     3.10: two values for `name`
                                   ──  ABCMeta.__new__(mcls, name, bases, ..., /)  since 3.11
"""

from __future__ import annotations

import sys
from types import FrameType
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

if TYPE_CHECKING:
    from pydantic._internal._model_construction import ModelMetaclass
else:
    ModelMetaclass = type(BaseModel)

VERBS = ("from_frame", "from_row", "from_rows", "table_spec", "to_dataframely", "to_pandera")
"""The names that `keylake.Table` adds to those of a model, which no attribute of a column should take."""

NAME = "keylake_name"
"""What `__init_subclass__` finds `name` under on Python 3.10."""


class ModelType(ModelMetaclass):
    """The class of classes of tables: an attribute of a column is the name of the column on the class.

    To checkers of types it is a value, as on instances: what takes names of columns takes such values, too.
    """

    if sys.version_info < (3, 11):

        def __new__(mcs, cls_name: str, bases: tuple[type, ...], namespace: dict[str, Any], **words: Any) -> type:
            if "name" in words:
                words[NAME] = words.pop("name")
            made: type = super().__new__(mcs, cls_name, bases, namespace, **words)
            return made

    if not TYPE_CHECKING:  # a checker knows the attributes of a class, and any other is a mistake

        def __getattr__(cls, name: str) -> object:  # noqa: N805 - a class of classes
            field = cls.__dict__.get("__pydantic_fields__", {}).get(name)
            if field is None or _is_of_pydantic(sys._getframe(1)):
                return super().__getattr__(name)
            return field.alias or name

    def __dir__(cls) -> list[str]:  # noqa: N805
        return [*super().__dir__(), *cls.__dict__.get("__pydantic_fields__", ())]


def _is_of_pydantic(frame: FrameType) -> bool:
    """Pydantic asks, which takes attributes of the parents of a class for defaults of its fields."""
    return str(frame.f_globals.get("__name__")).startswith("pydantic.")


class Model(BaseModel, metaclass=ModelType):
    """A class of rows, whose attributes are columns."""

    @classmethod
    def attributes(cls) -> dict[str, str]:
        """The attribute of each column, by the column's name."""
        return {field.alias or name: name for name, field in cls.model_fields.items()}
