"""Sessions of Spark Connect: how they are opened, so that a server that is gone is told soon, and let go."""

from __future__ import annotations

import inspect
import logging
import os
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from keylake._display.progress import StageBar, is_in_notebook
from keylake._server.channel import channel_to

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WE_ASK: ContextVar[bool] = ContextVar("we_ask", default=False)

# A session closes itself when it is collected, and waits for calls that are under way. Collected while a call is handed
# to pyspark's threads, it would wait for itself: so it is kept until it is closed.
_KEPT: dict[int, SparkSession] = {}


def let_go(spark: SparkSession) -> None:
    """A session that is closed has nothing left to close when it is collected."""
    closed: Any = spark
    streams = vars(closed).pop("_sqm", None)
    if streams is not None:
        streams.close()
    closed.client.close = lambda: None
    _KEPT.pop(id(spark), None)


def opened(url: str, *, is_own: bool) -> SparkSession:
    """A session with a server; `is_own` for one that was started here."""
    from pyspark.logger import PySparkLogger
    from pyspark.sql.connect.client.retries import DefaultPolicy
    from pyspark.sql.connect.session import SparkSession as ConnectSession

    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(name).addFilter(_not_ours)
    os.environ["SPARK_CONNECT_MODE_ENABLED"] = "1"  # pyspark's functions look here which kind of session they are for
    connected: Any = ConnectSession.builder.channelBuilder(channel_to(url, is_own=is_own)).create()
    spark: SparkSession = connected
    _KEPT[id(spark)] = spark
    try:
        connected.client.set_retry_policies([few_tries(), DefaultPolicy()])
        spark.registerProgressHandler(StageBar())
        spark.conf.set("spark.sql.connect.serverStacktrace.enabled", "false")
        if is_in_notebook():
            spark.conf.set("spark.sql.repl.eagerEval.enabled", "true")  # frames show their first rows
    except BaseException:
        connected.client.close()  # an open channel tries again and again, and gRPC writes each failure to stderr
        let_go(spark)
        raise
    return spark


def _not_ours(record: logging.LogRecord) -> bool:  # noqa: ARG001
    """Errors in our sessions are raised; pyspark would print them as well, with all their traces, as a line of JSON."""
    return not WE_ASK.get() and not _is_in_our_session()


def _is_in_our_session() -> bool:
    """The exception is being made by a client of ours, further up in the calls of this thread."""
    clients: list[Any] = [vars(spark).get("_client") for spark in tuple(_KEPT.values())]
    frame = inspect.currentframe()
    while frame is not None:
        caller = frame.f_locals.get("self")
        if any(caller is client for client in clients if client is not None):
            return True
        frame = frame.f_back
    return False


def few_tries() -> Any:
    """A server that is gone is told within seconds; pyspark would try for ten minutes."""
    from pyspark.sql.connect.client.retries import DefaultPolicy, RetryPolicyState

    class FewTriesState(RetryPolicyState):
        def next_attempt(self, exception: BaseException | None = None) -> int | None:
            wait: int | None = super().next_attempt(exception)
            if wait is None and exception is not None:
                raise exception  # pyspark would warn before it does the same
            return wait

    class FewTries(DefaultPolicy):
        def can_retry(self, e: BaseException) -> bool:
            code = getattr(e, "code", None)  # of SystemExit it is no function
            return callable(code) and getattr(code(), "name", "") == "UNAVAILABLE"

        def to_state(self) -> RetryPolicyState:
            return FewTriesState(self)

    return FewTries(max_retries=4, initial_backoff=100, backoff_multiplier=3.0, max_backoff=1500, jitter=0)
