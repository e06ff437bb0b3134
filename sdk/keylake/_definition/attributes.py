"""Names in Python for what a table calls otherwise: attributes for columns, and a class for a table."""

from __future__ import annotations

import keyword
import re
import unicodedata
from collections.abc import Callable, Sequence


def attributes_of(names: Sequence[str], is_taken: Callable[[str], bool]) -> dict[str, str]:
    """An attribute for each name: the name itself where Python allows it and nothing else has it.

    >>> attributes_of(["user_id", "user id", "class"], lambda name: False)
    {'user_id': 'user_id', 'user id': 'user_id_', 'class': 'class_'}
    """
    attributes = {name: name for name in names if _is_attribute(name, is_taken)}
    for name in names:
        if name not in attributes:
            attribute = unicodedata.normalize("NFKC", re.sub(r"\W", "_", name)).strip("_") or "column"
            attribute = attribute if attribute.isidentifier() else f"column_{re.sub(r'[^0-9A-Za-z_]', '_', attribute)}"
            while attribute in attributes.values() or not _is_attribute(attribute, is_taken):
                attribute += "_"
            attributes[name] = attribute
    return attributes


def class_name_of(name: str) -> str:
    """The name of a class for what a table or a column calls otherwise; `Row` where nothing of it can be one.

    >>> class_name_of("user_profile"), class_name_of("2026")
    ('UserProfile', 'Row')
    """
    title = "".join(word[0].upper() + word[1:] for word in re.findall(r"[^\W_]+", name))
    return title if title.isidentifier() and not keyword.iskeyword(title) and _is_normal(title) else "Row"


def _is_attribute(name: str, is_taken: Callable[[str], bool]) -> bool:
    usable = name.isidentifier() and not keyword.iskeyword(name) and not name.startswith("_") and _is_normal(name)
    return usable and not is_taken(name)


def _is_normal(name: str) -> bool:
    """The source means the same name; Python normalizes what it reads."""
    return unicodedata.normalize("NFKC", name) == name
