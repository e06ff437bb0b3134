"""Where a server listens."""

from __future__ import annotations

import socket
import urllib.parse
from dataclasses import dataclass

from keylake.errors import DefinitionError

DEFAULT_PORT = 15002


@dataclass(frozen=True)
class Address:
    """Host and port of a server, without the secrets that its connection string may hold.

    >>> print(Address.of("sc://spark.internal/;token=secret"))
    sc://spark.internal:15002
    """

    host: str
    port: int

    @classmethod
    def of(cls, url: str) -> Address:
        """The address in a connection string."""
        try:
            parts = urllib.parse.urlsplit("http" + url.removeprefix("sc"))
            host, port = parts.hostname, parts.port or DEFAULT_PORT
        except ValueError:
            host, port = None, DEFAULT_PORT
        if not url.startswith("sc://") or not host:
            raise DefinitionError(
                f"{url.partition(';')[0]!r} is no address of a server. Write 'sc://host:15002', "
                "with ';token=...' or ';use_ssl=true' behind a last '/' where the server wants them."
            )
        return cls(host, port)

    def answers(self, seconds: float) -> bool:
        """Whether something accepts connections there, within that time.

        >>> Address("127.0.0.1", 1).answers(seconds=1.0)
        False
        """
        try:
            socket.create_connection((self.host, self.port), timeout=seconds).close()
        except OSError:
            return False
        return True

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"sc://{host}:{self.port}"
