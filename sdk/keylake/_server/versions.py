"""The versions of a server and a client that work together, and the sentence for what the older one does not know.

A client sends what its own version knows. A server of the minor version before may lack a procedure or an argument of
it; one of the minor version after has all of them.
"""

from __future__ import annotations

import re

# In what Spark says of a procedure or an argument that the plug-in does not have.
_UNKNOWN = re.compile(r"Failed to load routine `|named argument reference for the argument named")


def work_together(server: str, client: str) -> bool:
    """Versions work together within a major version, if their minor versions are the same or neighbours.

    >>> work_together("1.3.7", "1.4.0"), work_together("1.3.7", "1.5.0"), work_together("1.9.0", "2.0.0")
    (True, False, False)
    """
    there, here = _release(server), _release(client)
    return server == client or (
        there is not None and here is not None and there[0] == here[0] and abs(there[1] - here[1]) <= 1
    )


def _release(version: str) -> tuple[int, int] | None:
    found = re.match(r"(\d+)\.(\d+)", version)
    return found and (int(found[1]), int(found[2]))


def lacks(said: str, server: str, client: str) -> str | None:
    """The sentence for what a server of another version does not know; None where Spark says something else.

    >>> print(lacks("Failed to load routine `lake`.`system`.`repair`.", "1.3.0", "1.4.0"))
    The server runs keylake 1.3.0, and this is keylake 1.4.0, of which it does not know everything: Failed to load \
routine `lake`.`system`.`repair`. Update the server to 1.4.0.
    >>> lacks("Failed to load routine `lake`.`system`.`repair`.", "1.4.0", "1.4.0")
    """
    if server == client or not _UNKNOWN.search(said):
        return None
    return (
        f"The server runs keylake {server}, and this is keylake {client}, of which it does not know everything: "
        f"{said.rstrip('.')}. Update the server to {client}."
    )
