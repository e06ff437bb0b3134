"""Names of tables: the parts they are made of, how they are written, and which of them a catalog can keep."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from keylake.errors import DefinitionError

_PART = re.compile(r"(?:`((?:[^`]|``)+)`|([^`.]*))\.")


def name_parts(name: str) -> tuple[str, ...]:
    """The parts of a table name: namespaces, then the table. A part with signs of its own stands between backticks.

    >>> name_parts("features.`user.profile`")
    ('features', 'user.profile')
    """
    # The empty match between two dots is kept, so that an empty part is seen and refused.
    found = re.fullmatch(r"(?:`(?:[^`]|``)+`|[^`.]*)(?:\.(?:`(?:[^`]|``)+`|[^`.]*))*", name)
    if found is None:
        raise DefinitionError(
            f"The table name {name!r} has a backtick that does not close. "
            "Put the whole part between backticks and write a backtick inside it twice."
        )
    parts = [quoted.replace("``", "`") if quoted else bare for quoted, bare in _PART.findall(name + ".")]
    if any(not part.strip() for part in parts):
        raise DefinitionError(f"The table name {name!r} has an empty part. Name it 'namespace.table'.")
    if len(parts) < 2:
        raise DefinitionError(f"The table name {name!r} has no namespace. Name it 'namespace.table'.")
    for part in parts:
        if "/" in part or any(unicodedata.category(sign) == "Cc" for sign in part):
            raise DefinitionError(f"Table name {name!r}: {part!r} has a slash or a control character. Rename it.")
    if dotted := [part for part in parts[:-1] if "." in part]:
        raise DefinitionError(
            f"Table name {name!r}: catalogs take the namespace {dotted[0]!r} for two. Name it without a dot."
        )
    return tuple(parts)


def table_name(parts: Sequence[str]) -> str:
    """The name that has these parts, with backticks around those parts that need them.

    >>> table_name(["features", "user.profile"])
    'features.`user.profile`'
    """
    plain = re.compile(r"(?!\d+$)[A-Za-z0-9_]+")
    return ".".join(part if plain.fullmatch(part) else "`" + part.replace("`", "``") + "`" for part in parts)
