"""A session that somebody else has opened, such as that of a batch in `foreachBatch`: used, and left open."""

from __future__ import annotations

from typing import Any, NoReturn

from keylake._server.address import Address
from keylake._server.lazy_errors import known_to_pyspark
from keylake._server.server import VERSION
from keylake._server.session import Session
from keylake.errors import DefinitionError, Unsupported


class AttachedSession(Session):
    """An open Connect session of somebody else; its settings stay as they are."""

    def __init__(self, spark: object, catalog: str, writer: str | None) -> None:
        from pyspark.sql.connect.session import SparkSession

        if not isinstance(spark, SparkSession):
            raise DefinitionError(f"spark is {spark!r}. Use a session of Spark Connect, such as batch.sparkSession.")
        known_to_pyspark()
        opened: Any = spark
        self.address = Address.of(f"sc://{opened.client._builder.endpoint}")
        self.catalog = catalog
        self.writer = writer
        self._server = None
        self._settings = {}
        self.server_version = VERSION
        self.spark = opened
        self.was_open = False
        self._check_plugin()
        self.was_open = True

    def __reduce__(self) -> NoReturn:
        raise Unsupported(
            "The session was opened by somebody else, whose address keylake does not know, so no other process can "
            "open its tables. Connect with kl.connect('sc://host:15002')."
        )

    def open_again(self) -> None:
        """Whoever opened the session opens another one, where it is over."""
        self._check_plugin()

    def close(self) -> None:
        """The session stays open: whoever opened it closes it."""
