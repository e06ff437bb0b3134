"""The examples of public docstrings that need a lake, as text: what stands below `Example::`."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterator

import keylake as kl
import keylake.local

BELOW = re.compile(r"^( *)Example::\n\n((?:\1    .*\n|\n)+)", flags=re.MULTILINE)

# Classes whose methods people call; what verbs return is described as a whole.
HANDLES = (
    kl.Lake,
    kl.KeyedTable,
    kl.Maintenance,
    kl.Triggers,
    kl.Trigger,
    kl.History,
    kl.Health,
    keylake.local.LocalLake,
    keylake.local.LocalTable,
    keylake.local.MergedRows,
)


def public() -> Iterator[tuple[str, object]]:
    """Every public class and function, and every method of the classes whose methods people call."""
    for module, names in ((kl, kl.__all__), (keylake.local, keylake.local.__all__)):
        for name in names:
            thing = getattr(module, name)
            if inspect.isclass(thing) or inspect.isroutine(thing):
                yield f"{module.__name__}.{name}", thing
    for handle in HANDLES:
        for name in dir(handle):
            member = inspect.getattr_static(handle, name)
            if isinstance(member, classmethod | staticmethod):
                member = member.__func__
            if not name.startswith("_") and (inspect.isfunction(member) or isinstance(member, property)):
                yield f"{handle.__module__.partition('._')[0]}.{handle.__name__}.{name}", member


def text_of(thing: object) -> str:
    """The docstring, its own and not one that is inherited."""
    if inspect.isclass(thing):
        return inspect.cleandoc(thing.__dict__.get("__doc__") or "")
    return inspect.getdoc(thing) or ""


def has_example(thing: object) -> bool:
    text = text_of(thing)
    return ">>> " in text or bool(BELOW.search(text + "\n"))


def examples() -> dict[str, str]:
    """By the name of what it belongs to: the Python of an example that needs a lake."""
    return {
        name: textwrap.dedent(match[2])
        for name, thing in public()
        if (match := BELOW.search(text_of(thing) + "\n")) is not None
    }
