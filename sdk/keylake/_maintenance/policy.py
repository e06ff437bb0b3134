"""Rules as data: what a compaction policy and a retention policy have in common, their JSON."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, fields
from typing import ClassVar

from typing_extensions import Self

from keylake._display.html_table import ShownFields
from keylake.errors import DefinitionError, check_type


@dataclass(frozen=True)
class Policy(ShownFields):
    """A table property as a value. What its members may be is decided by the server."""

    _CALLED: ClassVar[str]

    def to_json(self) -> str:
        """The policy as the table property has it."""
        for name, value in asdict(self).items():
            check_type(f"{name} of a {self._CALLED}", value, int | float | str | None, "a number")
            if isinstance(value, float) and not math.isfinite(value):
                raise DefinitionError(
                    f"{name} of a {self._CALLED} is {value}. Use a finite number; a large one will do."
                )
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """A policy from the table property; members that are not there have their defaults."""
        check_type(f"The JSON of a {cls._CALLED}", text, str | bytes, "text, as to_json() gives it")
        try:
            members = json.loads(text)
        except ValueError as error:
            raise DefinitionError(
                f"The text of a {cls._CALLED} is no JSON: {error}. Write it with to_json()."
            ) from None
        check_type(f"The JSON of a {cls._CALLED}", members, dict, "an object, as to_json() gives it")
        unknown = set(members) - {field.name for field in fields(cls)}
        if unknown:
            raise DefinitionError(f"A {cls._CALLED} has no {', '.join(sorted(unknown))}. Is the server newer?")
        return cls(**members)
