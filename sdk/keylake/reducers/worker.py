"""The program in Spark's Python workers for columns with reducers in Python. The server starts it, and asks it.

A question is a JSON object `{"do": "reduce" or "check", "name": the reducer}` and a stream of Arrow, each with its
length before it, four bytes. The answer is a length, and a byte that says what follows: 0 the answer, 1 why the reducer
cannot be imported, 2 why it fails.
"""

# pyarrow carries no types.
# pyright: reportUnknownParameterType=false

from __future__ import annotations

import importlib
import json
import struct
import sys
from typing import TYPE_CHECKING, BinaryIO

import numpy as np
import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_type

from keylake.reducers.law import counterexample
from keylake.reducers.python import Python
from keylake.reducers.reduced import Reduction, reduced

if TYPE_CHECKING:
    from collections.abc import Callable

ANSWER, NOT_IMPORTED, FAILS = b"\0", b"\1", b"\2"


def load(name: str) -> Python:
    """Import a reducer by the name of its module and its own.

    >>> load("keylake.Nothing")
    Traceback (most recent call last):
    ImportError: the module keylake has no Nothing
    """
    module, _, own = name.rpartition(".")
    found = getattr(importlib.import_module(module), own, None)
    if found is None:
        raise ImportError(f"the module {module} has no {own}")
    if not isinstance(found, Python):
        raise ImportError(f"{name} is no reducer; put @kl.reducer(state=...) on the class")
    return found


def reduction_of(reducer: Python, batch: pa.Table) -> Reduction:
    """The steps of a reducer, for the types that a table has."""
    state = batch.schema.field("state").type
    kept = from_arrow_type(state).simpleString()
    if kept != reducer.state:
        raise ValueError(f"the state of the class is {reducer.state}, and the table keeps {kept}")
    return Reduction(reducer.steps, batch.schema.field("value").type, state)


def reduce(reducer: Python, batch: pa.Table) -> bytes:
    """The rows of a batch with their values and states, as a stream of Arrow."""
    found = reduced(reduction_of(reducer, batch), batch)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, found.schema) as stream:
        stream.write_batch(found)
    return bytes(memoryview(sink.getvalue()))


def check(reducer: Python, samples: pa.Table) -> bytes:
    """A sentence about what is wrong with a reducer; empty where nothing was found."""
    reduction = reduction_of(reducer, samples)
    return (counterexample(reduction, samples["value"].combine_chunks(), reducer.ordered) or "").encode()


WORK: dict[str, Callable[[Python, pa.Table], bytes]] = {"reduce": reduce, "check": check}


def answered(question: bytes, batch: bytes) -> bytes:
    """The answer to a question, errors included."""
    asked = json.loads(question)
    try:
        reducer = load(asked["name"])
    except Exception as error:  # noqa: BLE001 - whatever a module of a user raises as it is imported
        return NOT_IMPORTED + _told(error)
    try:
        with np.errstate(all="ignore"):
            return ANSWER + WORK[asked["do"]](reducer, pa.ipc.open_stream(batch).read_all())
    except Exception as error:  # noqa: BLE001 - whatever the code of a user raises
        return FAILS + _told(error)


def _told(error: Exception) -> bytes:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else 'no message'}".encode()


def main(infile: BinaryIO, outfile: BinaryIO) -> None:
    """Answer one question; the worker then waits for the next."""
    answer = answered(_part(infile), _part(infile))
    outfile.write(struct.pack(">i", len(answer)) + answer)
    outfile.flush()


def _part(infile: BinaryIO) -> bytes:
    head = infile.read(4)
    if (
        len(head) < 4
    ):  # Spark has closed the connection; the status 0 would mean that the worker waits for more, at once
        sys.exit(1)
    (length,) = struct.unpack(">i", head)
    return infile.read(length)


if __name__ == "__main__":
    from pyspark import daemon

    daemon.worker_main = main  # pyright: ignore[reportPrivateImportUsage]
    daemon.manager()  # type: ignore[no-untyped-call]
