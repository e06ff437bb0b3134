"""The gRPC channel to a Spark Connect server: where it leads, and how the token goes with each call.

pyspark hands the token to gRPC, which asks a Python thread for it at every call. A session of pyspark that is garbage
may be collected in that thread; it closes itself then and waits for calls under way, which wait for that thread. Sent
as a header, the token needs no thread.
"""

from __future__ import annotations

from typing import Any


def channel_to(url: str, *, is_own: bool) -> Any:
    """What builds the channel of a Connect session.

    The embedded server is found by number: `localhost` also means [::1], where another user of the machine can listen
    on the same port.
    """
    from pyspark.sql.connect.client.core import DefaultChannelBuilder

    class TokenInHeader(DefaultChannelBuilder):
        """As pyspark's: what has a token leads to this machine, or over TLS."""

        @property
        def token(self) -> None:
            """Nothing that pyspark could hand to gRPC."""

        @property
        def endpoint(self) -> str:
            return f"127.0.0.1:{self._port}" if is_own else super().endpoint

        @property
        def secure(self) -> bool:
            return self.use_ssl or super().token is not None

        def metadata(self) -> list[tuple[str, str]]:
            header = [] if super().token is None else [("authorization", f"Bearer {super().token}")]
            return [*super().metadata(), *header]

    return TokenInHeader(url)
