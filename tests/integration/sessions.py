"""Sessions of pyspark beside those of the SDK, kept to the end: one that is collected closes itself, in any thread."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from pyspark.sql import SparkSession

import keylake as kl

_KEPT: list[SparkSession] = []


@contextmanager
def clone_of(lake: kl.Lake, settings: Mapping[str, str]) -> Iterator[SparkSession]:
    """A session of the same server with some settings of its own."""
    opened: Any = lake.spark
    session = opened.cloneSession()
    try:
        for name, value in settings.items():
            session.conf.set(name, value)
        yield kept(session)
    finally:
        session.client.release_session()  # pyspark's own stop() fails for clones
        session.client.close()


def kept(session: SparkSession) -> SparkSession:
    """The same session, which nobody collects."""
    _KEPT.append(session)
    return session
