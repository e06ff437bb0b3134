"""Errors of frames that run outside of our verbs: those of pyspark's client, and of `keylake.errors` at once.

`read()` gives a plain frame of Spark, which its user collects. pyspark makes an exception of each error that the server
sends, of a class that it looks up by the names of the server's classes. The name of ours is entered there, so that an
error is caught by either class: `except keylake.BadRows` and `except PySparkException`. A value that an expression of
the plug-in refuses is an error of Spark's own function `raise_error`, which has our condition in its text.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from keylake.errors import KeylakeError, class_of

CLASS_ON_THE_SERVER = "io.keylake.tables.KeylakeException"
CLASS_OF_RAISED = "org.apache.spark.SparkRuntimeException"
_RAISED = re.compile(r"\[USER_RAISED_EXCEPTION\] \[(KEYLAKE_[A-Z_]+)\]")


def known_to_pyspark() -> None:
    """Let pyspark's client know our errors. A second call does nothing."""
    from pyspark.errors.exceptions import connect

    mapping: dict[str, Any] = connect.EXCEPTION_CLASS_MAPPING
    mapping.setdefault(CLASS_ON_THE_SERVER, _error)
    if mapping.get(CLASS_OF_RAISED) is connect.SparkRuntimeException:
        mapping[CLASS_OF_RAISED] = _raised


def is_of_spark(error: BaseException) -> bool:
    """An error came from a frame, and has the text that Spark gives it."""
    return hasattr(error, "getCondition")


def _error(message: str, **said: Any) -> Exception:
    error: Exception = _class(said.get("errorClass"))(message, **said)
    return error


def _raised(message: str, **said: Any) -> Exception:
    from pyspark.errors.exceptions.connect import SparkRuntimeException

    ours = _RAISED.match(message)
    error: Exception = (_class(ours[1]) if ours else SparkRuntimeException)(message, **said)
    return error


@cache
def _class(condition: str | None) -> type[Exception]:
    """A class of our errors that is one of pyspark's, too."""
    from pyspark.errors.exceptions.connect import SparkRuntimeException

    ours: type[KeylakeError] = class_of(condition)
    return type(ours.__name__, (SparkRuntimeException, ours), {"__module__": ours.__module__, "__doc__": ours.__doc__})
