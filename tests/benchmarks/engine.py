"""Where SQL goes: something that runs a query, and either throws its rows away or brings them here."""

from typing import Protocol

from pyspark.sql import SparkSession


class Engine(Protocol):
    """A session of one system."""

    def consume(self, query: str) -> None:
        """Compute every row and value; nothing of it travels."""
        ...

    def fetch(self, query: str) -> list[tuple[object, ...]]:
        """The rows, here."""
        ...


class Connected:
    """A Spark Connect session."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark

    def consume(self, query: str) -> None:
        self.spark.sql(query).write.format("noop").mode("overwrite").save()

    def fetch(self, query: str) -> list[tuple[object, ...]]:
        return [tuple(row) for row in self.spark.sql(query).collect()]


class Hashing:
    """A session that computes every row and value by hashing them, for systems whose tables cannot feed a sink."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def consume(self, query: str) -> None:
        self._engine.fetch(f"SELECT max(xxhash64(*)) FROM ({query})")

    def fetch(self, query: str) -> list[tuple[object, ...]]:
        return self._engine.fetch(query)
