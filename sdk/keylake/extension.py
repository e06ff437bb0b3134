"""The interface between keylake and its extensions: what each of them offers to the other.

An extension is a distribution of its own, such as `keylake-pipelines`. It names an `Extension` as an entry point of the
group `keylake.extensions`, and imports from the core nothing but this module and the modules that people import:

    [project.entry-points.'keylake.extensions']
    pipelines = "keylake_pipelines.extension:EXTENSION"

The entry point is loaded when somebody asks for one of its names or types a command, so its module imports little.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points, version
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING

from keylake._definition.table_names import name_parts, table_name
from keylake._display.colours import INK, SERIES
from keylake._display.html_table import ShownFields, ShownTable, html_table, in_notebook
from keylake._display.pictures import empty_figure, show_times
from keylake._display.sparklines import html_bars, sparklines
from keylake._gate.checks import OnFailure
from keylake._rows.business_time import zoned
from keylake._rows.intention import offsets_in_json
from keylake._server.failures import finished
from keylake._server.session import Session
from keylake._server.statements import Call, TablePath, literal, quoted, sql_type
from keylake._table.columns import iceberg_type
from keylake._triggers.steps import statements
from keylake.errors import Unsupported

if TYPE_CHECKING:
    import typer

    from keylake.lake import Lake

__all__ = [
    # what an extension is
    "Extension", "extensions", "extended", "hint",
    # what a server is asked, and how names and values stand in SQL
    "Session", "session_of", "Call", "TablePath", "literal", "quoted", "sql_type", "statements", "finished",
    # definitions, and what a write says of itself
    "name_parts", "table_name", "iceberg_type", "offsets_in_json", "zoned", "OnFailure",
    # how results show themselves
    "ShownFields", "ShownTable", "html_table", "in_notebook", "html_bars", "sparklines", "empty_figure",
    "show_times", "INK", "SERIES",
]  # fmt: skip

GROUP = f"{__package__}.extensions"


@dataclass(frozen=True)
class Extension:
    """The names and commands that a distribution adds to keylake.

    `names` are public names of `keylake`, each with the module that defines it; `commands` is the module whose function
    `add_commands` gives the command line its commands.
    """

    names: Mapping[str, str]
    commands: str

    def add_commands(self, app: typer.Typer) -> None:
        """Add the commands of the extension to a command line.

        Raises `Unsupported` if their module cannot be imported, as with an extension of another release.
        """
        _imported(self.commands).add_commands(app)


@cache
def extensions() -> tuple[Extension, ...]:
    """The extensions that are installed, in the order of their names.

    Pipelines lie beside the core in a clone: with its folder on the path they are there without their distribution.
    """
    pipelines = EntryPoint("pipelines", "keylake_pipelines.extension:EXTENSION", GROUP)
    beside = [pipelines] if find_spec("keylake_pipelines") else []
    found = {each.name: each for each in (*beside, *entry_points(group=GROUP))}
    return tuple(found[name].load() for name in sorted(found))


def extended(name: str) -> object:
    """A public name of `keylake` that an extension defines.

    Raises AttributeError where no extension that is installed has the name, and `Unsupported` if its module cannot be
    imported, as with an extension of another release.
    """
    for extension in extensions():
        if name in extension.names:
            return getattr(_imported(extension.names[name]), name)
    raise AttributeError(f"module 'keylake' has no attribute {name!r}. {hint()}".strip())


def _imported(module: str) -> ModuleType:
    try:
        return import_module(module)
    except ImportError as error:
        raise Unsupported(
            f"{module.partition('.')[0]} cannot be imported with keylake {version('keylake')}: {error.msg}. "
            "Install all of one release: pip install --upgrade 'keylake[pipelines]'."
        ) from error


def hint() -> str:
    """The package to install for a name or a command that is not there; empty where an extension is installed."""
    return "" if extensions() else "Names and commands of pipelines come with: pip install 'keylake[pipelines]'."


def session_of(lake: Lake) -> Session:
    """The session of a lake: what sends statements to its server."""
    return lake._session  # pyright: ignore[reportPrivateUsage]
