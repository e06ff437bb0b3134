"""The gRPC channel to a Spark Connect server: where it leads, and how the token goes with each call.

pyspark hands the token to gRPC, which asks a Python thread for it at every call. A session of pyspark that is garbage
may be collected in that thread; it closes itself then and waits for calls under way, which wait for that thread. Sent
as a header, the token needs no thread.
"""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

from keylake._server.address import by_name
from keylake.errors import DefinitionError

SPARK = "4.1"
_INSTALL = (
    "Install it with keylake: pip install 'keylake[client]' connects to servers, and 'keylake[server]' has one of its "
    "own. Reads without Spark, by keylake.local, need neither."
)


def check_client() -> None:
    """An error in one sentence unless Spark's Python client is there, in a release that keylake knows."""
    if importlib.util.find_spec("pyspark") is None:
        raise DefinitionError(f"Spark's Python client, pyspark, is not installed. {_INSTALL}")
    release = getattr(importlib.import_module("pyspark"), "__version__", "of an unknown release")
    if not release.startswith(f"{SPARK}."):
        raise DefinitionError(f"keylake needs pyspark {SPARK}, and pyspark {release} is installed. {_INSTALL}")


def channel_to(url: str, *, is_own: bool) -> Any:
    """The builder of the channel of a Connect session.

    The embedded server is found by number: `localhost` also means [::1], where another user of the machine can listen
    on the same port. So is a server whose address has the number of this machine.
    """
    named, number = by_name(url)
    number = "127.0.0.1" if is_own else number
    from pyspark.sql.connect.client.core import DefaultChannelBuilder

    class TokenInHeader(DefaultChannelBuilder):
        """A channel like pyspark's: what has a token leads to this machine, or over TLS."""

        @property
        def token(self) -> None:
            """The token that pyspark hands to gRPC: none, as it is sent in a header."""

        @property
        def endpoint(self) -> str:
            return f"{number}:{self._port}" if number else super().endpoint

        @property
        def secure(self) -> bool:
            return self.use_ssl or super().token is not None

        def metadata(self) -> list[tuple[str, str]]:
            header = [] if super().token is None else [("authorization", f"Bearer {super().token}")]
            return [*super().metadata(), *header]

    return TokenInHeader(named)
