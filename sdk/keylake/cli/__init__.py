"""The command line, `keylake`: the words of the API, for terminals and scripts.

Answers go to the standard output, as tables or, with `--json`, as JSON; sentences go to the error output. The status is
0 where all was done, 1 where something was refused or failed, 2 for a command that is typed wrongly, and 3 where the
lake cannot be reached.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from keylake.cli.app import main

__all__ = ["main"]


def __getattr__(name: str) -> object:
    """The command is imported when it is run: it imports those of extensions, which import what is beside it."""
    if name != "main":
        raise AttributeError(f"module 'keylake.cli' has no attribute {name!r}")
    from keylake.cli.app import main

    return main
